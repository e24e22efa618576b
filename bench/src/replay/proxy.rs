//! A proxy between a client and a server that records the conversation.
//!
//! It stands on a Unix socket of its own and passes packets on as they are. Of the client's it reads the login
//! and the commands (a packet with sequence number 0 begins one); of the server's the first packet after a
//! command, which says whether the command was refused. The order of the written events is the order in which
//! they passed, because both directions write under one mutex before they pass a packet on.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::stream::Event;

const COM_INIT_DB: u8 = 2;
const COM_QUERY: u8 = 3;
const COM_CHANGE_USER: u8 = 17;
const CLIENT_CONNECT_WITH_DB: u32 = 8;
const CLIENT_COMPRESS: u8 = 0x20;
const CLIENT_SSL_HIGH: u8 = 0x08;
const CLIENT_SECURE_CONNECTION: u32 = 0x8000;
/// Where a login packet has the collation.
const COLLATION: usize = 8;
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// Where events go; without a file they are dropped.
struct Tape {
    file: Option<BufWriter<File>>,
    connections: u32,
}

/// A listening proxy. It serves until its process ends.
pub struct Proxy {
    tape: Arc<Mutex<Tape>>,
}

impl Proxy {
    /// Listens on `socket` and passes everything on to `server`; `collation` takes the place of the clients' own.
    pub fn start(socket: &Path, server: &Path, collation: Option<u8>) -> io::Result<Proxy> {
        let listener = UnixListener::bind(socket)?;
        let tape = Arc::new(Mutex::new(Tape { file: None, connections: 0 }));
        let server: PathBuf = server.into();
        let shared = Arc::clone(&tape);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // While the server restarts, clients are turned away, as they would be without a proxy.
                if let Ok(server) = UnixStream::connect(&server) {
                    let _ = serve(client, server, Arc::clone(&shared), collation);
                }
            }
        });
        Ok(Proxy { tape })
    }

    /// From now on events go to this file, and connections are numbered from 1.
    pub fn record_to(&self, path: &Path) -> io::Result<()> {
        let file = BufWriter::new(File::create(path)?);
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        *tape = Tape { file: Some(file), connections: 0 };
        Ok(())
    }

    /// Ends the recording.
    pub fn stop_recording(&self) -> io::Result<()> {
        let file = self.tape.lock().unwrap_or_else(PoisonError::into_inner).file.take();
        file.map_or(Ok(()), |mut file| file.flush())
    }
}

/// One client's connection: two threads, one per direction.
struct Link {
    tape: Arc<Mutex<Tape>>,
    number: u32,
    /// A statement was written and its answer was not.
    waiting: AtomicBool,
    /// What the login says instead of the client's collation.
    collation: Option<u8>,
}

impl Link {
    fn write(&self, event: &Event) {
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut tape.file {
            // A full disk ends the recording of this file, not the client.
            if writeln!(file, "{}", event.line()).is_err() {
                tape.file = None;
            }
        }
    }
}

fn serve(client: UnixStream, server: UnixStream, tape: Arc<Mutex<Tape>>, collation: Option<u8>) -> io::Result<()> {
    let number = {
        let mut tape = tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.connections += 1;
        tape.connections
    };
    let link = Arc::new(Link { tape, number, waiting: AtomicBool::new(false), collation });
    let (from_client, to_client) = (client.try_clone()?, client);
    let (from_server, to_server) = (server.try_clone()?, server);
    let upward = Arc::clone(&link);
    thread::spawn(move || {
        let _ = pass_commands(&from_client, &to_server, &upward); // Either end may leave at any time.
        upward.write(&Event::Close { connection: upward.number });
        let _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let _ = pass_answers(&from_server, &to_client, &link);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// Reads one packet with its header; false at the end of the connection.
fn read_packet(reader: &mut impl Read, packet: &mut Vec<u8>) -> io::Result<bool> {
    packet.resize(4, 0);
    match reader.read_exact(packet) {
        Ok(()) => {}
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(cause) => return Err(cause),
    }
    let bytes = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]) as usize;
    packet.resize(4 + bytes, 0);
    reader.read_exact(&mut packet[4..])?;
    Ok(true)
}

fn pass_commands(client: &UnixStream, mut server: &UnixStream, link: &Link) -> io::Result<()> {
    let mut reader = BufReader::new(client);
    let (mut packet, mut command) = (Vec::new(), Vec::new());
    let mut logged_in = false;
    while read_packet(&mut reader, &mut packet)? {
        if !logged_in && let (Some(collation), Some(own)) = (link.collation, packet.get_mut(4 + COLLATION)) {
            *own = collation;
        }
        let body = &packet[4..];
        if !logged_in {
            logged_in = true;
            if let Some((collation, database)) = login(body) {
                link.write(&Event::Open { connection: link.number, collation, database });
            }
        } else if packet[3] == 0 || !command.is_empty() {
            command.extend_from_slice(body);
            if body.len() < PACKET_BYTES_MAX {
                note(&command, link);
                command.clear();
            }
        }
        server.write_all(&packet)?;
    }
    Ok(())
}

fn note(command: &[u8], link: &Link) {
    let Some((&kind, rest)) = command.split_first() else { return };
    let statement = match kind {
        COM_QUERY => rest.to_vec(),
        COM_INIT_DB => [b"USE `", rest, b"`"].concat(),
        COM_CHANGE_USER => {
            let (collation, database) = changed_user(rest).unwrap_or((8, String::new()));
            link.write(&Event::Open { connection: link.number, collation, database });
            return;
        }
        _ => return,
    };
    // The other thread sees the mark only after the statement is in the stream.
    link.write(&Event::Statement { connection: link.number, text: statement });
    link.waiting.store(true, Ordering::Release);
}

/// The collation and the default database of a login packet.
fn login(body: &[u8]) -> Option<(u8, String)> {
    let flags = u32::from_le_bytes(body.get(..4)?.try_into().ok()?);
    let collation = *body.get(COLLATION)?;
    let rest = body.get(32..)?;
    let rest = &rest[rest.iter().position(|&byte| byte == 0)? + 1..];
    let rest = if flags & CLIENT_SECURE_CONNECTION != 0 {
        rest.get(1 + usize::from(*rest.first()?)..)?
    } else {
        &rest[rest.iter().position(|&byte| byte == 0)? + 1..]
    };
    let database = if flags & CLIENT_CONNECT_WITH_DB != 0 { text(rest) } else { String::new() };
    Some((collation, database))
}

/// The same of COM_CHANGE_USER: user, password, database, collation.
fn changed_user(body: &[u8]) -> Option<(u8, String)> {
    let rest = &body[body.iter().position(|&byte| byte == 0)? + 1..];
    let rest = rest.get(1 + usize::from(*rest.first()?)..)?;
    let database = text(rest);
    let collation = rest.get(database.len() + 1).copied().unwrap_or(8);
    Some((collation, database))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn pass_answers(server: &UnixStream, mut client: &UnixStream, link: &Link) -> io::Result<()> {
    let mut reader = BufReader::new(server);
    let mut packet = Vec::new();
    let mut greeted = false;
    while read_packet(&mut reader, &mut packet)? {
        if !greeted {
            greeted = true;
            hide_what_cannot_be_read(&mut packet[4..]);
        } else if link.waiting.swap(false, Ordering::AcqRel) {
            let code = match packet[4..] {
                [0xff, low, high, ..] => u16::from_le_bytes([low, high]),
                _ => 0,
            };
            link.write(&Event::Answer { connection: link.number, code });
        }
        client.write_all(&packet)?;
    }
    Ok(())
}

/// Takes compression and TLS out of the server's greeting.
fn hide_what_cannot_be_read(greeting: &mut [u8]) {
    let Some(version) = greeting.iter().skip(1).position(|&byte| byte == 0) else { return };
    let flags = 1 + version + 1 + 4 + 8 + 1; // Version, thread, scramble, filler.
    if let Some(two) = greeting.get_mut(flags..flags + 2) {
        two[0] &= !CLIENT_COMPRESS;
        two[1] &= !CLIENT_SSL_HIGH;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_are_read() {
        let mut body = vec![0; 32];
        body[..4].copy_from_slice(&(CLIENT_CONNECT_WITH_DB | CLIENT_SECURE_CONNECTION).to_le_bytes());
        body[8] = 8;
        body.extend_from_slice(b"root\0\x02xytest\0plugin\0");
        assert_eq!(login(&body), Some((8, "test".to_string())));
        assert_eq!(login(&body[..20]), None);
        assert_eq!(changed_user(b"root\0\x00d2\0\x21\0"), Some((0x21, "d2".to_string())));
    }

    #[test]
    fn greetings_lose_compression_and_tls() {
        let mut greeting = b"\x0a10.11\0....12345678\0".to_vec();
        greeting.extend_from_slice(&[0xff, 0xff]);
        hide_what_cannot_be_read(&mut greeting);
        assert!(greeting.ends_with(&[!CLIENT_COMPRESS, !CLIENT_SSL_HIGH]));
    }
}
