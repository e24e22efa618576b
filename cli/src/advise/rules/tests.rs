use super::super::facts::{Device, Zfs};
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
    let reason = &findings(&blocks(16384, 4096)).into_iter().find(|found| found.rule == "block-size").unwrap().reason;
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
    let usual = |facts: &mut Facts| (facts.filesystem, facts.datadir) = ("tmpfs".into(), "/var/lib/glassine".into());
    expect(&changed(good(), usual), "volatile", Critical, "/var/lib/glassine /srv/glassine");
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
