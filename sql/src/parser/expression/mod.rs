//! Expressions: MySQL's precedence, and the functions that have a syntax of
//! their own.
//!
//! From loose to tight, one function per rank of the manual's grammar:
//!
//! ```text
//! expr        OR ||  <  XOR  <  AND &&  <  NOT
//! comparison  = <=> < <= > >= <>, IS [NOT] NULL | TRUE | FALSE | UNKNOWN
//! predicate   [NOT] IN, BETWEEN, LIKE, REGEXP, SOUNDS LIKE
//! bits        |  <  &  <  << >>  <  + -  <  * / DIV % MOD  <  ^
//! simple      - + ~ ! BINARY, COLLATE, literals, names, calls, (...)
//! ```

mod call;
mod primary;

pub(super) use primary::{number, scope_of, user_variable_name};

use super::ast::*;
use super::lexer::Kind;
use super::{DEPTH_MAX, Parser};
use crate::error::{Error, Result};
use crate::types::SqlMode;

/// How tightly the logical operators bind.
const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.nested(|parser| parser.logical(OR))
    }

    pub(super) fn boxed_expr(&mut self) -> Result<Box<Expr>> {
        Ok(Box::new(self.expr()?))
    }

    fn logical_op(&self) -> Option<(BinaryOp, u8)> {
        let token = self.peek();
        match (token.kind, self.bytes(token)) {
            (Kind::Symbol, b"||") if !self.mode.has(SqlMode::PIPES_AS_CONCAT) => Some((BinaryOp::Or, OR)),
            (Kind::Symbol, b"&&") => Some((BinaryOp::And, AND)),
            (Kind::Word, word) => match word.len() {
                2 if word.eq_ignore_ascii_case(b"OR") => Some((BinaryOp::Or, OR)),
                3 if word.eq_ignore_ascii_case(b"AND") => Some((BinaryOp::And, AND)),
                3 if word.eq_ignore_ascii_case(b"XOR") => Some((BinaryOp::Xor, XOR)),
                _ => None,
            },
            _ => None,
        }
    }

    /// OR, XOR, AND and NOT, from the given rank on.
    fn logical(&mut self, lowest: u8) -> Result<Expr> {
        // With HIGH_NOT_PRECEDENCE it binds like `!`.
        let is_low = !self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE);
        let mut left = if is_low && self.is_word("NOT") {
            self.advance();
            // NOT binds looser than a comparison and tighter than AND.
            let operand = self.nested(|parser| parser.logical(AND + 1))?;
            Expr::Unary { op: UnaryOp::Not, expr: Box::new(operand) }
        } else {
            self.comparison()?
        };
        while let Some((op, rank)) = self.logical_op().filter(|(_, rank)| *rank >= lowest) {
            let mut operands = vec![left];
            while self.logical_op().is_some_and(|(next, _)| next == op) {
                self.advance();
                operands.push(self.logical(rank + 1)?);
            }
            left = balanced(op, operands);
        }
        Ok(left)
    }

    fn comparison_op(&self) -> Option<BinaryOp> {
        let token = self.peek();
        if token.kind != Kind::Symbol {
            return None;
        }
        Some(match self.bytes(token) {
            b"=" => BinaryOp::Equal,
            b"<=>" => BinaryOp::NullSafeEqual,
            b"<>" | b"!=" => BinaryOp::NotEqual,
            b"<" => BinaryOp::Less,
            b"<=" => BinaryOp::LessEqual,
            b">" => BinaryOp::Greater,
            b">=" => BinaryOp::GreaterEqual,
            _ => return None,
        })
    }

    fn comparison(&mut self) -> Result<Expr> {
        let left = self.predicate()?;
        match self.comparison_op().is_some() || self.is_word("IS") {
            true => self.comparison_of(left),
            false => Ok(left),
        }
    }

    /// On its own, so that parentheses without a comparison take little of the stack.
    #[inline(never)]
    fn comparison_of(&mut self, mut left: Expr) -> Result<Expr> {
        let mut chain = 0;
        loop {
            if let Some(op) = self.comparison_op() {
                self.advance();
                if self.is_any_word(&["ALL", "ANY", "SOME"]) && self.is_symbol_at(1, "(") {
                    let all = self.is_word("ALL");
                    self.advance();
                    let query = Box::new(self.parenthesized_query()?);
                    left = Expr::Quantified { expr: Box::new(left), op, all, query };
                } else {
                    let right = self.predicate()?;
                    left = Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
                }
            } else if self.take_word("IS") {
                let negated = self.take_word("NOT");
                let expr = Box::new(left);
                left = match self.take_any_word(&["NULL", "TRUE", "FALSE", "UNKNOWN"]) {
                    Some("NULL") => Expr::IsNull { expr, negated },
                    Some("TRUE") => Expr::IsTruth { expr, truth: Some(true), negated },
                    Some("FALSE") => Expr::IsTruth { expr, truth: Some(false), negated },
                    Some(_) => Expr::IsTruth { expr, truth: None, negated },
                    None if self.peek().kind == Kind::NullEscape => return Err(self.unexpected()),
                    None => return Err(self.unexpected()),
                };
            } else {
                return Ok(left);
            }
            chain += 1;
            self.check_chain(chain)?;
        }
    }

    /// A chain of operators of one rank makes a tree as deep as it is long.
    fn check_chain(&self, links: usize) -> Result<()> {
        if self.depth + links > DEPTH_MAX { Err(Error::nested_too_deep()) } else { Ok(()) }
    }

    fn predicate(&mut self) -> Result<Expr> {
        let expr = self.bits(1)?;
        match self.peek().kind {
            Kind::Word => self.predicate_of(expr),
            _ => Ok(expr),
        }
    }

    /// On its own, as [`comparison_of`](Self::comparison_of).
    #[inline(never)]
    fn predicate_of(&mut self, expr: Expr) -> Result<Expr> {
        let negated = self.is_word("NOT")
            && ["IN", "BETWEEN", "LIKE", "REGEXP", "RLIKE"].iter().any(|word| self.is_word_at(1, word));
        if negated {
            self.advance();
        }
        let expr = Box::new(expr);
        if self.take_word("IN") {
            return self.in_operand(expr, negated);
        }
        if self.take_word("BETWEEN") {
            let low = Box::new(self.bits(1)?);
            self.expect_word("AND")?;
            let high = Box::new(self.nested(Self::predicate)?);
            return Ok(Expr::Between { expr, low, high, negated });
        }
        if self.take_word("LIKE") {
            // `||` binds more tightly where it joins texts.
            let pattern = Box::new(self.bits(7)?);
            let escape = if self.take_word("ESCAPE") { Some(Box::new(self.bits(7)?)) } else { None };
            return Ok(Expr::Like { expr, pattern, escape, negated });
        }
        if self.take_word("REGEXP") || self.take_word("RLIKE") {
            let pattern = Box::new(self.bits(1)?);
            return Ok(Expr::Regexp { expr, pattern, negated });
        }
        if self.is_word("SOUNDS") && self.is_word_at(1, "LIKE") {
            self.at += 2;
            let right = Box::new(self.bits(1)?);
            return Ok(Expr::Binary { op: BinaryOp::SoundsLike, left: expr, right });
        }
        let is_member = self.is_word("MEMBER") && (self.is_word_at(1, "OF") || self.is_symbol_at(1, "("));
        if is_member {
            self.at += 1 + usize::from(self.is_word_at(1, "OF"));
            let array = self.in_parentheses(Self::expr)?;
            return Ok(Expr::Function { name: "member of".into(), args: vec![*expr, array] });
        }
        Ok(*expr)
    }

    fn in_operand(&mut self, expr: Box<Expr>, negated: bool) -> Result<Expr> {
        if self.is_nested_query() {
            let query = Box::new(self.parenthesized_query()?);
            return Ok(Expr::InQuery { expr, query, negated });
        }
        let list = self.parenthesized_list(Self::expr)?;
        Ok(Expr::InList { expr, list, negated })
    }

    fn bit_op(&self) -> Option<(BinaryOp, u8)> {
        let token = self.peek();
        Some(match (token.kind, self.bytes(token)) {
            (Kind::Symbol, symbol) => match symbol {
                b"|" => (BinaryOp::BitOr, 1),
                b"&" => (BinaryOp::BitAnd, 2),
                b"<<" => (BinaryOp::ShiftLeft, 3),
                b">>" => (BinaryOp::ShiftRight, 3),
                b"+" => (BinaryOp::Add, 4),
                b"-" => (BinaryOp::Subtract, 4),
                b"*" => (BinaryOp::Multiply, 5),
                b"/" => (BinaryOp::Divide, 5),
                b"%" => (BinaryOp::Modulo, 5),
                b"^" => (BinaryOp::BitXor, 6),
                b"||" if self.mode.has(SqlMode::PIPES_AS_CONCAT) => (BinaryOp::Concat, 7),
                _ => return None,
            },
            (Kind::Word, word) if word.len() == 3 => match word {
                _ if word.eq_ignore_ascii_case(b"DIV") => (BinaryOp::IntegerDivide, 5),
                _ if word.eq_ignore_ascii_case(b"MOD") => (BinaryOp::Modulo, 5),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The arithmetic and bit operators, from the given rank on.
    fn bits(&mut self, lowest: u8) -> Result<Expr> {
        let mut left = self.simple()?;
        let mut chain = 0;
        while let Some((op, rank)) = self.bit_op().filter(|(_, rank)| *rank >= lowest) {
            self.advance();
            chain += 1;
            self.check_chain(chain)?;
            let is_interval = self.is_word("INTERVAL") && matches!(op, BinaryOp::Add | BinaryOp::Subtract);
            if is_interval && !self.is_interval_function() {
                self.advance();
                let interval = self.boxed_expr()?;
                let unit = self.interval_unit()?;
                left = Expr::DateAdd { expr: Box::new(left), interval, unit, subtract: op == BinaryOp::Subtract };
                continue;
            }
            let right = self.bits(rank + 1)?;
            left = Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    /// INTERVAL(a, b, ...) rather than INTERVAL (a) DAY: there is a comma inside of the parentheses.
    pub(super) fn is_interval_function(&self) -> bool {
        if !self.is_symbol_at(1, "(") {
            return false;
        }
        let mut open = 0;
        for ahead in 1.. {
            let token = self.peek_at(ahead);
            match (token.kind, self.bytes(token)) {
                (Kind::Symbol, b"(") => open += 1,
                (Kind::Symbol, b")") if open == 1 => return false,
                (Kind::Symbol, b")") => open -= 1,
                (Kind::Symbol, b",") if open == 1 => return true,
                (Kind::End | Kind::Bad, _) | (Kind::Symbol, b";") => return false,
                _ => {}
            }
        }
        false
    }

    /// One of the units, also with the prefix of ODBC's SQL_TSI_.
    pub(super) fn interval_unit(&mut self) -> Result<IntervalUnit> {
        let token = self.peek();
        if token.kind != Kind::Word {
            return Err(self.unexpected());
        }
        let word = String::from_utf8_lossy(self.bytes(token)).to_ascii_uppercase();
        let word = match word.strip_prefix("SQL_TSI_") {
            Some("FRAC_SECOND") => "MICROSECOND",
            Some(unit) => unit,
            None => &word,
        };
        let unit = IntervalUnit::by_name(word).ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(unit)
    }

    fn simple(&mut self) -> Result<Expr> {
        self.nested(|parser| {
            let mut expr = parser.simple_without_collate()?;
            while parser.take_word("COLLATE") {
                let collation = parser.name_or_text_or_binary()?;
                expr = Expr::Collate { expr: Box::new(expr), collation };
            }
            Ok(expr)
        })
    }

    /// The name of a character set or collation: `binary` is a reserved word.
    pub(super) fn name_or_text_or_binary(&mut self) -> Result<String> {
        if self.take_word("BINARY") {
            return Ok("binary".into());
        }
        self.name_or_text()
    }

    /// INTERVAL n unit + date, or the function INTERVAL(n, a, b ..).
    fn interval(&mut self) -> Result<Expr> {
        if self.is_interval_function() {
            return self.call();
        }
        self.advance();
        let interval = self.boxed_expr()?;
        let unit = self.interval_unit()?;
        self.expect_symbol("+")?;
        let expr = Box::new(self.bits(5)?);
        Ok(Expr::DateAdd { expr, interval, unit, subtract: false })
    }
}

/// A balanced tree of one associative operator: as deep as the logarithm of its operands.
fn balanced(op: BinaryOp, mut operands: Vec<Expr>) -> Expr {
    if operands.len() == 1 {
        return operands.remove(0);
    }
    let right = operands.split_off(operands.len() / 2);
    Expr::Binary { op, left: Box::new(balanced(op, operands)), right: Box::new(balanced(op, right)) }
}
