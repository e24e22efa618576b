//! What is written about texts in a form of its own: LIKE, REGEXP, CONVERT ... USING, TRIM, CHAR.

use std::sync::Arc;

use format::collation::{Charset, CollationId, collation};
use format::value::Value;

use super::{Binder, charset_by_name, condition};
use crate::error::{Error, Result};
use crate::expression::functions::{self, agree_on_text, agree_to_compare, convert_charset};
use crate::expression::pattern::{self, Regex};
use crate::expression::{Expr, Node};
use crate::parser::ast::{self, Literal, TrimSide};
use crate::types::{Coercibility, SqlMode, TypeInfo};

impl Binder<'_> {
    #[inline(never)]
    pub(super) fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Expr> {
        let mut operands = [self.bind(expr)?, self.bind(pattern)?];
        let mut escape = match escape {
            Some(escape) if self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) && is_empty_text(escape) => {
                return Err(Error::wrong_arguments("ESCAPE"));
            }
            Some(escape) => Some(Box::new(self.bind(escape)?)),
            None if self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => {
                Some(Box::new(self.literal(&Literal::String { bytes: Vec::new(), charset: None })?))
            }
            None => None,
        };
        let id = agree_to_compare(&mut operands, self.connection, "like")?;
        if let Some(escape) = &mut escape {
            let mut depends_on_row = false;
            escape.walk(&mut |part| {
                depends_on_row |=
                    part.as_column().is_some() || matches!(part.node, Node::Aggregate(_) | Node::Window(_));
            });
            if depends_on_row {
                return Err(Error::wrong_arguments("ESCAPE"));
            }
            convert_charset(escape, collation(id).charset);
        }
        let nullable = operands.iter().any(|operand| operand.ty.nullable);
        let [expr, pattern] = operands.map(Box::new);
        Ok(condition(Node::Like { expr, pattern, escape, collation: id, negated }, nullable))
    }

    #[inline(never)]
    pub(super) fn regexp(&mut self, expr: &ast::Expr, pattern: &ast::Expr, negated: bool) -> Result<Expr> {
        let mut operands = [self.bind(expr)?, self.bind(pattern)?];
        let id = agree_to_compare(&mut operands, self.connection, "regexp")?;
        let compiled = match constant_text(&operands[1]) {
            Some(text) => Some(Arc::new(pattern::compile(text, id)?)),
            None => None,
        };
        let regex = Regex { compiled, collation: Some(id) };
        let nullable = operands.iter().any(|operand| operand.ty.nullable);
        let [expr, pattern] = operands.map(Box::new);
        Ok(condition(Node::Regexp { expr, pattern, regex, negated }, nullable))
    }

    #[inline(never)]
    pub(super) fn convert_using(&mut self, expr: &ast::Expr, charset: &str) -> Result<Expr> {
        let expr = self.bind(expr)?;
        let charset = charset_by_name(charset)?;
        // Bytes are counted, not characters, of what is no text any more.
        let width = match charset {
            Charset::Binary if expr.ty.is_string() => expr.ty.charset().bytes_max() as u32,
            _ => 1,
        };
        let length = expr.ty.length.saturating_mul(width);
        let mut ty = TypeInfo::string(length, charset.collation_given(self.utf8mb4), Coercibility::Implicit);
        ty.nullable = expr.ty.nullable || self.may_be_lost(&expr.ty, &ty);
        ty = self.made_text(ty);
        Ok(Expr { node: Node::ToCharset { expr: Box::new(expr), to: charset, refused: None }, ty })
    }

    #[inline(never)]
    pub(super) fn trim(&mut self, side: TrimSide, remove: Option<&ast::Expr>, expr: &ast::Expr) -> Result<Expr> {
        let mut operands = vec![self.bind(expr)?];
        if let Some(remove) = remove {
            operands.push(self.bind(remove)?);
        }
        let (id, coercibility) = agree_on_text(&mut operands, self.connection, "trim")?;
        let mut ty = TypeInfo::string(operands[0].ty.length, id, coercibility);
        ty.nullable = operands.iter().any(|operand| operand.ty.nullable);
        ty = self.made_text(ty);
        let remove = if operands.len() == 2 { operands.pop().map(Box::new) } else { None };
        let expr = Box::new(operands.remove(0));
        Ok(Expr { node: Node::Trim { side, remove, expr }, ty })
    }

    #[inline(never)]
    pub(super) fn char(&mut self, args: &[ast::Expr], charset: Option<&str>, keeps_null: bool) -> Result<Expr> {
        let args = args.iter().map(|arg| self.bind_number(arg)).collect::<Result<Vec<_>>>()?;
        let id = match charset {
            Some(charset) => charset_by_name(charset)?.collation_given(self.utf8mb4),
            None => CollationId::BINARY,
        };
        let ty = TypeInfo::string(args.len() as u32 * 4, id, Coercibility::Literal);
        Ok(Expr { node: Node::Call { function: functions::find(if keeps_null { "chr" } else { "char" })?, args }, ty })
    }
}

fn constant_text(expr: &Expr) -> Option<&[u8]> {
    match &expr.node {
        Node::Constant(Value::Bytes(text)) => Some(text),
        _ => None,
    }
}

/// Whether it is the literal of an empty text.
fn is_empty_text(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Literal(Literal::String { bytes, .. }) if bytes.is_empty())
}
