//! Files of the storage engine that are not pages: the doublewrite file, the key ring, descriptions of tables.

use storage::Config;
use storage::dictionary::codec;
use storage::io::sim::SimDisk;
use storage::io::{Caching, Disk, OpenMode};
use storage::schema::{
    Column, ColumnDefault, Compression, ForeignKey, IndexDefinition, IndexPart, ReferentialAction, TableOptions,
};
use storage::tablespace::{doublewrite, encryption};

use crate::bytes::Random;

/// A doublewrite file after a crash: some sectors are old, some are another file's.
pub fn doublewrite(random: &mut Random) {
    let config = Config { page_bytes: 4096, ..Config::tiny() };
    let disk = SimDisk::new(random.next());
    let name = doublewrite::file_name(config.page_bytes, 0);
    let file = disk.open(&name, OpenMode::Create, Caching::Cached).expect("a new file in a new disk");
    let mut batch = b"GLASSDBW".to_vec();
    batch.extend(random.exactly(4096 - 8));
    // A header that is nearly right: a number, few pages, a length that fits.
    batch[8..16].copy_from_slice(&(random.below(9) as u64).to_be_bytes());
    batch[16..20].copy_from_slice(&(random.below(80) as u32).to_be_bytes());
    let bytes = random.pick(&[4096_u32, 8192, 0, 4095, u32::MAX]);
    batch[20..24].copy_from_slice(&bytes.to_be_bytes());
    if random.chance(2) {
        random.damage_in_place(&mut batch);
    }
    batch[24..28].fill(0);
    let sum = format::checksum::crc32c(&batch);
    batch[24..28].copy_from_slice(&sum.to_be_bytes());
    batch.extend(random.bytes(8192));
    file.write_at(0, &batch).expect("a disk without faults");
    let _ = doublewrite::read_copies(&disk, &config);
}

pub fn key_ring(random: &mut Random) {
    let mut text = b"# a comment\n".to_vec();
    for number in 0..random.below(3) {
        let line = format!("INNODBKey-00000000-0000-4000-8000-000000000001-{number} {}", "5a".repeat(32));
        let sum = format::checksum::crc32c(line.as_bytes());
        text.extend(format!("{line} {sum:08x}\n").bytes());
    }
    assert!(encryption::count_keys(&text).is_ok(), "a good ring can be read");
    random.damage(&mut text);
    let _ = encryption::count_keys(&text);
    let _ = encryption::count_keys(&random.text(200));
}

/// Options, columns and indexes as the system tables keep them.
pub fn description(random: &mut Random) {
    let options = TableOptions {
        compression: Compression::ZSTD,
        create_options: vec![("COMPRESSION".into(), "zstd".into())],
        ..TableOptions::default()
    };
    let key = ForeignKey {
        name: "c_ibfk_1".into(),
        columns: vec!["c".into()],
        parent_database: "d".into(),
        parent: "p".into(),
        parent_columns: vec!["id".into()],
        on_delete: ReferentialAction::Cascade,
        on_update: ReferentialAction::SetNull,
    };
    let mut options = codec::write_options(&options, &[key]);
    let mut column = codec::write_column(&Column {
        name: "c".into(),
        ty: format::value::ColumnType::Int { bytes: 4, unsigned: true },
        nullable: true,
        default: ColumnDefault::Literal(vec![1, 2, 3, 4]),
        on_update_now: false,
        auto_increment: false,
        comment: "words".into(),
        invisible: false,
    });
    let mut index = codec::write_index(&IndexDefinition {
        name: "i".into(),
        parts: vec![IndexPart { column: 3, prefix_chars: Some(10), descending: false }],
        ..IndexDefinition::default()
    });
    assert!(codec::read_options(&options).is_ok() && codec::read_column(&column).is_ok());
    assert!(codec::read_index(&index).is_ok());
    for bytes in [&mut options, &mut column, &mut index] {
        random.damage(bytes);
        let _ = codec::read_options(bytes);
        let _ = codec::read_column(bytes);
        let _ = codec::read_index(bytes);
    }
}
