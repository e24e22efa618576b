use super::*;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    "[a-z#/é]{0,20}"
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

/// All records that a tag exists for, from arbitrary operands.
fn records<'a>(
    page: PageId,
    (a, b, c): (u16, u16, u16),
    (wide, flag): (u64, bool),
    text: &'a str,
    bytes: &'a [u8],
) -> Vec<Record<'a>> {
    let record = RecordImage { info: a as u8 & 0xF0, extra: &bytes[..bytes.len() / 3], data: bytes };
    let ops = [
        PageOp::Init { id: page, page_type: PageType(a) },
        PageOp::Write { offset: a, bytes },
        PageOp::Fill { offset: a, count: b, byte: c as u8 },
        PageOp::IndexInit { level: a, index: IndexId(wide) },
        PageOp::IndexClear { level: a },
        PageOp::InsertRecord { after: a, place: Place::Top, record },
        PageOp::InsertRecord { after: a, place: Place::Free { start: b }, record },
        PageOp::InsertRecords { after: a, records: bytes },
        PageOp::RemoveRecord { origin: a, extra: b, data: c },
        PageOp::RemoveFrom { origin: a, bytes: b },
        PageOp::SetDeleteMark { origin: a, deleted: flag },
        PageOp::SetMinRecord { origin: a, min: flag },
        PageOp::UpdateInPlace { origin: a, deleted: None, patches: bytes },
        PageOp::UpdateInPlace { origin: a, deleted: Some(flag), patches: bytes },
        PageOp::Reorganize { sizes: bytes },
        PageOp::MaxTrxId { trx_id: TrxId(wide) },
        PageOp::UndoAppend { record: bytes },
    ];
    let mut records: Vec<Record<'_>> = ops.into_iter().map(|op| Record::Page { page, op }).collect();
    records.extend([
        Record::FileCreate { space: page.space, flags: 0x21, name: text },
        Record::FileKey { space: page.space, info: bytes },
        Record::FileRename { space: page.space, from: text, to: "new/name.ibd" },
        Record::FileDelete { space: page.space, name: text },
        Record::Annex { kind: a as u8, bytes },
    ]);
    records
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_logged_is_read_back(
        space: u32, page: u32, other: u32, small: (u16, u16, u16), wide: (u64, bool), text in text(), bytes in bytes(),
    ) {
        let ids = [PageId::new(SpaceId(space), PageNo(page)), PageId::new(SpaceId(space), PageNo(other))];
        let mut all = records(ids[0], small, wide, &text, &bytes);
        all.extend(records(ids[1], small, wide, &text, &bytes));
        let mut log = Vec::new();
        let mut previous = None;
        for record in &all {
            record.encode(&mut previous, &mut log);
        }
        let mut rest = &log[..];
        let mut previous = None;
        for record in &all {
            prop_assert_eq!(Record::decode(&mut rest, &mut previous), Ok(*record));
        }
        prop_assert!(rest.is_empty());
        // Cut anywhere, the log ends with an error and not with a panic.
        for end in 0..log.len().min(400) {
            let mut rest = &log[..end];
            let mut previous = None;
            while Record::decode(&mut rest, &mut previous).is_ok() {}
        }
    }

    #[test]
    fn integers_come_back(value: u64) {
        let mut out = Vec::new();
        put_varint(&mut out, value);
        prop_assert_eq!(take_varint(&mut &out[..]), Ok(value));
    }
}

#[test]
fn an_integer_of_too_many_bytes_is_refused() {
    let mut bytes = [0xFF; 11];
    bytes[10] = 0;
    assert!(take_varint(&mut &bytes[..]).is_err());
    assert!(Record::decode(&mut &[tag::ANNEX, 1, 0x80][..], &mut None).is_err());
    assert!(Record::decode(&mut &[tag::FILL | tag::SAME_PAGE, 0, 0, 0][..], &mut None).is_err());
    assert!(Record::decode(&mut &[63][..], &mut None).is_err());
}

#[test]
fn a_small_write_costs_little() {
    let id = PageId::new(SpaceId(5), PageNo(100));
    let mut log = Vec::new();
    let mut previous = None;
    encode_page(id, &PageOp::Write { offset: 9000, bytes: &[1] }, &mut previous, &mut log);
    assert_eq!(log.len(), 7);
    encode_page(id, &PageOp::Write { offset: 9000, bytes: &[1] }, &mut previous, &mut log);
    assert_eq!(log.len(), 12);
}

#[test]
fn writes_beyond_the_page_are_refused() {
    let mut page = vec![0; 4096];
    assert!(PageOp::Write { offset: 4094, bytes: &[1, 2, 3] }.apply(&mut page).is_err());
    assert!(PageOp::Fill { offset: 4094, count: 3, byte: 1 }.apply(&mut page).is_err());
    assert!(page.iter().all(|&byte| byte == 0));
    PageOp::Fill { offset: 4093, count: 3, byte: 1 }.apply(&mut page).unwrap();
    assert_eq!(page[4092..], [0, 1, 1, 1]);
}
