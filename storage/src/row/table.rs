//! A table with its trees: the description of the dictionary, and what is needed to turn rows into records.

use std::ops::Deref;
use std::sync::Arc;

use format::collation::CollationId;
use format::fulltext::{Analyzer, FREQUENCY_BYTES_MAX, WORD_CHARS_MAX};
use format::ids::TableId;
use format::record::{FieldLayout, FieldSpan, Layout, Length};
use format::value::ColumnType;

use super::change_log::{ChangeLog, ChangeLogPlace};
use super::several::{NO_SOURCE, Several};
use crate::btree::Tree;
use crate::error::{Error, Result};
use crate::schema::{self, FieldColumn, FieldSource, Index, VersionedField};
use crate::store::Store;

/// A table that can be read and written. Derefs to its description.
#[derive(Debug)]
pub struct Table {
    schema: Arc<schema::Table>,
    trees: Vec<IndexTree>,
    /// For each field of the clustered record: the most bytes that a secondary index has of it, 0 if none has it.
    indexed: Box<[u32]>,
    /// For each field of the clustered record: what indexes compute several entries from it.
    computed: Box<[Computed]>,
    /// Of a table that is divided: where its rows are. It has no trees itself.
    partitions: Vec<Arc<Table>>,
    row_log: ChangeLogPlace,
}

/// What indexes compute several entries from a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Computed {
    /// Full-text ones: without the row's other fields.
    words: bool,
    /// Multi-valued ones: together with other fields.
    elements: bool,
}

/// An index: its tree, and where its fields come from.
#[derive(Debug)]
pub struct IndexTree {
    pub tree: Tree,
    /// For each field of a leaf record, the field of the clustered record that holds its column whole; [`NO_SOURCE`] for
    /// what is computed.
    pub sources: Box<[u16]>,
    /// How a row's several entries are computed, if there are several.
    pub several: Option<Several>,
    /// For each key field of the clustered record, the field of this index's record that holds it.
    pub key_at: Box<[u16]>,
}

impl Deref for Table {
    type Target = schema::Table;
    #[inline]
    fn deref(&self) -> &schema::Table {
        &self.schema
    }
}

/// The layout of an index's leaf records.
pub fn layout(table: &schema::Table, index: &Index) -> Layout {
    let fields: Vec<FieldLayout> = index
        .fields
        .iter()
        .map(|field| match field.source {
            FieldSource::RowId | FieldSource::TrxId => FieldLayout::fixed(6),
            FieldSource::RollPtr => FieldLayout::fixed(7),
            FieldSource::Word => {
                let collation = collation_of(table, index.parts[0].column);
                ColumnType::VarChar { chars: u32::from(WORD_CHARS_MAX), collation }.layout(false)
            }
            FieldSource::Frequency => FieldLayout::variable(FREQUENCY_BYTES_MAX as u32, false),
            FieldSource::Dropped(field) => dropped_field(table, field),
            FieldSource::Element(column) => {
                let part = index.parts.iter().find(|part| part.column == usize::from(column));
                let elements = part.and_then(|part| part.elements.as_ref());
                elements.expect("an element of a part with elements").layout(true)
            }
            FieldSource::Column(column) => {
                let column = &table.columns[usize::from(column)];
                let whole = column.ty.layout(column.nullable);
                match (whole.length, field.prefix_bytes) {
                    (Length::Fixed(bytes), Some(prefix)) if prefix < u32::from(bytes) => {
                        FieldLayout { length: Length::Fixed(prefix as u16), ..whole }
                    }
                    // How lengths are written depends on the column, not on how much of it is taken.
                    _ => whole,
                }
            }
        })
        .zip(&index.fields)
        .map(|(layout, field)| layout.descending(field.descending))
        .collect();
    if !index.clustered {
        return Layout::secondary(fields);
    }
    let layout = Layout::clustered(fields, index.unique_fields);
    let Some(versions) = &table.row_versions else { return layout };
    let mut spans = vec![FieldSpan::ALWAYS; index.unique_fields + 2];
    spans.extend(versions.fields.iter().map(VersionedField::span));
    layout.with_versions(spans, versions.current)
}

/// How records that have a dropped column are read.
fn dropped_field(table: &schema::Table, field: u16) -> FieldLayout {
    let field = table.row_versions.as_ref().and_then(|versions| versions.fields.get(usize::from(field)));
    match field.map(|field| &field.column) {
        Some(FieldColumn::Dropped { length, nullable, .. }) => {
            FieldLayout { length: *length, ..FieldLayout::fixed(0).nullable(*nullable) }
        }
        _ => unreachable!("a dropped field is one of the row versions"),
    }
}

/// The collation of a column that holds text.
fn collation_of(table: &schema::Table, column: usize) -> CollationId {
    table.columns[column].ty.collation().unwrap_or(CollationId::BINARY)
}

impl Table {
    /// Opens the trees of a table, and of its partitions, whose tablespaces are open.
    pub fn open(store: &Store, schema: Arc<schema::Table>) -> Result<Table> {
        if schema.is_partitioned() {
            let open = |one: &Arc<schema::Table>| Table::open(store, one.clone()).map(Arc::new);
            let partitions = schema.partitions.iter().map(open).collect::<Result<_>>()?;
            return Ok(Table {
                schema,
                trees: Vec::new(),
                indexed: Box::default(),
                computed: Box::default(),
                partitions,
                row_log: ChangeLogPlace::default(),
            });
        }
        let clustered = &schema.indexes[0];
        let mut indexed = vec![0_u32; clustered.fields.len()].into_boxed_slice();
        let mut computed = vec![Computed::default(); clustered.fields.len()].into_boxed_slice();
        let mut trees = Vec::with_capacity(schema.indexes.len());
        for index in &schema.indexes {
            let tree = Tree::open(store, index.space, index.root, index.id, layout(&schema, index))?;
            let sources: Box<[u16]> = match index.clustered {
                true => (0..index.fields.len() as u16).collect(),
                false => {
                    index.fields.iter().map(|field| whole_field(clustered, field.source)).collect::<Result<_>>()?
                }
            };
            if !index.clustered {
                for (field, &source) in index.fields.iter().zip(&sources).filter(|(_, source)| **source != NO_SOURCE) {
                    let bytes = &mut indexed[usize::from(source)];
                    *bytes = (*bytes).max(field.prefix_bytes.unwrap_or(u32::MAX));
                }
            }
            let field_of = |column: usize| whole_field(clustered, FieldSource::Column(column as u16));
            let several = Several::of(index, |column| collation_of(&schema, column), field_of)?;
            for &field in several.iter().flat_map(Several::fields) {
                let computed = &mut computed[usize::from(field)];
                match several {
                    Some(Several::Words { .. }) => computed.words = true,
                    _ => computed.elements = true,
                }
            }
            let key_at = (0..clustered.unique_fields)
                .map(|key| {
                    let key = &clustered.fields[key];
                    let found = index.fields.iter().rposition(|field| {
                        let enough = field.prefix_bytes.is_none() || field.prefix_bytes == key.prefix_bytes;
                        field.source == key.source && enough
                    });
                    found.map(|at| at as u16).ok_or_else(|| Error::corrupt("an index without the clustered key"))
                })
                .collect::<Result<_>>()?;
            trees.push(IndexTree { tree, sources, several, key_at });
        }
        Ok(Table { schema, trees, indexed, computed, partitions: Vec::new(), row_log: ChangeLogPlace::default() })
    }

    /// Where the rows of a table that is divided are.
    #[inline]
    pub fn partitions(&self) -> &[Arc<Table>] {
        &self.partitions
    }

    /// What has trees: the partitions, or the table itself.
    pub fn files(self: &Arc<Table>) -> &[Arc<Table>] {
        if self.schema.is_partitioned() { &self.partitions } else { std::slice::from_ref(self) }
    }

    #[inline]
    pub fn schema(&self) -> &Arc<schema::Table> {
        &self.schema
    }

    /// The tree of the clustered index.
    #[inline]
    pub fn rows(&self) -> &Tree {
        &self.trees[0].tree
    }

    #[inline]
    pub fn tree(&self, index: usize) -> &Tree {
        &self.trees[index].tree
    }

    #[inline]
    pub fn index_tree(&self, index: usize) -> &IndexTree {
        &self.trees[index]
    }

    /// The secondary indexes, by their ordinals.
    #[inline]
    pub fn secondary(&self) -> impl Iterator<Item = usize> + use<> {
        1..self.trees.len()
    }

    /// How many leading fields of the clustered record are its key.
    #[inline]
    pub fn key_fields(&self) -> usize {
        self.schema.indexes[0].unique_fields
    }

    /// Whether some secondary index has this field of the clustered record.
    #[inline]
    pub fn is_indexed(&self, field: usize) -> bool {
        self.indexed[field] > 0 || self.computed[field] != Computed::default()
    }

    /// Whether some secondary index needs this field of the clustered record to find its entries when another field has
    /// changed.
    #[inline]
    pub fn is_needed_beside(&self, field: usize) -> bool {
        self.indexed[field] > 0 || self.computed[field].elements
    }

    /// Whether several entries are computed from this field of the clustered record.
    #[inline]
    pub fn is_computed_from(&self, field: usize) -> bool {
        self.computed[field] != Computed::default()
    }

    /// The most bytes that a secondary index has of this field of the clustered record.
    #[inline]
    pub fn indexed_bytes(&self, field: usize) -> usize {
        self.indexed[field] as usize
    }

    /// Whether an index has a field of the clustered record.
    #[inline]
    pub fn index_has(&self, index: usize, field: usize) -> bool {
        let of = &self.trees[index];
        let computed = of.several.as_ref().map_or(&[][..], Several::fields);
        of.sources.iter().chain(computed).any(|source| usize::from(*source) == field)
    }

    /// How a full-text index cuts texts.
    pub fn analyzer(&self, index: usize) -> Option<&Analyzer> {
        match &self.trees[index].several {
            Some(Several::Words { analyzer, .. }) => Some(analyzer),
            _ => None,
        }
    }

    /// The log of changes, while indexes are built beside them.
    #[inline]
    pub(super) fn row_log(&self) -> Option<Arc<dyn ChangeLog>> {
        self.row_log.get()
    }

    /// Where the log begins and ends.
    pub fn row_log_place(&self) -> &ChangeLogPlace {
        &self.row_log
    }

    #[inline]
    pub fn table_id(&self) -> TableId {
        self.schema.id
    }
}

/// The field of the clustered record that holds what a field of another index is made from.
fn whole_field(clustered: &Index, source: FieldSource) -> Result<u16> {
    let found = match source {
        FieldSource::Column(column) => clustered.field_of_column[usize::from(column)],
        FieldSource::Word | FieldSource::Frequency | FieldSource::Element(_) => Some(NO_SOURCE),
        other => clustered.fields.iter().position(|field| field.source == other).map(|at| at as u16),
    };
    found.ok_or_else(|| Error::corrupt("an index on a column that no row has"))
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.schema.fmt(f)
    }
}
