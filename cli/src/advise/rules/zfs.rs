//! What InnoDB's users on ZFS have learned: record size, log device, caches.

use super::super::facts::{Facts, Zfs, size};
use super::{Found, found};

use crate::advise::Severity::{Info, Warning};

fn is_zfs_with(facts: &Facts, holds: impl Fn(&Zfs) -> bool) -> Option<&Zfs> {
    facts.zfs.as_ref().filter(|zfs| holds(zfs))
}

fn set_record_size(facts: &Facts, zfs: &Zfs) -> String {
    format!("zfs set recordsize={}k {}", facts.page_bytes >> 10, zfs.dataset)
}

pub(super) fn record_size(facts: &Facts) -> Found {
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

pub(super) fn record_larger(facts: &Facts) -> Found {
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

pub(super) fn record_of_the_log(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.record_bytes == facts.page_bytes)?;
    found(
        Info,
        "the redo log shares the dataset of the data",
        "The log is written in sequence and in pieces of any length; records of 128 KiB would suit it better. It lies in the \
         data directory, so the page's recordsize is the better choice for the whole.",
        format!("zfs get recordsize {}", zfs.dataset),
    )
}

pub(super) fn record_before_files(facts: &Facts) -> Found {
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

pub(super) fn zfs_compression(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.compression == "off")?;
    found(
        Warning,
        format!("neither ZFS nor the server compresses {}", zfs.dataset),
        "A record is the unit in which ZFS frees, and it is as large as a page: the server has nothing to gain and stores \
         pages as they are. ZFS itself can compress a record.",
        format!("zfs set compression=lz4 {}", zfs.dataset),
    )
}

pub(super) fn log_device(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.has_log_device == Some(false))?;
    found(
        Info,
        format!("the pool {} has no log device", zfs.pool()),
        "Commits wait for ZFS's intent log, which lies among the data. On a fast device of its own it wins 10 to 20 % of \
         read-write load.",
        format!("zpool add {} log DEVICE", zfs.pool()),
    )
}

pub(super) fn log_bias(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.log_bias == "throughput")?;
    found(
        Info,
        format!("{} does not use the log device", zfs.dataset),
        "logbias=throughput sends synchronous writes past the intent log's device. For data files alone that keeps the \
         device free; but the redo log is in this dataset, too, and its syncs are what commits wait for.",
        format!("zfs set logbias=latency {}", zfs.dataset),
    )
}

pub(super) fn cache_device(facts: &Facts) -> Found {
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

pub(super) fn arc_size(facts: &Facts) -> Found {
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

pub(super) fn primary_cache(facts: &Facts) -> Found {
    let zfs = is_zfs_with(facts, |zfs| zfs.primary_cache == "all")?;
    found(
        Info,
        format!("the ARC caches the data of {}", zfs.dataset),
        "Pages are cached twice, in the ARC and in the buffer pool. With a pool that holds the working set, the ARC needs \
         metadata only.",
        format!("zfs set primarycache=metadata {}", zfs.dataset),
    )
}

pub(super) fn prefetch(facts: &Facts) -> Found {
    is_zfs_with(facts, |zfs| zfs.prefetch_disabled == Some(false) && zfs.primary_cache != "metadata")?;
    found(
        Info,
        "ZFS reads ahead",
        "The server reads ahead itself where it pays; neighbours in a file are not neighbours on the disk of a \
         copy-on-write filesystem.",
        "echo 1 > /sys/module/zfs/parameters/zfs_prefetch_disable",
    )
}
