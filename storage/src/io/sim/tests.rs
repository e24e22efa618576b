use super::*;

#[test]
fn what_was_synced_survives_and_the_rest_may() {
    let mut seen_old = 0;
    let mut seen_new = 0;
    let mut seen_torn = 0;
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let file = disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
        disk.sync_directory("").unwrap();
        file.write_at(0, &[1; 8192]).unwrap();
        file.sync().unwrap();
        file.write_at(0, &[2; 4096]).unwrap();
        let after = disk.crash();
        assert!(file.write_at(0, &[3]).is_err());
        let file = after.open("a", OpenMode::Read, Caching::Cached).unwrap();
        let mut bytes = [0; 8192];
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), 8192);
        assert!(bytes[4096..].iter().all(|&byte| byte == 1));
        let new = bytes[..4096].iter().filter(|&&byte| byte == 2).count();
        assert_eq!(new % 512, 0);
        match new {
            0 => seen_old += 1,
            4096 => seen_new += 1,
            _ => seen_torn += 1,
        }
    }
    assert!(seen_old > 10 && seen_new > 10 && seen_torn > 10);
}

#[test]
fn names_survive_in_order() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
        disk.sync_directory("").unwrap();
        disk.rename("a", "b").unwrap();
        disk.open("c", OpenMode::Create, Caching::Cached).unwrap();
        let after = disk.crash();
        let names: Vec<_> = after.list("").unwrap().into_iter().map(|entry| entry.name).collect();
        assert!(["a", "b", "b c"].contains(&names.join(" ").as_str()), "{names:?}");
    }
}

#[test]
fn a_full_disk_says_so() {
    let disk = SimDisk::new(1);
    disk.set_faults(|faults| faults.capacity_blocks = Some(2));
    let file = disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
    file.write_at(0, &[1; 8192]).unwrap();
    file.write_at(0, &[2; 8192]).unwrap();
    assert_eq!(file.write_at(8192, &[1]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.punch_hole(0, 4096).unwrap();
    assert_eq!(file.data_end(0, 8192).unwrap(), 8192);
    assert_eq!(file.allocated_bytes().unwrap(), 4096);
    file.write_at(8192, &[1]).unwrap();
}

fn file(disk: &SimDisk, caching: Caching) -> Arc<dyn File> {
    let file = disk.open("a", OpenMode::Create, caching).unwrap();
    disk.sync_directory("").unwrap();
    file
}

#[test]
fn a_disk_that_runs_full_takes_what_fits() {
    let disk = SimDisk::new(1);
    disk.set_faults(|faults| faults.capacity_blocks = Some(2));
    let file = file(&disk, Caching::Cached);
    assert_eq!(file.write_some(0, &[1; 16384]).unwrap(), 8192);
    assert_eq!(file.write_some(8192, &[1; 8192]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.allocate(0, 16384).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(disk.open("b", OpenMode::Create, Caching::Cached).err().unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!(disk.create_directory("d").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(disk.take_seen().len() >= 3);
}

#[test]
fn reserved_blocks_are_counted_and_found() {
    let disk = SimDisk::new(1);
    let file = file(&disk, Caching::Cached);
    file.allocate(0, 16384).unwrap();
    assert_eq!((file.allocated_bytes().unwrap(), file.data_end(0, 16384).unwrap()), (16384, 16384));
    file.write_at(4096, &[1; 4096]).unwrap();
    assert_eq!((file.allocated_bytes().unwrap(), file.data_end(0, 16384).unwrap()), (16384, 16384));
    file.punch_hole(0, 16384).unwrap();
    assert_eq!(file.allocated_bytes().unwrap(), 0);
}

#[test]
fn direct_files_refuse_what_linux_refuses() {
    let disk = SimDisk::new(1);
    disk.set_faults(|faults| faults.sector_bytes = 4096);
    let file = file(&disk, Caching::Direct);
    let memory = super::super::AlignedBuffer::new(16384);
    file.write_at(4096, &memory).unwrap();
    for (offset, range) in [(4096, 0..512), (512, 0..4096), (4096, 1..4097)] {
        assert_eq!(file.write_at(offset, &memory[range.clone()]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let mut into = super::super::AlignedBuffer::new(16384);
        assert_eq!(file.read_at(offset, &mut into[range]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    // Short transfers keep to the unit, so that the rest can follow.
    disk.set_faults(|faults| faults.short_of_256 = 200);
    for _ in 0..50 {
        file.write_at(0, &memory).unwrap();
    }
}

#[test]
fn untorn_writes_are_never_torn() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.set_facts(|facts| facts.atomic_write = Some((4096, 16384)));
        let file = file(&disk, Caching::Cached);
        file.write_untorn(0, &[1; 16384]).unwrap();
        file.sync().unwrap();
        file.write_untorn(0, &[2; 8192]).unwrap();
        for (offset, bytes) in [(4096, 8192), (0, 12288), (0, 32768), (0, 2048)] {
            let refused = file.write_untorn(offset, &vec![3; bytes]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        }
        let after = disk.crash().open("a", OpenMode::Read, Caching::Cached).unwrap();
        let mut bytes = [0; 16384];
        after.read_at(0, &mut bytes).unwrap();
        let new = bytes.iter().filter(|&&byte| byte == 2).count();
        assert!(new == 0 || new == 8192, "seed {seed}: {new}");
    }
    let plain = SimDisk::new(1);
    assert_eq!(
        file(&plain, Caching::Cached).write_untorn(0, &[0; 4096]).unwrap_err().kind(),
        io::ErrorKind::Unsupported
    );
}

#[test]
fn copy_on_write_tears_nothing() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.set_facts(|facts| facts.copy_on_write = true);
        let file = file(&disk, Caching::Cached);
        file.write_at(0, &[1; 16384]).unwrap();
        file.sync().unwrap();
        file.write_at(0, &[2; 16384]).unwrap();
        let after = disk.crash().open("a", OpenMode::Read, Caching::Cached).unwrap();
        let mut bytes = [0; 16384];
        after.read_at(0, &mut bytes).unwrap();
        assert!(bytes.iter().all(|&byte| byte == bytes[0]), "seed {seed}");
    }
}

#[test]
fn a_call_fails_once_where_it_is_told_to() {
    let disk = SimDisk::new(1);
    let file = file(&disk, Caching::Cached);
    file.write_at(0, &[1; 8192]).unwrap();
    disk.set_faults(|faults| {
        faults.failing_write = Some(2);
        faults.failing_read = Some(1);
        faults.failing_punch = Some(2);
    });
    assert!(file.write_at(0, &[2; 8192]).is_err());
    file.write_at(0, &[3; 8192]).unwrap();
    let mut bytes = [0; 8192];
    assert!(file.read_at(0, &mut bytes).is_err());
    file.read_at(0, &mut bytes).unwrap();
    assert!(bytes.iter().all(|&byte| byte == 3));
    file.punch_hole(0, 4096).unwrap();
    assert!(file.punch_hole(4096, 4096).is_err() && file.punch_hole(4096, 4096).is_err());
    let seen = disk.take_seen();
    assert_eq!((seen["writes failed"], seen["reads failed"], seen["punches failed"]), (1, 1, 2));
}

#[test]
fn a_misdirected_write_is_done_elsewhere() {
    let disk = SimDisk::new(3);
    let file = file(&disk, Caching::Cached);
    file.write_at(0, &[1; 65536]).unwrap();
    disk.set_faults(|faults| faults.misdirected = Some("a".into()));
    let mut misdirected = 0;
    for _ in 0..20 {
        file.write_at(0, &[2; 4096]).unwrap();
        misdirected += disk.take_seen().get("writes misdirected").copied().unwrap_or(0);
    }
    let mut bytes = [0; 65536];
    file.read_at(0, &mut bytes).unwrap();
    let places = bytes.chunks(4096).filter(|chunk| chunk[0] == 2).count();
    assert_eq!((misdirected, places), (1, 2));
}

#[test]
fn time_passes_jumps_and_stands_still() {
    let disk = SimDisk::new(1);
    let file = file(&disk, Caching::Cached);
    let mut earlier = disk.clock().now();
    let mut walls = Vec::new();
    disk.set_faults(|faults| {
        faults.slow_of_256 = 100;
        faults.clock_of_256 = 100;
    });
    for _ in 0..50 {
        file.write_at(0, &[1; 4096]).unwrap();
        let now = disk.clock().now();
        assert!(now >= earlier, "the monotonic clock is monotonic");
        earlier = now;
        walls.push(disk.clock().wall());
    }
    assert!(earlier > Duration::from_secs(5));
    assert!(walls.windows(2).any(|pair| pair[1] < pair[0]), "the wall clock goes back, too");
    let seen = disk.take_seen();
    assert!(["slow calls", "clock stalls", "wall clock jumps"].iter().all(|what| seen.contains_key(what)));
}

#[test]
fn files_vanish_and_old_copies_come_back() {
    let disk = SimDisk::new(1);
    let file = file(&disk, Caching::Cached);
    file.write_at(0, &[1; 4096]).unwrap();
    let old = disk.duplicate();
    file.write_at(0, &[2; 4096]).unwrap();
    assert!(disk.copy_file(&old, "a") && !disk.copy_file(&old, "b"));
    let mut byte = [0];
    file.read_at(0, &mut byte).unwrap();
    assert_eq!(byte, [1]);
    assert!(disk.flip("a", 7, 4) && !disk.flip("a", 70_000, 4));
    disk.lose_file("a");
    assert!(!disk.exists("a").unwrap() && !disk.crash().exists("a").unwrap());
}
