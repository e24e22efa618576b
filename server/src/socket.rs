//! A client's socket, TCP or Unix: blocking, with timeouts.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Where a client comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// This machine, through the socket file. No third party can listen.
    Socket,
    Tcp(SocketAddr),
}

impl Peer {
    /// How the process list and CURRENT_USER() call the place.
    pub fn host(&self) -> String {
        match self {
            Self::Socket => "localhost".to_owned(),
            Self::Tcp(address) => address.ip().to_canonical().to_string(),
        }
    }

    /// How the general log calls the kind of connection.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Socket => "Socket",
            Self::Tcp(_) => "TCP/IP",
        }
    }

    pub fn host_and_port(&self) -> String {
        match self {
            Self::Socket => "localhost".to_owned(),
            Self::Tcp(address) => format!("{}:{}", address.ip().to_canonical(), address.port()),
        }
    }

    /// The address of a client on TCP.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Socket => None,
            Self::Tcp(address) => Some(address.ip().to_canonical()),
        }
    }

    /// Whether the client is on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Socket => true,
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
        }
    }
}

/// A client's socket.
#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Another handle of the same socket.
    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    /// Whether the client has closed its end. Does not wait.
    pub fn is_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut sockets = [match self {
            Self::Tcp(stream) => PollFd::new(stream, PollFlags::RDHUP),
            Self::Unix(stream) => PollFd::new(stream, PollFlags::RDHUP),
        }];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        poll(&mut sockets, Some(&now)).is_ok() && sockets[0].revents().intersects(gone)
    }

    /// The user of the system that the process at the other end belongs to.
    pub fn peer_uid(&self) -> Option<u32> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(stream) => rustix::net::sockopt::socket_peercred(stream).ok().map(|peer| peer.uid.as_raw()),
        }
    }

    /// How long a read may wait; zero is forever.
    pub fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        let timeout = (!timeout.is_zero()).then_some(timeout);
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            Self::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// How long a write may wait; zero is forever.
    pub fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        let timeout = (!timeout.is_zero()).then_some(timeout);
        match self {
            Self::Tcp(stream) => stream.set_write_timeout(timeout),
            Self::Unix(stream) => stream.set_write_timeout(timeout),
        }
    }

    /// Ends reads and writes, also those that another thread waits in.
    pub fn shutdown(&self, how: Shutdown) {
        // It may be closed already, which is what we want.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        };
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
