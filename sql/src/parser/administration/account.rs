//! Users and what they may do.

use super::Parser;
use crate::error::{Error, Result};
use crate::parser::ast::*;
use crate::parser::expression::user_variable_name;
use crate::parser::lexer::{self, Kind};

impl Parser<'_> {
    /// 'user'@'host', user@host, CURRENT_USER[()]
    pub(in crate::parser) fn user_name(&mut self) -> Result<UserName> {
        if self.take_word("CURRENT_USER") {
            if self.take_symbol("(") {
                self.expect_symbol(")")?;
            }
            return Ok(UserName { user: String::new(), host: String::new(), current: true });
        }
        let user = self.name_or_text()?;
        let token = self.peek();
        let host = match token.kind {
            // `@'host'` and `@host` look like user variables.
            Kind::UserVariable => {
                self.advance();
                user_variable_name(self.bytes(token)).to_ascii_lowercase()
            }
            Kind::At => {
                self.advance();
                self.name_or_text()?.to_ascii_lowercase()
            }
            _ => "%".to_string(),
        };
        Ok(UserName { user, host, current: false })
    }

    pub(in crate::parser) fn user_specs(&mut self) -> Result<Vec<UserSpec>> {
        let mut users = self.list(|parser| {
            let name = parser.user_name()?;
            let mut spec = UserSpec { name, plugin: None, password: None, hash: None, options: Vec::new() };
            parser.identified(&mut spec)?;
            Ok(spec)
        })?;
        // REQUIRE .., WITH limits, PASSWORD EXPIRE, ACCOUNT LOCK, COMMENT ..: for all of them.
        let mut options = Vec::new();
        let grant_option = |parser: &Self| parser.is_word("WITH") && parser.is_word_at(1, "GRANT");
        while !self.is_at_end() && !grant_option(self) {
            let token = self.peek();
            if token.kind == Kind::Bad {
                return Err(self.unexpected());
            }
            options.push(String::from_utf8_lossy(self.bytes(token)).to_ascii_uppercase());
            self.advance();
        }
        for user in &mut users {
            user.options = options.clone();
        }
        Ok(users)
    }

    /// IDENTIFIED BY .., IDENTIFIED WITH ..
    fn identified(&mut self, spec: &mut UserSpec) -> Result<()> {
        if !self.take_word("IDENTIFIED") {
            return Ok(());
        }
        if self.take_word("WITH") || self.take_word("VIA") {
            spec.plugin = Some(self.name_or_text()?);
            if self.take_word("AS") || self.take_word("USING") {
                let token = self.peek();
                spec.hash = Some(match token.kind {
                    Kind::Hex => {
                        self.advance();
                        lexer::hex_bytes(self.bytes(token))
                    }
                    _ => self.text_bytes()?,
                });
                return Ok(());
            }
            if !self.is_word("BY") {
                return Ok(());
            }
        }
        self.expect_word("BY")?;
        if self.take_word("PASSWORD") {
            spec.hash = Some(self.text_bytes()?);
        } else if self.take_words(&["RANDOM", "PASSWORD"]) {
            return Err(Error::unsupported("IDENTIFIED BY RANDOM PASSWORD"));
        } else {
            spec.password = Some(self.text_bytes()?);
        }
        if self.take_word("REPLACE") {
            self.text_bytes()?;
        }
        self.take_words(&["RETAIN", "CURRENT", "PASSWORD"]);
        Ok(())
    }

    pub(in crate::parser) fn grant(&mut self) -> Result<Statement> {
        self.advance();
        let privileges = self.privileges("ON")?;
        if !self.is_word("ON") {
            // GRANT role TO user
            self.skip_rest()?;
            return Ok(Statement::Unsupported("roles".into()));
        }
        let level = self.grant_level()?;
        self.expect_word("TO")?;
        let users = self.user_specs()?;
        let mut grant_option = false;
        if self.take_word("WITH") {
            self.expect_word("GRANT")?;
            self.expect_word("OPTION")?;
            grant_option = true;
        }
        Ok(Statement::Grant { privileges, level, users, grant_option })
    }

    pub(in crate::parser) fn revoke(&mut self) -> Result<Statement> {
        self.advance();
        self.if_exists_words();
        let privileges = self.privileges("ON")?;
        let level = if self.is_word("ON") { self.grant_level()? } else { GrantLevel::Global };
        self.expect_word("FROM")?;
        Ok(Statement::Revoke { privileges, level, users: self.list(Self::user_name)? })
    }

    fn if_exists_words(&mut self) {
        self.take_words(&["IF", "EXISTS"]);
    }

    fn privileges(&mut self, end: &str) -> Result<Vec<Privilege>> {
        self.list(|parser| {
            let mut words = Vec::new();
            while !parser.is_any_word(&[end, "TO", "FROM"]) && parser.peek().kind != Kind::Symbol {
                if parser.peek().kind == Kind::Word {
                    words.push(parser.upper_word()?);
                } else {
                    words.push(parser.user_name()?.user);
                }
            }
            if words.is_empty() {
                return Err(parser.unexpected());
            }
            let columns = if parser.is_symbol("(") { parser.parenthesized_list(Self::name)? } else { Vec::new() };
            Ok(Privilege { name: words.join(" "), columns })
        })
    }

    /// ON [TABLE] *.* | db.* | db.t | t | *
    fn grant_level(&mut self) -> Result<GrantLevel> {
        self.expect_word("ON")?;
        let _ = self.take_word("TABLE") || self.take_word("FUNCTION") || self.take_word("PROCEDURE");
        if self.take_symbol("*") {
            if self.take_symbol(".") {
                self.expect_symbol("*")?;
                return Ok(GrantLevel::Global);
            }
            return Ok(GrantLevel::Database(None));
        }
        if self.is_symbol_at(1, ".") && self.is_symbol_at(2, "*") {
            let database = self.any_name()?;
            self.at += 2;
            return Ok(GrantLevel::Database(Some(database)));
        }
        Ok(GrantLevel::Table(self.table_name()?))
    }
}
