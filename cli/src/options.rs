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
//! `[glassine]` are read (and `[server]`, as in MySQL). Of the files that lie about
//! on a machine (`/etc/my.cnf`, `/etc/mysql/my.cnf`, `~/.my.cnf`), only `[glassine]`
//! is: their `[mysqld]` describes another server, whose data directory is not ours.
//!
//! Later ones win: files in the order above, then the command line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sql::variables::{self, GlobalVariables, Kind, Variable};

/// The groups of a file that was named.
const GROUPS: &[&str] = &["server", "mysqld", "glassine"];
/// The groups of a file that just lies there.
const OWN_GROUPS: &[&str] = &["glassine"];
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
];

/// What the options amount to.
#[derive(Debug)]
pub struct Loaded {
    /// The options of the command itself, by name, with the value if one was given.
    pub own: BTreeMap<&'static str, Option<String>>,
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
}

/// Reads option files and arguments into the variables.
pub fn load(arguments: &[String], own: &[Own], globals: &GlobalVariables) -> Result<Loaded, String> {
    let (raws, warnings) = gather(arguments, own)?;
    let mut loaded = Loaded { own: BTreeMap::new(), warnings, given: Vec::new() };
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
    } else if files {
        for path in default_files().into_iter().filter(|path| path.is_file()) {
            read_file(&path, OWN_GROUPS, 0, &mut raws, &mut warnings)?;
        }
    }
    if let Some(path) = &extra {
        read_file(Path::new(path), GROUPS, 0, &mut raws, &mut warnings)?;
    }
    raws.extend(read_arguments(&rest, own)?);
    Ok((raws, warnings))
}

fn default_files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/my.cnf"), PathBuf::from("/etc/mysql/my.cnf")];
    if let Some(home) = std::env::var_os("HOME") {
        files.push(Path::new(&home).join(".my.cnf"));
    }
    files
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
        raws.push(Raw { name, value, source: "command line".to_owned() });
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
        "?" => "help",
        _ => return Err(format!("unknown option '-{letter}'")),
    };
    Ok((name.to_owned(), (!value.is_empty()).then(|| value.to_owned())))
}

fn needs_value(name: &str, own: &[Own]) -> bool {
    match find(&normal(name), own) {
        Ok(Found::Own(option)) => option.takes_value,
        Ok(Found::Variable { variable, .. }) => variable.kind != Kind::Bool && !may_stand_alone(variable),
        _ => false,
    }
}

/// Options that say enough by their name: `--log-error`.
fn may_stand_alone(variable: &Variable) -> bool {
    matches!(variable.name, "log_error" | "general_log" | "slow_query_log" | "innodb_doublewrite")
}

// --- Option files ---------------------------------------------------------------------------------------------------

fn read_file(
    path: &Path,
    groups: &[&str],
    depth: usize,
    raws: &mut Vec<Raw>,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    if depth > INCLUDE_DEPTH_MAX {
        return Err(format!("{}: !include goes too deep", path.display()));
    }
    let text = fs::read_to_string(path).map_err(|cause| format!("cannot read {}: {cause}", path.display()))?;
    let mut in_group = false;
    let mut has_group = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let here = || format!("{}:{}", path.display(), index + 1);
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            include(directive, path, groups, depth, raws, warnings).map_err(|cause| format!("{}: {cause}", here()))?;
        } else if let Some(group) = line.strip_prefix('[') {
            let group = group.split_once(']').map(|(group, _)| group.trim());
            let group = group.ok_or_else(|| format!("{}: group without ]", here()))?;
            in_group = groups.contains(&group);
            has_group = true;
        } else if !has_group {
            return Err(format!("{}: option before any group", here()));
        } else if in_group {
            let (name, value) = split_line(line);
            raws.push(Raw { name: name.to_owned(), value, source: here() });
        }
    }
    Ok(())
}

fn include(
    directive: &str,
    from: &Path,
    groups: &[&str],
    depth: usize,
    raws: &mut Vec<Raw>,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    // Relative paths count from the file that names them.
    let resolve = |path: &str| from.parent().unwrap_or(Path::new(".")).join(path.trim());
    if let Some(directory) = directive.strip_prefix("includedir") {
        let directory = resolve(directory);
        let listing = match fs::read_dir(&directory) {
            Ok(listing) => listing,
            Err(cause) => {
                warnings.push(format!("cannot read directory {}: {cause}", directory.display()));
                return Ok(());
            }
        };
        let mut files: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "cnf" || extension == "ini"));
        files.sort();
        return files.iter().try_for_each(|file| read_file(file, groups, depth + 1, raws, warnings));
    }
    match directive.strip_prefix("include") {
        Some(file) => read_file(&resolve(file), groups, depth + 1, raws, warnings),
        None => Err(format!("unknown directive !{directive}")),
    }
}

/// `name`, `name=value`, `name = "value" # remark`.
fn split_line(line: &str) -> (&str, Option<String>) {
    match line.split_once('=') {
        None => (line.split(" #").next().unwrap_or(line).trim(), None),
        Some((name, value)) => (name.trim(), Some(unquote(value.trim()))),
    }
}

fn unquote(value: &str) -> String {
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let inner = match quote.and_then(|quote| value[1..].rfind(quote).map(|end| &value[1..1 + end])) {
        Some(inner) => inner,
        None => {
            // A remark begins at a # behind a space.
            let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
            value[..end].trim_end()
        }
    };
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some('\\') => text.push('\\'),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

// --- Names ----------------------------------------------------------------------------------------------------------

/// What a name stands for.
#[derive(Debug)]
enum Found {
    Own(Own),
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
            if option.name == "log_bin" && raw.value.as_deref() != Some("0") {
                loaded.warnings.push(fail("accepted, but there is no binary log yet: nothing is logged".to_owned()));
            }
            if option.takes_value && raw.value.is_none() {
                return Err(fail("it requires a value".to_owned()));
            }
            loaded.own.insert(option.name, raw.value.clone());
            return Ok(());
        }
        Found::Variable { variable, switch } => (variable, switch),
    };
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
    match globals.load_option(variable.name, text) {
        Ok(notices) => loaded.warnings.extend(notices.into_iter().map(|notice| fail(notice.message))),
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
mod tests {
    use super::*;

    const OWN: &[Own] = &[Own { name: "once", takes_value: false }, Own { name: "rows", takes_value: true }];

    fn load_text(arguments: &[&str]) -> (Result<Loaded, String>, GlobalVariables) {
        let globals = GlobalVariables::new();
        let mut all = vec!["--no-defaults".to_owned()];
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        (load(&all, OWN, &globals), globals)
    }

    fn loaded(arguments: &[&str]) -> (Loaded, GlobalVariables) {
        let (loaded, globals) = load_text(arguments);
        (loaded.unwrap(), globals)
    }

    #[test]
    fn names_are_written_in_many_ways() {
        for argument in [
            "--innodb-io-capacity=5K",
            "--innodb_io-capacity=5120",
            "--INNODB_IO_CAPACITY=5120",
            "--loose-innodb_io_capacity=5120",
        ] {
            let (loaded, globals) = loaded(&[argument]);
            assert_eq!(globals.number("innodb_io_capacity"), 5120, "{argument}");
            assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        }
        let (_, globals) = loaded(&["--innodb-flush-log-at-trx=2", "--port", "3311", "-S", "/tmp/x.sock"]);
        assert_eq!(globals.number("innodb_flush_log_at_trx_commit"), 2);
        assert_eq!(globals.number("port"), 3311);
        assert_eq!(globals.text("socket"), "/tmp/x.sock");
    }

    #[test]
    fn switches_are_turned_by_their_names() {
        let (_, globals) = loaded(&["--skip-networking", "--disable-autocommit", "--enable-read-only"]);
        assert!(globals.on("skip_networking"));
        assert!(!globals.on("autocommit"));
        assert!(globals.on("read_only"));
        let (_, globals) = loaded(&["--skip-innodb-doublewrite"]);
        assert_eq!(globals.text("innodb_doublewrite"), "OFF");
    }

    #[test]
    fn a_misspelt_name_is_an_error_that_knows_better() {
        let (result, _) = load_text(&["--innodb_thread_concurrencty=8"]);
        assert!(result.unwrap_err().contains("Did you mean --innodb-thread-concurrency?"));
        let (result, _) = load_text(&["--innodb-buffer-pool=8"]);
        assert!(result.unwrap_err().contains("ambiguous"));
        let (loaded, _) = loaded(&["--loose-innodb_thread_concurrencty=8"]);
        assert_eq!(loaded.warnings.len(), 1);
    }

    /// Configurations that others have published, as their requirements (VAR-02 to VAR-05, VAR-07) list them.
    const PUBLISHED: &[&str] = &[
        "innodb_buffer_pool_size=50G innodb_buffer_pool_instances=16 innodb_log_file_size=4G innodb_log_buffer_size=128M innodb_flush_log_at_trx_commit=2 innodb_max_dirty_pages_pct=50 innodb_lru_scan_depth=2500 innodb_page_cleaners=32 innodb_checksums=0 innodb_flush_neighbors=0 innodb_read_io_threads=8 innodb_write_io_threads=8 innodb_thread_concurrency=0 innodb_io_capacity=80000 innodb_io_capacity_max=100000",
        "innodb_buffer_pool_size=50G innodb_use_native_aio=1 innodb_use_mtflush=1 innodb_file_per_table=1 innodb_doublewrite=0 innodb_use_fallocate=1 innodb_use_atomic_writes=1 innodb_use_trim=1 innodb_buffer_pool_instances=16 innodb_mtflush_threads=16 innodb_use_lz4=1 innodb_flush_method=O_DIRECT innodb_thread_concurrency=32 innodb_write_io_threads=32 innodb_read_io_threads=32 innodb_file_format=barracuda innodb_lru_scan_depth=2000 innodb_io_capacity=30000 innodb_io_capacity_max=35000",
        "innodb_adaptive_flushing=1 innodb_log_buffer_size=16777216 innodb_log_file_size=1073741824 innodb_buffer_pool_size=10000000000 innodb_io_capacity=10000 innodb_flush_method=ALL_O_DIRECT innodb_autoextend_increment=1024 innodb_flush_log_at_trx_commit=0 innodb_read_io_threads=16 innodb_write_io_threads=16 innodb_checksum_algorithm=crc32 innodb_large_prefix=1 skip-name-resolve default-storage-engine=InnoDB log-output=FILE general-log=0 max_connections=200 log-bin=/tmp/log binlog-format=ROW server-id=1 tmpdir=/tmp/ innodb_adaptive_hash_index=0",
        "innodb_use_mtflush=0 innodb_doublewrite=1 innodb_use_atomic_writes=0 innodb_use_trim=0 innodb_mtflush_threads=0 innodb_use_lz4=0",
        "binlog_transaction_compression=OFF binlog_transaction_compression_level_zstd=3 binlog_expire_logs_seconds=2592000 binlog_row_event_max_size=8K binlog_row_image=FULL sync_binlog=1 max_allowed_packet=64M skip-log-bin",
    ];

    /// The options of all of them, each once with each value.
    fn published() -> Vec<(&'static str, Option<&'static str>)> {
        let mut all: Vec<_> = PUBLISHED
            .iter()
            .flat_map(|text| text.split(' '))
            .map(|option| option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value))))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn published_configurations_are_accepted_as_a_whole() {
        for text in PUBLISHED {
            let arguments: Vec<String> = text.split(' ').map(|option| format!("--{option}")).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let (result, _) = load_text(&arguments);
            result.unwrap();
        }
    }

    #[test]
    fn each_published_name_arrives_however_it_is_written() {
        let directory = std::env::temp_dir().join(format!("glassine-published-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let file = directory.join("my.cnf");
        for (name, value) in published() {
            let line = |name: &str| value.map_or(name.to_owned(), |value| format!("{name}={value}"));
            fs::write(&file, format!("[mysqld]\n{}\n", line(name))).unwrap();
            let from_file = format!("--defaults-file={}", file.display());
            let (dashes, underscores) = (line(&name.replace('_', "-")), line(&name.replace('-', "_")));
            for argument in [
                from_file,
                format!("--{dashes}"),
                format!("--{underscores}"),
                format!("--loose-{dashes}"),
                format!("--loose_{underscores}"),
            ] {
                let globals = GlobalVariables::new();
                let loaded =
                    load(std::slice::from_ref(&argument), OWN, &globals).unwrap_or_else(|cause| panic!("{cause}"));
                let plain = normal(name);
                if plain == "log_bin" || plain == "skip_log_bin" {
                    assert_eq!(
                        loaded.warnings.len(),
                        usize::from(value.is_some()),
                        "{argument}: {:?}",
                        loaded.warnings
                    );
                    continue;
                }
                let variable = variables::find(&plain).unwrap_or_else(|| panic!("there is no variable {plain}"));
                let (expected, notice) = variable.kind.parse(variable, value.unwrap_or("ON")).unwrap();
                assert_eq!(globals.select(&plain), Ok(expected), "{argument}");
                // What has no effect says so, and nothing else complains but a number out of range.
                let warnings = usize::from(variable.no_effect.is_some()) + usize::from(notice.is_some());
                assert_eq!(loaded.warnings.len(), warnings, "{argument}: {:?}", loaded.warnings);
                if let Some(reason) = variable.no_effect {
                    assert!(loaded.warnings.iter().any(|warning| warning.contains(reason)), "{:?}", loaded.warnings);
                }
            }
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn each_published_name_may_be_set_where_it_is_dynamic() {
        for (name, value) in published() {
            // As an option it is a path, as a variable it says whether there is a log.
            let Some(variable) = variables::find(&normal(name)).filter(|found| found.name != "log_bin") else {
                continue;
            };
            let (value, _) = variable.kind.parse(variable, value.unwrap_or("ON")).unwrap();
            let answer = GlobalVariables::new().set(variable.name, &value);
            match answer {
                Ok(notices) => {
                    assert!(variable.dynamic, "{name}");
                    assert_eq!(
                        notices.iter().any(|notice| notice.code == 1618),
                        variable.no_effect.is_some(),
                        "{name}"
                    );
                }
                Err(refusal) => {
                    assert_eq!((refusal.code, variable.dynamic), (1238, false), "{name}: {}", refusal.message)
                }
            }
        }
    }

    #[test]
    fn each_published_name_is_known_when_a_letter_is_wrong() {
        for (name, _) in published() {
            let plain = normal(name);
            let Some(variable) = variables::find(&plain) else { continue };
            // A letter doubled in the middle.
            let (head, tail) = plain.split_at(plain.len() / 2);
            let misspelt = format!("{head}{}{tail}", &tail[..1]);
            let (result, _) = load_text(&[&format!("--{misspelt}=1")]);
            let complaint = result.expect_err(&misspelt);
            let named =
                complaint.rsplit("--").next().map(|rest| normal(rest.trim_end_matches('?'))).unwrap_or_default();
            let meant = variables::find(&named).map(|found| found.name);
            assert_eq!(meant, Some(variable.name), "{complaint}");
        }
    }

    #[test]
    fn options_without_effect_are_named() {
        let (loaded, _) = loaded(&["--log-bin=binlog", "--innodb-thread-concurrency=8", "--sync-binlog=1"]);
        assert_eq!(loaded.warnings.len(), 3, "{:?}", loaded.warnings);
        assert!(loaded.warnings[0].contains("no binary log yet"));
    }

    #[test]
    fn own_options_stand_beside_variables() {
        let (loaded, _) = loaded(&["--once", "--rows=5"]);
        assert!(loaded.has("once"));
        assert_eq!(loaded.value("rows"), Some("5"));
        let (result, _) = load_text(&["--rows"]);
        assert!(result.is_err());
    }

    #[test]
    fn files_have_groups_and_include_others() {
        let directory = std::env::temp_dir().join(format!("glassine-options-{}", std::process::id()));
        fs::create_dir_all(directory.join("conf.d")).unwrap();
        let main = directory.join("my.cnf");
        fs::write(
            &main,
            "# remark\n[client]\nport=1\n[mysqld]\nport = 3310  # remark\nskip-networking\n\
             sql_mode = \"STRICT_TRANS_TABLES\"\n[glassine]\nloose_unheard_of=1\n!includedir conf.d\n",
        )
        .unwrap();
        fs::write(directory.join("conf.d/b.cnf"), "[mysqld]\nport=3312\n").unwrap();
        fs::write(directory.join("conf.d/a.cnf"), "[mysqld]\nport=3311\nmax_connections=7\n").unwrap();
        fs::write(directory.join("conf.d/c.txt"), "[mysqld]\nport=3313\n").unwrap();
        let globals = GlobalVariables::new();
        let arguments = [format!("--defaults-file={}", main.display()), "--max-connections=8".to_owned()];
        let loaded = load(&arguments, &[], &globals).unwrap();
        assert_eq!(globals.number("port"), 3312);
        assert_eq!(globals.number("max_connections"), 8);
        assert_eq!(globals.text("sql_mode"), "STRICT_TRANS_TABLES");
        assert!(globals.on("skip_networking"));
        assert_eq!(loaded.warnings.len(), 1);
        assert!(loaded.given.contains(&"--port=3311".to_owned()));
        fs::remove_dir_all(&directory).unwrap();
    }
}
