//! The tables of the database `mysql` in which MySQL keeps accounts and grants: here they are views of the accounts,
//! read by dump programs and drivers, and changed by statements about accounts alone.

use format::value::{DateTime, Json, Value, Zone};

use super::{Facts, VirtualColumn, VirtualTable, long_text, number, string, text, time};
use crate::accounts::attributes::{Lifetime, Transport};
use crate::accounts::{Account, Privileges};
use crate::components;

fn accounts(facts: &Facts<'_>) -> Vec<Account> {
    facts.instance.accounts.list()
}

/// The type of MySQL's columns that are `Y` or `N`.
const fn flag(name: &'static str) -> VirtualColumn {
    text(name, 1)
}

fn yn(is_set: bool) -> Value {
    string(if is_set { "Y" } else { "N" })
}

fn flags(own: Privileges, all: &[Privileges]) -> Vec<Value> {
    all.iter().map(|privilege| yn(own.has(*privilege))).collect()
}

fn optional_number(value: Option<u32>) -> Value {
    value.map_or(Value::Null, |value| Value::UInt(u64::from(value)))
}

fn moment(facts: &Facts<'_>, seconds: u64) -> Value {
    let micros = i64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(|seconds| seconds * 1_000_000);
    micros.and_then(|us| DateTime::from_unix_micros(us, facts.zone)).map_or(Value::Null, Value::DateTime)
}

/// Names with commas, as MySQL's SET columns show them.
fn set(own: Privileges) -> Value {
    let name = |name: &str| match name {
        "GRANT OPTION" => "Grant".to_owned(),
        name => {
            let word = |word: &str| format!("{}{}", &word[..1], word[1..].to_lowercase());
            let words: Vec<String> = name.split(' ').map(word).collect();
            // MySQL writes the second word of some small: "Create View", but "Show view".
            if name == "SHOW VIEW" { "Show view".to_owned() } else { words.join(" ") }
        }
    };
    string(own.iter().map(|(_, own)| name(own)).collect::<Vec<_>>().join(","))
}

/// The privileges in the order of the columns of `mysql.user`, but for the roles at its end.
const OF_USERS: [Privileges; 29] = [
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::RELOAD,
    Privileges::SHUTDOWN,
    Privileges::PROCESS,
    Privileges::FILE,
    Privileges::GRANT_OPTION,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::SHOW_DATABASES,
    Privileges::SUPER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::EXECUTE,
    Privileges::REPLICATION_SLAVE,
    Privileges::REPLICATION_CLIENT,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::CREATE_USER,
    Privileges::EVENT,
    Privileges::TRIGGER,
    Privileges::CREATE_TABLESPACE,
];

/// The zones are compiled in; programs look into these tables for whether there are any, and which.
pub const TIME_ZONE: VirtualTable = VirtualTable {
    name: "time_zone",
    columns: &[number("Time_zone_id"), text("Use_leap_seconds", 1)],
    rows: |_| (1..).zip(Zone::names()).map(|(id, _)| vec![Value::UInt(id), string("N")]).collect(),
};

pub const TIME_ZONE_NAME: VirtualTable = VirtualTable {
    name: "time_zone_name",
    columns: &[text("Name", 64), number("Time_zone_id")],
    rows: |_| (1..).zip(Zone::names()).map(|(id, name)| vec![string(name), Value::UInt(id)]).collect(),
};

/// What other servers load is part of this one.
pub const COMPONENT: VirtualTable = VirtualTable {
    name: "component",
    columns: &[number("component_id"), number("component_group_id"), long_text("component_urn")],
    rows: |_| {
        let row = |(id, urn): (u64, &&str)| vec![Value::UInt(id), Value::UInt(id), string(urn)];
        (1..).zip(components::BUILT_IN).map(row).collect()
    },
};

pub const USER: VirtualTable = VirtualTable {
    name: "user",
    columns: &[
        text("Host", 255),
        text("User", 32),
        flag("Select_priv"),
        flag("Insert_priv"),
        flag("Update_priv"),
        flag("Delete_priv"),
        flag("Create_priv"),
        flag("Drop_priv"),
        flag("Reload_priv"),
        flag("Shutdown_priv"),
        flag("Process_priv"),
        flag("File_priv"),
        flag("Grant_priv"),
        flag("References_priv"),
        flag("Index_priv"),
        flag("Alter_priv"),
        flag("Show_db_priv"),
        flag("Super_priv"),
        flag("Create_tmp_table_priv"),
        flag("Lock_tables_priv"),
        flag("Execute_priv"),
        flag("Repl_slave_priv"),
        flag("Repl_client_priv"),
        flag("Create_view_priv"),
        flag("Show_view_priv"),
        flag("Create_routine_priv"),
        flag("Alter_routine_priv"),
        flag("Create_user_priv"),
        flag("Event_priv"),
        flag("Trigger_priv"),
        flag("Create_tablespace_priv"),
        text("ssl_type", 9),
        long_text("ssl_cipher"),
        long_text("x509_issuer"),
        long_text("x509_subject"),
        number("max_questions"),
        number("max_updates"),
        number("max_connections"),
        number("max_user_connections"),
        text("plugin", 64),
        long_text("authentication_string"),
        flag("password_expired"),
        time("password_last_changed"),
        number("password_lifetime"),
        flag("account_locked"),
        flag("Create_role_priv"),
        flag("Drop_role_priv"),
        number("Password_reuse_history"),
        number("Password_reuse_time"),
        flag("Password_require_current"),
        long_text("User_attributes"),
    ],
    rows: |facts| accounts(facts).iter().map(|account| user_row(facts, account)).collect(),
};

fn user_row(facts: &Facts<'_>, account: &Account) -> Vec<Value> {
    let own = &account.attributes;
    let global = account.grants.global;
    let mut row = vec![string(&account.host), string(&account.user)];
    row.extend(flags(global, &OF_USERS));
    let part = |value: &Option<String>| string(value.as_deref().unwrap_or(""));
    row.extend(match &own.transport {
        Transport::Any => [string(""), string(""), string(""), string("")],
        Transport::Ssl => [string("ANY"), string(""), string(""), string("")],
        Transport::X509 => [string("X509"), string(""), string(""), string("")],
        Transport::Specified { cipher, issuer, subject } => {
            [string("SPECIFIED"), part(cipher), part(issuer), part(subject)]
        }
    });
    row.extend(own.limits.named().map(|(_, limit)| Value::UInt(u64::from(limit))));
    let lifetime = match own.lifetime {
        Lifetime::Default => None,
        Lifetime::Never => Some(0),
        Lifetime::Days(days) => Some(days),
    };
    row.extend([
        string(account.plugin.name()),
        string(&account.verifier),
        yn(own.is_expired),
        moment(facts, own.password_seconds),
        optional_number(lifetime),
        yn(account.locked),
        yn(global.has(Privileges::CREATE_ROLE)),
        yn(global.has(Privileges::DROP_ROLE)),
        optional_number(own.history),
        optional_number(own.reuse_days),
        own.requires_current.map_or(Value::Null, yn),
        user_attributes(account),
    ]);
    row
}

/// What the account says of itself, and its partial revokes.
fn user_attributes(account: &Account) -> Value {
    let of_database = |(database, revoked): (&String, &Privileges)| {
        let names = revoked.iter().map(|(_, name)| Json::String(name.to_owned())).collect();
        Json::object(vec![
            ("Database".to_owned(), Json::String(database.clone())),
            ("Privileges".to_owned(), Json::Array(names)),
        ])
    };
    let restrictions: Vec<Json> = account.grants.restrictions.iter().map(of_database).collect();
    let metadata = account.attributes.metadata.as_ref().and_then(|text| Json::parse(text.as_bytes()).ok());
    let mut members: Vec<(String, Json)> = metadata.map(|json| ("metadata".to_owned(), json)).into_iter().collect();
    if !restrictions.is_empty() {
        members.push(("Restrictions".to_owned(), Json::Array(restrictions)));
    }
    match members.is_empty() {
        true => Value::Null,
        false => Value::Bytes(Json::object(members).to_text()),
    }
}

/// The privileges in the order of the columns of `mysql.db`.
const OF_DATABASES: [Privileges; 19] = [
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::GRANT_OPTION,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::EXECUTE,
    Privileges::EVENT,
    Privileges::TRIGGER,
];

pub const DB: VirtualTable = VirtualTable {
    name: "db",
    columns: &[
        text("Host", 255),
        text("Db", 64),
        text("User", 32),
        flag("Select_priv"),
        flag("Insert_priv"),
        flag("Update_priv"),
        flag("Delete_priv"),
        flag("Create_priv"),
        flag("Drop_priv"),
        flag("Grant_priv"),
        flag("References_priv"),
        flag("Index_priv"),
        flag("Alter_priv"),
        flag("Create_tmp_table_priv"),
        flag("Lock_tables_priv"),
        flag("Create_view_priv"),
        flag("Show_view_priv"),
        flag("Create_routine_priv"),
        flag("Alter_routine_priv"),
        flag("Execute_priv"),
        flag("Event_priv"),
        flag("Trigger_priv"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for (database, own) in &account.grants.databases {
                let mut row = vec![string(&account.host), string(database), string(&account.user)];
                row.extend(flags(*own, &OF_DATABASES));
                rows.push(row);
            }
        }
        rows
    },
};

pub const TABLES_PRIV: VirtualTable = VirtualTable {
    name: "tables_priv",
    columns: &[
        text("Host", 255),
        text("Db", 64),
        text("User", 32),
        text("Table_name", 64),
        text("Grantor", 288),
        time("Timestamp"),
        text("Table_priv", 255),
        text("Column_priv", 64),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for ((database, table), own) in &account.grants.tables {
                rows.push(vec![
                    string(&account.host),
                    string(database),
                    string(&account.user),
                    string(table),
                    string(""),
                    Value::Null,
                    set(own.table),
                    set(own.any_column()),
                ]);
            }
        }
        rows
    },
};

pub const COLUMNS_PRIV: VirtualTable = VirtualTable {
    name: "columns_priv",
    columns: &[
        text("Host", 255),
        text("Db", 64),
        text("User", 32),
        text("Table_name", 64),
        text("Column_name", 64),
        time("Timestamp"),
        text("Column_priv", 64),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for ((database, table), grant) in &account.grants.tables {
                for (column, own) in &grant.columns {
                    rows.push(vec![
                        string(&account.host),
                        string(database),
                        string(&account.user),
                        string(table),
                        string(column),
                        Value::Null,
                        set(*own),
                    ]);
                }
            }
        }
        rows
    },
};

pub const PROCS_PRIV: VirtualTable = VirtualTable {
    name: "procs_priv",
    columns: &[
        text("Host", 255),
        text("Db", 64),
        text("User", 32),
        text("Routine_name", 64),
        text("Routine_type", 9),
        text("Grantor", 288),
        text("Proc_priv", 64),
        time("Timestamp"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for (((database, routine), kind), own) in &account.grants.routines {
                rows.push(vec![
                    string(&account.host),
                    string(database),
                    string(&account.user),
                    string(routine),
                    string(kind.name()),
                    string(""),
                    set(*own),
                    Value::Null,
                ]);
            }
        }
        rows
    },
};

/// Nobody acts for another account here.
pub const PROXIES_PRIV: VirtualTable = VirtualTable {
    name: "proxies_priv",
    columns: &[
        text("Host", 255),
        text("User", 32),
        text("Proxied_host", 255),
        text("Proxied_user", 32),
        number("With_grant"),
        text("Grantor", 288),
        time("Timestamp"),
    ],
    rows: super::no_rows,
};

/// No library is loaded here.
pub const PLUGIN: VirtualTable =
    VirtualTable { name: "plugin", columns: &[text("name", 64), text("dl", 128)], rows: super::no_rows };

pub const GLOBAL_GRANTS: VirtualTable = VirtualTable {
    name: "global_grants",
    columns: &[text("USER", 32), text("HOST", 255), text("PRIV", 32), flag("WITH_GRANT_OPTION")],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for name in account.grants.dynamic.iter() {
                let grantable = account.grants.dynamic_grantable.has_name(name);
                rows.push(vec![string(&account.user), string(&account.host), string(name), yn(grantable)]);
            }
        }
        rows
    },
};

pub const ROLE_EDGES: VirtualTable = VirtualTable {
    name: "role_edges",
    columns: &[
        text("FROM_HOST", 255),
        text("FROM_USER", 32),
        text("TO_HOST", 255),
        text("TO_USER", 32),
        flag("WITH_ADMIN_OPTION"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for ((role, host), admin) in &account.roles {
                rows.push(vec![string(host), string(role), string(&account.host), string(&account.user), yn(*admin)]);
            }
        }
        rows
    },
};

pub const DEFAULT_ROLES: VirtualTable = VirtualTable {
    name: "default_roles",
    columns: &[text("HOST", 255), text("USER", 32), text("DEFAULT_ROLE_HOST", 255), text("DEFAULT_ROLE_USER", 32)],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for (role, host) in &account.default_roles {
                rows.push(vec![string(&account.host), string(&account.user), string(host), string(role)]);
            }
        }
        rows
    },
};

pub const PASSWORD_HISTORY: VirtualTable = VirtualTable {
    name: "password_history",
    columns: &[text("Host", 255), text("User", 32), time("Password_timestamp"), long_text("Password")],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in accounts(facts) {
            for old in &account.attributes.former_passwords {
                rows.push(vec![
                    string(&account.host),
                    string(&account.user),
                    moment(facts, old.seconds),
                    string(&old.verifier),
                ]);
            }
        }
        rows
    },
};
