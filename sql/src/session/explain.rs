//! EXPLAIN in its forms: a table, a tree, JSON.

use format::collation::CollationId;
use format::value::{ColumnType, LobSize, Value};

use super::Session;
use super::admin::{number_type, text_type};
use super::cached::Plan;
use crate::error::{Error, Result};
use crate::parser::ast::Statement;
use crate::planner::{explain, explain_json, explain_tree};
use crate::result::ResultSink;

impl Session {
    pub(super) fn explain(
        &mut self,
        format: Option<&str>,
        analyze: bool,
        statement: &Statement,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        if analyze {
            return Err(Error::unsupported("EXPLAIN ANALYZE"));
        }
        let form = match format.map(str::to_ascii_lowercase).as_deref() {
            None | Some("traditional") => ExplainForm::Table,
            Some("tree") => ExplainForm::Tree,
            Some("json") => ExplainForm::Json,
            Some(other) => return Err(Error::unknown_explain_format(other)),
        };
        let Some(plan) = self.plan(statement, 0, &[])? else {
            return Err(Error::unsupported("EXPLAIN of this statement"));
        };
        let text = match form {
            ExplainForm::Table => None,
            ExplainForm::Tree => Some(explain_as_tree(&plan.plan)?),
            ExplainForm::Json => Some(explain_as_json(&plan.plan)?),
        };
        if let Some(text) = text {
            let columns =
                [("EXPLAIN".to_owned(), ColumnType::Text { size: LobSize::Long, collation: CollationId::DEFAULT })];
            self.send(&columns, &[vec![Value::Bytes(text.into_bytes())]], self.warning_count(), more, sink);
            return Ok(());
        }
        let view = self.view();
        let context = &self.eval_context(&view, &[]);
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
        self.send(&columns, &rows, self.warning_count(), more, sink);
        Ok(())
    }
}

/// EXPLAIN's FORMAT.
enum ExplainForm {
    Table,
    Tree,
    Json,
}

fn explain_as_tree(plan: &Plan) -> Result<String> {
    Ok(match plan {
        Plan::Query { plan, .. } => explain_tree::query(plan),
        Plan::Insert(plan) => explain_tree::insert(&plan.table.name, plan.query()),
        Plan::Update(plan) => explain_tree::change(&plan.select, "Update rows"),
        Plan::Delete(plan) => explain_tree::change(&plan.select, "Delete rows"),
        Plan::JoinedUpdate(plan) => explain_tree::change(&plan.select, "Update rows of joined tables"),
        Plan::JoinedDelete(plan) => explain_tree::change(&plan.select, "Delete rows of joined tables"),
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
