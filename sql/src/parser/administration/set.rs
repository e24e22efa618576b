//! SET: variables, passwords, the characteristics of transactions.

use super::Parser;
use crate::error::Result;
use crate::parser::ast::*;
use crate::parser::expression::{scope_of, user_variable_name};
use crate::parser::lexer::Kind;

impl Parser<'_> {
    pub(in crate::parser) fn set(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_word("PASSWORD") {
            return self.set_password();
        }
        let start = self.at;
        let scope = self.take_any_word(&["GLOBAL", "SESSION", "LOCAL"]).map(scope_of);
        if self.take_word("TRANSACTION") {
            return self.set_transaction(scope);
        }
        self.at = start;
        if self.is_word("ROLE") && !self.is_symbol_at(1, "=") {
            self.advance();
            return Ok(Statement::SetRole(self.role_choice(true)?));
        }
        if self.is_word("STATEMENT") && self.is_name_at(1) {
            return self.set_statement();
        }
        if self.is_word("RESOURCE") && !self.is_symbol_at(1, "=") {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("SET RESOURCE GROUP".into()));
        }
        if self.take_word("DEFAULT") {
            self.expect_word("ROLE")?;
            return self.set_default_role();
        }
        // A scope word holds for the items behind it that have none, as in MySQL.
        let mut scope = None;
        let items = self.list(|parser| parser.set_item(&mut scope))?;
        Ok(Statement::Set(items))
    }

    /// SET STATEMENT name = value, ... FOR statement: MariaDB's.
    fn set_statement(&mut self) -> Result<Statement> {
        self.advance();
        let variables = self.list(|parser| {
            let name = parser.name()?;
            parser.expect_symbol("=")?;
            let value = if parser.take_word("DEFAULT") { Expr::Default } else { parser.set_value()? };
            Ok((name, value))
        })?;
        self.expect_word("FOR")?;
        let start = self.peek().start;
        let statement = Box::new(self.nested(Self::statement)?);
        Ok(Statement::SetStatement { variables, statement, text: self.text_since(start), by_hint: false })
    }

    pub(in crate::parser) fn set_item(&mut self, scope: &mut Option<VariableScope>) -> Result<SetItem> {
        let token = self.peek();
        if token.kind == Kind::UserVariable {
            self.advance();
            let name = user_variable_name(self.bytes(token));
            if !self.take_symbol(":=") {
                self.expect_symbol("=")?;
            }
            return Ok(SetItem::User { name, value: self.expr()? });
        }
        if self.take_word("NAMES") {
            if self.is_symbol("=") {
                return Err(self.unexpected());
            }
            if self.take_word("DEFAULT") {
                return Ok(SetItem::Names { charset: None, collation: None });
            }
            let charset = Some(self.name_or_text_or_binary()?);
            let collation = if self.take_word("COLLATE") {
                if self.take_word("DEFAULT") { None } else { Some(self.name_or_text_or_binary()?) }
            } else {
                None
            };
            return Ok(SetItem::Names { charset, collation });
        }
        if self.take_words(&["CHARACTER", "SET"]) || self.take_words(&["CHAR", "SET"]) || self.take_word("CHARSET") {
            if self.take_word("DEFAULT") {
                return Ok(SetItem::Charset(None));
            }
            return Ok(SetItem::Charset(Some(self.name_or_text_or_binary()?)));
        }
        let (item_scope, name) = if token.kind == Kind::AtAt {
            self.system_variable()?
        } else {
            let word = match self.is_symbol_at(1, "=") || self.is_symbol_at(1, ":=") {
                true => None, // SET local = 1 would be a variable of that name.
                false => self.take_any_word(&["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"]),
            };
            if let Some(word) = word {
                *scope = Some(scope_of(word));
            }
            let mut name = self.any_name()?;
            if self.take_symbol(".") {
                name = format!("{name}.{}", self.any_name()?);
            }
            // Of these alone, without @@ is for the session, and @@ without a scope for the next transaction.
            let is_characteristic = ["transaction_isolation", "tx_isolation", "transaction_read_only", "tx_read_only"]
                .iter()
                .any(|variable| name.eq_ignore_ascii_case(variable));
            (scope.or(is_characteristic.then_some(VariableScope::Session)), name)
        };
        if !self.take_symbol(":=") {
            self.expect_symbol("=")?;
        }
        Ok(SetItem::System { scope: item_scope, name, value: self.set_value()? })
    }

    /// An expression, or a bare word that would be reserved: ON, ALL, BINARY, DEFAULT, ROW, SYSTEM.
    fn set_value(&mut self) -> Result<Expr> {
        let ends = |parser: &Self, ahead: usize| {
            let token = parser.peek_at(ahead);
            token.kind == Kind::End
                || parser.is_symbol_at(ahead, ",")
                || parser.is_symbol_at(ahead, ";")
                || parser.is_word_at(ahead, "FOR")
        };
        if self.peek().kind == Kind::Word && ends(self, 1) {
            if self.take_word("DEFAULT") {
                return Ok(Expr::Default);
            }
            if self.is_any_word(&["ON", "ALL", "BINARY", "ROW", "SYSTEM", "FORCE"]) {
                return Ok(Expr::Column(ColumnName::new(self.any_name()?)));
            }
        }
        // READ-COMMITTED and the like come quoted, but some clients send them bare.
        let words = ["READ", "REPEATABLE"];
        if self.is_any_word(&words) && self.is_symbol_at(1, "-") {
            let start = self.peek().start;
            self.at += 3;
            return Ok(Expr::Column(ColumnName::new(self.text_since(start))));
        }
        self.expr()
    }

    fn set_transaction(&mut self, scope: Option<VariableScope>) -> Result<Statement> {
        let (mut isolation, mut read_only) = (None, None);
        self.list(|parser| {
            if isolation.is_none() && parser.take_words(&["ISOLATION", "LEVEL"]) {
                isolation = Some(if parser.take_words(&["READ", "UNCOMMITTED"]) {
                    Isolation::ReadUncommitted
                } else if parser.take_words(&["READ", "COMMITTED"]) {
                    Isolation::ReadCommitted
                } else if parser.take_words(&["REPEATABLE", "READ"]) {
                    Isolation::RepeatableRead
                } else if parser.take_word("SERIALIZABLE") {
                    Isolation::Serializable
                } else {
                    return Err(parser.unexpected());
                });
            } else if read_only.is_none() {
                read_only = Some(parser.access_mode()?);
            } else {
                return Err(parser.unexpected());
            }
            Ok(())
        })?;
        Ok(Statement::SetTransaction { scope, isolation, read_only })
    }

    /// READ ONLY or READ WRITE: whether it is the first.
    pub(super) fn access_mode(&mut self) -> Result<bool> {
        if self.take_words(&["READ", "ONLY"]) {
            Ok(true)
        } else if self.take_words(&["READ", "WRITE"]) {
            Ok(false)
        } else {
            Err(self.unexpected())
        }
    }
}
