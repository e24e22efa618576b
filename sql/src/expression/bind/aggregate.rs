//! Aggregates: COUNT, SUM, GROUP_CONCAT and their like.

use format::collation::collation;

use super::Binder;
use crate::error::{Error, Result};
use crate::expression::functions::{agree, as_number, by_number};
use crate::expression::{AggregateCall, bit_strings, typing};
use crate::parser::ast::{self, AggregateFunction, Literal};
use crate::types::{Kind, TypeInfo};

impl Binder<'_> {
    /// Binds the arguments of an aggregate. An aggregate inside of them is refused by the scope.
    pub fn aggregate_call(&mut self, aggregate: &ast::Aggregate) -> Result<AggregateCall> {
        let is_json = matches!(aggregate.function, AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg);
        if is_json && aggregate.distinct {
            return Err(Error::unsupported("DISTINCT in JSON_ARRAYAGG and JSON_OBJECTAGG"));
        }
        if aggregate.function == AggregateFunction::JsonObjectAgg && aggregate.args.len() != 2 {
            return Err(Error::wrong_argument_count("json_objectagg"));
        }
        let is_number = matches!(
            aggregate.function,
            AggregateFunction::Sum
                | AggregateFunction::Avg
                | AggregateFunction::StddevPop
                | AggregateFunction::StddevSamp
                | AggregateFunction::VarPop
                | AggregateFunction::VarSamp
        );
        let is_bits = matches!(
            aggregate.function,
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
        );
        let mut args = Vec::with_capacity(aggregate.args.len());
        for arg in &aggregate.args {
            let mut arg = if is_number { self.bind_number(arg)? } else { self.bind(arg)? };
            if (is_number || is_bits) && arg.ty.is_geometry() {
                return Err(Error::wrong_arguments(aggregate.function.name()));
            }
            if is_bits {
                match bit_strings::is_bit_string(&arg.ty) {
                    true if arg.ty.length > bit_strings::AGGREGATE_BYTES_MAX => {
                        return Err(Error::long_bit_strings(bit_strings::AGGREGATE_BYTES_MAX));
                    }
                    true => {}
                    false => as_number(&mut arg),
                }
            }
            args.push(arg);
        }
        let mut order_by = Vec::new();
        for item in &aggregate.order_by {
            // A number is the position of an argument.
            let expr = match &item.expr {
                ast::Expr::Literal(Literal::Integer(position)) => usize::try_from(*position)
                    .ok()
                    .and_then(|position| args.get(position.checked_sub(1)?))
                    .cloned()
                    .ok_or_else(|| Error::unknown_column(&position.to_string(), "order clause"))?,
                expr => self.bind(expr)?,
            };
            order_by.push((by_number(expr), item.descending));
        }
        // Distinct values come in their order, as MySQL's tree of them has it.
        if aggregate.function == AggregateFunction::GroupConcat && aggregate.distinct && order_by.is_empty() {
            order_by = args.iter().map(|arg| (by_number(arg.clone()), false)).collect();
        }
        // Sorted and distinct bits are numbers, others are bytes.
        if aggregate.function == AggregateFunction::GroupConcat && (aggregate.distinct || !order_by.is_empty()) {
            for arg in args.iter_mut().filter(|arg| arg.ty.kind == Kind::Bit) {
                arg.ty = TypeInfo::bigint_unsigned(20).nullable(arg.ty.nullable);
            }
        }
        let mut separator = self.as_connection(aggregate.separator.as_deref().unwrap_or(b","));
        let ty = if aggregate.function == AggregateFunction::GroupConcat {
            let (id, coercibility) = agree(&mut args, self.connection, "group_concat")?;
            let charset = collation(id).charset;
            let mut converted = Vec::new();
            format::collation::convert(&separator, collation(self.connection).charset, charset, &mut converted);
            separator = converted;
            let length = (self.group_concat_bytes_max / charset.bytes_max() as u64).min(u32::MAX as u64) as u32;
            TypeInfo { kind: Kind::Text, ..TypeInfo::string(length, id, coercibility) }
        } else if is_json {
            TypeInfo::json()
        } else {
            typing::aggregate(aggregate.function, args.first().map(|arg| &arg.ty), self.div_precision_increment)
        };
        Ok(AggregateCall {
            function: aggregate.function,
            distinct: aggregate.distinct,
            args,
            order_by,
            separator,
            limit: aggregate.limit,
            ty,
        })
    }
}
