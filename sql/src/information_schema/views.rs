//! Views: those that users have defined, and what they are made of.

use std::sync::Arc;

use format::collation::collation;
use storage::{Column, Definition, DefinitionKind};

use super::{Facts, VirtualTable, built_in, built_in_view, exact, long_exact, string, text};
use crate::accounts::Privileges;
use crate::error::Result;
use crate::instance::Instance;
use crate::views::View;

/// Who can tell which columns a view has now: that takes planning its query.
pub trait DescribeViews {
    fn columns(&self, view: &Definition) -> Result<Vec<Column>>;
}

/// The view that a name means: one of the server's own, or one that somebody has defined.
pub fn find_view(instance: &Instance, database: &str, name: &str) -> Option<Arc<Definition>> {
    let own = built_in_view(database, name).cloned();
    own.or_else(|| instance.engine.definition(DefinitionKind::View, database, name))
}

/// Every view that rows are wanted of and that the session may know of.
pub fn views(facts: &Facts<'_>) -> Vec<Arc<Definition>> {
    if facts.only.is_some() {
        return Vec::new();
    }
    let engine = &facts.instance.engine;
    let databases = engine.databases();
    let databases =
        databases.iter().filter(|database| facts.wanted.is_none_or(|wanted| wanted.database(&database.name)));
    let mut views: Vec<_> =
        databases.flat_map(|database| engine.definitions(DefinitionKind::View, &database.name)).collect();
    let names = super::DATABASES.iter().filter(|name| facts.wanted.is_none_or(|wanted| wanted.database(name)));
    views.extend(names.flat_map(|name| built_in(name).iter().cloned()));
    views.retain(|view| facts.wanted.is_none_or(|wanted| wanted.table(&view.database, &view.name)));
    views.retain(|view| facts.rights.sees_table(&view.database, &view.name));
    views
}

pub const VIEWS: VirtualTable = VirtualTable {
    name: "VIEWS",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        long_exact("VIEW_DEFINITION"),
        exact("CHECK_OPTION", 8),
        exact("IS_UPDATABLE", 3),
        exact("DEFINER", 288),
        exact("SECURITY_TYPE", 7),
        text("CHARACTER_SET_CLIENT", 64),
        text("COLLATION_CONNECTION", 64),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for definition in views(facts) {
            let Ok(view) = View::decode(&definition.bytes) else { continue };
            // Its text is for who has made it, and for those who may read it and see how it is made.
            let to_show = Privileges::SHOW_VIEW | Privileges::SELECT;
            let shown = facts.rights.is_internal()
                || facts.rights.account == view.definer
                || facts.rights.on_table(&definition.database, &definition.name).has(to_show);
            rows.push(vec![
                string("def"),
                string(&definition.database),
                string(&definition.name),
                string(if shown { &view.text } else { "" }),
                string(view.check.map_or("NONE", |check| check.name())),
                string(if view.is_updatable { "YES" } else { "NO" }),
                string(format!("{}@{}", view.definer.0, view.definer.1)),
                string(if view.as_invoker { "INVOKER" } else { "DEFINER" }),
                string(collation(view.client).charset.name()),
                string(collation(view.connection).name),
            ]);
        }
        rows
    },
};

pub const VIEW_TABLE_USAGE: VirtualTable = VirtualTable {
    name: "VIEW_TABLE_USAGE",
    columns: &[
        exact("VIEW_CATALOG", 64),
        exact("VIEW_SCHEMA", 64),
        exact("VIEW_NAME", 64),
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for definition in views(facts) {
            let Ok(view) = View::decode(&definition.bytes) else { continue };
            for (database, table) in &view.tables {
                if facts.rights.sees_table(database, table) {
                    rows.push(vec![
                        string("def"),
                        string(&definition.database),
                        string(&definition.name),
                        string("def"),
                        string(database),
                        string(table),
                    ]);
                }
            }
        }
        rows
    },
};
