//! CREATE VIEW, ALTER VIEW.

use super::Parser;
use crate::error::Result;
use crate::parser::ast::*;

impl Parser<'_> {
    /// Behind CREATE [OR REPLACE] or ALTER: a view, if it is one. Nothing is taken otherwise.
    pub(super) fn view(&mut self, or_replace: bool, alter: bool) -> Result<Option<Statement>> {
        let start = self.at;
        let mut algorithm = ViewAlgorithm::Undefined;
        let mut definer = None;
        let mut as_invoker = None;
        if self.is_word("ALGORITHM") && self.is_symbol_at(1, "=") {
            self.at += 2;
            algorithm = match self.take_any_word(&["UNDEFINED", "MERGE", "TEMPTABLE"]) {
                Some("MERGE") => ViewAlgorithm::Merge,
                Some("TEMPTABLE") => ViewAlgorithm::TempTable,
                Some(_) => ViewAlgorithm::Undefined,
                None => return Err(self.unexpected()),
            };
        }
        if self.is_word("DEFINER") && self.is_symbol_at(1, "=") {
            self.at += 2;
            definer = Some(self.user_name()?);
        }
        if self.take_words(&["SQL", "SECURITY"]) {
            as_invoker = match self.take_any_word(&["DEFINER", "INVOKER"]) {
                Some(word) => Some(word == "INVOKER"),
                None => return Err(self.unexpected()),
            };
        }
        if !self.take_word("VIEW") {
            self.at = start;
            return Ok(None);
        }
        let if_not_exists = !alter && self.new_only(or_replace)?;
        let name = self.table_name()?;
        let columns = if self.is_symbol("(") { self.parenthesized_list(Self::any_name)? } else { Vec::new() };
        self.expect_word("AS")?;
        let start = self.peek().start;
        let query = Box::new(self.query()?);
        let text = self.text_since(start);
        let mut check = None;
        if self.take_word("WITH") {
            check = Some(match self.take_any_word(&["LOCAL", "CASCADED"]) {
                Some("LOCAL") => CheckOption::Local,
                _ => CheckOption::Cascaded,
            });
            self.expect_word("CHECK")?;
            self.expect_word("OPTION")?;
        }
        Ok(Some(Statement::CreateView(Box::new(CreateView {
            or_replace,
            if_not_exists,
            alter,
            algorithm,
            definer,
            as_invoker,
            name,
            columns,
            query,
            text,
            check,
        }))))
    }
}
