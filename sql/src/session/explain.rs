//! EXPLAIN in its forms: a table, a tree, JSON.

use format::collation::CollationId;
use format::packet::{ColumnDefinition, ColumnKind, column_flags};
use format::value::{ColumnType, LobSize, Value, Zone};
use storage::Row;

use super::Session;
use super::admin::{number_type, text_type};
use super::cached::{Outcome, Plan};
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::parser;
use crate::parser::ast::Statement;
use crate::planner::{QueryPlan, explain, explain_json, explain_tree};
use crate::result::{OkSummary, ResultSink, StoredColumn};
use crate::types::SqlMode;

impl Session {
    pub(super) fn explain(
        &mut self,
        format: Option<&str>,
        analyze: bool,
        statement: &Statement,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let form = match format.map(str::to_ascii_lowercase).as_deref() {
            None => match self.variables.text(&self.instance.variables, "explain_format").as_str() {
                "TREE" => ExplainForm::Tree,
                "JSON" => ExplainForm::Json,
                _ => ExplainForm::Table,
            },
            Some("traditional") => ExplainForm::Table,
            Some("tree") => ExplainForm::Tree,
            Some("json") => ExplainForm::Json,
            Some(other) => return Err(Error::unknown_explain_format(other)),
        };
        if analyze {
            let form = if format.is_none() { ExplainForm::Tree } else { form };
            return self.explain_analyze(&form, statement, more, sink);
        }
        let Some(plan) = self.plan_given(statement)? else {
            return Err(Error::unsupported("EXPLAIN of this statement"));
        };
        self.check_explained(&plan)?;
        self.warn_of_plan(&plan.warnings);
        let text = match form {
            ExplainForm::Table => None,
            ExplainForm::Tree => Some(explain_as_tree(&plan.plan)?),
            ExplainForm::Json => Some(explain_as_json(&plan.plan)?),
        };
        if let Some(text) = text {
            self.send_explained(text, more, sink);
            return Ok(());
        }
        let view = self.view();
        let context = &self.eval_context(&view, &self.given);
        let rows = match &plan.plan {
            Plan::Query { plan, .. } => explain::query(plan, context),
            Plan::Insert(plan) => explain::insert(plan, context),
            Plan::Update(plan) => explain::change(&plan.select, "UPDATE", context),
            Plan::Delete(plan) => explain::change(&plan.select, "DELETE", context),
            Plan::JoinedUpdate(plan) => explain::change(&plan.select, "UPDATE", context),
            Plan::JoinedDelete(plan) => explain::change(&plan.select, "DELETE", context),
            Plan::Load(_) => return Err(Error::unsupported("EXPLAIN of LOAD DATA")),
        };
        let columns: Vec<_> = explain::COLUMNS
            .iter()
            .map(|name| {
                let ty = match *name {
                    "id" | "rows" => number_type(),
                    "filtered" => ColumnType::Double { unsigned: false, decimals: Some((5, 2)) },
                    _ => text_type(255),
                };
                (name.to_string(), ty)
            })
            .collect();
        let mut definitions = self.definitions(&columns);
        for definition in &mut definitions {
            match &*definition.name {
                "id" | "select_type" | "Extra" => definition.flags |= column_flags::NOT_NULL,
                // It has room for the names of all partitions that a table may have.
                "partitions" => definition.kind = ColumnKind::MediumBlob,
                _ => {}
            }
        }
        self.send_defined(&definitions, &columns, &rows, self.warning_count(), more, sink);
        Ok(())
    }
}

impl Session {
    /// EXPLAIN of what another connection runs: its statement is planned again here, with the tables as they are now.
    pub(super) fn explain_connection(
        &mut self,
        format: Option<&str>,
        id: u64,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let there = self.instance.processes.find(id).ok_or_else(|| Error::unknown_thread(id))?;
        if there.user != self.state.user {
            self.rights.need(Privileges::PROCESS)?;
        }
        let statement = there.info.and_then(|text| explainable(&text, self.variables.settings.sql_mode));
        let statement = statement.ok_or_else(Error::explains_no_such_statement)?;
        let own = std::mem::replace(&mut self.state.database, there.database);
        let explained = self.explain(format, false, &statement, more, sink);
        self.state.database = own;
        explained
    }

    /// Runs a query without sending its rows, or a change of joined tables, and tells where the time went.
    fn explain_analyze(
        &mut self,
        form: &ExplainForm,
        statement: &Statement,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        match form {
            ExplainForm::Tree => {}
            ExplainForm::Table => return Err(Error::unsupported("EXPLAIN ANALYZE with TRADITIONAL format")),
            ExplainForm::Json => return Err(Error::unsupported("EXPLAIN ANALYZE with JSON format")),
        }
        match statement {
            Statement::Query(query) if query.into.is_client() => {}
            // They do what they say.
            Statement::JoinedUpdate(_) | Statement::JoinedDelete(_) => {}
            _ => return Err(Error::unsupported("EXPLAIN ANALYZE on this statement")),
        }
        let given = self.given.clone();
        loop {
            let Some(mut plan) = self.plan_given(statement)? else {
                return Err(Error::unsupported("EXPLAIN ANALYZE on this statement"));
            };
            self.check_explained(&plan)?;
            if let Plan::Query { plan: QueryPlan::Select(select), .. } = &mut plan.plan {
                select.stored = None;
            }
            let mut ran = Ran::default();
            self.profile = Some(Box::default());
            let outcome = self.run_plan(&mut plan, &given, more, &mut ran);
            let profile = self.profile.take();
            if let Some(error) = ran.error {
                // The session has noted it already.
                sink.error(&error);
                return Ok(());
            }
            if outcome == Outcome::Stale {
                continue;
            }
            let profile = profile.as_deref();
            let text = match &plan.plan {
                Plan::Query { plan, .. } => explain_tree::query(plan, profile),
                Plan::JoinedUpdate(plan) => explain_tree::change(&plan.select, "Update rows of joined tables", profile),
                Plan::JoinedDelete(plan) => explain_tree::change(&plan.select, "Delete rows of joined tables", profile),
                _ => return Err(Error::internal("no query")),
            };
            self.send_explained(text, more, sink);
            return Ok(());
        }
    }

    fn send_explained(&mut self, text: String, more: bool, sink: &mut dyn ResultSink) {
        let columns =
            [("EXPLAIN".to_owned(), ColumnType::Text { size: LobSize::Long, collation: CollationId::DEFAULT })];
        self.send(&columns, &[vec![Value::Bytes(text.into_bytes())]], self.warning_count(), more, sink);
    }
}

/// What a statement answered of which only the plan is shown.
#[derive(Default)]
struct Ran {
    error: Option<Error>,
}

impl ResultSink for Ran {
    fn columns(&mut self, _columns: &[ColumnDefinition]) {}
    fn row(&mut self, _values: &[Value], _types: &[ColumnType]) {}
    fn row_stored(&mut self, _row: &Row, _columns: &[StoredColumn], _zone: Zone) {}
    fn ok(&mut self, _summary: &OkSummary<'_>) {}
    fn error(&mut self, error: &Error) {
        self.error = Some(error.clone());
    }
}

/// The statement of a text, if it is one of those that are planned, and whole without the values of parameters.
fn explainable(text: &str, mode: SqlMode) -> Option<Statement> {
    let parsed = parser::parse_first(text.as_bytes(), mode).ok()?.0?;
    if parsed.parameters > 0 {
        return None;
    }
    let statement = match parsed.statement {
        Statement::SetStatement { statement, .. } => *statement,
        statement => statement,
    };
    statement.is_planned().then_some(statement)
}

/// EXPLAIN's FORMAT.
enum ExplainForm {
    Table,
    Tree,
    Json,
}

fn explain_as_tree(plan: &Plan) -> Result<String> {
    Ok(match plan {
        Plan::Query { plan, .. } => explain_tree::query(plan, None),
        Plan::Insert(plan) => explain_tree::insert(&plan.table.name, plan.query()),
        Plan::Update(plan) => explain_tree::change(&plan.select, "Update rows", None),
        Plan::Delete(plan) => explain_tree::change(&plan.select, "Delete rows", None),
        Plan::JoinedUpdate(plan) => explain_tree::change(&plan.select, "Update rows of joined tables", None),
        Plan::JoinedDelete(plan) => explain_tree::change(&plan.select, "Delete rows of joined tables", None),
        Plan::Load(_) => return Err(Error::unsupported("EXPLAIN of LOAD DATA")),
    })
}

fn explain_as_json(plan: &Plan) -> Result<String> {
    Ok(match plan {
        Plan::Query { plan, .. } => explain_json::query(plan),
        Plan::Insert(plan) => explain_json::insert(&plan.table.name, plan.replace, plan.query()),
        Plan::Update(plan) => explain_json::change(&plan.select, "update"),
        Plan::Delete(plan) => explain_json::change(&plan.select, "delete"),
        Plan::JoinedUpdate(plan) => explain_json::change(&plan.select, "update"),
        Plan::JoinedDelete(plan) => explain_json::change(&plan.select, "delete"),
        Plan::Load(_) => return Err(Error::unsupported("EXPLAIN of LOAD DATA")),
    })
}
