//! What a server has: the definition of everything in some databases, the sums of tables, and accounts.

use std::collections::BTreeMap;

use crate::client::{Client, Error};

/// Texts by the names of what they define.
pub type State = BTreeMap<String, String>;

/// Databases and accounts whose names begin with one of these.
pub fn read(client: &mut Client, databases: &[&str], accounts: &str) -> Result<State, Error> {
    let mut state = State::new();
    let like = |column: &str| {
        let each: Vec<String> = databases.iter().map(|name| format!("{column} LIKE '{name}'")).collect();
        format!("({})", each.join(" OR "))
    };
    let text = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let mut questions: Vec<(String, String, usize)> = Vec::new();
    let named =
        client.query(&format!("SELECT schema_name FROM information_schema.schemata WHERE {}", like("schema_name")))?;
    for row in &named.rows {
        let name = quoted(&text(row, 0));
        questions.push((format!("database {name}"), format!("SHOW CREATE DATABASE {name}"), 1));
    }
    let mut tables = Vec::new();
    let named = client.query(&format!(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE {}",
        like("table_schema")
    ))?;
    for row in &named.rows {
        let name = format!("{}.{}", quoted(&text(row, 0)), quoted(&text(row, 1)));
        questions.push((format!("table {name}"), format!("SHOW CREATE TABLE {name}"), 1));
        if text(row, 2) == "BASE TABLE" {
            tables.push(name);
        }
    }
    for (kind, of, schema, name, at) in [
        ("TRIGGER", "triggers", "trigger_schema", "trigger_name", 2),
        ("PROCEDURE", "routines", "routine_schema", "routine_name", 2),
        ("FUNCTION", "routines", "routine_schema", "routine_name", 2),
        ("EVENT", "events", "event_schema", "event_name", 3),
    ] {
        let more = if of == "routines" { format!(" AND routine_type = '{kind}'") } else { String::new() };
        let question = format!("SELECT {schema}, {name} FROM information_schema.{of} WHERE {}{more}", like(schema));
        for row in &client.query(&question)?.rows {
            let name = format!("{}.{}", quoted(&text(row, 0)), quoted(&text(row, 1)));
            questions.push((format!("{kind} {name}"), format!("SHOW CREATE {kind} {name}"), at));
        }
    }
    for row in &client.query(&format!("SELECT user, host FROM mysql.user WHERE user LIKE '{accounts}'"))?.rows {
        let name = format!("'{}'@'{}'", text(row, 0), text(row, 1));
        let grants = client.query(&format!("SHOW GRANTS FOR {name}"))?;
        let all: Vec<String> = grants.rows.iter().map(|row| text(row, 0)).collect();
        state.insert(format!("account {name}"), all.join("; "));
    }
    for (what, question, at) in questions {
        let answer = client.query(&question)?;
        let shown = answer.rows.first().map(|row| text(row, at)).unwrap_or_default();
        state.insert(what, as_logged(&shown));
    }
    if !tables.is_empty() {
        for row in &client.query(&format!("CHECKSUM TABLE {}", tables.join(", ")))?.rows {
            state.insert(format!("rows of {}", text(row, 0)), text(row, 1));
        }
    }
    Ok(state)
}

/// The names of base tables.
pub fn tables(state: &State) -> Vec<String> {
    let of = |(what, shown): (&String, &String)| {
        let name = what.strip_prefix("table ")?;
        shown.starts_with("CREATE TABLE").then(|| name.to_owned())
    };
    state.iter().filter_map(of).collect()
}

/// Leaves out of a definition what is not in the log, as in MySQL: the next number of a table counts rows that were never
/// there, and a character set's own collation is shown if the set was written, and not of a column that a query made.
fn as_logged(shown: &str) -> String {
    let shown = shown.replace(" COLLATE latin1_swedish_ci", "");
    match shown.split_once(" AUTO_INCREMENT=") {
        Some((before, after)) => format!("{before}{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit())),
        None => shown,
    }
}

/// What is different, in words. Empty = nothing.
pub fn difference(one: &State, other: &State) -> String {
    let mut all = String::new();
    for name in one.keys().chain(other.keys().filter(|name| !one.contains_key(*name))) {
        let (a, b) = (one.get(name), other.get(name));
        if a != b {
            all += &format!("{name}:\n    {}\n    {}\n", a.map_or("nothing", |a| a), b.map_or("nothing", |b| b));
        }
    }
    all
}
