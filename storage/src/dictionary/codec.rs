//! Descriptions of tables, columns and indexes as bytes: the values in the rows of the system tables.
//!
//! Numbers are big-endian; a text is its length (4 bytes) and its UTF-8 bytes; a list is its length (4 bytes) and its
//! members; an option is a byte (0, 1) and, if 1, its value. Every value begins with a version byte, so that a later
//! server can add fields.

use format::collation::CollationId;
use format::fulltext::{Parser, Stopwords, Tokenizer};
use format::ids::{IndexId, PageNo, SpaceId, TableId};
use format::record::{Length, NEVER};
use format::transform::Algorithm;
use format::value::ColumnType;

use super::describe::Identity;
use crate::error::{Error, Result};
use crate::schema::{
    AtomicWrites, Check, Column, ColumnDefault, Compression, FieldColumn, ForeignKey, Generated, IndexDefinition,
    IndexPart, PartOrder, PartitionDefinition, Partitioning, ReferentialAction, RowFormat, RowVersions, TableOptions,
    VersionedField,
};

/// The version written now. Version 1 of a table's options ended before `atomic_writes`; version 2 had no foreign keys
/// behind them; version 3 did not tell whether a column's collation was written and an index was made for a foreign
/// key; version 4 did not tell BOOL from TINYINT; version 5 had neither CHECK constraints nor ZEROFILL nor generated
/// columns; version 6 had no partitions, and no full-text and multi-valued indexes; version 7 had no row versions;
/// version 8 did not tell which files are discarded; up to version 9 all trees ascended, whatever their indexes declared.
const VERSION: u8 = 10;

/// Appends to bytes.
#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn new() -> Writer {
        Writer { bytes: vec![VERSION] }
    }

    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub fn blob(&mut self, value: &[u8]) {
        self.u32(value.len() as u32);
        self.bytes.extend_from_slice(value);
    }

    pub fn text(&mut self, value: &str) {
        self.blob(value.as_bytes());
    }

    pub fn option_text(&mut self, value: Option<&str>) {
        self.u8(value.is_some() as u8);
        if let Some(value) = value {
            self.text(value);
        }
    }
}

/// Reads what a [`Writer`] wrote; anything else is an error.
pub struct Reader<'a> {
    version: u8,
    rest: &'a [u8],
}

fn damaged() -> Error {
    Error::corrupt("a row of the dictionary")
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>> {
        let mut reader = Reader { version: VERSION, rest: bytes };
        match reader.u8()? {
            version @ 1..=VERSION => Ok(Reader { version, ..reader }),
            other => Err(Error::Unsupported(format!("a dictionary row of version {other}").into())),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.u8()? != 0)
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.take(2)?.try_into().expect("2 bytes")))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into().expect("4 bytes")))
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into().expect("8 bytes")))
    }

    pub fn blob(&mut self) -> Result<&'a [u8]> {
        let bytes = self.u32()? as usize;
        self.take(bytes)
    }

    pub fn text(&mut self) -> Result<Box<str>> {
        Ok(std::str::from_utf8(self.blob()?).map_err(|_| damaged())?.into())
    }

    pub fn option_text(&mut self) -> Result<Option<Box<str>>> {
        if self.bool()? { Ok(Some(self.text()?)) } else { Ok(None) }
    }
}

fn write_compression(out: &mut Writer, compression: Compression, level: Option<u8>) {
    out.u8(match compression {
        Compression::Default => 0,
        Compression::Codec(algorithm) => algorithm.number() + 1,
    });
    out.u8(level.unwrap_or(u8::MAX));
}

fn read_compression(from: &mut Reader<'_>) -> Result<(Compression, Option<u8>)> {
    let compression = match from.u8()? {
        0 => Compression::Default,
        number => Compression::Codec(Algorithm::from_number(number - 1).ok_or_else(damaged)?),
    };
    Ok((compression, Some(from.u8()?).filter(|level| *level != u8::MAX)))
}

/// What stands beside a table's columns and indexes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    pub options: TableOptions,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
    pub partitioning: Option<Box<Partitioning>>,
    pub row_versions: Option<Box<RowVersions>>,
    /// Of each partition.
    pub partitions: Vec<Identity>,
}

fn write_partitions(out: &mut Writer, partitioning: Option<&Partitioning>, partitions: &[Identity]) {
    out.u8(partitioning.is_some() as u8);
    let Some(partitioning) = partitioning else { return };
    assert_eq!(partitioning.parts.len(), partitions.len(), "every partition has its numbers");
    out.text(&partitioning.rule);
    out.u32(partitions.len() as u32);
    for (part, identity) in partitioning.parts.iter().zip(partitions) {
        out.text(&part.name);
        out.option_text(part.subpartition.as_deref());
        out.u8(part.compression.is_some() as u8);
        if let Some((compression, level)) = part.compression {
            write_compression(out, compression, level);
        }
        out.u64(identity.id.0);
        out.u32(identity.space.0);
        out.u64(identity.created_us);
        out.u32(identity.indexes.len() as u32);
        for (id, root) in &identity.indexes {
            out.u64(id.0);
            out.u32(root.0);
        }
        write_row_versions(out, identity.row_versions.as_deref());
    }
}

fn read_partitions(from: &mut Reader<'_>) -> Result<(Option<Box<Partitioning>>, Vec<Identity>)> {
    if !from.bool()? {
        return Ok((None, Vec::new()));
    }
    let (mut partitioning, mut partitions) = (Partitioning { rule: from.text()?, parts: Vec::new() }, Vec::new());
    for _ in 0..from.u32()? {
        let (name, subpartition) = (from.text()?, from.option_text()?);
        let compression = if from.bool()? { Some(read_compression(from)?) } else { None };
        partitioning.parts.push(PartitionDefinition { name, subpartition, compression, discarded: false });
        let (id, space, created_us) = (TableId(from.u64()?), SpaceId(from.u32()?), from.u64()?);
        if space.is_temporary() {
            return Err(damaged());
        }
        let mut indexes = Vec::new();
        for _ in 0..from.u32()? {
            indexes.push((IndexId(from.u64()?), PageNo(from.u32()?)));
        }
        let row_versions = read_row_versions(from)?;
        partitions.push(Identity { id, space, created_us, indexes, row_versions, partitions: Vec::new() });
    }
    Ok((Some(Box::new(partitioning)), partitions))
}

fn write_row_versions(out: &mut Writer, versions: Option<&RowVersions>) {
    out.u8(versions.is_some() as u8);
    let Some(RowVersions { current, fields }) = versions else { return };
    out.u8(*current);
    out.u32(fields.len() as u32);
    for VersionedField { column, added, default } in fields {
        match column {
            FieldColumn::Column(column) => {
                out.u8(NEVER);
                out.u16(*column);
            }
            FieldColumn::Dropped { version, length, nullable } => {
                out.u8(*version);
                match length {
                    Length::Fixed(bytes) => {
                        out.u8(0);
                        out.u32(u32::from(*bytes));
                    }
                    Length::Variable { max, blob } => {
                        out.u8(1 + *blob as u8);
                        out.u32(*max);
                    }
                }
                out.u8(*nullable as u8);
            }
        }
        out.u8(*added);
        out.u8(default.is_some() as u8);
        if let Some(default) = default {
            out.blob(default);
        }
    }
}

/// The versions of the rows in a file, for an instance that is to read them without this dictionary.
pub fn write_rows_of_versions(versions: Option<&RowVersions>) -> Vec<u8> {
    let mut out = Writer::new();
    write_row_versions(&mut out, versions);
    out.bytes
}

pub fn read_rows_of_versions(bytes: &[u8]) -> Result<Option<Box<RowVersions>>> {
    read_row_versions(&mut Reader::new(bytes)?)
}

fn read_row_versions(from: &mut Reader<'_>) -> Result<Option<Box<RowVersions>>> {
    if from.version < 8 || !from.bool()? {
        return Ok(None);
    }
    let mut versions = RowVersions { current: from.u8()?, fields: Vec::new() };
    for _ in 0..from.u32()? {
        let column = match from.u8()? {
            NEVER => FieldColumn::Column(from.u16()?),
            version => {
                let (kind, bytes) = (from.u8()?, from.u32()?);
                let length = match kind {
                    0 => Length::Fixed(u16::try_from(bytes).map_err(|_| damaged())?),
                    1 | 2 => Length::Variable { max: bytes, blob: kind == 2 },
                    _ => return Err(damaged()),
                };
                FieldColumn::Dropped { version, length, nullable: from.bool()? }
            }
        };
        let added = from.u8()?;
        let default = if from.bool()? { Some(from.blob()?.into()) } else { None };
        versions.fields.push(VersionedField { column, added, default });
    }
    Ok(Some(Box::new(versions)))
}

/// A table's options, constraints, row versions and partitions.
pub fn write_options(facts: &TableFacts) -> Vec<u8> {
    let TableFacts { options, foreign_keys, checks, partitioning, row_versions, partitions } = facts;
    let mut out = Writer::new();
    write_compression(&mut out, options.compression, options.compression_level);
    out.u8(match options.row_format {
        RowFormat::Default => 0,
        RowFormat::Dynamic => 1,
        RowFormat::Compact => 2,
        RowFormat::Redundant => 3,
        RowFormat::Compressed => 4,
        RowFormat::Fixed => 5,
    });
    out.u32(options.key_block_size);
    out.u16(options.collation.0);
    out.text(&options.comment);
    out.u32(options.create_options.len() as u32);
    for (name, value) in &options.create_options {
        out.text(name);
        out.text(value);
    }
    out.u8(match options.atomic_writes {
        AtomicWrites::Default => 0,
        AtomicWrites::On => 1,
        AtomicWrites::Off => 2,
    });
    out.u8(options.encrypted as u8);
    out.u32(foreign_keys.len() as u32);
    for key in foreign_keys {
        write_foreign_key(&mut out, key);
    }
    out.u32(checks.len() as u32);
    for check in checks {
        out.text(&check.name);
        out.text(&check.condition);
        out.u8(check.enforced as u8);
    }
    write_partitions(&mut out, partitioning.as_deref(), partitions);
    write_row_versions(&mut out, row_versions.as_deref());
    out.u8(options.discarded as u8);
    for part in partitioning.iter().flat_map(|partitioning| &partitioning.parts) {
        out.u8(part.discarded as u8);
    }
    out.bytes
}

fn write_foreign_key(out: &mut Writer, key: &ForeignKey) {
    out.text(&key.name);
    out.text(&key.parent_database);
    out.text(&key.parent);
    out.u32(key.columns.len() as u32);
    for (column, parent) in key.columns.iter().zip(&key.parent_columns) {
        out.text(column);
        out.text(parent);
    }
    for action in [key.on_delete, key.on_update] {
        out.u8(match action {
            ReferentialAction::NoAction => 0,
            ReferentialAction::Restrict => 1,
            ReferentialAction::Cascade => 2,
            ReferentialAction::SetNull => 3,
        });
    }
}

fn read_foreign_key(from: &mut Reader<'_>) -> Result<ForeignKey> {
    let (name, parent_database, parent) = (from.text()?, from.text()?, from.text()?);
    let (mut columns, mut parent_columns) = (Vec::new(), Vec::new());
    for _ in 0..from.u32()? {
        columns.push(from.text()?);
        parent_columns.push(from.text()?);
    }
    let mut action = || match from.u8()? {
        0 => Ok(ReferentialAction::NoAction),
        1 => Ok(ReferentialAction::Restrict),
        2 => Ok(ReferentialAction::Cascade),
        3 => Ok(ReferentialAction::SetNull),
        _ => Err(damaged()),
    };
    let (on_delete, on_update) = (action()?, action()?);
    Ok(ForeignKey { name, columns, parent_database, parent, parent_columns, on_delete, on_update })
}

pub fn read_options(bytes: &[u8]) -> Result<TableFacts> {
    let mut from = Reader::new(bytes)?;
    let (compression, compression_level) = read_compression(&mut from)?;
    let row_format = match from.u8()? {
        0 => RowFormat::Default,
        1 => RowFormat::Dynamic,
        2 => RowFormat::Compact,
        3 => RowFormat::Redundant,
        4 => RowFormat::Compressed,
        5 => RowFormat::Fixed,
        _ => return Err(damaged()),
    };
    let key_block_size = from.u32()?;
    let collation = CollationId(from.u16()?);
    let comment = from.text()?;
    let count = from.u32()?;
    let mut create_options = Vec::new();
    for _ in 0..count {
        create_options.push((from.text()?, from.text()?));
    }
    let (mut atomic_writes, mut encrypted) = (AtomicWrites::Default, false);
    if from.version >= 2 {
        atomic_writes = match from.u8()? {
            0 => AtomicWrites::Default,
            1 => AtomicWrites::On,
            2 => AtomicWrites::Off,
            _ => return Err(damaged()),
        };
        encrypted = from.bool()?;
    }
    let mut foreign_keys = Vec::new();
    if from.version >= 3 {
        for _ in 0..from.u32()? {
            foreign_keys.push(read_foreign_key(&mut from)?);
        }
    }
    let mut checks = Vec::new();
    if from.version >= 6 {
        for _ in 0..from.u32()? {
            checks.push(Check { name: from.text()?, condition: from.text()?, enforced: from.bool()? });
        }
    }
    let (mut partitioning, mut partitions) = (None, Vec::new());
    if from.version >= 7 {
        (partitioning, partitions) = read_partitions(&mut from)?;
    }
    let row_versions = read_row_versions(&mut from)?;
    let mut discarded = false;
    if from.version >= 9 {
        discarded = from.bool()?;
        for part in partitioning.iter_mut().flat_map(|partitioning| &mut partitioning.parts) {
            part.discarded = from.bool()?;
        }
    }
    let options = TableOptions {
        compression,
        compression_level,
        row_format,
        key_block_size,
        atomic_writes,
        encrypted,
        discarded,
        collation,
        comment,
        create_options,
    };
    Ok(TableFacts { options, foreign_keys, checks, partitioning, row_versions, partitions })
}

pub fn write_column(column: &Column) -> Vec<u8> {
    let mut out = Writer::new();
    out.text(&column.name);
    let mut ty = Vec::new();
    column.ty.write_definition(&mut ty);
    out.blob(&ty);
    out.u8(column.nullable as u8);
    match &column.default {
        ColumnDefault::None => out.u8(0),
        ColumnDefault::Null => out.u8(1),
        ColumnDefault::Literal(value) => {
            out.u8(2);
            out.blob(value);
        }
        ColumnDefault::CurrentTimestamp { fsp } => {
            out.u8(3);
            out.u8(*fsp);
        }
        ColumnDefault::Expression(text) => {
            out.u8(4);
            out.text(text);
        }
    }
    out.u8(column.on_update_now as u8);
    out.u8(column.auto_increment as u8);
    out.u8(column.invisible as u8);
    out.text(&column.comment);
    out.u8(column.explicit_collation as u8);
    out.u8(column.boolean as u8);
    out.u8(column.zerofill.unwrap_or(0));
    out.u8(column.generated.is_some() as u8);
    if let Some(generated) = &column.generated {
        out.text(&generated.expression);
        out.u8(generated.stored as u8);
        out.u8(generated.hidden as u8);
    }
    out.bytes
}

pub fn read_column(bytes: &[u8]) -> Result<Column> {
    let mut from = Reader::new(bytes)?;
    let name = from.text()?;
    let mut definition = from.blob()?;
    let ty = ColumnType::read_definition(&mut definition).map_err(|_| damaged())?;
    let nullable = from.bool()?;
    let default = match from.u8()? {
        0 => ColumnDefault::None,
        1 => ColumnDefault::Null,
        2 => ColumnDefault::Literal(from.blob()?.into()),
        3 => ColumnDefault::CurrentTimestamp { fsp: from.u8()? },
        4 => ColumnDefault::Expression(from.text()?),
        _ => return Err(damaged()),
    };
    let mut column = Column {
        name,
        ty,
        nullable,
        default,
        on_update_now: from.bool()?,
        auto_increment: from.bool()?,
        invisible: from.bool()?,
        comment: from.text()?,
        explicit_collation: from.version >= 4 && from.bool()?,
        boolean: from.version >= 5 && from.bool()?,
        zerofill: None,
        generated: None,
    };
    if from.version >= 6 {
        column.zerofill = Some(from.u8()?).filter(|width| *width > 0);
        if from.bool()? {
            column.generated = Some(Generated { expression: from.text()?, stored: from.bool()?, hidden: from.bool()? });
        }
    }
    Ok(column)
}

pub fn write_index(index: &IndexDefinition) -> Vec<u8> {
    let mut out = Writer::new();
    out.text(&index.name);
    out.u8(index.unique as u8);
    out.u8(index.primary as u8);
    out.u8(index.invisible as u8);
    out.text(&index.comment);
    out.option_text(index.algorithm.as_deref());
    out.u32(index.parts.len() as u32);
    for part in &index.parts {
        out.u16(part.column as u16);
        out.u32(part.prefix_chars.unwrap_or(0));
        out.u8(match part.order {
            PartOrder::Ascending => 0,
            PartOrder::Descending => 1,
            PartOrder::DescendingInName => 2,
        });
    }
    out.u8(index.generated as u8);
    for part in &index.parts {
        out.u8(part.elements.is_some() as u8);
        if let Some(elements) = &part.elements {
            let mut ty = Vec::new();
            elements.write_definition(&mut ty);
            out.blob(&ty);
        }
    }
    write_tokenizer(&mut out, index.fulltext.as_ref());
    out.bytes
}

pub fn read_index(bytes: &[u8]) -> Result<IndexDefinition> {
    let mut from = Reader::new(bytes)?;
    let name = from.text()?;
    let unique = from.bool()?;
    let primary = from.bool()?;
    let invisible = from.bool()?;
    let comment = from.text()?;
    let algorithm = from.option_text()?;
    let count = from.u32()?;
    let mut parts = Vec::new();
    for _ in 0..count {
        parts.push(IndexPart {
            column: from.u16()? as usize,
            prefix_chars: Some(from.u32()?).filter(|chars| *chars != 0),
            order: match from.u8()? {
                0 => PartOrder::Ascending,
                1 if from.version < 10 => PartOrder::DescendingInName,
                1 => PartOrder::Descending,
                2 if from.version >= 10 => PartOrder::DescendingInName,
                _ => return Err(damaged()),
            },
            elements: None,
        });
    }
    let generated = from.version >= 4 && from.bool()?;
    let mut fulltext = None;
    if from.version >= 7 {
        for part in &mut parts {
            if from.bool()? {
                let mut definition = from.blob()?;
                part.elements = Some(ColumnType::read_definition(&mut definition).map_err(|_| damaged())?);
            }
        }
        fulltext = read_tokenizer(&mut from)?;
    }
    Ok(IndexDefinition { name, unique, primary, parts, comment, algorithm, invisible, generated, fulltext })
}

fn write_tokenizer(out: &mut Writer, tokenizer: Option<&Tokenizer>) {
    out.u8(tokenizer.is_some() as u8);
    let Some(Tokenizer { parser, chars_min, chars_max, stopwords }) = tokenizer else { return };
    out.u8(match parser {
        Parser::Words => 0,
        Parser::Ngram(chars) => *chars,
    });
    out.u8(*chars_min);
    out.u8(*chars_max);
    match stopwords {
        Stopwords::None => out.u8(0),
        Stopwords::Default => out.u8(1),
        Stopwords::Listed(words) => {
            out.u8(2);
            out.u32(words.len() as u32);
            words.iter().for_each(|word| out.text(word));
        }
    }
}

fn read_tokenizer(from: &mut Reader<'_>) -> Result<Option<Tokenizer>> {
    if !from.bool()? {
        return Ok(None);
    }
    let parser = match from.u8()? {
        0 => Parser::Words,
        chars => Parser::Ngram(chars),
    };
    let (chars_min, chars_max) = (from.u8()?, from.u8()?);
    let stopwords = match from.u8()? {
        0 => Stopwords::None,
        1 => Stopwords::Default,
        2 => {
            let mut words = Vec::new();
            for _ in 0..from.u32()? {
                words.push(from.text()?);
            }
            Stopwords::Listed(words.into())
        }
        _ => return Err(damaged()),
    };
    Ok(Some(Tokenizer { parser, chars_min, chars_max, stopwords }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_come_back() {
        let options = TableOptions {
            compression: Compression::ZSTD,
            compression_level: Some(3),
            atomic_writes: AtomicWrites::Off,
            encrypted: true,
            discarded: true,
            comment: "c\u{e4}".into(),
            create_options: vec![("COMPRESSION".into(), "zstd".into())],
            ..TableOptions::default()
        };
        let key = ForeignKey {
            name: "t_ibfk_1".into(),
            columns: vec!["a".into()],
            parent_database: "d".into(),
            parent: "p".into(),
            parent_columns: vec!["b".into()],
            on_delete: ReferentialAction::Cascade,
            on_update: ReferentialAction::SetNull,
        };
        let check = Check { name: "t_chk_1".into(), condition: "(`a` > 0)".into(), enforced: false };
        let identity = Identity {
            id: TableId(9),
            space: SpaceId(8),
            created_us: 7,
            indexes: vec![(IndexId(6), PageNo(4))],
            row_versions: None,
            partitions: Vec::new(),
        };
        let field = |column, default| VersionedField { column, added: 1, default };
        let dropped = |length| FieldColumn::Dropped { version: 2, length, nullable: true };
        let versions = Box::new(RowVersions {
            current: 2,
            fields: vec![
                field(FieldColumn::Column(300), Some([1, 2].into())),
                field(dropped(Length::Fixed(8)), None),
                field(dropped(Length::Variable { max: 300, blob: false }), Some([].into())),
                field(dropped(Length::Variable { max: u32::MAX, blob: true }), None),
            ],
        });
        let part = PartitionDefinition {
            name: "p0".into(),
            subpartition: Some("s".into()),
            compression: Some((Compression::LZ4, None)),
            discarded: true,
        };
        let facts = TableFacts {
            options: options.clone(),
            foreign_keys: vec![key],
            checks: vec![check],
            partitioning: Some(Box::new(Partitioning { rule: "HASH (`a`)".into(), parts: vec![part] })),
            row_versions: Some(versions.clone()),
            partitions: vec![Identity { row_versions: Some(versions), ..identity }],
        };
        assert_eq!(read_options(&write_options(&facts)).unwrap(), facts);
        // As earlier versions wrote them.
        let options = TableOptions { discarded: false, ..options };
        let plain = TableFacts { options: options.clone(), ..TableFacts::default() };
        let written = write_options(&plain);
        let mut eighth = written[..written.len() - 1].to_vec();
        eighth[0] = 8;
        assert_eq!(read_options(&eighth).unwrap(), plain);
        let mut seventh = written[..written.len() - 2].to_vec();
        seventh[0] = 7;
        assert_eq!(read_options(&seventh).unwrap(), plain);
        let mut sixth = written[..written.len() - 3].to_vec();
        sixth[0] = 6;
        assert_eq!(read_options(&sixth).unwrap(), plain);
        let mut second = written[..written.len() - 11].to_vec();
        second[0] = 2;
        assert_eq!(read_options(&second).unwrap(), plain);
        let mut first = written[..written.len() - 13].to_vec();
        first[0] = 1;
        let read = read_options(&first).unwrap().options;
        assert_eq!(read, TableOptions { atomic_writes: AtomicWrites::Default, encrypted: false, ..options });
        let column = Column {
            name: "a".into(),
            ty: ColumnType::Int { bytes: 4, unsigned: true },
            nullable: true,
            default: ColumnDefault::Literal(vec![0, 0, 0, 7]),
            on_update_now: false,
            auto_increment: true,
            comment: "".into(),
            invisible: false,
            explicit_collation: true,
            boolean: true,
            zerofill: Some(5),
            generated: Some(Generated { expression: "(`b` + 1)".into(), stored: true, hidden: false }),
        };
        let written = write_column(&column);
        assert_eq!(read_column(&written).unwrap(), column);
        let column = Column { zerofill: None, generated: None, ..column };
        let written = write_column(&column);
        assert_eq!(read_column(&written).unwrap(), column);
        let mut fourth = written[..written.len() - 3].to_vec();
        fourth[0] = 4;
        assert_eq!(read_column(&fourth).unwrap(), Column { boolean: false, ..column.clone() });
        let mut third = written[..written.len() - 4].to_vec();
        third[0] = 3;
        assert_eq!(read_column(&third).unwrap(), Column { boolean: false, explicit_collation: false, ..column });
        let index = IndexDefinition {
            name: "i".into(),
            unique: true,
            parts: vec![IndexPart { column: 3, prefix_chars: Some(10), order: PartOrder::Descending, elements: None }],
            algorithm: Some("BTREE".into()),
            generated: true,
            ..IndexDefinition::default()
        };
        let written = write_index(&index);
        assert_eq!(read_index(&written).unwrap(), index);
        let mut third = written[..written.len() - 1].to_vec();
        third[0] = 3;
        let ascends = |mut index: IndexDefinition| {
            index.parts[0].order = PartOrder::DescendingInName;
            index
        };
        assert_eq!(read_index(&third).unwrap(), ascends(IndexDefinition { generated: false, ..index.clone() }));
        // The order of a tree stays, whichever version writes its row next.
        let mut ninth = written.clone();
        ninth[0] = 9;
        let old = read_index(&ninth).unwrap();
        assert_eq!(old, ascends(index));
        assert_eq!(read_index(&write_index(&old)).unwrap(), old);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let bytes = write_options(&TableFacts::default());
        for end in 0..bytes.len() {
            assert!(read_options(&bytes[..end]).is_err());
        }
    }
}
