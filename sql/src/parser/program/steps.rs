//! The statements of a body: blocks, branches, loops, assignments, cursors.

use super::declare::Stage;
use super::scope::Names;
use crate::error::{Error, Result};
use crate::parser::Parser;
use crate::parser::ast::*;
use crate::parser::expression::user_variable_name;
use crate::parser::lexer::Kind;

impl Parser<'_> {
    /// One statement, without the semicolon behind it.
    pub(super) fn step(&mut self) -> Result<Step> {
        if self.is_name() && self.is_symbol_at(1, ":") {
            let name = self.name()?;
            self.advance();
            if !self.is_any_word(&["BEGIN", "LOOP", "WHILE", "REPEAT"]) {
                return Err(self.unexpected());
            }
            if self.scope()?.find_label(&name, false).is_some() {
                return Err(Error::label_redefined(&name));
            }
            return self.labelled(Some(name));
        }
        if self.is_any_word(&["LOOP", "WHILE", "REPEAT"]) && !self.is_symbol_at(1, "(") || self.is_word("BEGIN") {
            return self.labelled(None);
        }
        if self.is_word("WHILE") || self.is_word("REPEAT") {
            return self.labelled(None);
        }
        if self.take_word("IF") {
            return self.if_step();
        }
        if self.is_word("CASE") {
            return self.case_step();
        }
        if let Some(word) = self.take_any_word(&["LEAVE", "ITERATE"]) {
            let name = self.name()?;
            let must_loop = word == "ITERATE";
            let found = self.scope()?.find_label(&name, must_loop);
            let id = found.ok_or_else(|| Error::no_matching_label(word, &name))?;
            return Ok(if must_loop { Step::Iterate(id) } else { Step::Leave(id) });
        }
        if self.take_word("RETURN") {
            if self.scope()?.kind != ProgramKind::Function {
                return Err(Error::return_outside());
            }
            self.scope()?.returns = true;
            return Ok(Step::Return(self.computed()?));
        }
        if let Some(word) = self.take_any_word(&["OPEN", "CLOSE"]) {
            let name = self.name()?;
            let cursor = self.scope()?.find_cursor(&name)?;
            return Ok(if word == "OPEN" { Step::Open(cursor) } else { Step::Close(cursor) });
        }
        if self.take_word("FETCH") {
            if self.take_word("NEXT") {
                self.expect_word("FROM")?;
            } else {
                self.take_word("FROM");
            }
            let name = self.name()?;
            let cursor = self.scope()?.find_cursor(&name)?;
            self.expect_word("INTO")?;
            return Ok(Step::Fetch { cursor, into: self.list(Self::local_variable)? });
        }
        if self.is_word("SET") && !self.is_special_set() {
            self.advance();
            let mut scope = None;
            return Ok(Step::Set(self.list(|parser| parser.set_step(&mut scope))?));
        }
        if self.take_word("DO") {
            return Ok(Step::Do(self.list(Self::computed)?));
        }
        if self.is_word("CALL") {
            self.advance();
            return Ok(Step::Call(Box::new(self.call_of_program()?)));
        }
        if self.is_any_word(&["SIGNAL", "RESIGNAL"]) {
            return Ok(Step::Signal(Box::new(self.signal()?)));
        }
        if self.is_word("GET") {
            return Ok(Step::GetDiagnostics(Box::new(self.get_diagnostics()?)));
        }
        self.sql_step()
    }

    pub(super) fn scope(&mut self) -> Result<&mut super::ProgramScope> {
        let unexpected = self.unexpected();
        self.program.as_deref_mut().ok_or(unexpected)
    }

    /// Statements up to one of these words, each with its semicolon.
    fn steps_until(&mut self, ends: &[&str]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        while !self.is_any_word(ends) {
            steps.push(self.nested(Self::step)?);
            self.expect_symbol(";")?;
        }
        Ok(steps)
    }

    /// The same where there must be one.
    fn some_steps_until(&mut self, ends: &[&str]) -> Result<Vec<Step>> {
        match self.is_any_word(ends) {
            true => Err(self.unexpected()),
            false => self.steps_until(ends),
        }
    }

    /// A block or a loop, and its label behind the end.
    fn labelled(&mut self, name: Option<String>) -> Result<Step> {
        let is_loop = !self.is_word("BEGIN");
        let label = self.scope()?.add_label(name.clone(), is_loop);
        let step = self.nested(|parser| match is_loop {
            false => parser.block(label),
            true => parser.loop_step(label),
        });
        self.scope()?.labels.pop();
        let step = step?;
        if self.is_name() && !self.is_word("UNTIL") {
            let end = self.name()?;
            match &name {
                Some(name) if name.eq_ignore_ascii_case(&end) => {}
                _ => return Err(Error::end_label_mismatch(&end)),
            }
        }
        Ok(step)
    }

    fn block(&mut self, label: usize) -> Result<Step> {
        self.expect_word("BEGIN")?;
        // MariaDB's, for a block outside of programs, where BEGIN alone begins a transaction.
        if self.take_word("NOT") {
            self.expect_word("ATOMIC")?;
        }
        self.scope()?.blocks.push(Names::default());
        let mut block =
            Block { label, declared: Vec::new(), cursors: Vec::new(), handlers: Vec::new(), body: Vec::new() };
        let mut stage = Stage::Variables;
        while self.take_word("DECLARE") {
            self.declare(&mut block, &mut stage)?;
            self.expect_symbol(";")?;
        }
        block.body = self.steps_until(&["END"])?;
        self.advance();
        self.scope()?.blocks.pop();
        Ok(Step::Block(Box::new(block)))
    }

    fn loop_step(&mut self, label: usize) -> Result<Step> {
        let (mut before, mut until) = (None, None);
        let body = match self.upper_word()?.as_str() {
            "LOOP" => {
                let body = self.some_steps_until(&["END"])?;
                self.advance();
                self.expect_word("LOOP")?;
                body
            }
            "WHILE" => {
                before = Some(self.condition()?);
                self.expect_word("DO")?;
                let body = self.some_steps_until(&["END"])?;
                self.advance();
                self.expect_word("WHILE")?;
                body
            }
            _ => {
                let body = self.some_steps_until(&["UNTIL"])?;
                self.advance();
                until = Some(self.condition()?);
                self.expect_word("END")?;
                self.expect_word("REPEAT")?;
                body
            }
        };
        Ok(Step::Loop { label, before, body, until })
    }

    /// 1 if a condition is true, and else 0.
    fn condition(&mut self) -> Result<Computed> {
        self.computed_by(|parser| {
            let condition = parser.expr()?;
            Ok(choice(None, vec![(condition, 1)], 0))
        })
    }

    fn if_step(&mut self) -> Result<Step> {
        let mut conditions = Vec::new();
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        // All conditions are one expression, which knows the variables of all.
        let outer = std::mem::take(&mut self.scope()?.reads);
        let result = (|| -> Result<()> {
            loop {
                let condition = self.expr()?;
                conditions.push((condition, branches.len() as u64));
                self.expect_word("THEN")?;
                let reads = std::mem::take(&mut self.scope()?.reads);
                branches.push(self.some_steps_until(&["ELSEIF", "ELSE", "END"])?);
                self.scope()?.reads = reads;
                if self.take_word("ELSEIF") {
                    continue;
                }
                if self.take_word("ELSE") {
                    let reads = std::mem::take(&mut self.scope()?.reads);
                    otherwise = self.some_steps_until(&["END"])?;
                    self.scope()?.reads = reads;
                }
                self.expect_word("END")?;
                return self.expect_word("IF");
            }
        })();
        let reads = std::mem::replace(&mut self.scope()?.reads, outer);
        result?;
        let expr = choice(None, conditions, branches.len() as u64);
        let choice = Computed { slot: self.scope()?.next_slot(), expr, reads };
        Ok(Step::Choose { choice, branches, otherwise: Some(otherwise) })
    }

    fn case_step(&mut self) -> Result<Step> {
        self.advance();
        let outer = std::mem::take(&mut self.scope()?.reads);
        let mut whens = Vec::new();
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut operand = None;
        let result = (|| -> Result<()> {
            if !self.is_word("WHEN") {
                operand = Some(Box::new(self.expr()?));
            }
            while self.take_word("WHEN") {
                let when = self.expr()?;
                whens.push((when, branches.len() as u64));
                self.expect_word("THEN")?;
                let reads = std::mem::take(&mut self.scope()?.reads);
                branches.push(self.some_steps_until(&["WHEN", "ELSE", "END"])?);
                self.scope()?.reads = reads;
            }
            if whens.is_empty() {
                return Err(self.unexpected());
            }
            if self.take_word("ELSE") {
                let reads = std::mem::take(&mut self.scope()?.reads);
                otherwise = Some(self.some_steps_until(&["END"])?);
                self.scope()?.reads = reads;
            }
            self.expect_word("END")?;
            self.expect_word("CASE")
        })();
        let reads = std::mem::replace(&mut self.scope()?.reads, outer);
        result?;
        let expr = choice(operand, whens, branches.len() as u64);
        let choice = Computed { slot: self.scope()?.next_slot(), expr, reads };
        Ok(Step::Choose { choice, branches, otherwise })
    }

    /// SET PASSWORD, SET ROLE, SET TRANSACTION and their kin, which are statements of SQL.
    fn is_special_set(&self) -> bool {
        let is_assigned = self.is_symbol_at(2, "=") || self.is_symbol_at(2, ":=");
        let word = |ahead, words: &[&str]| words.iter().any(|word| self.is_word_at(ahead, word));
        let scoped = word(1, &["GLOBAL", "SESSION", "LOCAL"]) && self.is_word_at(2, "TRANSACTION");
        let special = ["PASSWORD", "ROLE", "TRANSACTION", "RESOURCE", "STATEMENT", "DEFAULT"];
        scoped || !is_assigned && word(1, &special)
    }

    /// What a variable was declared with, computed anew.
    fn default_of(&mut self, variable: usize) -> Result<Computed> {
        let scope = self.scope()?;
        let declared = scope.defaults.iter().find(|(known, _)| *known == variable).map(|(_, default)| default.clone());
        let slot = scope.next_slot();
        Ok(match declared {
            Some(default) => Computed { slot, ..default },
            None => Computed { slot, expr: Expr::Literal(Literal::Null), reads: Vec::new() },
        })
    }

    fn set_step(&mut self, scope: &mut Option<VariableScope>) -> Result<SetStep> {
        let token = self.peek();
        if token.kind == Kind::UserVariable {
            self.advance();
            let name = user_variable_name(self.bytes(token));
            self.assigns()?;
            return Ok(SetStep::User(name, self.computed()?));
        }
        if self.is_name() {
            let is_row = self.is_symbol_at(1, ".") && {
                let word = String::from_utf8_lossy(self.bytes(token)).into_owned();
                self.scope()?.is_row(&word)
            };
            let start = self.at;
            if is_row || self.is_symbol_at(1, "=") || self.is_symbol_at(1, ":=") {
                let name = self.name()?;
                let found = match is_row {
                    true => {
                        self.at = start;
                        Some(self.local_variable()?)
                    }
                    false => self.scope()?.find_variable(&name),
                };
                match found {
                    Some(variable) => {
                        self.assigns()?;
                        let value = match self.take_word("DEFAULT") {
                            true => self.default_of(variable)?,
                            false => self.computed()?,
                        };
                        return Ok(SetStep::Local(variable, value));
                    }
                    None => self.at = start,
                }
            }
        }
        let mut item = None;
        let value = self.computed_by(|parser| match parser.set_item(scope)? {
            SetItem::System { scope, name, value } => {
                item = Some(SetItem::System { scope, name, value: Expr::Default });
                Ok(value)
            }
            other => {
                item = Some(other);
                Ok(Expr::Default)
            }
        })?;
        match item {
            Some(SetItem::System { name, .. })
                if name.eq_ignore_ascii_case("autocommit") && self.scope()?.kind.is_inner() =>
            {
                Err(Error::autocommit_in_function())
            }
            Some(SetItem::System { scope, name, .. }) => match value.expr {
                Expr::Default => Ok(SetStep::Other(SetItem::System { scope, name, value: value.expr })),
                Expr::Column(ref word) if word.table.is_none() => {
                    Ok(SetStep::Other(SetItem::System { scope, name, value: value.expr }))
                }
                _ => Ok(SetStep::System { scope, name, value }),
            },
            Some(other) => Ok(SetStep::Other(other)),
            None => Err(self.unexpected()),
        }
    }

    fn assigns(&mut self) -> Result<()> {
        match self.take_symbol(":=") {
            true => Ok(()),
            false => self.expect_symbol("="),
        }
    }
}

/// The number of the first of these that is true, or equal to the operand.
fn choice(operand: Option<Box<Expr>>, whens: Vec<(Expr, u64)>, otherwise: u64) -> Expr {
    let number = |number: u64| Expr::Literal(Literal::Integer(number));
    Expr::Case {
        operand,
        whens: whens.into_iter().map(|(when, branch)| (when, number(branch))).collect(),
        otherwise: Some(Box::new(number(otherwise))),
    }
}
