//! Bound expressions as text: `(1 / 0)` in messages, conditions in EXPLAIN.

use std::fmt::{self, Write};

use super::{Expr, Node};
use crate::types::TypeInfo;

/// What the numbers in a bound expression are called.
pub trait Names {
    fn column(&self, slot: usize) -> String;
    fn aggregate(&self, number: usize) -> String;
    fn window(&self, number: usize) -> String;
    /// A subquery, by its number in the query.
    fn subquery(&self, number: usize) -> String;
}

/// For messages, which know nothing of the query around.
struct Numbers;

impl Names for Numbers {
    fn column(&self, slot: usize) -> String {
        format!("column {}", slot + 1)
    }

    fn aggregate(&self, _: usize) -> String {
        "...".into()
    }

    fn window(&self, _: usize) -> String {
        "...".into()
    }

    fn subquery(&self, _: usize) -> String {
        "(select ...)".into()
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self, &Numbers))
    }
}

/// An expression in nearly MySQL's words: every operator in parentheses.
pub fn text(expr: &Expr, names: &dyn Names) -> String {
    let mut printer = Printer { out: String::new(), names };
    printer.expr(expr);
    printer.out
}

struct Printer<'a> {
    out: String,
    names: &'a dyn Names,
}

impl Printer<'_> {
    fn word(&mut self, word: &str) {
        self.out.push_str(word);
    }

    fn constant(&mut self, value: &format::value::Value) {
        let datum = super::Datum::from(value);
        let text = datum.by_ref().into_text(&TypeInfo::NULL);
        let text = String::from_utf8_lossy(&text);
        match value {
            format::value::Value::Null => self.word("NULL"),
            format::value::Value::Bytes(_) => {
                let _ = write!(self.out, "'{text}'");
            }
            _ => self.word(&text),
        }
    }

    fn list<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        for (at, expr) in exprs.into_iter().enumerate() {
            if at > 0 {
                self.word(",");
            }
            self.expr(expr);
        }
    }

    fn row<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        self.word("(");
        self.list(exprs);
        self.word(")");
    }

    fn binary(&mut self, left: &Expr, operator: &str, right: &Expr) {
        self.word("(");
        self.expr(left);
        let _ = write!(self.out, " {operator} ");
        self.expr(right);
        self.word(")");
    }

    fn call<'e>(&mut self, name: &str, args: impl IntoIterator<Item = &'e Expr>) {
        self.word(name);
        self.row(args);
    }

    fn suffixed(&mut self, expr: &Expr, suffix: &str) {
        self.word("(");
        self.expr(expr);
        self.word(suffix);
        self.word(")");
    }

    fn expr(&mut self, expr: &Expr) {
        let not = |negated: bool| if negated { "not " } else { "" };
        match &expr.node {
            Node::Constant(value) => self.constant(value),
            Node::Column(slot) | Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => {
                let name = self.names.column(*slot);
                self.word(&name);
            }
            Node::Parameter(_) => self.word("?"),
            Node::UserVariable(name) => {
                let _ = write!(self.out, "@`{name}`");
            }
            Node::AssignVariable(name, value) => {
                let _ = write!(self.out, "(@`{name}` := ");
                self.expr(value);
                self.word(")");
            }
            Node::SystemVariable { name, .. } => {
                let _ = write!(self.out, "@@{name}");
            }
            Node::Aggregate(number) => {
                let name = self.names.aggregate(*number);
                self.word(&name);
            }
            Node::Window(number) => {
                let name = self.names.window(*number);
                self.word(&name);
            }
            Node::Grouping(keys) => self.call("grouping", keys),
            Node::And(left, right) => self.binary(left, "and", right),
            Node::Or(left, right) => self.binary(left, "or", right),
            Node::Xor(left, right) => self.binary(left, "xor", right),
            Node::Arithmetic { op, left, right }
            | Node::Bits { op, left, right }
            | Node::Compare { op, left, right, .. } => self.binary(left, op.symbol(), right),
            Node::Not(expr) => {
                self.word("(not ");
                self.expr(expr);
                self.word(")");
            }
            Node::IsNull { expr, negated } => self.suffixed(expr, if *negated { " is not null" } else { " is null" }),
            Node::IsTruth { expr, truth, negated } => {
                self.suffixed(expr, &format!(" is {}{}", not(*negated), if *truth { "true" } else { "false" }));
            }
            Node::CompareRows { op, left, right, .. } => {
                self.word("(");
                self.row(left);
                let _ = write!(self.out, " {} ", op.symbol());
                self.row(right);
                self.word(")");
            }
            Node::Between { expr, low, high, negated, .. } => {
                self.word("(");
                self.expr(expr);
                let _ = write!(self.out, " {}between ", not(*negated));
                self.expr(low);
                self.word(" and ");
                self.expr(high);
                self.word(")");
            }
            Node::In { expr, list, negated } => {
                self.word("(");
                self.expr(expr);
                let _ = write!(self.out, " {}in ", not(*negated));
                self.row(list.iter().map(|(_, value)| value));
                self.word(")");
            }
            Node::InRows { row, list, negated } => {
                self.word("(");
                self.row(row);
                let _ = write!(self.out, " {}in (", not(*negated));
                for (at, other) in list.iter().enumerate() {
                    self.word(if at > 0 { "," } else { "" });
                    self.row(other.iter().map(|(_, value)| value));
                }
                self.word("))");
            }
            Node::Like { expr, pattern, negated, .. } => self.binary(expr, &format!("{}like", not(*negated)), pattern),
            Node::Regexp { expr, pattern, negated, .. } => {
                self.binary(expr, &format!("{}regexp", not(*negated)), pattern);
            }
            Node::Case { operand, whens, otherwise } => {
                self.word("(case");
                if let Some(operand) = operand {
                    self.word(" ");
                    self.expr(operand);
                }
                for (_, when, then) in whens {
                    self.word(" when ");
                    self.expr(when);
                    self.word(" then ");
                    self.expr(then);
                }
                if let Some(otherwise) = otherwise {
                    self.word(" else ");
                    self.expr(otherwise);
                }
                self.word(" end)");
            }
            Node::Minus(expr) => self.call("-", [&**expr]),
            Node::BitNot(expr) => self.call("~", [&**expr]),
            Node::Call { function, args } => self.call(function.name, args),
            Node::Stored { function, args } => {
                let definition = &function.definition;
                let _ = write!(self.out, "`{}`.`{}`", definition.database, definition.name);
                self.row(args);
            }
            Node::Sequence(call) => {
                let (name, arguments) = (call.function.name(), call.function.arguments());
                let _ = write!(self.out, "{name}(`{}`.`{}`{arguments})", call.database, call.name);
            }
            Node::Match { args, .. } => self.call("match", args),
            Node::Cast { expr, .. } | Node::CastArray { expr, .. } => self.call("cast", [&**expr]),
            Node::ToCharset { expr, .. } | Node::Retyped(expr) | Node::Fitted(expr) | Node::Once(expr) => {
                self.expr(expr)
            }
            Node::Trim { remove, expr, .. } => self.call("trim", remove.as_deref().into_iter().chain([&**expr])),
            Node::Extract { expr, .. } => self.call("extract", [&**expr]),
            Node::DateAdd { expr, interval, subtract, .. } => {
                self.call(if *subtract { "date_sub" } else { "date_add" }, [&**expr, &**interval]);
            }
            Node::TimestampDiff { from, to, .. } => self.call("timestampdiff", [&**from, &**to]),
            Node::ScalarQuery { query, .. } => self.subquery(*query),
            Node::Exists { query } => {
                self.word("exists");
                self.subquery(*query);
            }
            Node::InQuery { row, query, negated, .. } => {
                self.word("(");
                match &row[..] {
                    [one] => self.expr(one),
                    many => self.row(many),
                }
                let _ = write!(self.out, " {}in ", not(*negated));
                self.subquery(*query);
                self.word(")");
            }
            Node::Quantified { expr, op, all, query, .. } => {
                self.word("(");
                self.expr(expr);
                let _ = write!(self.out, " {} {} ", op.symbol(), if *all { "all" } else { "any" });
                self.subquery(*query);
                self.word(")");
            }
        }
    }

    fn subquery(&mut self, number: usize) {
        let name = self.names.subquery(number);
        self.word(&name);
    }
}
