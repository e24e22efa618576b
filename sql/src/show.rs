//! SHOW: the same facts as information_schema, in the older shape.
//!
//! [`listing`] makes the columns and all rows of a SHOW statement; the session then
//! applies LIKE (to the first column) or WHERE (over all of them) and sends what is
//! left. So a SHOW has one place that knows its columns, and none that filters.
//!
//! Not here: SHOW WARNINGS and SHOW ERRORS, which are the session's own list.

use std::sync::Arc;
use std::time::Duration;

use format::collation::{Charset, CollationId, collation, convert};
use format::value::{ColumnType, LobSize, Value};
use storage::{Database, Definition, DefinitionKind, Table, TrxOptions};

use crate::accounts::{self, Account, Dynamic, Key, Privileges};
use crate::column_types::column_type;
use crate::describe;
use crate::error::Error;
use crate::information_schema::{self, DATABASES, Facts, NAMES, Named, Wanted};
use crate::monitor;
use crate::parser::ast::{ProgramKind, Show, TableName, UserName, VariableScope};
use crate::programs::{Event, Origin, Routine};
use crate::sequences;
use crate::variables::mode_text;
use crate::views::View;

/// Columns and rows of a SHOW statement, before its filter.
pub struct Listing {
    pub columns: Vec<(String, ColumnType)>,
    pub rows: Vec<Vec<Value>>,
}

/// What a SHOW statement lists; `None` for what the session keeps itself.
///
/// `database` is the current one, for names without any.
pub fn listing(facts: &Facts<'_>, database: Option<&str>, show: &Show) -> Result<Option<Listing>, Error> {
    let listing = match show {
        Show::Databases(filter) => {
            let mut listing = pick(facts, "SCHEMATA", &[("Database", "SCHEMA_NAME")], |_| true);
            if let Some(like) = &filter.like {
                listing.columns[0].0 = format!("Database ({})", String::from_utf8_lossy(like));
            }
            listing.rows.sort_by(|a, b| text(&a[0]).cmp(text(&b[0])));
            listing
        }
        Show::Tables { full, database: of, .. } => tables(facts, of.as_deref().or(database), *full, show)?,
        Show::Columns { full, table, .. } => columns(facts, database, table, *full)?,
        Show::Index { table, .. } => indexes(facts, database, table)?,
        Show::CreateTable(name) => create_table(facts, database, name)?,
        Show::CreateSequence(name) => create_sequence(facts, database, name)?,
        Show::CreateDatabase { name, if_not_exists } => {
            let own = DATABASES.iter().find(|own| own.eq_ignore_ascii_case(name));
            let own =
                own.map(|name| Arc::new(Database { id: 0, name: (*name).into(), collation: NAMES, read_only: false }));
            let found = own.or_else(|| facts.instance.engine.database(name));
            let found = found.ok_or_else(|| Error::unknown_database(name))?;
            one_row(&[
                ("Database", &found.name),
                ("Create Database", &describe::create_database(&found, *if_not_exists)),
            ])
        }
        Show::CreateView(name) => {
            let (of, table) = existing_table(facts, database, name)?;
            match find_view(facts, &of, &table) {
                Some(view) => create_view(&view, database)?,
                None => return Err(Error::wrong_object(&of, &table, "VIEW")),
            }
        }
        Show::TableStatus { database: of, filter } => {
            table_status(facts, of.as_deref().or(database), filter.like.as_deref())?
        }
        Show::OpenTables { .. } => empty(&["Database", "Table", "In_use", "Name_locked"]),
        Show::Variables { scope, .. } => named_values(facts, *scope, "GLOBAL_VARIABLES", "SESSION_VARIABLES"),
        Show::Status { scope, .. } => named_values(facts, *scope, "GLOBAL_STATUS", "SESSION_STATUS"),
        Show::Engines => pick(
            facts,
            "ENGINES",
            &[
                ("Engine", "ENGINE"),
                ("Support", "SUPPORT"),
                ("Comment", "COMMENT"),
                ("Transactions", "TRANSACTIONS"),
                ("XA", "XA"),
                ("Savepoints", "SAVEPOINTS"),
            ],
            |_| true,
        ),
        Show::Engine { name, what } => engine(facts, name, what)?,
        Show::ProcessList { full } => process_list(facts, *full),
        Show::Charset(_) => pick(
            facts,
            "CHARACTER_SETS",
            &[
                ("Charset", "CHARACTER_SET_NAME"),
                ("Description", "DESCRIPTION"),
                ("Default collation", "DEFAULT_COLLATE_NAME"),
                ("Maxlen", "MAXLEN"),
            ],
            |_| true,
        ),
        Show::Collation(_) => pick(
            facts,
            "COLLATIONS",
            &[
                ("Collation", "COLLATION_NAME"),
                ("Charset", "CHARACTER_SET_NAME"),
                ("Id", "ID"),
                ("Default", "IS_DEFAULT"),
                ("Compiled", "IS_COMPILED"),
                ("Sortlen", "SORTLEN"),
                ("Pad_attribute", "PAD_ATTRIBUTE"),
            ],
            |_| true,
        ),
        Show::Plugins => pick(
            facts,
            "PLUGINS",
            &[
                ("Name", "PLUGIN_NAME"),
                ("Status", "PLUGIN_STATUS"),
                ("Type", "PLUGIN_TYPE"),
                ("Library", "PLUGIN_LIBRARY"),
                ("License", "PLUGIN_LICENSE"),
            ],
            |_| true,
        ),
        Show::Events { database: of, .. } => events(facts, of.as_deref().or(database))?,
        Show::Triggers { database: of, .. } => triggers(facts, of.as_deref().or(database))?,
        Show::RoutineStatus { kind, .. } => routine_status(facts, kind),
        Show::CreateProgram { kind, name } => create_program(facts, database, *kind, name)?,
        Show::BinaryLogs | Show::BinaryLogStatus | Show::BinaryLogEvents(_) | Show::ReplicaStatus { .. } => {
            return Ok(None);
        }
        Show::Grants { user, using } => grants(facts, user.as_ref(), using)?,
        Show::Warnings { .. } | Show::Errors { .. } | Show::Profiles | Show::Profile { .. } => return Ok(None),
        Show::CreateUser(user) => create_user(facts, user)?,
        Show::Privileges => privileges(),
        Show::Other(words) => match words.as_str() {
            "SLAVE STATUS" | "REPLICA STATUS" => empty(&["Server_id", "Host"]),
            words => return Err(Error::unsupported(format!("SHOW {words}"))),
        },
    };
    Ok(Some(listing))
}

fn string(text: impl AsRef<str>) -> Value {
    Value::Bytes(text.as_ref().as_bytes().to_vec())
}

fn text(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => b"",
    }
}

/// A column of texts.
pub fn text_column(name: &str) -> (String, ColumnType) {
    long_text(name)
}

/// A column of numbers.
pub fn unsigned_column(name: &str) -> (String, ColumnType) {
    (name.to_string(), ColumnType::Int { bytes: 8, unsigned: true })
}

fn varchar(name: &str) -> (String, ColumnType) {
    (name.to_string(), ColumnType::VarChar { chars: 512, collation: CollationId::UTF8MB4_GENERAL_CI })
}

fn long_text(name: &str) -> (String, ColumnType) {
    (name.to_string(), ColumnType::Text { size: LobSize::Long, collation: CollationId::UTF8MB4_GENERAL_CI })
}

fn empty(columns: &[&str]) -> Listing {
    Listing { columns: columns.iter().map(|name| varchar(name)).collect(), rows: Vec::new() }
}

fn one_row(fields: &[(&str, &str)]) -> Listing {
    Listing {
        columns: fields.iter().map(|(name, _)| long_text(name)).collect(),
        rows: vec![fields.iter().map(|(_, value)| string(value)).collect()],
    }
}

/// Some columns of an information_schema table under other names, of the rows that `keep` wants. `keep` sees the
/// row of the whole table.
fn pick(facts: &Facts<'_>, table: &str, columns: &[(&str, &str)], keep: impl Fn(&[Value]) -> bool) -> Listing {
    let table = information_schema::table("information_schema", table).expect("a table that this module names");
    let places: Vec<usize> = columns
        .iter()
        .map(|(_, source)| table.columns.iter().position(|column| column.name == *source).expect("a column of it"))
        .collect();
    Listing {
        columns: columns
            .iter()
            .zip(&places)
            .map(|((name, _), place)| (name.to_string(), table.columns[*place].ty.clone()))
            .collect(),
        rows: (table.rows)(facts)
            .into_iter()
            .filter(|row| keep(row))
            .map(|row| places.iter().map(|place| row[*place].clone()).collect())
            .collect(),
    }
}

/// Database and name of a table, with the current database where none is said.
fn resolve<'a>(current: Option<&'a str>, name: &'a TableName) -> Result<(&'a str, &'a str), Error> {
    let database = name.database.as_deref().or(current).ok_or_else(Error::no_database)?;
    Ok((database, &name.name))
}

/// The spelling of a database that exists.
fn existing(facts: &Facts<'_>, database: Option<&str>) -> Result<String, Error> {
    let name = database.ok_or_else(Error::no_database)?;
    if information_schema::is_virtual(name) {
        return Ok(name.to_ascii_lowercase());
    }
    match facts.instance.engine.database(name) {
        Some(database) => Ok(database.name.to_string()),
        None => Err(Error::unknown_database(name)),
    }
}

/// A table of the session, or else of the server.
fn stored_table(facts: &Facts<'_>, database: &str, name: &str) -> Option<Arc<Table>> {
    let own = facts.temporary.and_then(|tables| tables.table(database, name));
    own.or_else(|| facts.instance.engine.table(database, name))
}

/// The view that a name means, unless a table of the session hides it.
fn find_view(facts: &Facts<'_>, database: &str, name: &str) -> Option<Arc<Definition>> {
    let is_hidden = facts.temporary.is_some_and(|tables| tables.table(database, name).is_some());
    information_schema::find_view(facts.instance, database, name).filter(|_| !is_hidden)
}

fn create_view(definition: &Definition, current: Option<&str>) -> Result<Listing, Error> {
    let view = View::decode(&definition.bytes)?;
    let text = view.create_statement(&definition.database, &definition.name, current)?;
    Ok(one_row(&[
        ("View", &definition.name),
        ("Create View", &text),
        ("character_set_client", collation(view.client).charset.name()),
        ("collation_connection", collation(view.connection).name),
    ]))
}

/// SHOW TRIGGERS.
fn triggers(facts: &Facts<'_>, database: Option<&str>) -> Result<Listing, Error> {
    let database = existing(facts, database)?;
    let columns = [
        ("Trigger", "TRIGGER_NAME"),
        ("Event", "EVENT_MANIPULATION"),
        ("Table", "EVENT_OBJECT_TABLE"),
        ("Statement", "ACTION_STATEMENT"),
        ("Timing", "ACTION_TIMING"),
        ("Created", "CREATED"),
        ("sql_mode", "SQL_MODE"),
        ("Definer", "DEFINER"),
        ("character_set_client", "CHARACTER_SET_CLIENT"),
        ("collation_connection", "COLLATION_CONNECTION"),
        ("Database Collation", "DATABASE_COLLATION"),
    ];
    Ok(pick(facts, "TRIGGERS", &columns, |row| text(&row[1]) == database.as_bytes()))
}

/// SHOW EVENTS.
fn events(facts: &Facts<'_>, database: Option<&str>) -> Result<Listing, Error> {
    let database = existing(facts, database)?;
    let columns = [
        ("Db", "EVENT_SCHEMA"),
        ("Name", "EVENT_NAME"),
        ("Definer", "DEFINER"),
        ("Time zone", "TIME_ZONE"),
        ("Type", "EVENT_TYPE"),
        ("Execute at", "EXECUTE_AT"),
        ("Interval value", "INTERVAL_VALUE"),
        ("Interval field", "INTERVAL_FIELD"),
        ("Starts", "STARTS"),
        ("Ends", "ENDS"),
        ("Status", "STATUS"),
        ("Originator", "ORIGINATOR"),
        ("character_set_client", "CHARACTER_SET_CLIENT"),
        ("collation_connection", "COLLATION_CONNECTION"),
        ("Database Collation", "DATABASE_COLLATION"),
    ];
    let mut listing = pick(facts, "EVENTS", &columns, |row| text(&row[1]) == database.as_bytes());
    listing.rows.sort_by(|a, b| text(&a[1]).cmp(text(&b[1])));
    Ok(listing)
}

/// SHOW PROCEDURE STATUS, SHOW FUNCTION STATUS.
fn routine_status(facts: &Facts<'_>, kind: &str) -> Listing {
    let columns = [
        ("Db", "ROUTINE_SCHEMA"),
        ("Name", "ROUTINE_NAME"),
        ("Type", "ROUTINE_TYPE"),
        ("Definer", "DEFINER"),
        ("Modified", "LAST_ALTERED"),
        ("Created", "CREATED"),
        ("Security_type", "SECURITY_TYPE"),
        ("Comment", "ROUTINE_COMMENT"),
        ("character_set_client", "CHARACTER_SET_CLIENT"),
        ("collation_connection", "COLLATION_CONNECTION"),
        ("Database Collation", "DATABASE_COLLATION"),
    ];
    pick(facts, "ROUTINES", &columns, |row| text(&row[4]) == kind.as_bytes())
}

/// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT.
fn create_program(
    facts: &Facts<'_>,
    current: Option<&str>,
    kind: ProgramKind,
    name: &TableName,
) -> Result<Listing, Error> {
    let (database, name) = resolve(current, name)?;
    let engine = &facts.instance.engine;
    let mut listing = Listing { columns: Vec::new(), rows: vec![Vec::new()] };
    let mut add = |title: &str, value: Value| {
        listing.columns.push(long_text(title));
        listing.rows[0].push(value);
    };
    if kind == ProgramKind::Trigger {
        let all = information_schema::programs::triggers(facts);
        let is_it = |definition: &Definition| &*definition.database == database && &*definition.name == name;
        let found = all.into_iter().find(|(definition, ..)| is_it(definition));
        let Some((definition, trigger, _)) = found else {
            let is_there = engine.definition(DefinitionKind::Trigger, database, name).is_some();
            return Err(if is_there { Error::privilege_needed("TRIGGER") } else { Error::no_such_trigger() });
        };
        let text = trigger.create_statement("CREATE", &describe::quoted(name), &describe::quoted(&definition.table));
        add("Trigger", string(name));
        add("sql_mode", string(mode_text(trigger.origin.sql_mode)));
        add("SQL Original Statement", as_created(facts, &trigger.origin, &text));
        add_surroundings(&trigger.origin, &mut add);
        listing.columns.push(("Created".to_owned(), ColumnType::DateTime { fsp: 2 }));
        let created = information_schema::moment(facts, trigger.origin.created_us);
        listing.rows[0].push(created);
        return Ok(listing);
    }
    if kind == ProgramKind::Event {
        facts.rights.need_database(Privileges::EVENT, database)?;
        let definition = engine.definition(DefinitionKind::Event, database, &name.to_lowercase());
        let event = Event::decode(&definition.ok_or_else(|| Error::no_such_event(name))?.bytes)?;
        let zone = facts.instance.variables.system_zone();
        add("Event", string(&event.name));
        add("sql_mode", string(mode_text(event.origin.sql_mode)));
        add("time_zone", string(&event.time_zone));
        let text = event.statement("CREATE", &describe::quoted(&event.name).to_string(), "", zone);
        add("Create Event", as_created(facts, &event.origin, &text));
        add_surroundings(&event.origin, &mut add);
        return Ok(listing);
    }
    let unknown = || Error::no_such_program(kind.name(), name);
    let stored = if kind == ProgramKind::Function { DefinitionKind::Function } else { DefinitionKind::Procedure };
    let definition = engine.definition(stored, database, &name.to_lowercase()).ok_or_else(unknown)?;
    let mut routine = Routine::decode(&definition.bytes)?;
    if !information_schema::programs::sees_routine(facts, &definition, &routine) {
        return Err(unknown());
    }
    if let Some(spec) = routine.parse_returns()? {
        let ty = column_type(&routine.name, &spec, routine.origin.database, CollationId::DEFAULT)?;
        routine.returns = information_schema::programs::type_text(&ty);
    }
    let (title, made) = match kind {
        ProgramKind::Function => ("Function", "Create Function"),
        _ => ("Procedure", "Create Procedure"),
    };
    let text = match information_schema::programs::sees_body(facts, &routine) {
        true => as_created(facts, &routine.origin, &routine.create_statement("CREATE", None)),
        false => Value::Null,
    };
    add(title, string(&routine.name));
    add("sql_mode", string(mode_text(routine.origin.sql_mode)));
    add(made, text);
    add_surroundings(&routine.origin, &mut add);
    Ok(listing)
}

/// The text of a program for a client who takes it as it is, which dumps do: in the character set in which it was created,
/// and under which the dump has it.
fn as_created(facts: &Facts<'_>, origin: &Origin, text: &str) -> Value {
    let results = facts.variables.settings.character_set_results.map(|id| collation(id).charset);
    match results {
        None | Some(Charset::Binary) => {
            let mut own = Vec::new();
            convert(text.as_bytes(), Charset::Utf8mb4, collation(origin.client).charset, &mut own);
            Value::Bytes(own)
        }
        Some(_) => string(text),
    }
}

fn add_surroundings(origin: &Origin, add: &mut dyn FnMut(&str, Value)) {
    add("character_set_client", string(collation(origin.client).charset.name()));
    add("collation_connection", string(collation(origin.connection).name));
    add("Database Collation", string(collation(origin.database).name));
}

/// Rows about one table that exists.
fn pick_of_table(facts: &Facts<'_>, (database, table): (&str, &str), view: &str, columns: &[(&str, &str)]) -> Listing {
    let own = facts.temporary.and_then(|tables| tables.table(database, table));
    let named = Named { database, table: Some(table) };
    let facts = Facts { only: own.as_ref(), wanted: Some(&named), ..*facts };
    pick(&facts, view, columns, |row| text(&row[1]) == database.as_bytes() && text(&row[2]) == table.as_bytes())
}

/// The spelling of a table that exists, stored or virtual.
fn existing_table(facts: &Facts<'_>, current: Option<&str>, name: &TableName) -> Result<(String, String), Error> {
    let (database, table) = resolve(current, name)?;
    if let Some(found) = information_schema::table(database, table) {
        return Ok((database.to_ascii_lowercase(), found.name.to_string()));
    }
    if find_view(facts, database, table).is_some() {
        return Ok((database.to_owned(), table.to_owned()));
    }
    match stored_table(facts, database, table) {
        Some(found) => Ok((found.database.to_string(), found.name.to_string())),
        None if facts.instance.engine.database(database).is_none() && !information_schema::is_virtual(database) => {
            Err(Error::unknown_database(database))
        }
        None => Err(Error::no_such_table(database, table)),
    }
}

fn tables(facts: &Facts<'_>, database: Option<&str>, full: bool, show: &Show) -> Result<Listing, Error> {
    let database = existing(facts, database)?;
    let mut title = format!("Tables_in_{database}");
    if let Show::Tables { filter, .. } = show
        && let Some(like) = &filter.like
    {
        title = format!("{title} ({})", String::from_utf8_lossy(like));
    }
    // The names are known without the statistics that a whole row of TABLES costs.
    let stored = facts.instance.engine.tables(&database);
    let mut names: Vec<String> = match information_schema::is_virtual(&database) {
        true => information_schema::tables(&database).iter().map(|table| table.name.to_string()).collect(),
        false => stored.iter().map(|table| table.name.to_string()).collect(),
    };
    let mut views = facts.instance.engine.definitions(DefinitionKind::View, &database);
    views.extend(information_schema::built_in(&database).iter().cloned());
    names.extend(views.iter().map(|view| view.name.to_string()));
    names.retain(|name| facts.rights.sees_table(&database, name));
    // Programs that write dumps in this order, and know no sequences, create them before the tables whose defaults ask them.
    let is_sequence = |name: &str| stored.iter().any(|table| &*table.name == name && sequences::is_sequence(table));
    names.sort();
    if stored.iter().any(|table| sequences::is_sequence(table)) {
        names.sort_by_cached_key(|name| (!is_sequence(name), name.clone()));
    }
    let kind = |name: &str| match information_schema::is_virtual(&database) {
        _ if views.iter().any(|view| &*view.name == name) => "VIEW",
        true => "SYSTEM VIEW",
        _ if is_sequence(name) => "SEQUENCE",
        false => "BASE TABLE",
    };
    let mut listing =
        Listing { columns: vec![varchar(&title)], rows: names.iter().map(|name| vec![string(name)]).collect() };
    if full {
        listing.columns.push(varchar("Table_type"));
        listing.rows.iter_mut().zip(&names).for_each(|(row, name)| row.push(string(kind(name))));
    }
    Ok(listing)
}

fn columns(facts: &Facts<'_>, current: Option<&str>, name: &TableName, full: bool) -> Result<Listing, Error> {
    let (database, table) = existing_table(facts, current, name)?;
    let short = [
        ("Field", "COLUMN_NAME"),
        ("Type", "COLUMN_TYPE"),
        ("Null", "IS_NULLABLE"),
        ("Key", "COLUMN_KEY"),
        ("Default", "COLUMN_DEFAULT"),
        ("Extra", "EXTRA"),
    ];
    let long = [
        ("Field", "COLUMN_NAME"),
        ("Type", "COLUMN_TYPE"),
        ("Collation", "COLLATION_NAME"),
        ("Null", "IS_NULLABLE"),
        ("Key", "COLUMN_KEY"),
        ("Default", "COLUMN_DEFAULT"),
        ("Extra", "EXTRA"),
        ("Privileges", "PRIVILEGES"),
        ("Comment", "COLUMN_COMMENT"),
    ];
    let wanted: &[(&str, &str)] = if full { &long } else { &short };
    if let (Some(view), Some(views)) = (find_view(facts, &database, &table), facts.views) {
        // A view that is not valid has no columns to show.
        views.columns(&view)?;
    }
    Ok(pick_of_table(facts, (&database, &table), "COLUMNS", wanted))
}

fn indexes(facts: &Facts<'_>, current: Option<&str>, name: &TableName) -> Result<Listing, Error> {
    let (database, table) = existing_table(facts, current, name)?;
    let wanted = [
        ("Table", "TABLE_NAME"),
        ("Non_unique", "NON_UNIQUE"),
        ("Key_name", "INDEX_NAME"),
        ("Seq_in_index", "SEQ_IN_INDEX"),
        ("Column_name", "COLUMN_NAME"),
        ("Collation", "COLLATION"),
        ("Cardinality", "CARDINALITY"),
        ("Sub_part", "SUB_PART"),
        ("Packed", "PACKED"),
        ("Null", "NULLABLE"),
        ("Index_type", "INDEX_TYPE"),
        ("Comment", "COMMENT"),
        ("Index_comment", "INDEX_COMMENT"),
        ("Visible", "IS_VISIBLE"),
        ("Expression", "EXPRESSION"),
    ];
    Ok(pick_of_table(facts, (&database, &table), "STATISTICS", &wanted))
}

fn create_table(facts: &Facts<'_>, current: Option<&str>, name: &TableName) -> Result<Listing, Error> {
    let (database, table) = existing_table(facts, current, name)?;
    if let Some(view) = find_view(facts, &database, &table) {
        return create_view(&view, current);
    }
    if let Some(found) = information_schema::table(&database, &table) {
        let columns: Vec<String> = found
            .columns
            .iter()
            .map(|column| {
                let null = if column.nullable { "DEFAULT NULL" } else { "NOT NULL" };
                format!("  {} {} {null}", describe::quoted(column.name), describe::column_type(&column.ty))
            })
            .collect();
        let text = format!("CREATE TABLE {} (\n{}\n)", describe::quoted(found.name), columns.join(",\n"));
        let mut listing = one_row(&[("Table", found.name), ("Create Table", &text)]);
        listing.columns[0] = varchar("Table");
        return Ok(listing);
    }
    let engine = &facts.instance.engine;
    let found = stored_table(facts, &database, &table).ok_or_else(|| Error::no_such_table(&database, &table))?;
    let next = found.auto_increment.and_then(|_| engine.auto_increment(&found).ok()).unwrap_or(1);
    let mut listing =
        one_row(&[("Table", &found.name), ("Create Table", &describe::create_table(&found, next, facts.zone))]);
    listing.columns[0] = varchar("Table");
    Ok(listing)
}

fn create_sequence(facts: &Facts<'_>, current: Option<&str>, name: &TableName) -> Result<Listing, Error> {
    let (database, table) = existing_table(facts, current, name)?;
    let found = stored_table(facts, &database, &table).filter(|table| sequences::is_sequence(table));
    let found = found.ok_or_else(|| Error::not_a_sequence(&database, &table))?;
    let options = TrxOptions { metadata_wait_timeout: Duration::ZERO, ..TrxOptions::default() };
    let definition = sequences::newest(&facts.instance.engine, &found, options)?;
    let definition = definition.ok_or_else(|| Error::sequence_structure(&database, &table, "no row"))?;
    let text = describe::create_sequence(&found, &definition.text());
    let mut listing = one_row(&[("Table", &found.name), ("Create Table", &text)]);
    listing.columns[0] = varchar("Table");
    Ok(listing)
}

/// The tables of a database whose names a pattern lets through.
struct Matching<'a> {
    database: &'a str,
    like: Option<&'a [u8]>,
}

impl Wanted for Matching<'_> {
    fn database(&self, database: &str) -> bool {
        self.database == database
    }

    fn table(&self, _: &str, table: &str) -> bool {
        self.like.is_none_or(|pattern| is_like(table.as_bytes(), pattern))
    }
}

/// Whether LIKE of a SHOW statement lets a name through.
pub fn is_like(name: &[u8], pattern: &[u8]) -> bool {
    collation(CollationId::UTF8MB4_GENERAL_CI).like(name, pattern, Some('\\' as u32))
}

fn table_status(facts: &Facts<'_>, database: Option<&str>, like: Option<&[u8]>) -> Result<Listing, Error> {
    let database = existing(facts, database)?;
    let matching = Matching { database: &database, like };
    let facts = &Facts { wanted: Some(&matching), ..*facts };
    let wanted = [
        ("Name", "TABLE_NAME"),
        ("Engine", "ENGINE"),
        ("Version", "VERSION"),
        ("Row_format", "ROW_FORMAT"),
        ("Rows", "TABLE_ROWS"),
        ("Avg_row_length", "AVG_ROW_LENGTH"),
        ("Data_length", "DATA_LENGTH"),
        ("Max_data_length", "MAX_DATA_LENGTH"),
        ("Index_length", "INDEX_LENGTH"),
        ("Data_free", "DATA_FREE"),
        ("Auto_increment", "AUTO_INCREMENT"),
        ("Create_time", "CREATE_TIME"),
        ("Update_time", "UPDATE_TIME"),
        ("Check_time", "CHECK_TIME"),
        ("Collation", "TABLE_COLLATION"),
        ("Checksum", "CHECKSUM"),
        ("Create_options", "CREATE_OPTIONS"),
        ("Comment", "TABLE_COMMENT"),
    ];
    let mut listing = pick(facts, "TABLES", &wanted, |row| text(&row[1]) == database.as_bytes());
    // By this word mydumper, which goes through all databases, takes something for a view that can be made again.
    if information_schema::is_virtual(&database) {
        for row in &mut listing.rows {
            row[wanted.len() - 1] = Value::Bytes(Vec::new());
        }
    }
    Ok(listing)
}

fn named_values(facts: &Facts<'_>, scope: Option<VariableScope>, global: &str, session: &str) -> Listing {
    let table = if scope == Some(VariableScope::Global) { global } else { session };
    pick(facts, table, &[("Variable_name", "VARIABLE_NAME"), ("Value", "VARIABLE_VALUE")], |_| true)
}

fn process_list(facts: &Facts<'_>, full: bool) -> Listing {
    let wanted = [
        ("Id", "ID"),
        ("User", "USER"),
        ("Host", "HOST"),
        ("db", "DB"),
        ("Command", "COMMAND"),
        ("Time", "TIME"),
        ("State", "STATE"),
        ("Info", "INFO"),
    ];
    let mut listing = pick(facts, "PROCESSLIST", &wanted, |_| true);
    if !full {
        for row in &mut listing.rows {
            if let Some(Value::Bytes(info)) = row.last_mut() {
                info.truncate(100);
            }
        }
    }
    listing
}

/// The account that a name means; nothing is the session's own.
fn account_of(facts: &Facts<'_>, user: Option<&UserName>) -> Result<Account, Error> {
    let key = match user {
        Some(user) if !user.current => (user.user.clone(), user.host.clone()),
        _ if facts.rights.is_internal() => ("root".to_owned(), "localhost".to_owned()),
        _ => facts.rights.account.clone(),
    };
    facts.instance.accounts.get(&key.0, &key.1).ok_or_else(|| {
        let text = format!("There is no such grant defined for user '{}' on host '{}'", key.0, key.1);
        Error::new(1141, b"42000", text)
    })
}

fn grants(facts: &Facts<'_>, user: Option<&UserName>, using: &[UserName]) -> Result<Listing, Error> {
    let account = account_of(facts, user)?;
    let accounts = facts.instance.accounts.snapshot();
    let roles: Vec<Key> = match user {
        None => facts.rights.active_roles.iter().cloned().collect(),
        Some(_) => using.iter().map(|role| (role.user.clone(), role.host.clone())).collect(),
    };
    if let Some(role) = using.iter().find(|role| !account.roles.contains_key(&(role.user.clone(), role.host.clone()))) {
        let text = format!("`{}`@`{}` is not granted to `{}`@`{}`", role.user, role.host, account.user, account.host);
        return Err(Error::new(3530, b"HY000", text));
    }
    let statements = accounts::describe::grants(&accounts, &account, &roles);
    Ok(Listing {
        columns: vec![long_text(&format!("Grants for {}@{}", account.user, account.host))],
        rows: statements.iter().map(|statement| vec![string(statement)]).collect(),
    })
}

fn create_user(facts: &Facts<'_>, user: &UserName) -> Result<Listing, Error> {
    let missing = |_| Error::cannot_user("SHOW CREATE USER", &accounts::quoted(&user.user, &user.host));
    let account = account_of(facts, Some(user)).map_err(missing)?;
    Ok(Listing {
        columns: vec![long_text(&format!("CREATE USER for {}@{}", account.user, account.host))],
        rows: vec![vec![string(accounts::describe::create_user(&account))]],
    })
}

/// SHOW PRIVILEGES
fn privileges() -> Listing {
    let contexts = |privilege: Privileges| {
        let levels = [
            (Privileges::DATABASE, "Databases"),
            (Privileges::TABLE, "Tables"),
            (Privileges::ROUTINE, "Functions,Procedures"),
        ];
        let names: Vec<&str> = levels.iter().filter(|(of, _)| of.has(privilege)).map(|(_, name)| *name).collect();
        if names.is_empty() { "Server Admin".to_owned() } else { names.join(",") }
    };
    let of_servers = Dynamic::ALL.iter().map(|name| (name, "Server Admin".to_owned()));
    let rows = Privileges::all().map(|(privilege, name)| (name, contexts(privilege))).chain(of_servers);
    let row = |(name, context): (&str, String)| vec![string(name), string(context), string("")];
    Listing { columns: ["Privilege", "Context", "Comment"].map(varchar).into(), rows: rows.map(row).collect() }
}

/// SHOW ENGINE: InnoDB's STATUS is a text, that of the performance schema says what memory it takes; of mutexes and logs
/// there is nothing to list.
fn engine(facts: &Facts<'_>, name: &str, what: &str) -> Result<Listing, Error> {
    let mut listing = empty(&["Type", "Name", "Status"]);
    listing.columns[2] = long_text("Status");
    let is_status = what.eq_ignore_ascii_case("status");
    match name.to_ascii_lowercase().as_str() {
        "innodb" if is_status => {
            listing.rows.push(vec![string("InnoDB"), string(""), string(monitor::report(facts))]);
        }
        "performance_schema" if is_status => {
            let row = |(name, bytes): (String, u64)| {
                vec![string("performance_schema"), string(name), string(bytes.to_string())]
            };
            listing.rows.extend(information_schema::schema_memory(facts.instance).into_iter().map(row));
        }
        "innodb" | "performance_schema" => {}
        _ => return Err(Error::unknown_engine(name)),
    }
    Ok(listing)
}
