//! Column types as bytes in the dictionary.

use super::ColumnType;
use crate::error::Result;

impl ColumnType {
    /// Appends the definition.
    pub fn write_definition(&self, _out: &mut Vec<u8>) {
        todo!()
    }
    /// Reads a definition and moves `bytes` behind it.
    pub fn read_definition(_bytes: &mut &[u8]) -> Result<ColumnType> {
        todo!()
    }
}
