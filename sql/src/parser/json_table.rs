//! JSON_TABLE(document, path COLUMNS (...)) in FROM.

use super::Parser;
use super::ast::*;
use super::lexer::Kind;
use crate::error::Result;

impl Parser<'_> {
    /// Behind JSON_TABLE.
    pub(super) fn json_table(&mut self) -> Result<TableRef> {
        self.expect_symbol("(")?;
        let document = self.expr()?;
        self.expect_symbol(",")?;
        let path = self.json_path()?;
        let columns = self.json_columns()?;
        self.expect_symbol(")")?;
        self.take_word("AS");
        if !self.is_name() {
            return Err(crate::error::Error::new(3667, b"42000", "Every table function must have an alias"));
        }
        let alias = self.name()?;
        Ok(TableRef::JsonTable(Box::new(JsonTable { document, path, columns, alias })))
    }

    /// A text, also one whose character set is named.
    fn json_path(&mut self) -> Result<Vec<u8>> {
        let token = self.peek();
        if token.kind != Kind::Word || self.bytes(token)[0] != b'_' {
            return self.text_bytes();
        }
        let start = self.at;
        match self.literal_alone()? {
            Expr::Literal(Literal::String { bytes, .. }) => Ok(bytes),
            _ => {
                self.at = start;
                Err(self.unexpected())
            }
        }
    }

    fn json_columns(&mut self) -> Result<Vec<JsonColumn>> {
        self.expect_word("COLUMNS")?;
        self.nested(|parser| parser.parenthesized_list(Self::json_column))
    }

    fn json_column(&mut self) -> Result<JsonColumn> {
        if self.is_word("NESTED") && !self.is_symbol_at(1, ",") {
            self.advance();
            self.take_word("PATH");
            let path = self.json_path()?;
            return Ok(JsonColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.name()?;
        if self.take_words(&["FOR", "ORDINALITY"]) {
            return Ok(JsonColumn::Ordinality(name));
        }
        let ty = self.type_spec()?;
        let exists = self.take_word("EXISTS");
        self.expect_word("PATH")?;
        let path = self.json_path()?;
        let (on_empty, on_error) =
            if exists { (JsonOtherwise::Null, JsonOtherwise::Null) } else { self.json_otherwise(true)? };
        Ok(JsonColumn::Value(Box::new(JsonValueColumn { name, ty, exists, path, on_empty, on_error })))
    }
}
