//! OVER and WINDOW: partitions, orders, frames.

use super::Parser;
use super::ast::*;
use crate::error::{Error, Result};

impl Parser<'_> {
    /// The arguments and the window of a function that is nothing without one.
    pub(super) fn window_function(&mut self, function: WindowFunction) -> Result<Expr> {
        let (least, most) = match function {
            WindowFunction::Ntile | WindowFunction::FirstValue | WindowFunction::LastValue => (1, 1),
            WindowFunction::NthValue => (2, 2),
            WindowFunction::Lag | WindowFunction::Lead => (1, 3),
            _ => (0, 0),
        };
        self.expect_symbol("(")?;
        let mut args = Vec::new();
        while args.len() < most && !self.is_symbol(")") {
            if !args.is_empty() {
                self.expect_symbol(",")?;
            }
            args.push(self.expr()?);
        }
        if args.len() < least {
            return Err(self.unexpected());
        }
        self.expect_symbol(")")?;
        if self.take_word("FROM") {
            if self.take_word("LAST") {
                return Err(Error::unsupported("FROM LAST"));
            }
            self.expect_word("FIRST")?;
        }
        if self.take_word("IGNORE") {
            return Err(Error::unsupported("IGNORE NULLS"));
        }
        if self.take_word("RESPECT") {
            self.expect_word("NULLS")?;
        }
        self.expect_word("OVER")?;
        let over = self.over()?;
        Ok(Expr::Window(Box::new(WindowCall { function, args, over })))
    }

    /// Behind OVER.
    pub(super) fn over(&mut self) -> Result<Over> {
        if self.is_symbol("(") { Ok(Over::Spec(self.window_spec()?)) } else { Ok(Over::Name(self.name()?)) }
    }

    /// WINDOW w AS (...), ...
    pub(super) fn named_windows(&mut self) -> Result<Vec<(String, WindowSpec)>> {
        self.list(|parser| {
            let name = parser.name()?;
            parser.expect_word("AS")?;
            Ok((name, parser.window_spec()?))
        })
    }

    fn window_spec(&mut self) -> Result<WindowSpec> {
        self.in_parentheses(|parser| {
            let mut spec = WindowSpec::default();
            let begins = ["PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"];
            if !parser.is_symbol(")") && !parser.is_any_word(&begins) {
                spec.base = Some(parser.name()?);
            }
            if parser.take_words(&["PARTITION", "BY"]) {
                spec.partition_by = parser.list(Self::order_item)?;
            }
            if parser.is_word("ORDER") {
                spec.order_by = parser.order_by()?;
            }
            spec.frame = parser.frame()?;
            Ok(spec)
        })
    }

    fn frame(&mut self) -> Result<Option<Frame>> {
        let unit = match self.take_any_word(&["ROWS", "RANGE", "GROUPS"]) {
            Some("ROWS") => FrameUnit::Rows,
            Some("RANGE") => FrameUnit::Range,
            Some(_) => return Err(Error::unsupported("GROUPS")),
            None => return Ok(None),
        };
        let (start, end) = if self.take_word("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect_word("AND")?;
            (start, self.frame_bound()?)
        } else {
            (self.frame_bound()?, FrameBound::CurrentRow)
        };
        if self.is_word("EXCLUDE") {
            return Err(Error::unsupported("EXCLUDE"));
        }
        Ok(Some(Frame { unit, start, end }))
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.take_words(&["CURRENT", "ROW"]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.take_word("UNBOUNDED") {
            if self.take_word("PRECEDING") {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_word("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let offset = if self.is_word("INTERVAL") && !self.is_interval_function() {
            self.advance();
            FrameOffset { value: self.boxed_expr()?, unit: Some(self.interval_unit()?) }
        } else {
            FrameOffset { value: self.boxed_expr()?, unit: None }
        };
        if self.take_word("PRECEDING") {
            return Ok(FrameBound::Preceding(offset));
        }
        self.expect_word("FOLLOWING")?;
        Ok(FrameBound::Following(offset))
    }
}
