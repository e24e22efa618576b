//! The log of a server, as it is sent to replicas: --read-from-remote-server.
//!
//! ```text
//!   connect, ask for a file --> events --> the next file --> ... --> end, or with --stop-never: wait for more
//!      ^                                                                     |
//!      +------------------------- a second later ----------------------------+   the connection is lost
//! ```
//!
//! With --stop-never a lost connection is made again, and the log is read on behind the last event that came; what is
//! printed or written has no seam. Without it, and if the first connection fails, the loss is an error.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ::binlog::FileName;
use format::binlog::{Checksum, Control, Event, EventKind, FormatDescription, Header, flags};
use replica::client::{Client, Failure, Login, dump_flags};
use replica::link::Address;
use replica::tls::Mode;
use sql::transport::TlsSettings;

use super::file::Located;

/// A server that is silent for so long is asked again.
const TIMEOUT: Duration = Duration::from_secs(60);
/// It says that often that it lives.
const HEARTBEAT_PERIOD: Duration = Duration::from_secs(10);
/// Between two tries to connect again.
const RETRY_PERIOD: Duration = Duration::from_secs(1);

/// Where a file's first event stands.
const FIRST: u64 = 4;

#[derive(clap::Args, Debug)]
pub struct Options {
    /// Read the logs of these names from a server
    #[arg(long, short = 'R')]
    pub read_from_remote_server: bool,
    /// The server's host
    #[arg(long, short = 'h', value_name = "NAME", default_value = "127.0.0.1")]
    host: String,
    #[arg(long, short = 'P', value_name = "NUMBER", default_value_t = 3306)]
    port: u16,
    /// The server's Unix socket, instead of host and port
    #[arg(long, short = 'S', value_name = "FILE", conflicts_with_all = ["host", "port"])]
    socket: Option<PathBuf>,
    /// Log in as this user
    #[arg(long, short, value_name = "NAME", default_value = "root")]
    user: String,
    /// With this password; the environment's MYSQL_PWD is not seen by others
    #[arg(long, value_name = "PASSWORD")]
    password: Option<String>,
    /// Send the password by the server's public key, if its plugin wants it and the connection is not a Unix socket
    #[arg(long)]
    get_server_public_key: bool,
    /// The file of that key
    #[arg(long, value_name = "FILE", default_value = "")]
    server_public_key_path: String,
    /// Encrypt the connection: DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY
    #[arg(long, value_name = "MODE", default_value = "PREFERRED", value_parser = mode)]
    ssl_mode: Mode,
    /// The authority's certificate, for VERIFY_CA and VERIFY_IDENTITY
    #[arg(long, value_name = "FILE", default_value = "")]
    ssl_ca: String,
    /// A directory of such files
    #[arg(long, value_name = "DIRECTORY", default_value = "")]
    ssl_capath: String,
    /// The certificate to show
    #[arg(long, value_name = "FILE", default_value = "", requires = "ssl_key")]
    ssl_cert: String,
    /// The key to it
    #[arg(long, value_name = "FILE", default_value = "", requires = "ssl_cert")]
    ssl_key: String,
    /// Ciphers of TLS 1.2, separated by colons
    #[arg(long, value_name = "LIST", default_value = "")]
    ssl_cipher: String,
    /// Ciphers of TLS 1.3
    #[arg(long, value_name = "LIST", default_value = "")]
    tls_ciphersuites: String,
    /// Certificates that are revoked
    #[arg(long, value_name = "FILE", default_value = "")]
    ssl_crl: String,
    /// A directory of such files
    #[arg(long, value_name = "DIRECTORY", default_value = "")]
    ssl_crlpath: String,
    /// TLSv1.2,TLSv1.3
    #[arg(long, value_name = "LIST", default_value = "")]
    tls_version: String,
    /// Go on to the server's last log
    #[arg(long, short, requires = "read_from_remote_server", conflicts_with = "stop_position")]
    to_last_log: bool,
    /// Do not stop at its end, but wait for more
    #[arg(long, requires = "read_from_remote_server", conflicts_with = "stop_position")]
    stop_never: bool,
    /// Number of the replica that --stop-never is for the server: two readers with one number end each other
    #[arg(long, value_name = "NUMBER", requires = "stop_never", default_value_t = 1)]
    connection_server_id: u32,
    /// Write files that are the server's, byte by byte; --result-file is what their names begin with
    #[arg(long, requires = "read_from_remote_server", conflicts_with_all = [
        "start_position", "stop_position", "start_datetime", "stop_datetime", "include_gtids", "exclude_gtids",
        "database", "server_id", "verbose", "base64_output", "skip_gtids", "idempotent"])]
    pub raw: bool,
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::by_name(text).ok_or_else(|| "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY".to_owned())
}

impl Options {
    fn tls(&self) -> TlsSettings {
        TlsSettings {
            ca: self.ssl_ca.clone(),
            ca_directory: self.ssl_capath.clone(),
            certificate: self.ssl_cert.clone(),
            key: self.ssl_key.clone(),
            ciphers: self.ssl_cipher.clone(),
            suites: self.tls_ciphersuites.clone(),
            revoked: self.ssl_crl.clone(),
            revoked_directory: self.ssl_crlpath.clone(),
            versions: self.tls_version.clone(),
        }
    }
}

/// What has come.
pub enum Next<'r> {
    /// A file begins.
    File(&'r str),
    /// An event. `more`: another has begun to arrive.
    Event { located: Located<'r>, more: bool },
    /// There is nothing more.
    End,
}

/// See the module header.
pub struct Remote<'o> {
    options: &'o Options,
    /// The file that was asked for, and where it is asked for again.
    wanted: String,
    position: u64,
    /// The server may send another file than the one that was asked for.
    goes_on: bool,
    client: Option<Client>,
    /// What the server calls the file under way; none before the first event.
    name: Option<String>,
    description: Option<FormatDescription>,
    /// The description of this file has been handed out.
    is_described: bool,
}

/// What an event means for the file.
enum Step {
    Nothing,
    File,
    Event { at: u64 },
    End,
}

impl<'o> Remote<'o> {
    /// Reads a file from a position on. `is_last`: those behind it are read as well, if that is wanted.
    pub fn new(options: &'o Options, file: &str, position: u64, is_last: bool) -> Remote<'o> {
        Remote {
            options,
            wanted: file.to_owned(),
            position: position.max(FIRST),
            goes_on: is_last && (options.to_last_log || options.stop_never),
            client: None,
            name: None,
            description: None,
            is_described: false,
        }
    }

    fn waits(&self) -> bool {
        self.goes_on && self.options.stop_never
    }

    pub fn next(&mut self) -> io::Result<Next<'_>> {
        let mut is_lost = false;
        loop {
            let client = match self.client.take() {
                Some(client) => Ok(client),
                None => self.connect(),
            };
            let come = client.and_then(|mut client| match client.next_event()? {
                Some(sent) => Ok((sent.more, client)),
                None => Err(ended()),
            });
            let (more, client) = match come {
                Ok(come) => come,
                Err(failure) if self.waits() && self.name.is_some() && is_passing(&failure) => {
                    if !is_lost {
                        eprintln!("glassine binlog: the connection is lost, and is made again: {failure}");
                        is_lost = true;
                    }
                    thread::sleep(RETRY_PERIOD);
                    continue;
                }
                Err(Failure::Server { code: 0, .. }) if !self.waits() => return Ok(Next::End),
                Err(failure) => return Err(to_io(failure)),
            };
            match self.take(client.last_event())? {
                Step::Nothing => self.client = Some(client),
                Step::End => return Ok(Next::End),
                Step::File => {
                    self.client = Some(client);
                    return Ok(Next::File(self.name.as_deref().expect("it was just told")));
                }
                Step::Event { at } => {
                    let client = &*self.client.insert(client);
                    let description = self.description.as_ref().expect("a described event");
                    let event = decode(client.last_event(), description.checksum)?;
                    return Ok(Next::Event { located: Located { at, event, description }, more });
                }
            }
        }
    }

    fn connect(&self) -> Result<Client, Failure> {
        let options = self.options;
        let password = match &options.password {
            Some(password) => password.clone(),
            None => std::env::var("MYSQL_PWD").unwrap_or_default(),
        };
        let login = Login {
            address: match &options.socket {
                Some(path) => Address::Socket(path),
                None => Address::Tcp(&options.host, options.port),
            },
            user: &options.user,
            password: &password,
            get_public_key: options.get_server_public_key,
            public_key_path: &options.server_public_key_path,
            mode: options.ssl_mode,
            tls: &options.tls(),
            directory: Path::new(""),
        };
        let mut client = Client::connect(&login, TIMEOUT, &|_| ())?;
        let nanos = HEARTBEAT_PERIOD.as_nanos();
        client.query(&format!("SET @master_heartbeat_period = {nanos}, @source_heartbeat_period = {nanos}"))?;
        client.query("SET @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'")?;
        client.query("SET @replica_reads_payloads = 1")?;
        let is_mariadb = client.server_version.contains("MariaDB");
        if is_mariadb {
            // It sends its own events as they are to those who know them.
            client.query("SET @mariadb_slave_capability = 4")?;
        }
        let (server_id, mut flags) = match self.waits() {
            true => (options.connection_server_id, 0),
            false => (0, dump_flags::NON_BLOCKING),
        };
        if is_mariadb {
            flags |= dump_flags::MARIADB_ANNOTATIONS;
        }
        client.dump(server_id, self.name.as_deref().unwrap_or(&self.wanted), self.position, flags)?;
        Ok(client)
    }

    /// Looks at an event that has come.
    fn take(&mut self, bytes: &[u8]) -> io::Result<Step> {
        let header = Header::decode(bytes).map_err(damaged)?;
        // What the server says by itself has no place in the file.
        let is_artificial = header.flags & flags::ARTIFICIAL != 0 || header.end_position == 0;
        match header.kind {
            EventKind::HEARTBEAT | EventKind::HEARTBEAT_V2 => Ok(Step::Nothing),
            EventKind::ROTATE if is_artificial => self.rotate(bytes),
            EventKind::FORMAT_DESCRIPTION => {
                let (description, _) = FormatDescription::decode(bytes).map_err(damaged)?;
                self.description = Some(description);
                if self.position == FIRST {
                    self.position += bytes.len() as u64;
                }
                // A new connection describes the file again.
                let is_known = std::mem::replace(&mut self.is_described, true);
                Ok(if is_known { Step::Nothing } else { Step::Event { at: FIRST } })
            }
            EventKind::MARIADB_START_ENCRYPTION => Err(io::Error::other("the log is encrypted")),
            _ if self.description.is_none() => Err(io::Error::other("the server has not described its log")),
            _ if is_artificial => Ok(Step::Nothing),
            _ => {
                // An event tells the lower half of the position behind it.
                self.position += u64::from(header.end_position.wrapping_sub(self.position as u32));
                Ok(Step::Event { at: self.position.saturating_sub(bytes.len() as u64) })
            }
        }
    }

    /// The server tells which file it sends, and from where on.
    fn rotate(&mut self, bytes: &[u8]) -> io::Result<Step> {
        // Before the description it is not said whether there is a checksum: one that fits is one.
        let event = Event::decode(bytes, Checksum::Crc32).or_else(|_| Event::decode(bytes, Checksum::None));
        let Some(Control::Rotate { position, file }) = Control::decode(&event.map_err(damaged)?).map_err(damaged)?
        else {
            return Err(io::Error::other("the server sent a damaged Rotate event"));
        };
        let file = String::from_utf8_lossy(file).into_owned();
        if self.name.as_ref() == Some(&file) {
            self.position = position;
            return Ok(Step::Nothing);
        }
        // Plain events for a compressed transaction stand in a stretch, which is not the next file.
        let is_other_file = self.name.is_some() && FileName::parse(&file).is_some() && file != self.wanted;
        if is_other_file && !self.goes_on {
            return Ok(Step::End);
        }
        (self.name, self.position, self.is_described) = (Some(file), position, false);
        Ok(Step::File)
    }
}

/// The server has sent everything that it had.
fn ended() -> Failure {
    Failure::Server { code: 0, message: "the server has ended the dump".to_owned() }
}

/// Whether trying again may help: the connection or the server is gone, or the server has no place for another.
fn is_passing(failure: &Failure) -> bool {
    matches!(failure, Failure::Io(_) | Failure::Server { code: 0 | 1040 | 1053 | 1203 | 1317 | 1927, .. })
}

fn damaged(cause: format::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("an event that the server sent is damaged: {cause}"))
}

fn to_io(failure: Failure) -> io::Error {
    match failure {
        Failure::Io(cause) => io::Error::new(cause.kind(), format!("the connection to the server: {cause}")),
        Failure::Server { code, message } => io::Error::other(format!("ERROR {code}: {message}")),
        Failure::Unfit(why) => io::Error::other(why),
    }
}

/// An event, its checksum verified.
fn decode(bytes: &[u8], checksum: Checksum) -> io::Result<Event<'_>> {
    match Header::decode(bytes).map_err(damaged)?.kind {
        EventKind::FORMAT_DESCRIPTION => FormatDescription::decode(bytes).map(|(_, event)| event),
        _ => Event::decode(bytes, checksum),
    }
    .map_err(damaged)
}
