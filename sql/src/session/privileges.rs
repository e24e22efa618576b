//! Which statement needs which privilege, and the session's own rights.
//!
//! Tables of queries and changes of rows are checked where they are planned (`planner`), before they are opened, so
//! that an error does not tell whether they exist. All other statements are checked here, before they do anything.
//! Statements that a session runs for itself, such as the INSERT of CREATE TABLE ... SELECT, pass the same checks.
//!
//! A session's rights are made when it logs in, and again when the accounts have another version; then its plans are
//! forgotten, so that a plan that is kept never needs to be checked. A session's own temporary tables are its own.

use std::collections::BTreeSet;

use super::{Session, Surroundings};
use crate::accounts::admission::{Admission, Share};
use crate::accounts::grants::RoutineKind;
use crate::accounts::rights::Rights;
use crate::accounts::{Account, AccountMap, Key, Plugin, Privileges};
use crate::catalog::database_of;
use crate::ddl;
use crate::error::{Error, Result};
use crate::information_schema;
use crate::parser::ast::{
    AccountOptions, AccountStatement, AlterAction, CreateTable, FlushItem, ForeignKeySpec, Maintenance,
    PartitionAction, ProgramKind, SetItem, Statement, TableName, TableOption, UserName, VariableScope, Xa,
};

/// Variables of a session that only an administrator may set: they change what is logged or replicated.
const RESTRICTED: &[&str] = &[
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "gtid_next",
    "original_commit_timestamp",
    "pseudo_thread_id",
    "server_id",
    "sql_log_bin",
    "sql_log_off",
];

impl Session {
    /// The session belongs to a client that has logged in as an account.
    pub fn log_in(&mut self, user: &str, account: &Account, hosts: &[&str]) {
        let host = hosts.first().copied().unwrap_or_default();
        self.state.user = user.to_owned();
        self.state.host = host.to_owned();
        self.process.set_user(user);
        let name = (user.to_owned(), host.to_owned());
        self.measure.log_in(name.clone());
        self.instance.status.logged_in(&self.status, name);
        self.status.show_variables(&self.variables);
        self.client_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        self.rights = Rights::of(&AccountMap::new(), &account.key(), hosts, BTreeSet::new(), false);
        self.is_expired = account.attributes.is_expired;
        self.share = None;
        self.rights_version = 0;
        self.activate_first_roles();
    }

    /// The session does the server's own work, under a name for the process list: nothing is checked.
    pub fn work_internally_as(&mut self, user: &str) {
        self.state.user = user.to_owned();
        self.state.host = String::new();
        self.process.set_user(user);
        self.rights = Rights::internal();
    }

    /// What the client may do and take, as it was admitted.
    pub fn admitted(&mut self, admission: Admission, share: Option<Share>) {
        self.is_expired = admission == Admission::Expired;
        self.share = share;
    }

    /// Counts a statement that changes something.
    pub(super) fn count_update(&self) -> Result<()> {
        self.share.as_ref().map_or(Ok(()), Share::count_update)
    }

    /// The same for a user and a host: the account is looked up.
    pub fn set_user(&mut self, user: &str, host: &str) {
        let local = matches!(host, "localhost" | "127.0.0.1" | "::1");
        let hosts: &[&str] = if local { &[host, "localhost"] } else { &[host] };
        let account = self.instance.accounts.find(user, hosts);
        let nobody = || Account::new(user, host, Plugin::CachingSha2Password, "");
        self.log_in(user, &account.unwrap_or_else(nobody), hosts);
    }

    /// The roles that are active after login.
    pub(super) fn activate_first_roles(&mut self) {
        if self.rights.is_internal() {
            return;
        }
        let accounts = self.instance.accounts.snapshot();
        let may_have = self.roles_of(&accounts, &self.rights.account);
        let all = self.instance.variables.on("activate_all_roles_on_login");
        let defaults = accounts.get(&self.rights.account).map(|account| &account.default_roles);
        let is_active = |role: &Key| all || defaults.is_some_and(|defaults| defaults.contains(role));
        self.activate_roles(may_have.into_iter().filter(is_active).collect());
    }

    pub(super) fn activate_roles(&mut self, roles: BTreeSet<Key>) {
        self.rights.active_roles = roles;
        self.renew_rights();
        self.forget_plans();
    }

    /// Follows changes of accounts.
    #[inline]
    pub(super) fn refresh_rights(&mut self) {
        if self.instance.accounts.version() != self.rights_version {
            self.renew_rights();
        }
    }

    #[cold]
    fn renew_rights(&mut self) {
        // The version first: what changes behind it is seen next time.
        self.rights_version = self.instance.accounts.version();
        if self.rights.is_internal() {
            return;
        }
        let accounts = self.instance.accounts.snapshot();
        let account = self.rights.account.clone();
        let may_have = self.roles_of(&accounts, &account);
        let mut roles = std::mem::take(&mut self.rights.active_roles);
        roles.retain(|role| may_have.contains(role));
        let hosts: Vec<&str> = self.client_hosts.iter().map(String::as_str).collect();
        let literal = self.instance.variables.on("partial_revokes");
        self.rights = Rights::of(&accounts, &account, &hosts, roles, literal);
        self.forget_plans();
    }

    /// What the session may do.
    pub fn rights(&mut self) -> &Rights {
        self.refresh_rights();
        &self.rights
    }

    /// A statement begins: the rights are those of now, and a password that has expired is changed first.
    #[inline]
    pub(super) fn enter_statement(&mut self, changes_password: impl FnOnce() -> bool) -> Result<()> {
        self.refresh_rights();
        if let Some(share) = &self.share {
            share.count_query()?;
        }
        match self.is_expired && !changes_password() {
            true => Err(Error::new(
                1820,
                b"HY000",
                "You must reset your password using ALTER USER statement before executing this statement.",
            )),
            false => Ok(()),
        }
    }

    /// Checks all that can be checked before a statement is run.
    pub(super) fn check_privileges(&self, statement: &Statement) -> Result<()> {
        let rights = &self.rights;
        if rights.is_internal() {
            return Ok(());
        }
        match statement {
            Statement::Account(statement) => self.check_account_statement(statement),
            Statement::Show(show) => self.check_show(show),
            Statement::Describe { table, .. } => self.check_shown_table(table),
            Statement::Set(items) => items.iter().try_for_each(|item| check_set(item, rights)),
            Statement::SetStatement { variables, .. } => variables.iter().try_for_each(|(name, value)| {
                let item = SetItem::System { scope: None, name: name.clone(), value: value.clone() };
                check_set(&item, rights)
            }),
            Statement::SetTransaction { scope: Some(scope), .. } => check_scope(*scope, rights),
            Statement::LockTables(tables) => tables.iter().try_for_each(|(table, _, _)| {
                let Some((database, name)) = self.checked_table(table)? else { return Ok(()) };
                rights.need_database(Privileges::LOCK_TABLES, database)?;
                rights.need_some(Privileges::SELECT, database, name)
            }),
            Statement::LockInstance | Statement::UnlockInstance | Statement::CloneLocal(_) => self.need("BACKUP_ADMIN"),
            Statement::BackupStage(_) => rights.need(Privileges::RELOAD),
            Statement::BackupServer(file) => {
                // It has all tables, and what is left of the passwords.
                self.need("BACKUP_ADMIN")?;
                rights.need_database(Privileges::SELECT, "mysql")?;
                rights.need(Privileges::SELECT)?;
                if file.is_some() { rights.need(Privileges::FILE) } else { Ok(()) }
            }
            Statement::Xa(Xa::Recover(_)) => match rights.has_dynamic("XA_RECOVER_ADMIN") {
                true => Ok(()),
                false => Err(Error::xaer_rmerr()),
            },
            Statement::ReloadTls { .. } => self.need_super_or("CONNECTION_ADMIN"),
            Statement::RotateMasterKey => self.need_super_or("ENCRYPTION_KEY_ADMIN"),
            Statement::EncryptSystem(_) => rights.need(Privileges::CREATE_TABLESPACE),
            Statement::Flush { items, .. } => items.iter().try_for_each(|item| self.check_flush(item)),
            Statement::Binlog(_) => {
                let allowed = rights.is_super_or("BINLOG_ADMIN") || rights.has_dynamic("REPLICATION_APPLIER");
                rights.need_global(allowed, "SUPER, BINLOG_ADMIN or REPLICATION_APPLIER")
            }
            Statement::PurgeLogs(_) => self.need_super_or("BINLOG_ADMIN"),
            Statement::ChangeSource { .. }
            | Statement::ChangeFilter { .. }
            | Statement::StartReplica { .. }
            | Statement::StopReplica { .. } => self.need_super_or("REPLICATION_SLAVE_ADMIN"),
            Statement::Reset(_) | Statement::ResetReplica { .. } => rights.need(Privileges::RELOAD),
            Statement::ResetPersist { .. } => need_persist(&self.rights),
            Statement::Shutdown => rights.need(Privileges::SHUTDOWN),
            Statement::Components { install, .. } => {
                let wanted = if *install { Privileges::INSERT } else { Privileges::DELETE };
                rights.need_table(wanted, "mysql", "component")
            }
            _ if ddl::takes(statement) => self.check_definition(statement),
            _ => Ok(()),
        }
    }

    /// SUPER, or a dynamic privilege.
    pub(super) fn need_super_or(&self, name: &str) -> Result<()> {
        self.rights.need_global(self.rights.is_super_or(name), &format!("SUPER or {name}"))
    }

    pub(super) fn check_definer_named(&self, definer: Option<&UserName>) -> Result<()> {
        definer.map_or(Ok(()), |name| self.check_may_define_as(&self.account_name(name)))
    }

    /// Another definer than oneself takes SET_USER_ID, and SYSTEM_USER if that account has it.
    fn check_may_define_as(&self, definer: &Key) -> Result<()> {
        if *definer == self.rights.account {
            return Ok(());
        }
        self.need_super_or("SET_USER_ID")?;
        self.check_system_users(std::iter::once(definer))
    }

    fn need(&self, name: &str) -> Result<()> {
        self.rights.need_global(self.rights.has_dynamic(name), name)
    }

    /// Database and name of a table whose privileges count: not a temporary table of the session.
    pub(super) fn checked_table<'n>(&'n self, table: &'n TableName) -> Result<Option<(&'n str, &'n str)>> {
        self.checked_table_in(table, self.state.database.as_deref())
    }

    fn checked_table_in<'n>(
        &self,
        table: &'n TableName,
        current: Option<&'n str>,
    ) -> Result<Option<(&'n str, &'n str)>> {
        let database = database_of(table, current)?;
        let own = self.temporary.get().is_some_and(|tables| tables.table(database, &table.name).is_some());
        Ok((!own).then_some((database, table.name.as_str())))
    }

    pub(super) fn is_view(&self, database: &str, name: &str) -> bool {
        information_schema::find_view(&self.instance, database, name).is_some()
    }

    fn need_table(&self, wanted: Privileges, table: &TableName) -> Result<()> {
        match self.checked_table(table)? {
            Some((database, name)) => self.rights.need_table(wanted, database, name),
            None => Ok(()),
        }
    }

    // ----------------------------------------------------------------- definitions

    fn check_definition(&self, statement: &Statement) -> Result<()> {
        let rights = &self.rights;
        match statement {
            Statement::CreateDatabase { name, or_replace: true, .. } => {
                rights.need_database(Privileges::CREATE | Privileges::DROP, name)
            }
            Statement::CreateDatabase { name, .. } => rights.need_database(Privileges::CREATE, name),
            Statement::DropDatabase { name, .. } => rights.need_database(Privileges::DROP, name),
            Statement::AlterDatabase { name, .. } => {
                let name = name.as_deref().or(self.state.database.as_deref()).ok_or_else(Error::no_database)?;
                rights.need_database(Privileges::ALTER, name)
            }
            Statement::CreateTable(create) => self.check_create(create),
            Statement::AlterTable(alter) => {
                let renames = alter.actions.iter().find_map(|action| match action {
                    AlterAction::Rename(to) => Some(to),
                    _ => None,
                });
                let removes = alter.actions.iter().any(|action| {
                    let AlterAction::Partitions(action) = action else { return false };
                    matches!(action, PartitionAction::Drop { .. } | PartitionAction::Truncate(_))
                });
                let drop = if renames.is_some() || removes { Privileges::DROP } else { Privileges::NONE };
                self.need_table(Privileges::ALTER | drop, &alter.table)?;
                if let Some(to) = renames {
                    let database = database_of(to, self.state.database.as_deref())?;
                    rights.need_table(Privileges::CREATE | Privileges::INSERT, database, &to.name)?;
                }
                let home = database_of(&alter.table, self.state.database.as_deref())?;
                alter.actions.iter().try_for_each(|action| match action {
                    AlterAction::AddForeignKey(key) => self.check_parent(key, home),
                    AlterAction::Options(options) => check_options(&self.rights, options),
                    AlterAction::Partitions(PartitionAction::Exchange { table, .. }) => {
                        let needed = Privileges::ALTER | Privileges::DROP | Privileges::INSERT | Privileges::CREATE;
                        self.need_table(needed, &alter.table)?;
                        self.need_table(needed, table)
                    }
                    _ => Ok(()),
                })
            }
            Statement::CreateView(create) => {
                let database = database_of(&create.name, self.state.database.as_deref())?;
                let name = &create.name.name;
                let drops = create.alter || create.or_replace;
                let drop = if drops { Privileges::DROP } else { Privileges::NONE };
                rights.need_table(Privileges::CREATE_VIEW | drop, database, name)?;
                self.check_may_define_as(&self.head_of(create)?.definer)
            }
            Statement::CreateRoutine(create) => {
                let database = database_of(&create.name, self.state.database.as_deref())?;
                rights.need_database(Privileges::CREATE_ROUTINE, database)?;
                if create.or_replace {
                    self.need_routine(create.kind, &create.name, Privileges::ALTER_ROUTINE, "alter routine")?;
                }
                self.check_definer_named(create.definer.as_ref())
            }
            Statement::AlterRoutine(alter) => {
                self.need_routine(alter.kind, &alter.name, Privileges::ALTER_ROUTINE, "alter routine")
            }
            Statement::DropRoutine { kind, name, .. } => {
                self.need_routine(*kind, name, Privileges::ALTER_ROUTINE, "alter routine")
            }
            Statement::CreateTrigger(create) => {
                let database = self.trigger_database(create)?;
                rights.need_table(Privileges::TRIGGER, &database, &create.table.name)?;
                self.check_definer_named(create.definer.as_ref())
            }
            Statement::CreateEvent(create) => self.check_event(&create.name, create.definer.as_ref()),
            Statement::AlterEvent(alter) => {
                self.check_event(&alter.name, alter.definer.as_ref())?;
                alter.rename.as_ref().map_or(Ok(()), |to| self.check_event(to, None))
            }
            Statement::DropEvent { name, .. } => self.check_event(name, None),
            Statement::CreateSequence(create) => {
                let database = database_of(&create.name, self.state.database.as_deref())?;
                check_options(&self.rights, &create.options)?;
                match create.temporary {
                    true => rights.need_database(Privileges::CREATE_TEMPORARY_TABLES, database),
                    false => {
                        let drop = if create.or_replace { Privileges::DROP } else { Privileges::NONE };
                        rights.need_table(Privileges::CREATE | drop, database, &create.name.name)
                    }
                }
            }
            Statement::AlterSequence(alter) => self.need_table(Privileges::ALTER, &alter.name),
            Statement::DropTables { temporary: true, .. } | Statement::DropSequences { temporary: true, .. } => Ok(()),
            Statement::DropTables { tables, .. }
            | Statement::DropSequences { sequences: tables, .. }
            | Statement::DropViews { views: tables, .. } => {
                tables.iter().try_for_each(|table| self.need_table(Privileges::DROP, table))
            }
            Statement::RenameTables(pairs) => pairs.iter().try_for_each(|(from, to)| {
                self.need_table(Privileges::ALTER | Privileges::DROP, from)?;
                let database = database_of(to, self.state.database.as_deref())?;
                rights.need_table(Privileges::CREATE | Privileges::INSERT, database, &to.name)
            }),
            Statement::TruncateTable(table) => self.need_table(Privileges::DROP, table),
            Statement::CreateIndex { table, .. } | Statement::DropIndex { table, .. } => {
                self.need_table(Privileges::INDEX, table)
            }
            Statement::Maintain { action, tables, .. } => tables.iter().try_for_each(|table| {
                let Some((database, name)) = self.checked_table(table)? else { return Ok(()) };
                match action {
                    Maintenance::Check => rights.need_described(database, name),
                    Maintenance::Checksum => rights.need_some(Privileges::SELECT, database, name),
                    _ => rights.need_table(Privileges::SELECT | Privileges::INSERT, database, name),
                }
            }),
            _ => Ok(()),
        }
    }

    /// A privilege on a routine, whether it exists or not.
    fn need_routine(&self, kind: ProgramKind, name: &TableName, wanted: Privileges, command: &str) -> Result<()> {
        let rights = &self.rights;
        let database = database_of(name, self.state.database.as_deref())?;
        let key = name.name.to_lowercase();
        match rights.is_internal() || rights.on_routine(database, RoutineKind::of(kind), &key).has(wanted) {
            true => Ok(()),
            false => {
                let shown = format!("{database}.{}", name.name);
                Err(Error::routine_access_denied(command, &rights.account.0, &rights.client_host, &shown))
            }
        }
    }

    fn check_create(&self, create: &CreateTable) -> Result<()> {
        let surroundings = self.surroundings();
        let database = database_of(&create.table, surroundings.database)?;
        if create.temporary {
            self.check_create_temporary(&surroundings, create)?;
        } else {
            let mut wanted = Privileges::CREATE;
            if create.query.is_some() {
                wanted |= Privileges::INSERT;
            }
            if create.or_replace {
                wanted |= Privileges::DROP;
            }
            surroundings.rights.need_table(wanted, database, &create.table.name)?;
            self.check_original(&surroundings, create)?;
            check_options(surroundings.rights, &create.options)?;
        }
        let of_columns = create.columns.iter().filter_map(|column| column.references.as_deref());
        create.foreign_keys.iter().chain(of_columns).try_for_each(|key| self.check_parent(key, database))
    }

    /// CREATE TEMPORARY TABLE, by the client or in a program.
    pub(super) fn check_create_temporary(&self, surroundings: &Surroundings<'_>, create: &CreateTable) -> Result<()> {
        let database = database_of(&create.table, surroundings.database)?;
        surroundings.rights.need_database(Privileges::CREATE_TEMPORARY_TABLES, database)?;
        self.check_original(surroundings, create)?;
        check_options(surroundings.rights, &create.options)
    }

    /// The table of LIKE. SELECT on a single column is enough, as in MySQL: no column of the original is named that could
    /// be checked.
    fn check_original(&self, surroundings: &Surroundings<'_>, create: &CreateTable) -> Result<()> {
        let Some(like) = &create.like else { return Ok(()) };
        match self.checked_table_in(like, surroundings.database)? {
            Some((home, name)) => surroundings.rights.need_some(Privileges::SELECT, home, name),
            None => Ok(()),
        }
    }

    /// A foreign key refers to columns that may be referred to.
    fn check_parent(&self, key: &ForeignKeySpec, home: &str) -> Result<()> {
        let database = key.table.database.as_deref().unwrap_or(home);
        let name = key.table.name.as_str();
        self.rights.need_some(Privileges::REFERENCES, database, name)?;
        key.references
            .iter()
            .try_for_each(|column| self.rights.need_column(Privileges::REFERENCES, database, name, column))
    }

    // ------------------------------------------------------------------ variables

    fn check_flush(&self, item: &FlushItem) -> Result<()> {
        let rights = &self.rights;
        let reload_or = |name: &str| {
            let allowed = rights.has_global(Privileges::RELOAD) || rights.has_dynamic(name);
            rights.need_global(allowed, &format!("RELOAD or {name}"))
        };
        match item {
            FlushItem::Tables { tables, read_lock, for_export } => {
                reload_or("FLUSH_TABLES")?;
                if !read_lock && !for_export {
                    return Ok(());
                }
                tables.iter().try_for_each(|table| {
                    let Some((database, name)) = self.checked_table(table)? else { return Ok(()) };
                    rights.need_database(Privileges::LOCK_TABLES, database)?;
                    rights.need_some(Privileges::SELECT, database, name)
                })
            }
            FlushItem::Other(what) => match what.as_str() {
                "STATUS" => reload_or("FLUSH_STATUS"),
                "USER_RESOURCES" => reload_or("FLUSH_USER_RESOURCES"),
                "OPTIMIZER_COSTS" => reload_or("FLUSH_OPTIMIZER_COSTS"),
                _ => rights.need(Privileges::RELOAD),
            },
        }
    }

    // -------------------------------------------------------------------- accounts

    /// Who may change accounts. GRANT and REVOKE ask for more, where they know what is granted.
    fn check_account_statement(&self, statement: &AccountStatement) -> Result<()> {
        let rights = &self.rights;
        let own = |user: &UserName| self.account_name(user) == rights.account;
        match statement {
            AccountStatement::AlterUser { users, options, .. } => {
                let only_password = *options == AccountOptions::default()
                    && users.iter().all(|user| own(&user.name) && user.plugin.is_none());
                if only_password { Ok(()) } else { rights.need(Privileges::CREATE_USER) }
            }
            AccountStatement::SetPassword { user, .. } => match user {
                Some(user) if !own(user) => rights.need(Privileges::CREATE_USER),
                _ => Ok(()),
            },
            AccountStatement::CreateUser { .. }
            | AccountStatement::DropUser { .. }
            | AccountStatement::RenameUser(_)
            | AccountStatement::RevokeAll { .. } => rights.need(Privileges::CREATE_USER),
            AccountStatement::CreateRole { .. } => {
                let allowed = rights.global().has_any(Privileges::CREATE_USER | Privileges::CREATE_ROLE);
                rights.need_global(allowed, "CREATE USER, CREATE ROLE")
            }
            AccountStatement::DropRole { roles, .. } => {
                let accounts = self.instance.accounts.snapshot();
                let all_roles = roles
                    .iter()
                    .all(|role| accounts.get(&self.account_name(role)).is_none_or(|account| account.is_role));
                let allowed =
                    rights.has_global(Privileges::CREATE_USER) || rights.has_global(Privileges::DROP_ROLE) && all_roles;
                rights.need_global(allowed, "CREATE USER, DROP ROLE")
            }
            AccountStatement::SetDefaultRole { users, .. } => {
                if users.iter().all(own) {
                    Ok(())
                } else {
                    rights.need(Privileges::CREATE_USER)
                }
            }
            AccountStatement::Grant(_)
            | AccountStatement::Revoke { .. }
            | AccountStatement::GrantRoles { .. }
            | AccountStatement::RevokeRoles { .. } => Ok(()),
        }
    }

    // ------------------------------------------------------------------ processes

    /// KILL: the own connections, or all. Those of accounts with SYSTEM_USER are for such accounts.
    pub fn check_kill(&self, id: u64) -> Result<()> {
        let rights = &self.rights;
        let Some(process) = self.instance.processes.find(id) else { return Err(Error::unknown_thread(id)) };
        if rights.is_internal() || process.user == self.state.user {
            return Ok(());
        }
        if !rights.is_super_or("CONNECTION_ADMIN") {
            return Err(Error::new(1095, b"HY000", format!("You are not owner of thread {id}")));
        }
        let accounts = self.instance.accounts.snapshot();
        let mut same_user = accounts.values().filter(|account| account.user == process.user);
        match !rights.has_dynamic("SYSTEM_USER") && same_user.any(|own| own.grants.dynamic.has_name("SYSTEM_USER")) {
            true => Err(Error::privilege_needed("SYSTEM_USER")),
            false => Ok(()),
        }
    }
}

/// Files outside of the data directory are for those who may use files.
fn check_options(rights: &Rights, options: &[TableOption]) -> Result<()> {
    match options.iter().any(|option| option.name.ends_with("DIRECTORY")) {
        true => rights.need(Privileges::FILE),
        false => Ok(()),
    }
}

/// Whether a variable may be set.
pub(super) fn check_set(item: &SetItem, rights: &Rights) -> Result<()> {
    let SetItem::System { scope, name, .. } = item else { return Ok(()) };
    match scope {
        Some(scope @ (VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly)) => {
            check_scope(*scope, rights)
        }
        _ if RESTRICTED.iter().any(|restricted| restricted.eq_ignore_ascii_case(name)) => {
            let of_log = name.eq_ignore_ascii_case("gtid_next") && rights.has_dynamic("REPLICATION_APPLIER");
            let allowed =
                rights.is_super_or("SYSTEM_VARIABLES_ADMIN") || rights.has_dynamic("SESSION_VARIABLES_ADMIN") || of_log;
            rights.need_global(allowed, "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN")
        }
        _ => Ok(()),
    }
}

fn check_scope(scope: VariableScope, rights: &Rights) -> Result<()> {
    let is_admin = rights.is_super_or("SYSTEM_VARIABLES_ADMIN");
    match scope {
        VariableScope::Session => Ok(()),
        VariableScope::PersistOnly => need_persist(rights),
        VariableScope::Global | VariableScope::Persist => {
            rights.need_global(is_admin, "SUPER or SYSTEM_VARIABLES_ADMIN")
        }
    }
}

fn need_persist(rights: &Rights) -> Result<()> {
    let allowed = rights.is_super_or("SYSTEM_VARIABLES_ADMIN") && rights.has_dynamic("PERSIST_RO_VARIABLES_ADMIN");
    rights.need_global(allowed, "SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN")
}
