//! Privileges and roles, in the standard's views. Who may not read the accounts sees what is its own.

use format::value::Value;

use super::{Facts, VirtualTable, exact, long_text, optional, string, text, yes};
use crate::accounts::rights::reached;
use crate::accounts::{Account, Key, Privileges};

/// The accounts whose grants the session may see.
fn shown(facts: &Facts<'_>) -> Vec<Account> {
    let all = facts.instance.accounts.list();
    let rights = facts.rights;
    if rights.is_internal() || rights.on_database("mysql").has(Privileges::SELECT) {
        return all;
    }
    all.into_iter()
        .filter(|account| {
            let key = account.key();
            key == rights.account || rights.active_roles.contains(&key)
        })
        .collect()
}

fn grantee(account: &Account) -> Value {
    string(format!("'{}'@'{}'", account.user, account.host))
}

/// A row for each privilege: its name behind `key`, and whether it may be passed on. Without any there is USAGE.
fn rows_of(key: &[Value], own: Privileges, rows: &mut Vec<Vec<Value>>) {
    let grantable = own.has(Privileges::GRANT_OPTION);
    let plain = own - Privileges::GRANT_OPTION;
    let mut push = |name: &str| {
        let mut row = key.to_vec();
        row.extend([string(name), yes(grantable)]);
        rows.push(row);
    };
    plain.iter().for_each(|(_, name)| push(name));
    if plain.is_empty() {
        push("USAGE");
    }
}

pub const USER_PRIVILEGES: VirtualTable = VirtualTable {
    name: "USER_PRIVILEGES",
    columns: &[text("GRANTEE", 292), text("TABLE_CATALOG", 512), text("PRIVILEGE_TYPE", 64), text("IS_GRANTABLE", 3)],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in shown(facts) {
            let key = [grantee(&account), string("def")];
            rows_of(&key, account.grants.global, &mut rows);
            for name in account.grants.dynamic.iter() {
                let [grantee, catalog] = key.clone();
                let grantable = account.grants.dynamic_grantable.has_name(name);
                rows.push(vec![grantee, catalog, string(name), yes(grantable)]);
            }
        }
        rows
    },
};

pub const SCHEMA_PRIVILEGES: VirtualTable = VirtualTable {
    name: "SCHEMA_PRIVILEGES",
    columns: &[
        text("GRANTEE", 292),
        text("TABLE_CATALOG", 512),
        text("TABLE_SCHEMA", 64),
        text("PRIVILEGE_TYPE", 64),
        text("IS_GRANTABLE", 3),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in shown(facts) {
            for (database, own) in &account.grants.databases {
                rows_of(&[grantee(&account), string("def"), string(database)], *own, &mut rows);
            }
        }
        rows
    },
};

pub const TABLE_PRIVILEGES: VirtualTable = VirtualTable {
    name: "TABLE_PRIVILEGES",
    columns: &[
        text("GRANTEE", 292),
        text("TABLE_CATALOG", 512),
        text("TABLE_SCHEMA", 64),
        text("TABLE_NAME", 64),
        text("PRIVILEGE_TYPE", 64),
        text("IS_GRANTABLE", 3),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in shown(facts) {
            for ((database, table), own) in account.grants.tables.iter().filter(|(_, own)| !own.table.is_empty()) {
                let key = [grantee(&account), string("def"), string(database), string(table)];
                rows_of(&key, own.table, &mut rows);
            }
        }
        rows
    },
};

pub const COLUMN_PRIVILEGES: VirtualTable = VirtualTable {
    name: "COLUMN_PRIVILEGES",
    columns: &[
        text("GRANTEE", 292),
        text("TABLE_CATALOG", 512),
        text("TABLE_SCHEMA", 64),
        text("TABLE_NAME", 64),
        text("COLUMN_NAME", 64),
        text("PRIVILEGE_TYPE", 64),
        text("IS_GRANTABLE", 3),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for account in shown(facts) {
            for ((database, table), grant) in &account.grants.tables {
                let option = grant.table & Privileges::GRANT_OPTION;
                for (column, own) in &grant.columns {
                    let key = [grantee(&account), string("def"), string(database), string(table), string(column)];
                    rows_of(&key, *own | option, &mut rows);
                }
            }
        }
        rows
    },
};

pub const USER_ATTRIBUTES: VirtualTable = VirtualTable {
    name: "USER_ATTRIBUTES",
    columns: &[exact("USER", 32), text("HOST", 255), long_text("ATTRIBUTE")],
    rows: |facts| {
        let row = |account: Account| {
            vec![string(&account.user), string(&account.host), optional(account.attributes.metadata)]
        };
        shown(facts).into_iter().map(row).collect()
    },
};

pub const ENABLED_ROLES: VirtualTable = VirtualTable {
    name: "ENABLED_ROLES",
    columns: &[text("ROLE_NAME", 255), text("ROLE_HOST", 255), text("IS_DEFAULT", 3), text("IS_MANDATORY", 3)],
    rows: |facts| {
        let accounts = facts.instance.accounts.snapshot();
        let own = accounts.get(&facts.rights.account);
        let row = |role: Key| {
            let has = own.is_some_and(|own| own.roles.contains_key(&role));
            let by_default = own.is_some_and(|own| own.default_roles.contains(&role));
            vec![string(&role.0), string(&role.1), yes(by_default), yes(!has)]
        };
        facts.rights.active_roles.iter().cloned().map(row).collect()
    },
};

pub const APPLICABLE_ROLES: VirtualTable = VirtualTable {
    name: "APPLICABLE_ROLES",
    columns: &[
        exact("USER", 97),
        text("HOST", 255),
        text("GRANTEE", 97),
        text("GRANTEE_HOST", 255),
        text("ROLE_NAME", 255),
        text("ROLE_HOST", 255),
        text("IS_GRANTABLE", 3),
        text("IS_DEFAULT", 3),
        text("IS_MANDATORY", 3),
    ],
    rows: |facts| {
        let accounts = facts.instance.accounts.snapshot();
        let (user, host) = &facts.rights.account;
        let own = [facts.rights.account.clone()];
        let mut rows = Vec::new();
        for holder in reached(&accounts, own.iter()).iter().filter_map(|key| accounts.get(key)) {
            for ((role, role_host), admin) in &holder.roles {
                let by_default = holder.default_roles.contains(&(role.clone(), role_host.clone()));
                rows.push(vec![
                    string(user),
                    string(host),
                    string(&holder.user),
                    string(&holder.host),
                    string(role),
                    string(role_host),
                    yes(*admin),
                    yes(by_default),
                    yes(false),
                ]);
            }
        }
        rows
    },
};

/// The roles that the session may grant to others.
pub const ADMINISTRABLE_ROLE_AUTHORIZATIONS: VirtualTable = VirtualTable {
    name: "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
    columns: APPLICABLE_ROLES.columns,
    rows: |facts| {
        let grantable = APPLICABLE_ROLES.columns.iter().position(|column| column.name == "IS_GRANTABLE");
        let grantable = grantable.expect("a column of it");
        (APPLICABLE_ROLES.rows)(facts).into_iter().filter(|row| row[grantable] == yes(true)).collect()
    },
};

/// A grant as the tables about roles show it: who has granted it is not kept.
fn role_grants(facts: &Facts<'_>, per_role: impl Fn(&Account, &mut Vec<Vec<Value>>)) -> Vec<Vec<Value>> {
    let accounts = facts.instance.accounts.snapshot();
    let mut rows = Vec::new();
    for role in facts.rights.active_roles.iter().filter_map(|key| accounts.get(key)) {
        per_role(role, &mut rows);
    }
    rows
}

/// GRANTOR, GRANTOR_HOST, GRANTEE, GRANTEE_HOST.
fn to_role(role: &Account) -> Vec<Value> {
    vec![Value::Null, Value::Null, string(&role.user), string(&role.host), string("def")]
}

/// MySQL's SET of names in the tables about roles.
fn privilege_set(own: Privileges) -> Value {
    let names: Vec<String> = (own - Privileges::GRANT_OPTION).iter().map(|(_, name)| capitalised(name)).collect();
    string(names.join(","))
}

/// `SELECT` as `Select`, `CREATE VIEW` as `Create View`.
fn capitalised(name: &str) -> String {
    let word = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
    name.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

pub const ROLE_TABLE_GRANTS: VirtualTable = VirtualTable {
    name: "ROLE_TABLE_GRANTS",
    columns: &[
        text("GRANTOR", 97),
        text("GRANTOR_HOST", 256),
        exact("GRANTEE", 32),
        text("GRANTEE_HOST", 255),
        text("TABLE_CATALOG", 3),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        text("PRIVILEGE_TYPE", 256),
        text("IS_GRANTABLE", 3),
    ],
    rows: |facts| {
        role_grants(facts, |role, rows| {
            for ((database, table), own) in role.grants.tables.iter().filter(|(_, own)| !own.table.is_empty()) {
                let mut row = to_role(role);
                row.extend([string(database), string(table), privilege_set(own.table)]);
                row.push(yes(own.table.has(Privileges::GRANT_OPTION)));
                rows.push(row);
            }
        })
    },
};

pub const ROLE_COLUMN_GRANTS: VirtualTable = VirtualTable {
    name: "ROLE_COLUMN_GRANTS",
    columns: &[
        text("GRANTOR", 97),
        text("GRANTOR_HOST", 256),
        exact("GRANTEE", 32),
        text("GRANTEE_HOST", 255),
        text("TABLE_CATALOG", 3),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        exact("COLUMN_NAME", 64),
        text("PRIVILEGE_TYPE", 64),
        text("IS_GRANTABLE", 3),
    ],
    rows: |facts| {
        role_grants(facts, |role, rows| {
            for ((database, table), grant) in &role.grants.tables {
                for (column, own) in &grant.columns {
                    let mut row = to_role(role);
                    row.extend([string(database), string(table), string(column), privilege_set(*own)]);
                    row.push(yes(grant.table.has(Privileges::GRANT_OPTION)));
                    rows.push(row);
                }
            }
        })
    },
};

/// There are no routines, but privileges on their names may be granted.
pub const ROLE_ROUTINE_GRANTS: VirtualTable = VirtualTable {
    name: "ROLE_ROUTINE_GRANTS",
    columns: &[
        text("GRANTOR", 97),
        text("GRANTOR_HOST", 256),
        exact("GRANTEE", 32),
        text("GRANTEE_HOST", 255),
        text("SPECIFIC_CATALOG", 3),
        exact("SPECIFIC_SCHEMA", 64),
        text("SPECIFIC_NAME", 64),
        text("ROUTINE_CATALOG", 3),
        exact("ROUTINE_SCHEMA", 64),
        text("ROUTINE_NAME", 64),
        text("PRIVILEGE_TYPE", 64),
        text("IS_GRANTABLE", 3),
    ],
    rows: |facts| {
        role_grants(facts, |role, rows| {
            for (((database, routine), _), own) in &role.grants.routines {
                let mut row = to_role(role);
                row.extend([string(database), string(routine), string("def"), string(database), string(routine)]);
                row.extend([privilege_set(*own), yes(own.has(Privileges::GRANT_OPTION))]);
                rows.push(row);
            }
        })
    },
};
