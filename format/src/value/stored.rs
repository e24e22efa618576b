//! Stored column bytes: what InnoDB keeps in a record.

use super::{ColumnType, Value};
use crate::record::FieldLayout;

/// The value cannot be a value of the column. sql coerces before it stores, so this is a mistake or a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// NULL, or a kind of value that the type does not take.
    WrongKind,
    OutOfRange,
    TooLong,
    /// Not a JSON text; the byte offset of the error.
    InvalidJson(usize),
}

impl ColumnType {
    /// Appends the stored bytes of a value.
    pub fn encode(&self, _value: &Value, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        todo!()
    }
    /// The value of stored bytes. Bytes that cannot be (from disk) give some value of the type, never a panic.
    pub fn decode(&self, _stored: &[u8]) -> Value {
        todo!()
    }
    /// What a record needs to know of a column of this type.
    pub fn layout(&self, _nullable: bool) -> FieldLayout {
        todo!()
    }
    /// The collation of a text type, also ENUM and SET.
    pub fn collation(&self) -> Option<crate::collation::CollationId> {
        todo!()
    }
    /// The number of a member of ENUM (from 1).
    pub fn enum_index(&self, _name: &[u8]) -> Option<u16> {
        todo!()
    }
    /// The bits of a comma-separated list of members of SET.
    pub fn set_mask(&self, _names: &[u8]) -> Option<u64> {
        todo!()
    }
}
