//! Accounts, roles, and what they may do.

use super::Parser;
use crate::error::{Error, Result};
use crate::parser::ast::*;
use crate::parser::expression::user_variable_name;
use crate::parser::lexer::{self, Kind};

/// What stands before TO, FROM or ON in GRANT and REVOKE: a privilege or a role.
enum Granted {
    Privilege(Privilege),
    Role(UserName),
}

fn statement(statement: AccountStatement) -> Statement {
    Statement::Account(Box::new(statement))
}

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

    fn user_names(&mut self) -> Result<Vec<UserName>> {
        self.list(Self::user_name)
    }

    /// Accounts with what is said of their passwords; one that is made anew has no old one.
    fn user_specs(&mut self, creates: bool) -> Result<Vec<UserSpec>> {
        self.list(|parser| {
            let name = parser.user_name()?;
            let mut spec = UserSpec {
                name,
                plugin: None,
                identified: Identified::Nothing,
                replaces: None,
                old: OldPassword::Replaced,
            };
            if ["ADD", "MODIFY", "DROP"].iter().any(|word| parser.is_word(word)) || parser.is_word_at(1, "FACTOR") {
                return Err(Error::unsupported("several factors of authentication"));
            }
            parser.identified(&mut spec)?;
            if !creates && parser.take_words(&["DISCARD", "OLD", "PASSWORD"]) {
                spec.old = OldPassword::Discarded;
            } else if !creates && spec.identified != Identified::Nothing {
                spec.old = parser.retained()?;
            }
            Ok(spec)
        })
    }

    /// Behind CREATE USER.
    pub(in crate::parser) fn create_user(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let users = self.user_specs(true)?;
        let options = self.account_options(true)?;
        Ok(statement(AccountStatement::CreateUser { if_not_exists, users, options }))
    }

    /// Behind ALTER USER.
    pub(in crate::parser) fn alter_user(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        if self.is_word("USER") && self.is_symbol_at(1, "(") {
            // ALTER USER USER() IDENTIFIED BY ...
            self.at += 2;
            self.expect_symbol(")")?;
            let name = UserName { user: String::new(), host: String::new(), current: true };
            let mut spec = UserSpec {
                name,
                plugin: None,
                identified: Identified::Nothing,
                replaces: None,
                old: OldPassword::Replaced,
            };
            self.identified(&mut spec)?;
            spec.old = self.retained()?;
            let options = AccountOptions::default();
            return Ok(statement(AccountStatement::AlterUser { if_exists, users: vec![spec], options }));
        }
        let users = self.user_specs(false)?;
        if let [spec] = &users[..]
            && self.is_word("DEFAULT")
            && self.is_word_at(1, "ROLE")
        {
            self.at += 2;
            let users = vec![spec.name.clone()];
            let choice = self.role_choice(false)?;
            return Ok(statement(AccountStatement::SetDefaultRole { choice, users }));
        }
        let options = self.account_options(false)?;
        Ok(statement(AccountStatement::AlterUser { if_exists, users, options }))
    }

    /// Behind DROP USER.
    pub(in crate::parser) fn drop_user(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        Ok(statement(AccountStatement::DropUser { if_exists, users: self.user_names()? }))
    }

    /// Behind RENAME USER.
    pub(in crate::parser) fn rename_user(&mut self) -> Result<Statement> {
        let pairs = self.list(|parser| {
            let from = parser.user_name()?;
            parser.expect_word("TO")?;
            Ok((from, parser.user_name()?))
        })?;
        Ok(statement(AccountStatement::RenameUser(pairs)))
    }

    /// Behind CREATE ROLE.
    pub(in crate::parser) fn create_role(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        Ok(statement(AccountStatement::CreateRole { if_not_exists, roles: self.user_names()? }))
    }

    /// Behind DROP ROLE.
    pub(in crate::parser) fn drop_role(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        Ok(statement(AccountStatement::DropRole { if_exists, roles: self.user_names()? }))
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
                spec.identified = Identified::As(match token.kind {
                    Kind::Hex => {
                        self.advance();
                        lexer::hex_bytes(self.bytes(token))
                    }
                    _ => self.text_bytes()?,
                });
                if self.is_word("OR") {
                    return Err(Error::unsupported("several plugins of one account"));
                }
                return Ok(());
            }
            if self.is_word("OR") {
                return Err(Error::unsupported("several plugins of one account"));
            }
            if !self.is_word("BY") {
                return Ok(());
            }
        }
        self.expect_word("BY")?;
        spec.identified = if self.take_word("PASSWORD") {
            // MariaDB's dumps: a hash without a plugin is a native one.
            spec.plugin.get_or_insert_with(|| "mysql_native_password".to_owned());
            Identified::As(self.text_bytes()?)
        } else if self.take_words(&["RANDOM", "PASSWORD"]) {
            Identified::ByRandom
        } else {
            Identified::By(self.text_bytes()?)
        };
        spec.replaces = self.replaced_password()?;
        if self.is_word("AND") {
            return Err(Error::unsupported("several passwords of one account"));
        }
        Ok(())
    }

    /// [REPLACE 'current password']
    fn replaced_password(&mut self) -> Result<Option<Vec<u8>>> {
        if self.take_word("REPLACE") { self.text_bytes().map(Some) } else { Ok(None) }
    }

    /// [RETAIN CURRENT PASSWORD]
    fn retained(&mut self) -> Result<OldPassword> {
        if !self.take_word("RETAIN") {
            return Ok(OldPassword::Replaced);
        }
        self.expect_word("CURRENT")?;
        self.expect_word("PASSWORD")?;
        Ok(OldPassword::Retained)
    }

    /// REQUIRE, WITH limits, PASSWORD, ACCOUNT, COMMENT: for all users of the statement.
    fn account_options(&mut self, creates: bool) -> Result<AccountOptions> {
        let mut options = AccountOptions::default();
        if creates && self.take_words(&["DEFAULT", "ROLE"]) {
            options.default_roles = self.user_names()?;
        }
        if self.take_word("REQUIRE") {
            options.requirement = Some(self.requirement()?);
        }
        if self.take_word("WITH") {
            options.limits = self.limits()?;
        }
        while !self.is_at_end() {
            if self.take_word("PASSWORD") {
                self.password_option(&mut options)?;
            } else if self.take_word("FAILED_LOGIN_ATTEMPTS") {
                options.failed_attempts = Some(self.number_of_option()?);
            } else if self.take_word("PASSWORD_LOCK_TIME") {
                let unbounded = self.take_word("UNBOUNDED");
                options.lock_days = Some(if unbounded { None } else { Some(self.number_of_option()?) });
            } else if self.take_words(&["ACCOUNT", "LOCK"]) {
                options.locked = Some(true);
            } else if self.take_words(&["ACCOUNT", "UNLOCK"]) {
                options.locked = Some(false);
            } else if self.take_word("COMMENT") {
                options.comment = Some(self.text()?);
            } else if self.take_word("ATTRIBUTE") {
                options.attribute = Some(self.text()?);
            } else {
                return Err(self.unexpected());
            }
        }
        Ok(options)
    }

    fn requirement(&mut self) -> Result<Requirement> {
        match self.take_any_word(&["NONE", "SSL", "X509"]) {
            Some("NONE") => return Ok(Requirement::None),
            Some("SSL") => return Ok(Requirement::Ssl),
            Some(_) => return Ok(Requirement::X509),
            None => {}
        }
        let (mut cipher, mut issuer, mut subject) = (None, None, None);
        while let Some(word) = self.take_any_word(&["CIPHER", "ISSUER", "SUBJECT"]) {
            let place = match word {
                "CIPHER" => &mut cipher,
                "ISSUER" => &mut issuer,
                _ => &mut subject,
            };
            *place = Some(self.text()?);
            self.take_word("AND");
        }
        match (&cipher, &issuer, &subject) {
            (None, None, None) => Err(self.unexpected()),
            _ => Ok(Requirement::Specified { cipher, issuer, subject }),
        }
    }

    fn limits(&mut self) -> Result<Vec<(&'static str, u32)>> {
        let names =
            ["MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR", "MAX_USER_CONNECTIONS"];
        let mut limits = Vec::new();
        while let Some(name) = self.take_any_word(&names) {
            limits.push((name, self.number_of_option()?));
        }
        if self.is_word("MAX_STATEMENT_TIME") {
            return Err(Error::unsupported("MAX_STATEMENT_TIME of an account"));
        }
        if limits.is_empty() { Err(self.unexpected()) } else { Ok(limits) }
    }

    fn number_of_option(&mut self) -> Result<u32> {
        let at = self.peek().start as usize;
        u32::try_from(self.integer()?).map_err(|_| self.error_at(at))
    }

    /// Behind PASSWORD.
    fn password_option(&mut self, options: &mut AccountOptions) -> Result<()> {
        if self.take_word("EXPIRE") {
            options.expiry = Some(if self.take_word("DEFAULT") {
                Expiry::Default
            } else if self.take_word("NEVER") {
                Expiry::Never
            } else if self.take_word("INTERVAL") {
                let days = self.number_of_option()?;
                self.expect_word("DAY")?;
                Expiry::Days(days)
            } else {
                Expiry::Now
            });
        } else if self.take_word("HISTORY") {
            let default = self.take_word("DEFAULT");
            options.history = Some(if default { None } else { Some(self.number_of_option()?) });
        } else if self.take_words(&["REUSE", "INTERVAL"]) {
            options.reuse_days = Some(if self.take_word("DEFAULT") {
                None
            } else {
                let days = self.number_of_option()?;
                self.expect_word("DAY")?;
                Some(days)
            });
        } else if self.take_words(&["REQUIRE", "CURRENT"]) {
            let word = self.take_any_word(&["DEFAULT", "OPTIONAL"]);
            options.requires_current = Some(match word {
                Some("DEFAULT") => None,
                Some(_) => Some(false),
                None => Some(true),
            });
        } else {
            return Err(self.unexpected());
        }
        Ok(())
    }

    pub(in crate::parser) fn grant(&mut self) -> Result<Statement> {
        self.advance();
        let granted = self.granted()?;
        if !self.is_word("ON") {
            self.expect_word("TO")?;
            let roles = roles_of(granted);
            let users = self.user_names()?;
            let admin_option = self.take_words(&["WITH", "ADMIN", "OPTION"]);
            return Ok(statement(AccountStatement::GrantRoles { roles, users, admin_option }));
        }
        let privileges = privileges_of(granted);
        if privileges.iter().any(|privilege| privilege.name == "PROXY") {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("PROXY".into()));
        }
        let level = self.grant_level()?;
        self.expect_word("TO")?;
        let users = self.user_specs(true)?;
        // REQUIRE and limits are MariaDB's: its SHOW GRANTS, and so its dumps, repeat what CREATE USER said.
        let mut options = AccountOptions::default();
        if self.take_word("REQUIRE") {
            options.requirement = Some(self.requirement()?);
        }
        let mut grant_option = false;
        if self.take_word("WITH") {
            grant_option = self.take_words(&["GRANT", "OPTION"]);
            if !(grant_option && (self.is_at_end() || self.is_word("AS"))) {
                options.limits = self.limits()?;
            }
        }
        let mut grantor = None;
        if self.take_word("AS") {
            let user = self.user_name()?;
            let roles = if self.take_words(&["WITH", "ROLE"]) { self.role_choice(true)? } else { RoleChoice::Default };
            grantor = Some((user, roles));
        }
        Ok(statement(AccountStatement::Grant(Grant { privileges, level, users, options, grant_option, grantor })))
    }

    pub(in crate::parser) fn revoke(&mut self) -> Result<Statement> {
        self.advance();
        let mut lenience = Lenience { if_exists: self.if_exists()?, ignore_unknown_user: false };
        let start = self.at;
        if self.take_word("ALL") {
            self.take_word("PRIVILEGES");
            if self.take_symbol(",") {
                self.expect_word("GRANT")?;
                self.expect_word("OPTION")?;
                self.expect_word("FROM")?;
                let users = self.user_names()?;
                lenience.ignore_unknown_user = self.ignores_unknown_user()?;
                return Ok(statement(AccountStatement::RevokeAll { users, lenience }));
            }
            self.at = start;
        }
        let granted = self.granted()?;
        if !self.is_word("ON") {
            self.expect_word("FROM")?;
            let roles = roles_of(granted);
            let users = self.user_names()?;
            lenience.ignore_unknown_user = self.ignores_unknown_user()?;
            return Ok(statement(AccountStatement::RevokeRoles { roles, users, lenience }));
        }
        let privileges = privileges_of(granted);
        if privileges.iter().any(|privilege| privilege.name == "PROXY") {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("PROXY".into()));
        }
        let level = self.grant_level()?;
        self.expect_word("FROM")?;
        let users = self.user_names()?.into_iter();
        let spec = |name| UserSpec {
            name,
            plugin: None,
            identified: Identified::Nothing,
            replaces: None,
            old: OldPassword::Replaced,
        };
        let users = users.map(spec).collect();
        lenience.ignore_unknown_user = self.ignores_unknown_user()?;
        let options = AccountOptions::default();
        let grant = Grant { privileges, level, users, options, grant_option: false, grantor: None };
        Ok(statement(AccountStatement::Revoke { grant, lenience }))
    }

    fn ignores_unknown_user(&mut self) -> Result<bool> {
        Ok(self.take_words(&["IGNORE", "UNKNOWN", "USER"]))
    }

    fn granted(&mut self) -> Result<Vec<Granted>> {
        self.list(|parser| {
            let token = parser.peek();
            let is_host = |kind| matches!(kind, Kind::UserVariable | Kind::At);
            let is_bare = token.kind == Kind::Word;
            if !is_bare || is_host(parser.peek_at(1).kind) {
                return Ok(Granted::Role(parser.user_name()?));
            }
            let first = String::from_utf8_lossy(parser.bytes(token)).into_owned();
            parser.advance();
            let mut words = vec![first.to_ascii_uppercase()];
            while !parser.is_any_word(&["ON", "TO", "FROM"]) && parser.peek().kind == Kind::Word {
                words.push(parser.upper_word()?);
            }
            let columns = if parser.is_symbol("(") { parser.parenthesized_list(Self::any_name)? } else { Vec::new() };
            let is_role = words.len() == 1 && columns.is_empty();
            // Which it is tells what follows; a role's name is case-sensitive.
            Ok(match is_role {
                true => Granted::Role(UserName { user: first, host: "%".to_owned(), current: false }),
                false => Granted::Privilege(Privilege { name: words.join(" "), columns }),
            })
        })
    }

    /// ON [TABLE|FUNCTION|PROCEDURE] *.* | db.* | db.t | t | *
    fn grant_level(&mut self) -> Result<GrantLevel> {
        self.expect_word("ON")?;
        let is_kind = !self.is_symbol_at(1, ".") && !self.is_any_word_at(1, &["TO", "FROM"]);
        let kind = if is_kind { self.take_any_word(&["TABLE", "FUNCTION", "PROCEDURE"]) } else { None };
        if let Some(kind @ ("FUNCTION" | "PROCEDURE")) = kind {
            return Ok(GrantLevel::Routine(kind, self.table_name()?));
        }
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

    fn is_any_word_at(&self, ahead: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word_at(ahead, word))
    }

    /// Behind SET ROLE, and behind DEFAULT ROLE, where DEFAULT and ALL EXCEPT may not stand.
    pub(in crate::parser) fn role_choice(&mut self, of_session: bool) -> Result<RoleChoice> {
        if self.take_word("NONE") {
            return Ok(RoleChoice::None);
        }
        if of_session && self.take_word("DEFAULT") {
            return Ok(RoleChoice::Default);
        }
        if self.take_word("ALL") {
            if of_session && self.take_word("EXCEPT") {
                return Ok(RoleChoice::AllExcept(self.user_names()?));
            }
            return Ok(RoleChoice::All);
        }
        Ok(RoleChoice::Some(self.user_names()?))
    }

    /// Behind SET DEFAULT ROLE.
    pub(in crate::parser) fn set_default_role(&mut self) -> Result<Statement> {
        let choice = self.role_choice(false)?;
        if !self.take_word("TO") {
            self.expect_word("FOR")?; // MariaDB
        }
        let users = self.user_names()?;
        Ok(statement(AccountStatement::SetDefaultRole { choice, users }))
    }

    /// Behind SET PASSWORD.
    pub(in crate::parser) fn set_password(&mut self) -> Result<Statement> {
        let user = if self.take_word("FOR") { Some(self.user_name()?) } else { None };
        let identified = if self.take_words(&["TO", "RANDOM"]) {
            Identified::ByRandom
        } else {
            self.expect_symbol("=")?;
            if self.is_word("PASSWORD") && self.is_symbol_at(1, "(") {
                self.at += 2;
                let password = self.text_bytes()?;
                self.expect_symbol(")")?;
                Identified::By(password)
            } else {
                Identified::By(self.text_bytes()?)
            }
        };
        let replaces = self.replaced_password()?;
        let old = self.retained()?;
        Ok(statement(AccountStatement::SetPassword { user, identified, replaces, old }))
    }
}

fn roles_of(granted: Vec<Granted>) -> Vec<UserName> {
    let role = |granted| match granted {
        Granted::Role(name) => name,
        Granted::Privilege(privilege) => UserName { user: privilege.name, host: "%".to_owned(), current: false },
    };
    granted.into_iter().map(role).collect()
}

fn privileges_of(granted: Vec<Granted>) -> Vec<Privilege> {
    let privilege = |granted| match granted {
        Granted::Privilege(privilege) => privilege,
        Granted::Role(name) => Privilege { name: name.user.to_ascii_uppercase(), columns: Vec::new() },
    };
    granted.into_iter().map(privilege).collect()
}
