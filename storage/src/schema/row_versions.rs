//! Row versions of a table: what its columns were when its rows were written, see `format::record`.
//!
//! A column that is added or dropped at once leaves the rows as they are. The description remembers for each field of the
//! clustered records behind the system fields which versions have it, and what older rows have in its place.
//!
//! ```text
//! CREATE (k, a, b)                            k | a b
//! ADD c DEFAULT 7 FIRST       version 1       k | a b c          columns c, k, a, b
//! DROP a                      version 2       k | (a) b c        columns c, k, b
//! ```
//!
//! A rebuild makes a table without them: its rows are all of version 0.

use format::ids::{RollPtr, TrxId};
use format::page::blob::REFERENCE_BYTES;
use format::record::{FieldSpan, HEADER_BYTES, Length, NEVER, ROW_VERSIONS_MAX};

use super::{COLUMNS_MAX, Column, FieldSource, RowFormat, Table};

/// Values of at most this many bytes always stay in their record: a reference would hardly be shorter.
pub const SHORT_BYTES: usize = 2 * REFERENCE_BYTES;

/// The versions of the rows in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowVersions {
    /// The newest.
    pub current: u8,
    /// The fields of the clustered records behind the system fields, in record order.
    pub fields: Vec<VersionedField>,
}

/// A field, and since and until when records have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedField {
    pub column: FieldColumn,
    /// The first version that has it.
    pub added: u8,
    /// What rows of earlier versions have: the default when it was added. None = NULL.
    pub default: Option<Box<[u8]>>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldColumn {
    /// A column, by its ordinal.
    Column(u16),
    /// What is left of a column that was dropped with a version: how records of earlier ones are read.
    Dropped { version: u8, length: Length, nullable: bool },
}

/// Where a column of a new definition comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// It is the column of this ordinal.
    Old(usize),
    /// It is new, and rows that exist have this value; None = NULL.
    New(Option<Box<[u8]>>),
}

/// Why columns cannot come or go without a change of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInstant {
    /// The table, the columns or the rest of the change are not such that it is possible.
    Impossible,
    /// There are as many versions as there can be.
    Versions,
    /// A row of the longest values would not fit a page, or its older version an undo record.
    RowBytes,
    /// Records would have more fields than there can be, those of dropped columns included.
    Fields,
}

impl VersionedField {
    pub fn span(&self) -> FieldSpan {
        let dropped = match self.column {
            FieldColumn::Column(_) => NEVER,
            FieldColumn::Dropped { version, .. } => version,
        };
        FieldSpan { added: self.added, dropped, default: self.default.clone() }
    }
}

impl RowVersions {
    /// Those of a file as it is.
    fn of(file: &Table) -> RowVersions {
        if let Some(versions) = &file.row_versions {
            return (**versions).clone();
        }
        let clustered = file.clustered();
        let columns = clustered.fields[clustered.unique_fields + 2..].iter();
        let fields = columns.filter_map(|field| match field.source {
            FieldSource::Column(column) => {
                Some(VersionedField { column: FieldColumn::Column(column), added: 0, default: None })
            }
            _ => None,
        });
        RowVersions { current: 0, fields: fields.collect() }
    }

    /// Those of a file whose table gets columns from `sources`: one version more if any come or go.
    pub fn after(file: &Table, sources: &[ColumnSource]) -> RowVersions {
        let mut versions = RowVersions::of(file);
        let version = versions.current + 1;
        let is_old = |source: &&ColumnSource| matches!(source, ColumnSource::Old(_));
        if sources.len() == file.columns.len() && sources.iter().filter(is_old).count() == sources.len() {
            versions.move_columns(file, sources, versions.current);
            return versions;
        }
        versions.move_columns(file, sources, version);
        for (column, source) in sources.iter().enumerate() {
            if let ColumnSource::New(default) = source {
                let column = FieldColumn::Column(column as u16);
                let default = default.clone();
                versions.fields.push(VersionedField { column, added: version, default });
            }
        }
        versions.current = version;
        versions
    }

    /// Bytes of the values that rows of the first version do not have.
    fn default_bytes(file: &Table) -> usize {
        let fields = file.row_versions.iter().flat_map(|versions| &versions.fields);
        fields.filter_map(|field| field.default.as_ref()).map(|default| default.len()).sum()
    }

    fn move_columns(&mut self, file: &Table, sources: &[ColumnSource], version: u8) {
        for field in &mut self.fields {
            let FieldColumn::Column(old) = field.column else { continue };
            let old = usize::from(old);
            field.column = match sources.iter().position(|source| *source == ColumnSource::Old(old)) {
                Some(new) => FieldColumn::Column(new as u16),
                None => {
                    let column = &file.columns[old];
                    // Nobody asks for it any more.
                    field.default = None;
                    let length = column.ty.layout(column.nullable).length;
                    FieldColumn::Dropped { version, length, nullable: column.nullable }
                }
            };
        }
    }
}

impl Table {
    /// How many row versions its file has beside the first.
    pub fn total_row_versions(&self) -> u8 {
        self.row_versions.as_ref().map_or(0, |versions| versions.current)
    }

    /// The value that rows have which are older than a column, if there are such rows.
    pub fn instant_default(&self, column: usize) -> Option<Option<&[u8]>> {
        let fields = &self.files().next()?.row_versions.as_ref()?.fields;
        let field = fields.iter().find(|field| field.column == FieldColumn::Column(column as u16))?;
        (field.added > 0).then_some(field.default.as_deref())
    }

    /// Whether its columns can become `columns`, which come from `sources`, while its rows stay; `row_bytes_max` is what a
    /// record may have. The caller knows what else changes.
    pub fn check_instant(
        &self,
        columns: &[Column],
        sources: &[ColumnSource],
        row_bytes_max: usize,
    ) -> Result<(), NotInstant> {
        let old = |source: &ColumnSource| match source {
            ColumnSource::Old(old) => Some(*old),
            ColumnSource::New(_) => None,
        };
        let kept: Vec<usize> = sources.iter().filter_map(old).collect();
        let is_indexed = |column: usize| self.indexes.iter().any(|index| index.has_part(column));
        if self.space.is_temporary()
            || !kept.is_sorted()
            || (0..self.columns.len()).any(|column| !kept.contains(&column) && is_indexed(column))
            || self.indexes.iter().any(|index| index.fulltext.is_some())
            || self.options.row_format == RowFormat::Compressed
        {
            return Err(NotInstant::Impossible);
        }
        let added = sources.len() - kept.len();
        for file in self.files() {
            if file.total_row_versions() >= ROW_VERSIONS_MAX {
                return Err(NotInstant::Versions);
            }
            // Beside the columns there are transaction id, roll pointer and maybe the row id.
            if file.clustered().fields.len() + added > COLUMNS_MAX + 3 {
                return Err(NotInstant::Fields);
            }
        }
        // What an undo record may have to keep is an old row and all values that it never had.
        let old_defaults = self.files().map(RowVersions::default_bytes).max().unwrap_or(0);
        let new_defaults = sources.iter().map(|source| match source {
            ColumnSource::New(Some(default)) => default.len(),
            _ => 0,
        });
        let default_bytes = old_defaults + new_defaults.sum::<usize>();
        if added > 0 && (self.longest_row(columns) > row_bytes_max || default_bytes > row_bytes_max / 2) {
            return Err(NotInstant::RowBytes);
        }
        Ok(())
    }

    /// The most bytes that a record can have of these columns, when the values that can are moved out of it.
    fn longest_row(&self, columns: &[Column]) -> usize {
        let nullable = columns.iter().filter(|column| column.nullable).count();
        let bytes = |column: &Column| match column.ty.layout(column.nullable).length {
            Length::Fixed(bytes) => usize::from(bytes),
            Length::Variable { max, blob } if blob || max > 255 => (max as usize).min(SHORT_BYTES) + 2,
            Length::Variable { max, .. } => max as usize + 1,
        };
        let clustered = self.clustered();
        let prefixes = clustered.fields[..clustered.unique_fields].iter().filter_map(|field| field.prefix_bytes);
        let hidden = TrxId::BYTES + RollPtr::BYTES + if self.has_row_id() { 6 } else { 0 };
        let data = columns.iter().map(bytes).sum::<usize>() + prefixes.map(|bytes| bytes as usize + 2).sum::<usize>();
        // One byte for the version.
        HEADER_BYTES + 1 + nullable.div_ceil(8) + hidden + data
    }
}
