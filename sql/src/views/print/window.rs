//! Window functions and their windows.

use super::Printer;
use crate::error::Result;
use crate::parser::ast::*;

impl Printer<'_> {
    pub(super) fn window_call(&mut self, call: &WindowCall) -> Result<()> {
        let WindowCall { function, args, over } = call;
        match function {
            WindowFunction::Aggregate(aggregate) => self.aggregate(aggregate)?,
            function => self.call(function.name(), &args.iter().collect::<Vec<_>>())?,
        }
        self.put(" over ");
        match over {
            Over::Name(name) => {
                self.name(name);
                Ok(())
            }
            Over::Spec(spec) => self.window(spec),
        }
    }

    /// WINDOW w AS (...), ...
    pub(super) fn windows(&mut self, windows: &[(String, WindowSpec)]) -> Result<()> {
        if windows.is_empty() {
            return Ok(());
        }
        self.put(" window ");
        self.list(windows, |printer, (name, spec)| {
            printer.name(name);
            printer.put(" AS ");
            printer.window(spec)
        })
    }

    fn window(&mut self, spec: &WindowSpec) -> Result<()> {
        let WindowSpec { base, partition_by, order_by, frame } = spec;
        self.put("(");
        if let Some(base) = base {
            self.name(base);
        }
        if !partition_by.is_empty() {
            self.put(" partition by ");
            self.order_items(partition_by)?;
        }
        self.order(order_by)?;
        if let Some(Frame { unit, start, end }) = frame {
            self.put(match unit {
                FrameUnit::Rows => " rows between ",
                FrameUnit::Range => " range between ",
            });
            self.frame_bound(start)?;
            self.put(" and ");
            self.frame_bound(end)?;
        }
        self.put(")");
        Ok(())
    }

    fn frame_bound(&mut self, bound: &FrameBound) -> Result<()> {
        match bound {
            FrameBound::UnboundedPreceding => self.put("unbounded preceding"),
            FrameBound::CurrentRow => self.put("current row"),
            FrameBound::UnboundedFollowing => self.put("unbounded following"),
            FrameBound::Preceding(offset) => {
                self.frame_offset(offset)?;
                self.put(" preceding");
            }
            FrameBound::Following(offset) => {
                self.frame_offset(offset)?;
                self.put(" following");
            }
        }
        Ok(())
    }

    fn frame_offset(&mut self, FrameOffset { value, unit }: &FrameOffset) -> Result<()> {
        self.put(if unit.is_some() { "interval " } else { "" });
        self.expr(value)?;
        if let Some(unit) = unit {
            self.put(" ");
            self.put(unit.name());
        }
        Ok(())
    }
}
