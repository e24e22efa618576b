//! What one account was granted, level by level, and the statements that grant the same again.

use std::collections::BTreeMap;

use super::privileges::{Dynamic, Privileges};
use crate::parser::ast::ProgramKind;

/// The kinds of stored routines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoutineKind {
    Function,
    Procedure,
}

impl RoutineKind {
    pub fn of(kind: ProgramKind) -> RoutineKind {
        if kind == ProgramKind::Function { RoutineKind::Function } else { RoutineKind::Procedure }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "FUNCTION",
            Self::Procedure => "PROCEDURE",
        }
    }

    pub fn by_name(name: &str) -> Option<RoutineKind> {
        [Self::Function, Self::Procedure].into_iter().find(|kind| kind.name() == name)
    }
}

/// Privileges on a table and on some of its columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableGrant {
    pub table: Privileges,
    pub columns: BTreeMap<String, Privileges>,
}

impl TableGrant {
    pub fn is_empty(&self) -> bool {
        self.table.is_empty() && self.columns.is_empty()
    }

    /// What it grants on at least one column.
    pub fn any_column(&self) -> Privileges {
        self.columns.values().fold(Privileges::NONE, |all, own| all | *own)
    }

    pub fn column(&self, name: &str) -> Privileges {
        let of = |(known, own): (&String, &Privileges)| known.eq_ignore_ascii_case(name).then_some(*own);
        self.columns.iter().find_map(of).unwrap_or_default()
    }

    /// The entry of a column, under the spelling that it already has.
    pub fn column_entry(&mut self, name: &str) -> &mut Privileges {
        let known = self.columns.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
        self.columns.entry(known.unwrap_or_else(|| name.to_owned())).or_default()
    }
}

/// A table's or a routine's place: database and name.
pub type Place = (String, String);

/// Privileges by the database in which they do not count.
pub type Restrictions = BTreeMap<String, Privileges>;

/// The grants of an account. Levels without privileges have no entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    pub global: Privileges,
    pub dynamic: Dynamic,
    /// Those of `dynamic` that the account may grant to others.
    pub dynamic_grantable: Dynamic,
    /// By the database's name as it was written: `%` and `_` are wildcards in it unless a backslash stands before them.
    pub databases: BTreeMap<String, Privileges>,
    pub tables: BTreeMap<Place, TableGrant>,
    pub routines: BTreeMap<(Place, RoutineKind), Privileges>,
    /// Partial revokes: what the global privileges do not allow in these databases.
    pub restrictions: Restrictions,
}

impl Grants {
    /// Everything, with the right to pass it on.
    pub fn everything() -> Grants {
        Grants {
            global: Privileges::GLOBAL | Privileges::GRANT_OPTION,
            dynamic: Dynamic::ALL,
            dynamic_grantable: Dynamic::ALL,
            ..Grants::default()
        }
    }

    /// Removes entries that grant nothing.
    pub fn tidy(&mut self) {
        self.databases.retain(|_, own| !own.is_empty());
        self.tables.values_mut().for_each(|own| own.columns.retain(|_, column| !column.is_empty()));
        self.tables.retain(|_, own| !own.is_empty());
        self.routines.retain(|_, own| !own.is_empty());
        self.restrictions.retain(|_, own| !own.is_empty());
    }

    /// The statements of SHOW GRANTS for the account that `to` names.
    pub fn statements(&self, to: &str) -> Vec<String> {
        let mut all = Vec::new();
        all.push(statement(self.global, Privileges::NONE, "", "*.*", to));
        let plain = self.dynamic.without(self.dynamic_grantable);
        if !plain.is_empty() {
            all.push(format!("GRANT {} ON *.* TO {to}", plain.names()));
        }
        if !self.dynamic_grantable.is_empty() {
            all.push(format!("GRANT {} ON *.* TO {to} WITH GRANT OPTION", self.dynamic_grantable.names()));
        }
        for (database, own) in &self.databases {
            all.push(statement(*own, Privileges::DATABASE, "", &format!("{}.*", quoted(database)), to));
        }
        for ((database, table), own) in &self.tables {
            let on = format!("{}.{}", quoted(database), quoted(table));
            all.push(statement(own.table, Privileges::TABLE, &columns(own), &on, to));
        }
        for (((database, name), kind), own) in &self.routines {
            let on = format!("{} {}.{}", kind.name(), quoted(database), quoted(name));
            all.push(statement(*own, Privileges::NONE, "", &on, to));
        }
        for (database, own) in &self.restrictions {
            all.push(format!("REVOKE {} ON {}.* FROM {to}", own.names(), quoted(database)));
        }
        all
    }
}

/// `SELECT (a, b), INSERT (a)`: what is granted on columns.
fn columns(grant: &TableGrant) -> String {
    let mut parts = Vec::new();
    for (privilege, name) in grant.any_column().iter() {
        let of = grant.columns.iter().filter(|(_, own)| own.has(privilege)).map(|(column, _)| quoted(column));
        parts.push(format!("{name} ({})", of.collect::<Vec<_>>().join(", ")));
    }
    parts.join(", ")
}

fn statement(own: Privileges, all: Privileges, columns: &str, on: &str, to: &str) -> String {
    let plain = own - Privileges::GRANT_OPTION;
    let names = match plain {
        plain if !all.is_empty() && plain == all && columns.is_empty() => "ALL PRIVILEGES".to_owned(),
        plain => {
            let names = plain.names();
            let parts: Vec<&str> = [names.as_str(), columns].into_iter().filter(|part| !part.is_empty()).collect();
            if parts.is_empty() { "USAGE".to_owned() } else { parts.join(", ") }
        }
    };
    let option = if own.has(Privileges::GRANT_OPTION) { " WITH GRANT OPTION" } else { "" };
    format!("GRANT {names} ON {on} TO {to}{option}")
}

pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
