//! Expressions without what does not decide their values, so that they can be compared.

use format::value::Value;

use crate::expression::{Expr, Node};
use crate::types::TypeInfo;

/// The expression with the values of parameters, and without what of its types does not decide its value.
pub fn bare(expr: &Expr, parameters: &[Value], read_values: &mut bool) -> Expr {
    let mut bare = expr.clone();
    bare.walk_mut(&mut |expr| {
        if let Node::Parameter(number) = expr.node
            && let Some(value) = parameters.get(number)
        {
            expr.node = Node::Constant(value.clone());
            *read_values = true;
        }
        let TypeInfo { kind, unsigned, decimals, collation, .. } = expr.ty;
        expr.ty = match &mut expr.node {
            Node::Constant(value) => {
                if let Value::UInt(number) = *value
                    && let Ok(number) = i64::try_from(number)
                {
                    *value = Value::Int(number);
                }
                let is_text = matches!(value, Value::Bytes(_));
                if is_text { TypeInfo { collation, ..TypeInfo::NULL } } else { TypeInfo::NULL }
            }
            _ => TypeInfo { kind, unsigned, decimals, collation, ..TypeInfo::NULL },
        };
        false
    });
    bare
}
