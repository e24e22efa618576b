//! Stored programs: CREATE PROCEDURE, FUNCTION, TRIGGER and EVENT, and the language of their bodies.
//!
//! | module | idea |
//! |---|---|
//! | `scope` | what names mean inside of a program |
//! | `steps` | BEGIN, IF, LOOP, SET ... |
//! | `declare` | DECLARE |
//! | `conditions` | SIGNAL, RESIGNAL, GET DIAGNOSTICS |
//! | `sql` | statements of SQL in a program, and which may stand there |
//! | `definition` | what stands around a body |
//! | `event` | what stands around the body of an event |
//!
//! A statement has all tokens up to its semicolon; a program goes on behind it, to the END of its body. So the parser
//! reads on when a body begins, and a statement inside of it sees the tokens up to its own semicolon alone.

mod conditions;
mod declare;
mod definition;
mod event;
mod scope;
mod sql;
mod steps;

use super::Parser;
use super::ast::*;
use super::lexer::Kind;
use crate::error::Result;

pub(super) use scope::ProgramScope;

impl Parser<'_> {
    /// Reads the tokens up to the end of the text: a body may have semicolons.
    fn read_on(&mut self) {
        while self.tokens.last().is_some_and(|token| !matches!(token.kind, Kind::End | Kind::Bad)) {
            let token = self.lexer.next_token();
            self.tokens.push(token);
        }
        self.last = self.tokens.len() - 1;
    }

    /// The program has ended: the statement ends here, too.
    fn end_program(&mut self) -> Result<()> {
        let ends = self.peek().kind == Kind::End || self.is_symbol(";");
        if !ends {
            return Err(self.unexpected());
        }
        self.tokens.truncate(self.at + 1);
        self.last = self.at;
        Ok(())
    }

    /// A value of a program, or of a statement that may stand outside of one, too.
    pub(in crate::parser) fn computed(&mut self) -> Result<Computed> {
        self.computed_by(Self::expr)
    }

    pub(super) fn computed_by(&mut self, parse: impl FnOnce(&mut Self) -> Result<Expr>) -> Result<Computed> {
        let Some(scope) = &mut self.program else { return Ok(Computed { slot: 0, expr: parse(self)?, reads: vec![] }) };
        let outer = std::mem::take(&mut scope.reads);
        let expr = parse(self);
        let Some(scope) = &mut self.program else { return Err(self.unexpected()) };
        let reads = std::mem::replace(&mut scope.reads, outer);
        let expr = expr?;
        Ok(Computed { slot: scope.next_slot(), expr, reads })
    }

    /// What an INTO names.
    pub(in crate::parser) fn target_of_into(&mut self) -> Result<IntoTarget> {
        match self.peek().kind {
            Kind::UserVariable => self.user_variable().map(IntoTarget::User),
            _ if self.program.is_some() => self.local_variable().map(IntoTarget::Local),
            _ => Err(self.unexpected()),
        }
    }
}
