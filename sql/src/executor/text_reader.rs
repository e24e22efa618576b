//! The fields of a text file, for LOAD DATA.
//!
//! ```text
//!  pieces --> | consumed | field , field , "fi""eld" \n ... |  --> one field at a time
//!                        ^at
//! ```
//!
//! The file comes in pieces, whose ends have nothing to do with those of fields. Memory holds a piece and a field.
//! A separator may be of any length, so it is looked for by looking ahead; nothing that was consumed is put back.
//!
//! What MySQL does, and so does this:
//!
//! * A field that begins with the quote ends at a quote that a separator or the end of the file follows; a doubled
//!   quote is one; any other quote belongs to the text. If the file ends first, the leading quote belongs to it, too.
//! * If the escape character is the quote, it only escapes itself. At the end of the file it has nothing to escape and
//!   belongs to the text: a field that it would have closed is one that the file broke off.
//! * `\N` alone is NULL, in quotes or not; `NULL` without quotes is NULL if the format has quotes.
//! * A last line without an end counts; whatever follows its last wanted field is passed over without a warning.

use crate::error::{Error, Result};
use crate::planner::load::FileFormat;

/// Where the bytes come from.
pub trait Pieces {
    /// Appends the next piece; false: there is none.
    fn read(&mut self, out: &mut Vec<u8>) -> Result<bool>;
}

pub struct TextReader<'a> {
    pieces: &'a mut dyn Pieces,
    format: &'a FileFormat,
    buffer: Vec<u8>,
    at: usize,
    /// There are no more pieces.
    is_drained: bool,
    /// The text that begins each line is still to be found.
    before_line: bool,
    /// The end of the line has been consumed.
    line_ended: bool,
    /// Nothing follows.
    is_over: bool,
    /// The field that was read last.
    pub field: Vec<u8>,
    pub is_null: bool,
    /// The bytes of the fields of this line, and how many there may be.
    line_bytes: usize,
    line_bytes_max: usize,
    /// The bytes that are not simply copied.
    special: [bool; 256],
}

impl<'a> TextReader<'a> {
    pub fn new(pieces: &'a mut dyn Pieces, format: &'a FileFormat, line_bytes_max: usize) -> TextReader<'a> {
        let mut special = [false; 256];
        let firsts = [format.escape, format.quote, format.field_end.first().copied(), format.line_end.first().copied()];
        for byte in firsts.into_iter().flatten() {
            special[byte as usize] = true;
        }
        TextReader {
            pieces,
            format,
            buffer: Vec::new(),
            at: 0,
            is_drained: false,
            before_line: !format.line_start.is_empty(),
            line_ended: false,
            is_over: false,
            field: Vec::new(),
            is_null: false,
            line_bytes: 0,
            line_bytes_max,
            special,
        }
    }

    /// The byte so many behind the next one.
    #[inline]
    fn peek(&mut self, ahead: usize) -> Result<Option<u8>> {
        match self.buffer.get(self.at + ahead) {
            Some(byte) => Ok(Some(*byte)),
            None => self.peek_beyond(ahead),
        }
    }

    #[cold]
    fn peek_beyond(&mut self, ahead: usize) -> Result<Option<u8>> {
        while self.at + ahead >= self.buffer.len() {
            if self.is_drained {
                return Ok(None);
            }
            self.buffer.drain(..self.at);
            self.at = 0;
            self.is_drained = !self.pieces.read(&mut self.buffer)?;
        }
        Ok(Some(self.buffer[self.at + ahead]))
    }

    /// Consumes a separator, if it comes next.
    #[inline]
    fn take(&mut self, separator: &[u8]) -> Result<bool> {
        if separator.is_empty() {
            return Ok(false);
        }
        for (ahead, byte) in separator.iter().enumerate() {
            if self.peek(ahead)? != Some(*byte) {
                return Ok(false);
            }
        }
        self.at += separator.len();
        Ok(true)
    }

    /// A line's end. Where it is the same as that of a field, there are only fields.
    #[inline]
    fn take_line_end(&mut self) -> Result<bool> {
        let format = self.format;
        if format.line_end == format.field_end {
            return Ok(false);
        }
        let found = self.take(&format.line_end)?;
        self.line_ended |= found;
        Ok(found)
    }

    /// The file ends here.
    fn end(&mut self) {
        self.line_ended = true;
        self.is_over = true;
    }

    fn push(&mut self, byte: u8) -> Result<()> {
        self.field.push(byte);
        self.count(1)
    }

    #[inline]
    fn count(&mut self, bytes: usize) -> Result<()> {
        self.line_bytes += bytes;
        if self.line_bytes > self.line_bytes_max { Err(Error::packet_too_large()) } else { Ok(()) }
    }

    /// Consumes what each line begins with, and what stands before it; false: there is no such line any more.
    fn find_line(&mut self) -> Result<bool> {
        if !std::mem::take(&mut self.before_line) {
            return Ok(true);
        }
        let format = self.format;
        while self.peek(0)?.is_some() {
            if self.take(&format.line_start)? {
                return Ok(true);
            }
            self.at += 1;
        }
        self.end();
        Ok(false)
    }

    fn begin_field(&mut self) -> Result<bool> {
        self.field.clear();
        self.is_null = false;
        Ok(!self.line_ended && self.find_line()?)
    }

    /// Copies what needs no attention.
    #[inline]
    fn copy_plain(&mut self, bytes_max: usize) -> Result<()> {
        let rest = &self.buffer[self.at..];
        let rest = &rest[..rest.len().min(bytes_max)];
        let plain = rest.iter().position(|byte| self.special[*byte as usize]).unwrap_or(rest.len());
        self.field.extend_from_slice(&rest[..plain]);
        self.at += plain;
        self.count(plain)
    }

    /// Consumes an escape sequence, which `next` is the second byte of.
    fn unescape(&mut self, next: u8, names_null: &mut bool) -> Result<()> {
        self.at += 2;
        let byte = match next {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'0' => 0,
            b'Z' => 26,
            other => {
                *names_null |= other == b'N';
                other
            }
        };
        self.push(byte)
    }

    /// Reads the next field of the line; false: it has no more.
    pub fn read_field(&mut self) -> Result<bool> {
        if !self.begin_field()? {
            return Ok(false);
        }
        let Some(first) = self.peek(0)? else {
            self.end();
            return Ok(false);
        };
        let format = self.format;
        let quote = format.quote.filter(|quote| *quote == first);
        if quote.is_some() {
            self.at += 1;
        }
        let (mut names_null, mut is_enclosed) = (false, false);
        loop {
            self.copy_plain(usize::MAX)?;
            let Some(byte) = self.peek(0)? else {
                if let Some(quote) = quote {
                    self.field.insert(0, quote);
                }
                self.end();
                break;
            };
            if !self.special[byte as usize] {
                continue;
            }
            if format.escape == Some(byte) {
                match self.peek(1)? {
                    Some(next) if format.escape != format.quote || next == byte => {
                        self.unescape(next, &mut names_null)?;
                        continue;
                    }
                    None => {
                        self.at += 1;
                        self.push(byte)?;
                        continue;
                    }
                    _ => {}
                }
            }
            if quote == Some(byte) {
                self.at += 1;
                let next = self.peek(0)?;
                if next == quote {
                    self.at += 1;
                    self.push(byte)?;
                    continue;
                }
                is_enclosed = true;
                if next.is_none() {
                    self.line_ended = true;
                    break;
                }
                if self.take_line_end()? || self.take(&format.field_end)? {
                    break;
                }
                is_enclosed = false;
                self.push(byte)?;
                continue;
            }
            if quote.is_none() && (self.take_line_end()? || self.take(&format.field_end)?) {
                break;
            }
            self.at += 1;
            self.push(byte)?;
        }
        let field = &self.field[..];
        self.is_null = names_null && field.len() == 1 || format.quote.is_some() && !is_enclosed && field == b"NULL";
        Ok(true)
    }

    /// Reads a line, or so many bytes of it: the fields of a format without separators. False: there is none.
    pub fn read_fixed(&mut self, bytes: usize) -> Result<bool> {
        if !self.begin_field()? {
            return Ok(false);
        }
        while self.field.len() < bytes {
            self.copy_plain(bytes - self.field.len())?;
            if self.field.len() == bytes {
                break;
            }
            let Some(byte) = self.peek(0)? else {
                self.end();
                return Ok(!self.field.is_empty());
            };
            if !self.special[byte as usize] {
                continue;
            }
            if self.format.escape == Some(byte) {
                if let Some(next) = self.peek(1)? {
                    self.unescape(next, &mut false)?;
                    continue;
                }
            } else if self.take_line_end()? {
                break;
            }
            self.at += 1;
            self.push(byte)?;
        }
        Ok(true)
    }

    /// Goes to the next line. `cut` tells whether something of this one was passed over. False: the file has ended.
    pub fn next_line(&mut self, cut: &mut bool) -> Result<bool> {
        *cut = false;
        self.line_bytes = 0;
        self.before_line = !self.format.line_start.is_empty();
        if std::mem::take(&mut self.line_ended) || self.is_over {
            return Ok(!self.is_over);
        }
        let format = self.format;
        if format.line_end.is_empty() || format.line_end == format.field_end {
            return Ok(true);
        }
        loop {
            let rest = &self.buffer[self.at..];
            let plain = rest.iter().position(|byte| self.special[*byte as usize]).unwrap_or(rest.len());
            *cut |= plain > 0;
            self.at += plain;
            let Some(byte) = self.peek(0)? else {
                self.end();
                return Ok(false);
            };
            if format.escape == Some(byte) {
                *cut = true;
                if self.peek(1)?.is_none() {
                    self.end();
                    return Ok(false);
                }
                self.at += 2;
                continue;
            }
            if self.take_line_end()? {
                self.line_ended = false;
                return Ok(true);
            }
            self.at += 1;
            *cut = true;
        }
    }

    /// Whether the end of lines can be seen: otherwise lines are counted by their fields.
    pub fn sees_lines(&self) -> bool {
        !self.format.line_end.is_empty() && self.format.line_end != self.format.field_end
    }
}
