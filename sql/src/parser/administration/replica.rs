//! What a replica is told: CHANGE REPLICATION SOURCE TO and FILTER, START, STOP and RESET REPLICA, in both spellings.

use super::super::Parser;
use super::super::ast::*;
use super::super::lexer::Kind;
use crate::error::{Error, Result};

impl Parser<'_> {
    /// `CHANGE REPLICATION SOURCE TO name = value, ...`, `CHANGE MASTER TO ...`
    pub(in crate::parser) fn change_source(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_words(&["REPLICATION", "FILTER"]) {
            return self.change_filter();
        }
        if !self.take_words(&["REPLICATION", "SOURCE"]) {
            self.expect_word("MASTER")?;
        }
        self.expect_word("TO")?;
        let options = self.list(|parser| {
            let name = parser.upper_word()?;
            let name = name.strip_prefix("SOURCE_").or_else(|| name.strip_prefix("MASTER_")).unwrap_or(&name);
            let name = name.to_owned();
            parser.expect_symbol("=")?;
            Ok((name, parser.source_value()?))
        })?;
        Ok(Statement::ChangeSource { options, channel: self.for_channel()? })
    }

    fn source_value(&mut self) -> Result<SourceValue> {
        if self.is_symbol("(") {
            let item = |parser: &mut Self| parser.integer().map(|number| number.to_string());
            self.advance();
            if self.take_symbol(")") {
                return Ok(SourceValue::List(Vec::new()));
            }
            let items = self.list(item)?;
            self.expect_symbol(")")?;
            return Ok(SourceValue::List(items));
        }
        let token = self.peek();
        match token.kind {
            Kind::Word => Ok(SourceValue::Word(self.upper_word()?)),
            Kind::Text => Ok(SourceValue::Text(self.text()?)),
            Kind::Integer | Kind::Decimal => {
                let text = String::from_utf8_lossy(self.bytes(token)).into_owned();
                self.advance();
                Ok(SourceValue::Word(text))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `name = (rule, ...), ... [FOR CHANNEL 'name']`, behind CHANGE REPLICATION FILTER.
    fn change_filter(&mut self) -> Result<Statement> {
        let changes = self.list(|parser| {
            let name = parser.upper_word()?;
            let kind = FilterKind::ALL.into_iter().find(|kind| kind.name() == name);
            let kind = kind.ok_or_else(|| parser.unexpected())?;
            parser.expect_symbol("=")?;
            parser.expect_symbol("(")?;
            if parser.take_symbol(")") {
                return Ok((kind, Vec::new()));
            }
            let rules = parser.list(|parser| parser.filter_rule(kind))?;
            parser.expect_symbol(")")?;
            Ok((kind, rules))
        })?;
        Ok(Statement::ChangeFilter { changes, channel: self.for_channel()? })
    }

    fn filter_rule(&mut self, kind: FilterKind) -> Result<FilterRule> {
        Ok(match kind {
            FilterKind::DoDb | FilterKind::IgnoreDb => FilterRule::Database(self.name()?),
            FilterKind::DoTable | FilterKind::IgnoreTable => {
                let database = self.name()?;
                self.expect_symbol(".")?;
                FilterRule::Pair(database, self.any_name()?)
            }
            FilterKind::WildDoTable | FilterKind::WildIgnoreTable => FilterRule::Pattern(self.text()?),
            FilterKind::RewriteDb => self.in_parentheses(|parser| {
                let from = parser.name()?;
                parser.expect_symbol(",")?;
                Ok(FilterRule::Pair(from, parser.name()?))
            })?,
        })
    }

    /// START REPLICA `[threads] [UNTIL condition] [USER = ..] [PASSWORD = ..] [FOR CHANNEL 'name']`
    pub(in crate::parser) fn start_replica(&mut self) -> Result<Statement> {
        let mut start = ReplicaStart { threads: self.replica_threads()?, until: None, user: None, password: None };
        if self.take_word("UNTIL") {
            start.until = Some(self.until()?);
        }
        while let Some(word) = self.take_any_word(&["USER", "PASSWORD", "DEFAULT_AUTH", "PLUGIN_DIR"]) {
            self.expect_symbol("=")?;
            let value = Some(self.text()?);
            match word {
                "USER" => start.user = value,
                "PASSWORD" => start.password = value,
                _ => {
                    return Err(Error::unsupported(format!(
                        "START REPLICA with {word}: the source says how to log in"
                    )));
                }
            }
        }
        Ok(Statement::StartReplica { start, channel: self.for_channel()? })
    }

    pub(in crate::parser) fn stop_replica(&mut self) -> Result<Statement> {
        let threads = self.replica_threads()?;
        Ok(Statement::StopReplica { threads, channel: self.for_channel()? })
    }

    fn until(&mut self) -> Result<Until> {
        let incorrect = || {
            let text = "Incorrect parameter or combination of parameters for START REPLICA UNTIL";
            Error::new(1277, b"HY000", text)
        };
        let [mut source, mut relay]: [(Option<String>, Option<u64>); 2] = Default::default();
        let mut other = None;
        let mut count = 0;
        self.list(|parser| {
            let name = parser.upper_word()?;
            count += 1;
            match name.as_str() {
                "SQL_AFTER_MTS_GAPS" => {
                    other = Some(Until::AfterGaps);
                    return Ok(());
                }
                _ => parser.expect_symbol("=")?,
            }
            match name.as_str() {
                "SQL_BEFORE_GTIDS" => other = Some(Until::BeforeGtids(parser.text()?)),
                "SQL_AFTER_GTIDS" => other = Some(Until::AfterGtids(parser.text()?)),
                "SOURCE_LOG_FILE" | "MASTER_LOG_FILE" => source.0 = Some(parser.text()?),
                "SOURCE_LOG_POS" | "MASTER_LOG_POS" => source.1 = Some(parser.integer()?),
                "RELAY_LOG_FILE" => relay.0 = Some(parser.text()?),
                "RELAY_LOG_POS" => relay.1 = Some(parser.integer()?),
                _ => return Err(parser.unexpected()),
            }
            Ok(())
        })?;
        match (count, source, relay, other) {
            (1, _, _, Some(other)) => Ok(other),
            (2, (Some(file), Some(position)), _, None) => Ok(Until::SourcePosition { file, position }),
            (2, _, (Some(file), Some(position)), None) => Ok(Until::RelayPosition { file, position }),
            _ => Err(incorrect()),
        }
    }

    /// The threads that START and STOP name, both if none.
    fn replica_threads(&mut self) -> Result<ReplicaThreads> {
        let mut threads = ReplicaThreads { receiver: false, applier: false };
        while let Some(word) = self.take_any_word(&["IO_THREAD", "SQL_THREAD", "RELAY_THREAD"]) {
            match word {
                "SQL_THREAD" => threads.applier = true,
                _ => threads.receiver = true,
            }
            if !self.take_symbol(",") {
                break;
            }
        }
        if !threads.receiver && !threads.applier {
            threads = ReplicaThreads { receiver: true, applier: true };
        }
        Ok(threads)
    }

    /// `[FOR CHANNEL 'name']`; `None` = no channel is named.
    pub(in crate::parser) fn for_channel(&mut self) -> Result<Option<String>> {
        match self.take_words(&["FOR", "CHANNEL"]) {
            true => self.text().map(Some),
            false => Ok(None),
        }
    }
}
