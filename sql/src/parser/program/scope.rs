//! What names mean inside of a program: variables, conditions, cursors, labels.

use crate::error::{Error, Result};
use crate::parser::Parser;
use crate::parser::ast::*;

/// The names of one block.
#[derive(Default)]
pub struct Names {
    pub variables: Vec<(String, usize)>,
    pub conditions: Vec<(String, HandledCondition)>,
    pub cursors: Vec<(String, usize)>,
}

/// A label in sight.
pub struct Label {
    pub name: Option<String>,
    pub id: usize,
    /// A block has no next turn.
    pub is_loop: bool,
}

/// The program that is being parsed.
pub struct ProgramScope {
    pub kind: ProgramKind,
    /// Of a trigger: when it fires.
    pub fires: Option<(bool, TriggerEvent)>,
    pub variables: Vec<Variable>,
    /// What variables are at first, for SET variable = DEFAULT.
    pub defaults: Vec<(usize, Computed)>,
    pub cursors: Vec<CursorSpec>,
    pub blocks: Vec<Names>,
    pub labels: Vec<Label>,
    /// What the expression or statement that is being parsed reads.
    pub reads: Vec<usize>,
    pub slots: usize,
    pub next_label: usize,
    pub returns: bool,
    pub assigned: Vec<usize>,
    pub read_fields: Vec<usize>,
}

impl ProgramScope {
    pub fn new(kind: ProgramKind, fires: Option<(bool, TriggerEvent)>) -> ProgramScope {
        ProgramScope {
            kind,
            fires,
            variables: Vec::new(),
            defaults: Vec::new(),
            cursors: Vec::new(),
            blocks: vec![Names::default()],
            labels: Vec::new(),
            reads: Vec::new(),
            slots: 0,
            next_label: 0,
            returns: false,
            assigned: Vec::new(),
            read_fields: Vec::new(),
        }
    }

    pub fn next_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    pub fn add_label(&mut self, name: Option<String>, is_loop: bool) -> usize {
        self.next_label += 1;
        let id = self.next_label;
        self.labels.push(Label { name, id, is_loop });
        id
    }

    pub fn find_label(&self, name: &str, must_loop: bool) -> Option<usize> {
        let is_it = |label: &&Label| {
            label.name.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(name)) && (label.is_loop || !must_loop)
        };
        self.labels.iter().rev().find(is_it).map(|label| label.id)
    }

    pub fn find_variable(&self, name: &str) -> Option<usize> {
        let find = |names: &Names| {
            names.variables.iter().find(|(known, _)| storage::same_name(known, name)).map(|(_, at)| *at)
        };
        self.blocks.iter().rev().find_map(find)
    }

    pub fn find_condition(&self, name: &str) -> Result<HandledCondition> {
        let find = |names: &Names| {
            names.conditions.iter().find(|(known, _)| storage::same_name(known, name)).map(|(_, condition)| *condition)
        };
        self.blocks.iter().rev().find_map(find).ok_or_else(|| Error::undefined_condition(name))
    }

    pub fn find_cursor(&self, name: &str) -> Result<usize> {
        let find =
            |names: &Names| names.cursors.iter().find(|(known, _)| storage::same_name(known, name)).map(|(_, at)| *at);
        self.blocks.iter().rev().find_map(find).ok_or_else(|| Error::undefined_cursor(name))
    }

    /// The parameter that a variable is in what is being parsed.
    fn parameter(&mut self, variable: usize) -> Expr {
        if matches!(self.variables[variable], Variable::Field { .. }) && !self.read_fields.contains(&variable) {
            self.read_fields.push(variable);
        }
        let at = self.reads.iter().position(|read| *read == variable).unwrap_or_else(|| {
            self.reads.push(variable);
            self.reads.len() - 1
        });
        Expr::Parameter(at)
    }

    /// The place of NEW.column or OLD.column.
    pub fn field(&mut self, new: bool, column: &str) -> Result<usize> {
        let Some((_, event)) = self.fires else {
            return Err(Error::undeclared_variable(if new { "NEW" } else { "OLD" }));
        };
        let is_there = if new { event != TriggerEvent::Delete } else { event != TriggerEvent::Insert };
        if !is_there {
            return Err(Error::no_such_row(if new { "NEW" } else { "OLD" }, event.name()));
        }
        let is_it = |variable: &Variable| match variable {
            Variable::Field { new: known, column: name } => *known == new && storage::same_name(name, column),
            Variable::Local { .. } => false,
        };
        Ok(self.variables.iter().position(is_it).unwrap_or_else(|| {
            self.variables.push(Variable::Field { new, column: column.to_owned() });
            self.variables.len() - 1
        }))
    }

    /// NEW.column, to be assigned.
    pub fn assigned_field(&mut self, row: &str, column: &str) -> Result<usize> {
        let new = row.eq_ignore_ascii_case("NEW");
        let at = self.field(new, column)?;
        let before = self.fires.is_some_and(|(before, _)| before);
        match (new, before) {
            (true, true) => {
                self.assigned.push(at);
                Ok(at)
            }
            (true, false) => Err(Error::row_not_updatable("NEW", "after ")),
            (false, _) => Err(Error::row_not_updatable("OLD", "")),
        }
    }

    pub fn is_row(&self, name: &str) -> bool {
        self.fires.is_some() && (name.eq_ignore_ascii_case("NEW") || name.eq_ignore_ascii_case("OLD"))
    }
}

impl Parser<'_> {
    /// What a name means in a program; None: it is a column.
    pub(in crate::parser) fn program_name(&mut self, name: &ColumnName) -> Result<Option<Expr>> {
        let Some(scope) = &mut self.program else { return Ok(None) };
        match &name.table {
            None => Ok(scope.find_variable(&name.name).map(|variable| scope.parameter(variable))),
            Some(row) if name.database.is_none() && scope.is_row(row) => {
                let field = scope.field(row.eq_ignore_ascii_case("NEW"), &name.name)?;
                Ok(Some(scope.parameter(field)))
            }
            Some(_) => Ok(None),
        }
    }

    /// Whether a name is one of the program's own.
    pub(in crate::parser) fn is_program_name(&self, name: &ColumnName) -> bool {
        let Some(scope) = &self.program else { return false };
        match &name.table {
            None => scope.find_variable(&name.name).is_some(),
            Some(row) => name.database.is_none() && scope.is_row(row),
        }
    }

    /// The next token is the name of a variable: it is taken, as a parameter.
    pub(in crate::parser) fn variable_as_parameter(&mut self) -> Result<Option<Expr>> {
        if self.program.is_none() || !self.is_name() {
            return Ok(None);
        }
        let name = self.column_name()?;
        match self.program_name(&name)? {
            Some(parameter) => Ok(Some(parameter)),
            None => Err(Error::undeclared_variable(&name.name)),
        }
    }

    /// A variable of the program, by its name.
    pub(in crate::parser) fn local_variable(&mut self) -> Result<usize> {
        let name = self.name()?;
        if self.is_symbol(".") && self.program.as_ref().is_some_and(|scope| scope.is_row(&name)) {
            self.advance();
            let column = self.any_name()?;
            if let Some(scope) = &mut self.program {
                return scope.assigned_field(&name, &column);
            }
        }
        let found = self.program.as_ref().and_then(|scope| scope.find_variable(&name));
        found.ok_or_else(|| Error::undeclared_variable(&name))
    }
}
