//! The rules: each looks at the facts and finds something, or nothing.
//!
//! A rule's id is for ever; `FS-01` to `FS-13` are those that InnoDB's users on ZFS have learned, the others have names.
//! They are listed in the order in which they matter to somebody who reads them all: what may lose data, what keeps
//! compression from working, what costs time, what is worth knowing.

use storage::io::Punching;

use super::facts::{Facts, Zfs, size};
use super::{Finding, Severity};

use Severity::{Critical, Info, Warning};

/// How much it matters, title, reason, command.
type Found = Option<(Severity, String, String, String)>;

/// A rule.
pub struct Rule {
    pub id: &'static str,
    check: fn(&Facts) -> Found,
}

const fn rule(id: &'static str, check: fn(&Facts) -> Found) -> Rule {
    Rule { id, check }
}

/// All rules; see the module header.
pub const RULES: &[Rule] = &[
    rule("volatile", volatile),
    rule("barriers", barriers),
    rule("FS-08", cache_flush),
    rule("zfs-sync", zfs_sync),
    rule("space", space),
    rule("inodes", inodes),
    rule("memory", memory),
    rule("shared-filesystem", shared_filesystem),
    rule("overlay", overlay),
    rule("punch", punch),
    rule("bigalloc", bigalloc),
    rule("block-size", block_size),
    rule("ntfs", ntfs),
    rule("FS-01", record_size),
    rule("FS-02", record_larger),
    rule("FS-03", record_of_the_log),
    rule("FS-04", record_before_files),
    rule("zfs-compression", zfs_compression),
    rule("FS-05", log_device),
    rule("FS-06", log_bias),
    rule("FS-07", cache_device),
    rule("FS-09", arc_size),
    rule("FS-10", primary_cache),
    rule("FS-11", prefetch),
    rule("FS-12", doublewrite_on_copy_on_write),
    rule("btrfs-compression", btrfs_compression),
    rule("btrfs-nodatacow", btrfs_nodatacow),
    rule("btrfs-fragmentation", btrfs_fragmentation),
    rule("double-caching", double_caching),
    rule("pool-size", pool_size),
    rule("swappiness", swappiness),
    rule("rotational", rotational),
    rule("thin", thin),
    rule("discard", discard),
    rule("atomic-writes", atomic_writes),
    rule("atime", atime),
    rule("FS-13", kinds_of_writes),
];

/// What there is to say, the gravest first.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES
        .iter()
        .filter_map(|rule| {
            let (severity, title, reason, command) = (rule.check)(facts)?;
            Some(Finding { rule: rule.id, severity, title, reason, command })
        })
        .collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn found(severity: Severity, title: impl Into<String>, reason: impl Into<String>, command: impl Into<String>) -> Found {
    Some((severity, title.into(), reason.into(), command.into()))
}

fn remount(facts: &Facts, options: &str) -> String {
    format!("mount -o remount,{options} {}", facts.mount_point)
}

// What may lose data

fn volatile(facts: &Facts) -> Found {
    if !matches!(facts.filesystem.as_str(), "tmpfs" | "ramfs") {
        return None;
    }
    found(
        Critical,
        "the data directory is in memory",
        format!(
            "{} on {} is gone when the machine stops, whatever was committed.",
            facts.filesystem, facts.mount_point
        ),
        format!("cp -a --sparse=always {} /var/lib/glassine", facts.datadir),
    )
}

fn barriers(facts: &Facts) -> Found {
    if !(facts.has_option("nobarrier") || facts.has_option("barrier=0")) {
        return None;
    }
    found(
        Critical,
        "the filesystem does not flush the device's cache",
        "Mounted without barriers, a sync returns before the device has the data: acknowledged commits are lost with the \
         power, and the filesystem may be damaged. Right only behind a controller whose cache has a battery.",
        remount(facts, "barrier"),
    )
}

fn cache_flush(facts: &Facts) -> Found {
    if facts.zfs.as_ref()?.no_cache_flush != Some(true) {
        return None;
    }
    found(
        Critical,
        "ZFS does not flush the devices' caches",
        "zfs_nocacheflush is set. It wins some 30 % of writes, and loses acknowledged commits and perhaps the pool with the \
         power, unless every device's cache has a battery.",
        "echo 0 > /sys/module/zfs/parameters/zfs_nocacheflush",
    )
}

fn zfs_sync(facts: &Facts) -> Found {
    let zfs = facts.zfs.as_ref().filter(|zfs| zfs.sync == "disabled")?;
    found(
        Critical,
        "ZFS ignores syncs",
        "With sync=disabled a commit is acknowledged before it is on a device: up to some seconds of commits are lost with \
         the power.",
        format!("zfs set sync=standard {}", zfs.dataset),
    )
}

fn space(facts: &Facts) -> Found {
    if facts.total_bytes == 0 {
        return None;
    }
    let share = facts.free_bytes as f64 * 100.0 / facts.total_bytes as f64;
    let severity = match () {
        () if share < 2.0 || facts.free_bytes < facts.log_bytes => Critical,
        () if share < 10.0 => Warning,
        () => return None,
    };
    found(
        severity,
        format!("{} free of {}", size(facts.free_bytes), size(facts.total_bytes)),
        "Compressed tables promise more than they occupy: their files are sparse, and a page that compresses worse than \
         before needs new blocks. On a full disk statements fail with error 1114, and a filesystem that is nearly full \
         fragments what it writes.",
        format!("df -h {0} && du -xh --max-depth=1 {0} | sort -h", facts.mount_point),
    )
}

fn inodes(facts: &Facts) -> Found {
    let share = facts.free_inodes_pct.filter(|share| *share < 5.0)?;
    found(
        Warning,
        format!("{share:.1} % of the inodes are free"),
        "Every table is a file: without an inode CREATE TABLE and ALTER TABLE fail, however much room there is.",
        format!("df -i {}", facts.mount_point),
    )
}

fn memory(facts: &Facts) -> Found {
    let share = facts.pool_bytes * 100 / facts.memory_bytes.max(1);
    let severity = match share {
        _ if facts.memory_bytes == 0 => return None,
        95.. => Critical,
        81.. => Warning,
        _ => return None,
    };
    found(
        severity,
        format!("the buffer pool takes {share} % of the memory"),
        format!(
            "{} of {}: connections, sorts and the dictionary need memory, too, and where none is left the system swaps or \
             kills the server.",
            size(facts.pool_bytes),
            size(facts.memory_bytes)
        ),
        format!("glassine serve --innodb-buffer-pool-size={}M", (facts.memory_bytes * 7 / 10) >> 20),
    )
}

fn shared_filesystem(facts: &Facts) -> Found {
    if !matches!(facts.filesystem.as_str(), "nfs" | "nfs4" | "cifs" | "smb" | "smb3" | "9p" | "ceph" | "glusterfs") {
        return None;
    }
    found(
        Warning,
        format!("the data directory is on {}", facts.filesystem),
        "Over a network, locks, syncs and holes are what the server at the other end makes of them; most free no blocks, and \
         a lost connection looks like a broken disk.",
        format!("cp -a --sparse=always {} /var/lib/glassine", facts.datadir),
    )
}

fn overlay(facts: &Facts) -> Found {
    if facts.filesystem != "overlay" {
        return None;
    }
    found(
        Warning,
        "the data directory is in a container's own layer",
        "It goes with the container, and a file of an image is copied whole when it is first written.",
        format!("docker run -v glassine-data:{} ...", facts.datadir),
    )
}

// What keeps compression from working

fn punch(facts: &Facts) -> Found {
    if facts.punching != Punching::Unsupported || facts.filesystem == "zfs" {
        return None;
    }
    found(
        Warning,
        format!("{} cannot punch holes", facts.filesystem),
        "A compressed page gives nothing back, so pages are stored as they are. XFS (Linux 2.6.38), ext4 (3.0), tmpfs (3.5) \
         and btrfs (3.7) can.",
        "mkfs.xfs DEVICE",
    )
}

/// ext4 with bigalloc.
fn has_clusters(facts: &Facts) -> bool {
    facts.filesystem == "ext4" && facts.block_bytes > facts.said_block_bytes
}

fn bigalloc(facts: &Facts) -> Found {
    if !has_clusters(facts) && facts.punching != Punching::FreesNothing {
        return None;
    }
    let (title, reason) = match facts.punching {
        Punching::FreesNothing => (
            "punching a hole frees nothing here".to_owned(),
            "The call succeeds and the blocks stay, as on ext4 with bigalloc, which frees whole clusters only. Pages are \
             stored as they are."
                .to_owned(),
        ),
        _ => (
            format!("ext4 allocates clusters of {}", size(facts.block_bytes)),
            format!(
                "With bigalloc only whole clusters are freed: a page of {} shrinks by {} at a time, or not at all.",
                size(facts.page_bytes),
                size(facts.block_bytes)
            ),
        ),
    };
    found(Warning, title, reason, "mkfs.ext4 -O ^bigalloc -b 4096 DEVICE")
}

fn block_size(facts: &Facts) -> Found {
    let (page, block) = (facts.page_bytes, facts.block_bytes);
    if facts.punching != Punching::Frees || facts.filesystem == "zfs" || block == 0 || has_clusters(facts) {
        return None;
    }
    if block >= page {
        let larger = format!("glassine init --datadir=DIR --innodb-page-size={}K", (block * 4).min(65536) >> 10);
        return found(
            Warning,
            format!("a block of {} is not smaller than a page", size(block)),
            "No page can become smaller by a whole block, so nothing is compressed. A larger page or a smaller block leaves \
             room for holes.",
            if block < 65536 { larger } else { "mkfs.xfs -b size=4096 DEVICE".into() },
        );
    }
    let (frees, could) = (page - block, page - page.min(1024));
    let severity = if block * 2 >= page { Warning } else { Info };
    if frees >= could {
        return None;
    }
    let command = match facts.filesystem.as_str() {
        "ext4" => "mkfs.ext4 -b 1024 DEVICE",
        "xfs" => "mkfs.xfs -b size=1024 DEVICE",
        _ => "mkfs.xfs -b size=1024 DEVICE   # btrfs has no smaller block",
    };
    found(
        severity,
        format!("blocks of {} under pages of {}", size(block), size(page)),
        format!(
            "A page that compresses to 1 KiB frees {}; with blocks of 1 KiB it would free {}. Smaller blocks cost the \
             filesystem more bookkeeping: worth it where room matters more than speed.",
            size(frees),
            size(could)
        ),
        command,
    )
}

fn ntfs(facts: &Facts) -> Found {
    if !matches!(facts.filesystem.as_str(), "ntfs" | "ntfs3" | "fuseblk") {
        return None;
    }
    found(
        Warning,
        "NTFS frees compression units of sixteen clusters",
        "With its usual clusters of 4 KiB a unit is 64 KiB, so a page of 16 KiB never frees one. The table is in \
         docs/filesystems.md.",
        "mkfs.xfs DEVICE",
    )
}

// ZFS

fn is_zfs_with(facts: &Facts, holds: impl Fn(&Zfs) -> bool) -> Option<&Zfs> {
    facts.zfs.as_ref().filter(|zfs| holds(zfs))
}

fn set_record_size(facts: &Facts, zfs: &Zfs) -> String {
    format!("zfs set recordsize={}k {}", facts.page_bytes >> 10, zfs.dataset)
}

fn record_size(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.record_bytes > 0 && zfs.record_bytes < facts.page_bytes)?;
    found(
        Warning,
        format!("the recordsize of {} is smaller than a page", zfs.dataset),
        format!(
            "A page of {} becomes {} records, each with a checksum and a block pointer of its own.",
            size(facts.page_bytes),
            facts.page_bytes / zfs.record_bytes
        ),
        set_record_size(facts, zfs),
    )
}

fn record_larger(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.record_bytes > facts.page_bytes)?;
    found(
        Warning,
        format!("the recordsize of {} is {}", zfs.dataset, size(zfs.record_bytes)),
        format!(
            "To read a page of {} ZFS reads and verifies {}, and to write one it reads the rest of the record first. Data \
             files want records of a page.",
            size(facts.page_bytes),
            size(zfs.record_bytes)
        ),
        set_record_size(facts, zfs),
    )
}

fn record_of_the_log(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.record_bytes == facts.page_bytes)?;
    found(
        Info,
        "the redo log shares the dataset of the data",
        "The log is written in sequence and in pieces of any length; records of 128 KiB would suit it better. It lies in the \
         data directory, so the page's recordsize is the better choice for the whole.",
        format!("zfs get recordsize {}", zfs.dataset),
    )
}

fn record_before_files(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.record_bytes != facts.page_bytes)?;
    found(
        Info,
        "a changed recordsize is for new files",
        format!(
            "Files keep the records they were made with. Once {} has its recordsize, write the tables anew.",
            zfs.dataset
        ),
        "mysqlcheck --optimize --all-databases",
    )
}

fn zfs_compression(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.compression == "off")?;
    found(
        Warning,
        format!("neither ZFS nor the server compresses {}", zfs.dataset),
        "A record is the unit in which ZFS frees, and it is as large as a page: the server has nothing to gain and stores \
         pages as they are. ZFS itself can compress a record.",
        format!("zfs set compression=lz4 {}", zfs.dataset),
    )
}

fn log_device(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.has_log_device == Some(false))?;
    found(
        Info,
        format!("the pool {} has no log device", zfs.pool()),
        "Commits wait for ZFS's intent log, which lies among the data. On a fast device of its own it wins 10 to 20 % of \
         read-write load.",
        format!("zpool add {} log DEVICE", zfs.pool()),
    )
}

fn log_bias(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.log_bias == "throughput")?;
    found(
        Info,
        format!("{} does not use the log device", zfs.dataset),
        "logbias=throughput sends synchronous writes past the intent log's device. For data files alone that keeps the \
         device free; but the redo log is in this dataset, too, and its syncs are what commits wait for.",
        format!("zfs set logbias=latency {}", zfs.dataset),
    )
}

fn cache_device(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.has_cache_device == Some(false))?;
    let used = facts.total_bytes.saturating_sub(facts.free_bytes);
    if used < 2 * facts.memory_bytes {
        return None;
    }
    found(
        Info,
        format!("the pool {} has no cache device", zfs.pool()),
        format!(
            "{} in use and {} of memory: a cache on flash serves what memory cannot hold.",
            size(used),
            size(facts.memory_bytes)
        ),
        format!("zpool add {} cache DEVICE", zfs.pool()),
    )
}

fn arc_size(facts: &Facts) -> Found {
    let zfs = facts.zfs.as_ref()?;
    let room = facts.memory_bytes.saturating_sub(facts.pool_bytes) / 2;
    // 0 is ZFS's own choice: half of the memory, or nearly all of it.
    let arc = zfs.arc_max_bytes.map(|bytes| if bytes == 0 { facts.memory_bytes / 2 } else { bytes })?;
    if arc <= room.max(facts.memory_bytes / 8) {
        return None;
    }
    found(
        Warning,
        format!("the ARC may take {}", size(arc)),
        format!(
            "With a buffer pool of {} that is more than there is. A page is better kept in the pool (7 to 200 % faster than \
             from the ARC), and what both keep is kept twice.",
            size(facts.pool_bytes)
        ),
        format!("echo {} > /sys/module/zfs/parameters/zfs_arc_max", room.max(facts.memory_bytes / 8)),
    )
}

fn primary_cache(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.primary_cache == "all")?;
    found(
        Info,
        format!("the ARC caches the data of {}", zfs.dataset),
        "Pages are cached twice, in the ARC and in the buffer pool. With a pool that holds the working set, the ARC needs \
         metadata only.",
        format!("zfs set primarycache=metadata {}", zfs.dataset),
    )
}

fn prefetch(facts: &Facts) -> Found {
    is_zfs_with(facts, |zfs| zfs.prefetch_disabled == Some(false) && zfs.primary_cache != "metadata")?;
    found(
        Info,
        "ZFS reads ahead",
        "The server reads ahead itself where it pays; neighbours in a file are not neighbours on the disk of a \
         copy-on-write filesystem.",
        "echo 1 > /sys/module/zfs/parameters/zfs_prefetch_disable",
    )
}

fn doublewrite_on_copy_on_write(facts: &Facts) -> Found {
    if !facts.copy_on_write {
        return None;
    }
    found(
        Info,
        "the doublewrite files are not used",
        format!(
            "{} never overwrites in place, so a page cannot be torn, and the server writes it once (some 5 % of read-write \
             load). innodb_doublewrite=ON changes nothing here.",
            facts.filesystem
        ),
        "mysql -e \"SELECT * FROM information_schema.GLASSINE_TABLESPACE_COMPRESSION\"",
    )
}

// btrfs

fn btrfs_compression(facts: &Facts) -> Found {
    if facts.filesystem != "btrfs" {
        return None;
    }
    let by = facts.option("compress-force").or(facts.option("compress"))?;
    found(
        Info,
        format!("btrfs compresses, too ({by})"),
        "What the server writes past the page cache btrfs stores as it is; with innodb_flush_method=fsync pages are \
         compressed twice, for nothing.",
        format!("btrfs property set {} compression none", facts.datadir),
    )
}

fn btrfs_nodatacow(facts: &Facts) -> Found {
    if facts.filesystem != "btrfs" || facts.copy_on_write {
        return None;
    }
    found(
        Info,
        "btrfs overwrites in place here (nodatacow)",
        "Files do not fragment, but have no checksums of btrfs's, and pages can be torn: they go through the doublewrite \
         files. The attribute is taken over by files made from now on.",
        format!("chattr -C {}", facts.datadir),
    )
}

fn btrfs_fragmentation(facts: &Facts) -> Found {
    if facts.filesystem != "btrfs" || !facts.copy_on_write {
        return None;
    }
    found(
        Info,
        "btrfs writes every page to a new place",
        "Tables that are changed a lot fragment, and btrfs keeps an old extent whole until its last block is overwritten, so \
         more may be allocated than ALLOCATED_SIZE says. Before init, nodatacow avoids both, and brings the doublewrite back.",
        format!("chattr +C {}", facts.datadir),
    )
}

// What costs time or memory

fn double_caching(facts: &Facts) -> Found {
    if facts.direct_io || matches!(facts.filesystem.as_str(), "tmpfs" | "zfs") {
        return None;
    }
    found(
        Warning,
        "pages are cached twice",
        "With innodb_flush_method=fsync every page is in the system's page cache as well as in the buffer pool, and untorn \
         writes cannot be had.",
        "glassine serve --innodb-flush-method=O_DIRECT",
    )
}

fn pool_size(facts: &Facts) -> Found {
    if facts.memory_bytes == 0 || facts.pool_bytes * 4 >= facts.memory_bytes || !facts.direct_io {
        return None;
    }
    let share = facts.pool_bytes as f64 * 100.0 / facts.memory_bytes as f64;
    found(
        Info,
        format!("the buffer pool takes {share:.1} % of the memory"),
        "Data files bypass the page cache, so what the pool does not hold is read from the device. On a machine of its own \
         the server should have half of the memory or more.",
        format!("glassine serve --innodb-buffer-pool-size={}M", (facts.memory_bytes * 6 / 10) >> 20),
    )
}

fn swappiness(facts: &Facts) -> Found {
    let swappiness = facts.swappiness.filter(|swappiness| *swappiness > 10)?;
    if facts.pool_bytes * 2 < facts.memory_bytes {
        return None;
    }
    found(
        Info,
        format!("vm.swappiness is {swappiness}"),
        "The system would rather swap the buffer pool out than let go of file caches.",
        "sysctl -w vm.swappiness=1",
    )
}

fn rotational(facts: &Facts) -> Found {
    let device = facts.device.as_ref().filter(|device| device.rotational)?;
    // A virtual disk often says that it turns.
    if device.name.starts_with("vd") || device.name.starts_with("xvd") || device.name.starts_with("loop") {
        return found(
            Info,
            format!("{} says that it is a turning disk", device.name),
            "Virtual disks often say so and are none. The system then orders requests for a head that is not there.",
            format!("echo 0 > /sys/block/{}/queue/rotational", device.name.trim_end_matches(char::is_numeric)),
        );
    }
    found(
        Warning,
        format!("{} is a turning disk", device.name),
        "Punched files lie in many pieces, and a scan of a table becomes a walk of the head. Tables that are scanned are \
         better stored plain, or with holes off.",
        "mysql -e 'ALTER TABLE t COMPRESSION=\"none\"; OPTIMIZE TABLE t'",
    )
}

fn thin(facts: &Facts) -> Found {
    let device = facts.device.as_ref().filter(|device| device.thin)?;
    found(
        Warning,
        format!("{} is a thin volume", device.name),
        "The pool below may be full while the filesystem still has room, and then writes fail. What is punched comes back to \
         the filesystem; the pool gets it when it is trimmed.",
        format!("fstrim -v {} && systemctl enable --now fstrim.timer", facts.mount_point),
    )
}

fn discard(facts: &Facts) -> Found {
    let device = facts.device.as_ref().filter(|device| device.discards)?;
    if facts.has_option("discard") && facts.filesystem != "btrfs" {
        return found(
            Info,
            "every hole is discarded at once",
            format!(
                "Mounted with discard, {} tells {} of each hole when its journal commits, which commits of the server may \
                 wait for. Once a week in one go is enough for most devices.",
                facts.filesystem, device.name
            ),
            format!("{} && systemctl enable --now fstrim.timer", remount(facts, "nodiscard")),
        );
    }
    (!facts.has_option("discard") && !facts.has_option("discard=async") && !device.thin).then(|| {
        (
            Info,
            format!("{} takes discards", device.name),
            "It learns what has been punched when the filesystem is trimmed.".to_owned(),
            "systemctl enable --now fstrim.timer".to_owned(),
        )
    })
}

fn atomic_writes(facts: &Facts) -> Found {
    if facts.copy_on_write || matches!(facts.filesystem.as_str(), "tmpfs" | "ramfs") {
        return None;
    }
    let page = size(facts.page_bytes);
    match facts.atomic_write {
        Some((_, max)) if max >= facts.page_bytes => found(
            Info,
            "pages can be written untorn",
            format!(
                "{} and the device promise it for up to {}. The server then writes a page once, in a length that is a power \
                 of two, and needs no doublewrite file.",
                facts.filesystem,
                size(max)
            ),
            "glassine serve --innodb-use-atomic-writes=ON",
        ),
        Some((_, max)) => found(
            Info,
            format!("untorn writes end at {}", size(max)),
            format!(
                "A page of {page} is longer, so only pages that compress that far do without the doublewrite file."
            ),
            "mkfs.xfs -b size=16384 DEVICE   # where pages of the machine's memory are as large",
        ),
        None => {
            let by_device = facts.device.as_ref().map_or(0, |device| device.atomic_write_bytes);
            let reason = match by_device >= facts.page_bytes {
                true => format!(
                    "The device could write {} untorn; {} does not pass it on.",
                    size(by_device),
                    facts.filesystem
                ),
                false => "Neither the filesystem nor the device promises untorn writes.".to_owned(),
            };
            found(
                Info,
                "pages are written twice",
                format!("{reason} Each page goes to a doublewrite file first, in its stored length."),
                "mkfs.xfs DEVICE   # from Linux 6.16 on, XFS writes untorn with any device",
            )
        }
    }
}

fn atime(facts: &Facts) -> Found {
    if facts.has_option("noatime") || facts.filesystem == "zfs" {
        return None;
    }
    let (severity, reason) = match facts.has_option("strictatime") {
        true => (Warning, "Every read of a file changes its inode, which is written, too."),
        false => (Info, "With relatime a read of a file writes its inode once a day. Nobody needs it."),
    };
    found(severity, "times of access are kept", reason, remount(facts, "noatime"))
}

fn kinds_of_writes(facts: &Facts) -> Found {
    let turning = facts.device.as_ref().is_some_and(|device| device.rotational && device.name.starts_with("sd"));
    found(
        if turning { Warning } else { Info },
        "log and data share a filesystem",
        "The redo log, data files and doublewrite files are written side by side. The log matters most: commits wait for it. \
         On flash that is fine; on turning disks the head goes back and forth.",
        format!(
            "iostat -x 1   # while under load; %util of {}",
            facts.device.as_ref().map_or("the device", |device| &device.name)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::facts::Device;
    use super::*;

    /// A machine with nothing to find but trifles.
    fn good() -> Facts {
        Facts {
            datadir: "/srv/db".into(),
            page_bytes: 16384,
            pool_bytes: 8 << 30,
            log_bytes: 256 << 20,
            direct_io: true,
            filesystem: "xfs".into(),
            mount_point: "/srv".into(),
            source: "/dev/nvme0n1".into(),
            mount_options: vec!["rw".into(), "noatime".into()],
            block_bytes: 1024,
            said_block_bytes: 1024,
            punching: Punching::Frees,
            copy_on_write: false,
            atomic_write: Some((1024, 65536)),
            total_bytes: 100 << 30,
            free_bytes: 50 << 30,
            free_inodes_pct: Some(90.0),
            device: Some(Device { name: "nvme0n1".into(), ..Device::default() }),
            zfs: None,
            memory_bytes: 16 << 30,
            swappiness: Some(1),
        }
    }

    fn zfs() -> Facts {
        Facts {
            filesystem: "zfs".into(),
            source: "tank/db".into(),
            block_bytes: 16384,
            copy_on_write: true,
            atomic_write: None,
            device: None,
            zfs: Some(Zfs {
                dataset: "tank/db".into(),
                record_bytes: 16384,
                compression: "lz4".into(),
                primary_cache: "metadata".into(),
                log_bias: "latency".into(),
                sync: "standard".into(),
                has_log_device: Some(true),
                has_cache_device: Some(true),
                arc_max_bytes: Some(1 << 30),
                prefetch_disabled: Some(true),
                no_cache_flush: Some(false),
            }),
            ..good()
        }
    }

    fn changed(mut facts: Facts, change: impl FnOnce(&mut Facts)) -> Facts {
        change(&mut facts);
        facts
    }

    fn zfs_with(change: impl FnOnce(&mut Zfs)) -> Facts {
        changed(zfs(), |facts| change(facts.zfs.as_mut().unwrap()))
    }

    /// Rules that speak, with their severity.
    fn rules(facts: &Facts) -> Vec<(&'static str, Severity)> {
        findings(facts).iter().map(|finding| (finding.rule, finding.severity)).collect()
    }

    #[track_caller]
    fn expect(facts: &Facts, rule: &str, severity: Severity, command: &str) {
        let findings = findings(facts);
        let finding = findings.iter().find(|finding| finding.rule == rule);
        let finding = finding.unwrap_or_else(|| panic!("{rule} is silent: {findings:?}"));
        assert_eq!(finding.severity, severity, "{finding:?}");
        assert!(finding.command.contains(command), "{finding:?}");
    }

    #[test]
    fn a_good_place_has_trifles_only() {
        assert_eq!(rules(&good()), [("atomic-writes", Info), ("FS-13", Info)]);
        assert_eq!(rules(&zfs()), [("FS-03", Info), ("FS-12", Info), ("FS-13", Info)]);
    }

    #[test]
    fn zfs_is_advised_as_its_users_have_learned() {
        expect(&zfs_with(|zfs| zfs.record_bytes = 8192), "FS-01", Warning, "zfs set recordsize=16k tank/db");
        expect(&zfs_with(|zfs| zfs.record_bytes = 128 << 10), "FS-02", Warning, "zfs set recordsize=16k tank/db");
        expect(&zfs_with(|zfs| zfs.record_bytes = 128 << 10), "FS-04", Info, "--optimize");
        expect(&zfs_with(|zfs| zfs.has_log_device = Some(false)), "FS-05", Info, "zpool add tank log");
        expect(&zfs_with(|zfs| zfs.log_bias = "throughput".into()), "FS-06", Info, "logbias=latency");
        let cold = changed(zfs_with(|zfs| zfs.has_cache_device = Some(false)), |facts| facts.free_bytes = 20 << 30);
        expect(&cold, "FS-07", Info, "zpool add tank cache");
        expect(&zfs_with(|zfs| zfs.no_cache_flush = Some(true)), "FS-08", Critical, "zfs_nocacheflush");
        expect(&zfs_with(|zfs| zfs.arc_max_bytes = Some(0)), "FS-09", Warning, "zfs_arc_max");
        expect(&zfs_with(|zfs| zfs.primary_cache = "all".into()), "FS-10", Info, "primarycache=metadata");
        let reads_ahead = zfs_with(|zfs| (zfs.prefetch_disabled, zfs.primary_cache) = (Some(false), "all".into()));
        expect(&reads_ahead, "FS-11", Info, "zfs_prefetch_disable");
        expect(&zfs_with(|zfs| zfs.sync = "disabled".into()), "zfs-sync", Critical, "sync=standard");
        expect(&zfs_with(|zfs| zfs.compression = "off".into()), "zfs-compression", Warning, "compression=lz4");
    }

    #[test]
    fn blocks_are_compared_with_pages() {
        let blocks = |page, block| changed(good(), |facts| (facts.page_bytes, facts.block_bytes) = (page, block));
        expect(&blocks(16384, 4096), "block-size", Info, "size=1024");
        expect(&blocks(8192, 4096), "block-size", Warning, "size=1024");
        expect(&blocks(4096, 4096), "block-size", Warning, "--innodb-page-size=16K");
        let reason =
            &findings(&blocks(16384, 4096)).into_iter().find(|found| found.rule == "block-size").unwrap().reason;
        assert!(reason.contains("frees 12 KiB") && reason.contains("free 15 KiB"), "{reason}");
        let bigalloc = changed(good(), |facts| {
            (facts.filesystem, facts.block_bytes, facts.said_block_bytes) = ("ext4".into(), 65536, 4096);
        });
        expect(&bigalloc, "bigalloc", Warning, "^bigalloc");
        expect(&changed(good(), |facts| facts.punching = Punching::FreesNothing), "bigalloc", Warning, "^bigalloc");
        expect(&changed(good(), |facts| facts.punching = Punching::Unsupported), "punch", Warning, "mkfs.xfs");
        expect(&changed(good(), |facts| facts.filesystem = "ntfs3".into()), "ntfs", Warning, "mkfs");
    }

    #[test]
    fn what_may_lose_data_is_critical() {
        expect(&changed(good(), |facts| facts.filesystem = "tmpfs".into()), "volatile", Critical, "cp -a");
        expect(&changed(good(), |facts| facts.mount_options.push("nobarrier".into())), "barriers", Critical, "barrier");
        expect(&changed(good(), |facts| facts.free_bytes = 1 << 30), "space", Critical, "df -h");
        expect(&changed(good(), |facts| facts.free_bytes = 9 << 30), "space", Warning, "df -h");
        expect(&changed(good(), |facts| facts.free_inodes_pct = Some(1.0)), "inodes", Warning, "df -i");
        expect(&changed(good(), |facts| facts.pool_bytes = 16 << 30), "memory", Critical, "=11468M");
        expect(&changed(good(), |facts| facts.pool_bytes = 14 << 30), "memory", Warning, "=11468M");
        // The gravest comes first.
        let bad = changed(good(), |facts| (facts.free_bytes, facts.direct_io) = (1, false));
        assert_eq!(rules(&bad)[..2], [("space", Critical), ("double-caching", Warning)]);
    }

    #[test]
    fn btrfs_has_two_faces() {
        let btrfs = |copy_on_write| {
            changed(good(), |facts| (facts.filesystem, facts.copy_on_write) = ("btrfs".into(), copy_on_write))
        };
        expect(&btrfs(true), "btrfs-fragmentation", Info, "chattr +C");
        expect(&btrfs(true), "FS-12", Info, "GLASSINE");
        expect(&btrfs(false), "btrfs-nodatacow", Info, "chattr -C");
        let compressed = changed(btrfs(true), |facts| facts.mount_options.push("compress=zstd:3".into()));
        expect(&compressed, "btrfs-compression", Info, "compression none");
    }

    #[test]
    fn devices_and_mounts_are_looked_at() {
        let device = |device: Device| changed(good(), |facts| facts.device = Some(device));
        let named = |name: &str| Device { name: name.into(), rotational: true, ..Device::default() };
        expect(&device(named("sda")), "rotational", Warning, "COMPRESSION");
        expect(&device(named("sda")), "FS-13", Warning, "iostat");
        expect(&device(named("vda1")), "rotational", Info, "/sys/block/vda/queue/rotational");
        expect(&device(Device { thin: true, ..Device::default() }), "thin", Warning, "fstrim");
        let discards = device(Device { discards: true, ..Device::default() });
        expect(&discards, "discard", Info, "fstrim.timer");
        expect(&changed(discards, |facts| facts.mount_options.push("discard".into())), "discard", Info, "nodiscard");
        expect(&changed(good(), |facts| facts.mount_options = vec!["strictatime".into()]), "atime", Warning, "noatime");
        expect(&changed(good(), |facts| facts.mount_options = vec!["relatime".into()]), "atime", Info, "noatime");
        expect(&changed(good(), |facts| facts.direct_io = false), "double-caching", Warning, "O_DIRECT");
        expect(&changed(good(), |facts| facts.pool_bytes = 128 << 20), "pool-size", Info, "=9830M");
        expect(&changed(good(), |facts| facts.swappiness = Some(60)), "swappiness", Info, "vm.swappiness=1");
        expect(&changed(good(), |facts| facts.filesystem = "nfs".into()), "shared-filesystem", Warning, "cp -a");
        expect(&changed(good(), |facts| facts.filesystem = "overlay".into()), "overlay", Warning, "docker");
        expect(&changed(good(), |facts| facts.atomic_write = None), "atomic-writes", Info, "mkfs.xfs");
        expect(&changed(good(), |facts| facts.atomic_write = Some((4096, 4096))), "atomic-writes", Info, "mkfs.xfs");
    }

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        for number in 1..=13 {
            assert!(names.contains(&format!("FS-{number:02}").as_str()), "FS-{number:02} has no rule");
        }
    }
}
