//! Expressions of a program, and what is assigned.

use format::collation::collation;
use format::value::{ColumnType, Value};
use storage::ReadMode;

use super::super::set::wanted_for;
use super::Converted;
use super::run::{Host, Run};
use super::unit::{Local, Slot};
use crate::error::{Error, Result};
use crate::executor::row_rules::RowFields;
use crate::executor::stored::Stored;
use crate::expression::assign::Target;
use crate::expression::{AssignMode, Binder, Datum, EvalContext, Expr, NoFields, NoScope, Node, assign};
use crate::parser::ast::{
    self, Computed, IntoTarget, Literal, Query, Select, SelectInto, SelectItem, SetItem, SetStep, Statement, Wanted,
};
use crate::types::{SqlMode, TypeInfo};

/// Whether an expression reads variables whose types may be others next time.
fn reads_variables(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |expr| {
        found |= matches!(expr.node, Node::UserVariable(_) | Node::AssignVariable(..) | Node::SystemVariable { .. });
    });
    found
}

/// What an expression has given.
enum Computation {
    Value(Value, TypeInfo),
    /// A query has converted it already.
    Converted(Value, Option<Box<[u8]>>),
}

/// `SELECT expr`, for the program.
fn query_of(expr: &ast::Expr, wanted: Wanted) -> Statement {
    let item = SelectItem::Expr { expr: expr.clone(), alias: None, text: "value".to_owned() };
    let select = Select { items: vec![item], ..Select::default() };
    Statement::Query(Box::new(Query {
        with: None,
        body: ast::Body::Select(Box::new(select)),
        order_by: Vec::new(),
        limit: None,
        lock: None,
        into: SelectInto::Program(wanted),
    }))
}

impl<'p> Run<'_, 'p> {
    /// The values and types of what an expression or a statement reads.
    pub fn reads(&self, reads: &[usize]) -> (Vec<Value>, Vec<TypeInfo>) {
        match self.compiled {
            // Its parameters are those of the client.
            None => (self.frame.clone(), self.types.clone()),
            Some(compiled) => reads.iter().map(|at| (self.frame[*at].clone(), compiled.locals[*at].info)).unzip(),
        }
    }

    /// The value of an expression, and its type. In the strict modes a doubtful value is an error.
    pub fn compute(&mut self, computed: &Computed) -> Result<(Value, TypeInfo)> {
        self.compute_as(computed, self.is_strict())
    }

    fn is_strict(&self) -> bool {
        self.compiled.is_some() && self.surroundings().mode.is_strict()
    }

    fn compute_as(&mut self, computed: &Computed, strict_change: bool) -> Result<(Value, TypeInfo)> {
        match self.compute_for(computed, strict_change, Wanted::Value)? {
            Computation::Value(value, ty) => Ok((value, ty)),
            Computation::Converted(..) => Err(Error::internal("a converted value")),
        }
    }

    /// The value of an expression for who wants it. It is converted only if a query had to compute it.
    fn compute_for(&mut self, computed: &Computed, strict_change: bool, wanted: Wanted) -> Result<Computation> {
        let (values, types) = self.reads(&computed.reads);
        let slot = self.take_slot(computed.slot);
        let bound = match slot {
            Slot::Bound(bound) => *bound,
            Slot::Query(plan) => return self.compute_by_query(computed, plan, (values, types), wanted),
            _ => match self.bind(&computed.expr, &types) {
                Ok(bound) => bound,
                // A subquery, or a stored function.
                Err(error) if matches!(error.code, 1235 | 1305 | 1630) => {
                    return self.compute_by_query(computed, None, (values, types), wanted);
                }
                Err(error) => return Err(error),
            },
        };
        let result =
            self.with_context(&values, |context| bound.assigned(&EvalContext { strict_change, ..*context }, &NoFields));
        let ty = bound.ty;
        if !reads_variables(&bound) {
            self.give_slot(computed.slot, Slot::Bound(Box::new(bound)));
        }
        Ok(Computation::Value(result?, ty))
    }

    fn bind(&self, expr: &ast::Expr, types: &[TypeInfo]) -> Result<Expr> {
        self.with_context(&[], |context| {
            let mut binder = Binder::new(&NoScope, context.session, context.mode, context.connection, types);
            binder.div_precision_increment = context.div_precision_increment;
            binder.max_allowed_packet_bytes = context.max_allowed_packet_bytes;
            binder.group_concat_bytes_max = context.group_concat_bytes_max;
            binder.client = context.client;
            binder.utf8mb4 = context.utf8mb4;
            binder.bind(expr)
        })
    }

    fn compute_by_query(
        &mut self,
        computed: &Computed,
        mut plan: Option<Box<crate::session::cached::CachedPlan>>,
        (values, types): (Vec<Value>, Vec<TypeInfo>),
        wanted: Wanted,
    ) -> Result<Computation> {
        let statement = query_of(&computed.expr, wanted);
        let ran = self.run_planned(&mut plan, &statement, &values, &types, ReadMode::Consistent);
        self.give_slot(computed.slot, Slot::Query(plan));
        let collected = self.session().programs.take_collected();
        ran?;
        let mut collected = collected.ok_or_else(|| Error::internal("a query without rows"))?;
        if let Some(Converted::Typed(value, stored)) = collected.converted.pop() {
            return Ok(Computation::Converted(value, stored));
        }
        let value = collected.rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null);
        Ok(Computation::Value(value, collected.types.first().copied().unwrap_or(TypeInfo::NULL)))
    }

    /// The number of a branch. A condition stores nothing: what is doubtful in it is a warning in strict modes, too.
    pub fn choice(&mut self, computed: &Computed) -> Result<Option<usize>> {
        Ok(match self.compute_as(computed, false)?.0 {
            Value::Int(number) => Some(number.max(0) as usize),
            Value::UInt(number) => Some(number as usize),
            _ => None,
        })
    }

    pub fn take_slot(&mut self, at: usize) -> Slot {
        let generation = self.session().programs_generation();
        let Some(unit) = &mut self.unit else { return Slot::Empty };
        unit.follow(generation);
        unit.slots.get_mut(at).map(std::mem::take).unwrap_or_default()
    }

    pub fn give_slot(&mut self, at: usize, slot: Slot) {
        let generation = self.session().programs_generation();
        if let Some(unit) = &mut self.unit
            && unit.generation == generation
            && let Some(place) = unit.slots.get_mut(at)
        {
            *place = slot;
        }
    }

    /// Evaluates something with the program's surroundings.
    pub fn with_context<T>(&self, values: &[Value], run: impl FnOnce(&EvalContext<'_>) -> T) -> T {
        let session = self.session();
        let surroundings = self.surroundings();
        let view = session.view_in(&surroundings);
        let strict_change = self.compiled.is_some() && surroundings.mode.is_strict();
        let context = session.eval_context(&view, values);
        let (client, connection) = surroundings.literals;
        let client = collation(client).charset;
        run(&EvalContext { mode: surroundings.mode, strict_change, client, connection, ..context })
    }

    /// A value as a variable of a type has it; and as a column has it, if that is asked for.
    pub fn converted(
        &self,
        value: Value,
        from: &TypeInfo,
        target: (&str, &ColumnType),
        as_stored: bool,
    ) -> Result<(Value, Option<Box<[u8]>>)> {
        self.converted_in(self.surroundings().mode, value, from, target, as_stored)
    }

    /// The same in another sql_mode than the program's.
    pub fn converted_in(
        &self,
        mode: SqlMode,
        value: Value,
        from: &TypeInfo,
        (name, ty): (&str, &ColumnType),
        as_stored: bool,
    ) -> Result<(Value, Option<Box<[u8]>>)> {
        self.with_context(&[], |context| {
            let context = &EvalContext { mode, strict_change: mode.is_strict(), ..*context };
            converted(context, value, from, (name, ty), as_stored)
        })
    }

    /// Assigns to a variable of the program.
    pub fn assign(&mut self, variable: usize, value: Value, from: &TypeInfo) -> Result<()> {
        let Some(compiled) = self.compiled else { return Err(Error::internal("a variable without a program")) };
        let local: &Local = &compiled.locals[variable];
        let (value, stored) = match self.converted(value, from, (&local.name, &local.ty), local.field.is_some()) {
            Ok(converted) => converted,
            Err(error) => {
                self.frame[variable] = self.after_error(variable);
                return Err(error);
            }
        };
        self.place(variable, value, stored);
        Ok(())
    }

    /// Puts a converted value into a variable.
    pub fn place(&mut self, variable: usize, value: Value, stored: Option<Box<[u8]>>) {
        self.frame[variable] = value;
        if self.compiled.is_some_and(|compiled| compiled.locals[variable].field.is_some()) {
            self.assigned.retain(|(at, _)| *at != variable);
            self.assigned.push((variable, stored));
        }
    }

    pub fn assign_to(&mut self, target: &IntoTarget, value: Value, from: &TypeInfo) -> Result<()> {
        match target {
            IntoTarget::Local(variable) => self.assign(*variable, value, from),
            IntoTarget::User(name) => {
                self.with_context(&[], |context| context.session.set_user_variable(name, value, *from));
                self.session().state_changed();
                Ok(())
            }
            IntoTarget::Parameter(at) => {
                if let Some(place) = self.frame.get_mut(*at) {
                    *place = value;
                    self.types[*at] = *from;
                }
                Ok(())
            }
        }
    }

    /// What a variable is whose new value is an error: as in MySQL, NULL. A field of NEW stays.
    pub fn after_error(&self, variable: usize) -> Value {
        match self.compiled.and_then(|compiled| compiled.locals[variable].field) {
            Some(_) => self.frame[variable].clone(),
            None => Value::Null,
        }
    }

    fn assign_computed(&mut self, variable: usize, value: &Computed) -> Result<()> {
        let strict = self.is_strict();
        match self.compute_for(value, strict, Wanted::Local(variable)) {
            Ok(Computation::Value(value, ty)) => self.assign(variable, value, &ty),
            Ok(Computation::Converted(value, stored)) => {
                self.place(variable, value, stored);
                Ok(())
            }
            Err(error) => {
                self.frame[variable] = self.after_error(variable);
                Err(error)
            }
        }
    }

    /// DECLARE.
    pub fn declare(&mut self, variable: usize, default: Option<&Computed>) -> Result<()> {
        match default {
            None => {
                self.frame[variable] = Value::Null;
                Ok(())
            }
            Some(default) => self.assign_computed(variable, default),
        }
    }

    pub fn returns(&mut self, value: &'p Computed) -> Result<()> {
        let Some(compiled) = self.compiled else { return Err(Error::return_outside()) };
        // A function whose handler goes on behind a RETURN that fails has returned NULL.
        self.result = Some(Value::Null);
        let strict = self.is_strict();
        let value = match self.compute_for(value, strict, Wanted::Result)? {
            Computation::Converted(value, _) => value,
            Computation::Value(value, from) => {
                let ty = compiled.returns.as_ref().ok_or_else(Error::return_outside)?;
                self.converted(value, &from, (&compiled.definition.name, ty), false)?.0
            }
        };
        self.result = Some(value);
        Ok(())
    }

    pub fn set(&mut self, item: &SetStep) -> Result<()> {
        match item {
            SetStep::Local(variable, value) => self.assign_computed(*variable, value),
            SetStep::User(name, value) => {
                // A variable of the session changes nothing that is stored: a doubtful value is a warning, as outside.
                let (value, ty) = self.compute_as(value, false)?;
                self.assign_to(&IntoTarget::User(name.clone()), value, &ty)
            }
            SetStep::System { scope, name, value } => {
                let (value, _) = match self.compute_for(value, self.is_strict(), wanted_for(*scope, name))? {
                    Computation::Value(value, ty) => (value, ty),
                    Computation::Converted(..) => return Err(Error::internal("a converted value")),
                };
                let value = literal_of(value)?;
                self.set_in_session(SetItem::System { scope: *scope, name: name.clone(), value })
            }
            SetStep::Other(item) => self.set_in_session(item.clone()),
        }
    }

    fn set_in_session(&mut self, item: SetItem) -> Result<()> {
        let of_literals = matches!(&item, SetItem::Names { .. } | SetItem::Charset(_))
            || matches!(&item, SetItem::System { name, .. } if is_of_literals(name));
        if let Host::Session { session, .. } = &mut self.host {
            let statement = Statement::Set(vec![item]);
            session.check_privileges(&statement)?;
            let Statement::Set(items) = statement else { return Ok(()) };
            session.set(&items)?;
            if of_literals {
                session.client_of_program = None;
            }
            return Ok(());
        }
        let session = self.session();
        let of_mode = matches!(&item, SetItem::System { name, .. } if name.eq_ignore_ascii_case("sql_mode"));
        session.set_inside(&item, self.surroundings().rights)?;
        let settings = &session.variables.settings;
        let (mode, literals) = (settings.sql_mode, (settings.character_set_client, settings.collation_connection));
        if of_mode || of_literals {
            // Its plans are those of before.
            session.change_names();
        }
        if of_mode {
            self.mode = Some(mode);
        }
        if of_literals {
            self.literals = Some(literals);
        }
        Ok(())
    }
}

/// Whether the character set of literals, or their collation, depends on a variable.
fn is_of_literals(name: &str) -> bool {
    let names = ["character_set_client", "character_set_connection", "collation_connection"];
    names.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// A value as a variable of a type has it; and as a column has it, if that is asked for.
pub(super) fn converted(
    context: &EvalContext<'_>,
    value: Value,
    from: &TypeInfo,
    (name, ty): (&str, &ColumnType),
    as_stored: bool,
) -> Result<(Value, Option<Box<[u8]>>)> {
    let mode = if context.mode.is_strict() { AssignMode::Strict } else { AssignMode::Lenient };
    let target = Target { name, ty, nullable: true };
    let value = assign(Datum::from(value), from, &target, mode, 1, context)?;
    // What is stored in another way than it is computed with goes that way.
    let is_plain = matches!(
        ty,
        ColumnType::Int { .. }
            | ColumnType::Decimal { .. }
            | ColumnType::VarChar { .. }
            | ColumnType::VarBinary { .. }
            | ColumnType::Text { .. }
            | ColumnType::Blob { .. }
            | ColumnType::Geometry { .. }
            | ColumnType::Date
    );
    if value.is_null() || is_plain && !as_stored {
        return Ok((value.into_value(), None));
    }
    let mut stored = Stored::default();
    stored.push(value, ty)?;
    let bytes = stored.get(0).map(Box::from);
    let columns = [column_like(ty)];
    let fields = RowFields { columns: &columns, values: &stored, zone: context.zone };
    let value = Expr::column(0, ty, true).value(context, &fields)?;
    Ok((value, bytes))
}

/// A column of a type, for a row that has nothing else.
fn column_like(ty: &ColumnType) -> storage::Column {
    storage::Column::new("", ty.clone(), true)
}

/// A value as it could be written.
fn literal_of(value: Value) -> Result<ast::Expr> {
    let number = |text: String| ast::Expr::Literal(Literal::Decimal(text));
    let negated = |expr: ast::Expr| ast::Expr::Unary { op: ast::UnaryOp::Minus, expr: Box::new(expr) };
    Ok(match value {
        Value::Null => ast::Expr::NULL,
        Value::UInt(value) => ast::Expr::Literal(Literal::Integer(value)),
        Value::Int(value) if value >= 0 => ast::Expr::Literal(Literal::Integer(value as u64)),
        Value::Int(value) => negated(ast::Expr::Literal(Literal::Integer(value.unsigned_abs()))),
        Value::Double(value) => ast::Expr::Literal(Literal::Float(value)),
        Value::Decimal(value) => match value.to_string().strip_prefix('-') {
            Some(text) => negated(number(text.to_owned())),
            None => number(value.to_string()),
        },
        Value::Bytes(bytes) => ast::Expr::Literal(Literal::String { bytes, charset: None }),
        other => {
            let text = Datum::from(other).into_text(&TypeInfo::NULL).into_owned();
            ast::Expr::Literal(Literal::String { bytes: text, charset: None })
        }
    })
}
