//! The tables that the statements of a program name: those that LOCK TABLES locks along with the table of a trigger.
//!
//! Each statement becomes a query with its tables and expressions, whose names [`qualify`] settles and notes. What a program
//! reaches by routines that it calls is not among them: that is locked when it is used.

use storage::TableUse;

use crate::parser::ast::{
    Body, Computed, Expr, InsertSource, Program, Query, Select, SelectInto, SelectItem, SetStep, Statement, Step,
    TableName, TableRef,
};
use crate::views::qualify;

/// Database and name of each table of a program in a database, and whether it is changed.
pub fn tables_of(program: &Program, database: &str) -> Vec<(String, String, TableUse)> {
    let mut found = Found { database, tables: Vec::new() };
    program.cursors.iter().for_each(|cursor| found.statement(&cursor.query.statement));
    found.step(&program.body);
    found.tables
}

struct Found<'d> {
    database: &'d str,
    tables: Vec<(String, String, TableUse)>,
}

impl Found<'_> {
    fn steps(&mut self, steps: &[Step]) {
        steps.iter().for_each(|step| self.step(step));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Block(block) => {
                block.declared.iter().filter_map(|(_, value)| value.as_ref()).for_each(|value| self.computed(value));
                block.handlers.iter().for_each(|handler| self.step(&handler.body));
                self.steps(&block.body);
            }
            Step::Choose { choice, branches, otherwise } => {
                self.computed(choice);
                branches.iter().chain(otherwise).for_each(|branch| self.steps(branch));
            }
            Step::Loop { before, body, until, .. } => {
                before.iter().chain(until).for_each(|value| self.computed(value));
                self.steps(body);
            }
            Step::Return(value) => self.computed(value),
            Step::Do(values) => values.iter().for_each(|value| self.computed(value)),
            Step::Set(items) => {
                for item in items {
                    match item {
                        SetStep::Local(_, value) | SetStep::User(_, value) | SetStep::System { value, .. } => {
                            self.computed(value);
                        }
                        SetStep::Other(_) => {}
                    }
                }
            }
            Step::Call(call) => call.args.iter().for_each(|argument| self.computed(&argument.value)),
            Step::Sql(step) => self.statement(&step.statement),
            Step::Leave(_)
            | Step::Iterate(_)
            | Step::Open(_)
            | Step::Fetch { .. }
            | Step::Close(_)
            | Step::Signal(_)
            | Step::GetDiagnostics(_) => {}
        }
    }

    fn computed(&mut self, value: &Computed) {
        self.read(Vec::new(), [&value.expr]);
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query((**query).clone()),
            Statement::Insert(insert) => {
                self.change(&insert.table);
                self.read(Vec::new(), insert.on_duplicate.iter().map(|(_, value)| value));
                match &insert.source {
                    InsertSource::Values(rows) => self.read(Vec::new(), rows.iter().flatten()),
                    InsertSource::Query(query) => self.query((**query).clone()),
                }
            }
            Statement::Update(update) => {
                self.change_all(&update.table);
                let values = update.assignments.iter().map(|(_, value)| value);
                self.read(vec![update.table.clone()], values.chain(&update.filter));
            }
            Statement::Delete(delete) => {
                self.change(&delete.table);
                self.read(Vec::new(), &delete.filter);
            }
            Statement::JoinedUpdate(update) => {
                update.tables.iter().for_each(|table| self.change_all(table));
                let values = update.assignments.iter().map(|(_, value)| value);
                self.read(update.tables.clone(), values.chain(&update.filter));
            }
            Statement::JoinedDelete(delete) => {
                delete.tables.iter().for_each(|table| self.change_all(table));
                self.read(delete.tables.clone(), &delete.filter);
            }
            _ => {}
        }
    }

    fn change(&mut self, table: &TableName) {
        let database = table.database.as_deref().unwrap_or(self.database);
        self.tables.push((database.to_owned(), table.name.clone(), TableUse::Write));
    }

    /// Which of several tables an UPDATE or DELETE changes is known only when it is planned.
    fn change_all(&mut self, table: &TableRef) {
        match table {
            TableRef::Table { name, .. } => self.change(name),
            TableRef::Join { left, right, .. } => {
                self.change_all(left);
                self.change_all(right);
            }
            TableRef::Derived { .. } | TableRef::JsonTable(_) => {}
        }
    }

    /// What expressions read, and the tables that they stand beside.
    fn read<'e>(&mut self, from: Vec<TableRef>, exprs: impl IntoIterator<Item = &'e Expr>) {
        let item = |expr: &Expr| SelectItem::Expr { expr: expr.clone(), alias: None, text: String::new() };
        let items: Vec<SelectItem> = exprs.into_iter().map(item).collect();
        if items.is_empty() && from.is_empty() {
            return;
        }
        let select = Select { items, from, ..Select::default() };
        self.query(Query {
            with: None,
            body: Body::Select(Box::new(select)),
            order_by: Vec::new(),
            limit: None,
            lock: None,
            into: SelectInto::default(),
        });
    }

    fn query(&mut self, mut query: Query) {
        let mut named = Vec::new();
        // A name that cannot be settled is an error of the statement, when it runs. What columns a table has does not matter.
        let _ = qualify::qualify(&mut query, Some(self.database), &|_, _| Some(vec![String::new()]), &mut named);
        self.tables.extend(named.into_iter().map(|(database, name)| (database, name, TableUse::Read)));
    }
}
