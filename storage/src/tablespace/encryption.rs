//! Keys of encrypted tablespaces, and the file in which their master keys are kept.
//!
//! ```text
//!   key ring (a file outside of the tablespaces)       page 0 of t.ibd                    pages 1.. of t.ibd
//!   INNODBKey-<uuid>-1  <master key>                   made by ...-2: [wrapped key] --+
//!   INNODBKey-<uuid>-2  <master key> ---unwraps-----------------^                     +--> AES-256-CBC
//! ```
//!
//! A file has one key for its whole life; so its pages are never encrypted anew, and a table changes between plain and
//! encrypted by a rebuild. `format::transform::encryption` has the bytes.
//!
//! *Rotation* makes a new master key and wraps every file's key with it, one redo-logged change of each page 0. Old
//! master keys stay in the ring, so a crash may interrupt this anywhere: each file names the master key that it needs.
//! The next start wraps the remaining keys.
//!
//! The ring is a text file with a line per key. It is read when the first key is needed, created when the first table
//! is encrypted, and replaced as a whole:
//!
//! ```text
//! # lines that begin with # mean nothing
//! INNODBKey-4c1d2f6e-0f1c-4f3a-9c43-8f5f3b3f9d11-1 <64 hexadecimal digits> <CRC-32C of what stands before it, 8 digits>
//! ```
//!
//! Invariants:
//!
//! * A master key is durable in the ring before it wraps a key, and is never removed by us.
//! * The ring is readable by its owner only, from before the first key is in it.
//! * A file's key is available before its pages are read or written: opening an encrypted file without its key fails.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use format::checksum::crc32c;
use format::page::space::{self as layout, Flags};
pub use format::transform::encryption::KeyInfo;
use format::transform::encryption::{MASTER_KEY_BYTES, MasterKey, PageKey, SECRET_BYTES, UUID_BYTES};
use zeroize::Zeroizing;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::io::{Caching, Disk, OpenMode};
use crate::sync::{Mutex, Rank};

const NAME_PREFIX: &str = "INNODBKey-";

/// Instances without a server UUID make keys under this name.
const NO_UUID: [u8; UUID_BYTES] = *b"00000000-0000-0000-0000-000000000000";

/// A larger file is not a key ring.
const RING_BYTES_MAX: u64 = 16 << 20;

const COMMENT: &str = "\
# Master keys of encrypted tables. Whoever has this file and the tables can read them; without it nobody can.
# Keep a copy in another place than the copies of the tables.
";

/// A master key and its name.
#[derive(Clone, Debug)]
struct Named {
    server_uuid: [u8; UUID_BYTES],
    number: u32,
    key: Arc<MasterKey>,
}

/// The key of one open tablespace.
#[derive(Debug)]
pub struct SpaceKey {
    pub(super) page_key: PageKey,
    /// As page 0 has it, or will have it.
    info: Mutex<KeyInfo>,
}

impl SpaceKey {
    fn new(page_key: PageKey, info: KeyInfo) -> SpaceKey {
        SpaceKey { page_key, info: Mutex::new(Rank::Leaf, info) }
    }

    pub fn info(&self) -> KeyInfo {
        *self.info.lock()
    }

    /// Page 0 has another wrapping of the same key now.
    pub fn set_info(&self, info: KeyInfo) {
        *self.info.lock() = info;
    }
}

/// The master keys; see the module header.
pub struct KeyRing {
    disk: Arc<dyn Disk>,
    path: String,
    server_uuid: [u8; UUID_BYTES],
    /// `None` until a key was needed.
    keys: Mutex<Option<Vec<Named>>>,
}

impl KeyRing {
    pub fn new(disk: Arc<dyn Disk>, config: &Config) -> KeyRing {
        let server_uuid = config.server_uuid.as_bytes().try_into().unwrap_or(NO_UUID);
        KeyRing { disk, path: config.keyring_file.clone(), server_uuid, keys: Mutex::new(Rank::Space, None) }
    }

    /// The ring's file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A random key for a new file, wrapped by the newest master key. The first call of all creates the ring.
    pub fn make_key(&self, file: &str) -> Result<SpaceKey> {
        let master = self.newest(file)?;
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        self.disk.random(&mut *secret).map_err(Error::io("ask for random bytes"))?;
        let page_key = PageKey::new(secret);
        let info = master.key.wrap(&page_key, master.number, master.server_uuid);
        Ok(SpaceKey::new(page_key, info))
    }

    /// The key of an existing file, unwrapped from its page 0.
    pub fn open_key(&self, file: &str, info: KeyInfo) -> Result<SpaceKey> {
        let name = info.master_key_name();
        let find = |keys: &[Named]| {
            let found = keys.iter().find(|key| key.number == info.master_key && key.server_uuid == info.server_uuid);
            found.map(|named| named.key.clone())
        };
        let mut keys = self.keys.lock();
        let mut found = keys.as_deref().and_then(find);
        if found.is_none() {
            // The operator may have added it since.
            let read = self.read(file, &name)?;
            found = find(&read);
            *keys = Some(read);
        }
        drop(keys);
        let master = found.ok_or_else(|| self.unavailable(file, &name, "there is no key of that name"))?;
        let page_key = master.unwrap(&info).map_err(|_| {
            self.unavailable(file, &name, "it is not the key by which the table was encrypted, or page 0 is damaged")
        })?;
        Ok(SpaceKey::new(page_key, info))
    }

    /// Adds a new master key, which wraps all keys from here on.
    pub fn rotate(&self) -> Result<()> {
        let what = "the rotation of the master key";
        let mut keys = self.keys.lock();
        let mut all = self.read_or_none(what)?;
        self.add_key(&mut all)?;
        *keys = Some(all);
        Ok(())
    }

    /// The key of an open file, wrapped by this server's newest master key; `None` if it is so already, or if there is no
    /// master key of this server: a tool that opens another server's directory leaves its keys as they are.
    pub fn rewrap(&self, file: &str, key: &SpaceKey) -> Result<Option<KeyInfo>> {
        let mut keys = self.keys.lock();
        let Some(newest) = self.own_newest(&mut keys, file)? else { return Ok(None) };
        drop(keys);
        let info = key.info();
        if info.master_key == newest.number && info.server_uuid == newest.server_uuid {
            return Ok(None);
        }
        Ok(Some(newest.key.wrap(&key.page_key, newest.number, newest.server_uuid)))
    }

    /// This server's newest master key, created at the first call.
    fn newest(&self, file: &str) -> Result<Named> {
        let mut keys = self.keys.lock();
        match self.own_newest(&mut keys, file)? {
            Some(newest) => Ok(newest),
            None => self.add_key(keys.get_or_insert_default()),
        }
    }

    fn own_newest(&self, keys: &mut Option<Vec<Named>>, file: &str) -> Result<Option<Named>> {
        let all = match keys {
            Some(all) => all,
            none => none.insert(self.read_or_none(file)?),
        };
        let own = all.iter().filter(|key| key.server_uuid == self.server_uuid);
        Ok(own.max_by_key(|key| key.number).cloned())
    }

    /// Makes the next master key; durable on return.
    fn add_key(&self, keys: &mut Vec<Named>) -> Result<Named> {
        let own = keys.iter().filter(|key| key.server_uuid == self.server_uuid);
        let number = own.map(|key| key.number).max().unwrap_or(0) + 1;
        let mut bytes = Zeroizing::new([0; MASTER_KEY_BYTES]);
        self.disk.random(&mut *bytes).map_err(Error::io("ask for random bytes"))?;
        let named = Named { server_uuid: self.server_uuid, number, key: Arc::new(MasterKey::new(bytes)) };
        let mut text = Zeroizing::new(String::from(COMMENT));
        for key in keys.iter().chain([&named]) {
            write_line(key, &mut text);
        }
        self.replace(text.as_bytes()).map_err(Error::io("write the key ring"))?;
        tracing::info!("made master key {} in {}", name_of(&named), self.path);
        keys.push(named.clone());
        Ok(named)
    }

    /// Writes the ring under another name, and renames it.
    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let beside = format!("{}.new", self.path);
        if self.disk.exists(&beside)? {
            self.disk.remove(&beside)?;
        }
        let file = self.disk.open(&beside, OpenMode::Create, Caching::Cached)?;
        self.disk.restrict(&beside)?;
        file.write_durably(0, text)?;
        drop(file);
        self.disk.rename(&beside, &self.path)?;
        self.disk.sync_directory(crate::io::parent(&self.path))
    }

    /// The keys, for `file`; none if there is no ring yet.
    fn read_or_none(&self, file: &str) -> Result<Vec<Named>> {
        match self.disk.exists(&self.path) {
            Ok(false) => Ok(Vec::new()),
            _ => self.read(file, ""),
        }
    }

    /// The keys, for `file` and its master key. A failure of the device is an error like that of any other read.
    fn read(&self, file: &str, name: &str) -> Result<Vec<Named>> {
        let unavailable = |cause: &str| self.unavailable(file, name, cause);
        let failed = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => unavailable("there is no such file"),
            io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
                unavailable(&cause.to_string())
            }
            _ => Error::from_io("read the key ring", cause),
        };
        let ring = self.disk.open(&self.path, OpenMode::Read, Caching::Cached).map_err(failed)?;
        let bytes = ring.len().map_err(failed)?;
        if bytes > RING_BYTES_MAX {
            return Err(unavailable("it is too large for a key ring"));
        }
        let mut text = Zeroizing::new(vec![0; bytes as usize]);
        ring.read_at(0, &mut text).map_err(failed)?;
        parse(&text).map_err(|cause| unavailable(&cause))
    }

    fn unavailable(&self, file: &str, name: &str, cause: &str) -> Error {
        let key = if name.is_empty() { "a master key".to_owned() } else { format!("master key {name}") };
        Error::KeyUnavailable(format!("{file} needs {key} of key ring {}: {cause}", self.path).into())
    }
}

fn name_of(key: &Named) -> String {
    format!("{NAME_PREFIX}{}-{}", String::from_utf8_lossy(&key.server_uuid), key.number)
}

fn write_line(key: &Named, out: &mut String) {
    let mut line = Zeroizing::new(name_of(key));
    line.push(' ');
    for byte in key.key.bytes() {
        let _ = write!(line, "{byte:02x}");
    }
    let _ = writeln!(out, "{} {:08x}", line.as_str(), crc32c(line.as_bytes()));
}

/// Reads a key ring. The error names the line.
fn parse(text: &[u8]) -> Result<Vec<Named>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not a text file")?;
    let mut keys: Vec<Named> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let key = parse_line(line).ok_or_else(|| format!("its line {} is damaged", index + 1))?;
        keys.push(key);
    }
    Ok(keys)
}

fn parse_line(line: &str) -> Option<Named> {
    let (before, checksum) = line.rsplit_once(' ')?;
    if u32::from_str_radix(checksum, 16).ok()? != crc32c(before.as_bytes()) {
        return None;
    }
    let (name, digits) = before.split_once(' ')?;
    let (server_uuid, number) = name.strip_prefix(NAME_PREFIX)?.rsplit_once('-')?;
    if digits.len() != 2 * MASTER_KEY_BYTES || !digits.is_ascii() {
        return None;
    }
    let mut key = Zeroizing::new([0; MASTER_KEY_BYTES]);
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(Named {
        server_uuid: server_uuid.as_bytes().try_into().ok()?,
        number: number.parse().ok()?,
        key: Arc::new(MasterKey::new(key)),
    })
}

/// For tools: the key of a file, from the text of a key ring.
pub fn find_key(text: &[u8], info: &KeyInfo) -> Result<PageKey, String> {
    let name = info.master_key_name();
    let keys = parse(text)?;
    let named = keys.iter().find(|key| name_of(key) == name).ok_or_else(|| format!("there is no {name}"))?;
    named.key.unwrap(info).map_err(|_| format!("{name} is not the key by which the file was encrypted"))
}

/// For fuzzing: whether a key ring can be read, and how many keys it has.
pub fn count_keys(text: &[u8]) -> Result<usize, String> {
    parse(text).map(|keys| keys.len())
}

/// The key entry on an existing file's page 0. The sectors that contain it are whole, even if the page is torn.
pub fn read_info(disk: &dyn Disk, path: &str, page_bytes: usize) -> Result<Option<KeyInfo>> {
    let file = disk.open(path, OpenMode::Read, Caching::Cached).map_err(Error::io("open a tablespace"))?;
    let mut page = vec![0; page_bytes];
    file.read_at(0, &mut page).map_err(Error::io("read a page"))?;
    Ok(KeyInfo::read(&page))
}

/// Writes an encrypted file's key entry to its first page 0.
pub(super) fn mark(page: &mut [u8], info: &KeyInfo) {
    let flags = Flags::dynamic(page.len()).encrypted();
    page[layout::FLAGS..layout::FLAGS + 4].copy_from_slice(&flags.0.to_be_bytes());
    let offset = KeyInfo::offset(page.len());
    page[offset..offset + KeyInfo::BYTES].copy_from_slice(&info.to_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    fn ring(disk: &SimDisk) -> KeyRing {
        KeyRing::new(Arc::new(disk.clone()), &Config::tiny())
    }

    #[test]
    fn a_key_is_found_again_by_its_name() {
        let disk = SimDisk::new(1);
        let first = ring(&disk).make_key("a.ibd").unwrap();
        let other = ring(&disk);
        let found = other.open_key("a.ibd", first.info()).unwrap();
        assert_eq!(found.info(), first.info());
        // A second key, wrapped by the same master key, differs.
        let second = other.make_key("b.ibd").unwrap();
        assert_eq!(second.info().master_key, 1);
        assert_ne!(second.info(), first.info());
    }

    #[test]
    fn rotation_keeps_the_old_key_and_wraps_by_the_new() {
        let disk = SimDisk::new(1);
        let ring = ring(&disk);
        let key = ring.make_key("a.ibd").unwrap();
        assert_eq!(ring.rewrap("a.ibd", &key).unwrap(), None);
        ring.rotate().unwrap();
        let info = ring.rewrap("a.ibd", &key).unwrap().unwrap();
        assert_eq!((key.info().master_key, info.master_key), (1, 2));
        for info in [key.info(), info] {
            assert!(KeyRing::new(Arc::new(disk.clone()), &Config::tiny()).open_key("a.ibd", info).is_ok());
        }
    }

    #[test]
    fn another_server_leaves_the_keys_as_they_are() {
        let disk = SimDisk::new(1);
        let key = ring(&disk).make_key("a.ibd").unwrap();
        let config = Config { server_uuid: "11111111-1111-4111-8111-111111111111".into(), ..Config::tiny() };
        let other = KeyRing::new(Arc::new(disk.clone()), &config);
        assert_eq!(other.rewrap("a.ibd", &other.open_key("a.ibd", key.info()).unwrap()).unwrap(), None);
        other.make_key("b.ibd").unwrap();
        assert!(other.rewrap("a.ibd", &key).unwrap().is_some());
        assert!(ring(&disk).open_key("a.ibd", key.info()).is_ok());
    }

    #[test]
    fn a_ring_that_is_gone_or_damaged_is_named() {
        let disk = SimDisk::new(1);
        let info = ring(&disk).make_key("d/a.ibd").unwrap().info();
        let message = |disk: &SimDisk| match ring(disk).open_key("d/a.ibd", info).unwrap_err() {
            Error::KeyUnavailable(what) => what,
            other => panic!("{other}"),
        };
        let file = disk.open("keyring", OpenMode::ReadWrite, Caching::Cached).unwrap();
        let mut text = vec![0; file.len().unwrap() as usize];
        file.read_at(0, &mut text).unwrap();
        let digit = text.len() - 20;
        file.write_at(digit as u64, if text[digit] == b'0' { b"1" } else { b"0" }).unwrap();
        assert!(message(&disk).ends_with("key ring keyring: its line 3 is damaged"), "{}", message(&disk));
        disk.remove("keyring").unwrap();
        let name = info.master_key_name();
        assert_eq!(
            &*message(&disk),
            format!("d/a.ibd needs master key {name} of key ring keyring: there is no such file")
        );
        // A ring that has other keys of the same name.
        ring(&disk).make_key("b.ibd").unwrap();
        assert!(message(&disk).contains("not the key by which the table was encrypted"));
    }

    #[test]
    fn a_ring_that_cannot_be_read_now_is_an_io_error() {
        let disk = SimDisk::new(1);
        let info = ring(&disk).make_key("d/a.ibd").unwrap().info();
        let ring = ring(&disk);
        let next = disk.reads() + 1;
        disk.set_faults(|faults| faults.failing_read = Some(next));
        assert!(matches!(ring.open_key("d/a.ibd", info), Err(Error::Io { .. })));
        assert!(ring.open_key("d/a.ibd", info).is_ok());
    }

    #[test]
    fn a_crash_while_the_ring_is_replaced_loses_no_key() {
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            let key = ring(&disk).make_key("a.ibd").unwrap();
            let crash_at = disk.changes() + 1 + seed % 8;
            disk.set_faults(|faults| faults.crash_at = Some(crash_at));
            let rotated = ring(&disk).rotate();
            let disk = disk.crash();
            let ring = ring(&disk);
            assert!(ring.open_key("a.ibd", key.info()).is_ok(), "{seed}");
            let newest = ring.make_key("b.ibd").unwrap().info().master_key;
            assert!(newest == 2 || newest == 1 && rotated.is_err(), "{seed}");
            ring.rotate().unwrap();
        }
    }
}
