//! Values as the client protocol shows them.

use super::{ColumnType, Value, ZoneOffset};

/// Appends a length-encoded integer of the client protocol.
pub fn write_length(_out: &mut Vec<u8>, _length: u64) {
    todo!()
}

impl ColumnType {
    /// Appends the text of stored bytes; TIMESTAMP in UTC.
    #[inline]
    pub fn write_text(&self, stored: &[u8], out: &mut Vec<u8>) {
        self.write_text_at(stored, ZoneOffset::UTC, out)
    }
    /// Appends the text of stored bytes; TIMESTAMP in `zone`.
    pub fn write_text_at(&self, _stored: &[u8], _zone: ZoneOffset, _out: &mut Vec<u8>) {
        todo!()
    }
    /// Appends the field of a binary protocol row (strings with their length).
    pub fn write_binary_at(&self, _stored: &[u8], _zone: ZoneOffset, _out: &mut Vec<u8>) {
        todo!()
    }
    /// Appends the text of a computed value of this static type. Not for NULL. A TIMESTAMP is in the session's zone already.
    pub fn write_value_text(&self, _value: &Value, _out: &mut Vec<u8>) {
        todo!()
    }
    /// Appends the field of a binary protocol row for a computed value of this static type.
    pub fn write_value_binary(&self, _value: &Value, _out: &mut Vec<u8>) {
        todo!()
    }
}
