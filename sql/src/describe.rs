//! Tables and types in SQL's own words: what SHOW CREATE TABLE, SHOW COLUMNS and
//! information_schema say of a description.
//!
//! Tools parse these texts (dump programs, object mappers, migration tools), so
//! they equal MySQL 8.0's exactly: lower-case types, back-quoted names, defaults
//! in single quotes, one line per column and key.
//!
//! Not here: reading such text back, which is the parser's.

use std::fmt::Write;

use format::collation::{Charset, CollationId, collation};
use format::fulltext::{Parser, Tokenizer};
use format::value::{ColumnType, LobSize, Zone};
use storage::schema::{
    Check, Column, ColumnDefault, Compression, Database, Index, IndexPart, RowFormat, Table, TableOptions,
};

use crate::expression::spatial_key;

/// A name in back quotes.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal, escaped as MySQL prints defaults and comments.
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
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

/// An expression as information_schema tells it: MySQL 8 keeps a form for this that is escaped like a text without its
/// quotes, and migration tools compare with that. SHOW CREATE TABLE has it as it is.
pub fn told_expression(text: &str) -> String {
    escaped(text, "\\'")
}

/// What stands between the quotes of a text in a stored expression; `quote` stands for a quote.
pub fn escaped(text: &str, quote: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\'' => out.push_str(quote),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\x1A' => out.push_str("\\Z"),
            other => out.push(other),
        }
    }
    out
}

/// The bare name of a type: DATA_TYPE of information_schema.COLUMNS.
pub fn data_type(ty: &ColumnType) -> &'static str {
    match ty {
        ColumnType::Int { bytes: 1, .. } => "tinyint",
        ColumnType::Int { bytes: 2, .. } => "smallint",
        ColumnType::Int { bytes: 3, .. } => "mediumint",
        ColumnType::Int { bytes: 4, .. } => "int",
        ColumnType::Int { .. } => "bigint",
        ColumnType::Year => "year",
        ColumnType::Bit { .. } => "bit",
        ColumnType::Float { .. } => "float",
        ColumnType::Double { .. } => "double",
        ColumnType::Decimal { .. } => "decimal",
        ColumnType::Date => "date",
        ColumnType::Time { .. } => "time",
        ColumnType::DateTime { .. } => "datetime",
        ColumnType::Timestamp { .. } => "timestamp",
        ColumnType::Char { .. } => "char",
        ColumnType::VarChar { .. } => "varchar",
        ColumnType::Binary { .. } => "binary",
        ColumnType::VarBinary { .. } => "varbinary",
        ColumnType::Text { size: LobSize::Tiny, .. } => "tinytext",
        ColumnType::Text { size: LobSize::Regular, .. } => "text",
        ColumnType::Text { size: LobSize::Medium, .. } => "mediumtext",
        ColumnType::Text { size: LobSize::Long, .. } => "longtext",
        ColumnType::Blob { size: LobSize::Tiny } => "tinyblob",
        ColumnType::Blob { size: LobSize::Regular } => "blob",
        ColumnType::Blob { size: LobSize::Medium } => "mediumblob",
        ColumnType::Blob { size: LobSize::Long } => "longblob",
        ColumnType::Json => "json",
        ColumnType::Geometry { kind, .. } => kind.name(),
        ColumnType::Enum { .. } => "enum",
        ColumnType::Set { .. } => "set",
    }
}

/// The type of a table's column: `tinyint(1)` where it was written so, because tools take that for BOOL, and the width of
/// one that is filled with zeros.
pub fn type_of(column: &Column) -> String {
    match (column.boolean, column.zerofill) {
        (true, None) => "tinyint(1)".to_owned(),
        (_, None) => column_type(&column.ty),
        (_, Some(width)) if matches!(column.ty, ColumnType::Int { .. }) => {
            format!("{}({width}) unsigned zerofill", data_type(&column.ty))
        }
        (_, Some(_)) => format!("{} zerofill", column_type(&column.ty)),
    }
}

/// The whole type without its character set: `int unsigned`, `varchar(20)`, `enum('a','b')`.
pub fn column_type(ty: &ColumnType) -> String {
    let mut out = data_type(ty).to_string();
    let parenthesis = |out: &mut String, text: &str| {
        let _ = write!(out, "({text})");
    };
    match ty {
        ColumnType::Bit { bits } => parenthesis(&mut out, &bits.to_string()),
        ColumnType::Decimal { precision, scale, .. } => parenthesis(&mut out, &format!("{precision},{scale}")),
        ColumnType::Float { decimals: Some((m, d)), .. } | ColumnType::Double { decimals: Some((m, d)), .. } => {
            parenthesis(&mut out, &format!("{m},{d}"));
        }
        ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } if *fsp > 0 => {
            parenthesis(&mut out, &fsp.to_string());
        }
        ColumnType::Char { chars, .. } | ColumnType::VarChar { chars, .. } => {
            parenthesis(&mut out, &chars.to_string());
        }
        ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => parenthesis(&mut out, &bytes.to_string()),
        ColumnType::Enum { members, .. } | ColumnType::Set { members, .. } => {
            let members: Vec<String> = members.iter().map(|member| literal(member)).collect();
            parenthesis(&mut out, &members.join(","));
        }
        _ => {}
    }
    if is_unsigned(ty) {
        out.push_str(" unsigned");
    }
    out
}

fn is_unsigned(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Int { unsigned: true, .. }
            | ColumnType::Float { unsigned: true, .. }
            | ColumnType::Double { unsigned: true, .. }
            | ColumnType::Decimal { unsigned: true, .. }
    )
}

/// The collation of a type that holds characters. JSON has one, but never as a declared attribute.
pub fn declared_collation(ty: &ColumnType) -> Option<CollationId> {
    match ty {
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Text { collation, .. }
        | ColumnType::Enum { collation, .. }
        | ColumnType::Set { collation, .. } => Some(*collation),
        _ => None,
    }
}

/// A stored value as text, whatever character set its column has; a moment in the zone of who asks.
pub fn stored_text(ty: &ColumnType, stored: &[u8], zone: Zone) -> String {
    let mut out = Vec::new();
    ty.write_text_at(stored, zone, &mut out);
    let mut text = Vec::with_capacity(out.len());
    let from = ty.collation().map_or(Charset::Binary, |id| collation(id).charset);
    format::collation::convert(&out, from, Charset::Utf8mb4, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// What COLUMN_DEFAULT and the Default column of SHOW COLUMNS say.
pub fn default_text(column: &Column, zone: Zone) -> Option<String> {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Null => None,
        ColumnDefault::Literal(stored) => Some(match &column.ty {
            ColumnType::Bit { .. } => bit_literal(stored),
            _ => value_text(column, stored, zone),
        }),
        ColumnDefault::CurrentTimestamp { fsp } => Some(now(*fsp)),
        ColumnDefault::Expression(text) => Some(told_expression(text)),
    }
}

/// A value of a column as its rows show it.
fn value_text(column: &Column, stored: &[u8], zone: Zone) -> String {
    let text = stored_text(&column.ty, stored, zone);
    match column.zerofill {
        Some(width) => format!("{text:0>width$}", width = usize::from(width)),
        None => text,
    }
}

fn bit_literal(stored: &[u8]) -> String {
    let number = stored.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    format!("b'{number:b}'")
}

fn now(fsp: u8) -> String {
    if fsp == 0 { "CURRENT_TIMESTAMP".into() } else { format!("CURRENT_TIMESTAMP({fsp})") }
}

fn fraction(ty: &ColumnType) -> u8 {
    match ty {
        ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => *fsp,
        _ => 0,
    }
}

/// The Extra column: `auto_increment`, `on update CURRENT_TIMESTAMP`.
pub fn extra(column: &Column) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_string());
    }
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_string());
    }
    if matches!(column.default, ColumnDefault::CurrentTimestamp { .. } | ColumnDefault::Expression(_)) {
        words.push("DEFAULT_GENERATED".to_string());
    }
    if column.on_update_now {
        words.push(format!("on update {}", now(fraction(&column.ty))));
    }
    if column.invisible {
        words.push("INVISIBLE".to_string());
    }
    words.join(" ")
}

/// PRI, UNI, MUL or nothing: by the most telling index that the column leads.
pub fn column_key(table: &Table, ordinal: usize) -> &'static str {
    let mut key = "";
    for index in table.indexes.iter().filter(|index| !index.is_hidden()) {
        // A unique key of NOT NULL columns stands in for a missing primary key, unless one of them is not stored.
        let is_virtual =
            |part: &IndexPart| table.columns[part.column].generated.as_ref().is_some_and(|own| !own.stored);
        let is_primary = index.primary || index.clustered && !index.parts.iter().any(is_virtual);
        if is_primary && index.parts.iter().any(|part| part.column == ordinal) {
            return "PRI";
        }
        let leads = |part: &IndexPart| {
            part.column == ordinal || spatial_key::column_of(&table.columns, part.column) == Some(ordinal)
        };
        if index.parts.first().is_some_and(leads) {
            if index.unique && index.parts.len() == 1 {
                key = "UNI";
            } else if key.is_empty() {
                key = "MUL";
            }
        }
    }
    key
}

/// One line of CREATE TABLE, from the name on. `usual`: the collation that need not be told.
pub fn column_line(column: &Column, usual: Option<CollationId>, zone: Zone) -> String {
    let mut out = format!("{} {}", quoted(&column.name), type_of(column));
    if let Some(id) = declared_collation(&column.ty)
        && (Some(id) != usual || column.explicit_collation)
    {
        let own = collation(id);
        let _ = write!(out, " CHARACTER SET {}", own.charset.name());
        // Servers disagree on the collation that utf8mb4 alone means.
        if !own.is_default || own.charset == Charset::Utf8mb4 || column.explicit_collation {
            let _ = write!(out, " COLLATE {}", own.name);
        }
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(out, " GENERATED ALWAYS AS ({}) {kind}", generated.expression);
    }
    if !column.nullable {
        out.push_str(" NOT NULL");
    } else if matches!(column.ty, ColumnType::Timestamp { .. }) {
        out.push_str(" NULL");
    }
    if let ColumnType::Geometry { srid: Some(srid), .. } = column.ty {
        let _ = write!(out, " /*!80003 SRID {srid} */");
    }
    match &column.default {
        ColumnDefault::None => {}
        // A TEXT or BLOB has no default that could be told.
        ColumnDefault::Null if matches!(column.ty, ColumnType::Text { .. } | ColumnType::Blob { .. }) => {}
        ColumnDefault::Null => out.push_str(" DEFAULT NULL"),
        ColumnDefault::Literal(stored) => match &column.ty {
            ColumnType::Bit { .. } => {
                let _ = write!(out, " DEFAULT {}", bit_literal(stored));
            }
            _ => {
                let _ = write!(out, " DEFAULT {}", literal(&value_text(column, stored, zone)));
            }
        },
        ColumnDefault::CurrentTimestamp { fsp } => {
            let _ = write!(out, " DEFAULT {}", now(*fsp));
        }
        ColumnDefault::Expression(text) => {
            let _ = write!(out, " DEFAULT ({text})");
        }
    }
    if column.on_update_now {
        let _ = write!(out, " ON UPDATE {}", now(fraction(&column.ty)));
    }
    if column.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if !column.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", literal(&column.comment));
    }
    if column.invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    out
}

fn part(table: &Table, part: &IndexPart) -> String {
    let column = &table.columns[part.column];
    if let Some(geometry) = spatial_key::column_of(&table.columns, part.column) {
        return quoted(&table.columns[geometry].name);
    }
    let mut out = match &column.generated {
        Some(generated) if generated.hidden => format!("({})", generated.expression),
        _ => quoted(&column.name),
    };
    if let Some(chars) = part.prefix_chars {
        let _ = write!(out, "({chars})");
    }
    if part.order.is_declared_descending() {
        out.push_str(" DESC");
    }
    out
}

pub fn is_spatial(table: &Table, index: &Index) -> bool {
    index.parts.iter().any(|part| spatial_key::column_of(&table.columns, part.column).is_some())
}

fn index_line(table: &Table, index: &Index) -> String {
    let parts: Vec<String> = index.parts.iter().map(|one| part(table, one)).collect();
    let mut out = match (index.primary, index.unique) {
        (true, _) => "PRIMARY KEY".to_string(),
        (false, true) => format!("UNIQUE KEY {}", quoted(&index.name)),
        (false, false) if index.fulltext.is_some() => format!("FULLTEXT KEY {}", quoted(&index.name)),
        (false, false) if is_spatial(table, index) => format!("SPATIAL KEY {}", quoted(&index.name)),
        (false, false) => format!("KEY {}", quoted(&index.name)),
    };
    let _ = write!(out, " ({})", parts.join(","));
    if let Some(algorithm) = &index.algorithm {
        let _ = write!(out, " USING {}", algorithm.to_ascii_uppercase());
    }
    if !index.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", literal(&index.comment));
    }
    if let Some(Tokenizer { parser: Parser::Ngram(_), .. }) = &index.fulltext {
        // As MySQL writes it.
        out.push_str(" /*!50100 WITH PARSER `ngram` */");
    }
    if index.invisible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    out
}

fn check_line(check: &Check) -> String {
    // Servers that know no such constraint need not.
    let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("CONSTRAINT {} CHECK ({}){enforced}", quoted(&check.name), check.condition)
}

/// ROW_FORMAT's word.
pub fn row_format(format: RowFormat) -> &'static str {
    match format {
        RowFormat::Default | RowFormat::Dynamic | RowFormat::Fixed => "Dynamic",
        RowFormat::Compact => "Compact",
        RowFormat::Redundant => "Redundant",
        RowFormat::Compressed => "Compressed",
    }
}

/// The options behind the closing parenthesis that are not said otherwise: Create_options of SHOW TABLE STATUS too.
pub fn create_options(options: &TableOptions) -> Vec<String> {
    let mut out = Vec::new();
    match options.row_format {
        RowFormat::Default => {}
        RowFormat::Fixed => out.push("ROW_FORMAT=FIXED".into()),
        format => out.push(format!("ROW_FORMAT={}", row_format(format).to_ascii_uppercase())),
    }
    if options.key_block_size > 0 {
        out.push(format!("KEY_BLOCK_SIZE={}", options.key_block_size));
    }
    // A table without a codec option, created while innodb_compression_default was off.
    let said = |name: &str| options.create_options.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if options.compression != Compression::Default && !said("COMPRESSION") && !said("PAGE_COMPRESSED") {
        out.push(format!("COMPRESSION={}", literal(options.compression.name())));
    }
    if options.encrypted && !said("ENCRYPTION") && !said("ENCRYPTED") {
        out.push("ENCRYPTION='Y'".to_string());
    }
    // Options as they were given. Earlier versions kept unknown options: a definition with them cannot be read back.
    let known = options.create_options.iter().filter(|(name, _)| REMEMBERED.contains(&&**name));
    out.extend(known.map(|(name, value)| format!("{name}={value}")));
    out
}

/// Options that are shown as they were given.
const REMEMBERED: [&str; 25] = [
    "SEQUENCE",
    "COMPRESSION",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "ATOMIC_WRITES",
    "ENCRYPTION",
    "ENCRYPTED",
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "TABLE_CHECKSUM",
    "PAGE_CHECKSUM",
    "DELAY_KEY_WRITE",
    "TRANSACTIONAL",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "AUTOEXTEND_SIZE",
    "STORAGE",
    "ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "CONNECTION",
];

/// The text of SHOW CREATE TABLE. `auto_increment` is the next value, told when it is not the first.
pub fn create_table(table: &Table, auto_increment: u64, zone: Zone) -> String {
    let kind = if table.space.is_temporary() { "TEMPORARY TABLE" } else { "TABLE" };
    body(format!("CREATE {kind} {}", quoted(&table.name)), table, auto_increment, zone)
}

/// The text of SHOW CREATE SEQUENCE. `said`: what it says of the numbers.
pub fn create_sequence(table: &Table, said: &str) -> String {
    let mut out = format!("CREATE SEQUENCE {} {said} ENGINE=InnoDB", quoted(&table.name));
    for option in create_options(&table.options).iter().filter(|option| !option.starts_with("SEQUENCE=")) {
        let _ = write!(out, " {option}");
    }
    if !table.options.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", literal(&table.options.comment));
    }
    out
}

/// The text that makes a table like this one, under this name, that is not temporary.
pub fn create_table_as(table: &Table, name: &str, if_not_exists: bool, auto_increment: u64, zone: Zone) -> String {
    let condition = if if_not_exists { "IF NOT EXISTS " } else { "" };
    body(format!("CREATE TABLE {condition}{name}"), table, auto_increment, zone)
}

/// The text that makes a table with these columns and indexes under this name, with options as they were given. `usual`:
/// the collation of columns that do not say one.
pub fn create_table_with(table: &Table, name: &str, usual: Option<CollationId>, options: &str, zone: Zone) -> String {
    format!("CREATE TABLE {name} (\n  {}\n){options}", lines(table, usual, zone).join(",\n  "))
}

/// Columns, indexes, constraints.
fn lines(table: &Table, usual: Option<CollationId>, zone: Zone) -> Vec<String> {
    let visible = table.columns.iter().filter(|column| !column.is_hidden());
    let mut lines: Vec<String> = visible.map(|column| column_line(column, usual, zone)).collect();
    // The primary key first, then the others as they were made; a unique key that is clustered is none of its own.
    let shown = || table.indexes.iter().filter(|index| !index.is_hidden());
    lines.extend(shown().filter(|index| index.primary).map(|index| index_line(table, index)));
    lines.extend(shown().filter(|index| !index.primary && index.unique).map(|index| index_line(table, index)));
    lines.extend(shown().filter(|index| !index.primary && !index.unique).map(|index| index_line(table, index)));
    lines.extend(table.foreign_keys.iter().map(|key| key.text(&table.database)));
    lines.extend(table.checks.iter().map(check_line));
    lines
}

fn body(head: String, table: &Table, auto_increment: u64, zone: Zone) -> String {
    let lines = lines(table, Some(table.options.collation), zone);
    let mut out = format!("{head} (\n  {}\n) ENGINE=InnoDB", lines.join(",\n  "));
    if table.auto_increment.is_some() && auto_increment > 1 {
        let _ = write!(out, " AUTO_INCREMENT={auto_increment}");
    }
    let own = collation(table.options.collation);
    let _ = write!(out, " DEFAULT CHARSET={}", own.charset.name());
    // MySQL 8.0's default for utf8mb4 is another one, so there the collation is always told.
    if !own.is_default || own.charset.name() == "utf8mb4" {
        let _ = write!(out, " COLLATE={}", own.name);
    }
    for option in create_options(&table.options) {
        // Older servers know no encryption, and need not.
        let _ = match option.starts_with("ENCRYPTION=") {
            true => write!(out, " /*!80016 {option} */"),
            false => write!(out, " {option}"),
        };
    }
    if !table.options.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", literal(&table.options.comment));
    }
    if let Some(partitioning) = &table.partitioning {
        out.push_str(&crate::partitions::print::shown(&partitioning.rule));
    }
    out
}

/// The text of SHOW CREATE DATABASE.
pub fn create_database(database: &Database, if_not_exists: bool) -> String {
    let own = collation(database.collation);
    let mut out = String::from("CREATE DATABASE ");
    if if_not_exists {
        out.push_str("/*!32312 IF NOT EXISTS*/ ");
    }
    let _ = write!(out, "{} /*!40100 DEFAULT CHARACTER SET {}", quoted(&database.name), own.charset.name());
    if !own.is_default || own.charset.name() == "utf8mb4" {
        let _ = write!(out, " COLLATE {}", own.name);
    }
    out.push_str(" */ /*!80016 DEFAULT ENCRYPTION='N' */");
    if database.read_only {
        out.push_str(" /* READ ONLY=1 */");
    }
    out
}
