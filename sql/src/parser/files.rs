//! LOAD DATA, LOAD XML, and INTO of SELECT.

use super::Parser;
use super::ast::*;
use super::expression::user_variable_name;
use super::lexer::Kind;
use crate::error::Result;

impl Parser<'_> {
    pub(super) fn load(&mut self) -> Result<Statement> {
        self.advance();
        let is_xml = self.is_word("XML");
        if !is_xml && !self.is_word("DATA") {
            // LOAD INDEX INTO CACHE
            let name = format!("LOAD {}", self.upper_word()?);
            self.skip_rest()?;
            return Ok(Statement::Unsupported(name));
        }
        self.advance();
        self.take_any_word(&["LOW_PRIORITY", "CONCURRENT"]);
        let local = self.take_word("LOCAL");
        self.expect_word("INFILE")?;
        let file = self.text_bytes()?;
        let duplicates = self.take_any_word(&["REPLACE", "IGNORE"]);
        self.expect_word("INTO")?;
        self.expect_word("TABLE")?;
        let table = self.table_name()?;
        let partitions = self.partition_selection()?;
        let charset = self.file_charset()?;
        let (mut format, mut row_tag) = (TextFormat::default(), None);
        match is_xml {
            true => row_tag = Some(self.row_tag()?),
            false => format = self.text_format()?,
        }
        let mut skipped_lines = 0;
        if self.take_word("IGNORE") {
            skipped_lines = self.integer()?;
            if self.take_any_word(&["LINES", "ROWS"]).is_none() {
                return Err(self.unexpected());
            }
        }
        let mut targets = Vec::new();
        if self.take_symbol("(") && !self.take_symbol(")") {
            targets = self.list(Self::load_target)?;
            self.expect_symbol(")")?;
        }
        let assignments = if self.take_word("SET") { self.list(Self::assignment)? } else { Vec::new() };
        Ok(Statement::Load(Box::new(Load {
            row_tag,
            local,
            file,
            replace: duplicates == Some("REPLACE"),
            ignore: duplicates == Some("IGNORE"),
            table,
            partitions,
            charset,
            format,
            skipped_lines,
            targets,
            assignments,
        })))
    }

    /// ROWS IDENTIFIED BY '<tag>'. The first and the last character are no part of the name, whichever they are.
    fn row_tag(&mut self) -> Result<Vec<u8>> {
        if !self.take_words(&["ROWS", "IDENTIFIED", "BY"]) {
            return Ok(b"row".to_vec());
        }
        let tag = self.text_or_bits()?;
        Ok(tag.get(1..tag.len().saturating_sub(1)).unwrap_or_default().to_vec())
    }

    fn load_target(&mut self) -> Result<LoadTarget> {
        match self.peek().kind {
            Kind::UserVariable => self.user_variable().map(LoadTarget::Variable),
            _ => self.column_name().map(LoadTarget::Column),
        }
    }

    pub(super) fn user_variable(&mut self) -> Result<String> {
        let token = self.peek();
        if token.kind != Kind::UserVariable {
            return Err(self.unexpected());
        }
        self.advance();
        Ok(user_variable_name(self.bytes(token)))
    }

    /// What follows INTO of a SELECT.
    pub(super) fn destination(&mut self) -> Result<SelectInto> {
        if self.take_word("OUTFILE") {
            let file = self.text()?;
            let charset = self.file_charset()?;
            return Ok(SelectInto::Outfile { file, charset, format: self.text_format()? });
        }
        if self.take_word("DUMPFILE") {
            return Ok(SelectInto::Dumpfile(self.text()?));
        }
        self.list(Self::target_of_into).map(SelectInto::Variables)
    }

    fn file_charset(&mut self) -> Result<Option<String>> {
        if self.take_words(&["CHARACTER", "SET"]) || self.take_word("CHARSET") {
            // The one name of a character set that is a reserved word.
            return if self.take_word("BINARY") { Ok(Some("binary".into())) } else { self.name_or_text().map(Some) };
        }
        Ok(None)
    }

    /// FIELDS and LINES, in this order; each must say something if it is there.
    fn text_format(&mut self) -> Result<TextFormat> {
        let mut format = TextFormat::default();
        if self.take_any_word(&["FIELDS", "COLUMNS"]).is_some() {
            let mut says = false;
            loop {
                if self.take_word("TERMINATED") {
                    format.field_end = self.by()?;
                } else if self.take_words(&["OPTIONALLY", "ENCLOSED"]) {
                    format.optionally = true;
                    format.quote = self.by()?;
                } else if self.take_word("ENCLOSED") {
                    format.quote = self.by()?;
                } else if self.take_word("ESCAPED") {
                    format.escape = Some(self.by()?);
                } else if says {
                    break;
                } else {
                    return Err(self.unexpected());
                }
                says = true;
            }
        }
        if self.take_word("LINES") {
            let mut says = false;
            loop {
                if self.take_word("TERMINATED") {
                    format.line_end = self.by()?;
                } else if self.take_word("STARTING") {
                    format.line_start = self.by()?;
                } else if says {
                    break;
                } else {
                    return Err(self.unexpected());
                }
                says = true;
            }
        }
        Ok(format)
    }

    /// `BY 'text'`, or hexadecimal or binary digits for it.
    fn by(&mut self) -> Result<Vec<u8>> {
        self.expect_word("BY")?;
        self.text_or_bits()
    }
}
