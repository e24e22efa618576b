//! From a definition to a description: which index is clustered, and which fields each index's records have.

use std::sync::Arc;

use format::collation::Collation;
use format::ids::{IndexId, PageNo, SpaceId, TableId};
use format::record::ROW_VERSIONS_MAX;
use format::value::ColumnType;

use crate::error::{Error, Result};
use crate::schema::{
    COLUMNS_MAX, Derived, FieldColumn, FieldSource, INDEX_PARTS_MAX, INDEXES_MAX, Index, IndexDefinition, IndexField,
    IndexPart, ROW_ID_INDEX, RowVersions, Table, TableDefinition, TableState, partitions::PARTITIONS_MAX, same_name,
};

/// The ids and root pages of a table that is being created or loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub id: TableId,
    pub space: SpaceId,
    pub created_us: u64,
    /// Of each index, in the order that [`index_order`] gives.
    pub indexes: Vec<(IndexId, PageNo)>,
    /// If its rows are of several versions.
    pub row_versions: Option<Box<RowVersions>>,
    /// Of each partition.
    pub partitions: Vec<Identity>,
}

impl Identity {
    /// The numbers of a table that exists.
    pub fn of(table: &Table) -> Identity {
        Identity {
            id: table.id,
            space: table.space,
            created_us: table.created_us,
            indexes: table.indexes.iter().map(|index| (index.id, index.root)).collect(),
            row_versions: table.row_versions.clone(),
            partitions: table.partitions.iter().map(|partition| Identity::of(partition)).collect(),
        }
    }
}

/// The indexes of a definition in the order in which the table has them: the clustered one first (added if there is
/// none: see [`TableDefinition`]), then the others as given.
pub fn index_order(definition: &TableDefinition) -> Vec<IndexDefinition> {
    let whole_and_not_null = |index: &IndexDefinition| {
        index.unique
            && !index.has_several_entries()
            && index.parts.iter().all(|part| !definition.columns[part.column].nullable && part.prefix_chars.is_none())
    };
    let mut order = definition.indexes.clone();
    let clustered = order.iter().position(|index| index.primary).or_else(|| order.iter().position(whole_and_not_null));
    match clustered {
        Some(at) => order[..=at].rotate_right(1),
        None => order.insert(0, IndexDefinition { name: ROW_ID_INDEX.into(), ..IndexDefinition::default() }),
    }
    order
}

/// How many indexes a table of this definition has.
pub fn index_count(definition: &TableDefinition) -> usize {
    index_order(definition).len()
}

/// Whether a table with this definition is possible.
pub fn validate(definition: &TableDefinition) -> Result<()> {
    let wrong = |what: String| Err(Error::Unsupported(what.into()));
    if definition.columns.is_empty() || definition.columns.len() > COLUMNS_MAX {
        return wrong(format!("a table with {} columns", definition.columns.len()));
    }
    if definition.indexes.len() > INDEXES_MAX + 1 {
        return wrong(format!("a table with {} indexes", definition.indexes.len()));
    }
    for (at, column) in definition.columns.iter().enumerate() {
        if definition.columns[..at].iter().any(|other| same_name(&other.name, &column.name)) {
            return Err(Error::Exists(format!("column {}", column.name).into()));
        }
    }
    for (at, index) in definition.indexes.iter().enumerate() {
        if index.parts.is_empty() || index.parts.len() > INDEX_PARTS_MAX {
            return wrong(format!("an index of {} columns", index.parts.len()));
        }
        if index.parts.iter().any(|part| part.column >= definition.columns.len()) {
            return Err(Error::NotFound(format!("a column of index {}", index.name).into()));
        }
        if definition.indexes[..at].iter().any(|other| same_name(&other.name, &index.name)) {
            return Err(Error::Exists(format!("index {}", index.name).into()));
        }
        validate_several(definition, index)?;
    }
    Ok(())
}

/// Whether an index of which a row has several entries is possible.
fn validate_several(definition: &TableDefinition, index: &IndexDefinition) -> Result<()> {
    let wrong = || Err(Error::Unsupported(format!("the parts of index {}", index.name).into()));
    let arrays = index.parts.iter().filter(|part| part.elements.is_some()).count();
    if arrays > 1 || arrays == 1 && (index.primary || index.fulltext.is_some()) {
        return wrong();
    }
    // Each partition would have an index of its own, and how often a word is in all of them nobody counts.
    if definition.partitioning.is_some() && index.fulltext.is_some() {
        return wrong();
    }
    if index.fulltext.is_none() {
        return Ok(());
    }
    let collation = |part: &IndexPart| match &definition.columns[part.column].ty {
        ColumnType::Char { collation, .. } | ColumnType::VarChar { collation, .. } => Some(*collation),
        ColumnType::Text { collation, .. } => Some(*collation),
        _ => None,
    };
    let first = collation(&index.parts[0]);
    let alike = |part: &IndexPart| part.prefix_chars.is_none() && collation(part) == first;
    if first.is_none() || index.unique || index.primary || !index.parts.iter().all(alike) { wrong() } else { Ok(()) }
}

/// The description of a table, with its partitions.
pub fn describe(definition: &TableDefinition, identity: &Identity) -> Result<Table> {
    let mut table = describe_one(definition, identity)?;
    let Some(partitioning) = &definition.partitioning else { return Ok(table) };
    let parts = &partitioning.parts;
    if parts.is_empty() || parts.len() > PARTITIONS_MAX || parts.len() != identity.partitions.len() {
        return Err(Error::corrupt("the partitions of a table"));
    }
    let mut one = definition.clone();
    (one.partitioning, one.foreign_keys, one.checks) = (None, Vec::new(), Vec::new());
    for (part, identity) in parts.iter().zip(&identity.partitions) {
        if identity.indexes.len() != table.indexes.len() {
            return Err(Error::corrupt("the indexes of a partition"));
        }
        one.options = part.options(&definition.options);
        let mut described = describe_one(&one, identity)?;
        described.partition = Some(Box::new(part.clone()));
        table.discarded |= described.discarded;
        table.partitions.push(Arc::new(described));
    }
    Ok(table)
}

fn describe_one(definition: &TableDefinition, identity: &Identity) -> Result<Table> {
    validate(definition)?;
    let order = index_order(definition);
    assert_eq!(order.len(), identity.indexes.len(), "every index has its numbers");
    let mut indexes: Vec<Index> = Vec::with_capacity(order.len());
    for (asked, (id, root)) in order.into_iter().zip(&identity.indexes) {
        let clustered_fields = indexes.first().map(|clustered| &clustered.fields[..clustered.unique_fields]);
        let (fields, unique_fields) = match clustered_fields {
            None => clustered(definition, &asked, identity.row_versions.as_deref())?,
            Some(key) => secondary(definition, &asked, key),
        };
        let several = asked.has_several_entries();
        let field_of_column = (0..definition.columns.len() as u16)
            .map(|column| {
                let whole = |field: &IndexField| !several && field.is_whole(FieldSource::Column(column));
                fields.iter().position(whole).map(|at| at as u16)
            })
            .collect();
        indexes.push(Index {
            id: *id,
            unique: asked.unique || asked.primary,
            name: asked.name,
            primary: asked.primary,
            parts: asked.parts,
            comment: asked.comment,
            algorithm: asked.algorithm,
            invisible: asked.invisible,
            generated: asked.generated,
            fulltext: asked.fulltext,
            space: identity.space,
            root: *root,
            clustered: indexes.is_empty(),
            fields,
            unique_fields,
            field_of_column,
        });
    }
    Ok(Table {
        id: identity.id,
        database: definition.database.clone(),
        name: definition.name.clone(),
        space: identity.space,
        columns: definition.columns.clone(),
        indexes,
        foreign_keys: definition.foreign_keys.clone(),
        checks: definition.checks.clone(),
        options: definition.options.clone(),
        discarded: definition.options.discarded,
        row_versions: identity.row_versions.clone(),
        partitioning: definition.partitioning.clone(),
        partitions: Vec::new(),
        partition: None,
        auto_increment: definition.columns.iter().position(|column| column.auto_increment),
        created_us: identity.created_us,
        state: Arc::new(TableState::default()),
        derived: Derived::default(),
        routing: Derived::default(),
    })
}

/// The fields of a declared index.
fn declared(definition: &TableDefinition, index: &IndexDefinition) -> Vec<IndexField> {
    if index.fulltext.is_some() {
        return vec![whole(FieldSource::Word)];
    }
    let field = |part: &IndexPart| {
        if part.elements.is_some() {
            return whole(FieldSource::Element(part.column as u16));
        }
        let ty = &definition.columns[part.column].ty;
        let chars = part.prefix_chars.filter(|chars| !covers(ty, *chars));
        IndexField {
            source: FieldSource::Column(part.column as u16),
            prefix_bytes: chars.map(|chars| prefix_bytes(ty, chars)),
            prefix_chars: chars,
            descending: part.order.descends(),
        }
    };
    index.parts.iter().map(field).collect()
}

/// Whether a prefix of this many characters is the whole column.
fn covers(ty: &ColumnType, prefix_chars: u32) -> bool {
    match *ty {
        ColumnType::Char { chars, .. } | ColumnType::VarChar { chars, .. } => prefix_chars >= chars,
        ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => prefix_chars >= bytes,
        _ => false,
    }
}

/// The most bytes that a prefix of this many characters takes.
fn prefix_bytes(ty: &ColumnType, chars: u32) -> u32 {
    match ty.collation() {
        Some(id) => Collation::by_id(id).map_or(1, |collation| u32::from(collation.charset.bytes_max())) * chars,
        None => chars,
    }
}

fn whole(source: FieldSource) -> IndexField {
    IndexField { source, prefix_bytes: None, prefix_chars: None, descending: false }
}

fn clustered(
    definition: &TableDefinition,
    asked: &IndexDefinition,
    row_versions: Option<&RowVersions>,
) -> Result<(Vec<IndexField>, usize)> {
    let mut fields = declared(definition, asked);
    if fields.is_empty() {
        fields.push(whole(FieldSource::RowId));
    }
    let key = fields.len();
    fields.push(whole(FieldSource::TrxId));
    fields.push(whole(FieldSource::RollPtr));
    let columns = (0..definition.columns.len() as u16).map(|column| whole(FieldSource::Column(column)));
    let is_in_key = |field: &IndexField| fields[..key].iter().any(|own| own.is_whole(field.source));
    let others: Vec<IndexField> = columns.filter(|field| !is_in_key(field)).collect();
    match row_versions {
        None => fields.extend(others),
        Some(versions) => fields.extend(versioned(versions, &others)?),
    }
    Ok((fields, key))
}

/// The fields of rows of several versions, which have these columns behind the system fields.
fn versioned(versions: &RowVersions, columns: &[IndexField]) -> Result<Vec<IndexField>> {
    let wrong = || Error::corrupt("the row versions of a table");
    let mut fields = Vec::with_capacity(versions.fields.len());
    for (number, field) in versions.fields.iter().enumerate() {
        let (source, dropped) = match field.column {
            FieldColumn::Column(column) => (FieldSource::Column(column), None),
            FieldColumn::Dropped { version, .. } => (FieldSource::Dropped(number as u16), Some(version)),
        };
        let lives = dropped.is_none_or(|version| field.added < version && version <= versions.current);
        if !lives || field.added > versions.current || dropped.is_none() && !columns.contains(&whole(source)) {
            return Err(wrong());
        }
        fields.push(whole(source));
    }
    let has_once = |column: &IndexField| fields.iter().filter(|field| *field == column).count() == 1;
    if versions.current > ROW_VERSIONS_MAX || !columns.iter().all(has_once) {
        return Err(wrong());
    }
    Ok(fields)
}

/// All fields together order the records: the last ones identify the row.
fn secondary(definition: &TableDefinition, asked: &IndexDefinition, key: &[IndexField]) -> (Vec<IndexField>, usize) {
    let mut fields = declared(definition, asked);
    for field in key {
        if !fields.iter().any(|own| own.is_whole(field.source)) {
            fields.push(*field);
        }
    }
    if asked.fulltext.is_some() {
        fields.push(whole(FieldSource::Frequency));
    }
    let count = fields.len();
    (fields, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Column;

    fn column(name: &str, nullable: bool) -> Column {
        Column::new(name, ColumnType::Int { bytes: 4, unsigned: false }, nullable)
    }

    fn table(indexes: Vec<IndexDefinition>) -> Table {
        let definition = TableDefinition {
            database: "d".into(),
            name: "t".into(),
            columns: vec![column("a", false), column("b", true), column("c", false)],
            indexes,
            ..TableDefinition::default()
        };
        let count = index_order(&definition).len() as u64;
        let identity = Identity {
            id: TableId(1),
            space: SpaceId(1),
            created_us: 0,
            indexes: (1..=count).map(|id| (IndexId(id), PageNo(3))).collect(),
            row_versions: None,
            partitions: Vec::new(),
        };
        describe(&definition, &identity).unwrap()
    }

    #[test]
    fn the_primary_key_comes_first_and_lends_its_columns_to_the_others() {
        use FieldSource::{Column, RollPtr, TrxId};
        let table = table(vec![IndexDefinition::new("b", false, &[1]), IndexDefinition::new("PRIMARY", true, &[2])]);
        let sources = |at: usize| table.indexes[at].fields.iter().map(|field| field.source).collect::<Vec<_>>();
        assert_eq!(sources(0), [Column(2), TrxId, RollPtr, Column(0), Column(1)]);
        assert_eq!(sources(1), [Column(1), Column(2)]);
        assert_eq!((table.indexes[0].unique_fields, table.indexes[1].unique_fields), (1, 2));
        assert_eq!(table.indexes[1].field_of_column, [None, Some(0), Some(1)]);
    }

    #[test]
    fn without_a_primary_key_a_unique_one_or_the_row_id_takes_its_place() {
        let with_unique = table(vec![IndexDefinition::new("b", true, &[1]), IndexDefinition::new("c", true, &[2])]);
        assert_eq!((&*with_unique.indexes[0].name, &*with_unique.indexes[1].name), ("c", "b"));
        let hidden = table(vec![IndexDefinition::new("b", true, &[1])]);
        assert!(hidden.has_row_id());
        assert_eq!(hidden.indexes[0].fields[0].source, FieldSource::RowId);
        assert_eq!(hidden.indexes[1].fields.len(), 2);
    }
}
