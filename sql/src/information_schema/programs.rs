//! Stored programs: ROUTINES, PARAMETERS, TRIGGERS and EVENTS.

use std::sync::Arc;

use format::collation::{CollationId, collation};
use format::value::{ColumnType, Value};
use storage::{Definition, DefinitionKind};

use super::catalog::{moment, type_fields};
use super::{Facts, VirtualTable, exact, int, long_exact, long_text, number, string, text, time};
use crate::accounts::Privileges;
use crate::accounts::grants::RoutineKind;
use crate::column_types::column_type;
use crate::describe;
use crate::parser::ast::TypeSpec;
use crate::programs::schedule::Schedule;
use crate::programs::{Event, Origin, Routine, Trigger, status_words};
use crate::variables::mode_text;

/// Whether the session may know of a routine.
pub fn sees_routine(facts: &Facts<'_>, definition: &Definition, routine: &Routine) -> bool {
    let rights = facts.rights;
    let kind = RoutineKind::of(routine.kind);
    let of_routines = Privileges::EXECUTE | Privileges::ALTER_ROUTINE | Privileges::CREATE_ROUTINE;
    sees_body(facts, routine) || rights.on_routine(&definition.database, kind, &definition.name).has_any(of_routines)
}

/// Whether it may read the body: to change it, or to call it, is not enough.
pub fn sees_body(facts: &Facts<'_>, routine: &Routine) -> bool {
    let rights = facts.rights;
    rights.is_internal()
        || rights.account == routine.origin.definer
        || rights.has_global(Privileges::SELECT)
        || rights.has_dynamic("SHOW_ROUTINE")
}

/// The routines that the session may know of.
pub fn routines(facts: &Facts<'_>, kinds: &[DefinitionKind]) -> Vec<(Arc<Definition>, Routine)> {
    let engine = &facts.instance.engine;
    let mut found = Vec::new();
    for database in engine.databases() {
        for kind in kinds {
            for definition in engine.definitions(*kind, &database.name) {
                let Ok(routine) = Routine::decode(&definition.bytes) else { continue };
                if sees_routine(facts, &definition, &routine) {
                    found.push((definition, routine));
                }
            }
        }
    }
    found
}

/// The triggers that the session may know of, with their places among those of their time and event.
pub fn triggers(facts: &Facts<'_>) -> Vec<(Arc<Definition>, Trigger, u64)> {
    let engine = &facts.instance.engine;
    let mut found: Vec<(Arc<Definition>, Trigger, u64)> = Vec::new();
    for database in engine.databases() {
        for definition in engine.definitions(DefinitionKind::Trigger, &database.name) {
            let Ok(trigger) = Trigger::decode(&definition.bytes) else { continue };
            let rights = facts.rights;
            let sees = rights.is_internal()
                || rights.on_table(&definition.database, &definition.table).has(Privileges::TRIGGER);
            if sees {
                found.push((definition, trigger, 1));
            }
        }
    }
    found.sort_by(|(a, ta, _), (b, tb, _)| {
        let key = |definition: &Definition, trigger: &Trigger| {
            let place = (definition.database.clone(), definition.table.clone());
            (place, trigger.event as u8, !trigger.before, trigger.rank.clone())
        };
        key(a, ta).cmp(&key(b, tb))
    });
    for at in 1..found.len() {
        let (before, here) = (&found[at - 1], &found[at]);
        let is_next = (&before.0.database, &before.0.table) == (&here.0.database, &here.0.table)
            && (before.1.before, before.1.event) == (here.1.before, here.1.event);
        if is_next {
            found[at].2 = found[at - 1].2 + 1;
        }
    }
    found
}

/// The events that the session may know of.
pub fn events(facts: &Facts<'_>) -> Vec<(Arc<Definition>, Event)> {
    let engine = &facts.instance.engine;
    let mut found = Vec::new();
    for database in engine.databases() {
        if facts.rights.need_database(Privileges::EVENT, &database.name).is_err() {
            continue;
        }
        for definition in engine.definitions(DefinitionKind::Event, &database.name) {
            if let Ok(event) = Event::decode(&definition.bytes) {
                found.push((definition, event));
            }
        }
    }
    found
}

pub const EVENTS: VirtualTable = VirtualTable {
    name: "EVENTS",
    columns: &[
        exact("EVENT_CATALOG", 64),
        exact("EVENT_SCHEMA", 64),
        text("EVENT_NAME", 64),
        exact("DEFINER", 288),
        exact("TIME_ZONE", 64),
        text("EVENT_BODY", 3),
        long_exact("EVENT_DEFINITION"),
        text("EVENT_TYPE", 9),
        time("EXECUTE_AT"),
        text("INTERVAL_VALUE", 256),
        exact("INTERVAL_FIELD", 18),
        exact("SQL_MODE", 512),
        time("STARTS"),
        time("ENDS"),
        exact("STATUS", 21),
        text("ON_COMPLETION", 12),
        time("CREATED"),
        time("LAST_ALTERED"),
        time("LAST_EXECUTED"),
        exact("EVENT_COMMENT", 2048),
        number("ORIGINATOR"),
        text("CHARACTER_SET_CLIENT", 64),
        text("COLLATION_CONNECTION", 64),
        text("DATABASE_COLLATION", 64),
    ],
    rows: |facts| {
        let system = facts.instance.variables.system_zone();
        let row = |(definition, event): (Arc<Definition>, Event)| {
            // Its times are those of its zone.
            let own = Facts { zone: event.zone(system), ..*facts };
            let (at, every, starts, ends) = match &event.schedule {
                Schedule::At(at) => (moment(&own, *at), [Value::Null, Value::Null], Value::Null, Value::Null),
                Schedule::Every { amount, unit, starts_us, ends_us } => (
                    Value::Null,
                    [string(amount), string(unit.name())],
                    moment(&own, *starts_us),
                    moment(&own, ends_us.unwrap_or(0)),
                ),
            };
            let kind = if at == Value::Null { "RECURRING" } else { "ONE TIME" };
            let [amount, unit] = every;
            let mut row = vec![
                string("def"),
                string(&definition.database),
                string(&event.name),
                string(event.origin.definer_text()),
                string(&event.time_zone),
                string("SQL"),
                string(&event.body),
                string(kind),
                at,
                amount,
                unit,
                string(mode_text(event.origin.sql_mode)),
                starts,
                ends,
                string(status_words(event.status).0),
                string(if event.preserve { "PRESERVE" } else { "NOT PRESERVE" }),
                moment(facts, event.origin.created_us),
                moment(facts, event.origin.altered_us),
                moment(&own, event.executed_us),
                string(&event.comment),
                Value::UInt(event.originator),
            ];
            row.extend(surroundings(&event.origin));
            row
        };
        events(facts).into_iter().map(row).collect()
    },
};

fn stored_type(name: &str, spec: &TypeSpec, origin: &Origin) -> Option<ColumnType> {
    column_type(name, spec, origin.database, CollationId::DEFAULT).ok()
}

/// Character set of the client, collation of the connection, collation of the database.
fn surroundings(origin: &Origin) -> [Value; 3] {
    [
        string(collation(origin.client).charset.name()),
        string(collation(origin.connection).name),
        string(collation(origin.database).name),
    ]
}

pub const TRIGGERS: VirtualTable = VirtualTable {
    name: "TRIGGERS",
    columns: &[
        exact("TRIGGER_CATALOG", 64),
        exact("TRIGGER_SCHEMA", 64),
        text("TRIGGER_NAME", 64),
        exact("EVENT_MANIPULATION", 6),
        exact("EVENT_OBJECT_CATALOG", 64),
        exact("EVENT_OBJECT_SCHEMA", 64),
        exact("EVENT_OBJECT_TABLE", 64),
        number("ACTION_ORDER"),
        long_text("ACTION_CONDITION"),
        long_exact("ACTION_STATEMENT"),
        text("ACTION_ORIENTATION", 3),
        exact("ACTION_TIMING", 6),
        text("ACTION_REFERENCE_OLD_TABLE", 64),
        text("ACTION_REFERENCE_NEW_TABLE", 64),
        text("ACTION_REFERENCE_OLD_ROW", 3),
        text("ACTION_REFERENCE_NEW_ROW", 3),
        time("CREATED"),
        exact("SQL_MODE", 512),
        exact("DEFINER", 288),
        text("CHARACTER_SET_CLIENT", 64),
        text("COLLATION_CONNECTION", 64),
        text("DATABASE_COLLATION", 64),
    ],
    rows: |facts| {
        let row = |(definition, trigger, order): (Arc<Definition>, Trigger, u64)| {
            let mut row = vec![
                string("def"),
                string(&definition.database),
                string(&definition.name),
                string(trigger.event.name()),
                string("def"),
                string(&definition.database),
                string(&definition.table),
                Value::UInt(order),
                Value::Null,
                string(&trigger.body),
                string("ROW"),
                string(trigger.time()),
                Value::Null,
                Value::Null,
                string("OLD"),
                string("NEW"),
                moment(facts, trigger.origin.created_us),
                string(mode_text(trigger.origin.sql_mode)),
                string(trigger.origin.definer_text()),
            ];
            row.extend(surroundings(&trigger.origin));
            row
        };
        triggers(facts).into_iter().map(row).collect()
    },
};

pub const ROUTINES: VirtualTable = VirtualTable {
    name: "ROUTINES",
    columns: &[
        text("SPECIFIC_NAME", 64),
        exact("ROUTINE_CATALOG", 64),
        exact("ROUTINE_SCHEMA", 64),
        text("ROUTINE_NAME", 64),
        exact("ROUTINE_TYPE", 9),
        long_exact("DATA_TYPE"),
        number("CHARACTER_MAXIMUM_LENGTH"),
        number("CHARACTER_OCTET_LENGTH"),
        number("NUMERIC_PRECISION"),
        number("NUMERIC_SCALE"),
        number("DATETIME_PRECISION"),
        text("CHARACTER_SET_NAME", 64),
        text("COLLATION_NAME", 64),
        long_exact("DTD_IDENTIFIER"),
        text("ROUTINE_BODY", 8),
        long_exact("ROUTINE_DEFINITION"),
        text("EXTERNAL_NAME", 64),
        exact("EXTERNAL_LANGUAGE", 64),
        text("PARAMETER_STYLE", 3),
        text("IS_DETERMINISTIC", 3),
        exact("SQL_DATA_ACCESS", 17),
        text("SQL_PATH", 64),
        exact("SECURITY_TYPE", 7),
        time("CREATED"),
        time("LAST_ALTERED"),
        exact("SQL_MODE", 512),
        long_exact("ROUTINE_COMMENT"),
        exact("DEFINER", 288),
        text("CHARACTER_SET_CLIENT", 64),
        text("COLLATION_CONNECTION", 64),
        text("DATABASE_COLLATION", 64),
    ],
    rows: |facts| {
        let row = |(definition, routine): (Arc<Definition>, Routine)| {
            let origin = &routine.origin;
            let mut row = vec![
                string(&routine.name),
                string("def"),
                string(&definition.database),
                string(&routine.name),
                string(routine.kind.name()),
            ];
            let returns = routine.parse_returns().ok().flatten();
            match returns.and_then(|spec| stored_type(&routine.name, &spec, origin)) {
                Some(ty) => row.extend(type_fields(&ty)),
                None => {
                    row.push(string(""));
                    row.resize(row.len() + 8, Value::Null);
                }
            }
            let body = match sees_body(facts, &routine) {
                true => string(&routine.body),
                false => Value::Null,
            };
            row.extend([
                string("SQL"),
                body,
                Value::Null,
                string("SQL"),
                string("SQL"),
                string(if routine.deterministic { "YES" } else { "NO" }),
                string(routine.access.name()),
                Value::Null,
                string(if routine.as_invoker { "INVOKER" } else { "DEFINER" }),
                moment(facts, origin.created_us),
                moment(facts, origin.altered_us),
                string(mode_text(origin.sql_mode)),
                string(&routine.comment),
                string(origin.definer_text()),
            ]);
            row.extend(surroundings(origin));
            row
        };
        let kinds = [DefinitionKind::Function, DefinitionKind::Procedure];
        routines(facts, &kinds).into_iter().map(row).collect()
    },
};

pub const PARAMETERS: VirtualTable = VirtualTable {
    name: "PARAMETERS",
    columns: &[
        exact("SPECIFIC_CATALOG", 64),
        exact("SPECIFIC_SCHEMA", 64),
        text("SPECIFIC_NAME", 64),
        number("ORDINAL_POSITION"),
        exact("PARAMETER_MODE", 5),
        text("PARAMETER_NAME", 64),
        long_exact("DATA_TYPE"),
        number("CHARACTER_MAXIMUM_LENGTH"),
        number("CHARACTER_OCTET_LENGTH"),
        number("NUMERIC_PRECISION"),
        int("NUMERIC_SCALE"),
        number("DATETIME_PRECISION"),
        text("CHARACTER_SET_NAME", 64),
        text("COLLATION_NAME", 64),
        long_exact("DTD_IDENTIFIER"),
        exact("ROUTINE_TYPE", 9),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        let kinds = [DefinitionKind::Function, DefinitionKind::Procedure];
        for (definition, routine) in routines(facts, &kinds) {
            let mut add = |ordinal: u64, named: Option<(&str, &str)>, spec: &TypeSpec| {
                let Some(ty) = stored_type(&routine.name, spec, &routine.origin) else { return };
                let mut row = vec![
                    string("def"),
                    string(&definition.database),
                    string(&routine.name),
                    Value::UInt(ordinal),
                    named.map_or(Value::Null, |(mode, _)| string(mode)),
                    named.map_or(Value::Null, |(_, name)| string(name)),
                ];
                row.extend(type_fields(&ty));
                row.push(string(routine.kind.name()));
                rows.push(row);
            };
            if let Ok(Some(returns)) = routine.parse_returns() {
                add(0, None, &returns);
            }
            for (at, parameter) in (1..).zip(routine.parse_parameters().unwrap_or_default()) {
                add(at, Some((parameter.mode.name(), &parameter.name)), &parameter.ty);
            }
        }
        rows
    },
};

/// A function's type as SHOW CREATE tells it, with its character set.
pub fn type_text(ty: &ColumnType) -> String {
    match describe::declared_collation(ty) {
        Some(id) => format!("{} CHARSET {}", describe::column_type(ty), collation(id).charset.name()),
        None => describe::column_type(ty),
    }
}
