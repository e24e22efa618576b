//! MySQL's options: from the command line and from option files.
//!
//! An option names a system variable (see `sql::variables`) or one of the few that
//! belong to a command alone (`--once` of the demo). Its name may be written in
//! several ways, which all lead to one variable:
//!
//! ```text
//! --innodb-io-capacity=500    dashes are underscores
//! --innodb_io_cap=500         a beginning that only one name has
//! --skip-networking           off (or a name of its own)    --disable-...: off
//! --enable-general-log        on                            --autocommit: on
//! --loose-anything=1          a warning instead of an error if there is no such name
//! --innodb-log-file-size=1G   K, M, G, T: powers of 1024
//! ```
//!
//! Option files have groups and `name=value` lines. Of a file that was named
//! (`--defaults-file`, `--defaults-extra-file`), the groups `[mysqld]` and
//! `[glassine]` are read (and `[server]`, as in MySQL). Of the default files
//! on a machine (`/etc/my.cnf`, `/etc/mysql/my.cnf`, `~/.my.cnf`), only `[glassine]`
//! is: their `[mysqld]` describes another server, whose data directory is not ours.
//!
//! Later ones win: files in the order above, then the command line.

mod files;
mod ignored;

use std::collections::BTreeMap;
use std::path::Path;

use sql::variables::{self, GlobalVariables, Kind, Origin, Variable};

use files::{default_files, read_file};
use ignored::Ignored;

/// The groups of a file that was named.
const GROUPS: &[&str] = &["server", "mysqld", "glassine"];
/// The groups of a file that just lies there.
const OWN_GROUPS: &[&str] = &["glassine"];
/// What is no file.
const COMMAND_LINE: &str = "COMMAND_LINE";
/// How deep `!include` may go.
const INCLUDE_DEPTH_MAX: usize = 10;

/// An option that a command has beside the variables.
#[derive(Debug, Clone, Copy)]
pub struct Own {
    /// With underscores.
    pub name: &'static str,
    pub takes_value: bool,
}

/// Options that every server command takes beside the variables.
const COMMON: &[Own] = &[
    Own { name: "log_bin", takes_value: false },
    Own { name: "print_defaults", takes_value: false },
    Own { name: "validate_config", takes_value: false },
    Own { name: "verbose", takes_value: false },
    Own { name: "console", takes_value: false },
    Own { name: "help", takes_value: false },
    Own { name: "replicate_do_db", takes_value: true },
    Own { name: "replicate_ignore_db", takes_value: true },
    Own { name: "replicate_do_table", takes_value: true },
    Own { name: "replicate_ignore_table", takes_value: true },
    Own { name: "replicate_wild_do_table", takes_value: true },
    Own { name: "replicate_wild_ignore_table", takes_value: true },
    Own { name: "replicate_rewrite_db", takes_value: true },
];

/// What the options amount to.
#[derive(Debug)]
pub struct Loaded {
    /// The options of the command itself, by name, with the value if one was given.
    pub own: BTreeMap<&'static str, Option<String>>,
    /// The same options with values, each as often as it was given, in order.
    pub repeated: Vec<(&'static str, String)>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// All options in order, as they would stand on a command line.
    pub given: Vec<String>,
}

impl Loaded {
    pub fn has(&self, name: &str) -> bool {
        self.own.contains_key(name)
    }

    /// The value of an own option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.own.get(name)?.as_deref()
    }
}

/// One option as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Raw {
    name: String,
    value: Option<String>,
    /// Where it stood, for messages.
    source: String,
    /// Of which kind that is, as performance_schema.variables_info names it.
    kind: &'static str,
}

/// Reads option files and arguments into the variables.
pub fn load(arguments: &[String], own: &[Own], globals: &GlobalVariables) -> Result<Loaded, String> {
    let (raws, warnings) = gather(arguments, own)?;
    let mut loaded = Loaded { own: BTreeMap::new(), repeated: Vec::new(), warnings, given: Vec::new() };
    for raw in &raws {
        loaded.given.push(match &raw.value {
            Some(value) => format!("--{}={value}", raw.name),
            None => format!("--{}", raw.name),
        });
        apply(raw, own, globals, &mut loaded)?;
    }
    Ok(loaded)
}

fn gather(arguments: &[String], own: &[Own]) -> Result<(Vec<Raw>, Vec<String>), String> {
    let mut warnings = Vec::new();
    let mut raws = Vec::new();
    let mut rest = Vec::new();
    let (mut named, mut extra, mut files) = (None, None, true);
    // MySQL wants these to come first; wherever they stand, they mean the same.
    for argument in arguments {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        match name.replace('_', "-").as_str() {
            "--defaults-file" => named = Some(value),
            "--defaults-extra-file" => extra = Some(value),
            "--no-defaults" => files = false,
            _ => rest.push(argument.clone()),
        }
    }
    if let Some(path) = &named {
        read_file(Path::new(path), GROUPS, 0, &mut raws, &mut warnings)?;
        say_kind(&mut raws, 0, "EXPLICIT");
    } else if files {
        for path in default_files().into_iter().filter(|path| path.is_file()) {
            let before = raws.len();
            read_file(&path, OWN_GROUPS, 0, &mut raws, &mut warnings)?;
            say_kind(&mut raws, before, if path.starts_with("/etc") { "GLOBAL" } else { "USER" });
        }
    }
    if let Some(path) = &extra {
        let before = raws.len();
        read_file(Path::new(path), GROUPS, 0, &mut raws, &mut warnings)?;
        say_kind(&mut raws, before, "EXTRA");
    }
    raws.extend(read_arguments(&rest, own)?);
    Ok((raws, warnings))
}

/// Says what the options from the one with this number on have come from.
fn say_kind(raws: &mut [Raw], first: usize, kind: &'static str) {
    raws[first..].iter_mut().for_each(|raw| raw.kind = kind);
}

// --- The command line -----------------------------------------------------------------------------------------------

fn read_arguments(arguments: &[String], own: &[Own]) -> Result<Vec<Raw>, String> {
    let mut raws = Vec::new();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        let (name, value) = if let Some(long) = argument.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (long.to_owned(), None),
            }
        } else if let Some(short) = argument.strip_prefix('-').filter(|short| !short.is_empty()) {
            read_short(short)?
        } else {
            return Err(format!("unexpected argument '{argument}': options begin with --"));
        };
        let value = match value {
            // `--port 3307`: options that need a value take the next argument.
            None if needs_value(&name, own) => match rest.next_if(|next| !next.starts_with("--")) {
                Some(next) => Some(next.clone()),
                None => return Err(format!("option '--{name}' requires a value")),
            },
            value => value,
        };
        raws.push(Raw { name, value, source: "command line".to_owned(), kind: COMMAND_LINE });
    }
    Ok(raws)
}

/// MySQL's short options: `-P3307`, `-P 3307`.
fn read_short(short: &str) -> Result<(String, Option<String>), String> {
    let (letter, value) = short.split_at(short.chars().next().map_or(0, char::len_utf8));
    let name = match letter {
        "P" => "port",
        "S" => "socket",
        "h" => "datadir",
        "u" => "user",
        "b" => "basedir",
        "t" => "tmpdir",
        "v" => "verbose",
        "V" => "version",
        "?" => "help",
        _ => return Err(format!("unknown option '-{letter}'")),
    };
    Ok((name.to_owned(), (!value.is_empty()).then(|| value.to_owned())))
}

fn needs_value(name: &str, own: &[Own]) -> bool {
    let name = normal(name);
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    match find(name, own) {
        Ok(Found::Ignored(option)) => option.takes_value,
        Ok(Found::Own(option)) => option.takes_value,
        // Alone, `--version` asks for it.
        Ok(Found::Variable { variable, .. }) if variable.name == "version" => false,
        Ok(Found::Variable { variable, .. }) => variable.kind != Kind::Bool && !may_stand_alone(variable),
        _ => false,
    }
}

/// Options that say enough by their name: `--log-error`.
fn may_stand_alone(variable: &Variable) -> bool {
    matches!(variable.name, "log_error" | "general_log" | "slow_query_log" | "innodb_doublewrite")
}

// --- Option files ---------------------------------------------------------------------------------------------------

// --- Names ----------------------------------------------------------------------------------------------------------

/// What a name stands for.
#[derive(Debug)]
enum Found {
    Own(Own),
    /// It changes nothing here.
    Ignored(Ignored),
    Variable {
        variable: &'static Variable,
        /// The name says so: `skip_`, `disable_`, `enable_`.
        switch: Option<bool>,
    },
}

fn normal(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

fn find(name: &str, own: &[Own]) -> Result<Found, String> {
    if let Some(option) = own.iter().chain(COMMON).find(|option| option.name == name) {
        return Ok(Found::Own(*option));
    }
    if let Some(variable) = variables::find(name) {
        return Ok(Found::Variable { variable, switch: None });
    }
    for (prefix, on) in [("skip_", false), ("disable_", false), ("enable_", true)] {
        if let Some(rest) = name.strip_prefix(prefix)
            && let Some(variable) = variables::find(rest)
        {
            return Ok(Found::Variable { variable, switch: Some(on) });
        }
    }
    if let Some(option) = ignored::find(name) {
        return Ok(Found::Ignored(option));
    }
    let mut by_prefix = variables::find_by_prefix(name);
    by_prefix.retain(|(_, variable)| variable.option);
    let own_by_prefix: Vec<&Own> = own.iter().chain(COMMON).filter(|option| option.name.starts_with(name)).collect();
    match (&by_prefix[..], &own_by_prefix[..]) {
        ([(_, variable)], []) => return Ok(Found::Variable { variable, switch: None }),
        ([], [option]) => return Ok(Found::Own(**option)),
        ([], []) => {}
        _ => {
            let mut names: Vec<&str> = by_prefix.iter().map(|(name, _)| *name).collect();
            names.extend(own_by_prefix.iter().map(|option| option.name));
            let shown: Vec<String> = names.iter().take(5).map(|name| format!("--{}", name.replace('_', "-"))).collect();
            let more = if names.len() > 5 { ", ..." } else { "" };
            return Err(format!("ambiguous option: it could be {}{more}", shown.join(", ")));
        }
    }
    let known = variables::names().chain(own.iter().chain(COMMON).map(|option| option.name));
    match variables::nearest(name, known) {
        Some(nearest) => Err(format!("unknown option. Did you mean --{}?", nearest.replace('_', "-"))),
        None => Err("unknown option".to_owned()),
    }
}

fn apply(raw: &Raw, own: &[Own], globals: &GlobalVariables, loaded: &mut Loaded) -> Result<(), String> {
    let written = normal(&raw.name);
    let (name, loose) = match written.strip_prefix("loose_") {
        Some(name) => (name, true),
        None => (written.as_str(), false),
    };
    let name = name.strip_prefix("maximum_").unwrap_or(name);
    let fail = |cause: String| format!("option '--{}' ({}): {cause}", raw.name, raw.source);
    // These have no variable that could be set, but many configurations have them.
    if matches!(name, "skip_log_bin" | "disable_log_bin") {
        loaded.own.remove("log_bin");
        return Ok(());
    }
    if matches!(name, "ssl" | "skip_ssl" | "disable_ssl") {
        let negated = raw.value.as_deref().is_some_and(|value| matches!(value, "0" | "OFF" | "off"));
        if (name == "ssl") == negated {
            globals.load_option("tls_version", "").map_err(|error| fail(error.message))?;
        }
        return Ok(());
    }
    if name == "skip_host_cache" {
        globals.load_option("host_cache_size", "0").map_err(|error| fail(error.message))?;
        return Ok(());
    }
    let found = match find(name, own) {
        Ok(found) => found,
        Err(cause) if loose => {
            loaded.warnings.push(fail(cause));
            return Ok(());
        }
        Err(cause) => return Err(fail(cause)),
    };
    let (variable, switch) = match found {
        Found::Own(option) => {
            if option.takes_value && raw.value.is_none() {
                return Err(fail("it requires a value".to_owned()));
            }
            loaded.repeated.extend(raw.value.clone().map(|value| (option.name, value)));
            loaded.own.insert(option.name, raw.value.clone());
            return Ok(());
        }
        Found::Ignored(option) => {
            loaded.warnings.push(fail(format!("option ignored: {}", option.reason)));
            return Ok(());
        }
        Found::Variable { variable, switch } => (variable, switch),
    };
    if variable.name == "version" && raw.value.is_none() {
        loaded.own.insert(variable.name, None);
        return Ok(());
    }
    let text = match (switch, &raw.value) {
        (Some(on), value) => {
            // `--skip-x=0` is on.
            let negated = value.as_deref().is_some_and(|value| matches!(value, "0" | "OFF" | "off"));
            if on != negated { "ON" } else { "OFF" }
        }
        (None, Some(value)) => value.as_str(),
        (None, None) if variable.kind == Kind::Bool => "ON",
        (None, None) if variable.name == "log_error" => "stderr",
        (None, None) if may_stand_alone(variable) => "ON",
        (None, None) => return Err(fail("it requires a value".to_owned())),
    };
    // Each of these may be given several times.
    let several;
    let text = match variable.name {
        "binlog_do_db" | "binlog_ignore_db" if !globals.text(variable.name).is_empty() => {
            several = format!("{},{text}", globals.text(variable.name));
            &several
        }
        _ => text,
    };
    match globals.load_option(variable.name, text) {
        Ok(notices) => {
            let file = raw.source.rsplit_once(':').map_or("", |(file, _)| file);
            let file = if raw.kind == COMMAND_LINE { "" } else { file };
            globals.origins.note(variable.name, Origin::option(raw.kind, file));
            loaded.warnings.extend(notices.into_iter().map(|notice| fail(notice.message)));
        }
        Err(error) if loose => loaded.warnings.push(fail(error.message)),
        Err(error) => return Err(fail(error.message)),
    }
    Ok(())
}

/// What `--verbose --help` prints: all variables with their values now.
pub fn describe(globals: &GlobalVariables) -> String {
    let mut text = String::from("Options, with the values that they have now. Names may be written with dashes.\n\n");
    for (name, value) in globals.show() {
        let Some(variable) = variables::find(name).filter(|variable| variable.option && variable.name == name) else {
            continue;
        };
        let value = if value.is_empty() { "(none)" } else { &value };
        text.push_str(&format!("  --{:<48} {value}\n      {}", name.replace('_', "-"), variable.help));
        if let Some(reason) = variable.no_effect {
            text.push_str(&format!(" (no effect here: {reason})"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
