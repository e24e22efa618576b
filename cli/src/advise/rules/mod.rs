//! The rules: each looks at the facts and finds something, or nothing.
//!
//! A rule's id is permanent; `FS-01` to `FS-13` are those that InnoDB's users on ZFS have learned, the others have
//! names. They are listed in the order of their importance to a reader of all of them: what may lose data, what keeps
//! compression from working, what costs time, what is worth knowing.

mod zfs;

use storage::io::Punching;

use super::facts::{Facts, size};
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
    rule("FS-01", zfs::record_size),
    rule("FS-02", zfs::record_larger),
    rule("FS-03", zfs::record_of_the_log),
    rule("FS-04", zfs::record_before_files),
    rule("zfs-compression", zfs::zfs_compression),
    rule("FS-05", zfs::log_device),
    rule("FS-06", zfs::log_bias),
    rule("FS-07", zfs::cache_device),
    rule("FS-09", zfs::arc_size),
    rule("FS-10", zfs::primary_cache),
    rule("FS-11", zfs::prefetch),
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

/// The command that brings a data directory to another filesystem.
fn copied_elsewhere(facts: &Facts) -> String {
    let usual = "/var/lib/glassine";
    let to = if facts.datadir == usual { "/srv/glassine" } else { usual };
    format!("cp -a --sparse=always {} {to}", facts.datadir)
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
        copied_elsewhere(facts),
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
        copied_elsewhere(facts),
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

// Copy on write: btrfs, and what it shares with ZFS

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
mod tests;
