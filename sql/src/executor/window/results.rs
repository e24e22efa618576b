//! The results of one function for the rows of a partition, in their order.

use format::value::Value;

use crate::error::Result;
use crate::executor::memory::{Account, row_bytes};
use crate::expression::record::{Source, write_value};
use crate::temporary::{Pile, Reader, Writer};

/// The first ones in memory, the rest in a file.
#[derive(Default)]
pub struct Results {
    memory: Pile<Vec<Value>>,
    rest: Option<Writer>,
    reader: Option<Reader>,
    given: usize,
    record: Vec<u8>,
}

impl Results {
    pub fn push(&mut self, value: Value, account: &mut Account<'_>) -> Result<()> {
        if self.rest.is_none() && account.fits(row_bytes(std::slice::from_ref(&value))) {
            self.memory.push(value);
            return Ok(());
        }
        let writer = match &mut self.rest {
            Some(writer) => writer,
            none => none.insert(Writer::new(&account.memory().spill()?)),
        };
        self.record.clear();
        write_value(&value, &mut self.record);
        writer.write(&self.record)
    }

    /// All results are there.
    pub fn finish(&mut self) -> Result<()> {
        if let Some(writer) = self.rest.take() {
            self.reader = Some(writer.finish()?.reader());
        }
        Ok(())
    }

    /// The result of the next row.
    pub fn next(&mut self) -> Result<Value> {
        if let Some(value) = self.memory.get_mut(self.given) {
            self.given += 1;
            return Ok(std::mem::replace(value, Value::Null));
        }
        let Some(reader) = &mut self.reader else { return Ok(Value::Null) };
        if reader.next(&mut self.record)? { Source(&self.record).value() } else { Ok(Value::Null) }
    }

    /// Those of another partition follow.
    pub fn clear(&mut self) {
        self.memory.clear();
        (self.rest, self.reader, self.given) = (None, None, 0);
    }
}
