//! Which tables and columns a SELECT may name.
//!
//! A table is checked before it is looked for; its columns when they are named. The select list of a view or a derived
//! table is an exception, as in MySQL: of a query that can be merged, a column that may not be read is refused to who reads
//! it, so that others are not concerned.

use storage::ReadMode;

use super::SourceKind;
use super::logical::Source;
use super::role::{Naming, Role};
use super::scope::Level;
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::information_schema;
use crate::parser::ast::{self, TableName};

/// What a column of a view may be used for. One of these on what it stands for is enough to define the view.
const USES: Privileges = Privileges::ROWS;

impl Level<'_> {
    /// Whether the session may read a table, or at least some of its columns, in the way that the query reads it.
    pub(super) fn check_reads(&self, name: &TableName) -> Result<()> {
        let Some((database, table)) = self.context.checked_table(name)? else { return Ok(()) };
        let rights = self.context.rights;
        if self.context.defines_view {
            rights.need_any(USES, "ANY", database, table)?;
        } else {
            match self.role {
                Role::Changed => {}
                Role::Joined => rights.need_any(Privileges::SELECT | Privileges::UPDATE, "SELECT", database, table)?,
                _ => rights.need_some(Privileges::SELECT, database, table)?,
            }
        }
        if information_schema::tells_of_the_engine(database, table) {
            rights.need(Privileges::PROCESS)?;
        }
        // Below a view it is the view's privileges that allow to lock.
        if matches!(self.read_mode, ReadMode::Exclusive(_)) && !self.context.stored_only {
            let one_of = Privileges::UPDATE | Privileges::DELETE | Privileges::LOCK_TABLES;
            rights.need_any(one_of, "SELECT with locking clause", database, table)?;
        }
        Ok(())
    }

    /// A column is named.
    pub fn check_read(&self, slot: usize) -> Result<()> {
        self.check_named(slot, |table, column| {
            let (user, host) = (&self.context.rights.account.0, &self.context.rights.client_host);
            Error::column_access_denied("SELECT", user, host, column, table)
        })
    }

    /// `*` names a column. Which columns there are is not told to those who may not read all of them.
    pub fn check_read_all(&self, slot: usize) -> Result<()> {
        self.check_named(slot, |table, _| self.context.rights.table_refused("SELECT", table))
    }

    fn check_named(&self, slot: usize, refused: impl Fn(&str, &str) -> Error) -> Result<()> {
        let (number, column) = self.slots[slot];
        let source = &self.sources[number as usize];
        let name = &source.columns[column as usize].name;
        let own = source.granted_name().filter(|_| source.unreadable.contains(column as usize));
        let naming = &mut *self.naming.borrow_mut();
        if let Naming::Uses = naming {
            return match own {
                Some(table) => self.context.rights.need_any_on_column(USES, &source.database, table, name),
                None => Ok(()),
            };
        }
        let error = match own {
            Some(table) => Some(refused(table, name)),
            None => self.refused_slot(slot).or_else(|| refused_inside(source, column as usize)),
        };
        match (error, naming) {
            (None, _) => Ok(()),
            (Some(error), Naming::Holds(held)) => {
                held.push(error);
                Ok(())
            }
            (Some(error), _) => Err(error),
        }
    }

    fn refused_slot(&self, slot: usize) -> Option<Error> {
        self.refused.iter().find(|(refused, _)| *refused == slot).map(|(_, error)| error.clone())
    }

    /// What it takes to name the columns of an item of the select list.
    pub(super) fn naming_in(&self, item: &ast::SelectItem) -> Naming {
        let is_column = match item {
            ast::SelectItem::All | ast::SelectItem::AllOf(_) => true,
            ast::SelectItem::Expr { expr, .. } => matches!(expr, ast::Expr::Column(_)),
        };
        match self.role {
            role if role.holds_refusals() => Naming::Holds(Vec::new()),
            Role::Defined if is_column => Naming::Uses,
            _ => Naming::Reads,
        }
    }
}

/// Why a column of a view or a derived table may not be read, though the view may.
fn refused_inside(source: &Source, column: usize) -> Option<Error> {
    let SourceKind::Derived(derived) = &source.kind else { return None };
    derived.refused.iter().find(|(at, _)| *at == column).map(|(_, error)| error.clone())
}

impl Source {
    /// The name of the table or view on which privileges are granted.
    pub(super) fn granted_name(&self) -> Option<&str> {
        match &self.kind {
            SourceKind::Table(table) => Some(&table.name),
            SourceKind::Derived(derived) => derived.view.as_ref().map(|view| &*view.name),
            SourceKind::Virtual(_) | SourceKind::JsonTable(_) => None,
        }
    }
}
