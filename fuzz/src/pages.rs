//! Pages, in their files and in memory, and the log that changes them.

use format::ids::{IndexId, Lsn, PageId, PageNo, SpaceId, TrxId, UndoNo};
use format::page::header::{self, PageType};
use format::page::index::INFIMUM;
use format::page::{self, blob, index, lob, space};
use format::record::{self, Compare, FieldLayout, FieldSpan, Layout, NEVER, Offsets, ROW_VERSIONS_MAX, RecordImage};
use format::redo::{PageOp, Record, RecordList};
use format::transform::encryption::{KeyInfo, PageKey, decrypt, encrypt};
use format::transform::{self, Algorithm, Scratch, mariadb};
use zeroize::Zeroizing;

use crate::bytes::Random;

const ID: PageId = PageId::new(SpaceId(7), PageNo(9));

fn codec(random: &mut Random) -> Algorithm {
    let codecs: Vec<_> = Algorithm::codecs().collect();
    random.pick(&codecs)
}

/// A sealed page that compresses more or less.
fn plain_page(random: &mut Random) -> Vec<u8> {
    let bytes = random.pick(&page::SIZES);
    let mut page = vec![0; bytes];
    let page_type = random.pick(&[PageType::INDEX, PageType::BLOB, PageType::UNDO_LOG, PageType::RTREE]);
    header::init(&mut page, ID, page_type);
    let body = random.exactly(bytes - header::BODY - 8);
    page[header::BODY..bytes - 8].copy_from_slice(&body);
    header::seal(&mut page, Lsn(random.next() >> 8));
    page
}

pub fn compressed(random: &mut Random) {
    let plain = plain_page(random);
    let (mut scratch, mut stored) = (Scratch::new(), Vec::new());
    let (algorithm, level) = (codec(random), random.below(10) as i32);
    let block_bytes = random.pick(&[512, 1024, 4096]);
    let Some(bytes) = transform::encode(&plain, algorithm, level, block_bytes, &mut scratch, &mut stored) else {
        return;
    };
    assert!(bytes == stored.len() && bytes + block_bytes <= plain.len(), "a block is free");
    let mut back = vec![0xEE; plain.len()];
    transform::decode(&stored, &mut scratch, &mut back).expect("what was encoded is decoded");
    assert!(back == plain, "and is what it was");
    random.damage(&mut stored);
    let _ = transform::encoded_bytes(&stored);
    if transform::decode(&stored, &mut scratch, &mut back).is_ok() {
        let _ = header::verify(&back, ID);
    }
}

pub fn encrypted(random: &mut Random) {
    let plain = plain_page(random);
    let mut secret = Zeroizing::new([0; 64]);
    secret.fill_with(|| random.next() as u8);
    let key = PageKey::new(secret);
    let (mut scratch, mut stored) = (Scratch::new(), Vec::new());
    if transform::encode(&plain, codec(random), 1, 512, &mut scratch, &mut stored).is_none() {
        stored = plain.clone();
    }
    let before = stored.clone();
    encrypt(&mut stored, &key);
    assert!(transform::stored_bytes(&stored) <= stored.len());
    let whole = stored.clone();
    decrypt(&mut stored, &key).expect("what was encrypted is decrypted");
    assert!(stored == before, "and is what it was");
    stored = whole;
    random.damage(&mut stored);
    if decrypt(&mut stored, &key).is_ok() {
        let mut back = vec![0; plain.len()];
        let _ = transform::decode(&stored, &mut scratch, &mut back);
    }
    let mut first = plain;
    random.damage(&mut first);
    let _ = KeyInfo::read(&first);
}

/// Compressed pages of MariaDB, which we only read: streams of ours in its envelopes.
pub fn mariadb(random: &mut Random) {
    let plain = plain_page(random);
    let (mut scratch, mut stored) = (Scratch::new(), Vec::new());
    if transform::encode(&plain, codec(random), 1, 512, &mut scratch, &mut stored).is_none() {
        return;
    }
    page::put_u16(&mut stored, header::TYPE, PageType::MARIADB_COMPRESSED.0);
    page::put_u64(&mut stored, header::TRANSFORM, random.below(7) as u64);
    let stream_bytes = stored.len() - 40;
    page::put_u16(&mut stored, 38, stream_bytes as u16);
    random.damage(&mut stored);
    let mut back = vec![0; plain.len()];
    let _ = mariadb::is_encoded(&stored).then(|| mariadb::decode(&stored, &mut scratch, &mut back));
    if stored.len() > header::BODY {
        page::put_u16(&mut stored, header::TYPE, 0x8000 | random.below(256) as u16);
    }
    let _ = mariadb::full_crc32_bytes(&stored);
    let _ = mariadb::decode_full_crc32(&stored, random.below(7) as u8, &mut scratch, &mut back);
}

pub fn header(random: &mut Random) {
    let mut page = plain_page(random);
    assert!(header::verify(&page, ID).is_ok(), "a sealed page verifies");
    random.damage_in_place(&mut page);
    let _ = header::verify(&page, ID);
    let _ = header::is_zero(&page);
}

/// Page 0, descriptors and inodes, with numbers that lie.
pub fn space(random: &mut Random) {
    let page_bytes = random.pick(&page::SIZES);
    let mut page = random.exactly(page_bytes);
    if random.chance(2) {
        page::put_u32(&mut page, space::FLAGS, space::Flags::dynamic(page_bytes).0);
    }
    let flags = space::flags(&page);
    let _ = (flags.page_bytes(), flags.physical_page_bytes(), flags.is_encrypted(), flags.has_sdi());
    let _ = (space::size(&page), space::free_limit(&page), space::next_segment_id(&page), KeyInfo::read(&page));
    for base in [space::FREE_LIST, space::FULL_FRAGMENT_LIST, space::INODES_FREE_LIST] {
        let first = space::Base::read(&page, base).first;
        let _ = space::extent_of_node(page_bytes, first.page, first.offset);
    }
    let number = PageNo(random.next() as u32);
    let descriptor = space::descriptor_offset(page_bytes, number);
    let _ = space::used_pages(&page, descriptor, page_bytes);
    let _ = space::find_free(&page, descriptor, page_bytes, random.below(space::extent_pages(page_bytes)));
    let inode = space::inode_offset(page_bytes, random.below(space::inodes_per_page(page_bytes)));
    let _ = space::Node::read(&page, inode + space::INODE_FREE_LIST);
}

fn layout(random: &mut Random) -> Layout {
    let mut fields = vec![FieldLayout::fixed(4), FieldLayout::fixed(6), FieldLayout::fixed(7)];
    for _ in 0..random.below(6) {
        let field = match random.below(3) {
            0 => FieldLayout::fixed(random.pick(&[1, 2, 8, 40])),
            1 => FieldLayout::variable(random.pick(&[10, 255, 300]), false),
            _ => FieldLayout::variable(70_000, true),
        };
        fields.push(field.nullable(random.chance(2)).compared(Compare::Bytes));
    }
    let count = fields.len();
    let layout = Layout::clustered(fields, 1);
    if !random.chance(3) {
        return layout;
    }
    let current = random.pick(&[1, 2, ROW_VERSIONS_MAX]);
    let mut spans = vec![FieldSpan::ALWAYS; 3];
    for _ in 3..count {
        let added = random.pick(&[0, 0, 1]);
        let dropped = random.pick(&[NEVER, NEVER, added + 1]);
        let dropped = if dropped > current { NEVER } else { dropped };
        spans.push(FieldSpan { added, dropped, default: random.chance(2).then(|| random.bytes(9).into()) });
    }
    layout.with_versions(spans, current)
}

/// An index page with some records.
fn index_page(random: &mut Random, layout: &Layout) -> Vec<u8> {
    let mut page = vec![0; random.pick(&[4096, 16384])];
    header::init(&mut page, ID, PageType::ALLOCATED);
    PageOp::IndexInit { level: 0, index: IndexId(99) }.apply(&mut page).expect("a page can be initialised");
    let mut buffer = record::RecordBuffer::new();
    for key in 0..random.below(40) as u32 {
        let mut values = Vec::new();
        for (index, field) in layout.fields().iter().enumerate() {
            let value = match (index, field.length) {
                (0, _) => Some(key.to_be_bytes().to_vec()),
                _ if field.nullable && random.chance(4) => None,
                (_, record::Length::Fixed(bytes)) => Some(random.exactly(bytes.into())),
                (_, record::Length::Variable { max, .. }) => Some(random.bytes(max.min(200) as usize)),
            };
            values.push(value);
        }
        let version = random.below(usize::from(layout.current_version()) + 1) as u8;
        let values = values.iter().map(|value| record::FieldData::from(value.as_deref()));
        buffer.try_build_version(layout, version, 0, values).expect("values that fit their fields");
        let last = index::last(&page).expect("a good page has a last record");
        match PageOp::insert(&page, layout, last, buffer.image()).expect("a good page takes a record") {
            Some(op) => op.apply(&mut page).expect("what was made for this page applies"),
            None => break,
        }
    }
    index::validate(&page, Some(layout)).expect("a page that was built is whole");
    page
}

/// Walks a page as a reader does. `checked`: only where the full check was content may it be read without care.
fn walk(page: &[u8], layout: &Layout) {
    let mut offsets = Offsets::new();
    let Ok(mut origin) = index::first(page) else { return };
    for _ in 0..page.len() {
        if origin == index::SUPREMUM {
            break;
        }
        if layout.parse_into(page, origin.into(), &mut offsets).is_ok() {
            for (number, field) in offsets.fields().iter().enumerate() {
                let _ = field.value(layout, number, page);
            }
            let _ = (layout.trx_id(page, origin.into()), layout.roll_ptr(page, origin.into()));
            let _ = record::compare(page, layout, origin.into(), &[Some(&[0, 0, 0, 3][..])]);
        }
        let _ = (index::rank(page, origin), index::prev(page, origin));
        match index::next(page, origin) {
            Ok(next) => origin = next,
            Err(_) => break,
        }
    }
    let _ = (index::nth(page, 5), index::last(page));
}

pub fn index(random: &mut Random) {
    let layout = layout(random);
    let mut page = index_page(random, &layout);
    random.damage_in_place(&mut page);
    let _ = index::validate(&page, Some(&layout));
    let _ = index::validate(&page, None);
    walk(&page, &layout);
    change(random, &mut page, &layout);
}

/// Operations that a server would make of a page, damaged as it is: each is made, or leaves the page as it was.
fn change(random: &mut Random, page: &mut [u8], layout: &Layout) {
    let (mut sizes, mut list) = (Vec::new(), RecordList::new());
    for _ in 0..random.below(4) {
        list.push(RecordImage { info: 0, extra: &random.exactly(3), data: &random.bytes(40) });
    }
    let origins = [INFIMUM, index::first(page).unwrap_or(random.next() as u16), random.next() as u16 % 4096];
    for origin in origins {
        let source = page.to_vec();
        let ops = [
            Ok(PageOp::InsertRecords { after: origin, records: list.bytes() }),
            PageOp::reorganize(&source, layout, &mut sizes),
            PageOp::remove(&source, layout, origin),
            PageOp::remove_from(&source, layout, origin),
        ];
        for op in ops.into_iter().flatten() {
            let before = page.to_vec();
            if op.apply(page).is_err() {
                assert!(page == before, "{op:?} failed and left the page changed");
            }
        }
    }
}

pub fn undo(random: &mut Random) {
    let bytes = random.pick(&[4096, 16384]);
    let mut page = vec![0; bytes];
    header::init(&mut page, ID, PageType::UNDO_LOG);
    for byte in &mut page[header::BODY..header::BODY + 200] {
        *byte = random.next() as u8;
    }
    if random.chance(2) {
        random.damage_in_place(&mut page);
    }
    let (start, end) = (random.next() as u16, random.next() as u16);
    for start in [start, start % bytes as u16, 120] {
        let _ = page::undo::record(&page, start);
        let _ = page::undo::next_record(&page, start, end);
        let _ = page::undo::prev_record(&page, start, end);
    }
    let record = random.bytes(80);
    if let Ok(record) = storage::undo::UndoRecord::read(&record) {
        let mut key = Vec::new();
        let _ = record.key(1 + random.below(3), &mut key);
    }
    let _ = (UndoNo(0), TrxId(0));
}

pub fn blob(random: &mut Random) {
    let page_bytes = random.pick(&page::SIZES);
    let mut page = random.exactly(page_bytes);
    if random.chance(2) {
        let part = blob::part_header(random.below(page_bytes), PageNo(random.next() as u32));
        page[header::BODY..header::BODY + part.len()].copy_from_slice(&part);
    }
    let _ = blob::part(&page);
    let _ = blob::Reference::read(&random.bytes(24));
}

/// Pages of long values that MySQL 8.0 wrote.
pub fn lob(random: &mut Random) {
    let page_bytes = random.pick(&page::SIZES);
    let mut page = random.exactly(page_bytes);
    header::set_page_type(&mut page, random.pick(&[PageType::LOB_FIRST, PageType::LOB_INDEX, PageType::LOB_DATA]));
    let first = lob::first_entry(&page).map_or(0, |address| address.offset);
    for offset in [first, random.next() as u16, 96] {
        if let Ok(entry) = lob::entry(&page, offset) {
            let _ = lob::part(&page, entry.bytes);
        }
    }
    let _ = lob::part(&page, random.below(1 << 17));
}

/// Records of the log: decoded, and applied to a page that they were not made for.
pub fn redo(random: &mut Random) {
    let layout = layout(random);
    let mut page = index_page(random, &layout);
    let mut log = Vec::new();
    let mut previous = None;
    let data = random.bytes(60);
    let offset = random.below(page.len()) as u16;
    let records = [
        Record::Page { page: ID, op: PageOp::Write { offset, bytes: &data } },
        Record::Page { page: ID, op: PageOp::Init { id: ID, page_type: PageType::INODE } },
        Record::Page { page: ID, op: PageOp::IndexInit { level: 3, index: IndexId(random.next()) } },
        Record::FileCreate { space: SpaceId(4), flags: random.next() as u32, name: "d/t.ibd" },
        Record::FileKey { space: SpaceId(4), info: &data },
        Record::FileRename { space: SpaceId(4), from: "a", to: "b" },
        Record::Annex { kind: 1, bytes: &data },
    ];
    for _ in 0..1 + random.below(4) {
        random.pick(&records).encode(&mut previous, &mut log);
    }
    if random.chance(3) {
        // A record of any kind, with operands of any kind.
        log.splice(0..0, random.bytes(20));
    }
    random.damage(&mut log);
    let (mut rest, mut previous) = (&log[..], None);
    while !rest.is_empty() {
        match Record::decode(&mut rest, &mut previous) {
            Ok(Record::Page { op, .. }) => {
                let before = page.clone();
                if op.apply(&mut page).is_err() {
                    assert!(page == before, "{op:?} failed and left the page changed");
                }
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    walk(&page, &layout);
}
