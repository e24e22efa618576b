//! What packets are read from and written to: a socket, and the layers that a client asked for.
//!
//! ```text
//!   packets  <->  [compression]  <->  [TLS]  <->  socket
//! ```
//!
//! A client without layers costs one comparison for each layer in front of the system call.
//!
//! A connection is used by one thread, but for a dump to a semi-synchronous replica, whose answers a second thread
//! reads ([`Stream::reader`]). So what both directions of TLS share is behind a mutex, which is not held while a
//! thread waits for bytes.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::{HandshakeKind, ServerConfig, ServerConnection};
use sql::transport::{TlsFacts, cipher_name, version_name};

use crate::compression::{Algorithm, Compression};
use crate::incoming::Source;
use crate::socket::Socket;
use crate::tls::Certificate;

/// What is read from a socket at once for TLS: a record and its header.
const RECORD_BYTES: usize = (16 << 10) + 512;

/// A socket and its layers.
pub struct Stream {
    layers: Layers,
    /// How long the rest of a packet may take; zero: as long as the packet itself.
    rest_timeout: Duration,
    /// The socket has this timeout now, and not that for packets.
    awaits_rest: bool,
    compression: Option<Box<Compression>>,
}

/// What is below the compression.
struct Layers {
    socket: Socket,
    /// Everything that is read must have come by then.
    deadline: Option<Instant>,
    tls: Option<Tls>,
}

struct Tls {
    connection: Arc<Mutex<ServerConnection>>,
    /// Bytes of the socket that the connection has not taken: `received[at..end]`.
    received: Box<[u8]>,
    at: usize,
    end: usize,
}

impl Stream {
    pub fn new(socket: Socket) -> Self {
        Self {
            layers: Layers { socket, deadline: None, tls: None },
            rest_timeout: Duration::ZERO,
            awaits_rest: false,
            compression: None,
        }
    }

    /// For timeouts, and for handles by which other threads end the connection.
    #[inline]
    pub fn socket(&self) -> &Socket {
        &self.layers.socket
    }

    /// Until the deadline everything must have arrived, however slowly the client sends. Afterwards the socket's read
    /// timeout is to be set again.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.layers.deadline = deadline;
    }

    /// How long reads wait for a packet, and for its rest when it has begun.
    pub fn set_read_timeouts(&mut self, packet: Duration, rest: Duration) {
        self.rest_timeout = rest;
        self.awaits_rest = false;
        let _ = self.layers.socket.set_read_timeout(packet);
    }

    /// Whether the timeout for packets is to be set again, because the last one came in pieces.
    #[inline]
    pub fn has_awaited_rest(&self) -> bool {
        self.awaits_rest
    }

    pub fn is_encrypted(&self) -> bool {
        self.layers.tls.is_some()
    }

    pub fn compression(&self) -> Option<&Compression> {
        self.compression.as_deref()
    }

    /// Begins TLS as the server's side; `received` is what has been read from the socket already.
    pub fn begin_tls(&mut self, config: Arc<ServerConfig>, received: &[u8]) -> io::Result<()> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut buffer = vec![0; RECORD_BYTES.max(received.len())].into_boxed_slice();
        buffer[..received.len()].copy_from_slice(received);
        let connection = Arc::new(Mutex::new(connection));
        let mut tls = Tls { connection, received: buffer, at: 0, end: received.len() };
        let Layers { socket, deadline, .. } = &mut self.layers;
        tls.shake_hands(socket, *deadline)?;
        self.layers.tls = Some(tls);
        Ok(())
    }

    /// What TLS agreed upon, and who the client showed to be.
    pub fn tls_facts(&self) -> Option<TlsFacts> {
        let tls = self.layers.tls.as_ref()?;
        let connection = tls.connection.lock();
        let certificate = connection.peer_certificates().and_then(|chain| chain.first());
        let certificate = certificate.and_then(|der| Certificate::parse(der));
        Some(TlsFacts {
            version: connection.protocol_version().map_or("", version_name),
            cipher: connection.negotiated_cipher_suite().map_or("", |suite| cipher_name(suite.suite())),
            is_resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
            subject: certificate.as_ref().map(|certificate| certificate.subject.clone()),
            issuer: certificate.map(|certificate| certificate.issuer),
        })
    }

    /// From now on packets are compressed.
    pub fn begin_compression(&mut self, algorithm: Algorithm, level: i32) {
        self.compression = Some(Box::new(Compression::new(algorithm, level)));
    }

    /// What is written next begins a conversation by itself, rather than answering a command.
    pub fn begin_unasked(&mut self) {
        if let Some(compression) = &mut self.compression {
            compression.restart();
        }
    }

    /// A second handle, for a thread that reads from now on; this one only writes.
    pub fn reader(&mut self) -> io::Result<Stream> {
        let socket = self.layers.socket.try_clone()?;
        let tls = self.layers.tls.as_mut().map(|tls| Tls {
            connection: tls.connection.clone(),
            received: std::mem::take(&mut tls.received),
            at: std::mem::take(&mut tls.at),
            end: std::mem::take(&mut tls.end),
        });
        let compression = self.compression.as_mut().map(|compression| Box::new(compression.reader()));
        let layers = Layers { socket, deadline: self.layers.deadline, tls };
        Ok(Stream { layers, rest_timeout: Duration::ZERO, awaits_rest: false, compression })
    }

    /// Says goodbye, if there is a way to say it: the client can tell an end from a cut.
    pub fn close_notify(&mut self) {
        let Layers { socket, tls, .. } = &mut self.layers;
        if let Some(tls) = tls {
            let _ = socket.set_write_timeout(Duration::from_millis(200));
            let mut connection = tls.connection.lock();
            connection.send_close_notify();
            let _ = write_records(&mut connection, socket);
        }
    }

    /// Ends reads and writes, also those that another thread waits in.
    pub fn shutdown(&mut self, how: Shutdown) {
        if how == Shutdown::Write {
            self.close_notify();
        }
        self.layers.socket.shutdown(how);
    }
}

impl Source for Stream {
    fn await_rest(&mut self) {
        // Before login there is a deadline instead.
        if !self.awaits_rest && !self.rest_timeout.is_zero() && self.layers.deadline.is_none() {
            self.awaits_rest = true;
            let _ = self.layers.socket.set_read_timeout(self.rest_timeout);
        }
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.compression {
            None => self.layers.read(buffer),
            Some(compression) => compression.read(&mut self.layers, buffer),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.compression {
            None => self.layers.write(bytes),
            Some(compression) => compression.write(&mut self.layers, bytes).map(|()| bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Layers {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => read_socket(&mut self.socket, self.deadline, buffer),
            Some(tls) => tls.read(&mut self.socket, self.deadline, buffer),
        }
    }
}

impl Write for Layers {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(bytes),
            Some(tls) => {
                let mut connection = tls.connection.lock();
                let taken = connection.writer().write(bytes)?;
                write_records(&mut connection, &mut self.socket)?;
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[inline]
fn read_socket(socket: &mut Socket, deadline: Option<Instant>, buffer: &mut [u8]) -> io::Result<usize> {
    if let Some(deadline) = deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(left)?;
    }
    socket.read(buffer)
}

fn write_records(connection: &mut ServerConnection, socket: &mut Socket) -> io::Result<()> {
    while connection.wants_write() {
        match connection.write_tls(socket) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Tls {
    fn shake_hands(&mut self, socket: &mut Socket, deadline: Option<Instant>) -> io::Result<()> {
        loop {
            let is_shaking = {
                let mut connection = self.connection.lock();
                write_records(&mut connection, socket)?;
                connection.is_handshaking()
            };
            if !is_shaking {
                return Ok(());
            }
            if self.at == self.end && self.receive(socket, deadline)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.take(socket)?;
        }
    }

    fn read(&mut self, socket: &mut Socket, deadline: Option<Instant>, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.connection.lock().reader().read(buffer);
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Many clients leave without a goodbye. That the last command was whole, its packet shows.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if self.at == self.end && self.receive(socket, deadline)? == 0 {
                return Ok(0);
            }
            self.take(socket)?;
        }
    }

    /// Reads from the socket; the connection is not locked meanwhile.
    fn receive(&mut self, socket: &mut Socket, deadline: Option<Instant>) -> io::Result<usize> {
        self.at = 0;
        self.end = 0;
        self.end = read_socket(socket, deadline, &mut self.received)?;
        Ok(self.end)
    }

    /// Hands what was received to the connection.
    fn take(&mut self, socket: &mut Socket) -> io::Result<()> {
        let mut connection = self.connection.lock();
        let mut rest = &self.received[self.at..self.end];
        let taken = connection.read_tls(&mut rest)?;
        self.at += taken;
        let processed = connection.process_new_packets();
        // Answers of TLS itself, and alerts: the client learns what was wrong.
        let written = write_records(&mut connection, socket);
        match processed {
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            Ok(_) => written,
        }
    }
}
