//! The values of a row on its way into a table, as storage takes them.

use format::value::ColumnType;

use crate::error::Result;
use crate::expression::Datum;
use crate::expression::assign::encode;
use crate::expression::record::{Source, write_bytes};

/// Where a record has no value.
const NULL: u32 = u32::MAX;

/// Values of columns as stored bytes, in one buffer that is used for row after row.
#[derive(Default)]
pub struct Stored {
    pub bytes: Vec<u8>,
    /// Where each lies; None is NULL.
    pub parts: Vec<Option<(u32, u32)>>,
}

impl Stored {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
    }

    pub fn get(&self, at: usize) -> Option<&[u8]> {
        self.parts[at].map(|(from, to)| &self.bytes[from as usize..to as usize])
    }

    pub fn push_bytes(&mut self, value: Option<&[u8]>) {
        let part = value.map(|value| {
            let from = self.bytes.len() as u32;
            self.bytes.extend_from_slice(value);
            (from, self.bytes.len() as u32)
        });
        self.parts.push(part);
    }

    /// Gives a value another one.
    pub fn replace(&mut self, at: usize, value: Option<&[u8]>) {
        self.push_bytes(value);
        self.parts.swap_remove(at);
    }

    /// Appends all values to a record.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_bytes(&self.bytes, out);
        out.extend((self.parts.len() as u32).to_le_bytes());
        for part in &self.parts {
            let (from, to) = part.unwrap_or((NULL, NULL));
            out.extend(from.to_le_bytes());
            out.extend(to.to_le_bytes());
        }
    }

    /// The values that [`Stored::write`] has written.
    pub fn read(record: &mut Source<'_>) -> Result<Stored> {
        let bytes = record.bytes()?.to_vec();
        let mut parts = Vec::new();
        for _ in 0..record.u32()? {
            let (from, to) = (record.u32()?, record.u32()?);
            parts.push((from != NULL).then_some((from, to)));
        }
        Ok(Stored { bytes, parts })
    }

    /// Appends an assigned value.
    pub fn push(&mut self, value: Datum<'_>, ty: &ColumnType) -> Result<()> {
        if value.is_null() {
            self.parts.push(None);
            return Ok(());
        }
        let from = self.bytes.len() as u32;
        encode(value, ty, &mut self.bytes)?;
        self.parts.push(Some((from, self.bytes.len() as u32)));
        Ok(())
    }
}
