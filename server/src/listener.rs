//! The server: its listeners, and its end.
//!
//! One thread waits at each listening socket and starts a thread for each client.
//! Shutdown runs backwards: the listeners close, the server tells the clients to leave,
//! and when their threads have ended, no thread uses the engine any more.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use format::packet::frame::Packets;
use format::packet::response;
use rustix::net::Shutdown;
use sql::{Error, Instance};
use tracing::{error, warn};

use crate::connection;
use crate::shared::{Live, Shared};
use crate::socket::{Peer, Socket};
use crate::stream::Stream;
use crate::tls::Tls;

/// A connection's stack: deep expressions recurse. Only what is used becomes real memory.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };
/// How long clients may take to leave when the server stops.
const FAREWELL: Duration = Duration::from_secs(10);

/// Where to listen.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// No addresses: no TCP.
    pub addresses: Vec<IpAddr>,
    pub port: u16,
    /// How many ports to try, counting up from `port`, until one is free.
    pub port_tries: u16,
    pub socket: Option<PathBuf>,
}

impl Options {
    /// Reads `bind_address`: addresses separated by commas, `*` for all.
    pub fn parse_addresses(text: &str) -> Result<Vec<IpAddr>, String> {
        let mut addresses = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part {
                // The IPv6 socket takes IPv4 clients too.
                "*" => addresses.push(IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
                "localhost" => addresses.push(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                address => addresses.push(address.parse().map_err(|_| format!("'{address}' is not an IP address"))?),
            }
        }
        Ok(addresses)
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A listening server.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Arc<Listener>>,
    threads: Vec<JoinHandle<()>>,
    /// The addresses that are listened on.
    pub addresses: Vec<SocketAddr>,
    pub socket: Option<PathBuf>,
}

impl Server {
    /// Listens, and serves from now on.
    pub fn start(instance: Arc<Instance>, options: &Options) -> io::Result<Self> {
        let tls = Tls::open(&instance).map_err(io::Error::other)?;
        let shared = Arc::new(Shared::new(instance, tls));
        let mut server =
            Self { shared, listeners: Vec::new(), threads: Vec::new(), addresses: Vec::new(), socket: None };
        for listener in listen_tcp(options)? {
            server.addresses.push(listener.local_addr()?);
            server.listeners.push(Arc::new(Listener::Tcp(listener)));
        }
        if let Some(path) = &options.socket {
            server.listeners.push(Arc::new(Listener::Unix(listen_unix(path)?)));
            server.socket = Some(path.clone());
        }
        for listener in server.listeners.clone() {
            let shared = server.shared.clone();
            let thread = thread::Builder::new().name("listener".to_owned());
            server.threads.push(thread.spawn(move || accept_all(&shared, &listener))?);
        }
        Ok(server)
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The TCP port, if there is one.
    pub fn port(&self) -> Option<u16> {
        self.addresses.first().map(SocketAddr::port)
    }

    /// Waits for a request to stop.
    pub fn wait_for_shutdown_request(&self) {
        self.shared.wait_for_shutdown_request();
    }

    /// Stops listening, waits for the clients to leave, and returns when they have.
    pub fn stop(self) {
        self.shared.stop();
        for listener in &self.listeners {
            // This ends `accept` in its thread.
            let _ = match &**listener {
                Listener::Tcp(listener) => rustix::net::shutdown(listener, Shutdown::Both),
                Listener::Unix(listener) => rustix::net::shutdown(listener, Shutdown::Both),
            };
        }
        for thread in self.threads {
            let _ = thread.join();
        }
        if let Some(socket) = &self.socket {
            let _ = fs::remove_file(socket);
        }
        let deadline = Instant::now() + FAREWELL;
        while self.shared.live_count() > 0 {
            // Again and again: a client may have been just about to log in.
            self.shared.instance.processes.kill_all();
            if Instant::now() > deadline {
                warn!("{} connections did not end in time", self.shared.live_count());
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn listen_tcp(options: &Options) -> io::Result<Vec<TcpListener>> {
    if options.addresses.is_empty() {
        return Ok(Vec::new());
    }
    let ports = options.port..=options.port.saturating_add(options.port_tries.max(1) - 1);
    let mut last = None;
    for port in ports {
        let bound: io::Result<Vec<TcpListener>> =
            options.addresses.iter().map(|&address| TcpListener::bind(SocketAddr::new(address, port))).collect();
        match bound {
            Ok(listeners) => return Ok(listeners),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some((port, error)),
            Err(error) => return Err(explain(error, format_args!("cannot listen on port {port}"))),
        }
    }
    let (port, error) = last.expect("at least one port was tried");
    Err(explain(error, format_args!("port {port} is taken. Is another server running there? Use --port")))
}

/// Binds the socket file. One that a dead server left behind is replaced; a living server's is not.
fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    if let Ok(facts) = fs::symlink_metadata(path) {
        if !facts.file_type().is_socket() {
            let message = format!("{} exists and is not a socket", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        if UnixStream::connect(path).is_ok() {
            let message = format!("another server is listening on socket {}", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)
        .map_err(|error| explain(error, format_args!("cannot listen on socket {}", path.display())))?;
    // Accounts decide which clients may log in, as in MySQL.
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
    Ok(listener)
}

fn explain(error: io::Error, what: std::fmt::Arguments<'_>) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn accept_all(shared: &Arc<Shared>, listener: &Listener) {
    loop {
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, address)| {
                // An answer is one write; waiting for more would only delay it.
                stream.set_nodelay(true)?;
                Ok((Socket::Tcp(stream), Peer::Tcp(address)))
            }),
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| (Socket::Unix(stream), Peer::Socket)),
        };
        if shared.is_stopping() {
            return;
        }
        match accepted {
            Ok((socket, peer)) => welcome(shared, socket, peer),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                // Out of descriptors, say: it may pass.
                warn!("cannot accept a connection: {error}");
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Gives the client a thread, unless there are too many.
fn welcome(shared: &Arc<Shared>, mut socket: Socket, peer: Peer) {
    let connections_max = shared.instance.variables.number("max_connections") as usize;
    let Some(live) = Live::begin(shared, connections_max, &socket, &peer) else {
        shared.instance.status.count_refused_connection();
        let refusal = Error::too_many_connections();
        let mut packets = Packets::new();
        let payload = response::Error { code: refusal.code, sqlstate: refusal.sqlstate, message: &refusal.message };
        packets.push(|out| payload.encode(false, out));
        let _ = socket.write_all(packets.bytes());
        return;
    };
    let spawned = thread::Builder::new().name("connection".to_owned()).stack_size(STACK_BYTES).spawn(move || {
        connection::serve(live, Stream::new(socket), peer);
    });
    if let Err(cause) = spawned {
        error!("cannot start a thread for a connection: {cause}");
    }
}

/// Tells where a server listens, for its "ready for connections" line.
impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let socket = self.socket.as_ref().map_or(String::new(), |path| path.display().to_string());
        write!(f, "socket: '{socket}'  port: {}", self.port().unwrap_or(0))
    }
}
