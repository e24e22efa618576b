//! Optimizer hints at work: what they say of a query block's tables and of the block as a whole.
//!
//! A hint names tables by their aliases. What it says of one is kept with the source ([`Hinted`]), so that it stays true
//! when rules move the source into another block. Hints of other blocks (`@name`) wait in the context until that block is
//! bound; outer blocks are bound first, so a hint can only be about blocks further in, and its own.
//!
//! What is not found is warned of, as in MySQL, by each run of the plan.

use storage::{Index, Table};

use super::PlanContext;
use super::hinted::{BlockHints, Hinted};
use super::logical::Source;
use crate::error::Error;
use crate::parser::ast::{Hint, HintKind, HintTable, IndexHint, IndexHintKind, IndexHintPurpose};

fn warn(context: &PlanContext<'_>, error: Error) {
    context.warnings.borrow_mut().push(error.into_warning());
}

/// Applies the hints of a block, and those that outer blocks have for it.
pub fn apply(context: &PlanContext<'_>, own: &[Hint], number: usize, sources: &mut [Source]) -> BlockHints {
    let mut block = BlockHints::default();
    let is_nothing = own.is_empty() && context.waiting_hints.borrow().is_empty();
    if is_nothing {
        return block;
    }
    let named = own.iter().find_map(|hint| match &hint.kind {
        HintKind::Name(name) => Some(name.clone()),
        _ => None,
    });
    let numbered = format!("select#{number}");
    let is_own = |name: &str| {
        name.eq_ignore_ascii_case(&numbered) || named.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
    };
    let mut hints = Vec::new();
    context.waiting_hints.borrow_mut().retain(|hint| {
        let is_mine = block_of(hint).is_some_and(&is_own);
        if is_mine {
            hints.push(hint.clone());
        }
        !is_mine
    });
    for hint in own {
        match block_of(hint) {
            Some(name) if !is_own(name) => context.waiting_hints.borrow_mut().push(hint.clone()),
            _ => hints.push(hint.clone()),
        }
    }
    for hint in &hints {
        let shown = named.as_deref().unwrap_or(&numbered);
        one(context, hint, number, shown, sources, &mut block);
    }
    block
}

/// The block that a hint is about: its own word for it, or that of its first table.
fn block_of(hint: &Hint) -> Option<&str> {
    let of_table = match &hint.kind {
        HintKind::Order { tables, .. }
        | HintKind::Hash { tables, .. }
        | HintKind::Merge { tables, .. }
        | HintKind::Pushdown { tables, .. } => tables.first().and_then(|table| table.block.as_deref()),
        HintKind::Index { table, .. } | HintKind::IndexMerge { table, .. } | HintKind::NoRanges { table, .. } => {
            table.block.as_deref()
        }
        _ => None,
    };
    hint.block.as_deref().or(of_table)
}

fn one(
    context: &PlanContext<'_>,
    hint: &Hint,
    number: usize,
    shown: &str,
    sources: &mut [Source],
    block: &mut BlockHints,
) {
    let conflict = || warn(context, Error::conflicting_hint(&hint.name));
    let find = |sources: &[Source], table: &HintTable| {
        let found = sources.iter().position(|source| source.alias.eq_ignore_ascii_case(&table.name));
        if found.is_none() {
            warn(context, Error::unresolved_hint(&format!("`{}`@`{shown}`", table.name), &hint.name));
        }
        found
    };
    match &hint.kind {
        HintKind::Order { place, tables } => {
            for (at, table) in tables.iter().enumerate() {
                let Some(source) = find(sources, table) else { continue };
                match sources[source].hinted.order {
                    Some(_) => conflict(),
                    None => sources[source].hinted.order = Some((*place, at as u16)),
                }
            }
        }
        HintKind::FixedOrder => block.fixed_order = true,
        HintKind::Hash { on, tables } => each(sources, tables, &find, |hinted| match hinted.hash {
            Some(known) if known != *on => conflict(),
            _ => hinted.hash = Some(*on),
        }),
        HintKind::Merge { on, tables } => each(sources, tables, &find, |hinted| match hinted.merge {
            Some(known) if known != *on => conflict(),
            _ => hinted.merge = Some(*on),
        }),
        HintKind::Pushdown { on, tables } => each(sources, tables, &find, |hinted| match hinted.pushdown {
            Some(known) if known != *on => conflict(),
            _ => hinted.pushdown = Some(*on),
        }),
        HintKind::IndexMerge { on, table } => {
            let Some(source) = find(sources, table) else { return };
            sources[source].hinted.index_merge = Some(*on);
        }
        HintKind::NoRanges { table, indexes } => {
            let Some(source) = find(sources, table) else { return };
            let Some(stored) = sources[source].table().cloned() else { return };
            warn_of_unknown(context, hint, shown, table, indexes, &stored);
            let is_meant = |index: &Index| indexes.is_empty() || indexes.iter().any(|name| is_named(index, name));
            let meant = stored.indexes.iter().enumerate().filter(|(_, index)| is_meant(index));
            sources[source].hinted.no_ranges |= meant.fold(0, |bits, (number, _)| bits | 1 << number);
        }
        HintKind::Index { on, table, indexes } => {
            let Some(source) = find(sources, table) else { return };
            let Some(stored) = sources[source].table().cloned() else { return };
            let is_known = |name: &String| stored.indexes.iter().any(|index| is_named(index, name));
            warn_of_unknown(context, hint, shown, table, indexes, &stored);
            let mut named: Vec<String> = indexes.iter().filter(|name| is_known(name)).cloned().collect();
            if named.is_empty() && !indexes.is_empty() {
                return;
            }
            if named.is_empty() {
                let all = stored.indexes.iter().filter(|index| !index.is_hidden());
                named =
                    all.map(|index| if index.primary { "PRIMARY".into() } else { index.name.to_string() }).collect();
            }
            let kind = if *on { IndexHintKind::Force } else { IndexHintKind::Ignore };
            sources[source].hints.push(IndexHint { kind, purpose: IndexHintPurpose::Any, indexes: named });
        }
        HintKind::Semijoin { on } => block.semijoin = Some(*on),
        HintKind::Subquery { materializes } => block.materializes = Some(*materializes),
        HintKind::MaxExecutionTime(milliseconds) => match number {
            1 => context.time_limit_ms.set(Some(*milliseconds)),
            _ => warn(context, Error::hint_of_top_query()),
        },
        HintKind::Syntax(near) => warn(context, Error::hint_syntax(near)),
        HintKind::SetVar { .. } if number != 1 => conflict(),
        // The session has done what SET_VAR says.
        HintKind::SetVar { .. } | HintKind::Name(_) | HintKind::Unused => {}
    }
}

/// Whether a hint means an index by this name.
pub(super) fn is_named(index: &Index, name: &str) -> bool {
    storage::same_name(name, &index.name) || index.primary && name.eq_ignore_ascii_case("PRIMARY")
}

/// Warns of the indexes of a hint that its table does not have.
fn warn_of_unknown(
    context: &PlanContext<'_>,
    hint: &Hint,
    shown: &str,
    table: &HintTable,
    indexes: &[String],
    stored: &Table,
) {
    for name in indexes.iter().filter(|name| !stored.indexes.iter().any(|index| is_named(index, name))) {
        let name = format!("`{}`@`{shown}` `{name}`", table.name);
        warn(context, Error::unresolved_hint(&name, &hint.name));
    }
}

/// Notes something of the tables that a hint names, or of all.
fn each(
    sources: &mut [Source],
    tables: &[HintTable],
    find: &dyn Fn(&[Source], &HintTable) -> Option<usize>,
    mut note: impl FnMut(&mut Hinted),
) {
    if tables.is_empty() {
        return sources.iter_mut().for_each(|source| note(&mut source.hinted));
    }
    for table in tables {
        if let Some(source) = find(sources, table) {
            note(&mut sources[source].hinted);
        }
    }
}

/// Warns of hints whose blocks are not there.
pub fn warn_of_rest(context: &PlanContext<'_>) {
    for hint in std::mem::take(&mut *context.waiting_hints.borrow_mut()) {
        let name = block_of(&hint).unwrap_or_default().to_owned();
        warn(context, Error::unknown_hint_block(&name, &hint.name));
    }
}
