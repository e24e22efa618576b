//! How ALTER TABLE does what it is asked for: by the cheapest way that is atomic as a whole.
//!
//! ```text
//! way        what changes                                              ALGORITHM              LOCK
//! Instant    options, defaults, comments, names, foreign keys          INSTANT INPLACE COPY   any
//!            types whose values are stored alike: a longer VARCHAR,    INSTANT INPLACE COPY   any
//!            utf8mb4 for utf8mb3, collations of columns without index  INSTANT INPLACE COPY   any
//!            columns come and go with another row version              INSTANT                any
//! InPlace    indexes are built beside the rows                                 INPLACE COPY   any
//!            indexes are dropped                                               INPLACE COPY   any
//! Rebuild    columns come, go or move, NULL or NOT NULL, encryption,           INPLACE        any
//!            FORCE, another clustered index                                            COPY   SHARED EXCLUSIVE
//!            a new AUTO_INCREMENT column; rows may come into other             INPLACE COPY   SHARED EXCLUSIVE
//!            partitions
//! Copy       values get another type, generated columns another expression, rows       COPY   SHARED EXCLUSIVE
//!            are held to a CHECK constraint, no column tells the rows apart any more
//! ```
//!
//! ALGORITHM and LOCK are promises that a statement asks for: a statement that needs more than it allows itself is refused
//! (1845, 1846), and ALGORITHM=COPY copies. Without LOCK others may do what they can: write while indexes are built and
//! while rows are written anew, read while they are copied. At its beginning and at its end every
//! statement has the table alone, for moments. Foreign keys whose rows are checked keep everybody out, since their parents
//! have to stay as they are. ALGORITHM=INPLACE means what it means in MySQL: the engine does it by itself, if need be in a
//! new file. So columns that come and go at once do not where INPLACE or COPY is written.
//!
//! A copied row takes each column from where the new definition says: the stored bytes as they are, a conversion as in an
//! INSERT in the session's mode, or the default of a new column.

use std::sync::Arc;

use format::value::ColumnType;
use storage::schema::{IndexDefinition, Row, TableDefinition};
use storage::{Alteration, ColumnSource, NotInstant, Others, Table};

use super::change::Change;
use super::copy::{Copier, Source};
use super::partition::Router;
use super::{Context, Outcome, bare};
use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::executor::change::entry_text;

/// Why most of what takes a copy takes one.
const CHANGES_TYPES: &str = "Cannot change column type INPLACE";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Instant,
    InPlace { builds: bool },
    Rebuild,
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Instant,
    InPlace,
    /// MariaDB's: in place, and not by a rebuild.
    NoCopy,
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    None,
    Shared,
    Exclusive,
}

/// What a statement promises itself; None = DEFAULT, whatever it takes.
pub struct Asked {
    algorithm: Option<Algorithm>,
    lock: Option<Lock>,
}

impl Asked {
    /// The words behind ALGORITHM= and LOCK=.
    pub fn of(algorithm: Option<&str>, lock: Option<&str>) -> Result<Asked> {
        let asked = Asked {
            algorithm: match algorithm.map(str::to_ascii_uppercase).as_deref() {
                None | Some("DEFAULT") => None,
                Some("INSTANT") => Some(Algorithm::Instant),
                Some("INPLACE") => Some(Algorithm::InPlace),
                Some("NOCOPY") => Some(Algorithm::NoCopy),
                Some("COPY") => Some(Algorithm::Copy),
                Some(_) => {
                    let word = algorithm.unwrap_or_default();
                    return Err(Error::new(1800, b"HY000", format!("Unknown ALGORITHM '{word}'")));
                }
            },
            lock: match lock.map(str::to_ascii_uppercase).as_deref() {
                None | Some("DEFAULT") => None,
                Some("NONE") => Some(Lock::None),
                Some("SHARED") => Some(Lock::Shared),
                Some("EXCLUSIVE") => Some(Lock::Exclusive),
                Some(_) => {
                    let word = lock.unwrap_or_default();
                    return Err(Error::new(1801, b"HY000", format!("Unknown LOCK type '{word}'")));
                }
            },
        };
        if asked.algorithm == Some(Algorithm::Instant) && asked.lock.is_some() {
            let usage = "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE";
            return Err(Error::new(1221, b"HY000", usage));
        }
        Ok(asked)
    }

    /// Whether a statement that could go this way may, and by which it goes. `checks_rows`: for new foreign keys; `waiting`:
    /// why nobody may write meanwhile, `copying`: why it takes a copy, if it takes one.
    fn allow(&self, way: Way, checks_rows: bool, waiting: Option<&str>, copying: &str) -> Result<Way> {
        let refused = |what: &str, reason: Option<&str>, instead: &str| {
            Err(match reason {
                Some(reason) => {
                    Error::new(1846, b"0A000", format!("{what} is not supported. Reason: {reason}. Try {instead}."))
                }
                None => {
                    Error::new(1845, b"0A000", format!("{what} is not supported for this operation. Try {instead}."))
                }
            })
        };
        match (self.algorithm, way) {
            (None | Some(Algorithm::Copy), _)
            | (Some(_), Way::Instant)
            | (Some(Algorithm::InPlace | Algorithm::NoCopy), Way::InPlace { .. })
            | (Some(Algorithm::InPlace), Way::Rebuild) => {}
            (Some(Algorithm::Instant), Way::Copy) => {
                let reason = match copying {
                    CHANGES_TYPES => "Need to rebuild the table to change column type",
                    other => other,
                };
                return refused("ALGORITHM=INSTANT", Some(reason), "ALGORITHM=COPY");
            }
            (Some(Algorithm::Instant), _) => {
                return refused("ALGORITHM=INSTANT", None, "ALGORITHM=COPY/INPLACE");
            }
            (Some(Algorithm::NoCopy), Way::Rebuild) => {
                return refused("ALGORITHM=NOCOPY", None, "ALGORITHM=INPLACE");
            }
            (Some(Algorithm::InPlace), Way::Copy) => {
                return refused("ALGORITHM=INPLACE", Some(copying), "ALGORITHM=COPY");
            }
            (Some(Algorithm::NoCopy), Way::Copy) => {
                return refused("ALGORITHM=NOCOPY", Some(copying), "ALGORITHM=COPY");
            }
        }
        // A copy that is asked for is one, whatever would do.
        let way = if self.algorithm == Some(Algorithm::Copy) { way.max(Way::Rebuild) } else { way };
        let waiting = if self.copies(way) { Some("COPY algorithm requires a lock") } else { waiting };
        if let (Some(Lock::None), Some(reason)) = (self.lock, waiting) {
            return refused("LOCK=NONE", Some(reason), "LOCK=SHARED");
        }
        if let (Some(lock @ (Lock::None | Lock::Shared)), true) = (self.lock, checks_rows) {
            let lock = if lock == Lock::None { "LOCK=NONE" } else { "LOCK=SHARED" };
            return refused(lock, Some("Adding foreign keys needs foreign_key_checks=OFF"), "LOCK=EXCLUSIVE");
        }
        Ok(way)
    }

    /// Whether rows are copied because that is asked for.
    fn copies(&self, way: Way) -> bool {
        self.algorithm == Some(Algorithm::Copy) && way >= Way::Rebuild
    }

    /// What others may do while the rows are read. `waiting`: why they may not write.
    fn others(&self, way: Way, waiting: Option<&str>) -> Others {
        match self.lock {
            Some(Lock::Exclusive) => Others::Wait,
            None | Some(Lock::None) if waiting.is_none() && !self.copies(way) => Others::Write,
            _ => Others::Read,
        }
    }
}

impl Change {
    /// The cheapest way, as far as the rows are concerned. `at_once`: columns may come and go while the rows stay.
    fn way(&self, table: &Table, at_once: bool) -> Way {
        let mut way = Way::Instant;
        for (column, source) in self.definition.columns.iter().zip(&self.sources) {
            let Source::Old(ordinal) = source else {
                if !at_once {
                    way = way.max(Way::Rebuild);
                }
                continue;
            };
            let old = &table.columns[*ordinal];
            // A column that takes the name of another gives expressions of the same text another meaning.
            let takes_a_name = !storage::same_name(&old.name, &column.name)
                && table.columns.iter().any(|other| storage::same_name(&other.name, &column.name))
                && self.definition.columns.iter().any(|column| column.generated.is_some());
            // Expressions see the zeros of a number.
            let has_other_zeros = old.zerofill != column.zerofill
                && self.definition.columns.iter().any(|column| column.generated.is_some());
            if !(column.ty.keeps_values_of(&old.ty) || self.keeps_text(table, *ordinal, &column.ty))
                || has_other_zeros
                || old.generated != column.generated
                || takes_a_name
            {
                way = Way::Copy;
            }
            // Rows without a number get one.
            if old.nullable != column.nullable || (column.auto_increment && !old.auto_increment) {
                way = way.max(Way::Rebuild);
            }
        }
        if self.holds_rows {
            way = Way::Copy;
        }
        if (!at_once && !self.has_same_columns(table))
            || self.force
            || self.definition.options.encrypted != table.options.encrypted
        {
            way = way.max(Way::Rebuild);
        }
        way
    }

    /// Whether a text gets another character set or collation and is stored as before, in a column whose order nothing
    /// depends on.
    fn keeps_text(&self, table: &Table, old: usize, ty: &ColumnType) -> bool {
        let ordered = |indexes: &[IndexDefinition], column: usize| {
            indexes.iter().flat_map(|index| &index.parts).any(|part| part.column == column)
        };
        let was = table.definition();
        let is = self.sources.iter().position(|source| *source == Source::Old(old));
        ty.keeps_texts_of(&table.columns[old].ty)
            && !table.is_partitioned()
            && !ordered(&was.indexes, old)
            && is.is_some_and(|is| !ordered(&self.definition.indexes, is))
            && [&was, &self.definition].iter().all(|of| {
                of.partitioning.is_none()
                    && of.checks.is_empty()
                    && of.columns.iter().all(|column| column.generated.is_none())
            })
    }

    /// Whether every row stays in the partition that it is in: one rule divides the rows by columns that stay as they are.
    fn keeps_partitions(&self, context: &Context<'_>, table: &Table) -> Result<bool> {
        let (Some(was), Some(is)) = (&table.partitioning, &self.definition.partitioning) else { return Ok(false) };
        if was.rule != is.rule || was.parts.len() != is.parts.len() {
            return Ok(false);
        }
        let (old, new) = (Router::new(context, &table.definition())?, Router::new(context, &self.definition)?);
        let (old, new) = (old.deciding(), new.deciding());
        let stays = |(was, is): (&usize, &usize)| {
            let (from, to) = (&table.columns[*was], &self.definition.columns[*is]);
            self.sources[*is] == Source::Old(*was)
                && from.nullable == to.nullable
                && from.generated.is_none()
                && to.generated.is_none()
                && to.ty.keeps_values_of(&from.ty)
        };
        Ok(old.len() == new.len() && old.iter().zip(&new).all(stays))
    }

    /// Whether rows that exist get numbers, which depend on each other.
    fn numbers_rows(&self, table: &Table) -> bool {
        let is_new = |source: &Source| source.old().is_none_or(|old| !table.columns[old].auto_increment);
        self.definition
            .columns
            .iter()
            .zip(&self.sources)
            .any(|(column, source)| column.auto_increment && is_new(source))
    }

    /// Why nobody may write while the statement goes this way.
    fn waiting(&self, way: Way, table: &Table, alteration: &Alteration<'_>) -> Option<&'static str> {
        match way {
            Way::Instant | Way::InPlace { .. } => None,
            Way::Rebuild if self.numbers_rows(table) => Some("Adding an auto-increment column requires a lock"),
            Way::Rebuild if !alteration.copies_beside() => {
                Some("Rows are copied while nobody else writes to the table")
            }
            Way::Rebuild => None,
            Way::Copy => Some(self.copying(alteration)),
        }
    }

    /// Why the engine does not do by itself what takes a copy.
    fn copying(&self, alteration: &Alteration<'_>) -> &'static str {
        match alteration.drops_key() {
            true => "Dropping a primary key is not allowed without also adding a new primary key",
            false => CHANGES_TYPES,
        }
    }

    /// Whether all columns stay in their places, and none comes.
    fn has_same_columns(&self, table: &Table) -> bool {
        let stays = |(at, source): (usize, &Source)| *source == Source::Old(at);
        self.sources.len() == table.columns.len() && self.sources.iter().enumerate().all(stays)
    }

    /// Where the columns come from, if some come or go, and what that asks of the rows can be said once for all of them.
    fn columns_at_once(&self, context: &Context<'_>, table: &Table) -> Result<Option<Vec<ColumnSource>>> {
        if self.has_same_columns(table) || self.way(table, true) != Way::Instant {
            return Ok(None);
        }
        Ok(Copier::new(context, table, &self.definition, &self.sources, self.holds_rows, self.auto_increment)?
            .sources())
    }

    /// Copies the rows by `run`, and says what stopped it.
    fn copy<'t>(
        &self,
        context: &Context<'_>,
        table: &Table,
        definition: &TableDefinition,
        run: impl FnOnce(
            Option<&mut storage::RowMap<'_>>,
            Option<&mut storage::RowRoute<'_>>,
        ) -> storage::Result<(Arc<Table>, u64)>
        + 't,
    ) -> Result<u64> {
        let mut copier = Copier::new(context, table, definition, &self.sources, self.holds_rows, self.auto_increment)?;
        let same = copier.is_identity();
        let mut map = |row: &Row| copier.row(row);
        let router = Router::new(context, definition)?;
        let mut route = |values: &[Option<&[u8]>]| router.place(values);
        let divides = definition.partitioning.is_some();
        let result = run(if same { None } else { Some(&mut map) }, if divides { Some(&mut route) } else { None });
        if let Some(error) = copier.failure.take().or_else(|| router.failure.take()) {
            return Err(error);
        }
        match result {
            Ok((_, rows)) => Ok(rows),
            Err(error) => Err(alter_error(context, error, &table.name, definition)),
        }
    }
}

/// Performs the statement; tells also whether rows were written anew.
pub fn perform(
    mut change: Change,
    context: &Context<'_>,
    mut alteration: Alteration<'_>,
    asked: &Asked,
) -> Result<(Outcome, bool)> {
    let table = alteration.table().clone();
    let definition = std::mem::take(&mut change.definition);
    alteration.definition = definition.clone();
    change.definition = definition;
    alteration.renamed_indexes = std::mem::take(&mut change.renamed_indexes);
    alteration.column_origins = Some(change.sources.iter().map(|source| source.old()).collect());
    alteration.auto_increment = change.auto_increment;
    alteration.keeps_partitions = change.keeps_partitions(context, &table)?;
    let way_of = |alteration: &Alteration<'_>| {
        let mut way = change.way(&table, alteration.columns.is_some());
        if !alteration.keeps_order() {
            way = way.max(if alteration.drops_key() { Way::Copy } else { Way::Rebuild });
        }
        let builds = alteration.indexes_to_build() > 0;
        let shown = table.indexes.iter().filter(|index| !index.is_hidden()).count();
        if builds || shown > change.definition.indexes.len() {
            way = way.max(Way::InPlace { builds });
        }
        way
    };
    let asks_for_rows = matches!(asked.algorithm, Some(Algorithm::InPlace | Algorithm::Copy));
    if !asks_for_rows && let Some(sources) = change.columns_at_once(context, &table)? {
        let possible = alteration.check_instant(&sources);
        alteration.columns = Some(sources);
        // Whatever else takes more than a new description takes the columns along.
        if way_of(&alteration) != Way::Instant || possible.is_err() {
            alteration.columns = None;
        }
        if let (Err(reason), Some(Algorithm::Instant)) = (possible, asked.algorithm) {
            not_at_once(&table, reason)?;
        }
    }
    let way = way_of(&alteration);
    let reads_rows = !matches!(way, Way::Instant | Way::InPlace { builds: false });
    let checks_rows = reads_rows && alteration.checks_foreign_keys();
    let waiting = change.waiting(way, &table, &alteration);
    let way = asked.allow(way, checks_rows, waiting, change.copying(&alteration))?;
    alteration.others = asked.others(way, waiting);
    let copied = match way {
        Way::Instant | Way::InPlace { .. } => {
            let done = alteration.in_place();
            done.map_err(|error| alter_error(context, error, &table.name, &change.definition))?;
            0
        }
        Way::Rebuild | Way::Copy => {
            change.copy(context, &table, &change.definition, |map, route| alteration.copy(map, route))?
        }
    };
    let affected = if way == Way::Copy || asked.algorithm == Some(Algorithm::Copy) { copied } else { 0 };
    Ok((Outcome::records(copied, affected)?, way >= Way::Rebuild))
}

/// A temporary table is copied whatever changes: nobody else can look at it meanwhile.
pub fn perform_temporary(
    change: Change,
    context: &Context<'_>,
    table: &Arc<Table>,
    asked: &Asked,
) -> Result<(Outcome, bool)> {
    let Some(own) = &context.wait.temporary else { return Err(Error::internal("a temporary table of nobody")) };
    let way = change.way(table, false);
    if let Some(Algorithm::Instant | Algorithm::InPlace | Algorithm::NoCopy) = asked.algorithm {
        let text = "ALGORITHM=INPLACE is not supported for this operation. Try ALGORITHM=COPY.";
        return Err(Error::new(1845, b"0A000", text));
    }
    let copied = change.copy(context, table, &change.definition, |map, _| {
        let definition = change.definition.clone();
        let interrupt = &context.wait.interrupt;
        own.rebuild(&table.database, &table.name, definition, change.auto_increment, map, interrupt)
    })?;
    Ok((Outcome::records(copied, if way == Way::Copy { copied } else { 0 })?, true))
}

/// Why ALGORITHM=INSTANT is refused, if there is more to say of it than that it is.
fn not_at_once(table: &Table, reason: NotInstant) -> Result<()> {
    let name = format!("{}/{}", table.database, table.name);
    let (code, text) = match reason {
        NotInstant::Impossible => return Ok(()),
        NotInstant::Versions => (
            4092,
            format!(
                "Maximum row versions reached for table {name}. No more columns can be added or dropped instantly. \
                 Please use COPY/INPLACE."
            ),
        ),
        NotInstant::RowBytes => (
            4093,
            "Column can't be added with ALGORITHM=INSTANT as after this max possible row size crosses max permissible \
             row size. Try ALGORITHM=INPLACE/COPY."
                .into(),
        ),
        NotInstant::Fields => (
            4158,
            format!(
                "Column can't be added to '{name}' with ALGORITHM=INSTANT anymore. Please try ALGORITHM=INPLACE/COPY"
            ),
        ),
    };
    Err(Error::new(code, b"HY000", text))
}

/// What storage says of a table that gets a new definition.
fn alter_error(context: &Context<'_>, error: storage::Error, table: &str, definition: &TableDefinition) -> Error {
    match error {
        storage::Error::DuplicateRows(rows) => {
            let Some(index) = definition.indexes.iter().find(|index| index.name == rows.index) else {
                return Error::duplicate_entry("", &format!("{table}.{}", rows.index));
            };
            let value = |place: usize| rows.key.get(place)?.as_deref();
            let entry = entry_text(&definition.columns, &index.parts, context.eval.zone, &value);
            let name = if index.primary { "PRIMARY" } else { &index.name };
            Error::duplicate_entry(&entry, &format!("{table}.{name}"))
        }
        storage::Error::Exists(name) => Error::table_exists(bare(&name)),
        other => storage_error(other),
    }
}
