//! What may be shown: SHOW, DESCRIBE, EXPLAIN.

use storage::DefinitionKind;

use super::Session;
use super::cached::CachedPlan;
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::information_schema;
use crate::parser::ast::{Show, TableName, UserName};
use crate::views::View;

impl Session {
    pub(super) fn check_show(&self, show: &Show) -> Result<()> {
        let rights = &self.rights;
        let named = |database: &Option<String>| -> Result<String> {
            database.clone().or_else(|| self.state.database.clone()).ok_or_else(Error::no_database)
        };
        // Whoever has anything in a database may ask for what is in it, and sees what it may see: perhaps nothing.
        let check_database = |name: &str| match rights.may_use(name) {
            true => Ok(()),
            false => Err(rights.database_refused(name)),
        };
        match show {
            Show::Databases(_) if self.instance.variables.on("skip_show_database") => {
                rights.need(Privileges::SHOW_DATABASES)
            }
            Show::Events { database, .. } => {
                let name = named(database)?;
                if !information_schema::is_virtual(&name) {
                    rights.need_database(Privileges::EVENT, &name)?;
                }
                check_database(&name)
            }
            Show::Tables { database, .. } | Show::TableStatus { database, .. } | Show::Triggers { database, .. } => {
                check_database(&named(database)?)
            }
            Show::CreateDatabase { name, .. } => check_database(name),
            Show::Columns { table, .. } | Show::Index { table, .. } => self.check_shown_table(table),
            Show::CreateTable(table) | Show::CreateSequence(table) => match self.checked_table(table)? {
                Some((database, name)) if !information_schema::is_virtual(database) || self.is_view(database, name) => {
                    rights.need_any_of_table(Privileges::TABLE, "SHOW", database, name)?;
                    self.need_show_view(database, name)
                }
                _ => Ok(()),
            },
            Show::CreateView(table) => match self.checked_table(table)? {
                Some((database, name)) => {
                    rights.need_some(Privileges::SELECT, database, name)?;
                    self.need_show_view(database, name)
                }
                _ => Ok(()),
            },
            Show::Engine { .. } => rights.need(Privileges::PROCESS),
            Show::BinaryLogs | Show::BinaryLogStatus | Show::ReplicaStatus { .. } => {
                let allowed = rights.global().has_any(Privileges::SUPER | Privileges::REPLICATION_CLIENT);
                rights.need_global(allowed, "SUPER, REPLICATION CLIENT")
            }
            Show::BinaryLogEvents(_) => rights.need(Privileges::REPLICATION_SLAVE),
            Show::Other(what) if matches!(what.as_str(), "REPLICAS" | "SLAVE HOSTS") => {
                rights.need(Privileges::REPLICATION_SLAVE)
            }
            Show::Grants { user: Some(user), .. } | Show::CreateUser(user) => self.check_shown_account(user),
            _ => Ok(()),
        }
    }

    /// The text of a view takes SHOW VIEW.
    fn need_show_view(&self, database: &str, name: &str) -> Result<()> {
        match self.is_view(database, name) {
            true => self.rights.need_table(Privileges::SHOW_VIEW, database, name),
            false => Ok(()),
        }
    }

    /// A table is shown to those who have something on it.
    pub(super) fn check_shown_table(&self, table: &TableName) -> Result<()> {
        let Some((database, name)) = self.checked_table(table)? else { return Ok(()) };
        match information_schema::is_virtual(database) {
            true => Ok(()),
            false => self.rights.need_described(database, name),
        }
    }

    fn check_shown_account(&self, user: &UserName) -> Result<()> {
        let key = self.account_name(user);
        let is_own = key == self.rights.account || self.rights.active_roles.contains(&key);
        match is_own {
            true => Ok(()),
            false => self.rights.need_database(Privileges::SELECT, "mysql"),
        }
    }

    /// EXPLAIN tells how a view is made, and how much is in its tables: that takes SHOW VIEW on each view, and SELECT on what
    /// it reads, of the session itself, whoever has made the view.
    pub(super) fn check_explained(&self, plan: &CachedPlan) -> Result<()> {
        let rights = &self.rights;
        for definition in plan.views.iter().filter(|definition| definition.kind == DefinitionKind::View) {
            let view = View::decode(&definition.bytes)?;
            let mut may_read =
                view.tables.iter().map(|(database, name)| rights.need_some(Privileges::SELECT, database, name));
            let may_show = rights.need_table(Privileges::SHOW_VIEW, &definition.database, &definition.name);
            if may_show.is_err() || may_read.any(|result| result.is_err()) {
                return Err(Error::view_no_explain());
            }
        }
        Ok(())
    }
}
