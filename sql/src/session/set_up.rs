//! UPDATE of the tables of performance_schema that say what is collected.
//!
//! The rows are found by a query; then the only thing that can be changed of them, ENABLED = 'YES' or 'NO', is. What
//! nothing is collected for stays as it is, with a warning.

use format::value::Value;

use super::set::Kept;
use super::{Done, Session};
use crate::accounts::Privileges;
use crate::error::{Error, Level, Result, Warning};
use crate::information_schema::is_timed_instrument;
use crate::parser;
use crate::parser::ast::{Body, Expr, Literal, Statement, TableRef};
use crate::statements::CONSUMERS;
use crate::types::SqlMode;

const SCHEMA: &str = "performance_schema";
const TABLES: [&str; 2] = ["setup_consumers", "setup_instruments"];

impl Session {
    /// Which of these tables a statement updates.
    pub(super) fn sets_up(&self, statement: &Statement) -> Option<&'static str> {
        let Statement::Update(update) = statement else { return None };
        let TableRef::Table { name, .. } = &update.table else { return None };
        let database = name.database.as_deref().or(self.state.database.as_deref())?;
        let found = TABLES.iter().find(|table| table.eq_ignore_ascii_case(&name.name));
        found.copied().filter(|_| database.eq_ignore_ascii_case(SCHEMA))
    }

    /// Runs such an UPDATE; `None`: it is another statement.
    pub(super) fn set_up(&mut self, statement: &Statement, parameters: &[Value]) -> Result<Option<Done>> {
        let (Some(table), Statement::Update(update)) = (self.sets_up(statement), statement) else { return Ok(None) };
        self.rights.need_table(Privileges::UPDATE, SCHEMA, table)?;
        let wrong = || Error::unsupported(format!("UPDATE {table} of anything but ENABLED and TIMED = 'YES' or 'NO'"));
        if update.limit.is_some() || !update.order_by.is_empty() {
            return Err(wrong());
        }
        let mut wanted = Vec::new();
        for (column, assigned) in &update.assignments {
            let word = match assigned {
                Expr::Literal(Literal::String { bytes, .. }) => bytes,
                Expr::Parameter(at) => match parameters.get(*at) {
                    Some(Value::Bytes(bytes)) => bytes,
                    _ => return Err(wrong()),
                },
                _ => return Err(wrong()),
            };
            let is_timed = table == "setup_instruments" && column.name.eq_ignore_ascii_case("TIMED");
            if !is_timed && !column.name.eq_ignore_ascii_case("ENABLED") {
                return Err(wrong());
            }
            let enabled = match &word.to_ascii_uppercase()[..] {
                b"YES" => true,
                b"NO" => false,
                _ => return Err(wrong()),
            };
            wanted.push((is_timed, enabled));
        }
        let names = self.names_to_set_up(table, statement, parameters)?;
        let mut changed = 0;
        for name in &names {
            for (is_timed, enabled) in &wanted {
                match self.switch(table, name, *is_timed, *enabled) {
                    Some(true) => changed += 1,
                    Some(false) => {}
                    None => self.warnings.push(Warning {
                        level: Level::Warning,
                        code: 1235,
                        message: format!("{table}: this server cannot switch '{name}'; it stays as it is"),
                    }),
                }
            }
        }
        self.state.row_count.set(changed);
        let warnings = self.warnings.count();
        let info = format!("Rows matched: {}  Changed: {changed}  Warnings: {warnings}", names.len());
        Ok(Some(Done { affected_rows: changed as u64, last_insert_id: 0, info }))
    }

    /// Whether that changed something; `None`: it cannot be switched.
    fn switch(&self, table: &str, name: &str, is_timed: bool, enabled: bool) -> Option<bool> {
        let statements = &self.instance.statements;
        if table == "setup_instruments" {
            // All that are listed are on, and timed where that says something.
            return (enabled == (!is_timed || is_timed_instrument(name))).then_some(false);
        }
        let consumer = CONSUMERS.iter().find(|consumer| consumer.name == name)?;
        let before = statements.is_enabled(consumer);
        statements.enable(consumer, enabled).then_some(before != enabled)
    }

    /// The rows that the UPDATE's conditions hold for.
    fn names_to_set_up(&mut self, table: &str, statement: &Statement, parameters: &[Value]) -> Result<Vec<String>> {
        let Statement::Update(update) = statement else { return Err(Error::internal("no UPDATE")) };
        let text = format!("SELECT NAME FROM {SCHEMA}.{table}");
        let parsed = parser::parse_first(text.as_bytes(), SqlMode::default())?.0.ok_or_else(Error::empty_query)?;
        let Statement::Query(mut query) = parsed.statement else { return Err(Error::internal("no query")) };
        if let Body::Select(select) = &mut query.body {
            select.filter = update.filter.clone();
            select.from = vec![update.table.clone()];
        }
        let mut kept = Kept { rows: Vec::new(), error: None };
        self.plan_and_run(&Statement::Query(query), parameters.len(), parameters, false, &mut kept)?;
        if let Some(error) = kept.error {
            return Err(error);
        }
        let name = |row: &Vec<Value>| match &row[0] {
            Value::Bytes(name) => String::from_utf8_lossy(name).into_owned(),
            _ => String::new(),
        };
        Ok(kept.rows.iter().map(name).collect())
    }
}
