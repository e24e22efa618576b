//! CREATE, ALTER and DROP of procedures, functions and triggers; where those of events are told apart.

use super::ProgramScope;
use super::scope::Names;
use crate::error::{Error, Result};
use crate::parser::Parser;
use crate::parser::ast::*;
use crate::parser::lexer::Kind;

impl Parser<'_> {
    /// Behind CREATE [OR REPLACE]: a procedure, function, trigger or event. Nothing is taken if it is something else.
    pub(in crate::parser) fn create_program(&mut self, or_replace: bool) -> Result<Option<Statement>> {
        let start = self.at;
        let mut definer = None;
        if self.is_word("DEFINER") && self.is_symbol_at(1, "=") {
            self.at += 2;
            definer = Some(self.user_name()?);
        }
        let kind = match self.take_any_word(&["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]) {
            Some("PROCEDURE") => ProgramKind::Procedure,
            Some("FUNCTION") => ProgramKind::Function,
            Some("EVENT") => ProgramKind::Event,
            Some(_) => ProgramKind::Trigger,
            None => {
                self.at = start;
                return Ok(None);
            }
        };
        if self.program.is_some() {
            return Err(match kind {
                ProgramKind::Event => Error::nested_event(),
                _ => Error::nested_create(kind.name()),
            });
        }
        let if_not_exists = self.new_only(or_replace)?;
        let name = self.qualified_name()?;
        if kind == ProgramKind::Function && (self.is_word("RETURNS") || self.is_word("SONAME")) {
            self.skip_rest()?;
            return Err(Error::unsupported("loadable functions"));
        }
        self.read_on();
        Ok(Some(match kind {
            ProgramKind::Trigger => self.create_trigger(or_replace, if_not_exists, definer, name)?,
            ProgramKind::Event => self.create_event(or_replace, if_not_exists, definer, name)?,
            _ => self.create_routine(kind, or_replace, if_not_exists, definer, name)?,
        }))
    }

    fn create_routine(
        &mut self,
        kind: ProgramKind,
        or_replace: bool,
        if_not_exists: bool,
        definer: Option<UserName>,
        name: TableName,
    ) -> Result<Statement> {
        self.program = Some(Box::new(ProgramScope::new(kind, None)));
        self.expect_symbol("(")?;
        let start = self.peek().start;
        let mut parameters: Vec<ParameterSpec> = Vec::new();
        let mut parameters_text = String::new();
        if !self.is_symbol(")") {
            parameters = self.list(|parser| parser.parameter(kind))?;
            parameters_text = self.text_since(start);
        }
        self.expect_symbol(")")?;
        for (at, parameter) in parameters.iter().enumerate() {
            if parameters[..at].iter().any(|other| storage::same_name(&other.name, &parameter.name)) {
                return Err(Error::duplicate_parameter(&parameter.name));
            }
            self.add_variable(parameter.name.clone(), parameter.ty.clone())?;
        }
        let (mut returns, mut returns_text) = (None, String::new());
        if kind == ProgramKind::Function {
            self.expect_word("RETURNS")?;
            let start = self.peek().start;
            returns = Some(self.type_spec()?);
            returns_text = self.text_since(start);
        }
        let characteristics = self.characteristics(true)?;
        let start = self.peek().start;
        let body = self.step()?;
        let body_text = self.bytes_since(start);
        self.end_program()?;
        let shown = match &name.database {
            Some(database) => format!("{database}.{}", name.name),
            None => name.name.clone(),
        };
        if kind == ProgramKind::Function && !self.scope()?.returns {
            return Err(Error::no_return(&shown));
        }
        let program = self.take_program(body)?;
        Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
            kind,
            or_replace,
            if_not_exists,
            definer,
            name,
            parameters,
            parameters_text,
            returns,
            returns_text,
            characteristics,
            program,
            body_text,
        })))
    }

    pub(super) fn take_program(&mut self, body: Step) -> Result<Program> {
        let unexpected = self.unexpected();
        let scope = *self.program.take().ok_or(unexpected)?;
        let ProgramScope { variables, cursors, slots, assigned, read_fields, .. } = scope;
        Ok(Program { variables, cursors, body, slots, assigned, read_fields })
    }

    fn parameter(&mut self, kind: ProgramKind) -> Result<ParameterSpec> {
        let mut mode = ParameterMode::In;
        if kind == ProgramKind::Procedure {
            mode = match self.take_any_word(&["IN", "OUT", "INOUT"]) {
                Some("OUT") => ParameterMode::Out,
                Some("INOUT") => ParameterMode::InOut,
                _ => ParameterMode::In,
            };
        }
        Ok(ParameterSpec { name: self.name()?, mode, ty: self.type_spec()? })
    }

    /// COMMENT, DETERMINISTIC ..., in any order. ALTER knows no determinism.
    fn characteristics(&mut self, all: bool) -> Result<Characteristics> {
        let mut found = Characteristics::default();
        loop {
            if self.is_word("COMMENT") && self.peek_at(1).kind == Kind::Text {
                self.advance();
                found.comment = Some(self.text()?);
            } else if self.take_words(&["LANGUAGE", "SQL"]) {
            } else if self.take_words(&["NO", "SQL"]) {
                found.access = Some(DataAccess::No);
            } else if self.take_words(&["CONTAINS", "SQL"]) {
                found.access = Some(DataAccess::Contains);
            } else if self.take_words(&["READS", "SQL", "DATA"]) {
                found.access = Some(DataAccess::Reads);
            } else if self.take_words(&["MODIFIES", "SQL", "DATA"]) {
                found.access = Some(DataAccess::Modifies);
            } else if self.take_words(&["SQL", "SECURITY", "DEFINER"]) {
                found.as_invoker = Some(false);
            } else if self.take_words(&["SQL", "SECURITY", "INVOKER"]) {
                found.as_invoker = Some(true);
            } else if all && self.take_word("DETERMINISTIC") {
                found.deterministic = Some(true);
            } else if all && self.take_words(&["NOT", "DETERMINISTIC"]) {
                found.deterministic = Some(false);
            } else {
                return Ok(found);
            }
        }
    }

    fn create_trigger(
        &mut self,
        or_replace: bool,
        if_not_exists: bool,
        definer: Option<UserName>,
        name: TableName,
    ) -> Result<Statement> {
        let before = match self.take_any_word(&["BEFORE", "AFTER"]) {
            Some(word) => word == "BEFORE",
            None => return Err(self.unexpected()),
        };
        let event = match self.take_any_word(&["INSERT", "UPDATE", "DELETE"]) {
            Some("INSERT") => TriggerEvent::Insert,
            Some("UPDATE") => TriggerEvent::Update,
            Some(_) => TriggerEvent::Delete,
            None => return Err(self.unexpected()),
        };
        self.expect_word("ON")?;
        let table = self.table_name()?;
        for word in ["FOR", "EACH", "ROW"] {
            self.expect_word(word)?;
        }
        let mut order = None;
        if self.is_any_word(&["FOLLOWS", "PRECEDES"]) && self.is_name_at(1) {
            let follows = self.upper_word()? == "FOLLOWS";
            order = Some((follows, self.name()?));
        }
        self.program = Some(Box::new(ProgramScope::new(ProgramKind::Trigger, Some((before, event)))));
        let start = self.peek().start;
        let body = self.step()?;
        let body_text = self.bytes_since(start);
        self.end_program()?;
        let program = self.take_program(body)?;
        Ok(Statement::CreateTrigger(Box::new(CreateTrigger {
            or_replace,
            if_not_exists,
            definer,
            name,
            before,
            event,
            table,
            order,
            program,
            body_text,
        })))
    }

    /// Behind DROP: a procedure, function, trigger or event, if it is one.
    pub(in crate::parser) fn drop_program(&mut self) -> Result<Option<Statement>> {
        let words = ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"];
        let Some(word) = self.take_any_word(&words) else { return Ok(None) };
        let if_exists = self.if_exists()?;
        let name = self.qualified_name()?;
        Ok(Some(match word {
            "PROCEDURE" => Statement::DropRoutine { kind: ProgramKind::Procedure, name, if_exists },
            "FUNCTION" => Statement::DropRoutine { kind: ProgramKind::Function, name, if_exists },
            "EVENT" => Statement::DropEvent { name, if_exists },
            _ => Statement::DropTrigger { name, if_exists },
        }))
    }

    /// Behind ALTER.
    pub(in crate::parser) fn alter_program(&mut self) -> Result<Option<Statement>> {
        if let Some(event) = self.alter_event()? {
            return Ok(Some(event));
        }
        let Some(word) = self.take_any_word(&["PROCEDURE", "FUNCTION"]) else { return Ok(None) };
        let kind = if word == "PROCEDURE" { ProgramKind::Procedure } else { ProgramKind::Function };
        let name = self.qualified_name()?;
        let characteristics = self.characteristics(false)?;
        Ok(Some(Statement::AlterRoutine(Box::new(AlterRoutine { kind, name, characteristics }))))
    }

    /// The body of a stored program, with the variables of its head.
    pub(in crate::parser) fn stored_body(
        &mut self,
        kind: ProgramKind,
        fires: Option<(bool, TriggerEvent)>,
        parameters: &str,
    ) -> Result<Program> {
        let mut scope = ProgramScope::new(kind, fires);
        let mut head = Parser::new(parameters.as_bytes(), 0, self.mode);
        let names: &mut Names = &mut scope.blocks[0];
        if !head.is_at_end() {
            for parameter in head.list(|parser| parser.parameter(kind))? {
                names.variables.push((parameter.name.clone(), scope.variables.len()));
                scope.variables.push(Variable::Local { name: parameter.name, ty: parameter.ty });
            }
        }
        self.program = Some(Box::new(scope));
        self.read_on();
        let body = self.step()?;
        self.end_program()?;
        self.take_program(body)
    }

    /// BEGIN NOT ATOMIC ... END: the body of a procedure that is run once.
    pub(in crate::parser) fn block_alone(&mut self) -> Result<Statement> {
        self.read_on();
        self.program = Some(Box::new(ProgramScope::new(ProgramKind::Procedure, None)));
        let start = self.peek().start;
        let body = self.step()?;
        let text = self.bytes_since(start);
        self.end_program()?;
        // What is wrong with it is told before it runs.
        self.take_program(body)?;
        Ok(Statement::Block(text))
    }

    /// The parameters of a stored routine.
    pub(in crate::parser) fn stored_parameters(&mut self, kind: ProgramKind) -> Result<Vec<ParameterSpec>> {
        if self.is_at_end() {
            return Ok(Vec::new());
        }
        self.list(|parser| parser.parameter(kind))
    }
}
