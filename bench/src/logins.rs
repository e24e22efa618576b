//! What a stranger learns by measuring failed logins: the server is asked with wrong passwords for accounts that exist and
//! for names that do not, in random order, and answers each with the same error. How long an answer takes is compared: if
//! it told nothing, the answer for an account would take longer than that for another name in half of all pairs.
//!
//! Names without an account are answered by a plugin that their name decides on; the figures are apart for each plugin.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use comfy_table::Table;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::process::{Kind, Options, Scratch, Server};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Failed logins, half of them for accounts that exist.
    #[arg(long, default_value_t = 4000)]
    pub attempts: u32,
    #[arg(long)]
    pub seed: Option<u64>,
}

const PLUGINS: [&str; 2] = ["mysql_native_password", "caching_sha2_password"];
/// Protocol 4.1, secure connection, plugins.
const FLAGS: u32 = 0x200 | 0x8000 | 0x8_0000;
const ACCESS_DENIED: u16 = 1045;

struct Conversation(UnixStream);

impl Conversation {
    fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.0.read_exact(&mut header)?;
        let mut body = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.0.read_exact(&mut body)?;
        Ok((header[3], body))
    }

    fn write(&mut self, sequence: u8, body: &[u8]) -> io::Result<()> {
        let mut packet = (body.len() as u32).to_le_bytes().to_vec();
        packet[3] = sequence;
        packet.extend_from_slice(body);
        self.0.write_all(&packet)
    }
}

/// Fails to log in: by which plugin, and how long it took to hear of it.
fn attempt(socket: &Path, user: &str) -> io::Result<(usize, Duration)> {
    let mut conversation = Conversation(UnixStream::connect(socket)?);
    conversation.0.set_read_timeout(Some(Duration::from_secs(60)))?;
    conversation.read()?;
    let mut body = FLAGS.to_le_bytes().to_vec();
    body.extend_from_slice(&(1u32 << 24).to_le_bytes());
    body.push(45);
    body.extend_from_slice(&[0; 23]);
    body.extend_from_slice(user.as_bytes());
    body.extend_from_slice(&[0, 20]);
    body.extend_from_slice(&[7; 20]);
    body.extend_from_slice(b"mysql_native_password\0");
    let mut plugin = 0;
    let begin = Instant::now();
    conversation.write(1, &body)?;
    loop {
        let (sequence, answer) = conversation.read()?;
        let sequence = sequence.wrapping_add(1);
        match answer[..] {
            [0xfe, ref name @ ..] => {
                plugin = PLUGINS.iter().position(|known| name.starts_with(known.as_bytes())).unwrap_or_default();
                conversation.write(sequence, &[7; 32])?;
            }
            // The password itself is wanted.
            [1, 4, ..] => conversation.write(sequence, b"wrong password\0")?,
            [0xff, low, high, ..] if u16::from_le_bytes([low, high]) == ACCESS_DENIED => {
                return Ok((plugin, begin.elapsed()));
            }
            _ => return Err(io::Error::other(format!("{user}: {:?}", String::from_utf8_lossy(&answer)))),
        }
    }
}

/// In how many of all pairs the first takes longer, ties counted half: 0.5 tells nothing.
fn share_of_longer(first: &[Duration], second: &[Duration]) -> f64 {
    let mut all: Vec<(Duration, bool)> = first.iter().map(|&took| (took, true)).collect();
    all.extend(second.iter().map(|&took| (took, false)));
    all.sort_unstable();
    let mut shorter = 0.0;
    let mut pairs = 0.0;
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let seconds = group.iter().filter(|(_, is_first)| !is_first).count() as f64;
        let firsts = group.len() as f64 - seconds;
        pairs += firsts * (shorter + seconds / 2.0);
        shorter += seconds;
    }
    pairs / (first.len() * second.len()) as f64
}

fn quantile(sorted: &[Duration], share: f64) -> String {
    let at = (sorted.len() as f64 * share) as usize;
    format!("{:.0}", sorted[at.min(sorted.len() - 1)].as_secs_f64() * 1e6)
}

/// `bench logins`
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let mut random = StdRng::seed_from_u64(seed);
    let scratch = Scratch::new("logins")?;
    let server = Server::create(Kind::Glassine, &scratch.0.join("glassine"), &Options::default())?;
    let mut root = server.connect().map_err(|error| io::Error::other(error.to_string()))?;
    for (at, plugin) in PLUGINS.iter().enumerate() {
        for n in 0..4 {
            let statement = format!("CREATE USER known{at}{n}@'%' IDENTIFIED WITH {plugin} BY 'the right one'");
            root.query(&statement).map_err(|error| io::Error::other(error.to_string()))?;
        }
    }
    let mut took: [[Vec<Duration>; 2]; 2] = Default::default();
    for _ in 0..arguments.attempts {
        let is_known = random.random::<bool>();
        let number: u32 = random.random_range(0..8);
        let user = if is_known { format!("known{}{}", number & 1, number >> 1) } else { format!("other{number:02}") };
        let (plugin, time) = attempt(&server.socket, &user)?;
        took[plugin][usize::from(is_known)].push(time);
    }
    let mut table = Table::new();
    table.set_header(["plugin", "name", "logins", "median us", "90% us", "an account takes longer"]);
    for (plugin, [unknown, known]) in PLUGINS.iter().zip(&mut took) {
        if unknown.is_empty() || known.is_empty() {
            continue;
        }
        let share = format!("in {:.1}% of pairs", share_of_longer(known, unknown) * 100.0);
        for (what, times, share) in [("an account", known, &share[..]), ("none", unknown, "")] {
            times.sort_unstable();
            let count = times.len().to_string();
            table.add_row([plugin, what, &count, &quantile(times, 0.5), &quantile(times, 0.9), share]);
        }
    }
    println!("seed {seed}\n{table}");
    Ok(())
}
