//! What a session asks of sequences: numbers, and rows that are put in the place of the one that is there.
//!
//! The row is written by a transaction of its own, which commits together with its event in the binary log: Write_rows with
//! the whole row, as MariaDB logs it, whose replicas put that in the place of theirs. The number is given once that is as
//! durable as any commit. The row of an INSERT is logged as a statement.

use std::sync::Arc;

use binlog::Name;
use storage::{Isolation, Table, Trx, TrxOptions};

use super::Session;
use crate::catalog::{OrSqlError, storage_error};
use crate::error::{Error, Result};
use crate::expression::Sequence;
use crate::parser::ast::SequenceFunction;
use crate::row_log::{DefinitionLog, RowLog, StatementFacts};
use crate::sequences::{self, Counters, Definition, Giver, ServerSteps, Set, locked_row, put_row};

impl Session {
    /// NEXTVAL, LASTVAL, SETVAL.
    pub(super) fn ask_sequence(&self, call: &Sequence) -> Result<Option<i64>> {
        match &call.table {
            Some(table) => self.ask_table(call.function, table, false),
            None => {
                let table = self.sequence_table(call)?;
                self.ask_table(call.function, &table, true)
            }
        }
    }

    /// The sequence of a table's definition.
    fn sequence_table(&self, call: &Sequence) -> Result<Arc<Table>> {
        let (database, name) = (&*call.database, &*call.name);
        let own = self.temporary.get().and_then(|tables| tables.table(database, name));
        let table = own.or_else(|| self.instance.engine.table(database, name));
        let table = table.ok_or_else(|| Error::no_such_table(database, name))?;
        match sequences::is_sequence(&table) {
            true => Ok(table),
            false => Err(Error::not_a_sequence(database, name)),
        }
    }

    /// `locks`: the statement has not locked the table's name.
    fn ask_table(&self, function: SequenceFunction, table: &Arc<Table>, locks: bool) -> Result<Option<i64>> {
        let id = table.id.0;
        if function == SequenceFunction::Last {
            return Ok(self.state.last_values.borrow().get(&id).copied());
        }
        if !table.is_temporary() {
            self.check_writable()?;
        }
        let (giver, steps) = (Giver::of(table), ServerSteps::of(&self.variables.settings));
        match function {
            SequenceFunction::Set { value, is_used, cycle } => {
                let set = giver.with(
                    |counters| {
                        let mut changed = *counters;
                        let set = changed.set(value, is_used, cycle);
                        if set == Set::InMemory {
                            *counters = changed;
                        }
                        (set != Set::InRow).then_some(set)
                    },
                    |known| self.rewrite(table, locks, known, steps, |counters| counters.set(value, is_used, cycle)),
                )?;
                match set {
                    Set::Back => Ok(None),
                    Set::Beyond => Err(Error::sequence_run_out(&table.database, &table.name)),
                    Set::InMemory | Set::InRow => Ok(Some(value)),
                }
            }
            _ => {
                let given = giver.with(
                    |counters| counters.take().map(Some),
                    |known| self.rewrite(table, locks, known, steps, Counters::next_or_reserve),
                )?;
                let mut last = self.state.last_values.borrow_mut();
                match given {
                    Some(value) => {
                        last.insert(id, value);
                        Ok(Some(value))
                    }
                    None => {
                        last.remove(&id);
                        Err(Error::sequence_run_out(&table.database, &table.name))
                    }
                }
            }
        }
    }

    /// INSERT: another row for a sequence, whatever its numbers were.
    pub(super) fn put_into_sequence(
        &self,
        table: &Arc<Table>,
        values: &dyn Fn(usize) -> Option<Vec<u8>>,
    ) -> Result<()> {
        let stored: Vec<_> = (0..table.columns.len()).map(values).collect();
        let definition = Definition::of_values(table, |at| stored[at].as_deref());
        let steps = ServerSteps::of(&self.variables.settings);
        if !definition.is_valid(steps) {
            return Err(Error::sequence_out_of_range(&table.database, &table.name));
        }
        Giver::of(table).with(
            |_| None,
            |_| {
                let mut trx = self.begin_for_sequence();
                let row = locked_row(&mut trx, table)?;
                put_row(&mut trx, table, row.as_ref(), &definition)?;
                self.commit_row(trx, table, &definition)?;
                Ok((Counters::of(definition, steps), ()))
            },
        )
    }

    /// Locks the row, changes the counters, and writes the row if it is another one then. `known`: the counters in memory,
    /// which go on if the row is as they left it.
    fn rewrite<T>(
        &self,
        table: &Arc<Table>,
        locks: bool,
        known: Option<Counters>,
        steps: ServerSteps,
        change: impl FnOnce(&mut Counters) -> T,
    ) -> Result<(Counters, T)> {
        let mut trx = self.begin_for_sequence();
        if locks && !trx.lock_table(table, storage::TableUse::Write).or_sql()? {
            return Err(Error::table_definition_changed());
        }
        let damaged = || Error::sequence_structure(&table.database, &table.name, "no row");
        let row = locked_row(&mut trx, table)?.ok_or_else(damaged)?;
        let stored = Definition::of_values(table, |at| row.get(at));
        let mut counters = match known.filter(|known| known.definition == stored) {
            Some(known) => known,
            None => Counters::of(stored, steps),
        };
        let value = change(&mut counters);
        if counters.definition != stored {
            put_row(&mut trx, table, Some(&row), &counters.definition)?;
            self.commit_sequence(trx, table, &counters.definition)?;
        }
        Ok((counters, value))
    }

    /// A transaction beside that of the statement.
    fn begin_for_sequence(&self) -> Trx {
        self.instance.engine.begin(TrxOptions {
            isolation: Isolation::ReadCommitted,
            read_only: false,
            single_statement: true,
            locked_tables: None,
            place: None,
            ..self.trx_options()
        })
    }

    /// The row of an INSERT is logged as a statement: of a row, MariaDB's replicas take the numbers alone, and not what it says of
    /// them.
    fn commit_row(&self, trx: Trx, table: &Arc<Table>, definition: &Definition) -> Result<()> {
        let log = self.own_log().filter(|log| !table.is_temporary() && log.logs(Some(&table.database)));
        let Some(log) = log else { return trx.commit().or_sql() };
        let facts = match self.applying.is_some() {
            true => self.statement_facts(),
            false => self.facts_beside(),
        };
        let (name, values) = (self.logged_name(&table.database, &table.name), definition.list());
        let text = format!("INSERT INTO {name} VALUES ({values})");
        let logged = DefinitionLog::new(log, &facts, text.as_bytes(), false);
        trx.commit_with(Some(&logged)).and_then(|()| self.acknowledge()).map_err(storage_error)
    }

    /// Of a transaction that is neither the session's nor a source's.
    fn facts_beside(&self) -> StatementFacts<'_> {
        StatementFacts { origin: None, branch: None, name: Name::Automatic, ..self.statement_facts() }
    }

    fn commit_sequence(&self, trx: Trx, table: &Arc<Table>, definition: &Definition) -> Result<()> {
        let log = self.own_log().filter(|_| !table.is_temporary());
        let Some(log) = log else { return trx.commit().or_sql() };
        let settings = self.log_settings();
        let mut rows = RowLog::new(log, settings, &self.state.order);
        let facts = self.facts_beside();
        let text = self.variables.settings.log_statements.then_some(&self.source[..]).filter(|text| !text.is_empty());
        rows.begin_statement(settings, &facts, text);
        let values = definition.values(table)?;
        rows.insert(table, &|at| values.get(at).map(Vec::as_slice))?;
        rows.end_statement()?;
        rows.commit(trx).and_then(|()| self.acknowledge()).map_err(storage_error)
    }
}
