//! Expressions as text, for messages: `(1 / 0)`, as MySQL prints them.

use std::fmt;

use super::{Expr, Node};
use crate::parser::ast::BinaryOp;
use crate::types::TypeInfo;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constant = |value: &format::value::Value, f: &mut fmt::Formatter<'_>| {
            let datum = super::Datum::from(value);
            let text = datum.by_ref().into_text(&TypeInfo::NULL);
            let text = String::from_utf8_lossy(&text);
            match value {
                format::value::Value::Null => f.write_str("NULL"),
                format::value::Value::Bytes(_) => write!(f, "'{text}'"),
                _ => f.write_str(&text),
            }
        };
        match &self.node {
            Node::Constant(value) => constant(value, f),
            Node::Column(slot) | Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => {
                write!(f, "column {}", slot + 1)
            }
            Node::Parameter(_) => f.write_str("?"),
            Node::UserVariable(name) => write!(f, "@`{name}`"),
            Node::Arithmetic { op, left, right } | Node::Bits { op, left, right } => {
                write!(f, "({left} {} {right})", operator(*op))
            }
            Node::Compare { op, left, right, .. } => write!(f, "({left} {} {right})", operator(*op)),
            Node::Minus(expr) => write!(f, "-({expr})"),
            Node::BitNot(expr) => write!(f, "~({expr})"),
            Node::Call { function, args } => {
                write!(f, "{}(", function.name)?;
                for (index, arg) in args.iter().enumerate() {
                    if index > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{arg}")?;
                }
                f.write_str(")")
            }
            Node::Cast { expr, .. } => write!(f, "cast({expr})"),
            Node::ToCharset { expr, .. } | Node::Retyped(expr) | Node::Fitted(expr) => write!(f, "{expr}"),
            _ => f.write_str("..."),
        }
    }
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
        BinaryOp::And => "and",
        BinaryOp::Equal => "=",
        BinaryOp::NullSafeEqual => "<=>",
        BinaryOp::NotEqual => "<>",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::BitOr => "|",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::IntegerDivide => "DIV",
        BinaryOp::Modulo => "%",
        BinaryOp::Concat => "||",
        BinaryOp::SoundsLike => "sounds like",
        BinaryOp::JsonExtract => "->",
        BinaryOp::JsonUnquote => "->>",
    }
}
