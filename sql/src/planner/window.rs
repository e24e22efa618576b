//! Window functions bound: what each computes, over which rows, in which order.
//!
//! A window that names another has that one's partitions and order, and adds what it lacks:
//!
//! ```text
//! WINDOW w AS (PARTITION BY a), v AS (w ORDER BY b)        SUM(c) OVER (v ROWS 2 PRECEDING)
//! partition a, order b, frame ROWS BETWEEN 2 PRECEDING AND CURRENT ROW
//! ```
//!
//! A distance of RANGE is bound as what lies that far from the current row's value, so that rows are compared with it as
//! ORDER BY compares them; of intervals it is an expression, of numbers a sum (which must not overflow the column's
//! type, so it is computed when the frame is).

use super::PlanContext;
use super::members::by_number;
use crate::error::{Error, Level, Result, Warning};
use crate::expression::{AggregateCall, Expr, Node, Scope, common_type};
use crate::parser::ast::{self, AggregateFunction, FrameUnit, Over, WindowFunction, WindowSpec};
use crate::types::{Kind, TypeInfo};

/// One window function of a query.
#[derive(Clone, PartialEq)]
pub struct WindowCall {
    pub function: Function,
    pub args: Vec<Expr>,
    pub partition: Vec<Expr>,
    pub order: Vec<(Expr, bool)>,
    pub frame: Frame,
    pub ty: TypeInfo,
    /// The window's name in messages.
    pub window: Box<str>,
}

#[derive(Clone, PartialEq)]
pub enum Function {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    Aggregate(AggregateCall),
}

impl Function {
    pub fn name(&self) -> &'static str {
        match self {
            Function::RowNumber => "row_number",
            Function::Rank => "rank",
            Function::DenseRank => "dense_rank",
            Function::PercentRank => "percent_rank",
            Function::CumeDist => "cume_dist",
            Function::Ntile => "ntile",
            Function::Lag => "lag",
            Function::Lead => "lead",
            Function::FirstValue => "first_value",
            Function::LastValue => "last_value",
            Function::NthValue => "nth_value",
            Function::Aggregate(call) => call.function.name(),
        }
    }
}

#[derive(Clone, PartialEq)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: Bound,
    pub end: Bound,
}

#[derive(Clone, PartialEq)]
pub enum Bound {
    UnboundedPreceding,
    Preceding(Offset),
    CurrentRow,
    Following(Offset),
    UnboundedFollowing,
}

/// How far a bound lies from the current row.
#[derive(Clone, PartialEq)]
pub enum Offset {
    /// So many rows; with RANGE a difference of values.
    Number(Expr),
    /// The value that lies an interval away.
    Value(Expr),
}

/// What a message calls a window without a name.
const UNNAMED: &str = "<unnamed window>";

impl WindowCall {
    /// Visits all that is evaluated on rows.
    pub fn for_each_expr(&self, visit: &mut dyn FnMut(&Expr)) {
        let order = self.order.iter().map(|(expr, _)| expr);
        self.args.iter().chain(&self.partition).chain(order).for_each(&mut *visit);
        if let Function::Aggregate(call) = &self.function {
            call.args.iter().for_each(&mut *visit);
        }
        for bound in [&self.frame.start, &self.frame.end] {
            if let Bound::Preceding(Offset::Value(expr)) | Bound::Following(Offset::Value(expr)) = bound {
                visit(expr);
            }
        }
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let order = self.order.iter_mut().map(|(expr, _)| expr);
        self.args.iter_mut().chain(&mut self.partition).chain(order).for_each(&mut *visit);
        if let Function::Aggregate(call) = &mut self.function {
            call.args.iter_mut().for_each(&mut *visit);
        }
        for bound in [&mut self.frame.start, &mut self.frame.end] {
            if let Bound::Preceding(Offset::Value(expr)) | Bound::Following(Offset::Value(expr)) = bound {
                visit(expr);
            }
        }
    }
}

/// Whether an expression has a window function in it.
pub fn has_window(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |expr| found |= matches!(expr.node, Node::Window(_)));
    found
}

/// The windows of a WINDOW clause: their names, and what they inherit.
pub fn check_names(windows: &[(String, WindowSpec)]) -> Result<()> {
    for (at, (name, _)) in windows.iter().enumerate() {
        if windows[..at].iter().any(|(other, _)| storage::same_name(other, name)) {
            return Err(Error::window_defined_twice(name));
        }
    }
    for (name, spec) in windows {
        inherited(windows, name, spec)?;
    }
    Ok(())
}

fn find<'w>(windows: &'w [(String, WindowSpec)], name: &str) -> Result<&'w (String, WindowSpec)> {
    windows.iter().find(|(other, _)| storage::same_name(other, name)).ok_or_else(|| Error::no_such_window(name))
}

/// A window with what it has from the one that it names.
fn inherited(windows: &[(String, WindowSpec)], name: &str, spec: &WindowSpec) -> Result<WindowSpec> {
    let mut whole = spec.clone();
    let mut base = spec.base.as_deref();
    let mut steps = 0;
    while let Some(base_name) = base {
        let (base_name, inner) = find(windows, base_name)?;
        steps += 1;
        if steps > windows.len() {
            return Err(Error::circular_windows());
        }
        if !whole.partition_by.is_empty() {
            return Err(Error::window_no_child_partitioning());
        }
        if inner.frame.is_some() {
            return Err(Error::window_no_inherit_frame(base_name));
        }
        match (whole.order_by.is_empty(), inner.order_by.is_empty()) {
            (false, false) => return Err(Error::window_no_redefine_order(name, base_name)),
            (true, false) => whole.order_by.clone_from(&inner.order_by),
            _ => {}
        }
        // Those further in may not partition if this one already has.
        if inner.base.is_none() {
            whole.partition_by.clone_from(&inner.partition_by);
        } else if !inner.partition_by.is_empty() {
            return Err(Error::window_no_child_partitioning());
        }
        base = inner.base.as_deref();
    }
    Ok(whole)
}

/// Binds a window function; `scope` is what its arguments see.
pub fn bind(
    context: &PlanContext<'_>,
    scope: &dyn Scope,
    windows: &[(String, WindowSpec)],
    written: &ast::WindowCall,
) -> Result<WindowCall> {
    let (name, spec) = match &written.over {
        Over::Name(name) => {
            let (name, spec) = find(windows, name)?;
            (name.as_str(), inherited(windows, name, spec)?)
        }
        Over::Spec(spec) => (UNNAMED, inherited(windows, UNNAMED, spec)?),
    };
    let mut binder = context.binder(scope);
    let mut list = |items: &[ast::OrderItem]| -> Result<Vec<(Expr, bool)>> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            if matches!(item.expr, ast::Expr::Literal(ast::Literal::Integer(_))) {
                return Err(Error::window_position(name));
            }
            let expr = binder.bind(&item.expr).map_err(|error| match error.code {
                3593 => Error::nested_window_function(name),
                _ => error,
            })?;
            bound.push((by_number(expr), item.descending));
        }
        Ok(bound)
    };
    let partition = list(&spec.partition_by)?.into_iter().map(|(expr, _)| expr).collect();
    let order = list(&spec.order_by)?;
    let mut args = Vec::with_capacity(written.args.len());
    for arg in &written.args {
        args.push(context.binder(scope).bind(arg)?);
    }
    let (function, ty) = function(context, scope, &written.function, &args)?;
    let mut frame = bind_frame(context, scope, name, &spec, &order)?;
    let has_frame =
        matches!(function, Function::FirstValue | Function::LastValue | Function::NthValue | Function::Aggregate(_));
    if !has_frame {
        if spec.frame.is_some() {
            let function = written.function.name();
            let message = format!(
                "Window function '{function}' ignores the frame clause of window '{name}' and aggregates over the \
                 whole partition"
            );
            context.warnings.borrow_mut().push(Warning { level: Level::Note, code: 3599, message });
        }
        frame = Frame { unit: FrameUnit::Rows, start: Bound::UnboundedPreceding, end: Bound::UnboundedFollowing };
    }
    Ok(WindowCall { function, args, partition, order, frame, ty, window: name.into() })
}

fn function(
    context: &PlanContext<'_>,
    scope: &dyn Scope,
    written: &WindowFunction,
    args: &[Expr],
) -> Result<(Function, TypeInfo)> {
    let number = TypeInfo::bigint_unsigned(21).not_null();
    let share = TypeInfo::double().not_null();
    let value = || args.first().map_or(TypeInfo::NULL, |arg| arg.ty.stored().nullable(true));
    Ok(match written {
        WindowFunction::RowNumber => (Function::RowNumber, number),
        WindowFunction::Rank => (Function::Rank, number),
        WindowFunction::DenseRank => (Function::DenseRank, number),
        WindowFunction::PercentRank => (Function::PercentRank, share),
        WindowFunction::CumeDist => (Function::CumeDist, share),
        WindowFunction::Ntile => {
            check_count(&args[0], "ntile", 1)?;
            (Function::Ntile, number.nullable(true))
        }
        WindowFunction::Lag | WindowFunction::Lead => {
            let is_lag = *written == WindowFunction::Lag;
            if let Some(offset) = args.get(1) {
                check_count(offset, written.name(), 0)?;
            }
            let ty = match args.get(2) {
                Some(other) => common_type(&[args[0].ty, other.ty], context.eval.connection, written.name())?,
                None => value(),
            };
            let nullable = args.get(2).is_none_or(|other| other.ty.nullable) || args[0].ty.nullable;
            (if is_lag { Function::Lag } else { Function::Lead }, ty.nullable(nullable))
        }
        WindowFunction::FirstValue => (Function::FirstValue, value()),
        WindowFunction::LastValue => (Function::LastValue, value()),
        WindowFunction::NthValue => {
            check_count(&args[1], "nth_value", 1)?;
            (Function::NthValue, value())
        }
        WindowFunction::Aggregate(written) => {
            if written.distinct {
                return Err(Error::unsupported("<window function>(DISTINCT ..)"));
            }
            if written.function == AggregateFunction::GroupConcat {
                return Err(Error::unsupported("group_concat as window function"));
            }
            let call = context.binder(scope).aggregate_call(written)?;
            let ty = call.ty;
            (Function::Aggregate(call), ty)
        }
    })
}

/// A number of rows or buckets: a constant of at least this size. Parameters are checked when their values are known.
fn check_count(expr: &Expr, name: &str, least: u64) -> Result<()> {
    let is_possible = match &expr.node {
        Node::Constant(value) => match value {
            format::value::Value::Int(number) => *number >= 0 && *number as u64 >= least,
            format::value::Value::UInt(number) => *number >= least,
            _ => false,
        },
        Node::Parameter(_) | Node::UserVariable(_) => true,
        _ => false,
    };
    if is_possible { Ok(()) } else { Err(Error::wrong_arguments(name)) }
}

fn bind_frame(
    context: &PlanContext<'_>,
    scope: &dyn Scope,
    name: &str,
    spec: &WindowSpec,
    order: &[(Expr, bool)],
) -> Result<Frame> {
    let Some(written) = &spec.frame else {
        // Without an order all rows are peers.
        return Ok(Frame { unit: FrameUnit::Range, start: Bound::UnboundedPreceding, end: Bound::CurrentRow });
    };
    use ast::FrameBound as Written;
    match (&written.start, &written.end) {
        (Written::UnboundedFollowing, _) => return Err(Error::window_frame_start(name)),
        (_, Written::UnboundedPreceding) => return Err(Error::window_frame_end(name)),
        (Written::CurrentRow, Written::Preceding(_))
        | (Written::Following(_), Written::Preceding(_) | Written::CurrentRow) => {
            return Err(Error::window_frame_illegal(name));
        }
        _ => {}
    }
    let bound = |written: &Written| -> Result<Bound> {
        let offset = |offset: &ast::FrameOffset, precedes: bool| match written_unit(spec) {
            FrameUnit::Rows => rows_offset(context, scope, name, offset),
            FrameUnit::Range => range_offset(context, scope, name, spec, order, offset, precedes),
        };
        Ok(match written {
            Written::UnboundedPreceding => Bound::UnboundedPreceding,
            Written::CurrentRow => Bound::CurrentRow,
            Written::UnboundedFollowing => Bound::UnboundedFollowing,
            Written::Preceding(distance) => Bound::Preceding(offset(distance, true)?),
            Written::Following(distance) => Bound::Following(offset(distance, false)?),
        })
    };
    Ok(Frame { unit: written.unit, start: bound(&written.start)?, end: bound(&written.end)? })
}

fn written_unit(spec: &WindowSpec) -> FrameUnit {
    spec.frame.as_ref().map_or(FrameUnit::Range, |frame| frame.unit)
}

fn rows_offset(context: &PlanContext<'_>, scope: &dyn Scope, name: &str, offset: &ast::FrameOffset) -> Result<Offset> {
    if offset.unit.is_some() {
        return Err(Error::window_rows_interval(name));
    }
    let expr = context.binder(scope).bind(&offset.value)?;
    if !expr.is_constant() {
        return Err(Error::window_bound_not_constant(name));
    }
    match &expr.node {
        Node::Constant(format::value::Value::Int(rows)) if *rows >= 0 => {}
        Node::Constant(format::value::Value::UInt(_)) | Node::Parameter(_) => {}
        _ => return Err(Error::window_frame_illegal(name)),
    }
    Ok(Offset::Number(expr))
}

fn range_offset(
    context: &PlanContext<'_>,
    scope: &dyn Scope,
    name: &str,
    spec: &WindowSpec,
    order: &[(Expr, bool)],
    offset: &ast::FrameOffset,
    precedes: bool,
) -> Result<Offset> {
    let ([(key, descending)], [item]) = (order, &spec.order_by[..]) else {
        return Err(Error::window_range_order(name));
    };
    let is_temporal = key.ty.is_temporal();
    if !is_temporal && !key.ty.is_numeric() || key.ty.kind == Kind::Null {
        return Err(Error::window_range_order(name));
    }
    let value = context.binder(scope).bind_number(&offset.value)?;
    if !value.is_constant() {
        return Err(Error::window_bound_not_constant(name));
    }
    match (is_temporal, offset.unit) {
        (true, None) => Err(Error::window_range_temporal(name)),
        (false, Some(_)) => Err(Error::window_range_numeric(name)),
        (false, None) => {
            let is_wrong = match &value.node {
                Node::Constant(value) => is_negative(value),
                // Its value is looked at when there is one.
                Node::Parameter(_) => false,
                _ => !value.ty.is_numeric() && value.ty.kind != Kind::Null,
            };
            if is_wrong { Err(Error::window_frame_illegal(name)) } else { Ok(Offset::Number(value)) }
        }
        (true, Some(unit)) => {
            if let Node::Constant(value) = &value.node
                && is_negative(value)
            {
                return Err(Error::window_frame_illegal(name));
            }
            let shifted = ast::Expr::DateAdd {
                expr: Box::new(item.expr.clone()),
                interval: offset.value.clone(),
                unit,
                subtract: precedes != *descending,
            };
            Ok(Offset::Value(context.binder(scope).bind(&shifted)?))
        }
    }
}

fn is_negative(value: &format::value::Value) -> bool {
    use format::value::Value;
    match value {
        Value::Int(number) => *number < 0,
        Value::UInt(_) => false,
        Value::Decimal(number) => number.to_f64() < 0.0,
        Value::Double(number) => *number < 0.0,
        Value::Null => true,
        _ => false,
    }
}
