//! Privileges: sets of them, their names, and which may be granted at which level.
//!
//! Static privileges are bits of a [`Privileges`]; dynamic ones, which exist at the global level only and carry a grant
//! option each, are bits of a [`Dynamic`]. Names stand in the order in which SHOW GRANTS lists them.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub, SubAssign};

/// A set of static privileges.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Privileges(u32);

macro_rules! privileges {
    ($($name:ident = $bit:literal, $text:literal;)*) => {
        impl Privileges {
            $(pub const $name: Privileges = Privileges(1 << $bit);)*
        }

        /// Each privilege with its name.
        const NAMES: &[(Privileges, &str)] = &[$((Privileges::$name, $text)),*];
    };
}

privileges! {
    SELECT = 0, "SELECT";
    INSERT = 1, "INSERT";
    UPDATE = 2, "UPDATE";
    DELETE = 3, "DELETE";
    CREATE = 4, "CREATE";
    DROP = 5, "DROP";
    RELOAD = 6, "RELOAD";
    SHUTDOWN = 7, "SHUTDOWN";
    PROCESS = 8, "PROCESS";
    FILE = 9, "FILE";
    REFERENCES = 10, "REFERENCES";
    INDEX = 11, "INDEX";
    ALTER = 12, "ALTER";
    SHOW_DATABASES = 13, "SHOW DATABASES";
    SUPER = 14, "SUPER";
    CREATE_TEMPORARY_TABLES = 15, "CREATE TEMPORARY TABLES";
    LOCK_TABLES = 16, "LOCK TABLES";
    EXECUTE = 17, "EXECUTE";
    REPLICATION_SLAVE = 18, "REPLICATION SLAVE";
    REPLICATION_CLIENT = 19, "REPLICATION CLIENT";
    CREATE_VIEW = 20, "CREATE VIEW";
    SHOW_VIEW = 21, "SHOW VIEW";
    CREATE_ROUTINE = 22, "CREATE ROUTINE";
    ALTER_ROUTINE = 23, "ALTER ROUTINE";
    CREATE_USER = 24, "CREATE USER";
    EVENT = 25, "EVENT";
    TRIGGER = 26, "TRIGGER";
    CREATE_TABLESPACE = 27, "CREATE TABLESPACE";
    CREATE_ROLE = 28, "CREATE ROLE";
    DROP_ROLE = 29, "DROP ROLE";
    GRANT_OPTION = 30, "GRANT OPTION";
}

impl Privileges {
    pub const NONE: Privileges = Privileges(0);

    /// What ALL means at each level; GRANT OPTION is never part of it.
    pub const GLOBAL: Privileges = Privileges((1 << 30) - 1);
    pub const TABLE: Privileges = Privileges(
        Self::SELECT.0
            | Self::INSERT.0
            | Self::UPDATE.0
            | Self::DELETE.0
            | Self::CREATE.0
            | Self::DROP.0
            | Self::REFERENCES.0
            | Self::INDEX.0
            | Self::ALTER.0
            | Self::CREATE_VIEW.0
            | Self::SHOW_VIEW.0
            | Self::TRIGGER.0,
    );
    pub const DATABASE: Privileges = Privileges(
        Self::TABLE.0
            | Self::CREATE_TEMPORARY_TABLES.0
            | Self::LOCK_TABLES.0
            | Self::EXECUTE.0
            | Self::CREATE_ROUTINE.0
            | Self::ALTER_ROUTINE.0
            | Self::EVENT.0,
    );
    pub const COLUMN: Privileges = Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);
    pub const ROUTINE: Privileges = Privileges(Self::EXECUTE.0 | Self::ALTER_ROUTINE.0);
    /// What can be done with rows.
    pub const ROWS: Privileges = Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::DELETE.0);

    /// `name` is in upper case, with one space between words.
    pub fn by_name(name: &str) -> Option<Privileges> {
        match name {
            "USAGE" => Some(Privileges::NONE),
            // MariaDB's names of parts of what one privilege is here.
            "BINLOG MONITOR" | "SLAVE MONITOR" | "REPLICA MONITOR" => Some(Privileges::REPLICATION_CLIENT),
            "REPLICATION REPLICA" => Some(Privileges::REPLICATION_SLAVE),
            name => NAMES.iter().find(|(_, known)| *known == name).map(|(privilege, _)| *privilege),
        }
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `wanted` are in it.
    pub fn has(self, wanted: Privileges) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    pub fn has_any(self, wanted: Privileges) -> bool {
        self.0 & wanted.0 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = (Privileges, &'static str)> {
        NAMES.iter().copied().filter(move |(privilege, _)| self.has(*privilege))
    }

    /// Their names with commas between, as errors and SHOW GRANTS list them.
    pub fn names(self) -> String {
        self.iter().map(|(_, name)| name).collect::<Vec<_>>().join(", ")
    }

    /// The same as errors name what is missing.
    pub fn commands(self) -> String {
        self.names().replace("GRANT OPTION", "GRANT")
    }

    /// All static privileges there are, with the names under which they can be granted.
    pub fn all() -> impl Iterator<Item = (Privileges, &'static str)> {
        NAMES.iter().copied()
    }
}

impl BitOr for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Privileges) {
        self.0 |= other.0;
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;
    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl Sub for Privileges {
    type Output = Privileges;
    fn sub(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }
}

impl SubAssign for Privileges {
    fn sub_assign(&mut self, other: Privileges) {
        self.0 &= !other.0;
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names())
    }
}

/// The dynamic privileges of MySQL 8.0 in the order of their names. Some guard features that do not exist here; they
/// can be granted all the same, so that grants of other servers can be taken over.
const DYNAMIC: &[&str] = &[
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_USER_ID",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "XA_RECOVER_ADMIN",
];

/// A set of dynamic privileges.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Dynamic(u64);

impl Dynamic {
    pub const NONE: Dynamic = Dynamic(0);
    pub const ALL: Dynamic = Dynamic((1 << DYNAMIC.len()) - 1);

    /// `name` is in upper case. MariaDB writes some of them with spaces.
    pub fn by_name(name: &str) -> Option<Dynamic> {
        let name = match name {
            "BINLOG ADMIN" => "BINLOG_ADMIN",
            "BINLOG REPLAY" => "REPLICATION_APPLIER",
            "CONNECTION ADMIN" | "READ_ONLY ADMIN" | "READ ONLY ADMIN" => "CONNECTION_ADMIN",
            "REPLICATION SLAVE ADMIN" | "REPLICATION REPLICA ADMIN" => "REPLICATION_SLAVE_ADMIN",
            "SET USER" => "SET_USER_ID",
            name => name,
        };
        DYNAMIC.iter().position(|known| *known == name).map(|at| Dynamic(1 << at))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn has(self, wanted: Dynamic) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Whether it has the privilege of this name, which is one of MySQL's.
    pub fn has_name(self, name: &str) -> bool {
        let found = Dynamic::by_name(name);
        debug_assert!(found.is_some(), "{name} is a dynamic privilege");
        found.is_some_and(|wanted| self.has(wanted))
    }

    pub fn with(self, other: Dynamic) -> Dynamic {
        Dynamic(self.0 | other.0)
    }

    pub fn without(self, other: Dynamic) -> Dynamic {
        Dynamic(self.0 & !other.0)
    }

    pub fn both(self, other: Dynamic) -> Dynamic {
        Dynamic(self.0 & other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        DYNAMIC.iter().enumerate().filter(move |(at, _)| self.0 & (1 << at) != 0).map(|(_, name)| *name)
    }

    pub fn names(self) -> String {
        self.iter().collect::<Vec<_>>().join(",")
    }
}

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_privileges() {
        for (privilege, name) in NAMES {
            assert_eq!(Privileges::by_name(name), Some(*privilege));
        }
        for name in DYNAMIC {
            assert_eq!(Dynamic::by_name(name).unwrap().names(), *name);
        }
        assert!(Privileges::GLOBAL.has(Privileges::DROP_ROLE) && !Privileges::GLOBAL.has(Privileges::GRANT_OPTION));
        assert_eq!((Privileges::SELECT | Privileges::DROP).names(), "SELECT, DROP");
    }
}
