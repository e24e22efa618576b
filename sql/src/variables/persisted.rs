//! SET PERSIST: values that outlive a restart, in `mysqld-auto.cnf` of the data
//! directory, as in MySQL 8.0.
//!
//! ```text
//! {"Version": 2,
//!  "mysql_dynamic_variables": {
//!    "max_connections": {"Value": "200", "Metadata": {"Host": "", "User": "root", "Timestamp": 1769860800000000}}},
//!  "mysql_static_variables": {
//!    "innodb_log_file_size": {"Value": "1073741824", "Metadata": {...}}}}
//! ```
//!
//! The file is read at start, before the engine opens and before any thread runs, and
//! its values override option files and the command line. So a persisted value holds
//! for background threads, too.
//!
//! Invariants:
//!
//! * The file is replaced as a whole: written beside its place, synced, renamed.
//! * Values are text as SHOW VARIABLES prints it, under a variable's own name.
//!
//! Not here: setting the running server's value, which `SET PERSIST` does first.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::names;
use super::origins::Origin;

/// The file's name in the data directory.
pub const FILE: &str = "mysqld-auto.cnf";

/// Variables that say where things are or what they are: an option file's business.
const NOT_PERSISTED: &[&str] = &[
    "basedir",
    "bind_address",
    "core_file",
    "datadir",
    "innodb_data_file_path",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_page_size",
    "innodb_undo_directory",
    "lower_case_table_names",
    "persisted_globals_load",
    "pid_file",
    "plugin_dir",
    "secure_file_priv",
    "skip_networking",
    "socket",
    "tmpdir",
    "user",
    "version",
];

/// Whether a variable may be persisted at all.
pub fn may_be_persisted(name: &str) -> bool {
    names::find(name).is_some_and(|variable| {
        (variable.dynamic || variable.option) && !variable.computed && !NOT_PERSISTED.contains(&variable.name)
    })
}

/// One persisted value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    value: String,
    user: String,
    timestamp_us: u64,
}

/// The file of persisted values.
#[derive(Debug)]
pub struct Persisted {
    path: PathBuf,
    /// One change at a time.
    changing: Mutex<()>,
}

impl Persisted {
    pub fn new(datadir: &Path) -> Persisted {
        Persisted { path: datadir.join(FILE), changing: Mutex::new(()) }
    }

    /// Names and values, in order of names. A file that is not there holds none.
    pub fn list(&self) -> io::Result<Vec<(String, String)>> {
        Ok(self.read()?.into_iter().map(|(name, entry)| (name, entry.value)).collect())
    }

    /// Who persisted each of them and when, by name.
    pub fn origins(&self) -> io::Result<Vec<(String, Origin)>> {
        let path = self.path.display().to_string();
        let origin = |entry: Entry| {
            let (set_us, user) = (Some(entry.timestamp_us), entry.user);
            Origin { source: "PERSISTED", path: path.clone(), set_us, user, ..Origin::default() }
        };
        Ok(self.read()?.into_iter().map(|(name, entry)| (name, origin(entry))).collect())
    }

    /// Keeps a value from the next start on.
    pub fn set(&self, name: &str, value: &str, user: &str) -> io::Result<()> {
        let _changing = self.changing.lock();
        let mut entries = self.read()?;
        let timestamp_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros() as u64);
        let entry = Entry { value: value.to_owned(), user: user.to_owned(), timestamp_us };
        entries.insert(name.to_owned(), entry);
        self.write(&entries)
    }

    /// Forgets a value. False if there was none.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let _changing = self.changing.lock();
        let mut entries = self.read()?;
        let found = entries.remove(name).is_some();
        if found {
            self.write(&entries)?;
        }
        Ok(found)
    }

    /// Forgets all values.
    pub fn clear(&self) -> io::Result<()> {
        let _changing = self.changing.lock();
        self.write(&BTreeMap::new())
    }

    fn read(&self) -> io::Result<BTreeMap<String, Entry>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(cause) => return Err(cause),
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("{} is not JSON", self.path.display()));
        let json = Json::parse(&text).ok_or_else(damaged)?;
        let mut entries = BTreeMap::new();
        collect(&json, &mut entries);
        Ok(entries)
    }

    fn write(&self, entries: &BTreeMap<String, Entry>) -> io::Result<()> {
        let group = |dynamic: bool| {
            let members: Vec<String> = entries
                .iter()
                .filter(|(name, _)| names::find(name).is_none_or(|variable| variable.dynamic) == dynamic)
                .map(|(name, entry)| {
                    format!(
                        "{}: {{\"Value\": {}, \"Metadata\": {{\"Host\": \"\", \"User\": {}, \"Timestamp\": {}}}}}",
                        quoted(name),
                        quoted(&entry.value),
                        quoted(&entry.user),
                        entry.timestamp_us
                    )
                })
                .collect();
            members.join(", ")
        };
        let text = format!(
            "{{\"Version\": 2, \"mysql_dynamic_variables\": {{{}}}, \"mysql_static_variables\": {{{}}}}}\n",
            group(true),
            group(false)
        );
        let beside = self.path.with_extension("cnf.new");
        let mut file = File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)?;
        match self.path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }
}

/// Every member that is an object with a `Value` is a variable, whatever stands around it: earlier versions of the file
/// nest them differently.
fn collect(json: &Json, entries: &mut BTreeMap<String, Entry>) {
    let Json::Object(members) = json else { return };
    for (name, member) in members {
        let Some(Json::Text(value)) = member.get("Value") else {
            collect(member, entries);
            continue;
        };
        let metadata = member.get("Metadata");
        let user = match metadata.and_then(|metadata| metadata.get("User")) {
            Some(Json::Text(user)) => user.clone(),
            _ => String::new(),
        };
        let timestamp_us = match metadata.and_then(|metadata| metadata.get("Timestamp")) {
            Some(Json::Other(number)) => number.parse().unwrap_or(0),
            _ => 0,
        };
        entries.insert(name.clone(), Entry { value: value.clone(), user, timestamp_us });
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// As much of JSON as the file needs.
#[derive(Debug, PartialEq)]
enum Json {
    Object(Vec<(String, Json)>),
    Text(String),
    /// A number, a word or a list, as written.
    Other(String),
}

/// The file is three levels deep.
const DEPTH_MAX: usize = 16;

impl Json {
    fn parse(text: &str) -> Option<Json> {
        let mut rest = text.trim();
        let json = value(&mut rest, 0)?;
        rest.trim().is_empty().then_some(json)
    }

    fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, member)| member),
            _ => None,
        }
    }
}

fn take(rest: &mut &str, symbol: char) -> Option<()> {
    *rest = rest.trim_start().strip_prefix(symbol)?;
    Some(())
}

fn value(rest: &mut &str, depth: usize) -> Option<Json> {
    *rest = rest.trim_start();
    match rest.chars().next()? {
        _ if depth > DEPTH_MAX => None,
        '"' => text(rest).map(Json::Text),
        '{' => {
            take(rest, '{')?;
            let mut members = Vec::new();
            if take(rest, '}').is_some() {
                return Some(Json::Object(members));
            }
            loop {
                *rest = rest.trim_start();
                let name = text(rest)?;
                take(rest, ':')?;
                members.push((name, value(rest, depth + 1)?));
                if take(rest, ',').is_none() {
                    take(rest, '}')?;
                    return Some(Json::Object(members));
                }
            }
        }
        _ => {
            let end = rest.find([',', '}']).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            *rest = behind;
            (!word.trim().is_empty()).then(|| Json::Other(word.trim().to_owned()))
        }
    }
}

fn text(rest: &mut &str) -> Option<String> {
    let mut chars = rest.strip_prefix('"')?.chars();
    let mut out = String::new();
    loop {
        match chars.next()? {
            '"' => break,
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'b' => out.push('\u{8}'),
                'f' => out.push('\u{c}'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    *rest = chars.as_str();
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("glassine-persisted-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    #[test]
    fn values_come_back_and_go() {
        let directory = scratch("values");
        let persisted = Persisted::new(&directory);
        assert_eq!(persisted.list().unwrap(), []);
        persisted.set("max_connections", "7", "root").unwrap();
        persisted.set("sql_mode", "ANSI,\"x\\\n", "o'neil").unwrap();
        persisted.set("innodb_page_cleaners", "4", "root").unwrap();
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = [own("innodb_page_cleaners", "4"), own("max_connections", "7"), own("sql_mode", "ANSI,\"x\\\n")];
        assert_eq!(Persisted::new(&directory).list().unwrap(), all);
        assert!(persisted.remove("sql_mode").unwrap());
        assert!(!persisted.remove("sql_mode").unwrap());
        persisted.clear().unwrap();
        assert_eq!(persisted.list().unwrap(), []);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn mysqls_own_files_are_read() {
        let directory = scratch("mysql");
        // Version 1, as MySQL up to 8.0.28 writes it, and version 2.
        let first = r#"{ "Version" : 1 , "mysql_server" : { "max_connections" : { "Value" : "152" , "Metadata" : { "Timestamp" : 1519921341372531 , "User" : "root" , "Host" : "localhost" } } , "mysql_server_static_options" : { "innodb_log_file_size" : { "Value" : "5242880" , "Metadata" : {"Timestamp" : 1, "User" : "root", "Host": ""} } } } }"#;
        let second = r#"{"Version": 2, "mysql_dynamic_variables": {"max_connections": {"Value": "152", "Metadata": {"Host": "", "User": "root", "Timestamp": 1}}}, "mysql_static_variables": {"innodb_log_file_size": {"Value": "5242880", "Metadata": {}}}}"#;
        for text in [first, second] {
            fs::write(directory.join(FILE), text).unwrap();
            let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            assert_eq!(
                Persisted::new(&directory).list().unwrap(),
                [own("innodb_log_file_size", "5242880"), own("max_connections", "152")]
            );
        }
        for damaged in ["", "{", "{\"Version\": 2", "{\"a\": {\"Value\": \"1}", "[1]x}", "{\"a\" 1}"] {
            fs::write(directory.join(FILE), damaged).unwrap();
            let list = Persisted::new(&directory).list();
            assert!(list.is_err() || list.unwrap().is_empty(), "{damaged}");
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn places_are_not_persisted() {
        assert!(may_be_persisted("max_connections") && may_be_persisted("innodb_page_cleaners"));
        for name in ["datadir", "innodb_page_size", "warning_count", "no_such", "version_comment"] {
            assert!(!may_be_persisted(name), "{name}");
        }
    }
}
