//! What a clause PARTITION BY must be like, in MySQL's order of errors, and its normal form.

use format::value::ColumnType;
use storage::schema::partitions::PARTITIONS_MAX;
use storage::schema::{PartitionDefinition, Partitioning, TableDefinition, TableOptions};
use storage::{Column, same_name};

use super::super::{Context, check_name, options};
use super::{CONSTANT_EXPRESSION, values};
use crate::error::{Error, Result};
use crate::expression::stored_value::OwnColumns;
use crate::expression::{Binder, Node, functions};
use crate::parser::ast::{
    BinaryOp, Expr, IntervalUnit, PartitionBy, PartitionMethod, PartitionSpec, PartitionValue, PartitionValues, UnaryOp,
};
use crate::partitions::function::{Bound, Function, compare};
use crate::partitions::{Routing, print};
use crate::types::SqlMode;

/// The most columns of a list.
const COLUMNS_MAX: usize = 16;

/// Functions that may stand in a partitioning function.
const ALLOWED: [&str; 24] = [
    "abs",
    "ceil",
    "ceiling",
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "extract",
    "floor",
    "hour",
    "microsecond",
    "minute",
    "mod",
    "month",
    "quarter",
    "second",
    "time_to_sec",
    "to_days",
    "to_seconds",
    "unix_timestamp",
    "weekday",
    "year",
    "yearweek",
];

/// The columns of the primary key of a definition, or of what is used as one.
pub fn primary_key(definition: &TableDefinition) -> Vec<usize> {
    let primary = definition.indexes.iter().find(|index| index.primary);
    let is_whole = |index: &&storage::IndexDefinition| {
        index.unique && index.parts.iter().all(|part| !definition.columns[part.column].nullable)
    };
    let key = primary.or_else(|| definition.indexes.iter().find(is_whole));
    key.map(|key| key.parts.iter().map(|part| part.column).collect()).unwrap_or_default()
}

/// Checks a clause and makes it the definition's.
pub fn settle(context: &Context<'_>, definition: &mut TableDefinition, by: &PartitionBy) -> Result<()> {
    if !definition.foreign_keys.is_empty()
        || context.instance.engine.is_referenced(&definition.database, &definition.name)
    {
        return Err(Error::not_with_partitioning("FOREIGN KEY"));
    }
    let mut by = by.clone();
    let columns = &definition.columns;
    check_shape(&by)?;
    // What is kept of an earlier statement says none of this.
    for options in by
        .definitions
        .iter()
        .flat_map(|part| std::iter::once(part).chain(&part.subpartitions))
        .map(|part| &part.options)
    {
        for (is_said, what) in [(options.data_directory, "DATA"), (options.index_directory, "INDEX")] {
            if is_said && what == "INDEX" && context.settings.innodb_strict_mode {
                context.warn(1478, "InnoDB: INDEX DIRECTORY is not supported");
                return Err(Error::without_this_option(&definition.name));
            }
            if is_said {
                context.warn(1618, format!("<{what} DIRECTORY> option ignored"));
            }
        }
    }
    settle_method(context, columns, &mut by.method, "PARTITION", &primary_key(definition))?;
    if let Some(sub) = &mut by.subpartition {
        settle_method(context, columns, &mut sub.method, "SUBPARTITION", &primary_key(definition))?;
    }
    settle_values(context, columns, &mut by)?;
    let expanded = print::expanded(&by);
    check_names(&definition.name, &expanded)?;
    let routing = Routing::compile(context.eval, columns, &expanded, &primary_key(definition))?;
    check_order(columns, &routing.upper)?;
    check_keys(definition, &routing)?;
    definition.partitioning =
        Some(Box::new(Partitioning { rule: print::clause(&by)?.into(), parts: parts(&expanded)? }));
    Ok(())
}

/// Engines that a statement names for partitions: they have to be known, and the table's, which is named or not.
pub fn check_engines(context: &Context<'_>, table: Option<&str>, definitions: &[PartitionSpec]) -> Result<()> {
    let mut named: Vec<Option<&str>> = Vec::new();
    for definition in definitions {
        let own = definition.options.engine.as_deref();
        match definition.subpartitions.is_empty() {
            true => named.push(own),
            false => named.extend(definition.subpartitions.iter().map(|sub| sub.options.engine.as_deref().or(own))),
        }
    }
    for name in named.iter().flatten() {
        options::check_engine(context, name)?;
    }
    // Without an engine of the table's they all name the same one, or none does.
    let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let fits = |name: &Option<&str>| match (name, table, named[0]) {
        (Some(name), Some(table), _) => same(name, table),
        (None, Some(_), _) => true,
        (name, None, first) => match (name, first) {
            (Some(name), Some(first)) => same(name, first),
            (name, first) => name.is_some() == first.is_some(),
        },
    };
    match named.iter().all(fits) {
        true => Ok(()),
        false => {
            let text = "The mix of handlers in the partitions is not allowed in this version of MySQL";
            Err(Error::new(1497, b"HY000", text))
        }
    }
}

/// The table's other parts have changed: whether its clause still holds.
pub fn settle_again(context: &Context<'_>, definition: &mut TableDefinition) -> Result<()> {
    let Some(partitioning) = &definition.partitioning else { return Ok(()) };
    let by = crate::parser::parse_partition_by(&partitioning.rule)?;
    settle(context, definition, &by)
}

/// The columns that decide on a row's partition, as a stored clause names them. KEY () names none.
pub fn column_names(rule: &str) -> Result<Vec<String>> {
    let by = crate::parser::parse_partition_by(rule)?;
    let mut names = Vec::new();
    for mut method in [Some(by.method), by.subpartition.map(|by| by.method)].into_iter().flatten() {
        match &mut method {
            PartitionMethod::Hash { expr, .. } | PartitionMethod::Range(expr) | PartitionMethod::List(expr) => {
                expr.walk_mut(&mut |expr| {
                    if let Expr::Column(name) = expr {
                        names.push(name.name.clone());
                    }
                    Ok(())
                })?;
            }
            PartitionMethod::Key { columns, .. }
            | PartitionMethod::RangeColumns(columns)
            | PartitionMethod::ListColumns(columns) => names.append(columns),
        }
    }
    Ok(names)
}

/// Numbers of partitions and kinds of values.
fn check_shape(by: &PartitionBy) -> Result<()> {
    let by_values = !matches!(by.method, PartitionMethod::Hash { .. } | PartitionMethod::Key { .. });
    let kind = match by.method {
        PartitionMethod::Range(_) | PartitionMethod::RangeColumns(_) => "RANGE",
        PartitionMethod::List(_) | PartitionMethod::ListColumns(_) => "LIST",
        _ => "HASH",
    };
    let written = by.definitions.iter().any(|definition| !definition.subpartitions.is_empty());
    if (by.subpartition.is_some() && !by_values) || (written && by.subpartition.is_none()) {
        let text = "It is only possible to mix RANGE/LIST partitioning with HASH/KEY partitioning for subpartitioning";
        return Err(Error::new(1500, b"HY000", text));
    }
    if by_values && by.definitions.is_empty() {
        return Err(Error::new(1492, b"HY000", format!("For {kind} partitions each partition must be defined")));
    }
    if !by.definitions.is_empty() && by.count.is_some_and(|count| count != by.definitions.len() as u64) {
        let text = "Wrong number of partitions defined, mismatch with previous setting";
        return Err(Error::new(1484, b"HY000", text));
    }
    if let Some(sub) = by.subpartition.as_ref().filter(|_| written) {
        let first = by.definitions[0].subpartitions.len() as u64;
        let count = sub.count.unwrap_or(first);
        if by.definitions.iter().any(|definition| definition.subpartitions.len() as u64 != count) {
            let text = "Wrong number of subpartitions defined, mismatch with previous setting";
            return Err(Error::new(1485, b"HY000", text));
        }
    }
    for definition in &by.definitions {
        let fits = match (&definition.values, kind) {
            (None, "HASH") | (Some(PartitionValues::LessThan(_)), "RANGE") | (Some(PartitionValues::In(_)), "LIST") => {
                true
            }
            (Some(PartitionValues::LessThan(_)), _) => {
                let text = "Only RANGE PARTITIONING can use VALUES LESS THAN in partition definition";
                return Err(Error::new(1480, b"HY000", text));
            }
            (Some(PartitionValues::In(_)), _) => {
                let text = "Only LIST PARTITIONING can use VALUES IN in partition definition";
                return Err(Error::new(1480, b"HY000", text));
            }
            (None, _) => false,
        };
        if !fits {
            let values = if kind == "RANGE" { "LESS THAN" } else { "IN" };
            return Err(Error::partition_requires_values(kind, values));
        }
    }
    let expanded_count = by.definitions.len().max(by.count.unwrap_or(1) as usize) as u64;
    let subs = match &by.subpartition {
        Some(sub) if !written => sub.count.unwrap_or(1),
        Some(_) => by.definitions[0].subpartitions.len() as u64,
        None => 1,
    };
    if expanded_count.saturating_mul(subs) > PARTITIONS_MAX as u64 {
        return Err(Error::new(1499, b"HY000", "Too many partitions (including subpartitions) were defined"));
    }
    Ok(())
}

/// Brings the function of a method into normal form.
fn settle_method(
    context: &Context<'_>,
    columns: &[Column],
    method: &mut PartitionMethod,
    what: &str,
    primary: &[usize],
) -> Result<()> {
    match method {
        PartitionMethod::Hash { expr, .. } | PartitionMethod::Range(expr) | PartitionMethod::List(expr) => {
            settle_expression(context, columns, expr, what)
        }
        PartitionMethod::Key { columns: names, .. } => {
            settle_columns(columns, names)?;
            let own = names.iter().filter_map(|name| columns.iter().position(|column| *column.name == **name));
            let own: Vec<usize> = if names.is_empty() { primary.to_vec() } else { own.collect() };
            if own.is_empty() {
                return Err(Error::partition_field_not_found());
            }
            for column in own {
                use ColumnType::{Blob, Geometry, Json, Text};
                if matches!(columns[column].ty, Text { .. } | Blob { .. } | Json | Geometry { .. }) {
                    return Err(Error::new(1502, b"HY000", "A BLOB field is not allowed in partition function"));
                }
            }
            Ok(())
        }
        PartitionMethod::RangeColumns(names) | PartitionMethod::ListColumns(names) => {
            settle_columns(columns, names)?;
            for name in names {
                let column = columns.iter().find(|column| *column.name == **name);
                let fits = column.is_some_and(|column| {
                    matches!(
                        column.ty,
                        ColumnType::Int { .. }
                            | ColumnType::Date
                            | ColumnType::DateTime { .. }
                            | ColumnType::Time { .. }
                            | ColumnType::Char { .. }
                            | ColumnType::VarChar { .. }
                            | ColumnType::Binary { .. }
                            | ColumnType::VarBinary { .. }
                    )
                });
                if !fits {
                    return Err(wrong_type(name));
                }
            }
            Ok(())
        }
    }
}

fn wrong_type(name: &str) -> Error {
    Error::new(1659, b"HY000", format!("Field '{name}' is of a not allowed type for this type of partitioning"))
}

/// Names of columns by their own spelling, each once.
fn settle_columns(columns: &[Column], names: &mut [String]) -> Result<()> {
    for at in 0..names.len() {
        let column = columns.iter().find(|column| !column.is_hidden() && same_name(&column.name, &names[at]));
        names[at] = column.ok_or_else(Error::partition_field_not_found)?.name.to_string();
        if names[..at].contains(&names[at]) {
            let text = format!("Duplicate partition field name '{}'", names[at]);
            return Err(Error::new(1652, b"HY000", text));
        }
    }
    if names.len() > COLUMNS_MAX {
        let text = "Too many fields in 'list of partition fields'";
        return Err(Error::new(1660, b"HY000", text));
    }
    Ok(())
}

/// What the values of a partition by an expression may be computed with: nothing else than the expression.
fn check_bound(value: &PartitionValue) -> Result<()> {
    let PartitionValue::Expr(expr) = value else { return Ok(()) };
    expr.clone().walk_mut(&mut |expr| match expr {
        Expr::Function { name, .. } if !ALLOWED.contains(&name.to_ascii_lowercase().as_str()) => Err(not_allowed()),
        Expr::Case { .. } | Expr::Unary { op: UnaryOp::Not | UnaryOp::BitNot, .. } => Err(not_allowed()),
        Expr::Binary { op, .. } if !is_arithmetic(*op) => Err(not_allowed()),
        _ => Ok(()),
    })
}

/// The operators of a partition's expression: none on bits, and no division but DIV.
fn is_arithmetic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::IntegerDivide | BinaryOp::Modulo)
}

fn not_allowed() -> Error {
    Error::new(1564, b"HY000", "This partition function is not allowed")
}

fn settle_expression(context: &Context<'_>, columns: &[Column], expr: &mut Expr, what: &str) -> Result<()> {
    let constant = || Error::new(1486, b"HY000", CONSTANT_EXPRESSION);
    let mut reads: Vec<usize> = Vec::new();
    let mut moments = 0;
    let mut unix = 0;
    expr.walk_mut(&mut |expr| {
        match expr {
            Expr::Column(name) => {
                let own = columns.iter().position(|column| !column.is_hidden() && same_name(&column.name, &name.name));
                let own = own.ok_or_else(|| Error::unknown_column(&name.name, "partition function"))?;
                (name.database, name.table, name.name) = (None, None, columns[own].name.to_string());
                reads.push(own);
                moments += usize::from(matches!(columns[own].ty, ColumnType::Timestamp { .. }));
            }
            Expr::Function { name, args } => {
                let called = name.to_ascii_lowercase();
                if functions::find(&called).is_ok_and(|function| !function.deterministic) {
                    return Err(constant());
                }
                if !ALLOWED.contains(&called.as_str()) {
                    return Err(not_allowed());
                }
                let of_moment = |arg: &Expr| match arg {
                    Expr::Column(name) => {
                        let column = columns.iter().find(|column| same_name(&column.name, &name.name));
                        column.is_some_and(|column| matches!(column.ty, ColumnType::Timestamp { .. }))
                    }
                    _ => false,
                };
                let of_clock = matches!(called.as_str(), "hour" | "minute" | "second" | "microsecond" | "time_to_sec");
                match called.as_str() {
                    "unix_timestamp" if args.len() == 1 && of_moment(&args[0]) => unix += 1,
                    "unix_timestamp" => return Err(constant()),
                    "abs" | "ceil" | "ceiling" | "floor" | "mod" => {}
                    _ if !args.iter().all(|arg| is_temporal(columns, arg, of_clock)) => return Err(constant()),
                    _ => {}
                }
            }
            Expr::Extract { unit, expr } => {
                let of = |clock| is_temporal(columns, expr, clock);
                let takes = match unit {
                    // It depends on default_week_format.
                    IntervalUnit::Week => false,
                    IntervalUnit::Year
                    | IntervalUnit::YearMonth
                    | IntervalUnit::Quarter
                    | IntervalUnit::Month
                    | IntervalUnit::Day => of(false),
                    IntervalUnit::DayHour
                    | IntervalUnit::DayMinute
                    | IntervalUnit::DaySecond
                    | IntervalUnit::DayMicrosecond => of(false) && of(true),
                    _ => of(true),
                };
                if !takes {
                    return Err(constant());
                }
            }
            Expr::Literal(_) => {}
            Expr::Unary { op: UnaryOp::Minus | UnaryOp::Plus, .. } => {}
            Expr::Binary { op, .. } if is_arithmetic(*op) => {}
            Expr::Parameter(_) | Expr::UserVariable(_) | Expr::SystemVariable { .. } => return Err(constant()),
            _ => return Err(not_allowed()),
        }
        Ok(())
    })?;
    if reads.is_empty() || moments != unix {
        return Err(constant());
    }
    let collation = format::collation::CollationId::DEFAULT;
    let scope = OwnColumns { columns };
    let bound = Binder::new(&scope, context.eval.session, SqlMode::DEFAULT, collation, &[]).bind(expr)?;
    if let Node::Column(column) = bound.node
        && !matches!(columns[column].ty, ColumnType::Int { .. } | ColumnType::Year | ColumnType::Bit { .. })
    {
        return Err(wrong_type(&columns[column].name));
    }
    if !bound.ty.is_integer() {
        return Err(Error::new(1491, b"HY000", format!("The {what} function returns the wrong type")));
    }
    Ok(())
}

/// Whether a function of dates, or of times of the day, may have this argument: what could only be read as one, or would be
/// one of today, is no date.
fn is_temporal(columns: &[Column], arg: &Expr, of_clock: bool) -> bool {
    let Expr::Column(name) = arg else { return true };
    columns.iter().find(|column| same_name(&column.name, &name.name)).is_none_or(|column| match column.ty {
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => true,
        ColumnType::Date => !of_clock,
        ColumnType::Time { .. } => of_clock,
        _ => false,
    })
}

fn settle_values(context: &Context<'_>, columns: &[Column], by: &mut PartitionBy) -> Result<()> {
    let last = by.definitions.len().saturating_sub(1);
    let is_number = matches!(by.method, PartitionMethod::Range(_) | PartitionMethod::List(_));
    let is_single = match &by.method {
        PartitionMethod::ListColumns(names) => names.len() == 1,
        _ => is_number,
    };
    for (at, definition) in by.definitions.iter().enumerate() {
        match &definition.values {
            Some(PartitionValues::LessThan(row)) => {
                if is_number && at < last && row.contains(&PartitionValue::MaxValue) {
                    let text = "MAXVALUE can only be used in last partition definition";
                    return Err(Error::new(1481, b"HY000", text));
                }
                if is_number && row.len() != 1 {
                    return Err(Error::partition_column_list());
                }
            }
            Some(PartitionValues::In(rows)) => {
                if rows.iter().flatten().any(|value| *value == PartitionValue::MaxValue) {
                    return Err(Error::new(1656, b"HY000", "Cannot use MAXVALUE as value in VALUES IN"));
                }
                if is_single && definition.has_rows {
                    return Err(Error::row_single_partition_field());
                }
            }
            None => {}
        }
    }
    match &by.method {
        PartitionMethod::Range(expr) | PartitionMethod::List(expr) => {
            let unsigned = crate::partitions::function::bind(context.eval, columns, expr)?.ty.unsigned;
            for definition in &mut by.definitions {
                values::settle(definition, &mut |name, _, value| {
                    check_bound(value)?;
                    values::number(context, name, unsigned, value)
                })?;
            }
        }
        PartitionMethod::RangeColumns(names) | PartitionMethod::ListColumns(names) => {
            let own: Vec<&Column> =
                names.iter().filter_map(|name| columns.iter().find(|column| *column.name == **name)).collect();
            for definition in &mut by.definitions {
                values::settle(definition, &mut |_, at, value| {
                    let column = own.get(at).ok_or_else(Error::partition_column_list)?;
                    values::of_column(context, column, value)
                })?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Names are given once, whatever their case, and name files.
fn check_names(table: &str, by: &PartitionBy) -> Result<()> {
    let mut seen: Vec<String> = Vec::new();
    let mut check = |spec: &PartitionSpec| {
        check_name(&spec.name, |name| Error::new(1567, b"HY000", format!("Incorrect partition name '{name}'")))?;
        seen.push(spec.name.to_lowercase());
        Ok(())
    };
    for definition in &by.definitions {
        check(definition)?;
        definition.subpartitions.iter().try_for_each(&mut check)?;
    }
    let mut sorted: Vec<&String> = seen.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let first = seen.iter().enumerate().find(|(at, name)| seen[..*at].contains(name));
        return Err(Error::same_name_partition(first.map_or("", |(_, name)| name)));
    }
    for part in &parts(by)? {
        if !storage::names_a_partition(table, part) {
            return Err(Error::file_name_too_long(&format!("{table}{}", part.suffix())));
        }
    }
    Ok(())
}

/// Bounds rise from partition to partition.
fn check_order(columns: &[Column], function: &Function) -> Result<()> {
    let rising = match function {
        Function::Range { bounds, .. } => bounds.windows(2).all(|pair| match (pair[0], pair[1]) {
            (Some(low), Some(high)) => low < high,
            (Some(_), None) => true,
            (None, _) => false,
        }),
        Function::RangeColumns { columns: own, bounds } => {
            let is_less = |low: &Vec<Bound>, high: &Vec<Bound>| {
                for (place, at) in own.iter().enumerate() {
                    let order = match (&low[place], &high[place]) {
                        (None, None) => std::cmp::Ordering::Equal,
                        (None, Some(_)) => std::cmp::Ordering::Greater,
                        (Some(_), None) => std::cmp::Ordering::Less,
                        (Some(low), Some(high)) => compare(&columns[*at], Some(low), Some(high)),
                    };
                    if order != std::cmp::Ordering::Equal {
                        return order == std::cmp::Ordering::Less;
                    }
                }
                false
            };
            bounds.windows(2).all(|pair| is_less(&pair[0], &pair[1]))
        }
        _ => true,
    };
    match rising {
        true => Ok(()),
        false => {
            let text = "VALUES LESS THAN value must be strictly increasing for each partition";
            Err(Error::new(1493, b"HY000", text))
        }
    }
}

/// Equal keys are in one partition, so that a partition can tell by itself whether a key is unique.
fn check_keys(definition: &TableDefinition, routing: &Routing) -> Result<()> {
    if definition.indexes.iter().any(|index| index.fulltext.is_some()) {
        let text = "The used table type doesn't support FULLTEXT indexes";
        return Err(Error::new(1214, b"HY000", text));
    }
    for index in definition.indexes.iter().filter(|index| index.unique || index.primary) {
        let has = |column: &usize| index.parts.iter().any(|part| part.column == *column && part.prefix_chars.is_none());
        if !routing.columns.iter().all(has) {
            let what = if index.primary { "PRIMARY KEY" } else { "UNIQUE INDEX" };
            let text = format!(
                "A {what} must include all columns in the table's partitioning function (prefixed columns are not \
                 considered)."
            );
            return Err(Error::new(1503, b"HY000", text));
        }
    }
    Ok(())
}

/// What storage is told of each partition.
fn parts(by: &PartitionBy) -> Result<Vec<PartitionDefinition>> {
    let mut parts = Vec::new();
    for definition in &by.definitions {
        let part = |subpartition: Option<&PartitionSpec>| {
            let options = &subpartition.unwrap_or(definition).options;
            let own = options.compression.as_ref().or(definition.options.compression.as_ref());
            let compression = match own {
                None => None,
                Some(text) => {
                    let mut made = TableOptions::default();
                    options::compression_of(text, &mut made)?;
                    Some((made.compression, None))
                }
            };
            Ok(PartitionDefinition {
                name: definition.name.as_str().into(),
                subpartition: subpartition.map(|sub| sub.name.as_str().into()),
                compression,
                discarded: false,
            })
        };
        match definition.subpartitions.is_empty() {
            true => parts.push(part(None)?),
            false => {
                for sub in &definition.subpartitions {
                    parts.push(part(Some(sub))?);
                }
            }
        }
    }
    Ok(parts)
}
