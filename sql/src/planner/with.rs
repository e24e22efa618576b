//! Tables of WITH by their names, and WITH RECURSIVE: which parts of a table's query are its seed and which read the
//! table itself.
//!
//! ```text
//! WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t
//!                          seed               member: reads the rows of the last round
//! ```
//!
//! A part is a member if binding it meets the table's own name: nothing else tells, for a name may stand at any depth,
//! and may mean another table there. So each part is bound once to see what it is; the types of the columns are the
//! seed's, and with these the members are bound again. What a member reads is a derived table of its own, whose rows
//! are those of the last round.
//!
//! As in MySQL a member reads the table once, not in a subquery and not as the inner side of an outer join, and neither
//! groups nor sorts: a round sees a part of the rows only, so what it said of all of them would be wrong.

use std::rc::Rc;

use super::bind::bind_limit;
use super::logical::{Block, Derived, Query, Recursive};
use super::query::{Parts, bind_part, finish_union};
use super::{CommonTable, OutputColumn, PlanContext, SetLink, SourceKind};
use crate::error::{Error, Result};
use crate::parser::ast::{self, Body, SetOperator, SetPart};

/// What the name of a table of WITH RECURSIVE means within its own query.
#[derive(Clone)]
pub enum OwnName {
    /// It is not known yet which part this is.
    Unknown { was_asked: bool },
    /// The rows of the last round, which a query at this depth may read once.
    Working { rows: Rc<Derived>, depth: usize, uses: usize },
}

/// The error of a part that turned out to be a member: never shown to a client.
const IS_MEMBER: u16 = u16::MAX - 1;

/// Binds a table of WITH: it sees those that stand before it. None: there is no such table.
pub fn bind_common_table(context: &PlanContext<'_>, name: &str) -> Result<Option<(Rc<Derived>, Vec<String>)>> {
    let found = context.common_tables.borrow().iter().rposition(|table| table.written.name == name);
    let Some(at) = found else { return Ok(None) };
    if let Some(own) = read_own(context, at) {
        return own.map(Some);
    }
    // One that may read itself stays in sight.
    let may_recurse = context.common_tables.borrow()[at].may_recurse;
    let mut hidden = context.common_tables.borrow_mut().split_off(at + usize::from(may_recurse));
    let mut seen = context.common_tables.borrow_mut();
    let table = if may_recurse { &mut seen[at] } else { &mut hidden[0] };
    let known = table.bound.clone();
    let bound = match known {
        Some(bound) => {
            drop(seen);
            Ok(bound)
        }
        None => {
            let written = table.written.clone();
            if may_recurse {
                table.own_name = Some(OwnName::Unknown { was_asked: false });
            }
            drop(seen);
            let query = match may_recurse {
                true => bind(context, &written),
                false => context.bind_query(&written.query, None, context.plain_reads).map(|(query, _)| query),
            };
            let bound = query.map(|query| context.derived(query));
            let mut seen = context.common_tables.borrow_mut();
            let table = if may_recurse { &mut seen[at] } else { &mut hidden[0] };
            table.own_name = None;
            table.bound = bound.as_ref().ok().cloned();
            bound
        }
    };
    let columns = match may_recurse {
        true => context.common_tables.borrow()[at].written.columns.clone(),
        false => hidden[0].written.columns.clone(),
    };
    context.common_tables.borrow_mut().extend(hidden);
    Ok(Some((bound?, columns)))
}

fn own_name<'t>(tables: &'t mut [CommonTable], name: &str) -> Option<&'t mut OwnName> {
    tables.iter_mut().rfind(|table| table.written.name == name)?.own_name.as_mut()
}

/// The meaning of a table's name within its own query; None: this is not its own query.
fn read_own(context: &PlanContext<'_>, at: usize) -> Option<Result<(Rc<Derived>, Vec<String>)>> {
    let depth_now = context.depth.get();
    let mut tables = context.common_tables.borrow_mut();
    let CommonTable { written, own_name: Some(own), .. } = &mut tables[at] else { return None };
    Some(match own {
        OwnName::Unknown { was_asked } => {
            *was_asked = true;
            Err(Error::new(IS_MEMBER, b"HY000", "a part reads its own table"))
        }
        OwnName::Working { rows, depth, uses } => {
            *uses += 1;
            if *uses > 1 || depth_now != *depth {
                Err(single_reference(&written.name))
            } else {
                Ok((rows.clone(), written.columns.clone()))
            }
        }
    })
}

/// Binds the query of a table of WITH RECURSIVE, which may read itself.
fn bind(context: &PlanContext<'_>, written: &ast::CommonTable) -> Result<Query> {
    match context.bind_query(&written.query, None, context.plain_reads) {
        Err(error) if error.code == IS_MEMBER && was_asked(context, &written.name) => {}
        other => return other.map(|(query, _)| query),
    }
    context.with_tables(written.query.with.as_ref(), || bind_parts(context, written))
}

/// Whether the table's own name was met since this was asked last.
fn was_asked(context: &PlanContext<'_>, name: &str) -> bool {
    match own_name(&mut context.common_tables.borrow_mut(), name) {
        Some(OwnName::Unknown { was_asked }) => std::mem::take(was_asked),
        _ => false,
    }
}

/// The parts of a chain of UNIONs, each with how it joins those before it.
fn chain<'b>(body: &'b Body, parts: &mut Vec<(Option<SetLink>, &'b Body)>) {
    match body {
        Body::Set { first, rest } => {
            parts.push((None, part(first)));
            for SetPart { operator, all, body } in rest {
                parts.push((Some(SetLink { operator: *operator, all: *all }), part(body)));
            }
        }
        body => parts.push((None, part(body))),
    }
}

/// Parentheses around one part change nothing.
fn part(body: &Body) -> &Body {
    match body {
        Body::Nested(query) if super::query::is_bare(query) && !matches!(query.body, Body::Set { .. }) => {
            part(&query.body)
        }
        body => body,
    }
}

fn bind_parts(context: &PlanContext<'_>, written: &ast::CommonTable) -> Result<Query> {
    let name = &written.name;
    let mut parts = Vec::new();
    let mut body = &written.query.body;
    while let Body::Nested(query) = body
        && super::query::is_bare(query)
    {
        body = &query.body;
    }
    chain(body, &mut parts);
    if parts.len() == 1 {
        return Err(Error::new(
            3573,
            b"HY000",
            format!("Recursive Common Table Expression '{name}' should contain a UNION"),
        ));
    }
    let mut seeds = Parts::default();
    let mut members: Vec<(SetLink, &Body)> = Vec::new();
    for (link, body) in parts {
        match (bind_part(context, body), link) {
            (Err(error), link) if error.code == IS_MEMBER && was_asked(context, name) => match link {
                Some(link) if link.operator == SetOperator::Union => members.push((link, body)),
                Some(_) => return Err(Error::unsupported("EXCEPT or INTERSECT in a recursive query block")),
                None => return Err(seed_first(name)),
            },
            (Err(error), _) => return Err(error),
            (Ok(_), _) if !members.is_empty() => return Err(seed_first(name)),
            (Ok(part), link) => seeds.add(part, link),
        }
    }
    if !written.query.order_by.is_empty() {
        return Err(Error::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
    }
    let limit = written.query.limit.as_ref().map(|limit| bind_limit(context, limit)).transpose()?;
    let (seed, _) = finish_union(context, seeds, &[], None, None)?;
    let columns: Vec<OutputColumn> = seed.columns().iter().map(column_of_seed).collect();

    // Duplicates are told apart among all rows, or not at all.
    let distinct = members.iter().rposition(|(link, _)| !link.all);
    if distinct.is_some_and(|last| last + 1 < members.len()) {
        let what = "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression";
        return Err(Error::unsupported(what));
    }
    context.next_derived.set(context.next_derived.get() + 1);
    let working = context.next_derived.get();
    let rows = Rc::new(Derived {
        id: working,
        columns: columns.clone(),
        query: Query::Working(columns.clone()).into(),
        view: None,
        refused: Vec::new(),
    });
    let mut bound = Vec::with_capacity(members.len());
    for (_, body) in members {
        let depth = context.depth.get();
        set_own(context, name, OwnName::Working { rows: rows.clone(), depth, uses: 0 });
        let (member, _) = bind_part(context, body)?;
        if member.columns().len() != columns.len() {
            return Err(Error::union_columns());
        }
        check_member(name, &member, working)?;
        bound.push(member);
    }
    Ok(Query::Recursive(Box::new(Recursive {
        name: name.as_str().into(),
        seed,
        members: bound,
        distinct: distinct.is_some(),
        working,
        columns,
        limit,
    })))
}

fn set_own(context: &PlanContext<'_>, name: &str, meaning: OwnName) {
    if let Some(own) = own_name(&mut context.common_tables.borrow_mut(), name) {
        *own = meaning;
    }
}

/// A column as the rows of all rounds have it: its type is the seed's, and any round may give NULL.
fn column_of_seed(column: &OutputColumn) -> OutputColumn {
    let ty = column.ty.stored().nullable(true);
    OutputColumn { name: column.name.clone(), ty, column_type: ty.column_type(), origin: None }
}

fn check_member(name: &str, member: &Query, working: usize) -> Result<()> {
    let Query::Block(block) = member else { return Err(single_reference(name)) };
    let Block { sources, group, windows, distinct, order, limit, .. } = &**block;
    if group.is_some() || !windows.is_empty() {
        return Err(Error::new(
            3575,
            b"HY000",
            format!(
                "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in \
                 recursive query block"
            ),
        ));
    }
    if *distinct || !order.is_empty() || limit.is_some() {
        let what = "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression";
        return Err(Error::unsupported(what));
    }
    let is_own = |kind: &SourceKind<Rc<Derived>>| matches!(kind, SourceKind::Derived(derived) if derived.id == working);
    if sources.iter().any(|source| source.nullable && is_own(&source.kind)) {
        return Err(Error::new(
            3576,
            b"HY000",
            format!(
                "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must \
                 neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints"
            ),
        ));
    }
    Ok(())
}

fn single_reference(name: &str) -> Error {
    Error::new(
        3577,
        b"HY000",
        format!(
            "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be \
             referenced only once, and not in any subquery"
        ),
    )
}

fn seed_first(name: &str) -> Error {
    Error::new(
        3574,
        b"HY000",
        format!(
            "Recursive Common Table Expression '{name}' should have one or more non-recursive query blocks followed by \
             one or more recursive ones"
        ),
    )
}
