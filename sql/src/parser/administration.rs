//! Everything that is neither a query nor a change nor a definition: SET, SHOW,
//! transactions, locks, users, prepared statements, maintenance.

use super::Parser;
use super::ast::*;
use super::expression::{scope_of, user_variable_name};
use super::lexer::Kind;
use crate::error::{Error, Result};

impl Parser<'_> {
    // ---------------------------------------------------------------- SET

    pub(super) fn set(&mut self) -> Result<Statement> {
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
        if self.is_any_word(&["ROLE", "RESOURCE", "STATEMENT"]) && !self.is_symbol_at(1, "=") {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("SET ROLE, SET RESOURCE GROUP or SET STATEMENT".into()));
        }
        if self.take_word("DEFAULT") {
            self.expect_word("ROLE")?;
            self.skip_rest()?;
            return Ok(Statement::Unsupported("SET DEFAULT ROLE".into()));
        }
        // A scope word holds for the items behind it that have none, as in MySQL.
        let mut scope = None;
        let items = self.list(|parser| parser.set_item(&mut scope))?;
        Ok(Statement::Set(items))
    }

    fn set_item(&mut self, scope: &mut Option<VariableScope>) -> Result<SetItem> {
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
            (*scope, name)
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
            token.kind == Kind::End || parser.is_symbol_at(ahead, ",") || parser.is_symbol_at(ahead, ";")
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
            if parser.take_words(&["ISOLATION", "LEVEL"]) {
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
            } else if parser.take_words(&["READ", "ONLY"]) {
                read_only = Some(true);
            } else if parser.take_words(&["READ", "WRITE"]) {
                read_only = Some(false);
            } else {
                return Err(parser.unexpected());
            }
            Ok(())
        })?;
        Ok(Statement::SetTransaction { scope, isolation, read_only })
    }

    fn set_password(&mut self) -> Result<Statement> {
        let user = if self.take_word("FOR") { Some(self.user_name()?) } else { None };
        self.expect_symbol("=")?;
        let password = if self.is_word("PASSWORD") && self.is_symbol_at(1, "(") {
            self.at += 2;
            let password = self.text_bytes()?;
            self.expect_symbol(")")?;
            password
        } else {
            self.text_bytes()?
        };
        Ok(Statement::SetPassword { user, password })
    }

    // --------------------------------------------------------- transactions

    pub(super) fn transaction(&mut self) -> Result<Statement> {
        if self.take_word("BEGIN") {
            self.take_word("WORK");
            return Ok(Statement::Begin { read_only: None, consistent_snapshot: false });
        }
        if self.take_word("START") {
            if self.is_any_word(&["SLAVE", "REPLICA", "ALL", "GROUP_REPLICATION"]) {
                self.skip_rest()?;
                return Ok(Statement::Unsupported("START REPLICA".into()));
            }
            self.expect_word("TRANSACTION")?;
            let (mut read_only, mut consistent_snapshot) = (None, false);
            if !self.is_at_end() {
                self.list(|parser| {
                    if parser.take_words(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
                        consistent_snapshot = true;
                    } else if parser.take_words(&["READ", "ONLY"]) {
                        read_only = Some(true);
                    } else if parser.take_words(&["READ", "WRITE"]) {
                        read_only = Some(false);
                    } else {
                        return Err(parser.unexpected());
                    }
                    Ok(())
                })?;
            }
            return Ok(Statement::Begin { read_only, consistent_snapshot });
        }
        if self.take_word("SAVEPOINT") {
            return Ok(Statement::Savepoint(self.name()?));
        }
        if self.take_word("RELEASE") {
            self.expect_word("SAVEPOINT")?;
            return Ok(Statement::ReleaseSavepoint(self.name()?));
        }
        let is_commit = self.is_word("COMMIT");
        self.advance();
        self.take_word("WORK");
        if !is_commit && self.take_word("TO") {
            self.take_word("SAVEPOINT");
            return Ok(Statement::RollbackTo(self.name()?));
        }
        let (mut chain, mut release) = (false, false);
        if self.take_word("AND") {
            chain = !self.take_word("NO");
            self.expect_word("CHAIN")?;
        }
        if self.take_word("NO") {
            self.expect_word("RELEASE")?;
        } else {
            release = self.take_word("RELEASE");
        }
        Ok(if is_commit { Statement::Commit { chain, release } } else { Statement::Rollback { chain, release } })
    }

    pub(super) fn lock_tables(&mut self) -> Result<Statement> {
        let unlock = self.is_word("UNLOCK");
        self.advance();
        if self.take_word("INSTANCE") {
            if unlock {
                return Ok(Statement::UnlockInstance);
            }
            self.expect_word("FOR")?;
            self.expect_word("BACKUP")?;
            return Ok(Statement::LockInstance);
        }
        if !self.take_word("TABLES") {
            self.expect_word("TABLE")?;
        }
        if unlock {
            return Ok(Statement::UnlockTables);
        }
        let tables = self.list(|parser| {
            let table = parser.table_name()?;
            let alias = if parser.take_word("AS") || parser.is_name() && !parser.is_word("LOW_PRIORITY") {
                Some(parser.name()?)
            } else {
                None
            };
            parser.take_word("LOW_PRIORITY");
            let lock = match parser.take_any_word(&["READ", "WRITE"]) {
                Some("READ") if parser.take_word("LOCAL") => TableLock::ReadLocal,
                Some("READ") => TableLock::Read,
                Some(_) => TableLock::Write,
                None => return Err(parser.unexpected()),
            };
            Ok((table, alias, lock))
        })?;
        Ok(Statement::LockTables(tables))
    }

    /// CLONE LOCAL DATA DIRECTORY [=] 'dir', BACKUP SERVER [TO 'file'], BACKUP STAGE stage.
    pub(super) fn backup(&mut self) -> Result<Statement> {
        let clone = self.is_word("CLONE");
        self.advance();
        if clone {
            if !self.take_word("LOCAL") {
                self.skip_rest()?;
                return Ok(Statement::Unsupported("CLONE from another server".into()));
            }
            for word in ["DATA", "DIRECTORY"] {
                self.expect_word(word)?;
            }
            self.take_symbol("=");
            return Ok(Statement::CloneLocal(self.text()?));
        }
        if self.take_word("SERVER") {
            let to = if self.take_word("TO") { Some(self.text()?) } else { None };
            return Ok(Statement::BackupServer(to));
        }
        if self.take_word("STAGE") {
            let word = self.upper_word()?;
            let stage = BackupStage::by_name(&word).ok_or_else(|| Error::backup_unknown_stage(&word))?;
            return Ok(Statement::BackupStage(stage));
        }
        if self.is_any_word(&["LOCK", "UNLOCK"]) {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("BACKUP LOCK".into()));
        }
        Err(self.unexpected())
    }

    // --------------------------------------------------------------- SHOW

    pub(super) fn show(&mut self) -> Result<Statement> {
        self.advance();
        let start = self.at;
        let full = self.take_word("EXTENDED") | self.take_word("FULL");
        let scope = self.take_any_word(&["GLOBAL", "SESSION", "LOCAL"]).map(scope_of);
        let show = match self.upper_word()?.as_str() {
            "DATABASES" | "SCHEMAS" => Show::Databases(self.show_filter()?),
            "TABLES" => {
                let database = self.optional_database()?;
                Show::Tables { full, database, filter: self.show_filter()? }
            }
            "COLUMNS" | "FIELDS" => {
                let table = self.expected_table()?;
                Show::Columns { full, table, filter: self.show_filter()? }
            }
            "INDEX" | "INDEXES" | "KEYS" => {
                let table = self.expected_table()?;
                Show::Index { table, filter: self.optional_filter()? }
            }
            "CREATE" => self.show_create()?,
            "TABLE" => {
                self.expect_word("STATUS")?;
                let database = self.optional_database()?;
                Show::TableStatus { database, filter: self.show_filter()? }
            }
            "OPEN" => {
                self.expect_word("TABLES")?;
                let database = self.optional_database()?;
                Show::OpenTables { database, filter: self.show_filter()? }
            }
            "VARIABLES" => Show::Variables { scope, filter: self.show_filter()? },
            "STATUS" => Show::Status { scope, filter: self.show_filter()? },
            "WARNINGS" => Show::Warnings { limit: self.show_limit()?, count: false },
            "ERRORS" => Show::Errors { limit: self.show_limit()?, count: false },
            "COUNT" => {
                for symbol in ["(", "*", ")"] {
                    self.expect_symbol(symbol)?;
                }
                match self.upper_word()?.as_str() {
                    "WARNINGS" => Show::Warnings { limit: None, count: true },
                    "ERRORS" => Show::Errors { limit: None, count: true },
                    _ => return Err(self.unexpected()),
                }
            }
            "ENGINES" => Show::Engines,
            "STORAGE" => {
                self.expect_word("ENGINES")?;
                Show::Engines
            }
            "ENGINE" => Show::Engine { name: self.any_name()?, what: self.upper_word()? },
            "PROCESSLIST" => Show::ProcessList { full },
            "CHARSET" => Show::Charset(self.show_filter()?),
            "CHARACTER" => {
                self.expect_word("SET")?;
                Show::Charset(self.show_filter()?)
            }
            "COLLATION" => Show::Collation(self.show_filter()?),
            "PLUGINS" => Show::Plugins,
            "PRIVILEGES" => Show::Privileges,
            "GRANTS" => {
                let user = if self.take_word("FOR") { Some(self.user_name()?) } else { None };
                if self.take_word("USING") {
                    self.skip_rest()?;
                }
                Show::Grants { user }
            }
            "EVENTS" => {
                let database = self.optional_database()?;
                Show::Events { database, filter: self.show_filter()? }
            }
            "TRIGGERS" => {
                let database = self.optional_database()?;
                Show::Triggers { database, filter: self.show_filter()? }
            }
            kind @ ("FUNCTION" | "PROCEDURE" | "PACKAGE") => {
                let kind = if self.take_word("BODY") { format!("{kind} BODY") } else { kind.to_string() };
                if !self.is_word("STATUS") {
                    self.at = start;
                    return self.show_other();
                }
                self.advance();
                Show::RoutineStatus { kind, filter: self.show_filter()? }
            }
            "MASTER" if self.is_any_word(&["STATUS", "LOGS"]) => {
                if self.take_word("LOGS") {
                    Show::BinaryLogs
                } else {
                    self.advance();
                    Show::BinaryLogStatus
                }
            }
            "BINLOG" if self.take_word("STATUS") => Show::BinaryLogStatus,
            "BINARY" if self.take_word("LOGS") => Show::BinaryLogs,
            "BINARY" if self.take_words(&["LOG", "STATUS"]) => Show::BinaryLogStatus,
            _ => {
                self.at = start;
                return self.show_other();
            }
        };
        Ok(Statement::Show(show))
    }

    /// The words of a SHOW that has no structure for us.
    fn show_other(&mut self) -> Result<Statement> {
        let known = [
            "SLAVE",
            "REPLICA",
            "REPLICAS",
            "ALL",
            "BINLOG",
            "RELAYLOG",
            "PROFILES",
            "PROFILE",
            "FUNCTION",
            "PROCEDURE",
            "PACKAGE",
            "MASTER",
            "PARSE_TREE",
            "AUTHORS",
            "CONTRIBUTORS",
            "EXPLAIN",
            "LOCALES",
            "USER_STATISTICS",
            "CLIENT_STATISTICS",
            "INDEX_STATISTICS",
            "TABLE_STATISTICS",
        ];
        if !self.is_any_word(&known) {
            return Err(self.unexpected());
        }
        let mut words = Vec::new();
        while self.peek().kind == Kind::Word {
            words.push(self.upper_word()?);
        }
        self.skip_rest()?;
        Ok(Statement::Show(Show::Other(words.join(" "))))
    }

    fn show_create(&mut self) -> Result<Show> {
        Ok(match self.upper_word()?.as_str() {
            "TABLE" => Show::CreateTable(self.table_name()?),
            "VIEW" => Show::CreateView(self.table_name()?),
            "DATABASE" | "SCHEMA" => {
                let if_not_exists = self.take_words(&["IF", "NOT", "EXISTS"]);
                Show::CreateDatabase { name: self.name()?, if_not_exists }
            }
            "USER" => Show::CreateUser(self.user_name()?),
            kind @ ("FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT" | "PACKAGE") => {
                self.skip_rest()?;
                Show::Other(format!("CREATE {kind}"))
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        })
    }

    fn optional_database(&mut self) -> Result<Option<String>> {
        if self.take_word("FROM") || self.take_word("IN") { Ok(Some(self.any_name()?)) } else { Ok(None) }
    }

    /// FROM table [FROM database]
    fn expected_table(&mut self) -> Result<TableName> {
        if !self.take_word("FROM") {
            self.expect_word("IN")?;
        }
        let mut table = self.table_name()?;
        if let Some(database) = self.optional_database()? {
            table.database = Some(database);
        }
        Ok(table)
    }

    fn show_filter(&mut self) -> Result<ShowFilter> {
        if self.take_word("LIKE") {
            return Ok(ShowFilter { like: Some(self.text_bytes()?), filter: None });
        }
        Ok(ShowFilter { like: None, filter: self.optional_filter()? })
    }

    fn show_limit(&mut self) -> Result<Option<Limit>> {
        if self.is_word("LIMIT") { Ok(Some(self.limit()?)) } else { Ok(None) }
    }

    pub(super) fn explain(&mut self) -> Result<Statement> {
        self.advance();
        let mut analyze = false;
        let mut format = None;
        loop {
            if self.is_word("FORMAT") && self.is_symbol_at(1, "=") {
                self.at += 2;
                format = Some(self.upper_word()?);
            } else if self.is_word("ANALYZE") && !self.is_symbol_at(1, ".") {
                self.advance();
                analyze = true;
            } else if self.is_any_word(&["EXTENDED", "PARTITIONS"]) && self.peek_at(1).kind == Kind::Word {
                self.advance();
            } else {
                break;
            }
        }
        let verbs = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "TABLE", "VALUES"];
        if self.is_any_word(&verbs) || self.is_symbol("(") {
            let statement = Box::new(self.nested(Self::statement)?);
            return Ok(Statement::Explain { format, analyze, statement });
        }
        if self.is_word("FOR") && self.is_word_at(1, "CONNECTION") {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("EXPLAIN FOR CONNECTION".into()));
        }
        let table = self.table_name()?;
        let column = match self.peek().kind {
            Kind::Text => Some(self.text()?),
            _ if self.is_name() => Some(self.name()?),
            _ => None,
        };
        Ok(Statement::Describe { table, column })
    }

    // -------------------------------------------------------- maintenance

    pub(super) fn maintain(&mut self) -> Result<Statement> {
        let action = match self.upper_word()?.as_str() {
            "OPTIMIZE" => Maintenance::Optimize,
            "ANALYZE" => Maintenance::Analyze,
            "CHECK" => Maintenance::Check,
            "REPAIR" => Maintenance::Repair,
            _ => Maintenance::Checksum,
        };
        let _ = self.take_word("NO_WRITE_TO_BINLOG") || self.take_word("LOCAL");
        if !self.take_word("TABLE") {
            self.expect_word("TABLES")?;
        }
        let tables = self.list(Self::table_name)?;
        let mut options = Vec::new();
        while self.peek().kind == Kind::Word {
            options.push(self.upper_word()?);
        }
        // ANALYZE TABLE t UPDATE HISTOGRAM ON c WITH 8 BUCKETS
        if options.first().is_some_and(|word| word == "UPDATE" || word == "DROP") {
            self.skip_rest()?;
        }
        Ok(Statement::Maintain { action, tables, options })
    }

    pub(super) fn kill(&mut self) -> Result<Statement> {
        self.advance();
        let _ = self.take_word("HARD") || self.take_word("SOFT");
        let query_only = self.take_word("QUERY");
        if !query_only {
            self.take_word("CONNECTION");
        }
        Ok(Statement::Kill { query_only, id: self.expr()? })
    }

    pub(super) fn flush(&mut self) -> Result<Statement> {
        self.advance();
        let no_binlog = self.take_word("NO_WRITE_TO_BINLOG") || self.take_word("LOCAL");
        let items = self.list(|parser| {
            if parser.take_word("TABLES") || parser.take_word("TABLE") {
                let tables = if parser.is_name() { parser.list(Self::table_name)? } else { Vec::new() };
                let read_lock = parser.take_words(&["WITH", "READ", "LOCK"]);
                let for_export = !read_lock && parser.take_words(&["FOR", "EXPORT"]);
                return Ok(FlushItem::Tables { tables, read_lock, for_export });
            }
            let mut words = vec![parser.upper_word()?];
            while parser.peek().kind == Kind::Word {
                words.push(parser.upper_word()?);
            }
            Ok(FlushItem::Other(words.join(" ")))
        })?;
        Ok(Statement::Flush { no_binlog, items })
    }

    pub(super) fn prepared(&mut self) -> Result<Statement> {
        match self.upper_word()?.as_str() {
            "PREPARE" => {
                let name = self.name()?;
                self.expect_word("FROM")?;
                let token = self.peek();
                if token.kind == Kind::UserVariable {
                    self.advance();
                    let source = PrepareSource::Variable(user_variable_name(self.bytes(token)));
                    return Ok(Statement::Prepare { name, source });
                }
                Ok(Statement::Prepare { name, source: PrepareSource::Text(self.text_bytes()?) })
            }
            "EXECUTE" => {
                let name = self.name()?;
                let mut using = Vec::new();
                if self.take_word("USING") {
                    using = self.list(|parser| {
                        let token = parser.peek();
                        if token.kind != Kind::UserVariable {
                            return Err(parser.unexpected());
                        }
                        parser.advance();
                        Ok(user_variable_name(parser.bytes(token)))
                    })?;
                }
                Ok(Statement::Execute { name, using })
            }
            _ => {
                self.expect_word("PREPARE")?;
                Ok(Statement::Deallocate(self.name()?))
            }
        }
    }

    // -------------------------------------------------------------- users

    /// 'user'@'host', user@host, CURRENT_USER[()]
    pub(super) fn user_name(&mut self) -> Result<UserName> {
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

    pub(super) fn user_specs(&mut self) -> Result<Vec<UserSpec>> {
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
                spec.hash = Some(self.text_bytes()?);
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

    pub(super) fn grant(&mut self) -> Result<Statement> {
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

    pub(super) fn revoke(&mut self) -> Result<Statement> {
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
