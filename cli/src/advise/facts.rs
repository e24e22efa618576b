//! The facts about a data directory's filesystem and device, from the kernel, sysfs, and ZFS's own tools.
//!
//! A fact that is not available (no such file, no such tool, no permission) is `None` or empty, and no rule uses it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use sql::variables::GlobalVariables;
use storage::io::linux::LinuxDisk;
use storage::io::{Caching, Disk, OpenMode, Punching};
use storage::redo::LogFile;

/// See the module header.
#[derive(Clone, Debug)]
pub struct Facts {
    pub datadir: String,
    // The server.
    pub page_bytes: u64,
    pub pool_bytes: u64,
    pub log_bytes: u64,
    /// Data files bypass the page cache.
    pub direct_io: bool,
    // The filesystem.
    pub filesystem: String,
    pub mount_point: String,
    /// Device, dataset or share.
    pub source: String,
    pub mount_options: Vec<String>,
    /// What it allocates and frees at a time.
    pub block_bytes: u64,
    /// What it says its block is.
    pub said_block_bytes: u64,
    pub punching: Punching,
    pub copy_on_write: bool,
    /// Untorn writes, as promised for a file here.
    pub atomic_write: Option<(u64, u64)>,
    pub total_bytes: u64,
    pub free_bytes: u64,
    /// Share of inodes that are free, where they are counted.
    pub free_inodes_pct: Option<f64>,
    pub device: Option<Device>,
    pub zfs: Option<Zfs>,
    // The machine.
    pub memory_bytes: u64,
    pub swappiness: Option<u64>,
}

/// A block device, from `/sys/class/block/NAME/queue`.
#[derive(Clone, Debug, Default)]
pub struct Device {
    pub name: String,
    pub rotational: bool,
    /// It takes discards.
    pub discards: bool,
    /// Allocates only what is written: a thin LVM volume.
    pub thin: bool,
    /// Largest untorn write of the device; 0 if it has none.
    pub atomic_write_bytes: u64,
}

/// A ZFS dataset and its pool.
#[derive(Clone, Debug)]
pub struct Zfs {
    pub dataset: String,
    pub record_bytes: u64,
    /// `off`, `lz4`, ...
    pub compression: String,
    /// `all`, `metadata`, `none`.
    pub primary_cache: String,
    /// `latency`, `throughput`.
    pub log_bias: String,
    /// `standard`, `always`, `disabled`.
    pub sync: String,
    pub has_log_device: Option<bool>,
    pub has_cache_device: Option<bool>,
    /// Module parameters.
    pub arc_max_bytes: Option<u64>,
    pub prefetch_disabled: Option<bool>,
    pub no_cache_flush: Option<bool>,
}

impl Zfs {
    pub fn pool(&self) -> &str {
        self.dataset.split('/').next().unwrap_or_default()
    }
}

impl Facts {
    pub fn has_option(&self, wanted: &str) -> bool {
        self.mount_options.iter().any(|option| option == wanted)
    }

    /// The value of `name=value` among the mount options.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.mount_options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// Names and values, for JSON.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![
            ("datadir", self.datadir.clone()),
            ("filesystem", self.filesystem.clone()),
            ("mount_point", self.mount_point.clone()),
            ("source", self.source.clone()),
            ("mount_options", self.mount_options.join(",")),
            ("page_bytes", self.page_bytes.to_string()),
            ("block_bytes", self.block_bytes.to_string()),
            ("punching", punching(self.punching).to_string()),
            ("copy_on_write", self.copy_on_write.to_string()),
            ("atomic_write", atomic_write(self.atomic_write)),
            ("total_bytes", self.total_bytes.to_string()),
            ("free_bytes", self.free_bytes.to_string()),
            ("memory_bytes", self.memory_bytes.to_string()),
            ("pool_bytes", self.pool_bytes.to_string()),
        ];
        if let Some(device) = &self.device {
            pairs.push(("device", device.name.clone()));
            pairs.push(("rotational", device.rotational.to_string()));
        }
        if let Some(zfs) = &self.zfs {
            pairs.push(("zfs_recordsize", zfs.record_bytes.to_string()));
            pairs.push(("zfs_compression", zfs.compression.clone()));
        }
        pairs
    }
}

/// What was found, in a few lines.
impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: u64| bytes / 1024;
        writeln!(f, "{}: {} on {}, mounted at {}", self.datadir, self.filesystem, self.source, self.mount_point)?;
        writeln!(
            f,
            "  pages of {} KiB, blocks of {} KiB; punching {}; untorn writes: {}; copy on write: {}",
            kib(self.page_bytes),
            self.block_bytes as f64 / 1024.0,
            punching(self.punching),
            atomic_write(self.atomic_write),
            if self.copy_on_write { "yes" } else { "no" }
        )?;
        write!(
            f,
            "  {} of {} free; {} of memory, buffer pool {}",
            size(self.free_bytes),
            size(self.total_bytes),
            size(self.memory_bytes),
            size(self.pool_bytes)
        )
    }
}

fn punching(punching: Punching) -> &'static str {
    match punching {
        Punching::Frees => "frees blocks",
        Punching::Unsupported => "is not supported",
        Punching::FreesNothing => "frees nothing",
    }
}

fn atomic_write(atomic_write: Option<(u64, u64)>) -> String {
    atomic_write.map_or("none".into(), |(min, max)| format!("{min} to {max} bytes"))
}

/// A size as people say it.
pub fn size(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} bytes"),
        _ if value >= 10.0 || value.fract() < 0.05 => format!("{value:.0} {}", units[unit]),
        _ => format!("{value:.1} {}", units[unit]),
    }
}

/// Asks for everything. The directory must exist; it may be in use.
pub fn gather(datadir: &Path, globals: &GlobalVariables) -> Result<Facts, String> {
    let real = fs::canonicalize(datadir).map_err(|cause| cause.to_string())?;
    let disk = LinuxDisk::new(&real);
    let direct_io = globals.text("innodb_flush_method").contains("O_DIRECT");
    let file = probe(&disk, direct_io).map_err(|cause| format!("cannot try the filesystem out: {cause}"))?;
    let space = rustix::fs::statvfs(&real).map_err(|cause| cause.to_string())?;
    let mount = Mount::of(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(), &real).unwrap_or_default();
    let zfs = (file.filesystem == "zfs").then(|| zfs(&mount.source)).flatten();
    Ok(Facts {
        datadir: real.display().to_string(),
        // A directory that is not initialised yet has the page size that it would get.
        page_bytes: LogFile::page_bytes(&disk).map_or(globals.number("innodb_page_size"), |bytes| bytes as u64),
        pool_bytes: globals.number("innodb_buffer_pool_size"),
        log_bytes: globals.number("innodb_log_file_size"),
        direct_io,
        filesystem: match file.filesystem {
            "unknown" if !mount.filesystem.is_empty() => mount.filesystem,
            known => known.to_owned(),
        },
        mount_point: mount.point,
        device: device(&mount.source),
        source: mount.source,
        mount_options: mount.options,
        block_bytes: file.block_bytes as u64,
        said_block_bytes: space.f_bsize,
        punching: file.punching,
        copy_on_write: file.copy_on_write,
        atomic_write: file.atomic_write.map(|(min, max)| (min as u64, max as u64)),
        total_bytes: space.f_blocks * space.f_frsize,
        free_bytes: space.f_bavail * space.f_frsize,
        free_inodes_pct: (space.f_files > 0).then(|| space.f_favail as f64 * 100.0 / space.f_files as f64),
        zfs,
        memory_bytes: memory(),
        swappiness: number("/proc/sys/vm/swappiness"),
    })
}

/// What a file in the directory would have; one is made and removed for it.
fn probe(disk: &LinuxDisk, direct_io: bool) -> std::io::Result<storage::io::FileFacts> {
    let name = format!("#advise-{}", std::process::id());
    let caching = if direct_io { Caching::Direct } else { Caching::Cached };
    let facts = disk.open(&name, OpenMode::Create, caching).and_then(|file| file.facts());
    disk.remove(&name)?;
    facts
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Memory of the machine, or of the container.
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let total = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024;
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    limits.iter().filter_map(|path| number(path)).filter(|limit| *limit > 0).fold(total, u64::min)
}

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mount {
    point: String,
    filesystem: String,
    source: String,
    options: Vec<String>,
}

impl Mount {
    /// The mount that a path is on: the longest mount point that leads to it; of several there, the last.
    fn of(mountinfo: &str, path: &Path) -> Option<Mount> {
        let mounts = mountinfo.lines().filter_map(Mount::parse);
        mounts.filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.len())
    }

    /// `36 35 98:0 /root /point options shared:1 - filesystem source more,options`
    fn parse(line: &str) -> Option<Mount> {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let mut right = right.split(' ');
        let (filesystem, source) = (right.next()?.to_owned(), unescape(right.next()?));
        let options = left.get(5)?.split(',').chain(right.next().unwrap_or_default().split(','));
        let options = options.filter(|option| !option.is_empty()).map(str::to_owned).collect();
        Some(Mount { point: unescape(left.get(4)?), filesystem, source, options })
    }
}

/// Spaces and the like are written as `\040`.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                out.push(code as char);
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

/// The block device of a mount's source.
fn device(source: &str) -> Option<Device> {
    let real = fs::canonicalize(source).ok().filter(|path| path.starts_with("/dev"))?;
    let name = real.file_name()?.to_str()?.to_owned();
    let sys = fs::canonicalize(format!("/sys/class/block/{name}")).ok()?;
    // A partition has the queue of its disk.
    let queue = [sys.join("queue"), sys.join("../queue")].into_iter().find(|queue| queue.is_dir())?;
    let ask = |file: &str| number(&queue.join(file).display().to_string()).unwrap_or(0);
    let thin = name.starts_with("dm-")
        && command("dmsetup", &["table", &real.display().to_string()])
            .is_some_and(|table| table.split_whitespace().nth(2) == Some("thin"));
    Some(Device {
        name,
        rotational: ask("rotational") == 1,
        discards: ask("discard_max_bytes") > 0,
        thin,
        atomic_write_bytes: ask("atomic_write_unit_max_bytes"),
    })
}

/// What a program prints, if it is there and succeeds.
fn command(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn zfs(dataset: &str) -> Option<Zfs> {
    const PROPERTIES: &str = "recordsize,compression,primarycache,logbias,sync";
    let properties = command("zfs", &["get", "-Hp", "-o", "property,value", PROPERTIES, dataset])?;
    let pool = dataset.split('/').next().unwrap_or_default();
    let pool = command("zpool", &["list", "-Hv", pool]);
    let parameter = |name: &str| number(&format!("/sys/module/zfs/parameters/{name}"));
    Some(Zfs {
        arc_max_bytes: parameter("zfs_arc_max"),
        prefetch_disabled: parameter("zfs_prefetch_disable").map(|value| value != 0),
        no_cache_flush: parameter("zfs_nocacheflush").map(|value| value != 0),
        ..parse_zfs(dataset, &properties, pool.as_deref())
    })
}

/// From the output of `zfs get -Hp -o property,value` and `zpool list -Hv`.
fn parse_zfs(dataset: &str, properties: &str, pool: Option<&str>) -> Zfs {
    let value = |name: &str| {
        let line = properties.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
        line.unwrap_or_default().trim().to_owned()
    };
    let has = |kind: &str| {
        let first = |line: &str| line.split_whitespace().next() == Some(kind);
        pool.map(|pool| pool.lines().any(first))
    };
    Zfs {
        dataset: dataset.to_owned(),
        record_bytes: value("recordsize").parse().unwrap_or(0),
        compression: value("compression"),
        primary_cache: value("primarycache"),
        log_bias: value("logbias"),
        sync: value("sync"),
        has_log_device: has("logs"),
        has_cache_device: has("cache"),
        arc_max_bytes: None,
        prefetch_disabled: None,
        no_cache_flush: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_a_path_is_the_deepest_one() {
        let mountinfo = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 22 7:0 / /srv/my\\040data rw,noatime - xfs /dev/loop0 rw,inode64
41 22 0:50 / /srv rw - btrfs /dev/loop1 rw,compress=zstd:3,space_cache=v2";
        let of = |path: &str| Mount::of(mountinfo, Path::new(path)).unwrap();
        assert_eq!((of("/srv/my data/db").filesystem.as_str(), of("/srv2").point.as_str()), ("xfs", "/"));
        assert_eq!(of("/srv/db").options, ["rw", "rw", "compress=zstd:3", "space_cache=v2"]);
        assert_eq!(of("/home").options, ["rw", "relatime", "rw", "discard"]);
    }

    #[test]
    fn zfs_is_understood() {
        let properties = "recordsize\t131072\ncompression\tlz4\nprimarycache\tall\nlogbias\tlatency\nsync\tstandard\n";
        let pool = "tank\t10G\t1G\t9G\n\tmirror-0\t10G\nlogs\t-\t-\n\tnvme0n1\t5G\n";
        let zfs = parse_zfs("tank/db", properties, Some(pool));
        assert_eq!((zfs.record_bytes, zfs.compression.as_str(), zfs.pool()), (131072, "lz4", "tank"));
        assert_eq!((zfs.has_log_device, zfs.has_cache_device), (Some(true), Some(false)));
        assert_eq!(parse_zfs("tank", "", None).has_log_device, None);
    }

    #[test]
    fn sizes_are_said_shortly() {
        assert_eq!([size(512), size(1536), size(16384), size(3 << 30)], ["512 bytes", "1.5 KiB", "16 KiB", "3 GiB"]);
    }
}
