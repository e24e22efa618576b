//! Backups by statement: CLONE LOCAL, BACKUP SERVER, and the locks that tools take around a copy of their own.
//!
//! ```text
//! CLONE LOCAL DATA DIRECTORY = '/dir'    MySQL's: a data directory on the server's machine, ready to be served
//! BACKUP SERVER TO '/file'               an archive on the server's machine
//! BACKUP SERVER                          the same archive as rows of one column, to the client: `glassine backup`
//! LOCK INSTANCE FOR BACKUP               no DDL until UNLOCK INSTANCE or the end of the connection
//! BACKUP STAGE START ... END             MariaDB's: as LOCK INSTANCE
//! ```
//!
//! They write the state at their end, whatever is committed meanwhile. Files are written on the server's machine,
//! and only below `secure_file_priv` if that is set; never into the data directory, and never over existing files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use format::value::{ColumnType, LobSize, Value};
use storage::backup::{ArchiveWriter, Backup, Restore, Sink, Totals};
use storage::io::linux::LinuxDisk;

use super::{Done, Session};
use crate::accounts;
use crate::catalog::{OrSqlError, storage_error};
use crate::error::{Error, Result};
use crate::parser::ast::BackupStage;
use crate::planner::definition;
use crate::result::ResultSink;
use crate::status::Counter;
use crate::types::TypeInfo;

/// Bytes of an archive per row.
const ROW_BYTES: usize = 256 << 10;

/// What belongs to a server beside the engine's files. Not `auto.cnf`: a copy is a server of its own.
pub const NAMED_FILES: &[&str] = &[accounts::FILE_NAME];

impl Session {
    pub(super) fn lock_instance(&mut self) -> Result<()> {
        self.status.add(Counter::ComLockInstance, 1);
        if self.backup_hold.is_none() {
            self.process.set_state("Waiting for backup lock");
            self.backup_hold = Some(self.instance.engine.hold_ddl(&self.trx_options()).or_sql()?);
        }
        Ok(())
    }

    pub(super) fn unlock_instance(&mut self) {
        self.status.add(Counter::ComUnlockInstance, 1);
        self.backup_hold = None;
        self.backup_stage = None;
    }

    /// Stages come in order, each at most once; some may be left out.
    pub(super) fn set_backup_stage(&mut self, stage: BackupStage) -> Result<()> {
        match (self.backup_stage, stage) {
            (None, BackupStage::Start) => {
                self.lock_instance()?;
                self.backup_stage = Some(stage);
            }
            (None, _) => return Err(Error::backup_not_running()),
            (Some(_), BackupStage::End) => self.unlock_instance(),
            (Some(now), next) if next <= now => return Err(Error::backup_wrong_stage(next.name(), now.name())),
            (Some(_), next) => {
                if next == BackupStage::BlockCommit {
                    let text = "BLOCK_COMMIT: commits go on; a snapshot of the files is consistent all the same, recovery sees to it";
                    self.warnings.note(1105, text);
                }
                self.backup_stage = Some(next);
            }
        }
        Ok(())
    }

    /// CLONE LOCAL DATA DIRECTORY.
    pub(super) fn clone_local(&mut self, directory: &str) -> Result<Done> {
        self.status.add(Counter::ComClone, 1);
        let path = self.backup_target(directory, "DATA DIRECTORY")?;
        if path.exists() {
            return Err(Error::database_exists(directory));
        }
        fs::DirBuilder::new().mode(0o750).create(&path).map_err(|cause| cannot("create", &path, &cause))?;
        let disk = Arc::new(LinuxDisk::new(&path));
        let cloned = self.begin_backup().and_then(|mut backup| {
            let mut restore = Restore::begin(disk).or_sql()?;
            self.run_backup(&mut backup, &mut restore)?;
            restore.finish().or_sql()
        });
        self.process.set_state("");
        match cloned {
            Ok(restored) => Ok(Done { info: summary(&restored.totals), ..Done::default() }),
            Err(error) => {
                // The statement created it, empty, so nothing else is lost.
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// BACKUP SERVER TO 'file'.
    pub(super) fn backup_to_file(&mut self, file: &str) -> Result<Done> {
        let path = self.backup_target(file, "BACKUP")?;
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let out = made.map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => Error::file_exists(file),
            _ => cannot("create", &path, &cause),
        })?;
        let written = self.write_archive(BufWriter::with_capacity(1 << 20, out)).and_then(|(out, totals)| {
            let durable = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|out: File| out.sync_all());
            durable.map_err(|cause| cannot("write", &path, &cause)).map(|()| totals)
        });
        self.process.set_state("");
        match written {
            Ok(totals) => Ok(Done { info: summary(&totals), ..Done::default() }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    /// BACKUP SERVER: the archive as rows.
    pub(super) fn backup_to_client(&mut self, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let ty = ColumnType::Blob { size: LobSize::Long };
        let results = self.variables.settings.character_set_results;
        sink.columns(&[definition::of_type("archive", &TypeInfo::of_column(&ty, true), results)]);
        let rows = Rows { sink: &mut *sink, types: [ty], row: Vec::with_capacity(ROW_BYTES) };
        let written = self.write_archive(rows).map(drop);
        self.process.set_state("");
        written?;
        self.finish(&Done::default(), more, sink);
        Ok(())
    }

    fn write_archive<W: Write>(&self, out: W) -> Result<(W, Totals)> {
        let mut backup = self.begin_backup()?;
        let mut archive = ArchiveWriter::new(out).or_sql()?;
        let totals = self.run_backup(&mut backup, &mut archive)?;
        Ok((archive.finish().or_sql()?, totals))
    }

    fn begin_backup(&self) -> Result<Backup> {
        self.process.set_state("Waiting for backup lock");
        let backup = self.instance.engine.backup(NAMED_FILES, &self.trx_options());
        let backup = backup.map_err(|error| match error {
            storage::Error::Exists(what) => Error::backup_refused(&what),
            other => storage_error(other),
        })?;
        self.process.set_state("Backing up");
        Ok(match &self.instance.log {
            Some(log) => backup.with_point(Box::new(binlog::point::Running(log.clone()))),
            None => backup,
        })
    }

    fn run_backup(&self, backup: &mut Backup, sink: &mut dyn Sink) -> Result<Totals> {
        loop {
            if self.process.interrupt.is_set() {
                return Err(Error::interrupted());
            }
            if let Some(totals) = backup.step(sink).or_sql()? {
                return Ok(totals);
            }
        }
    }

    /// A path where a statement may write: absolute, below `secure_file_priv` if set, outside of the data directory.
    fn backup_target(&self, text: &str, what: &str) -> Result<PathBuf> {
        let path = Path::new(text);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::wrong_directory(what, text));
        };
        if !path.is_absolute() {
            return Err(Error::wrong_directory(what, text));
        }
        // The canonical path: a link may lead anywhere.
        let parent = fs::canonicalize(parent).map_err(|cause| cannot("find", parent, &cause))?;
        let allowed = self.instance.variables.text("secure_file_priv");
        if !allowed.is_empty() {
            let below = fs::canonicalize(&allowed).is_ok_and(|allowed| parent.starts_with(allowed));
            if !below {
                return Err(Error::option_prevents("--secure-file-priv"));
            }
        }
        let own = fs::canonicalize(&self.instance.datadir).unwrap_or_else(|_| self.instance.datadir.clone());
        if parent.starts_with(&own) {
            return Err(Error::path_in_data_directory(text));
        }
        Ok(parent.join(name))
    }
}

fn cannot(what: &str, path: &Path, cause: &io::Error) -> Error {
    let errno = cause.raw_os_error().unwrap_or_default();
    Error::file_error(&format!("{what} '{}'", path.display()), errno, &cause.to_string())
}

fn summary(totals: &Totals) -> String {
    let (pages, bytes) = (totals.pages, totals.stored_bytes + totals.log_bytes);
    format!("Files: {}  Pages: {pages}  Bytes: {bytes}  LSN: {}", totals.files, totals.end_lsn)
}

/// A writer whose bytes are sent as rows.
struct Rows<'a> {
    sink: &'a mut dyn ResultSink,
    types: [ColumnType; 1],
    row: Vec<u8>,
}

impl Write for Rows<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.row.len() + bytes.len() > ROW_BYTES {
            self.flush()?;
        }
        self.row.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.row.is_empty() {
            let value = [Value::Bytes(std::mem::take(&mut self.row))];
            self.sink.row(&value, &self.types);
            let [Value::Bytes(row)] = value else { return Ok(()) };
            self.row = row;
            self.row.clear();
        }
        Ok(())
    }
}
