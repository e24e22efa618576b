//! The text of a rule: what the dictionary keeps, and what SHOW CREATE TABLE shows in a version comment.
//!
//! ```text
//! PARTITION BY RANGE (`a`)
//! SUBPARTITION BY HASH (`b`)
//! SUBPARTITIONS 2
//! (PARTITION p0 VALUES LESS THAN (10) ENGINE = InnoDB,
//!  PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB)
//! ```
//!
//! Names stand without quotation marks where they need none, as MySQL prints them here. Definitions that nobody wrote (the
//! partitions of HASH and KEY, the subpartitions) are not printed, but counted.

use std::fmt::Write;

use format::collation::Charset;

use crate::error::{Error, Result};
use crate::parser::ast::{
    Expr, Literal, PartitionBy, PartitionMethod, PartitionOptions, PartitionSpec, PartitionValue, PartitionValues,
    UnaryOp,
};
use crate::parser::{print, words};

/// The clause in normal form.
pub fn clause(by: &PartitionBy) -> Result<String> {
    let mut out = String::from("PARTITION BY ");
    method(&by.method, &mut out)?;
    if by.definitions.is_empty()
        && let Some(count) = by.count
    {
        let _ = write!(out, "\nPARTITIONS {count}");
    }
    if let Some(sub) = &by.subpartition {
        out.push_str("\nSUBPARTITION BY ");
        method(&sub.method, &mut out)?;
        let are_written = by.definitions.iter().any(|definition| !definition.subpartitions.is_empty());
        if let Some(count) = sub.count.filter(|_| !are_written) {
            let _ = write!(out, "\nSUBPARTITIONS {count}");
        }
    }
    for (at, definition) in by.definitions.iter().enumerate() {
        out.push_str(if at == 0 { "\n(" } else { ",\n " });
        partition(definition, "PARTITION", &mut out)?;
    }
    if !by.definitions.is_empty() {
        out.push(')');
    }
    Ok(out)
}

/// What SHOW CREATE TABLE shows of it: servers without such partitions take it for a comment.
pub fn shown(rule: &str) -> String {
    // A partition with a codec of its own is no other server's.
    let version = match rule {
        rule if rule.contains(" COMPRESSION = ") => "80036",
        rule if rule.starts_with("PARTITION BY RANGE  COLUMNS") || rule.starts_with("PARTITION BY LIST  COLUMNS") => {
            "50500"
        }
        _ => "50100",
    };
    format!("\n/*!{version} {} */", rule.replace("*/", "*\\/"))
}

/// A name, quoted only if it has to be.
pub fn name(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !words::is_reserved(name.as_bytes());
    if is_plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

fn names(names: &[String]) -> String {
    names.iter().map(|own| name(own)).collect::<Vec<_>>().join(",")
}

/// The expression of a method as it is shown, or the columns.
pub fn expression(method: &PartitionMethod) -> Result<String> {
    match method {
        PartitionMethod::Hash { expr, .. } | PartitionMethod::Range(expr) | PartitionMethod::List(expr) => {
            print::expression(expr, Charset::Utf8mb4)
        }
        PartitionMethod::Key { columns, .. }
        | PartitionMethod::RangeColumns(columns)
        | PartitionMethod::ListColumns(columns) => {
            Ok(columns.iter().map(|own| format!("`{}`", own.replace('`', "``"))).collect::<Vec<_>>().join(","))
        }
    }
}

/// The name of a method as information_schema has it.
pub fn method_name(method: &PartitionMethod) -> &'static str {
    match method {
        PartitionMethod::Hash { linear: false, .. } => "HASH",
        PartitionMethod::Hash { linear: true, .. } => "LINEAR HASH",
        PartitionMethod::Key { linear: false, .. } => "KEY",
        PartitionMethod::Key { linear: true, .. } => "LINEAR KEY",
        PartitionMethod::Range(_) => "RANGE",
        PartitionMethod::List(_) => "LIST",
        PartitionMethod::RangeColumns(_) => "RANGE COLUMNS",
        PartitionMethod::ListColumns(_) => "LIST COLUMNS",
    }
}

fn method(method: &PartitionMethod, out: &mut String) -> Result<()> {
    match method {
        PartitionMethod::Hash { linear, expr } => {
            let linear = if *linear { "LINEAR " } else { "" };
            let _ = write!(out, "{linear}HASH ({})", print::expression(expr, Charset::Utf8mb4)?);
        }
        PartitionMethod::Key { linear, algorithm, columns } => {
            let linear = if *linear { "LINEAR " } else { "" };
            let algorithm = if *algorithm == Some(1) { "ALGORITHM = 1 " } else { "" };
            let _ = write!(out, "{linear}KEY {algorithm}({})", names(columns));
        }
        PartitionMethod::Range(expr) => {
            let _ = write!(out, "RANGE ({})", print::expression(expr, Charset::Utf8mb4)?);
        }
        PartitionMethod::List(expr) => {
            let _ = write!(out, "LIST ({})", print::expression(expr, Charset::Utf8mb4)?);
        }
        PartitionMethod::RangeColumns(columns) => {
            let _ = write!(out, "RANGE  COLUMNS({})", names(columns));
        }
        PartitionMethod::ListColumns(columns) => {
            let _ = write!(out, "LIST  COLUMNS({})", names(columns));
        }
    }
    Ok(())
}

fn partition(definition: &PartitionSpec, word: &str, out: &mut String) -> Result<()> {
    let _ = write!(out, "{word} {}", name(&definition.name));
    match &definition.values {
        None => {}
        Some(PartitionValues::LessThan(row)) if row == &[PartitionValue::MaxValue] => {
            out.push_str(" VALUES LESS THAN MAXVALUE");
        }
        Some(PartitionValues::LessThan(row)) => {
            let _ = write!(out, " VALUES LESS THAN ({})", values(row)?);
        }
        Some(PartitionValues::In(rows)) => {
            let _ = write!(out, " VALUES IN ({})", list(rows)?);
        }
    }
    if definition.subpartitions.is_empty() {
        options(&definition.options, out);
        return Ok(());
    }
    for (at, sub) in definition.subpartitions.iter().enumerate() {
        out.push_str(if at == 0 { "\n (" } else { ",\n  " });
        partition(sub, "SUBPARTITION", out)?;
    }
    out.push(')');
    Ok(())
}

fn options(options: &PartitionOptions, out: &mut String) {
    if let Some(comment) = &options.comment {
        let _ = write!(out, " COMMENT = {}", literal(comment));
    }
    if let Some(compression) = &options.compression {
        let _ = write!(out, " COMPRESSION = {}", literal(compression));
    }
    out.push_str(" ENGINE = InnoDB");
}

/// The values of a partition as information_schema describes it; None: it has none.
pub fn description(definition: &PartitionSpec) -> Result<Option<String>> {
    Ok(match &definition.values {
        None => None,
        Some(PartitionValues::LessThan(row)) => Some(values(row)?),
        Some(PartitionValues::In(rows)) => Some(list(rows)?),
    })
}

fn list(rows: &[Vec<PartitionValue>]) -> Result<String> {
    let row = |row: &Vec<PartitionValue>| match row.len() {
        1 => values(row),
        _ => Ok(format!("({})", values(row)?)),
    };
    Ok(rows.iter().map(row).collect::<Result<Vec<_>>>()?.join(","))
}

fn values(row: &[PartitionValue]) -> Result<String> {
    let value = |value: &PartitionValue| match value {
        PartitionValue::MaxValue => Ok("MAXVALUE".to_owned()),
        PartitionValue::Expr(expr) => constant(expr),
    };
    Ok(row.iter().map(value).collect::<Result<Vec<_>>>()?.join(","))
}

/// A literal of a definition in normal form.
fn constant(expr: &Expr) -> Result<String> {
    match expr {
        Expr::Literal(Literal::Null) => Ok("NULL".into()),
        Expr::Literal(Literal::Integer(number)) => Ok(number.to_string()),
        Expr::Literal(Literal::String { bytes, .. }) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(literal(text)),
            Err(_) => Err(Error::internal("a text of a partition that is none")),
        },
        Expr::Literal(Literal::Hex { bytes, .. }) => {
            let mut out = String::from("x'");
            bytes.iter().for_each(|byte| {
                let _ = write!(out, "{byte:02X}");
            });
            out.push('\'');
            Ok(out)
        }
        Expr::Unary { op: UnaryOp::Minus, expr } => Ok(format!("-{}", constant(expr)?)),
        _ => print::expression(expr, Charset::Utf8mb4),
    }
}

/// A text, escaped as MySQL prints it.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// Every partition and subpartition with a definition: those that nobody wrote are called p0, p1 ... and p0sp0, p0sp1 ...
pub fn expanded(by: &PartitionBy) -> PartitionBy {
    let mut by = by.clone();
    if by.definitions.is_empty() {
        let spec = |at| PartitionSpec { name: format!("p{at}"), ..PartitionSpec::default() };
        by.definitions = (0..by.count.unwrap_or(1)).map(spec).collect();
    }
    by.count = Some(by.definitions.len() as u64);
    if let Some(sub) = &mut by.subpartition {
        let written = by.definitions.iter().map(|definition| definition.subpartitions.len()).max().unwrap_or(0);
        let count = if written > 0 { written as u64 } else { sub.count.unwrap_or(1) };
        sub.count = Some(count);
        for definition in by.definitions.iter_mut().filter(|definition| definition.subpartitions.is_empty()) {
            let options = definition.options.clone();
            let spec = |at| PartitionSpec {
                name: format!("{}sp{at}", definition.name),
                options: options.clone(),
                ..PartitionSpec::default()
            };
            definition.subpartitions = (0..count).map(spec).collect();
        }
    }
    by
}
