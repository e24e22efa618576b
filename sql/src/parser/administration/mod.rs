//! Everything that is neither a query nor a change nor a definition: SET, SHOW,
//! transactions, locks, users, prepared statements, maintenance.

mod account;
mod components;
mod replica;
mod set;
mod show;
mod xa;

use super::Parser;
use super::ast::*;
use super::expression::user_variable_name;
use super::lexer::Kind;
use crate::error::{Error, Result};

impl Parser<'_> {
    // --------------------------------------------------------- transactions

    pub(super) fn transaction(&mut self) -> Result<Statement> {
        if self.is_word("BEGIN") && self.is_word_at(1, "NOT") {
            return self.block_alone();
        }
        if self.take_word("BEGIN") {
            self.take_word("WORK");
            return Ok(Statement::Begin { read_only: None, consistent_snapshot: false });
        }
        if self.take_word("START") {
            if self.take_any_word(&["SLAVE", "REPLICA"]).is_some() {
                return self.start_replica();
            }
            if self.is_any_word(&["ALL", "GROUP_REPLICATION"]) {
                self.skip_rest()?;
                return Ok(Statement::Unsupported("START of several channels, and of groups".into()));
            }
            self.expect_word("TRANSACTION")?;
            let (mut read_only, mut consistent_snapshot) = (None, false);
            if !self.is_at_end() {
                self.list(|parser| {
                    if parser.take_words(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
                        consistent_snapshot = true;
                    } else if read_only.is_none() {
                        read_only = Some(parser.access_mode()?);
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
        let (mut chain, mut release) = (None, None);
        if self.take_word("AND") {
            chain = Some(!self.take_word("NO"));
            self.expect_word("CHAIN")?;
        }
        if self.take_word("NO") {
            self.expect_word("RELEASE")?;
            release = Some(false);
        } else if chain != Some(true) && self.take_word("RELEASE") {
            release = Some(true);
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

    // -------------------------------------------------------- maintenance

    pub(super) fn maintain(&mut self) -> Result<Statement> {
        let action = match self.upper_word()?.as_str() {
            "OPTIMIZE" => Maintenance::Optimize,
            "ANALYZE" => Maintenance::Analyze,
            "CHECK" => Maintenance::Check,
            "REPAIR" => Maintenance::Repair,
            _ => Maintenance::Checksum,
        };
        let is_logged = !(self.take_word("NO_WRITE_TO_BINLOG") || self.take_word("LOCAL"));
        if !self.take_word("TABLE") {
            self.expect_word("TABLES")?;
        }
        let tables = self.list(Self::table_name)?;
        let is_analyze = action == Maintenance::Analyze;
        let histogram = if is_analyze { self.histogram_change()? } else { None };
        let persistent = if is_analyze && histogram.is_none() { self.persistent_for()? } else { None };
        let mut options = Vec::new();
        let known: &[&str] = match action {
            Maintenance::Check => &["FOR", "UPGRADE", "QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"],
            Maintenance::Repair => &["QUICK", "EXTENDED", "USE_FRM", "FORCE"],
            Maintenance::Checksum => &["QUICK", "EXTENDED"],
            Maintenance::Optimize | Maintenance::Analyze => &[],
        };
        while let Some(option) = self.take_any_word(known) {
            options.push(option.to_owned());
        }
        Ok(Statement::Maintain { action, tables, options, histogram, persistent, is_logged })
    }

    /// UPDATE HISTOGRAM ON c [WITH 8 BUCKETS | USING DATA 'json'], DROP HISTOGRAM ON c.
    fn histogram_change(&mut self) -> Result<Option<HistogramChange>> {
        if self.take_words(&["DROP", "HISTOGRAM", "ON"]) {
            return Ok(Some(HistogramChange::Drop { columns: self.list(Self::name)? }));
        }
        if !self.take_words(&["UPDATE", "HISTOGRAM", "ON"]) {
            return Ok(None);
        }
        let columns = self.list(Self::name)?;
        let (mut buckets, mut data) = (None, None);
        if self.take_word("WITH") {
            buckets = Some(self.integer()?);
            self.expect_word("BUCKETS")?;
        } else if self.take_words(&["USING", "DATA"]) {
            data = Some(self.text()?);
        }
        Ok(Some(HistogramChange::Update { columns, buckets, data }))
    }

    /// PERSISTENT FOR {ALL | COLUMNS {ALL | ([c, ..])} INDEXES {ALL | ([k, ..])}}.
    fn persistent_for(&mut self) -> Result<Option<PersistentFor>> {
        if !self.take_words(&["PERSISTENT", "FOR"]) {
            return Ok(None);
        }
        if self.take_word("ALL") {
            return Ok(Some(PersistentFor { columns: None, indexes: None }));
        }
        self.expect_word("COLUMNS")?;
        let columns = self.all_or_some(Self::name)?;
        self.expect_word("INDEXES")?;
        let index = |parser: &mut Self| {
            if parser.take_word("PRIMARY") { Ok("PRIMARY".to_owned()) } else { parser.name() }
        };
        Ok(Some(PersistentFor { columns, indexes: self.all_or_some(index)? }))
    }

    /// ALL, or a list in parentheses, which may be empty.
    fn all_or_some(&mut self, name: impl FnMut(&mut Self) -> Result<String>) -> Result<Option<Vec<String>>> {
        if self.take_word("ALL") {
            return Ok(None);
        }
        self.expect_symbol("(")?;
        let names = if self.is_symbol(")") { Vec::new() } else { self.list(name)? };
        self.expect_symbol(")")?;
        Ok(Some(names))
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
        // TABLES stands alone, all else may stand in a list.
        if self.take_word("TABLES") || self.take_word("TABLE") {
            let tables = if self.is_name() { self.list(Self::table_name)? } else { Vec::new() };
            let read_lock = self.take_words(&["WITH", "READ", "LOCK"]);
            let for_export = !read_lock && !tables.is_empty() && self.take_words(&["FOR", "EXPORT"]);
            return Ok(Statement::Flush {
                no_binlog,
                items: vec![FlushItem::Tables { tables, read_lock, for_export }],
            });
        }
        let items = self.list(|parser| {
            if parser.is_any_word(&["TABLES", "TABLE"]) {
                return Err(parser.unexpected());
            }
            let mut words = vec![parser.upper_word()?];
            while parser.peek().kind == Kind::Word {
                words.push(parser.upper_word()?);
            }
            Ok(FlushItem::Other(words.join(" ")))
        })?;
        Ok(Statement::Flush { no_binlog, items })
    }

    /// BINLOG 'text', or MariaDB's BINLOG @first, @second for what is too long for one statement.
    pub(super) fn binlog(&mut self) -> Result<Statement> {
        self.advance();
        if self.peek().kind == Kind::Text {
            return Ok(Statement::Binlog(vec![PrepareSource::Text(self.text_bytes()?)]));
        }
        let variables = self.list(|parser| {
            let token = parser.peek();
            if token.kind != Kind::UserVariable {
                return Err(parser.unexpected());
            }
            parser.advance();
            Ok(PrepareSource::Variable(user_variable_name(parser.bytes(token))))
        })?;
        Ok(Statement::Binlog(variables))
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
            "EXECUTE" if self.is_word("IMMEDIATE") && !self.is_word_at(1, "USING") && self.at + 1 < self.last => {
                self.advance();
                let source = self.expr()?;
                let using = if self.take_word("USING") { self.list(Self::expr)? } else { Vec::new() };
                Ok(Statement::ExecuteImmediate { source, using })
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
}
