//! Table options, as names and values.

use super::Parser;
use crate::error::Result;
use crate::parser::ast::*;
use crate::parser::lexer::Kind;

/// Options of one word; both MySQL's and MariaDB's.
const TABLE_OPTIONS: [&str; 41] = [
    "ENGINE",
    "TYPE",
    "AUTO_INCREMENT",
    "AVG_ROW_LENGTH",
    "COLLATE",
    "COMMENT",
    "CHECKSUM",
    "TABLE_CHECKSUM",
    "PAGE_CHECKSUM",
    "COMPRESSION",
    "CONNECTION",
    "DELAY_KEY_WRITE",
    "ENCRYPTION",
    "ENCRYPTED",
    "ENCRYPTION_KEY_ID",
    "ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE",
    "IETF_QUOTES",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PASSWORD",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "ATOMIC_WRITES",
    "ROW_FORMAT",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TRANSACTIONAL",
    "UNION",
    "AUTOEXTEND_SIZE",
    "SEQUENCE",
    "WITH_SYSTEM_VERSIONING",
    "INDEX_DIRECTORY",
    "DATA_DIRECTORY",
];

impl Parser<'_> {
    /// Options parted by spaces or commas, as many as follow.
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        loop {
            let start = self.at;
            if !options.is_empty() {
                self.take_symbol(",");
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None => {
                    self.at = start;
                    return Ok(options);
                }
            }
        }
    }

    /// An option of a table by its canonical name, if one follows.
    fn table_option(&mut self) -> Result<Option<TableOption>> {
        let start = self.at;
        self.take_word("DEFAULT");
        let name = if self.take_charset_words() {
            "CHARSET".to_string()
        } else if self.take_words(&["DATA", "DIRECTORY"]) {
            "DATA DIRECTORY".to_string()
        } else if self.take_words(&["INDEX", "DIRECTORY"]) {
            "INDEX DIRECTORY".to_string()
        } else if self.is_any_word(&TABLE_OPTIONS) {
            match self.upper_word()?.as_str() {
                "TYPE" => "ENGINE".to_string(),
                "TRANSACTIONAL" => "TRANSACTIONAL".to_string(),
                other => other.to_string(),
            }
        } else if self.peek().kind == Kind::QuotedName && self.is_symbol_at(1, "=") {
            // MariaDB's engine-defined attributes may be quoted: `PAGE_COMPRESSED`=1.
            self.any_name()?.to_ascii_uppercase()
        } else if self.peek().kind == Kind::Word
            && self.is_symbol_at(1, "=")
            && !self.is_any_word(&["ALGORITHM", "LOCK"])
        {
            // Or one that no engine knows, of which the engine has to say so.
            self.any_name()?.to_ascii_uppercase()
        } else {
            self.at = start;
            return Ok(None);
        };
        self.take_symbol("=");
        let token = self.peek();
        let value = match token.kind {
            Kind::Text => OptionValue::Text(self.text()?),
            Kind::Integer => OptionValue::Number(self.integer()?),
            Kind::QuotedName => OptionValue::Word(self.any_name()?),
            Kind::Word if self.is_word("DEFAULT") => {
                self.advance();
                OptionValue::Default
            }
            Kind::Word => OptionValue::Word(self.any_name()?),
            Kind::Symbol if self.is_symbol("(") && name == "UNION" => {
                self.advance();
                self.skip_parenthesized()?;
                OptionValue::Default
            }
            Kind::Hex | Kind::Decimal | Kind::Float => {
                self.advance();
                OptionValue::Word(String::from_utf8_lossy(self.bytes(token)).into_owned())
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Some(TableOption { name, value }))
    }
}
