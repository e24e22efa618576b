//! Tells systemd how the server is (sd_notify): a datagram of `NAME=value` lines to the socket in `$NOTIFY_SOCKET`.
//!
//! Without the variable nobody wants to know, and nothing happens. A datagram that cannot be sent is no reason for a
//! server to stop: systemd then waits in vain, and says so.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

const VARIABLE: &str = "NOTIFY_SOCKET";

/// What is going on, for `systemctl status`.
pub fn status(text: &str) {
    notify(&format!("STATUS={text}"));
}

/// The server answers clients.
pub fn ready(text: &str) {
    notify(&format!("READY=1\nSTATUS={text}"));
}

/// The server has begun to stop.
pub fn stopping() {
    notify("STOPPING=1\nSTATUS=Shutting down");
}

fn notify(message: &str) {
    let Some(socket) = std::env::var_os(VARIABLE) else { return };
    if let Err(cause) = send(&socket, message) {
        tracing::warn!("{VARIABLE}: {cause}");
    }
}

/// A name that begins with @ is not a file: it stands in Linux's own list of sockets.
fn send(socket: &OsStr, message: &str) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_reaches_files_and_names_without_one() {
        let name = format!("glassine-notify-{}", std::process::id());
        let file = std::env::temp_dir().join(&name);
        let _ = std::fs::remove_file(&file);
        let by_file = UnixDatagram::bind(&file).unwrap();
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(file.as_os_str(), "READY=1").unwrap();
        send(OsStr::new(&format!("@{name}")), "STOPPING=1").unwrap();
        let mut buffer = [0; 64];
        let length = by_file.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1");
        let length = by_name.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"STOPPING=1");
        std::fs::remove_file(&file).unwrap();
        assert!(send(file.as_os_str(), "READY=1").is_err());
    }
}
