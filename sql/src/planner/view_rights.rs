//! What a change through a view takes of those who made the views.
//!
//! The session needs on the view what the statement does. Below it, each view and the table that changes need the same, on
//! the columns that the statement names, with the rights of the view above: those of its definer, or with SQL SECURITY
//! INVOKER those of whoever uses it. What else a view reads takes SELECT; the table that changes does not, unless its columns
//! are read, which is asked where they are named.

use storage::{Definition, DefinitionKind};

use super::PlanContext;
use super::logical::{Derived, Query};
use super::view::{rights_of, told_of};
use crate::accounts::{Privileges, Rights};
use crate::error::{Error, Result};
use crate::planner::SourceKind;
use crate::views::View;

/// Below a view that was bound and is not merged yet, for a change of some of its columns.
pub(super) fn check_below(
    context: &PlanContext<'_>,
    definition: &Definition,
    derived: &Derived,
    wanted: Privileges,
    columns: &[usize],
) -> Result<()> {
    below(context, context.rights, definition, derived, wanted, columns)
}

fn below(
    context: &PlanContext<'_>,
    above: &Rights,
    definition: &Definition,
    derived: &Derived,
    wanted: Privileges,
    columns: &[usize],
) -> Result<()> {
    if context.rights.is_internal() {
        return Ok(());
    }
    let view = View::decode(&definition.bytes)?;
    let own = rights_of(context.instance, above, &view)?;
    sources(context, &own, derived, wanted, columns).map_err(|error| told_of(definition, error))
}

/// The tables and views that a query selects from.
fn sources(
    context: &PlanContext<'_>,
    own: &Rights,
    derived: &Derived,
    wanted: Privileges,
    columns: &[usize],
) -> Result<()> {
    let query = derived.query.borrow();
    let Query::Block(block) = &*query else { return Ok(()) };
    let slots = columns.iter().filter_map(|column| block.output[*column].as_column());
    let places: Vec<(u16, u16)> = slots.map(|slot| block.slots[slot]).collect();
    for (number, source) in block.sources.iter().enumerate() {
        let of_source = places.iter().filter(|(place, _)| usize::from(*place) == number);
        let columns: Vec<usize> = of_source.map(|(_, column)| usize::from(*column)).collect();
        let changes = block.sources.len() == 1 || !columns.is_empty();
        let wanted = if changes { wanted } else { Privileges::SELECT };
        let Some(name) = source.granted_name() else {
            if let SourceKind::Derived(derived) = &source.kind {
                sources(context, own, derived, wanted, &columns)?;
            }
            continue;
        };
        own.need_for_rows(wanted, &source.database, name)?;
        if own.depends_on_columns(wanted, &source.database, name) {
            let by_column = wanted & Privileges::COLUMN;
            columns.iter().try_for_each(|column| {
                own.need_column(by_column, &source.database, name, &source.columns[*column].name)
            })?;
        }
        if let SourceKind::Derived(derived) = &source.kind
            && let Some(definition) = context.instance.engine.definition(DefinitionKind::View, &source.database, name)
        {
            below(context, own, &definition, derived, wanted, &columns)?;
        }
    }
    Ok(())
}

/// The columns of a view that may not be read: by the session, or by who has made the view.
pub(super) fn unreadable(
    context: &PlanContext<'_>,
    definition: &Definition,
    view: &View,
    derived: &Derived,
) -> Vec<(String, Error)> {
    let mut refused = Vec::new();
    for (at, name) in view.columns.iter().enumerate() {
        let own = context.rights.need_column(Privileges::SELECT, &definition.database, &definition.name, name);
        let inside = derived.refused.iter().find(|(column, _)| *column == at).map(|(_, error)| error.clone());
        refused.extend(own.err().or(inside).map(|error| (name.clone(), error)));
    }
    refused
}
