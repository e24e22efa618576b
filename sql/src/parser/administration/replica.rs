//! What a replica is told: CHANGE REPLICATION SOURCE TO, START, STOP and RESET REPLICA, in both spellings.

use super::super::Parser;
use super::super::ast::*;
use super::super::lexer::Kind;
use crate::error::{Error, Result};

impl Parser<'_> {
    /// `CHANGE REPLICATION SOURCE TO name = value, ...`, `CHANGE MASTER TO ...`
    pub(in crate::parser) fn change_source(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_words(&["REPLICATION", "FILTER"]) {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("CHANGE REPLICATION FILTER".into()));
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
        self.own_channel()?;
        Ok(Statement::ChangeSource(options))
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

    /// START and STOP: the threads that they name, both if none.
    pub(in crate::parser) fn replica_threads(
        &mut self,
        statement: impl FnOnce(ReplicaThreads) -> Statement,
    ) -> Result<Statement> {
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
        if self.is_any_word(&["UNTIL", "USER", "PASSWORD", "DEFAULT_AUTH", "PLUGIN_DIR"]) {
            return Err(Error::unsupported("START REPLICA with UNTIL or an account"));
        }
        self.own_channel()?;
        Ok(statement(threads))
    }

    /// `[FOR CHANNEL 'name']`: there is one channel, without a name.
    pub(in crate::parser) fn own_channel(&mut self) -> Result<()> {
        if self.take_words(&["FOR", "CHANNEL"]) && !self.text()?.is_empty() {
            return Err(Error::unsupported("replication channels with a name"));
        }
        Ok(())
    }
}
