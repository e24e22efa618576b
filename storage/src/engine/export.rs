//! FLUSH TABLES ... FOR EXPORT: files that may be copied while the server runs, each with its description beside it.
//!
//! The caller keeps writers away. Purge stands still meanwhile, so that nothing else changes a page either; then all dirty pages
//! are written, and what is on disk is the table.
//!
//! The descriptions go when the tables are unlocked. Before they are made, the DDL log is told so: if the server is killed, the
//! next start removes them.

use std::sync::Arc;

use format::record::Length;
use format::transport::{self, Description, Type};

use super::{Engine, Inner, auto_increment};
use crate::dictionary::{self, Action, Table, codec, description_path};
use crate::error::{Error, Result};
use crate::io::{Caching, Disk, OpenMode};
use crate::row;
use crate::schema::{self, FieldSource};

/// InnoDB's flags of a table with DYNAMIC rows.
const DYNAMIC: u32 = 0x21;

/// Tables whose files may be copied until this is dropped. Then the descriptions go.
pub struct Exported {
    inner: Arc<Inner>,
    /// The entries of the DDL log that remove the descriptions.
    removals: Vec<(u64, Action)>,
}

impl Engine {
    /// Makes the files of tables complete, and describes them. Nobody can change the tables until the result is dropped.
    pub fn export(&self, tables: &[Arc<Table>], host: &str) -> Result<Exported> {
        let inner = &self.inner;
        let mut exported = Exported { inner: inner.clone(), removals: Vec::new() };
        inner.purging.stop();
        // What purge is doing now ends before.
        drop(inner.dictionary.stop_purge());
        let files = || tables.iter().flat_map(|table| table.files());
        let mut removals = Vec::new();
        for file in files() {
            let space = dictionary::new_ids(&inner.store, 0)?.space;
            removals.push(Action::DropSpace { space, path: description_path(file).into() });
        }
        exported.removals = dictionary::leave_actions(&inner.context(), &inner.dictionary, removals)?;
        for file in files() {
            inner.store.flush_space(file.space)?;
            let description = describe(inner, file, host)?.write();
            write(&**inner.store.disk(), &description_path(file), &description)?;
        }
        Ok(exported)
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        let removals = std::mem::take(&mut self.removals);
        // One that stays says what was true; the next export replaces it, and the next start removes it.
        if let Err(cause) = dictionary::run_actions(&self.inner.context(), &self.inner.dictionary, removals) {
            tracing::warn!("remove the descriptions of exported tables: {cause}");
        }
        self.inner.purging.go_on();
    }
}

fn write(disk: &dyn Disk, path: &str, bytes: &[u8]) -> Result<()> {
    let failed = |cause| Error::from_io("write the description of an exported table", cause);
    if disk.exists(path).map_err(failed)? {
        disk.remove(path).map_err(failed)?;
    }
    let file = disk.open(path, OpenMode::Create, Caching::Cached).map_err(failed)?;
    file.write_at(0, bytes).and_then(|()| file.sync()).map_err(failed)
}

fn describe(inner: &Inner, file: &row::Table, host: &str) -> Result<Description> {
    let is_own = file.row_versions.is_some()
        || file.columns.iter().any(|column| column.generated.as_ref().is_some_and(|generated| !generated.stored));
    let orders = |column: usize| file.indexes.iter().any(|index| index.has_part(column));
    let prefix = |column: usize| {
        let fields = file.indexes.iter().flat_map(|index| &index.fields);
        let own = fields.filter(|field| field.source == FieldSource::Column(column as u16));
        own.filter_map(|field| field.prefix_bytes).max().unwrap_or(0)
    };
    let column = |(at, column): (usize, &schema::Column)| transport::Column {
        name: column.name.to_string(),
        ty: Type::of(&column.ty, column.nullable),
        orders: orders(at),
        prefix_bytes: prefix(at),
        instant: false,
    };
    let system = |(number, name, bytes): (u32, &str, u32), orders: bool| transport::Column {
        name: name.into(),
        ty: Type { precise: 0x100 | number, kind: 8, bytes, characters: 0 },
        orders,
        prefix_bytes: 0,
        instant: false,
    };
    let mut columns: Vec<_> = file.columns.iter().enumerate().map(column).collect();
    columns.push(system((0, "DB_ROW_ID", 6), file.has_row_id()));
    columns.push(system((1, "DB_TRX_ID", 6), false));
    columns.push(system((2, "DB_ROLL_PTR", 7), false));
    let last = auto_increment::read_last_given(&inner.store, file)?;
    Ok(Description {
        host: host.into(),
        table: format!("{}/{}", file.database, file.file_name()),
        auto_increment: if file.auto_increment.is_some() { last.saturating_add(1) } else { 0 },
        page_bytes: inner.store.page_bytes() as u32,
        flags: DYNAMIC,
        columns,
        // InnoDB has other trees for full-text indexes.
        indexes: file.indexes.iter().filter(|index| !index.has_several_entries()).map(|of| index(file, of)).collect(),
        own: is_own.then(|| codec::write_rows_of_versions(file.row_versions.as_deref())),
    })
}

fn index(table: &row::Table, index: &schema::Index) -> transport::Index {
    let layout = row::layout(table, index);
    let name = |source: FieldSource| match source {
        FieldSource::Column(column) => &*table.columns[usize::from(column)].name,
        FieldSource::RowId => "DB_ROW_ID",
        FieldSource::TrxId => "DB_TRX_ID",
        FieldSource::RollPtr => "DB_ROLL_PTR",
        FieldSource::Word | FieldSource::Frequency | FieldSource::Element(_) | FieldSource::Dropped(_) => "-",
    };
    let fixed = |at: usize| match layout.fields()[at].length {
        Length::Fixed(bytes) => u32::from(bytes),
        Length::Variable { .. } => 0,
    };
    let fields = index.fields.iter().enumerate().map(|(at, field)| transport::IndexField {
        name: name(field.source).into(),
        prefix_bytes: field.prefix_bytes.unwrap_or(0),
        fixed_bytes: fixed(at),
        descending: layout.fields()[at].descending,
    });
    let key = 0..index.unique_fields;
    let key_bytes: u32 = key.clone().map(fixed).sum();
    let is_constant = index.clustered && key.clone().all(|at| fixed(at) > 0);
    let unique = index.unique || index.is_hidden() && index.clustered;
    transport::Index {
        name: index.name.to_string(),
        id: index.id.0,
        space: index.space.0,
        root: index.root.0,
        kind: u32::from(index.clustered) | if index.unique { 2 } else { 0 },
        trx_id_offset: if is_constant { key_bytes } else { 0 },
        columns: index.parts.len() as u32,
        unique_fields: match (index.clustered, unique) {
            (true, _) => index.unique_fields as u32,
            (false, true) => index.parts.len() as u32,
            (false, false) => index.fields.len() as u32,
        },
        nullable_fields: layout.fields().iter().filter(|field| field.nullable).count() as u32,
        fields: fields.collect(),
    }
}
