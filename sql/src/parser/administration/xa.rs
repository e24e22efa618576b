//! XA.

use format::xid::Xid;

use super::super::Parser;
use super::super::ast::{StartMode, Statement, Xa, XidShape};
use super::super::lexer::{self, Kind};
use crate::error::Result;

impl Parser<'_> {
    pub(in crate::parser) fn xa(&mut self) -> Result<Statement> {
        self.expect_word("XA")?;
        let Some(verb) = self.take_any_word(&["START", "BEGIN", "END", "PREPARE", "COMMIT", "ROLLBACK", "RECOVER"])
        else {
            return Err(self.unexpected());
        };
        let statement = match verb {
            "START" | "BEGIN" => {
                let xid = self.xid()?;
                let mode = match self.take_any_word(&["JOIN", "RESUME"]) {
                    Some("JOIN") => StartMode::Join,
                    Some(_) => StartMode::Resume,
                    None => StartMode::New,
                };
                Xa::Start { xid, mode }
            }
            "END" => {
                let xid = self.xid()?;
                let suspend = self.take_word("SUSPEND");
                if suspend && self.take_word("FOR") {
                    self.expect_word("MIGRATE")?;
                }
                Xa::End { xid, suspend }
            }
            "PREPARE" => Xa::Prepare(self.xid()?),
            "COMMIT" => {
                let xid = self.xid()?;
                let one_phase = self.take_word("ONE");
                if one_phase {
                    self.expect_word("PHASE")?;
                }
                Xa::Commit { xid, one_phase }
            }
            "ROLLBACK" => Xa::Rollback(self.xid()?),
            _ => Xa::Recover(self.xid_shape()?),
        };
        Ok(Statement::Xa(statement))
    }

    /// `CONVERT XID` of MySQL, `FORMAT = 'SQL'` of MariaDB.
    fn xid_shape(&mut self) -> Result<XidShape> {
        if self.take_word("CONVERT") {
            self.expect_word("XID")?;
            return Ok(XidShape::Hexadecimal);
        }
        if !self.take_word("FORMAT") {
            return Ok(XidShape::Raw);
        }
        self.expect_symbol("=")?;
        if self.peek().kind == Kind::Word {
            return Err(self.unexpected());
        }
        let name = self.name_or_text()?;
        Ok(match name.to_ascii_uppercase().as_str() {
            "RAW" => XidShape::Raw,
            "SQL" => XidShape::Sql,
            _ => XidShape::Unknown(name),
        })
    }

    /// `gtrid [, bqual [, format]]`: what does not fit is a syntax error where it stands, as in MySQL.
    fn xid(&mut self) -> Result<Xid> {
        let gtrid = self.xid_part()?;
        let (mut bqual, mut format) = (Vec::new(), Xid::FORMAT_DEFAULT);
        if self.take_symbol(",") {
            bqual = self.xid_part()?;
            if self.take_symbol(",") {
                format = self.xid_format()?;
            }
        }
        Xid::new(format, &gtrid, &bqual).ok_or_else(|| self.unexpected())
    }

    fn xid_part(&mut self) -> Result<Vec<u8>> {
        let start = self.peek().start as usize;
        let part = match self.peek().kind {
            Kind::Hex => lexer::hex_bytes(self.bytes(self.peek())),
            Kind::Bit => lexer::bit_bytes(self.bytes(self.peek())),
            _ => {
                let part = self.text_bytes()?;
                return if part.len() > Xid::PART_BYTES_MAX { Err(self.error_at(start)) } else { Ok(part) };
            }
        };
        self.advance();
        if part.len() > Xid::PART_BYTES_MAX { Err(self.error_at(start)) } else { Ok(part) }
    }

    fn xid_format(&mut self) -> Result<u32> {
        let token = self.peek();
        let number = match token.kind {
            Kind::Hex => lexer::hex_bytes(self.bytes(token))
                .iter()
                .try_fold(0_u64, |number, byte| number.checked_mul(256).map(|number| number + u64::from(*byte))),
            _ => std::str::from_utf8(self.bytes(token)).ok().and_then(|digits| digits.parse().ok()),
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        match number {
            Some(number) if number <= Xid::FORMAT_MAX => {
                self.advance();
                Ok(number)
            }
            _ => Err(self.unexpected()),
        }
    }
}
