//! Cursors: the rows of a prepared statement that its client fetches in portions.
//!
//! ```text
//! execute, cursor wanted -->
//!                        <-- columns, end with CURSOR_EXISTS
//! fetch n rows           -->
//!                        <-- n rows, end with CURSOR_EXISTS; behind the last row with LAST_ROW_SENT
//! ```
//!
//! The statement has run to its end before the first row is fetched, so that it holds no locks and no tables between
//! two fetches. Its rows wait in memory, and beyond [`MEMORY_BYTES`] in a file that has no name any more.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that are kept in memory.
const MEMORY_BYTES: usize = 1 << 20;
const LENGTH_BYTES: usize = 4;

/// Rows of one result, each behind its length.
pub struct Rows {
    directory: PathBuf,
    /// Rows that are not in the file. While rows are added they follow those of the file.
    memory: Vec<u8>,
    at: usize,
    spilled: Option<BufReader<File>>,
    /// Rows that have not been fetched.
    left: u64,
}

impl Rows {
    /// `directory`: where a file may be made.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), memory: Vec::new(), at: 0, spilled: None, left: 0 }
    }

    pub fn push(&mut self, row: &[u8]) -> io::Result<()> {
        if self.memory.len() + row.len() > MEMORY_BYTES && !self.memory.is_empty() {
            self.spill()?;
        }
        self.memory.extend_from_slice(&(row.len() as u32).to_le_bytes());
        self.memory.extend_from_slice(row);
        self.left += 1;
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.spilled.is_none() {
            self.spilled = Some(BufReader::new(nameless(&self.directory)?));
        }
        if let Some(file) = &mut self.spilled {
            file.get_mut().write_all(&self.memory)?;
        }
        self.memory.clear();
        Ok(())
    }

    /// All rows are there: reading begins.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        match &mut self.spilled {
            Some(file) => io::Seek::rewind(file),
            None => Ok(()),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Appends the next row.
    pub fn next(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.left -= 1;
        let Some(file) = &mut self.spilled else {
            let row = self.at + LENGTH_BYTES;
            let end = row + length(&self.memory[self.at..]);
            out.extend_from_slice(&self.memory[row..end]);
            self.at = end;
            return Ok(());
        };
        let mut head = [0; LENGTH_BYTES];
        file.read_exact(&mut head)?;
        let start = out.len();
        out.resize(start + length(&head), 0);
        file.read_exact(&mut out[start..])
    }
}

fn length(bytes: &[u8]) -> usize {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
}

/// A file that goes when it is closed.
fn nameless(directory: &Path) -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!("#cursor-{}-{number}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order_from_memory_and_from_a_file() {
        for (count, bytes) in [(0, 0), (3, 5), (4000, 1000), (3, MEMORY_BYTES + 1)] {
            let mut rows = Rows::new(&std::env::temp_dir());
            let row = |number: usize| vec![number as u8; bytes + number % 3];
            (0..count).for_each(|number| rows.push(&row(number)).unwrap());
            rows.finish().unwrap();
            assert_eq!(rows.spilled.is_some(), count * bytes > MEMORY_BYTES);
            for number in 0..count {
                assert!(!rows.is_empty());
                let mut out = vec![7];
                rows.next(&mut out).unwrap();
                assert!(out[1..] == row(number));
            }
            assert!(rows.is_empty());
        }
    }
}
