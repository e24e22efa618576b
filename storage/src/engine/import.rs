//! DISCARD and IMPORT TABLESPACE: the rows of a file that another server has written, or another instance.
//!
//! InnoDB adopts such a file: it gives the pages other numbers and trusts the rest. Here the rows are read out of the clustered
//! index and written anew, as when a table is rebuilt, so
//!
//! * nothing that the file says of itself but its rows becomes part of this instance: page size, checksums, way of compression,
//!   transaction ids, delete marks, free lists, secondary indexes;
//! * all indexes of the table are built, whatever the file has;
//! * a file that is damaged or of another table is refused with its page, and neither it nor the table has changed.
//!
//! ```text
//! DISCARD    the file goes; an empty one under a name of its own takes its place
//! IMPORT     t.ibd --rows--> new file;   t.ibd aside, new file in its place -> rows of the dictionary -> commit
//! ```
//!
//! Tests of this: storage/tests/import.rs, and against files of real servers bench/tests/tablespaces.rs.

use std::sync::Arc;

use format::ids::{IndexId, PageNo, SpaceId, TableId};
use format::page::blob::REFERENCE_BYTES;
use format::page::header::{self, PageType};
use format::page::index;
use format::page::space::ROOT_PAGE;
use format::record::{self, Layout, Length};
use format::transport::{Description, Type};
use format::value::{ColumnType, Json};

use super::build::{Filling, LOOK_ROWS};
use super::{Engine, Inner, RowMap, RowRoute};
use crate::dictionary::{self, Action, Ddl, Identity, codec, description_path, named_path};
use crate::error::{Error, Result};
use crate::io::{Caching, Disk, OpenMode};
use crate::lock::Interrupt;
use crate::row;
use crate::schema::{self, Column, FieldSource, PartOrder, Row, RowVersions, TableDefinition, same_name};
use crate::tablespace::ForeignFile;

/// Pages behind the fixed ones among which the root of the clustered index is looked for: MySQL 8.0 puts its own
/// description before it.
const ROOT_AMONG: u32 = 8;
/// The column that InnoDB adds to a table with full-text indexes, and leaves there.
const DOCUMENT_ID: &str = "FTS_DOC_ID";
/// The most bytes of a description.
const DESCRIPTION_BYTES_MAX: u64 = 16 << 20;

/// A file whose rows are to be imported, and how they are read.
pub(super) struct Source {
    file: ForeignFile,
    root: PageNo,
    /// What the records may be. Without a description beside the file it is not known which server wrote it, and the records
    /// tell.
    forms: Vec<Form>,
    columns: Box<[Column]>,
    /// The next AUTO_INCREMENT value that the description says.
    auto_increment: u64,
    pub is_described: bool,
}

/// Who has written the records of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// An instance of ours: VIRTUAL columns are stored.
    Own,
    /// The same of a version that made ascending trees only.
    OwnAscending,
    /// InnoDB: VIRTUAL columns are not stored.
    InnoDb,
    /// The same with [`DOCUMENT_ID`].
    InnoDbWithDocuments,
}

impl Writer {
    fn is_own(self) -> bool {
        matches!(self, Writer::Own | Writer::OwnAscending)
    }
}

/// One way to read the records of a clustered index.
struct Form {
    layout: Layout,
    /// For each field of a clustered record the column that it holds whole.
    columns: Box<[Option<usize>]>,
    /// The columns, as a description has them.
    described: Vec<(Box<str>, Type)>,
}

impl Source {
    /// Opens the file that lies under the name of a table's file, or of a partition's.
    pub fn open(inner: &Inner, table: &schema::Table) -> Result<Source> {
        let store = &inner.store;
        let described = read_description(&**store.disk(), &description_path(table))?;
        let mut file = ForeignFile::open(&**store.disk(), &named_path(table), store.key_ring())?;
        let mut forms = Vec::new();
        match described.as_ref().and_then(|described| described.own.as_deref()) {
            Some(own) => {
                let damaged = |error: Error| Error::Foreign(format!("{}: {error}", description_path(table)).into());
                let versions = codec::read_rows_of_versions(own).map_err(damaged)?;
                if has_descending_key(table) {
                    forms.push(Form::of(table, Writer::OwnAscending, versions.clone())?);
                }
                forms.push(Form::of(table, Writer::Own, versions)?);
            }
            None => {
                forms.push(Form::of(table, Writer::InnoDb, None)?);
                forms.push(Form::of(table, Writer::InnoDbWithDocuments, None)?);
                // What InnoDB could read, an instance of ours may have written, too.
                forms.push(Form::of(table, Writer::Own, None)?);
                if has_descending_key(table) {
                    forms.push(Form::of(table, Writer::OwnAscending, None)?);
                }
            }
        }
        if let Some(described) = &described {
            let fits = |form: &Form| form.check(described);
            let first = forms.first().map_or(Ok(()), fits);
            forms.retain(|form| fits(form).is_ok());
            if forms.is_empty() {
                first?;
            }
        }
        Ok(Source {
            root: find_root(&mut file)?,
            file,
            forms,
            columns: table.columns.clone().into(),
            auto_increment: described.as_ref().map_or(0, |described| described.auto_increment),
            is_described: described.is_some(),
        })
    }

    /// The last AUTO_INCREMENT value that the description says was given.
    pub fn last_given(&self) -> u64 {
        self.auto_increment.saturating_sub(1)
    }
}

fn read_description(disk: &dyn Disk, path: &str) -> Result<Option<Description>> {
    let file = match disk.open(path, OpenMode::Read, Caching::Cached) {
        Ok(file) => file,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::from_io("open the description of a file to import", cause)),
    };
    let failed = |cause| Error::from_io("read the description of a file to import", cause);
    let bytes = file.len().map_err(failed)?;
    if bytes > DESCRIPTION_BYTES_MAX {
        return Err(Error::Foreign(format!("{path} is too long for the description of a table").into()));
    }
    let mut read = vec![0; bytes as usize];
    file.read_at(0, &mut read).map_err(failed)?;
    Description::read(&read).map(Some).map_err(|error| Error::Foreign(format!("{path}: {error}").into()))
}

impl Form {
    /// How the server that wrote the file reads it: only the clustered index counts.
    fn of(table: &schema::Table, writer: Writer, row_versions: Option<Box<RowVersions>>) -> Result<Form> {
        let is_stored =
            |column: &Column| writer.is_own() || column.generated.as_ref().is_none_or(|generated| generated.stored);
        let kept: Vec<usize> = (0..table.columns.len()).filter(|at| is_stored(&table.columns[*at])).collect();
        let mut columns: Vec<Column> = kept.iter().map(|at| table.columns[*at].clone()).collect();
        if writer == Writer::InnoDbWithDocuments && table.column(DOCUMENT_ID).is_none() {
            columns.push(Column::new(DOCUMENT_ID, ColumnType::Int { bytes: 8, unsigned: true }, false));
        }
        let mut clustered: Vec<_> = match table.clustered().is_hidden() {
            true => Vec::new(),
            false => vec![table.clustered().definition()],
        };
        for part in clustered.iter_mut().flat_map(|index| &mut index.parts) {
            let at = kept.iter().position(|at| *at == part.column);
            part.column = at.ok_or_else(|| Error::SchemaMismatch("a VIRTUAL column is in the primary key".into()))?;
            if part.order.is_declared_descending() {
                part.order = match writer {
                    Writer::OwnAscending => PartOrder::DescendingInName,
                    _ => PartOrder::Descending,
                };
            }
        }
        let described = |column: &Column| (column.name.clone(), Type::of(&column.ty, column.nullable));
        let definition = TableDefinition {
            columns,
            indexes: clustered,
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            partitioning: None,
            ..table.definition()
        };
        let identity = Identity {
            id: TableId(0),
            space: SpaceId(0),
            created_us: 0,
            indexes: vec![(IndexId(0), ROOT_PAGE)],
            row_versions,
            partitions: Vec::new(),
        };
        // The definition is that of a table that exists, so it is the row versions that do not fit.
        let written = dictionary::describe(&definition, &identity)
            .map_err(|_| Error::SchemaMismatch("the file has rows of versions that the table never had".into()))?;
        let index = written.clustered();
        let column = |number: usize| match index.fields[number].source {
            // A column of which the key has the beginning has another field that holds it whole.
            FieldSource::Column(column) if index.field_of_column[usize::from(column)] == Some(number as u16) => {
                kept.get(usize::from(column)).copied()
            }
            _ => None,
        };
        Ok(Form {
            layout: row::layout(&written, index),
            columns: (0..index.fields.len()).map(column).collect(),
            described: written.columns.iter().map(described).collect(),
        })
    }

    /// Whether the columns are those that a description says.
    fn check(&self, described: &Description) -> Result<()> {
        let mismatch = |what: String| Err(Error::SchemaMismatch(what.into()));
        let (own, theirs) = (&self.described, &described.columns);
        if own.len() != theirs.len() {
            return mismatch(format!("the table has {} columns, the file {}", own.len(), theirs.len()));
        }
        for ((name, ty), column) in own.iter().zip(theirs) {
            if !same_name(name, &column.name) {
                return mismatch(format!("column {name} of the table is {} in the file", column.name));
            }
            if let Some(what) = ty.differs_from(&column.ty) {
                return mismatch(format!("column {name} of the table has another {what} in the file"));
            }
            if column.instant {
                return mismatch(format!(
                    "column {name} of the file was added by an instant ALTER; rebuild the table before it is exported"
                ));
            }
        }
        Ok(())
    }
}

fn has_descending_key(table: &schema::Table) -> bool {
    table.clustered().parts.iter().any(|part| part.order.is_declared_descending())
}

/// The root of the clustered index, which every server makes first.
fn find_root(file: &mut ForeignFile) -> Result<PageNo> {
    let mut page = Vec::new();
    for number in ROOT_PAGE.0..file.pages().min(ROOT_PAGE.0 + ROOT_AMONG) {
        let number = PageNo(number);
        file.read(number, &mut page)?;
        match header::page_type(&page) {
            PageType::SDI => {}
            PageType::SDI_BLOB if file.flags().has_sdi() => {}
            PageType::INDEX if header::prev(&page).is_null() && header::next(&page).is_null() => return Ok(number),
            PageType::MARIADB_INSTANT => {
                let what = "the table's columns were changed by an instant ALTER; rebuild it before it is exported";
                return Err(Error::SchemaMismatch(what.into()));
            }
            other => return Err(file.damaged(number, format_args!("{other} where the clustered index begins"))),
        }
    }
    Err(Error::Foreign(format!("{} has no clustered index", file.path()).into()))
}

impl Source {
    /// Gives all rows in the order of the clustered index. Columns that the file does not have are NULL.
    fn for_each(&mut self, give: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let mut page = Vec::new();
        let mut at = self.root;
        self.file.read(at, &mut page)?;
        let (id, mut level) = (index::index_id(&page), index::level(&page));
        while level > 0 {
            self.settle(at, &page)?;
            let pointers = self.forms[0].layout.node_pointer();
            let child = index::first(&page).and_then(|first| pointers.child(&page, usize::from(first)));
            at = child.map_err(|error| self.file.damaged(at, error))?;
            self.file.read(at, &mut page)?;
            level -= 1;
            let is_child = header::page_type(&page) == PageType::INDEX
                && (index::index_id(&page), index::level(&page)) == (id, level);
            if !is_child {
                return Err(self.file.damaged(at, "not the page of the clustered index that its parent says"));
            }
        }
        let (mut row, mut left) = (Row::new(), self.file.pages());
        loop {
            self.settle(at, &page)?;
            self.rows_of(at, &page, &mut row, give)?;
            let next = header::next(&page);
            if next.is_null() {
                return Ok(());
            }
            left = left.saturating_sub(1);
            self.file.read(next, &mut page)?;
            let follows = header::page_type(&page) == PageType::INDEX
                && (index::index_id(&page), index::level(&page), header::prev(&page)) == (id, 0, at);
            if !follows || left == 0 {
                return Err(self.file.damaged(next, "not the next page of the clustered index"));
            }
            at = next;
        }
    }

    /// Keeps the forms that the records of a page have; it is an error if there is none. Since the page's checksum is right, that
    /// is a sign of another definition rather than of damage.
    fn settle(&mut self, at: PageNo, page: &[u8]) -> Result<()> {
        let check = |form: &Form| match index::is_leaf(page) {
            true => index::validate(page, Some(&form.layout)),
            false => index::validate(page, Some(&form.layout.node_pointer())),
        };
        let outcome = check(&self.forms[0]);
        if self.forms.len() > 1 {
            self.forms.retain(|form| check(form).is_ok());
        }
        if self.forms.is_empty() || outcome.is_err() && self.forms.len() == 1 && check(&self.forms[0]).is_err() {
            let what = match outcome {
                Err(format::Error::Unsupported { what, value }) => format!("{what} {value:#x}"),
                Err(error) => format!("the records of page {at} are not those of this definition: {error}"),
                Ok(()) => format!("the records of page {at} are not those of other pages"),
            };
            return Err(Error::SchemaMismatch(what.into()));
        }
        Ok(())
    }

    fn rows_of(
        &mut self,
        at: PageNo,
        page: &[u8],
        row: &mut Row,
        give: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let mut origin = index::first(page).map_err(|error| self.file.damaged(at, error))?;
        while origin != index::SUPREMUM {
            let place = usize::from(origin);
            if !record::is_deleted(page, place) {
                self.row_of(page, place, row)?;
                give(row)?;
            }
            origin = index::next(page, origin).map_err(|error| self.file.damaged(at, error))?;
        }
        Ok(())
    }

    fn row_of(&mut self, page: &[u8], origin: usize, row: &mut Row) -> Result<()> {
        let form = &self.forms[0];
        row.clear(self.columns.len());
        (0..self.columns.len()).for_each(|column| row.set(column, None));
        let mismatch = |error: format::Error| Error::SchemaMismatch(error.to_string().into());
        for (number, field) in form.layout.parse(page, origin).map_err(mismatch)?.enumerate() {
            let field = field.map_err(mismatch)?;
            let Some(column) = form.columns[number] else { continue };
            match field.value(&form.layout, number, page) {
                Some(bytes) if field.external => {
                    let local = bytes.len().saturating_sub(REFERENCE_BYTES);
                    let file = &mut self.file;
                    row.set_with(column, |out| {
                        out.extend_from_slice(&bytes[..local]);
                        file.read_long(bytes, out)
                    })?;
                }
                value => row.set(column, value),
            }
            check_value(&self.columns[column], row.get(column))?;
        }
        Ok(())
    }
}

/// What a row of the table would not have, however it was written. The form of its record is right.
fn check_value(column: &Column, value: Option<&[u8]>) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    let fits = match (&column.ty, column.ty.layout(column.nullable).length) {
        (ColumnType::Json, _) => Json::of_stored(value).is_ok(),
        (_, Length::Variable { max, .. }) => value.len() as u64 <= u64::from(max),
        (_, Length::Fixed(bytes)) => value.len() == usize::from(bytes),
    };
    match fits {
        true => Ok(()),
        false => {
            let what = format!("column {} of the file has a value that is none of the table's type", column.name);
            Err(Error::SchemaMismatch(what.into()))
        }
    }
}

impl Inner {
    /// Fills a file of a new table with the rows of another file; returns their number. `at`: its place among the new files.
    pub(super) fn import_rows(
        &self,
        source: &mut Source,
        new: &Arc<row::Table>,
        at: usize,
        map: &mut Option<&mut RowMap<'_>>,
        route: &mut Option<&mut RowRoute<'_>>,
        interrupt: &Interrupt,
    ) -> Result<u64> {
        let file = &new.files()[at];
        let mut filling = Filling::begin(self, file, file.indexes.len());
        let mut count = 0_u64;
        source.for_each(&mut |row| {
            interrupt.pass();
            if count.is_multiple_of(LOOK_ROWS) && interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            let mapped = match map {
                None => None,
                Some(map) => match map(row)? {
                    None => return Ok(()),
                    mapped => mapped,
                },
            };
            let values: Vec<Option<&[u8]>> = match &mapped {
                None => (0..row.column_count()).map(|column| row.get(column)).collect(),
                Some(mapped) => mapped.iter().map(|value| value.as_deref()).collect(),
            };
            if let Some(route) = route
                && route(&values)? != at
            {
                return Err(Error::SchemaMismatch("the file has a row that belongs to another partition".into()));
            }
            let row_id = if file.clustered().is_hidden() { self.registry.next_row_id(&self.store)? } else { 0 };
            count += 1;
            filling.push(self, &values, row_id)
        })?;
        filling.finish(self, interrupt)?;
        Ok(count)
    }
}

impl Engine {
    /// Takes the files away that lie under the names of these, as soon as `ddl` is committed. Their names are free now.
    pub(super) fn consume_sources(&self, ddl: &mut Ddl<'_>, files: &[&schema::Table]) -> Result<()> {
        let store = &self.inner.store;
        for file in files {
            let aside = dictionary::new_ids(store, 0)?.space;
            let (path, to) = (named_path(file), dictionary::consumed_path(&file.database, aside.0));
            ddl.will_take_back(Action::RenameFile { from: to.as_str().into(), to: path.as_str().into() })?;
            store.rename_file(&path, &to)?;
            ddl.will_do_afterwards(Action::DropSpace { space: aside, path: to.into() })?;
            self.drop_description(ddl, file)?;
        }
        Ok(())
    }

    /// A table gets another name, and what waits to be imported goes along. Meanwhile it has names by which nothing takes it
    /// for a tablespace: these, and those that it gets.
    pub(super) fn take_sources_aside(
        &self,
        ddl: &mut Ddl<'_>,
        from: &schema::Table,
        to: &schema::Table,
    ) -> Result<Vec<(String, String)>> {
        let mut aside = Vec::new();
        for (from, to) in from.files().zip(to.files()).filter(|(from, _)| from.options.discarded) {
            if !dictionary::may_be_discarded(to) {
                return Err(Error::Unsupported("such a long name for a table whose rows were discarded".into()));
            }
            let number = dictionary::new_ids(&self.inner.store, 0)?.space.0;
            let between = dictionary::consumed_path(&from.database, number);
            self.move_source(ddl, named_path(from), between.clone())?;
            self.move_source(ddl, description_path(from), description_path(to))?;
            aside.push((between, named_path(to)));
        }
        Ok(aside)
    }

    /// Renames a file that is no tablespace of this instance, if it is there; a rollback renames it back.
    pub(super) fn move_source(&self, ddl: &mut Ddl<'_>, from: String, to: String) -> Result<()> {
        ddl.will_take_back(Action::RenameFile { from: to.as_str().into(), to: from.as_str().into() })?;
        self.inner.store.rename_file(&from, &to)
    }

    /// The description beside a file goes once `ddl` is committed, if there is one.
    pub(super) fn drop_description(&self, ddl: &mut Ddl<'_>, file: &schema::Table) -> Result<()> {
        let space = dictionary::new_ids(&self.inner.store, 0)?.space;
        ddl.will_do_afterwards(Action::DropSpace { space, path: description_path(file).into() })
    }

    /// The same for a table that is dropped: mostly there is none, and then nothing is written.
    pub(super) fn drop_stale_description(&self, ddl: &mut Ddl<'_>, file: &schema::Table) -> Result<()> {
        let path = description_path(file);
        match self.inner.store.disk().exists(&path).map_err(Error::io("look for the description of a table"))? {
            true => self.drop_description(ddl, file),
            false => Ok(()),
        }
    }

    /// What lies under the name of a file that was discarded goes once `ddl` is committed, with its description.
    pub(super) fn drop_source(&self, ddl: &mut Ddl<'_>, file: &schema::Table) -> Result<()> {
        let space = dictionary::new_ids(&self.inner.store, 0)?.space;
        ddl.will_do_afterwards(Action::DropSpace { space, path: named_path(file).into() })?;
        self.drop_description(ddl, file)
    }
}
