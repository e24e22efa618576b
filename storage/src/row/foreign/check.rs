//! The child's side: is there a parent?

use format::record::FieldData;

use super::{Link, ParentSide};
use crate::error::{Error, ForeignKeySide, ForeignKeyViolation, Result};
use crate::row::entry::Key;
use crate::row::write::Changes;
use crate::row::{Context, Table, get};
use crate::schema::{ColumnSet, ReadMode, Row};
use crate::transaction::{Isolation, Transaction};

/// When an operation on a row checks its foreign keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::row) enum Turn {
    /// Before its clustered record exists.
    BeforeRow,
    /// After its clustered record exists: a row of a table that refers to itself may refer to itself.
    AfterRow,
    /// Before its entry of this index is made.
    Entry(usize),
}

/// Checks the foreign keys that are due of a row that is to be `version`. A changed row is checked wherever one of its
/// index entries is made, as in InnoDB: an orphan (made under `foreign_key_checks = 0`) cannot move, either, unless its
/// table refers to itself.
pub(in crate::row) fn check_parents(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    turn: Turn,
    version: &[FieldData<'_>],
    changes: Option<&Changes<'_>>,
) -> Result<()> {
    let Some(relations) = ctx.foreign.and_then(|key_graph| key_graph.of(table.table_id())) else { return Ok(()) };
    for link in &relations.parents {
        let its_turn = match turn {
            Turn::BeforeRow => link.child_index == 0 && !link.is_own(),
            Turn::AfterRow => link.child_index == 0 && link.is_own(),
            Turn::Entry(index) => link.child_index == index,
        };
        let changed =
            |column: &usize| changes.is_none_or(|changes| changes.iter().any(|(changed, _)| changed == column));
        let kept = !link.child_columns.iter().any(changed);
        // In a table that refers to itself a row may move away from its own key: the check of its children covers that.
        if !its_turn || kept && link.is_own() {
            continue;
        }
        let mut key = Key::new();
        let mut has_null = false;
        for column in &link.child_columns {
            let field = table.indexes[0].field_of_column[*column].expect("a clustered record has every column");
            match version[usize::from(field)] {
                FieldData::Bytes(bytes) => key.push(Some(bytes)),
                FieldData::Null => has_null = true,
                // A value in overflow pages has not been changed: with it the row stays as it is.
                FieldData::External(_) if kept => has_null = true,
                FieldData::External(_) => return Err(Error::corrupt("a key in overflow pages")),
            }
        }
        // A key with any NULL refers to nothing (MATCH SIMPLE).
        if !has_null && !find_parent(ctx, trx, link, &key)? {
            return Err(orphan(link, &key));
        }
    }
    Ok(())
}

fn find_parent(ctx: &Context<'_>, trx: &mut Transaction, link: &Link, key: &[Option<&[u8]>]) -> Result<bool> {
    let Some(parent) = &link.parent else { return Ok(false) };
    has_parent(ctx, trx, parent, key, ReadMode::SHARED)
}

/// Whether a table has a row with a key.
pub fn has_parent(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    parent: &ParentSide,
    key: &[Option<&[u8]>],
    mode: ReadMode,
) -> Result<bool> {
    let mut row = Row::new();
    let (table, columns) = (&parent.table, ColumnSet::EMPTY);
    with_gaps(trx, |trx| get(ctx, trx, table, parent.index, key, mode, &columns, &mut row))
}

/// Does something as REPEATABLE READ does it, with gap locks: that no row refers to the parent must stay true until the
/// statement's transaction ends, at any level.
pub(super) fn with_gaps<T>(trx: &mut Transaction, act: impl FnOnce(&mut Transaction) -> Result<T>) -> Result<T> {
    if trx.isolation >= Isolation::RepeatableRead {
        return act(trx);
    }
    let own = (trx.isolation, trx.snapshot_isolation);
    (trx.isolation, trx.snapshot_isolation) = (Isolation::RepeatableRead, false);
    let outcome = act(trx);
    (trx.isolation, trx.snapshot_isolation) = own;
    outcome
}

/// The error for a child whose parent does not exist.
pub fn orphan(link: &Link, key: &[Option<&[u8]>]) -> Error {
    let what = match &link.parent {
        Some(parent) => format!(
            "But in parent table {}, in index {}, there is no such key.",
            *parent.table, parent.table.indexes[parent.index].name
        ),
        None => format!(
            "But the parent table `{}`.`{}` or its index does not exist.",
            link.key().parent_database,
            link.key().parent
        ),
    };
    let doing = format!("Trying to add in child table, in index {} tuple:", link.child.indexes[link.child_index].name);
    violation(link, ForeignKeySide::Child, &doing, key, &what)
}

/// The error, with a report in the form of InnoDB's monitor.
pub(super) fn violation(link: &Link, side: ForeignKeySide, doing: &str, key: &[Option<&[u8]>], what: &str) -> Error {
    let mut report = format!(
        "Foreign key constraint fails for table {}:\n,\n  {}\n{doing}\nDATA TUPLE: {} fields;\n",
        *link.child,
        link.key().text(&link.child.database),
        key.len()
    );
    for (number, part) in key.iter().enumerate() {
        report += &match part {
            None => format!(" {number}: SQL NULL;\n"),
            Some(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let plain = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { ' ' };
                let ascii: String = bytes.iter().map(plain).collect();
                format!(" {number}: len {}; hex {hex}; asc {ascii};;\n", bytes.len())
            }
        };
    }
    report += &format!("\n{what}\n");
    Error::ForeignKey(Box::new(ForeignKeyViolation { side, constraint: link.text(), report: report.into() }))
}
