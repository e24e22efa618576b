//! `glassine serve`: runs a server on a data directory until it is told to stop.
//!
//! ```text
//! options -> engine (recovery) -> instance -> listeners -> ready
//!                                                            | SIGTERM, SIGINT, SHUTDOWN
//! engine closed <- connections ended <- listeners closed <---+
//! ```
//!
//! Exit codes: 0 after a clean shutdown, 1 if the server could not start or close,
//! 2 for wrong options.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use binlog::{BinaryLog, Databases};
use format::binlog::Checksum;
use format::value::{Value, Zone};
use replica::{Filters, Replica};
use server::metrics::Metrics;
use server::{Options, Server};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sql::Instance;
use sql::accounts::Accounts;
use sql::result::Unread;
use sql::scheduler::Scheduler;
use sql::variables::persisted::{self, Persisted};
use sql::variables::{self, GlobalVariables, engine_config, reconfigure};
use storage::Engine;
use storage::backup::POINT_FILE_NAME;
use storage::io::linux::LinuxDisk;
use storage::recovery::INCOMPLETE_FILE_NAME;
use tracing::{error, info, warn};

use crate::advise::{self, Severity};
use crate::init;
use crate::log;
use crate::notify;
use crate::options::{self, Loaded};

/// Serves a data directory
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// MySQL's options: --datadir, --port, --socket, --innodb-buffer-pool-size, --defaults-file, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

const HELP: &str = "\
Options have MySQL's names; those used most:
  --datadir=DIR                            data directory, made by `glassine init` [./data]
  --port=N  --bind-address=ADDRESS         where to listen [3306 on 127.0.0.1]
  --socket=FILE                            Unix socket [glassine.sock in the data directory]
  --skip-networking                        the socket only
  --max-connections=N                      [151]
  --innodb-buffer-pool-size=BYTES          memory for pages [128M]
  --innodb-log-file-size=BYTES             redo log [256M]
  --innodb-flush-log-at-trx-commit=0|1|2   [1: a commit is durable]
  --innodb-flush-method=METHOD             [O_DIRECT]
  --innodb-io-capacity[-max]=PAGES         pages flushed per second [2000, 20000]
  --log-bin[=NAME]                         write a binary log [off; binlog.000001 ...]
  --defaults-file=FILE                     take options from [mysqld] and [glassine] of this file (must come first)
  --verbose --help                         all options with their values";

/// A server that runs in this process.
pub struct Running {
    pub instance: Arc<Instance>,
    pub server: Server,
    metrics: Option<Metrics>,
    replica: Arc<Replica>,
    /// None: `event_scheduler` is DISABLED.
    events: Option<Scheduler>,
    pid_file: Option<PathBuf>,
}

pub fn run(arguments: &Args) -> ExitCode {
    log::start();
    let globals = GlobalVariables::new();
    globals.set_system_zone(system_zone());
    let loaded = match options::load(&arguments.options, &[], &globals) {
        Ok(loaded) => loaded,
        Err(cause) => {
            error!("{cause}");
            return ExitCode::from(2);
        }
    };
    log::set_verbosity(globals.number("log_error_verbosity"));
    log::set_zone(log_zone(&globals));
    let filters = match replica_filters(&loaded) {
        Ok(filters) => filters,
        Err(cause) => {
            error!("{cause}");
            return ExitCode::from(2);
        }
    };
    if let Some(answer) = answer_without_server(&loaded, &globals) {
        print!("{answer}");
        return ExitCode::SUCCESS;
    }
    for warning in &loaded.warnings {
        warn!("{warning}");
    }
    if let Err(cause) = name_log(&loaded, &globals) {
        error!("{cause}");
        return ExitCode::from(2);
    }
    if let Err(cause) = load_persisted(&globals) {
        error!("{cause}");
        return ExitCode::FAILURE;
    }
    let version = globals.text("version");
    log::system(format_args!("glassine {version} starting as process {}", std::process::id()));
    let options = match listening(&globals) {
        Ok(options) => options,
        Err(cause) => {
            error!("{cause}");
            return ExitCode::from(2);
        }
    };
    // From here on, because a client that can connect may also ask for a stop.
    let signals = signals();
    notify::status("Opening the data files");
    let running = match start(globals, &options, filters) {
        Ok(running) => running,
        Err(cause) => {
            error!("{cause}");
            error!("Aborting");
            return ExitCode::FAILURE;
        }
    };
    log::system(format_args!("glassine: ready for connections. Version: '{version}'  {}", running.server));
    notify::ready(&format!("Ready for connections, {}", running.server));
    running.stop_on(signals);
    running.server.wait_for_shutdown_request();
    notify::stopping();
    log::system("glassine: shutting down");
    match running.stop() {
        Ok(()) => {
            log::system("glassine: shutdown complete");
            ExitCode::SUCCESS
        }
        Err(cause) => {
            error!("{cause}");
            ExitCode::FAILURE
        }
    }
}

/// --log-bin[=name]: whether there is a binary log, and how its files are called.
fn name_log(loaded: &Loaded, globals: &GlobalVariables) -> Result<(), String> {
    if !loaded.has("log_bin") {
        return Ok(());
    }
    let given = loaded.value("log_bin").unwrap_or(LOG_NAME);
    if matches!(given, "0" | "OFF" | "off") {
        return Ok(());
    }
    let given = if matches!(given, "" | "1" | "ON" | "on") { LOG_NAME } else { given };
    let path = Path::new(given);
    // As in MySQL, what looks like an ending is not part of the name: the number comes there.
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if path.parent().is_some_and(|parent| parent != Path::new("")) {
        warn!("--log-bin={given}: the files of the binary log are in the data directory, as {name}.000001");
    }
    if !binlog::files::is_base_name(&name) {
        return Err(format!("--log-bin={given}: no name for files"));
    }
    globals.fill_in("log_bin", Value::Int(1));
    globals.fill_in("log_bin_basename", Value::Bytes(name.into_bytes()));
    Ok(())
}

/// Opens the binary log, if there is to be one.
fn open_log(globals: &GlobalVariables, datadir: &Path, engine: &Arc<Engine>) -> Result<Option<Arc<BinaryLog>>, String> {
    let cannot = |cause: storage::Error| format!("cannot open the binary log: {cause}");
    if !globals.on("log_bin") {
        return Ok(None);
    }
    if globals.text("gtid_mode") == "ON" {
        // Nothing here violates it.
        globals.fill_in("enforce_gtid_consistency", Value::Bytes(b"ON".to_vec()));
    }
    let version = globals.text("version");
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    let options = binlog::Options {
        base: globals.text("log_bin_basename"),
        server: version.clone(),
        version: part() * 10_000 + part() * 100 + part(),
        server_id: globals.number("server_id") as u32,
        uuid: globals.text("server_uuid").parse().map_err(|_| "server-uuid in auto.cnf is no UUID".to_owned())?,
        gtids: gives_names(globals),
        checksum: checksum(globals),
        file_bytes_max: globals.number("max_binlog_size"),
        expire_seconds: expire_seconds(globals),
    };
    let absolute = fs::canonicalize(datadir).unwrap_or_else(|_| datadir.to_owned());
    let path = absolute.join(&options.base).display().to_string();
    globals.fill_in("log_bin_index", Value::Bytes(format!("{path}.index").into_bytes()));
    globals.fill_in("log_bin_basename", Value::Bytes(path.into_bytes()));
    continue_backup(datadir, engine, &options.base)?;
    let log = BinaryLog::open(engine.clone(), options).map_err(cannot)?;
    configure_semi_sync(globals, &log);
    track_dependencies(&log, globals);
    configure_gathering(globals, engine);
    let names = |name: &str| {
        let text = globals.text(name);
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    if let Some(databases) = Databases::new(names("binlog_do_db"), names("binlog_ignore_db")) {
        log.set_databases(databases);
    }
    log.start_threads();
    Ok(Some(log))
}

/// The first log of a server that was restored from a backup: the transactions of the backup count as executed, as if
/// gtid_purged had been set. So a source need not send them again (SOURCE_AUTO_POSITION).
fn continue_backup(datadir: &Path, engine: &Engine, base: &str) -> Result<(), String> {
    let path = datadir.join(POINT_FILE_NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(format!("cannot read {}: {cause}", path.display())),
    };
    let disk = engine.store().disk();
    let cannot = |cause: storage::Error| format!("cannot begin the binary log of a restored server: {cause}");
    if binlog::files::read_index(&**disk, base).map_err(cannot)?.is_some() {
        return Ok(());
    }
    let point = binlog::BackupPoint::parse(&text).ok_or_else(|| format!("{} is damaged", path.display()))?;
    binlog::files::write_purged(&**disk, base, &point.executed).map_err(cannot)
}

/// How long commits wait for each other before they are made durable together.
fn configure_gathering(globals: &GlobalVariables, engine: &Engine) {
    let delay = Duration::from_micros(globals.number("binlog_group_commit_sync_delay"));
    let enough = globals.number("binlog_group_commit_sync_no_delay_count") as usize;
    engine.store().redo().gathering.configure(delay, enough);
}

/// How the binary log tells which transactions may run in parallel.
fn track_dependencies(log: &BinaryLog, globals: &GlobalVariables) {
    let tracking = globals.text("binlog_transaction_dependency_tracking");
    log.set_keys_max(match tracking.as_str() {
        "COMMIT_ORDER" => 0,
        _ => globals.number("binlog_transaction_dependency_history_size") as usize,
    });
    log.set_keeps_sessions(tracking == "WRITESET_SESSION");
}

/// Whether gtid_mode gives new transactions names.
fn gives_names(globals: &GlobalVariables) -> bool {
    matches!(globals.text("gtid_mode").as_str(), "ON" | "ON_PERMISSIVE")
}

fn configure_semi_sync(globals: &GlobalVariables, log: &BinaryLog) {
    log.semi_sync().configure(
        globals.on("rpl_semi_sync_source_enabled"),
        Duration::from_millis(globals.number("rpl_semi_sync_source_timeout")),
        globals.number("rpl_semi_sync_source_wait_for_replica_count") as u32,
        globals.on("rpl_semi_sync_source_wait_no_replica"),
    );
}

/// Marks a directory into which a log is being replayed.
pub const REPLAY_FILE_NAME: &str = "#restore.point";

/// The name of the binary log's files, as in MySQL.
const LOG_NAME: &str = "binlog";

/// The values of SET PERSIST override option files and the command line: a client gave them to the server itself.
fn load_persisted(globals: &GlobalVariables) -> Result<(), String> {
    if !globals.on("persisted_globals_load") {
        return Ok(());
    }
    let persisted = Persisted::new(Path::new(&globals.text("datadir")));
    let shown = persisted::FILE;
    let origins = persisted.origins().unwrap_or_default();
    let values = persisted.list().map_err(|cause| {
        format!("cannot read {shown}: {cause}. Repair it, or start with --skip-persisted-globals-load")
    })?;
    for (name, value) in values {
        match globals.load_persisted(&name, &value) {
            Ok(notices) => notices.iter().for_each(|notice| warn!("{shown}: {name}: {}", notice.message)),
            Err(refusal) => warn!("{shown}: {name} is left out: {}", refusal.message),
        }
    }
    for (name, origin) in origins {
        if let Some(variable) = variables::find(&name) {
            globals.origins.note(variable.name, origin);
        }
    }
    Ok(())
}

/// Options that only ask.
fn answer_without_server(loaded: &Loaded, globals: &GlobalVariables) -> Option<String> {
    if loaded.has("help") {
        return Some(options::describe(globals));
    }
    if loaded.has("version") {
        // In the form that programs look for which read a server's version.
        let (version, system, machine) = (globals.text("version"), std::env::consts::OS, std::env::consts::ARCH);
        return Some(format!(
            "glassine  Ver {version} for {system} on {machine} ({})\n",
            globals.text("version_comment")
        ));
    }
    if loaded.has("print_defaults") {
        return Some(format!("glassine would have been started with:\n{}\n", loaded.given.join(" ")));
    }
    loaded.has("validate_config").then(String::new)
}

/// Where the variables say to listen.
pub fn listening(globals: &GlobalVariables) -> Result<Options, String> {
    let addresses = match globals.on("skip_networking") {
        true => Vec::new(),
        false => Options::parse_addresses(&globals.text("bind_address"))?,
    };
    let socket = globals.text("socket");
    Ok(Options {
        addresses,
        port: globals.number("port") as u16,
        port_tries: 1,
        // A relative path counts from the data directory.
        socket: (!socket.is_empty()).then(|| Path::new(&globals.text("datadir")).join(socket)),
    })
}

/// Opens the data directory and listens.
pub fn start(globals: GlobalVariables, options: &Options, filters: Filters) -> Result<Running, String> {
    let datadir = PathBuf::from(globals.text("datadir"));
    if datadir.join(INCOMPLETE_FILE_NAME).exists() {
        let shown = datadir.display();
        return Err(format!("a restore into {shown} did not end: empty the directory, and restore again"));
    }
    if datadir.join(REPLAY_FILE_NAME).exists() {
        let shown = datadir.display();
        return Err(format!(
            "a restore to a point in time into {shown} did not end: run the same `glassine restore` again, and it goes on"
        ));
    }
    if !init::is_initialised(&datadir) {
        let state = if datadir.is_dir() { "is not a data directory" } else { "does not exist" };
        let shown = datadir.display();
        return Err(format!("{shown} {state}. Make one with: glassine init --datadir={shown}"));
    }
    let accounts = Accounts::open(&datadir).map_err(|cause| format!("cannot read the accounts: {cause}"))?;
    fill_in_facts(&globals, &datadir)?;
    let engine = open_engine(&globals, &datadir)?;
    // What recovery did is part of a server's life: it is always said. A clean start has nothing to tell.
    for line in engine.recovery_report().to_string().lines() {
        if engine.recovery_report().was_clean() { info!("{line}") } else { log::system(line) }
    }
    let log = open_log(&globals, &datadir, &engine)?;
    make_changes_effective(&globals, &engine, log.clone());
    for (severity, line) in advise::warnings(&datadir, &globals) {
        if severity == Severity::Critical { error!("{line}") } else { warn!("{line}") }
    }
    let instance = Instance::with_log(engine, log, globals, accounts, datadir);
    let opened = log_unlogged_accounts(&instance).and_then(|()| open_replica(&instance, filters)).and_then(|replica| {
        run_init_file(&instance)?;
        let metrics = start_metrics(&instance)?;
        let server = Server::start(instance.clone(), options).map_err(|cause| cause.to_string())?;
        Ok((replica, metrics, server))
    });
    let (replica, metrics, server) = match opened {
        Ok(opened) => opened,
        Err(cause) => {
            // What was opened is closed again, so that the next start has nothing to recover.
            if let Err(failed) = close(&instance) {
                error!("cannot close the data files: {failed}");
            }
            return Err(cause);
        }
    };
    if !instance.variables.on("skip_replica_start")
        && let Err(refusal) = replica.start_with_server()
    {
        error!("the replica does not start: {}", refusal.message);
    }
    if let Some(port) = server.port() {
        instance.variables.fill_in("port", Value::UInt(port as u64));
    }
    let events = match instance.variables.text("event_scheduler") == "DISABLED" {
        true => None,
        false => {
            Some(Scheduler::start(&instance).map_err(|cause| format!("cannot start the event scheduler: {cause}"))?)
        }
    };
    let pid_file = write_pid_file(&instance)?;
    Ok(Running { instance, server, metrics, replica, events, pid_file })
}

/// Listens where `metrics_address` says.
fn start_metrics(instance: &Arc<Instance>) -> Result<Option<Metrics>, String> {
    let text = instance.variables.text("metrics_address");
    if text.is_empty() {
        return Ok(None);
    }
    let address = text.replace("localhost:", "127.0.0.1:");
    let address = address.parse().map_err(|_| format!("metrics_address: '{text}' is not like 127.0.0.1:9104"))?;
    Metrics::start(instance.clone(), address).map(Some).map_err(|cause| format!("metrics_address {text}: {cause}"))
}

/// The options `replicate_*`.
fn replica_filters(loaded: &Loaded) -> Result<Filters, String> {
    let options = loaded.repeated.iter().map(|(name, value)| (*name, value.as_str()));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Filters::of_options(options, now.as_micros() as u64).map_err(|refusal| refusal.message)
}

/// Reads what is known of a source, and makes it known to statements.
fn open_replica(instance: &Arc<Instance>, filters: Filters) -> Result<Arc<Replica>, String> {
    let cannot =
        |refusal: sql::Error| format!("cannot read what is known of the replication source: {}", refusal.message);
    let replica = Replica::open(instance, filters).map_err(cannot)?;
    instance.set_replication(&(replica.clone() as Arc<dyn sql::replication::Replication>));
    Ok(replica)
}

pub fn open_engine(globals: &GlobalVariables, datadir: &Path) -> Result<Arc<Engine>, String> {
    init::check_page_size(globals)?;
    let disk = Arc::new(LinuxDisk::new(datadir));
    let mut config = engine_config(globals);
    // Connections need descriptors, too.
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        config.open_files = config.open_files.min(limit as usize * 3 / 4);
    }
    // The last run may have had a log: what is missing in its files is only in the redo log.
    binlog::open_engine(disk, config).map_err(|cause| {
        let shown = datadir.display();
        if is_locked(&cause) {
            return format!("another server is using {shown}: stop it first, or give this one its own --datadir");
        }
        format!("cannot open the data files in {shown}: {cause}")
    })
}

/// `init_file`: statements that are run before clients come, with all privileges. The way in for who has lost root's
/// password.
fn run_init_file(instance: &Arc<Instance>) -> Result<(), String> {
    let path = instance.variables.text("init_file");
    if path.is_empty() {
        return Ok(());
    }
    let statements = fs::read(&path).map_err(|cause| format!("cannot read --init-file={path}: {cause}"))?;
    let (process, status) = (instance.processes.register(""), instance.status.register());
    let mut session = sql::Session::new(instance.clone(), process.clone(), status.clone());
    session.work_internally_as("root");
    session.multi_statements = true;
    let mut answer = Unread::default();
    info!("running the statements of {path}");
    session.query(&statements, &mut answer);
    session.reset();
    instance.processes.remove(&process);
    instance.status.retire(&status);
    match answer.error {
        // A file of comments.
        Some(error) if error.code != 1065 => Err(format!("--init-file={path}: {} ({})", error.message, error.code)),
        _ => Ok(()),
    }
}

/// Logs the change of an account that a crash may have kept out of the binary log.
fn log_unlogged_accounts(instance: &Arc<Instance>) -> Result<(), String> {
    if instance.log.is_none() || instance.accounts.unlogged().is_none() {
        return Ok(());
    }
    let (process, status) = (instance.processes.register(""), instance.status.register());
    let logged = sql::Session::new(instance.clone(), process.clone(), status.clone()).log_unlogged_accounts();
    instance.processes.remove(&process);
    instance.status.retire(&status);
    logged.map_err(|error| format!("cannot log the change of an account: {}", error.message))
}

/// Closes the log, which needs the engine, and then the engine.
fn close(instance: &Instance) -> storage::Result<()> {
    let logged = instance.log.as_ref().map_or(Ok(()), |log| log.close());
    instance.engine.close().and(logged)
}

/// Whether the directory's lock is what stood in the way: nothing else in it can be there too early.
fn is_locked(error: &storage::Error) -> bool {
    matches!(error, storage::Error::Exists(_))
}

/// For how long logs are kept; 0 = for ever.
fn expire_seconds(globals: &GlobalVariables) -> u64 {
    if globals.on("binlog_expire_logs_auto_purge") { globals.number("binlog_expire_logs_seconds") } else { 0 }
}

/// The zone of moments in logs.
fn log_zone(globals: &GlobalVariables) -> Zone {
    if globals.text("log_timestamps") == "SYSTEM" { globals.system_zone() } else { Zone::UTC }
}

/// SET GLOBAL changes the engine's options, and how much is logged.
fn make_changes_effective(globals: &GlobalVariables, engine: &Arc<Engine>, log: Option<Arc<BinaryLog>>) {
    let engine = engine.clone();
    globals.on_change(Box::new(move |variable, globals| {
        match variable.name {
            "log_error_verbosity" => log::set_verbosity(globals.number("log_error_verbosity")),
            "log_timestamps" => log::set_zone(log_zone(globals)),
            name @ ("server_id" | "max_binlog_size") => {
                let Some(log) = &log else { return Ok(()) };
                let value = globals.number(name);
                match name {
                    "server_id" => log.set_server_id(value as u32),
                    _ => log.set_file_bytes_max(value),
                }
            }
            "binlog_expire_logs_seconds" | "binlog_expire_logs_auto_purge" | "expire_logs_days" => {
                if let Some(log) = &log {
                    log.set_expire_seconds(expire_seconds(globals));
                }
            }
            "binlog_checksum" => {
                if let Some(log) = &log {
                    log.set_checksum(checksum(globals)).map_err(sql::catalog::storage_error)?;
                }
            }
            "gtid_mode" => {
                if let Some(log) = &log {
                    log.set_gtids(gives_names(globals));
                }
            }
            name if name.starts_with("binlog_group_commit_sync_") && log.is_some() => {
                configure_gathering(globals, &engine);
            }
            name if name.starts_with("binlog_transaction_dependency_") => {
                if let Some(log) = &log {
                    track_dependencies(log, globals);
                }
            }
            name if name.starts_with("rpl_semi_sync_source_") => {
                if let Some(log) = &log {
                    configure_semi_sync(globals, log);
                }
            }
            "innodb_undo_log_encrypt" => {
                engine
                    .set_undo_encrypted(globals.on("innodb_undo_log_encrypt"))
                    .map_err(sql::catalog::storage_error)?;
            }
            name if name.starts_with("innodb_") => engine.set_config(|config| reconfigure(globals, config)),
            _ => {}
        }
        Ok(())
    }));
}

/// binlog_checksum.
fn checksum(globals: &GlobalVariables) -> Checksum {
    match globals.text("binlog_checksum").as_str() {
        "NONE" => Checksum::None,
        _ => Checksum::Crc32,
    }
}

/// Facts about this machine and this directory that have the form of variables.
fn fill_in_facts(globals: &GlobalVariables, datadir: &Path) -> Result<(), String> {
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    if let Ok(hostname) = fs::read_to_string("/proc/sys/kernel/hostname") {
        globals.fill_in("hostname", text(hostname.trim()));
    }
    let absolute = fs::canonicalize(datadir).unwrap_or_else(|_| datadir.to_owned());
    globals.fill_in("datadir", text(&format!("{}/", absolute.display())));
    let socket = globals.text("socket");
    if !socket.is_empty() {
        globals.fill_in("socket", text(&absolute.join(socket).display().to_string()));
    }
    let identity = server_uuid(datadir).map_err(|cause| format!("cannot read or write auto.cnf: {cause}"))?;
    globals.fill_in("server_uuid", text(&identity));
    globals.fill_in("server_uid", text(&identity));
    Ok(())
}

/// The server's identity, which is made up once and kept in `auto.cnf`, as in MySQL.
fn server_uuid(datadir: &Path) -> io::Result<String> {
    let path = datadir.join("auto.cnf");
    if let Ok(text) = fs::read_to_string(&path)
        && let Some(identity) = text.lines().find_map(|line| line.trim().strip_prefix("server-uuid="))
    {
        return Ok(identity.trim().to_owned());
    }
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0F | 0x40; // Version 4: random.
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let identity = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    fs::write(path, format!("[auto]\nserver-uuid={identity}\n"))?;
    Ok(identity)
}

fn write_pid_file(instance: &Instance) -> Result<Option<PathBuf>, String> {
    let path = instance.variables.text("pid_file");
    if path.is_empty() {
        return Ok(None);
    }
    let path = instance.datadir.join(path);
    fs::write(&path, format!("{}\n", std::process::id()))
        .map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
    Ok(Some(path))
}

/// SIGTERM and SIGINT from now on, instead of a sudden end.
fn signals() -> io::Result<Signals> {
    Signals::new([SIGTERM, SIGINT])
}

impl Running {
    /// From now on SIGTERM and SIGINT ask the server to stop.
    pub fn stop_on_signals(&self) {
        self.stop_on(signals());
    }

    /// Signals that have come, and those that will, ask the server to stop.
    fn stop_on(&self, signals: io::Result<Signals>) {
        let shared = self.server.shared().clone();
        match signals {
            Ok(mut signals) => {
                thread::spawn(move || {
                    for _ in signals.forever() {
                        shared.request_shutdown();
                    }
                });
            }
            Err(cause) => warn!("cannot watch for signals: {cause}"),
        }
    }

    /// Ends all connections and closes the data files.
    pub fn stop(self) -> Result<(), String> {
        if let Some(events) = self.events {
            events.stop();
        }
        self.replica.close();
        drop(self.metrics);
        // Commits that wait for others would keep their connections.
        self.instance.engine.store().redo().gathering.configure(Duration::ZERO, 0);
        self.server.stop();
        let closed = close(&self.instance).map_err(|cause| format!("cannot close the data files: {cause}"));
        if let Some(path) = &self.pid_file {
            let _ = fs::remove_file(path);
        }
        closed
    }
}

/// The machine's time zone: TZ says it, or `/etc/localtime` is a link to its file. UTC if neither names a zone.
fn system_zone() -> Zone {
    let told = std::env::var("TZ").ok().filter(|name| !name.is_empty());
    let linked = || fs::read_link("/etc/localtime").ok().map(|path| path.to_string_lossy().into_owned());
    let Some(text) = told.or_else(linked) else { return Zone::UTC };
    let text = text.trim_start_matches(':');
    let name = text.split_once("zoneinfo/").map_or(text, |(_, name)| name);
    Zone::parse(name).unwrap_or_else(|| {
        warn!("the machine's time zone {text} is not known; SYSTEM is UTC");
        Zone::UTC
    })
}
