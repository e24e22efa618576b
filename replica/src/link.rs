//! The socket to a server: TCP, or a Unix socket on this machine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    Tcp(&'a str, u16),
    /// The file of its Unix socket.
    Socket(&'a Path),
}

/// A blocking connection.
#[derive(Debug)]
pub enum Link {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Link {
    /// Connects. Each address of a host is given `patience`.
    pub fn connect(address: Address<'_>, patience: Duration) -> io::Result<Link> {
        let (host, port) = match address {
            Address::Socket(path) => return UnixStream::connect(path).map(Link::Unix),
            Address::Tcp(host, port) => (host, port),
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, patience) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Link::Tcp(stream));
                }
                Err(cause) => last = cause,
            }
        }
        Err(last)
    }

    /// Another handle of the same connection.
    pub fn try_clone(&self) -> io::Result<Link> {
        match self {
            Link::Tcp(stream) => stream.try_clone().map(Link::Tcp),
            Link::Unix(stream) => stream.try_clone().map(Link::Unix),
        }
    }

    /// Reads and writes give up after this time.
    pub fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Some(timeout);
        match self {
            Link::Tcp(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
            Link::Unix(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
        }
    }

    /// Ends the connection; a thread that reads from it wakes.
    pub fn close(&self) {
        // One that has ended already is no failure.
        let _ = match self {
            Link::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Link::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Whether nobody else can listen to it.
    pub fn is_private(&self) -> bool {
        matches!(self, Link::Unix(_))
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(stream) => stream.read(buffer),
            Link::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(stream) => stream.write(bytes),
            Link::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Tcp(stream) => stream.flush(),
            Link::Unix(stream) => stream.flush(),
        }
    }
}
