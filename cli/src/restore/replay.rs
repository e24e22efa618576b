//! Replays logs into a restored directory, and goes on after it was interrupted.
//!
//! ```text
//!   #restore.point: "replaying"      no server opens the directory
//!   apply                            how far it is commits with each transaction
//!   #restore.point: "replayed"       nothing is applied any more; it says where the tables stand now
//!   what the applier kept is removed; glassine.point says where the tables stand; the mark is removed
//! ```

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ::binlog::BackupPoint;
use ::binlog::log::Position;
use format::binlog::{EventKind, GtidSet};
use format::value::Value;
use replica::Playback;
use sql::Instance;
use sql::accounts::Accounts;
use sql::variables::GlobalVariables;
use storage::backup::POINT_FILE_NAME;
use storage::io::linux::LinuxDisk;
use storage::io::{Caching, Disk, OpenMode};

use super::plan::{Log, Plan};
use crate::options;
use crate::serve::{self, REPLAY_FILE_NAME};
use crate::transfer::Progress;

const REPLAYING: &str = "replaying";
const REPLAYED: &str = "replayed";

/// The number of this server while it replays: events of a server's own number would be passed over.
const SERVER_ID: u64 = u32::MAX as u64;

/// A directory whose tables can be changed.
pub struct Opened {
    instance: Arc<Instance>,
    playback: Option<Playback>,
}

fn refused(error: sql::Error) -> String {
    format!("error {}: {}", error.code, error.message)
}

/// Whether all has been applied, and only the last steps are missing; `None` = no replay was begun.
pub fn is_replayed(directory: &Path) -> Result<Option<bool>, String> {
    let path = directory.join(REPLAY_FILE_NAME);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.lines().next() == Some(REPLAYED))),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(format!("{}: {cause}", path.display())),
    }
}

/// Notes how far the directory is, durably.
fn note(directory: &Path, state: &str) -> Result<(), String> {
    let text = format!("{state}\nA restore to a point in time did not end here: run the same command again.\n");
    replace(directory, REPLAY_FILE_NAME, &text)
}

/// Replaces a small file, durably.
fn replace(directory: &Path, name: &str, text: &str) -> Result<(), String> {
    let disk = LinuxDisk::new(directory);
    let beside = format!("{name}.new");
    let written = (|| {
        if disk.exists(&beside)? {
            disk.remove(&beside)?;
        }
        disk.open(&beside, OpenMode::Create, Caching::Cached)?.write_durably(0, text.as_bytes())?;
        disk.rename(&beside, name)?;
        disk.sync_directory("")
    })();
    written.map_err(|cause: std::io::Error| format!("{}: cannot write {name}: {cause}", directory.display()))
}

impl Opened {
    /// Opens the tables. Options are those of a server.
    pub fn open(directory: &Path, arguments: &[String]) -> Result<Opened, String> {
        let globals = GlobalVariables::new();
        // Each transaction is applied again after a crash, so none needs to be durable at once.
        let fixed = ["--innodb-flush-log-at-trx-commit=2".to_owned()];
        let arguments = [&fixed[..], arguments, &[format!("--datadir={}", directory.display())]].concat();
        options::load(&arguments, &[], &globals)?;
        globals.fill_in("server_id", Value::UInt(SERVER_ID));
        let accounts = Accounts::open(directory).map_err(|cause| format!("cannot read the accounts: {cause}"))?;
        let engine = serve::open_engine(&globals, directory)?;
        let instance = Instance::new(engine, globals, accounts, directory.to_owned());
        Ok(Opened { instance, playback: None })
    }

    /// Where the replay goes on. It begins where the backup ended.
    pub fn begin(&mut self, directory: &Path, point: &BackupPoint) -> Result<Position, String> {
        note(directory, REPLAYING)?;
        let Position { file, position } = &point.place;
        let playback =
            Playback::open(&self.instance, &file.to_string(), *position, &point.executed).map_err(refused)?;
        let (name, position, _) = playback.progress();
        self.playback = Some(playback);
        let file = ::binlog::FileName::parse(&name).ok_or_else(|| format!("{name} is no name of a log"))?;
        Ok(Position { file, position })
    }

    /// Applies what is planned. Returns the names of all transactions that the tables have then.
    pub fn replay(&mut self, logs: &[Log], from: &Position, plan: &Plan, quiet: bool) -> Result<GtidSet, String> {
        let mut playback = self.playback.take().ok_or("the replay was not begun")?;
        let Some((last, end)) = plan.end else { return Ok(playback.progress().2) };
        playback.start().map_err(refused)?;
        let mut progress = Progress::begin("replay", Some(plan.bytes), quiet);
        let mut done = 0;
        for (number, log) in logs.iter().enumerate().take(last + 1) {
            if log.name < from.file {
                continue;
            }
            let name = log.name.to_string();
            let begin = if log.name == from.file { from.position } else { 4 };
            let end = if number == last { end } else { u64::MAX };
            let mut reader = log.open()?;
            reader.seek(4);
            let description = reader.next_event().map_err(|error| log.damaged(&error))?;
            let (_, description) = description.ok_or_else(|| log.damaged(&"it has no beginning"))?;
            playback.begin_file(description.bytes, &name, begin).map_err(refused)?;
            if begin > 4 {
                reader.seek(begin);
            }
            while reader.position() < end {
                let next = reader.next_event().map_err(|error| log.damaged(&error))?;
                let Some((at, event)) = next else { break };
                let bytes = event.bytes.len() as u64;
                if matches!(
                    event.header.kind,
                    EventKind::FORMAT_DESCRIPTION
                        | EventKind::PREVIOUS_GTIDS
                        | EventKind::IGNORABLE
                        | EventKind::ROTATE
                        | EventKind::STOP
                ) {
                    continue;
                }
                playback.feed(event.bytes, &name, at + bytes).map_err(refused)?;
                done += bytes;
                progress.set(done, Some(plan.bytes));
            }
        }
        let executed = playback.finish(&mut || progress.set(done, Some(plan.bytes))).map_err(refused)?;
        progress.end();
        Ok(executed)
    }

    /// All has been applied, and the tables stand at `point`.
    pub fn end(self, directory: &Path, point: &BackupPoint) -> Result<(), String> {
        note(directory, &format!("{REPLAYED}\n{point}"))?;
        self.clean_up(directory)
    }

    /// The last steps, which may be repeated.
    pub fn clean_up(mut self, directory: &Path) -> Result<(), String> {
        self.playback = None;
        Playback::forget(&self.instance).map_err(refused)?;
        self.close()?;
        let mark = directory.join(REPLAY_FILE_NAME);
        let text = fs::read_to_string(&mark).map_err(|cause| format!("{}: {cause}", mark.display()))?;
        let point = BackupPoint::parse(&text).ok_or_else(|| format!("{} is damaged", mark.display()))?;
        replace(directory, POINT_FILE_NAME, &point.to_string())?;
        let disk = LinuxDisk::new(directory);
        let removed = disk.remove(REPLAY_FILE_NAME).and_then(|()| disk.sync_directory(""));
        removed.map_err(|cause| format!("{}: cannot remove the mark: {cause}", directory.display()))
    }

    /// Closes the tables.
    pub fn close(mut self) -> Result<(), String> {
        self.playback = None;
        self.instance.engine.close().map_err(|error| error.to_string())
    }
}
