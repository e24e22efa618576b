//! DECLARE: variables and conditions first, then cursors, then handlers.

use super::scope::Names;
use crate::error::{Error, Result};
use crate::parser::Parser;
use crate::parser::ast::*;
use crate::parser::lexer::Kind;

/// How far the declarations of a block have come.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
pub enum Stage {
    Variables,
    Cursors,
    Handlers,
}

impl Parser<'_> {
    fn names(&mut self) -> Result<&mut Names> {
        let unexpected = self.unexpected();
        self.program.as_mut().and_then(|scope| scope.blocks.last_mut()).ok_or(unexpected)
    }

    /// One DECLARE, behind the word.
    pub(super) fn declare(&mut self, block: &mut Block, stage: &mut Stage) -> Result<()> {
        if self.is_any_word(&["CONTINUE", "EXIT", "UNDO"]) && self.is_word_at(1, "HANDLER") {
            *stage = Stage::Handlers;
            return self.handler(block);
        }
        if self.is_name() && self.is_word_at(1, "CONDITION") {
            if *stage > Stage::Variables {
                return Err(Error::variable_after_cursor());
            }
            let name = self.name()?;
            self.advance();
            self.expect_word("FOR")?;
            let condition = match self.peek().kind {
                Kind::Integer => self.error_code()?,
                _ => HandledCondition::State(self.sqlstate()?),
            };
            let names = self.names()?;
            if names.conditions.iter().any(|(known, _)| storage::same_name(known, &name)) {
                return Err(Error::duplicate_condition(&name));
            }
            names.conditions.push((name, condition));
            return Ok(());
        }
        if self.is_name() && self.is_word_at(1, "CURSOR") {
            if *stage > Stage::Cursors {
                return Err(Error::cursor_after_handler());
            }
            *stage = Stage::Cursors;
            return self.cursor(block);
        }
        if *stage > Stage::Variables {
            return Err(Error::variable_after_cursor());
        }
        let names = self.list(Self::name)?;
        let ty = self.type_spec()?;
        let default = match self.take_word("DEFAULT") {
            true => Some(self.computed()?),
            false => None,
        };
        let mut places = Vec::new();
        for name in names {
            let known = &self.names()?.variables;
            if known.iter().any(|(known, _)| storage::same_name(known, &name)) {
                return Err(Error::duplicate_variable(&name));
            }
            let place = self.add_variable(name, ty.clone())?;
            if let (Some(scope), Some(default)) = (&mut self.program, &default) {
                scope.defaults.push((place, default.clone()));
            }
            places.push(place);
        }
        block.declared.push((places, default));
        Ok(())
    }

    /// A variable of the innermost block.
    pub(super) fn add_variable(&mut self, name: String, ty: TypeSpec) -> Result<usize> {
        let unexpected = self.unexpected();
        let scope = self.program.as_mut().ok_or(unexpected)?;
        let at = scope.variables.len();
        scope.variables.push(Variable::Local { name: name.clone(), ty });
        if let Some(names) = scope.blocks.last_mut() {
            names.variables.push((name, at));
        }
        Ok(at)
    }

    fn cursor(&mut self, block: &mut Block) -> Result<()> {
        let name = self.name()?;
        self.advance();
        self.expect_word("FOR")?;
        if self.names()?.cursors.iter().any(|(known, _)| storage::same_name(known, &name)) {
            return Err(Error::duplicate_cursor(&name));
        }
        let mut query = self.plain_sql()?;
        match &mut query.statement {
            Statement::Query(query) if query.into.is_client() => query.into = SelectInto::Program(Wanted::Rows),
            Statement::Query(_) => return Err(Error::cursor_into()),
            _ => return Err(Error::cursor_without_select()),
        }
        let unexpected = self.unexpected();
        let scope = self.program.as_mut().ok_or(unexpected)?;
        let at = scope.cursors.len();
        scope.cursors.push(CursorSpec { name: name.clone(), query });
        block.cursors.push(at);
        self.names()?.cursors.push((name, at));
        Ok(())
    }

    fn handler(&mut self, block: &mut Block) -> Result<()> {
        let exits = match self.take_any_word(&["CONTINUE", "EXIT"]) {
            Some(word) => word == "EXIT",
            None => return Err(Error::unsupported("UNDO handlers")),
        };
        self.advance();
        self.expect_word("FOR")?;
        let conditions = self.list(Self::handled_condition)?;
        for (at, condition) in conditions.iter().enumerate() {
            let known = block.handlers.iter().flat_map(|handler| &handler.conditions).chain(&conditions[..at]);
            if known.into_iter().any(|known| known == condition) {
                return Err(Error::duplicate_handler());
            }
        }
        // From inside of a handler no loop or block around it can be left.
        let labels = match &mut self.program {
            Some(scope) => std::mem::take(&mut scope.labels),
            None => Vec::new(),
        };
        let body = self.nested(Self::step);
        if let Some(scope) = &mut self.program {
            scope.labels = labels;
        }
        block.handlers.push(Handler { exits, conditions, body: body? });
        Ok(())
    }

    fn handled_condition(&mut self) -> Result<HandledCondition> {
        if self.peek().kind == Kind::Integer {
            return self.error_code();
        }
        if self.is_word("SQLSTATE") {
            return Ok(HandledCondition::State(self.sqlstate()?));
        }
        if self.take_word("SQLWARNING") {
            return Ok(HandledCondition::Warning);
        }
        if self.take_words(&["NOT", "FOUND"]) {
            return Ok(HandledCondition::NotFound);
        }
        if self.take_word("SQLEXCEPTION") {
            return Ok(HandledCondition::Exception);
        }
        let name = self.name()?;
        let unexpected = self.unexpected();
        self.program.as_ref().ok_or(unexpected)?.find_condition(&name)
    }

    fn error_code(&mut self) -> Result<HandledCondition> {
        let code = self.integer()?;
        match u16::try_from(code) {
            Ok(0) | Err(_) => Err(Error::incorrect_condition_value("CONDITION", &code.to_string())),
            Ok(code) => Ok(HandledCondition::Code(code)),
        }
    }

    /// SQLSTATE [VALUE] '45000'
    pub(super) fn sqlstate(&mut self) -> Result<[u8; 5]> {
        self.expect_word("SQLSTATE")?;
        self.take_word("VALUE");
        let text = self.text()?;
        let is_good = text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        match <[u8; 5]>::try_from(text.as_bytes()) {
            Ok(state) if is_good && !state.starts_with(b"00") => Ok(state),
            _ => Err(Error::bad_sqlstate(&text)),
        }
    }
}
