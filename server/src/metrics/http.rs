//! HTTP for two kinds of clients, Prometheus and a browser: GET without a body, one answer per connection.
//!
//! Nobody logs in here. So the port is off unless asked for, it answers facts and never takes orders, and a server on the
//! loopback interface answers only under a loopback name: otherwise a page in the user's browser could read it through a
//! name that it controls.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::Shutdown;
use tracing::warn;

/// A request's head may have so many bytes, and so much time.
const HEAD_BYTES_MAX: usize = 8 << 10;
const TIME_MAX: Duration = Duration::from_secs(5);
/// More clients at once are turned away.
const CLIENTS_MAX: usize = 8;

/// What is sent back.
pub struct Answer {
    pub status: &'static str,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn new(content_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: "200 OK", content_type, body: body.into() }
    }

    pub fn refusal(status: &'static str) -> Answer {
        Answer { status, content_type: "text/plain; charset=utf-8", body: format!("{status}\n").into_bytes() }
    }
}

/// What is asked for: `/map.json?space=7` is ("/map.json", "space=7").
pub struct Request<'a> {
    pub path: &'a str,
    pub query: &'a str,
}

type Handler = dyn Fn(&Request<'_>) -> Answer + Send + Sync;

/// A listening port.
pub struct Http {
    pub address: SocketAddr,
    listener: Arc<TcpListener>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Http {
    pub fn start(address: SocketAddr, handler: Arc<Handler>) -> io::Result<Http> {
        let listener = Arc::new(TcpListener::bind(address)?);
        let address = listener.local_addr()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let thread = {
            let (listener, stopping) = (listener.clone(), stopping.clone());
            thread::Builder::new().name("metrics".to_owned()).spawn(move || accept(&listener, &stopping, &handler))?
        };
        Ok(Http { address, listener, stopping, thread: Some(thread) })
    }
}

impl Drop for Http {
    /// Returns when no thread uses the handler any more.
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // This ends `accept` in its thread.
        let _ = rustix::net::shutdown(&*self.listener, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, stopping: &AtomicBool, handler: &Arc<Handler>) {
    let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let clients = Arc::new(AtomicUsize::new(0));
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !stopping.load(Ordering::Acquire) {
        let accepted = listener.accept();
        threads.retain(|thread| !thread.is_finished());
        match accepted {
            _ if stopping.load(Ordering::Acquire) => break,
            Ok((mut stream, _)) if clients.load(Ordering::Acquire) >= CLIENTS_MAX => {
                let _ = send(&mut stream, &Answer::refusal("503 Service Unavailable"), true);
            }
            Ok((mut stream, _)) => {
                clients.fetch_add(1, Ordering::AcqRel);
                let (handler, count) = (handler.clone(), clients.clone());
                let served = thread::Builder::new().name("metrics".to_owned()).spawn(move || {
                    // A client that went away needs no answer.
                    let _ = serve(&mut stream, is_local, &*handler);
                    count.fetch_sub(1, Ordering::AcqRel);
                });
                match served {
                    Ok(thread) => threads.push(thread),
                    Err(cause) => {
                        clients.fetch_sub(1, Ordering::AcqRel);
                        warn!("cannot start a thread for a client of the metrics: {cause}");
                    }
                }
            }
            Err(cause) => {
                warn!("cannot accept a client of the metrics: {cause}");
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn serve(stream: &mut TcpStream, is_local: bool, handler: &Handler) -> io::Result<()> {
    stream.set_write_timeout(Some(TIME_MAX))?;
    let Some(head) = read_head(stream)? else {
        return send(stream, &Answer::refusal("431 Request Header Fields Too Large"), true);
    };
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    if request.parse(&head).is_err() {
        return send(stream, &Answer::refusal("400 Bad Request"), true);
    }
    let with_body = match request.method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => return send(stream, &Answer::refusal("405 Method Not Allowed"), true),
    };
    let host = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
    if is_local && host.is_some_and(|header| !is_loopback_name(header.value)) {
        return send(stream, &Answer::refusal("403 Forbidden"), with_body);
    }
    let target = request.path.unwrap_or("/");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    send(stream, &handler(&Request { path, query }), with_body)
}

/// `None` = the head is too long.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let deadline = Instant::now() + TIME_MAX;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let bytes = stream.read(&mut part)?;
        if bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // The end may lie across two parts.
        let before = head.len().saturating_sub(3);
        head.extend_from_slice(&part[..bytes]);
        if head[before..].windows(4).any(|four| four == b"\r\n\r\n") {
            return Ok(Some(head));
        }
        if head.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
    }
}

/// `localhost:9104`, `127.0.0.1`, `[::1]:9104`.
fn is_loopback_name(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn send(stream: &mut TcpStream, answer: &Answer, with_body: bool) -> io::Result<()> {
    let mut out = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Content-Security-Policy: default-src 'self' 'unsafe-inline'; img-src data:\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len()
    )
    .into_bytes();
    if with_body {
        out.extend_from_slice(&answer.body);
    }
    stream.write_all(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn a_request_is_answered_refused_or_given_up() {
        let handler = |request: &Request<'_>| match request.path {
            "/fact" => Answer::new("text/plain", format!("<{}>", request.query)),
            _ => Answer::refusal("404 Not Found"),
        };
        let http = Http::start("127.0.0.1:0".parse().unwrap(), Arc::new(handler)).unwrap();
        let address = http.address;
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(2 * HEAD_BYTES_MAX));
        for (request, status, body) in [
            ("GET /fact?a=1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", "200", "<a=1>"),
            ("GET /fact HTTP/1.0\r\n\r\n", "200", "<>"),
            ("HEAD /fact HTTP/1.1\r\nHost: [::1]:1\r\n\r\n", "200", ""),
            ("GET /fact HTTP/1.1\r\nHost: attacker.example\r\n\r\n", "403", "403 Forbidden\n"),
            ("GET /fact HTTP/1.1\r\nHost: localhost.attacker.example\r\n\r\n", "403", "403 Forbidden\n"),
            ("GET /other HTTP/1.1\r\n\r\n", "404", "404 Not Found\n"),
            ("POST /fact HTTP/1.1\r\n\r\n", "405", "405 Method Not Allowed\n"),
            ("what is this\r\n\r\n", "400", "400 Bad Request\n"),
            (&long, "431", "431 Request Header Fields Too Large\n"),
        ] {
            // A refused head is not read to its end, and the connection may be reset then.
            if request.len() > HEAD_BYTES_MAX {
                let mut stream = TcpStream::connect(address).unwrap();
                let _ = stream.write_all(request.as_bytes());
                let mut answer = [0; 12];
                if stream.read_exact(&mut answer).is_ok() {
                    assert_eq!(&answer, format!("HTTP/1.1 {status}").as_bytes());
                }
                continue;
            }
            let answer = ask(address, request).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
            assert_eq!(answer.split_once("\r\n\r\n").unwrap().1, body, "{request}");
        }
        // Silent clients keep the others out for a few seconds at most, and do not hold up the end.
        let silent: Vec<TcpStream> = (0..CLIENTS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
        let began = Instant::now();
        // A client that is turned away may find its connection reset.
        while !ask(address, "GET /fact HTTP/1.1\r\n\r\n").is_ok_and(|answer| answer.contains(" 200 ")) {
            assert!(began.elapsed() < 2 * TIME_MAX);
            thread::sleep(Duration::from_millis(50));
        }
        drop(silent);
        drop(http);
        assert!(TcpStream::connect(address).is_err());
    }
}
