//! ADD, DROP, REORGANIZE, COALESCE, TRUNCATE and REBUILD PARTITION: a new clause, and what becomes of the rows.
//!
//! | action | stay | move | go |
//! |---|---|---|---|
//! | ADD of RANGE, LIST | all | - | - |
//! | ADD, COALESCE of HASH, KEY | - | all | - |
//! | DROP | the others | - | those named |
//! | REORGANIZE | the others | those named | - |
//! | TRUNCATE | the others | - | the rows of those named |
//! | REBUILD, OPTIMIZE | the others | those named, into new files | - |

use storage::{Alteration, Relatives, Table};

use super::super::{Context, Outcome};
use super::{Router, check, clause_of, exchange, maintain, named};
use crate::catalog::{check_not_discarded, storage_error};
use crate::error::{Error, Result};
use crate::parser::ast::{
    AlterTable, Maintenance, PartitionAction, PartitionBy, PartitionMethod, PartitionSpec, PartitionValue,
    PartitionValues,
};
use crate::partitions::{Routing, print};

/// A change of a table's clause: for each partition that it has afterwards the old one that it is, and the old ones whose
/// rows are divided among the new ones.
struct Plan {
    by: PartitionBy,
    kept: Vec<Option<usize>>,
    moved: Vec<usize>,
}

/// Performs an action on the partitions of a table, which stands alone in its statement.
pub fn perform(context: &Context<'_>, alter: &AlterTable, action: &PartitionAction) -> Result<Outcome> {
    let (database, name) = context.resolve(&alter.table)?;
    let engine = &context.instance.engine;
    let seen = context.existing(database, name)?;
    if seen.is_temporary() || !seen.is_partitioned() {
        return Err(Error::partition_management_on_plain());
    }
    check_not_discarded(&seen)?;
    match action {
        PartitionAction::Exchange { name: partition, table, validation } => {
            return exchange::exchange(context, (database, name), partition, table, *validation);
        }
        PartitionAction::Maintain(action, names) if *action != Maintenance::Optimize => {
            return maintain::maintain(context, *action, (database, name), names);
        }
        _ => {}
    }
    let locked =
        engine.lock_definitions(&[(database, name)], Relatives::Alone, &context.wait).map_err(storage_error)?;
    let alteration = locked.alter(database, name).map_err(storage_error)?;
    let table = alteration.table().clone();
    if let PartitionAction::Add { definitions, .. } | PartitionAction::Reorganize { definitions, .. } = action {
        check::check_engines(context, Some("InnoDB"), definitions)?;
    }
    let Some(plan) = plan(context, &table, action)? else { return Outcome::nothing() };
    // Without any row left the counter begins anew, as after TRUNCATE TABLE. Otherwise it goes on, as in MySQL: the numbers of
    // rows that are gone are not given again.
    let mut alteration = alteration;
    let is_emptied = matches!(action, PartitionAction::Truncate(_)) && plan.kept.iter().all(Option::is_none);
    alteration.auto_increment = is_emptied.then_some(1);
    let moved = run(context, alteration, &table, &plan)?;
    match action {
        PartitionAction::Maintain(_, names) => maintain::rebuilt(context, (database, name), names),
        _ => Outcome::records(moved, moved),
    }
}

fn run(context: &Context<'_>, mut alteration: Alteration<'_>, table: &Table, plan: &Plan) -> Result<u64> {
    let mut definition = table.definition();
    check::settle(context, &mut definition, &plan.by)?;
    alteration.definition = definition.clone();
    let router = Router::new(context, &definition)?;
    let done = alteration.repartition(&plan.kept, &plan.moved, &mut |values| router.place(values));
    if let Some(error) = router.failure.take() {
        return Err(error);
    }
    done.map(|(_, rows)| rows).map_err(storage_error)
}

fn is_hash(by: &PartitionBy) -> bool {
    matches!(by.method, PartitionMethod::Hash { .. } | PartitionMethod::Key { .. })
}

/// The places of partitions by name, each once; 1507 for a name that is none.
fn places(old: &PartitionBy, names: &[String], action: &str) -> Result<Vec<usize>> {
    let mut places = Vec::new();
    for name in names {
        let found = old.definitions.iter().position(|definition| definition.name.to_lowercase() == name.to_lowercase());
        let at = found.ok_or_else(|| Error::no_such_partition(action))?;
        if places.contains(&at) {
            return Err(Error::no_such_partition(action));
        }
        places.push(at);
    }
    Ok(places)
}

fn plan(context: &Context<'_>, table: &Table, action: &PartitionAction) -> Result<Option<Plan>> {
    let written = clause_of(table)?;
    let old = print::expanded(&written);
    // Subpartitions of one partition stand side by side.
    let subs = old.subpartition.as_ref().and_then(|sub| sub.count).unwrap_or(1) as usize;
    let all = || 0..old.definitions.len() * subs;
    let kept_of = |origins: &[Option<usize>]| -> Vec<Option<usize>> {
        origins.iter().flat_map(|origin| (0..subs).map(move |sub| origin.map(|at| at * subs + sub))).collect()
    };
    // Definitions that nobody wrote are written as soon as one of them is.
    let with = |definitions: Vec<PartitionSpec>| {
        let mut by = written.clone();
        (by.definitions, by.count) = (definitions, None);
        by
    };
    Ok(Some(match action {
        PartitionAction::Add { definitions, count, if_not_exists } => {
            let exists = |spec: &PartitionSpec| {
                old.definitions.iter().any(|own| own.name.to_lowercase() == spec.name.to_lowercase())
            };
            if let Some(known) = definitions.iter().find(|spec| exists(spec)).filter(|_| *if_not_exists) {
                let error = Error::same_name_partition(&known.name);
                context.note(error.code, error.message);
                return Ok(None);
            }
            let added = count.unwrap_or(definitions.len() as u64) as usize;
            if is_hash(&old) {
                let by = match (written.definitions.is_empty() && definitions.is_empty(), definitions.is_empty()) {
                    (true, _) => PartitionBy { count: Some((old.definitions.len() + added) as u64), ..written.clone() },
                    (false, true) => {
                        let new = (old.definitions.len()..).map(|at| format!("p{at}"));
                        let new = new.take(added).map(|name| PartitionSpec { name, ..PartitionSpec::default() });
                        with(old.definitions.iter().cloned().chain(new).collect())
                    }
                    (false, false) => with(old.definitions.iter().chain(definitions).cloned().collect()),
                };
                let places = old.definitions.len() + added;
                return Ok(Some(Plan { by, kept: vec![None; places], moved: all().collect() }));
            }
            if definitions.is_empty() {
                let kind = if matches!(old.method, PartitionMethod::Range(_) | PartitionMethod::RangeColumns(_)) {
                    "RANGE"
                } else {
                    "LIST"
                };
                let text = format!("For {kind} partitions each partition must be defined");
                return Err(Error::new(1492, b"HY000", text));
            }
            if let Some(PartitionValues::LessThan(row)) = old.definitions.last().and_then(|last| last.values.as_ref())
                && matches!(old.method, PartitionMethod::Range(_))
                && row.contains(&PartitionValue::MaxValue)
            {
                let text = "MAXVALUE can only be used in last partition definition";
                return Err(Error::new(1481, b"HY000", text));
            }
            let by = with(written.definitions.iter().chain(definitions).cloned().collect());
            let mut origins: Vec<Option<usize>> = (0..old.definitions.len()).map(Some).collect();
            origins.extend(definitions.iter().map(|_| None));
            Plan { by: with_subpartitions(by, &old), kept: kept_of(&origins), moved: Vec::new() }
        }
        PartitionAction::Drop { names, if_exists } => {
            if is_hash(&old) {
                let text = "DROP PARTITION can only be used on RANGE/LIST partitions";
                return Err(Error::new(1512, b"HY000", text));
            }
            let gone = match places(&old, names, "DROP") {
                Err(error) if *if_exists => {
                    context.note(error.code, error.message);
                    return Ok(None);
                }
                gone => gone?,
            };
            if gone.len() >= old.definitions.len() {
                return Err(Error::new(1508, b"HY000", "Cannot remove all partitions, use DROP TABLE instead"));
            }
            let stay: Vec<usize> = (0..old.definitions.len()).filter(|at| !gone.contains(at)).collect();
            let by = with(stay.iter().map(|at| written.definitions[*at].clone()).collect());
            let origins: Vec<Option<usize>> = stay.iter().copied().map(Some).collect();
            Plan { by, kept: kept_of(&origins), moved: Vec::new() }
        }
        PartitionAction::Reorganize { names, definitions } => {
            if names.is_empty() {
                if !is_hash(&old) {
                    let text = "REORGANIZE PARTITION without parameters can only be used on auto-partitioned tables \
                                using HASH PARTITIONs";
                    return Err(Error::new(1511, b"HY000", text));
                }
                return Ok(None);
            }
            reorganize(context, table, &written, &old, names, definitions)?
        }
        PartitionAction::Coalesce(count) => {
            if !is_hash(&old) {
                let text = "COALESCE PARTITION can only be used on HASH/KEY partitions";
                return Err(Error::new(1509, b"HY000", text));
            }
            if *count == 0 {
                return Err(Error::new(1515, b"HY000", "At least one partition must be coalesced"));
            }
            let Some(left) = (old.definitions.len() as u64).checked_sub(*count).filter(|left| *left > 0) else {
                return Err(Error::new(1508, b"HY000", "Cannot remove all partitions, use DROP TABLE instead"));
            };
            let by = match written.definitions.is_empty() {
                true => PartitionBy { count: Some(left), ..written.clone() },
                false => with(old.definitions[..left as usize].to_vec()),
            };
            Plan { by, kept: vec![None; left as usize], moved: all().collect() }
        }
        PartitionAction::Truncate(names) => {
            let set = named(context, table, names)?;
            let kept = all().map(|at| (!set.contains(at)).then_some(at)).collect();
            Plan { by: written, kept, moved: Vec::new() }
        }
        PartitionAction::Rebuild(names) | PartitionAction::Maintain(_, names) => {
            let set = named(context, table, names)?;
            let kept = all().map(|at| (!set.contains(at)).then_some(at)).collect();
            Plan { by: written, kept, moved: set.iter().collect() }
        }
        _ => return Err(Error::internal("no change of partitions")),
    }))
}

/// New definitions get the number of subpartitions that the table's have, where these are written.
fn with_subpartitions(by: PartitionBy, old: &PartitionBy) -> PartitionBy {
    let written = by.definitions.iter().any(|definition| !definition.subpartitions.is_empty());
    let Some(count) = old.subpartition.as_ref().and_then(|sub| sub.count).filter(|_| written) else { return by };
    let mut by = by;
    for definition in by.definitions.iter_mut().filter(|definition| definition.subpartitions.is_empty()) {
        let sub = |at| PartitionSpec { name: format!("{}sp{at}", definition.name), ..PartitionSpec::default() };
        definition.subpartitions = (0..count).map(sub).collect();
    }
    by
}

fn reorganize(
    context: &Context<'_>,
    table: &Table,
    written: &PartitionBy,
    old: &PartitionBy,
    names: &[String],
    definitions: &[PartitionSpec],
) -> Result<Plan> {
    if names.len() > old.definitions.len() {
        return Err(Error::new(1516, b"HY000", "More partitions to reorganize than there are partitions"));
    }
    if is_hash(old) && names.len() != definitions.len() {
        let text = "REORGANIZE PARTITION can only be used to reorganize partitions not to change their numbers";
        return Err(Error::new(1510, b"HY000", text));
    }
    let mut at = places(old, names, "REORGANIZE")?;
    at.sort_unstable();
    let by_range = matches!(old.method, PartitionMethod::Range(_) | PartitionMethod::RangeColumns(_));
    let (first, last) = (at[0], at[at.len() - 1]);
    if last - first + 1 != at.len() {
        let text = "When reorganizing a set of partitions they must be in consecutive order";
        return Err(Error::new(1519, b"HY000", text));
    }
    let subs = old.subpartition.as_ref().and_then(|sub| sub.count).unwrap_or(1) as usize;
    let (mut specs, mut origins) = (Vec::new(), Vec::new());
    let own = if written.definitions.is_empty() { &old.definitions } else { &written.definitions };
    for (place, definition) in own.iter().enumerate() {
        if place == first {
            specs.extend(definitions.iter().cloned());
            origins.extend(definitions.iter().map(|_| None));
        }
        if !at.contains(&place) {
            specs.push(definition.clone());
            origins.push(Some(place));
        }
    }
    let mut by = written.clone();
    (by.definitions, by.count) = (specs, None);
    let by = with_subpartitions(by, old);
    if by_range {
        let mut definition = table.definition();
        check::settle(context, &mut definition, &by)?;
        check_range(context, table, &definition, last)?;
    }
    let kept = origins.iter().flat_map(|origin| (0..subs).map(move |sub| origin.map(|at: usize| at * subs + sub)));
    let moved = at.iter().flat_map(|at| (at * subs)..(at * subs + subs)).collect();
    Ok(Plan { by, kept: kept.collect(), moved })
}

/// The end of the range of what is reorganized stays where it is, unless it is the table's last partition, which may reach
/// further.
fn check_range(context: &Context<'_>, table: &Table, definition: &storage::TableDefinition, last: usize) -> Result<()> {
    use crate::partitions::Function;
    use crate::partitions::function::compare;
    let Some(old) = Routing::of(context.eval, table)? else { return Ok(()) };
    let Some(partitioning) = &definition.partitioning else { return Ok(()) };
    let by = print::expanded(&crate::parser::parse_partition_by(&partitioning.rule)?);
    let new = Routing::compile(context.eval, &definition.columns, &by, &check::primary_key(definition))?;
    let fits = match (&old.upper, &new.upper) {
        (Function::Range { bounds: old, .. }, Function::Range { bounds: new, .. }) => {
            let behind = old.len() - 1 - last;
            let (was, is) = (old[last], new[new.len() - 1 - behind]);
            match behind {
                0 => is.is_none() || was.is_some() && is >= was,
                _ => was == is,
            }
        }
        (Function::RangeColumns { columns, bounds: old }, Function::RangeColumns { bounds: new, .. }) => {
            let behind = old.len() - 1 - last;
            let (was, is) = (&old[last], &new[new.len() - 1 - behind]);
            let mut order = std::cmp::Ordering::Equal;
            for (place, at) in columns.iter().enumerate() {
                order = order.then(match (&was[place], &is[place]) {
                    (None, None) => std::cmp::Ordering::Equal,
                    (None, Some(_)) => std::cmp::Ordering::Greater,
                    (Some(_), None) => std::cmp::Ordering::Less,
                    (Some(was), Some(is)) => compare(&table.columns[*at], Some(was), Some(is)),
                });
            }
            match behind {
                0 => order != std::cmp::Ordering::Greater,
                _ => order == std::cmp::Ordering::Equal,
            }
        }
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => {
            let text = "Reorganize of range partitions cannot change total ranges except for last partition where it can \
                        extend the range";
            Err(Error::new(1520, b"HY000", text))
        }
    }
}
