//! Files of the server that statements read and write: LOAD DATA INFILE, SELECT ... INTO OUTFILE and DUMPFILE.
//!
//! `secure_file_priv` says where they may lie: nowhere (NULL, the default), below a directory, or anywhere (empty). The
//! data directory is closed in any case: it holds other people's tables and the verifiers of passwords. Links are
//! followed before the path is compared. A file that may not be named is refused in the same way whether it exists or
//! not (1290).

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Done, Session};
use crate::error::{Error, Result};
use crate::executor::change::Changes;
use crate::executor::outfile::{TextWriter, dump_row};
use crate::executor::text_reader::Pieces;
use crate::executor::{Environment, load, query};
use crate::expression::EvalContext;
use crate::instance::Instance;
use crate::parser::ast::SelectInto;
use crate::planner::QueryPlan;
use crate::planner::load::{FileFormat, LoadPlan, file_charset};
use crate::processlist::Process;
use crate::result::ResultSink;

/// What is read at once.
const PIECE_BYTES: usize = 256 << 10;

/// Where a statement means a file to be. A relative path begins in the data directory.
pub(super) fn allowed_path(instance: &Instance, name: &str) -> Result<PathBuf> {
    let refused = || Error::option_prevents("--secure-file-priv");
    let Some(allowed) = instance.variables.text_or_null("secure_file_priv") else { return Err(refused()) };
    let own = fs::canonicalize(&instance.datadir).unwrap_or_else(|_| instance.datadir.clone());
    let path = own.join(name);
    // Of a file that is not there yet, the directory counts.
    let real = fs::canonicalize(&path).or_else(|cause| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => fs::canonicalize(parent).map(|parent| parent.join(name)),
        _ => Err(cause),
    });
    if !allowed.is_empty() {
        let is_below = |real: &PathBuf| fs::canonicalize(&allowed).is_ok_and(|allowed| real.starts_with(allowed));
        if !real.as_ref().is_ok_and(is_below) {
            return Err(refused());
        }
    }
    match real {
        Ok(real) if real.starts_with(&own) => Err(Error::path_in_data_directory(name)),
        Ok(real) => Ok(real),
        Err(_) => Ok(path),
    }
}

impl Session {
    /// LOAD DATA, with a file of the server's or the client's.
    pub(super) fn load(
        &self,
        environment: &Environment<'_>,
        plan: &LoadPlan,
        context: &EvalContext<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<Changes> {
        let series = self.series();
        if !plan.local {
            return load::load(environment, plan, context, series, &mut self.open_text_file(&plan.file)?);
        }
        if !self.instance.variables.on("local_infile") {
            return Err(Error::local_files_disabled());
        }
        let settings = &self.variables.settings;
        let patience = Duration::from_secs(settings.net_read_timeout_seconds);
        sink.begin_file(&plan.file, settings.max_allowed_packet_bytes as usize, patience)?;
        load::load(environment, plan, context, series, &mut FromClient { sink, process: &self.process })
    }

    /// SELECT ... INTO OUTFILE or DUMPFILE.
    pub(super) fn write_rows(
        &self,
        environment: &Environment<'_>,
        plan: &QueryPlan,
        into: &SelectInto,
        context: &EvalContext<'_>,
    ) -> Result<Done> {
        let mut rows = 0u64;
        let (name, mut writer) = match into {
            SelectInto::Outfile { file, charset, format } => {
                let charset = charset.as_deref().map(file_charset).transpose()?;
                let format = FileFormat::new(format, context.mode)?;
                (file, Some(TextWriter::new(format, charset, plan.columns(), context)))
            }
            SelectInto::Dumpfile(file) => (file, None),
            _ => return Err(Error::internal("rows without a file")),
        };
        let mut file = self.create_file(name)?;
        query::run(environment, plan, context, &mut |row| {
            if context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            rows += 1;
            let written = match &mut writer {
                Some(writer) => writer.row(row, plan.types(), &mut file, &mut |at, text| {
                    let column = &plan.columns()[at];
                    let shown = String::from_utf8_lossy(text);
                    context.warn(Error::incorrect_value_for_column("string", &shown, &column.name, rows));
                }),
                None if rows > 1 => return Err(Error::more_than_one_row()),
                None => dump_row(row, plan.types(), &mut file),
            };
            written.map_err(|cause| Error::cannot_write_file(file.path(), &cause)).map(|()| true)
        })?;
        file.finish()?;
        self.state.row_count.set(rows as i64);
        Ok(Done { affected_rows: rows, ..Done::default() })
    }

    /// Opens a file of LOAD DATA INFILE.
    fn open_text_file(&self, name: &[u8]) -> Result<FromFile<'_>> {
        let path = allowed_path(&self.instance, &String::from_utf8_lossy(name))?;
        let facts = fs::metadata(&path).map_err(|cause| Error::no_file(&path, &cause))?;
        if !facts.is_file() {
            return Err(Error::not_a_text_file(&path));
        }
        let file = File::open(&path).map_err(|cause| Error::cannot_open_file(&path, &cause))?;
        Ok(FromFile { file, path, process: &self.process })
    }

    /// Creates a file of SELECT ... INTO. It must not exist.
    fn create_file(&self, name: &str) -> Result<NewFile> {
        let path = allowed_path(&self.instance, name)?;
        let made = OpenOptions::new().write(true).create_new(true).mode(0o640).open(&path);
        let file = made.map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => Error::file_exists(name),
            _ => Error::cannot_create_file(&path, &cause),
        })?;
        Ok(NewFile { out: Some(BufWriter::with_capacity(PIECE_BYTES, file)), path })
    }
}

/// The pieces of a file of the server.
struct FromFile<'s> {
    file: File,
    path: PathBuf,
    process: &'s Process,
}

impl Pieces for FromFile<'_> {
    fn read(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if self.process.interrupt.is_set() {
            return Err(Error::interrupted());
        }
        let read = Read::by_ref(&mut self.file).take(PIECE_BYTES as u64).read_to_end(out);
        Ok(read.map_err(|cause| Error::cannot_read_file(&self.path, &cause))? > 0)
    }
}

/// The pieces of a file that the client sends.
struct FromClient<'s> {
    pub sink: &'s mut dyn ResultSink,
    pub process: &'s Process,
}

impl Pieces for FromClient<'_> {
    fn read(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if self.process.interrupt.is_set() {
            return Err(Error::interrupted());
        }
        self.sink.read_file(out)
    }
}

/// A file that a statement writes. It goes away unless it is finished.
struct NewFile {
    out: Option<BufWriter<File>>,
    path: PathBuf,
}

impl NewFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn finish(mut self) -> Result<()> {
        let flushed = self.out.as_mut().map_or(Ok(()), BufWriter::flush);
        flushed.map_err(|cause| Error::cannot_write_file(&self.path, &cause))?;
        self.out = None;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            drop(out.into_parts());
            let _ = fs::remove_file(&self.path);
        }
    }
}
