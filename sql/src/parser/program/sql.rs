//! Statements of SQL in a program, and which may stand there.

use crate::error::{Error, Result};
use crate::parser::Parser;
use crate::parser::ast::*;

impl Parser<'_> {
    /// A statement of SQL: it sees the tokens up to its semicolon.
    pub(super) fn plain_sql(&mut self) -> Result<SqlStep> {
        let whole = self.last;
        let end = (self.at..whole).find(|at| self.bytes(self.tokens[*at]) == b";").unwrap_or(whole);
        let start = self.peek().start;
        let outer = std::mem::take(&mut self.scope()?.reads);
        self.last = end;
        let statement = self.nested(Self::statement);
        let is_whole = self.at == end;
        self.last = whole;
        let reads = std::mem::replace(&mut self.scope()?.reads, outer);
        let statement = statement?;
        if !is_whole {
            return Err(self.unexpected());
        }
        let text = self.text_since(start);
        Ok(SqlStep { slot: self.scope()?.next_slot(), statement, reads, text })
    }

    pub(super) fn sql_step(&mut self) -> Result<Step> {
        let step = self.plain_sql()?;
        self.check_allowed(&step.statement)?;
        Ok(Step::Sql(Box::new(step)))
    }

    /// Whether a statement may stand in a program of this kind.
    fn check_allowed(&mut self, statement: &Statement) -> Result<()> {
        let kind = self.scope()?.kind;
        let nowhere = |what: &str| Err(Error::not_in_procedures(what));
        match statement {
            Statement::CreateRoutine(create) => return Err(Error::nested_create(create.kind.name())),
            Statement::CreateTrigger(_) => return Err(Error::nested_create("TRIGGER")),
            Statement::AlterRoutine(alter) => return Err(Error::nested_drop(alter.kind.name())),
            Statement::DropRoutine { kind, .. } => return Err(Error::nested_drop(kind.name())),
            Statement::DropTrigger { .. } => return Err(Error::nested_drop("TRIGGER")),
            Statement::CreateEvent(_) => return Err(Error::nested_event()),
            Statement::AlterEvent(alter) if alter.body.is_some() => return Err(Error::nested_event()),
            Statement::SetStatement { statement, .. } => self.check_allowed(statement)?,
            Statement::LockTables(_) => return nowhere("LOCK"),
            Statement::UnlockTables => return nowhere("UNLOCK"),
            Statement::Load(_) => return nowhere("LOAD DATA"),
            Statement::Use(_) => return nowhere("USE"),
            Statement::CreateView(create) if create.alter => return nowhere("ALTER VIEW"),
            Statement::Explain { .. } if kind.is_inner() => {
                return Err(Error::no_result_from(kind.name()));
            }
            _ => {}
        }
        if !kind.is_inner() {
            return Ok(());
        }
        match statement {
            Statement::Query(query) if query.into.is_client() => Err(Error::no_result_from(kind.name())),
            Statement::Query(_) | Statement::Update(_) | Statement::JoinedUpdate(_) | Statement::JoinedDelete(_) => {
                Ok(())
            }
            Statement::Insert(insert) if !insert.returning.is_empty() => Err(Error::no_result_from(kind.name())),
            Statement::Delete(delete) if !delete.returning.is_empty() => Err(Error::no_result_from(kind.name())),
            Statement::Insert(_) | Statement::Delete(_) => Ok(()),
            Statement::Show(_) | Statement::Describe { .. } | Statement::Maintain { .. } => {
                Err(Error::no_result_from(kind.name()))
            }
            Statement::Prepare { .. }
            | Statement::Execute { .. }
            | Statement::ExecuteImmediate { .. }
            | Statement::Deallocate(_) => Err(Error::not_in_function("Dynamic SQL")),
            Statement::Flush { .. } => Err(Error::not_in_function("FLUSH")),
            Statement::Reset(_) | Statement::ResetReplica { .. } => Err(Error::not_in_function("RESET")),
            Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::ReleaseSavepoint(_) => Ok(()),
            // What commits nothing.
            Statement::CreateTable(create) if create.temporary => Ok(()),
            Statement::DropTables { temporary: true, .. } => Ok(()),
            Statement::Unsupported(what) => Err(Error::unsupported(what)),
            Statement::SetTransaction { .. } => Ok(()),
            Statement::SetRole(_) | Statement::Kill { .. } => {
                Err(Error::unsupported("this statement in stored functions and triggers"))
            }
            _ => Err(Error::commit_in_function()),
        }
    }

    /// Behind CALL.
    pub(in crate::parser) fn call_of_program(&mut self) -> Result<Call> {
        let name = self.qualified_name()?;
        let mut args = Vec::new();
        if self.take_symbol("(") && !self.take_symbol(")") {
            args = self.list(|parser| {
                let value = parser.computed()?;
                let target = match &value.expr {
                    Expr::UserVariable(name) => Some(IntoTarget::User(name.clone())),
                    Expr::Parameter(at) => match value.reads.get(*at) {
                        Some(variable) => parser.assignable(*variable).then_some(IntoTarget::Local(*variable)),
                        None => Some(IntoTarget::Parameter(*at)),
                    },
                    _ => None,
                };
                Ok(Argument { value, target })
            })?;
            self.expect_symbol(")")?;
        }
        Ok(Call { name, args })
    }

    /// Whether a variable can be assigned to: NEW.column only in a trigger that fires before.
    fn assignable(&mut self, variable: usize) -> bool {
        let Some(scope) = &mut self.program else { return false };
        match &scope.variables[variable] {
            Variable::Local { .. } => true,
            Variable::Field { new, .. } => {
                let can = *new && scope.fires.is_some_and(|(before, _)| before);
                if can {
                    scope.assigned.push(variable);
                }
                can
            }
        }
    }
}
