//! The rows of an XML file, for LOAD XML.
//!
//! ```text
//! <list kind="x">                          kind of all rows in it
//!   <row a="1" b="2"/>                     attributes
//!   <row><a>1</a><b>2</b></row>            elements
//!   <row><field name="a">1</field></row>   what dumps of MySQL's programs have
//! ```
//!
//! A value has the name of an attribute, of an element, or what a `field` says as its `name`. A row has the values of the
//! elements in it and of the attributes of those around it; of several with one name the last counts. The file is read as
//! MySQL reads it, once and forwards, in memory for one row, and no schema is asked:
//!
//! * A value without characters is none.
//! * The text of an element ends where an element in it begins.
//! * Names are compared byte by byte. Of entities the five that XML defines are known; others are text.
//! * Comments, instructions and declarations are passed over. CDATA is text, which MySQL does not know.
//! * What is wrong ends nothing: what is no tag is text, and a row that is not closed is no row.

use super::text_reader::Pieces;
use crate::error::{Error, Result};

struct Named {
    /// Of the element that it belongs to.
    level: u32,
    name: Vec<u8>,
    value: Vec<u8>,
}

pub struct XmlReader<'a> {
    pieces: &'a mut dyn Pieces,
    buffer: Vec<u8>,
    at: usize,
    is_drained: bool,
    /// The elements that are open.
    level: u32,
    values: Vec<Named>,
    bytes: usize,
    bytes_max: usize,
    /// Asked before each piece, so that a file of comments alone ends, too, where the statement is killed.
    is_interrupted: &'a dyn Fn() -> bool,
}

/// How a tag ends.
#[derive(PartialEq)]
enum End {
    Open,
    /// `/>`
    Closed,
    /// The file ends in it.
    Cut,
}

impl<'a> XmlReader<'a> {
    /// `bytes_max`: of the values of a row.
    pub fn new(pieces: &'a mut dyn Pieces, bytes_max: usize, is_interrupted: &'a dyn Fn() -> bool) -> XmlReader<'a> {
        XmlReader {
            pieces,
            buffer: Vec::new(),
            at: 0,
            is_drained: false,
            level: 0,
            values: Vec::new(),
            bytes: 0,
            bytes_max,
            is_interrupted,
        }
    }

    /// Reads up to the end of the next element of this name; false: there is none.
    pub fn next_row(&mut self, row: &[u8]) -> Result<bool> {
        loop {
            let Some(byte) = self.next()? else { return Ok(false) };
            if byte != b'<' || self.pass_over()? {
                continue;
            }
            if self.take(b"/")? {
                let name = self.name()?;
                self.skip_to(b">")?;
                self.level = self.level.saturating_sub(1);
                if name == row {
                    return Ok(true);
                }
                continue;
            }
            let mut name = self.name()?;
            if name.is_empty() {
                continue;
            }
            self.level += 1;
            self.clear_below(self.level);
            let is_row = name == row;
            match self.attributes(&mut name)? {
                End::Cut => return Ok(false),
                End::Closed => {
                    self.level -= 1;
                    if is_row {
                        return Ok(true);
                    }
                }
                End::Open => {
                    let text = self.text()?;
                    self.put(self.level, name, text)?;
                }
            }
        }
    }

    /// The value of a name in the row that has just ended.
    pub fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.values.iter().rev().find(|own| own.name == name).map(|own| &own.value[..])
    }

    fn put(&mut self, level: u32, name: Vec<u8>, value: Vec<u8>) -> Result<()> {
        if value.is_empty() {
            return Ok(());
        }
        self.charge(name.len() + value.len())?;
        self.values.push(Named { level, name, value });
        Ok(())
    }

    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        self.check(0)
    }

    fn check(&self, more: usize) -> Result<()> {
        match self.bytes + more > self.bytes_max {
            true => Err(Error::packet_too_large()),
            false => Ok(()),
        }
    }

    /// What was in the elements before this one goes.
    fn clear_below(&mut self, level: u32) {
        self.values.retain(|own| own.level <= level);
        self.bytes = self.values.iter().map(|own| own.name.len() + own.value.len()).sum();
    }

    /// The attributes of a tag, which may say another name of a `field`.
    fn attributes(&mut self, name: &mut Vec<u8>) -> Result<End> {
        loop {
            self.skip_blanks()?;
            if self.take(b"/>")? {
                return Ok(End::Closed);
            }
            match self.peek(0)? {
                None => return Ok(End::Cut),
                Some(b'>') => {
                    self.at += 1;
                    return Ok(End::Open);
                }
                Some(b'/' | b'=' | b'"' | b'\'' | b'<') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let attribute = self.name()?;
            self.skip_blanks()?;
            if !self.take(b"=")? {
                continue;
            }
            self.skip_blanks()?;
            let value = match self.peek(0)? {
                Some(quote @ (b'"' | b'\'')) => {
                    self.at += 1;
                    self.decoded(&|byte| byte == quote)?
                }
                _ => self.decoded(&|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))?,
            };
            if matches!(self.peek(0)?, Some(b'"' | b'\'')) {
                self.at += 1;
            }
            match name == b"field" && attribute == b"name" {
                true => *name = value,
                false => self.put(self.level + 1, attribute, value)?,
            }
        }
    }

    /// The text up to the next tag.
    fn text(&mut self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            text.extend(self.decoded(&|byte| byte == b'<')?);
            if self.take(b"<![CDATA[")? {
                while !self.take(b"]]>")? {
                    let Some(byte) = self.next()? else { return Ok(text) };
                    text.push(byte);
                    self.check(text.len())?;
                }
            } else if self.is(b"<!--")? {
                self.at += 1;
                self.pass_over()?;
            } else {
                return Ok(text);
            }
        }
    }

    /// Bytes up to one that ends them, which stays, with entities as what they mean.
    fn decoded(&mut self, ends: &dyn Fn(u8) -> bool) -> Result<Vec<u8>> {
        const ENTITIES: [(&[u8], u8); 5] =
            [(b"&lt;", b'<'), (b"&gt;", b'>'), (b"&amp;", b'&'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
        let mut out = Vec::new();
        'bytes: while let Some(byte) = self.peek(0)?.filter(|byte| !ends(*byte)) {
            if byte == b'&' {
                for (entity, meant) in ENTITIES {
                    if self.take(entity)? {
                        out.push(meant);
                        continue 'bytes;
                    }
                }
            }
            out.push(byte);
            self.at += 1;
            self.check(out.len())?;
        }
        Ok(out)
    }

    /// Behind `<`: passes over a comment, an instruction or a declaration.
    fn pass_over(&mut self) -> Result<bool> {
        let end: &[u8] = match () {
            () if self.take(b"!--")? => b"-->",
            () if self.take(b"![CDATA[")? => b"]]>",
            () if self.take(b"?")? => b"?>",
            () if self.take(b"!")? => b">",
            () => return Ok(false),
        };
        self.skip_to(end)?;
        Ok(true)
    }

    fn name(&mut self) -> Result<Vec<u8>> {
        let is_of_name = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'>' | b'/' | b'=' | b'<');
        let mut name = Vec::new();
        while let Some(byte) = self.peek(0)?.filter(|byte| is_of_name(*byte)) {
            name.push(byte);
            self.at += 1;
            self.check(name.len())?;
        }
        Ok(name)
    }

    fn skip_blanks(&mut self) -> Result<()> {
        while self.peek(0)?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        Ok(())
    }

    fn skip_to(&mut self, end: &[u8]) -> Result<()> {
        while !self.take(end)? {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<u8>> {
        let next = self.peek(0)?;
        self.at += usize::from(next.is_some());
        Ok(next)
    }

    fn is(&mut self, text: &[u8]) -> Result<bool> {
        for (ahead, byte) in text.iter().enumerate() {
            if self.peek(ahead)? != Some(*byte) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take(&mut self, text: &[u8]) -> Result<bool> {
        let is = self.is(text)?;
        self.at += if is { text.len() } else { 0 };
        Ok(is)
    }

    /// The byte so many behind the next one.
    fn peek(&mut self, ahead: usize) -> Result<Option<u8>> {
        while self.at + ahead >= self.buffer.len() {
            if self.is_drained {
                return Ok(None);
            }
            if (self.is_interrupted)() {
                return Err(Error::interrupted());
            }
            self.buffer.drain(..self.at);
            self.at = 0;
            self.is_drained = !self.pieces.read(&mut self.buffer)?;
        }
        Ok(Some(self.buffer[self.at + ahead]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text in pieces of a few bytes.
    struct Crumbs<'t>(&'t [u8], usize);

    impl Pieces for Crumbs<'_> {
        fn read(&mut self, out: &mut Vec<u8>) -> Result<bool> {
            let (piece, rest) = self.0.split_at(self.0.len().min(self.1));
            out.extend(piece);
            self.0 = rest;
            Ok(!piece.is_empty())
        }
    }

    fn rows(text: &str, piece: usize) -> Vec<[Option<String>; 2]> {
        let mut crumbs = Crumbs(text.as_bytes(), piece);
        let mut reader = XmlReader::new(&mut crumbs, 1000, &|| false);
        let mut rows = Vec::new();
        while reader.next_row(b"row").unwrap() {
            let value =
                |name: &str| reader.value(name.as_bytes()).map(|value| String::from_utf8(value.to_vec()).unwrap());
            rows.push([value("a"), value("b")]);
        }
        rows
    }

    #[test]
    fn rows_are_the_same_however_the_file_comes() {
        let text = "<?xml version='1.0'?><!DOCTYPE x><list b='all'><!-- <row a='0'/> --><row a='1' b=\"x &amp; 'y'\"/>\
                    <row><field name=\"a\">2</field><field name='b'>&lt;&#65;></field></row><row><a>3</a><b/></row>\
                    <row a = '4' b=plain ><c>no</c></row><row><a>5<i>x</i>y</a><b><![CDATA[<b>]]> and</b></row>\
                    <ROW a='6'/><row/></list><row a='7'></row><row a='8'>";
        let expected: Vec<_> = [
            (Some("1"), Some("x & 'y'")),
            (Some("2"), Some("<&#65;>")),
            (Some("3"), Some("all")),
            (Some("4"), Some("plain")),
            (Some("5"), Some("<b> and")),
            (None, Some("all")),
            (Some("7"), None),
        ]
        .map(|(a, b)| [a.map(str::to_owned), b.map(str::to_owned)])
        .into();
        for piece in [1, 2, 3, 7, 64, 10_000] {
            assert_eq!(rows(text, piece), expected, "{piece}");
        }
    }

    #[test]
    fn a_row_has_an_end_to_its_bytes() {
        let text = format!("<row><a>{}</a></row>", "x".repeat(2000));
        let mut crumbs = Crumbs(text.as_bytes(), 100);
        let mut reader = XmlReader::new(&mut crumbs, 1000, &|| false);
        assert!(reader.next_row(b"row").is_err());
    }

    #[test]
    fn a_comment_without_end_is_left_when_the_statement_is_killed() {
        let text = format!("<!-- {}", "x".repeat(2000));
        let (mut crumbs, asked) = (Crumbs(text.as_bytes(), 100), std::cell::Cell::new(0));
        let is_interrupted = || asked.replace(asked.get() + 1) == 3;
        let mut reader = XmlReader::new(&mut crumbs, 1000, &is_interrupted);
        assert_eq!(reader.next_row(b"row").map_err(|error| error.code), Err(Error::interrupted().code));
        assert_eq!(crumbs.0.len(), text.len() - 300);
    }
}
