//! SHOW and EXPLAIN.

use super::Parser;
use crate::error::Result;
use crate::parser::ast::*;
use crate::parser::expression::scope_of;
use crate::parser::lexer::Kind;

impl Parser<'_> {
    pub(in crate::parser) fn show(&mut self) -> Result<Statement> {
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
            "PROFILES" => Show::Profiles,
            "PROFILE" => self.show_profile()?,
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
                let using = if self.take_word("USING") { self.list(Self::user_name)? } else { Vec::new() };
                Show::Grants { user, using }
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
            "BINLOG" if self.take_word("EVENTS") => {
                let file = if self.take_word("IN") { Some(self.text()?) } else { None };
                let position = if self.take_word("FROM") { Some(self.integer()?) } else { None };
                let mut place = LogPlace { file, position, skip: 0, rows: u64::MAX };
                if self.take_word("LIMIT") {
                    place.rows = self.integer()?;
                    if self.take_symbol(",") {
                        (place.skip, place.rows) = (place.rows, self.integer()?);
                    }
                }
                Show::BinaryLogEvents(place)
            }
            word @ ("SLAVE" | "REPLICA") if self.take_word("STATUS") => {
                let old_names = word == "SLAVE";
                Show::ReplicaStatus { old_names, channel: self.for_channel()? }
            }
            "BINARY" if self.take_word("LOGS") => Show::BinaryLogs,
            "BINARY" if self.take_words(&["LOG", "STATUS"]) => Show::BinaryLogStatus,
            _ => {
                self.at = start;
                return self.show_other();
            }
        };
        Ok(Statement::Show(show))
    }

    /// Behind SHOW PROFILE.
    fn show_profile(&mut self) -> Result<Show> {
        let known: [(&[&str], ProfileKind); 9] = [
            (&["ALL"], ProfileKind::All),
            (&["BLOCK", "IO"], ProfileKind::BlockIo),
            (&["CONTEXT", "SWITCHES"], ProfileKind::ContextSwitches),
            (&["CPU"], ProfileKind::Cpu),
            (&["IPC"], ProfileKind::Ipc),
            (&["MEMORY"], ProfileKind::Memory),
            (&["PAGE", "FAULTS"], ProfileKind::PageFaults),
            (&["SOURCE"], ProfileKind::Source),
            (&["SWAPS"], ProfileKind::Swaps),
        ];
        let mut kinds = Vec::new();
        while let Some((_, kind)) = known.iter().find(|(words, _)| self.take_words(words)) {
            kinds.push(*kind);
            if !self.take_symbol(",") {
                break;
            }
        }
        let query = if self.take_words(&["FOR", "QUERY"]) { Some(self.integer()?) } else { None };
        Ok(Show::Profile { kinds, query, limit: self.show_limit()? })
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
            "SEQUENCE" => Show::CreateSequence(self.table_name()?),
            "DATABASE" | "SCHEMA" => {
                let if_not_exists = self.take_words(&["IF", "NOT", "EXISTS"]);
                Show::CreateDatabase { name: self.name()?, if_not_exists }
            }
            "USER" => Show::CreateUser(self.user_name()?),
            "PROCEDURE" => Show::CreateProgram { kind: ProgramKind::Procedure, name: self.qualified_name()? },
            "FUNCTION" => Show::CreateProgram { kind: ProgramKind::Function, name: self.qualified_name()? },
            "TRIGGER" => Show::CreateProgram { kind: ProgramKind::Trigger, name: self.qualified_name()? },
            "EVENT" => Show::CreateProgram { kind: ProgramKind::Event, name: self.qualified_name()? },
            "PACKAGE" => {
                self.skip_rest()?;
                Show::Other("CREATE PACKAGE".to_owned())
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

    pub(in crate::parser) fn explain(&mut self) -> Result<Statement> {
        self.advance();
        let mut analyze = false;
        let mut format = None;
        loop {
            if self.is_word("FORMAT") && self.is_symbol_at(1, "=") {
                self.at += 2;
                format = Some(match self.peek().kind {
                    Kind::Text => self.text()?.to_ascii_uppercase(),
                    _ => self.upper_word()?,
                });
            } else if self.is_word("ANALYZE") && !self.is_symbol_at(1, ".") {
                self.advance();
                analyze = true;
            } else if self.is_any_word(&["EXTENDED", "PARTITIONS"])
                && (self.peek_at(1).kind == Kind::Word || self.is_symbol_at(1, "("))
            {
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
        if !analyze && self.take_words(&["FOR", "CONNECTION"]) {
            return Ok(Statement::ExplainConnection { format, id: self.integer()? });
        }
        let table = self.table_name()?;
        let column = match self.peek().kind {
            Kind::Text => Some(self.text()?),
            _ if self.is_name() => Some(self.name()?),
            _ => None,
        };
        Ok(Statement::Describe { table, column })
    }
}
