//! The fields of a stored form.

use crate::error::{Error, Result};

pub fn put(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_be_bytes());
    out.extend(text.as_bytes());
}

pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let damaged = || Error::internal("a program's row in the dictionary");
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn number(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub fn text(&mut self) -> Result<String> {
        let bytes = self.number(4)? as usize;
        Ok(String::from_utf8_lossy(self.take(bytes)?).into_owned())
    }

    pub fn form(&mut self, known: u8) -> Result<()> {
        match self.number(1)? {
            form if form == u64::from(known) => Ok(()),
            form => Err(Error::unsupported(format!("programs of form {form}"))),
        }
    }
}
