//! Random operations on an index page against a sorted vector, which must agree after each of them.
//!
//! Every operation is also encoded, decoded and applied to a copy: what recovery would do. The full check of the page
//! runs after each, so that no operation may rely on the next to put things right. And each page can be taken apart by
//! columns and put together again, whatever operations have made it.

use std::cmp::Ordering;

use format::Error;
use format::collation::CollationId;
use format::ids::{IndexId, PageId, PageNo, SpaceId, TrxId};
use format::page::header::{self, PageType};
use format::page::index::{self, Fit, INFIMUM, SUPREMUM, SearchMode, Side};
use format::record::{self, Compare, FieldData, FieldLayout, Layout, Offsets, RecordBuffer, RecordImage, Tuple};
use format::redo::{PageOp, Patches, Record, RecordList};
use format::transform::{self, Algorithm, Scratch};
use proptest::prelude::*;

/// A row of the model: fields in record order.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    fields: Vec<Option<Vec<u8>>>,
    external: Option<usize>,
    deleted: bool,
}

impl Row {
    fn tuple(&self, fields: usize) -> Vec<Option<&[u8]>> {
        self.fields[..fields].iter().map(|field| field.as_deref()).collect()
    }

    fn build(&self, layout: &Layout, buffer: &mut RecordBuffer) {
        let fields = self.fields.iter().enumerate().map(|(index, field)| match field {
            Some(bytes) if self.external == Some(index) => FieldData::External(bytes),
            other => FieldData::from(other.as_deref()),
        });
        buffer.build(layout, if self.deleted { record::DELETED } else { 0 }, fields);
    }
}

/// A page with its model.
struct Subject {
    page: Vec<u8>,
    layout: Layout,
    rows: Vec<Row>,
    scratch: Scratch,
}

impl Subject {
    fn new(page_bytes: usize, layout: Layout) -> Subject {
        let mut page = vec![0; page_bytes];
        header::init(&mut page, PageId::new(SpaceId(7), PageNo(4)), PageType::ALLOCATED);
        // Neighbours on both sides, so that no mark of the smallest record is due.
        for at in [header::PREV, header::NEXT] {
            PageOp::Write { offset: at as u16, bytes: &[0, 0, 0, 9] }.apply(&mut page).unwrap();
        }
        let level = u16::from(layout.kind() == record::Kind::NodePointer);
        PageOp::IndexInit { level, index: IndexId(99) }.apply(&mut page).unwrap();
        Subject { page, layout, rows: Vec::new(), scratch: Scratch::new() }
    }

    /// Applies an operation as a server does, and to a copy as recovery does; then checks everything.
    fn apply(&mut self, op: PageOp<'_>) {
        let id = PageId::new(SpaceId(7), PageNo(4));
        let mut log = Vec::new();
        let mut previous = None;
        Record::Page { page: id, op }.encode(&mut previous, &mut log);
        Record::Page { page: id, op }.encode(&mut previous, &mut log);
        let mut rest = &log[..];
        let mut previous = None;
        for _ in 0..2 {
            assert_eq!(Record::decode(&mut rest, &mut previous), Ok(Record::Page { page: id, op }));
        }
        assert!(rest.is_empty());

        let mut copy = self.page.clone();
        op.apply(&mut self.page).unwrap_or_else(|error| panic!("{error}"));
        let mut bytes = Vec::new();
        op.encode(&mut bytes);
        PageOp::decode(&mut &bytes[..]).unwrap().apply(&mut copy).unwrap();
        assert!(copy == self.page, "the copy differs");
        if let Err(error) = index::validate(&self.page, Some(&self.layout)) {
            panic!("{error} after an operation with tag {}", bytes[0]);
        }
        self.check_stored();
    }

    /// Stores the page at a level that takes apart whatever can be, and reads it back.
    fn check_stored(&mut self) {
        let mut stored = Vec::new();
        let block_bytes = self.page.len() / 16;
        let bytes = transform::encode(
            &self.page,
            Algorithm::by_name("zstd").unwrap(),
            2,
            block_bytes,
            &mut self.scratch,
            &mut stored,
        );
        if bytes.is_none() {
            return;
        }
        // The stream's first byte tells.
        assert_eq!(stored[header::BODY] == 1, index::record_count(&self.page) >= 2, "taken apart or not");
        let mut back = vec![7; self.page.len()];
        transform::decode(&stored, &mut self.scratch, &mut back).unwrap();
        assert!(back == self.page, "another page came back");
    }

    fn origins(&self) -> Vec<u16> {
        let mut origins = Vec::new();
        let mut origin = index::first(&self.page).unwrap();
        while origin != SUPREMUM {
            origins.push(origin);
            origin = index::next(&self.page, origin).unwrap();
        }
        origins
    }

    fn place(&self, row: &Row) -> Result<usize, usize> {
        let keys = self.layout.key_fields();
        self.rows.binary_search_by(|other| {
            let pairs = other.fields[..keys].iter().zip(&row.fields[..keys]).zip(self.layout.fields());
            pairs
                .map(|((left, right), field)| record::compare_value(field, left.as_deref(), right.as_deref()))
                .find(|&order| order != Ordering::Equal)
                .unwrap_or(Ordering::Equal)
        })
    }

    /// Compares all of the page with the model.
    fn check(&self) {
        let origins = self.origins();
        assert_eq!(origins.len(), self.rows.len());
        assert_eq!(index::record_count(&self.page), self.rows.len());
        let mut offsets = Offsets::new();
        let mut data_bytes = 0;
        for (rank, (&origin, row)) in origins.iter().zip(&self.rows).enumerate() {
            self.layout.parse_into(&self.page, origin.into(), &mut offsets).unwrap();
            for (index, field) in offsets.fields().iter().enumerate() {
                assert_eq!(field.of(&self.page), row.fields[index].as_deref());
                assert_eq!(field.external, row.external == Some(index));
                assert_eq!(self.layout.field(&self.page, origin.into(), index), Ok(*field));
            }
            assert_eq!(record::is_deleted(&self.page, origin.into()), row.deleted);
            assert_eq!(index::rank(&self.page, origin), Ok(rank));
            assert_eq!(index::nth(&self.page, rank), Ok(origin));
            let before = if rank == 0 { INFIMUM } else { origins[rank - 1] };
            assert_eq!(index::prev(&self.page, origin), Ok(before));
            data_bytes += offsets.size().total();
        }
        assert_eq!(index::data_bytes(&self.page), data_bytes);
        assert_eq!(index::nth(&self.page, origins.len()), Ok(SUPREMUM));
        assert_eq!(index::rank(&self.page, SUPREMUM), Ok(origins.len()));
        assert_eq!(index::last(&self.page), Ok(origins.last().copied().unwrap_or(INFIMUM)));
    }

    /// Searches in all modes, for a tuple that may be shorter than the key.
    fn check_search(&self, tuple: &Tuple<'_>) {
        let origins = self.origins();
        let mut orders = Vec::new();
        for &origin in &origins {
            orders.push(record::compare(&self.page, &self.layout, origin.into(), tuple).unwrap());
        }
        assert!(orders.is_sorted());
        let below = orders.iter().filter(|&&order| order == Ordering::Less).count();
        let up_to = orders.iter().filter(|&&order| order != Ordering::Greater).count();
        let at = |rank: usize| match rank {
            0 => INFIMUM,
            rank => origins.get(rank - 1).copied().unwrap_or(SUPREMUM),
        };
        let equal = up_to > below;
        for (mode, origin, matched) in [
            (SearchMode::Less, at(below), false),
            (SearchMode::LessOrEqual, at(up_to), equal),
            (SearchMode::GreaterOrEqual, at(below + 1), equal),
            (SearchMode::Greater, at(up_to + 1), false),
        ] {
            let found = index::search(&self.page, &self.layout, tuple, mode).unwrap();
            assert_eq!(found, index::Position { origin, matched }, "{mode:?}");
        }
    }

    fn insert(&mut self, row: Row) {
        let Err(place) = self.place(&row) else { return };
        let key = row.tuple(self.layout.key_fields());
        self.check_search(&key);
        let after = index::search(&self.page, &self.layout, &key, SearchMode::LessOrEqual).unwrap();
        let mut buffer = RecordBuffer::new();
        row.build(&self.layout, &mut buffer);
        let size = buffer.size();
        match index::fit(&self.page, &self.layout, size).unwrap() {
            Fit::Now(place_in_heap) => {
                let op = PageOp::insert(&self.page, &self.layout, after.origin, buffer.image()).unwrap().unwrap();
                assert!(matches!(op, PageOp::InsertRecord { place, .. } if place == place_in_heap));
                self.apply(op);
                self.rows.insert(place, row);
            }
            Fit::Reorganized => {
                self.reorganize();
                assert!(matches!(index::fit(&self.page, &self.layout, size), Ok(Fit::Now(_))));
                self.insert(row);
            }
            Fit::No => {
                let full =
                    PageOp::InsertRecord { after: after.origin, place: index::Place::Top, record: buffer.image() };
                let before = self.page.clone();
                assert_eq!(full.apply(&mut self.page), Err(Error::Full));
                assert!(self.page == before, "a failed operation leaves the page alone");
                self.check_split(after.origin, place, buffer.image());
            }
        }
    }

    fn reorganize(&mut self) {
        let mut sizes = Vec::new();
        let op = PageOp::reorganize(&self.page, &self.layout, &mut sizes).unwrap();
        self.apply(op);
        assert_eq!(index::garbage_bytes(&self.page), 0);
    }

    /// Splits a copy of the page and checks that both halves are valid and hold everything.
    fn check_split(&self, after: u16, place: usize, record: RecordImage<'_>) {
        let split = index::split_point(&self.page, &self.layout, after, record.size()).unwrap();
        let mut left = Subject {
            page: self.page.clone(),
            layout: self.layout.clone(),
            rows: self.rows.clone(),
            scratch: Scratch::new(),
        };
        let mut right = Subject::new(self.page.len(), self.layout.clone());
        let cut = index::rank(&self.page, split.first_right).unwrap();
        let mut list = RecordList::new();
        list.push_range(&self.page, &self.layout, split.first_right, SUPREMUM).unwrap();
        assert_eq!(list.count(), self.rows.len() - cut);
        if !list.is_empty() {
            right.apply(PageOp::InsertRecords { after: INFIMUM, records: list.bytes() });
            right.rows = left.rows.split_off(cut);
            let op = PageOp::remove_from(&left.page, &left.layout, split.first_right).unwrap();
            left.apply(op);
        }
        left.check();
        right.check();
        let (side, place) = match split.side {
            Side::Left => (&mut left, place),
            Side::Right => (&mut right, place - cut),
        };
        assert!(
            !matches!(index::fit(&side.page, &side.layout, record.size()), Ok(Fit::No)),
            "the record fits its side"
        );
        side.reorganize();
        let after = if place == 0 { INFIMUM } else { index::nth(&side.page, place - 1).unwrap() };
        let op = PageOp::insert(&side.page, &side.layout, after, record).unwrap().unwrap();
        side.apply(op);
    }

    fn step(&mut self, step: Step) {
        let at = |choice: u16, count: usize| usize::from(choice) * count / 65536;
        match step {
            Step::Insert(row) => self.insert(row),
            _ if self.rows.is_empty() => {}
            Step::Remove(choice) => {
                let rank = at(choice, self.rows.len());
                let op = PageOp::remove(&self.page, &self.layout, self.origins()[rank]).unwrap();
                self.apply(op);
                self.rows.remove(rank);
            }
            Step::Mark(choice, deleted) => {
                let rank = at(choice, self.rows.len());
                self.apply(PageOp::SetDeleteMark { origin: self.origins()[rank], deleted });
                self.rows[rank].deleted = deleted;
            }
            Step::Update(choice, byte) => {
                let rank = at(choice, self.rows.len());
                let origin = self.origins()[rank];
                let field = self.layout.key_fields();
                let Ok(place) = self.layout.field(&self.page, origin.into(), field.min(self.layout.fields().len() - 1))
                else {
                    panic!("the field is there");
                };
                if field >= self.layout.fields().len() || place.null {
                    return;
                }
                let mut patches = Patches::new();
                let bytes = vec![byte; place.bytes as usize];
                patches.push(place.start as u16 - origin, &bytes);
                self.apply(PageOp::UpdateInPlace { origin, deleted: Some(true), patches: patches.bytes() });
                self.rows[rank].fields[field] = Some(bytes);
                self.rows[rank].deleted = true;
            }
            Step::RemoveFrom(choice) => {
                let rank = at(choice, self.rows.len());
                let op = PageOp::remove_from(&self.page, &self.layout, self.origins()[rank]).unwrap();
                self.apply(op);
                self.rows.truncate(rank);
            }
            Step::Reorganize => self.reorganize(),
            Step::MoveTail(choice) => {
                // Out and in again, as one list.
                let rank = at(choice, self.rows.len());
                let origin = self.origins()[rank];
                let mut list = RecordList::new();
                list.push_range(&self.page, &self.layout, origin, SUPREMUM).unwrap();
                let op = PageOp::remove_from(&self.page, &self.layout, origin).unwrap();
                self.apply(op);
                self.reorganize();
                let after = index::last(&self.page).unwrap();
                self.apply(PageOp::InsertRecords { after, records: list.bytes() });
            }
        }
        self.check();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Row),
    Remove(u16),
    Mark(u16, bool),
    Update(u16, u8),
    RemoveFrom(u16),
    MoveTail(u16),
    Reorganize,
}

/// An INT key with a few other columns.
fn clustered() -> Layout {
    Layout::clustered(
        vec![
            FieldLayout::fixed(4),
            FieldLayout::fixed(6),
            FieldLayout::fixed(7),
            FieldLayout::variable(50, false).nullable(true),
            FieldLayout::variable(600, false).nullable(true),
            FieldLayout::variable(1 << 24, true).nullable(true),
            FieldLayout::fixed(3).nullable(true),
        ],
        1,
    )
}

fn clustered_row() -> impl Strategy<Value = Row> {
    (
        prop_oneof![0_u32..200, any::<u32>()],
        prop::option::of(prop::collection::vec(any::<u8>(), 0..50)),
        prop::option::of(prop::collection::vec(any::<u8>(), 100..300)),
        prop::option::of(prop::collection::vec(any::<u8>(), 20..=20)),
        prop::option::of(Just(vec![1, 2, 3])),
        any::<bool>(),
    )
        .prop_map(|(key, short, long, blob, fixed, deleted)| Row {
            external: blob.is_some().then_some(5),
            fields: vec![
                Some(key.to_be_bytes().to_vec()),
                Some(vec![1; 6]),
                Some(vec![2; 7]),
                short,
                long,
                blob,
                fixed,
            ],
            deleted,
        })
}

/// A text column that may be NULL, one that descends, and a BIGINT primary key.
fn secondary() -> Layout {
    Layout::secondary(vec![
        FieldLayout::variable(100, false).nullable(true).compared(Compare::Collation(CollationId::UTF8MB4_BIN)),
        FieldLayout::fixed(2).nullable(true).descending(true),
        FieldLayout::fixed(8),
    ])
}

fn secondary_row() -> impl Strategy<Value = Row> {
    (prop::option::of("[ab]{0,3}"), prop::option::of(0_u16..3), 0_u64..40, any::<bool>()).prop_map(
        |(text, number, key, deleted)| Row {
            fields: vec![
                text.map(String::into_bytes),
                number.map(|number| number.to_be_bytes().to_vec()),
                Some(key.to_be_bytes().to_vec()),
            ],
            external: None,
            deleted,
        },
    )
}

/// A BIGINT key, all of it fixed.
fn narrow() -> Layout {
    Layout::clustered(
        vec![FieldLayout::fixed(8), FieldLayout::fixed(6), FieldLayout::fixed(7), FieldLayout::fixed(1)],
        1,
    )
}

fn narrow_row() -> impl Strategy<Value = Row> {
    (0_u64..400, any::<u8>()).prop_map(|(key, value)| Row {
        fields: vec![Some(key.to_be_bytes().to_vec()), Some(vec![0; 6]), Some(vec![0; 7]), Some(vec![value])],
        external: None,
        deleted: false,
    })
}

/// Two INTs: a secondary index on an integer.
fn pairs() -> Layout {
    Layout::secondary(vec![FieldLayout::fixed(4), FieldLayout::fixed(4)])
}

fn pair() -> impl Strategy<Value = Row> {
    (0_u32..6, 0_u32..40).prop_map(|(value, key)| Row {
        fields: vec![Some((value << 29).to_be_bytes().to_vec()), Some(key.to_be_bytes().to_vec())],
        external: None,
        deleted: false,
    })
}

/// Fixed fields of odd lengths.
fn triples() -> Layout {
    Layout::secondary(vec![FieldLayout::fixed(2), FieldLayout::fixed(5), FieldLayout::fixed(1)])
}

fn triple() -> impl Strategy<Value = Row> {
    (0_u16..4, any::<bool>(), 0_u8..50).prop_map(|(first, second, third)| Row {
        fields: vec![Some(first.to_be_bytes().to_vec()), Some(vec![u8::from(second); 5]), Some(vec![third])],
        external: None,
        deleted: false,
    })
}

fn steps(row: impl Strategy<Value = Row> + 'static) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        30 => row.prop_map(Step::Insert),
        8 => any::<u16>().prop_map(Step::Remove),
        2 => any::<(u16, bool)>().prop_map(|(choice, deleted)| Step::Mark(choice, deleted)),
        2 => any::<(u16, u8)>().prop_map(|(choice, byte)| Step::Update(choice, byte)),
        1 => any::<u16>().prop_map(Step::RemoveFrom),
        1 => any::<u16>().prop_map(Step::MoveTail),
        1 => Just(Step::Reorganize),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_clustered_leaf_is_a_sorted_vector(steps in steps(clustered_row())) {
        let mut subject = Subject::new(4096, clustered());
        for step in steps {
            subject.step(step);
        }
    }

    #[test]
    fn a_secondary_leaf_is_a_sorted_vector(steps in steps(secondary_row()), probe in secondary_row()) {
        let mut subject = Subject::new(4096, secondary());
        for step in steps {
            subject.step(step);
        }
        for fields in 1..=3 {
            subject.check_search(&probe.tuple(fields));
        }
    }

    #[test]
    fn a_leaf_of_pairs_is_a_sorted_vector(steps in steps(pair()), probe in pair()) {
        let mut subject = Subject::new(4096, pairs());
        for step in steps {
            subject.step(step);
        }
        for fields in 1..=2 {
            subject.check_search(&probe.tuple(fields));
        }
    }

    #[test]
    fn a_leaf_of_triples_is_a_sorted_vector(steps in steps(triple()), probe in triple()) {
        let mut subject = Subject::new(4096, triples());
        for step in steps {
            subject.step(step);
        }
        for fields in 1..=3 {
            subject.check_search(&probe.tuple(fields));
        }
        subject.check_search(&[Some(&probe.fields[0].as_ref().unwrap()[..1])]);
        subject.check_search(&[None]);
    }

    #[test]
    fn a_leaf_of_narrow_rows_is_a_sorted_vector(steps in steps(narrow_row()), probe in narrow_row()) {
        let mut subject = Subject::new(4096, narrow());
        for step in steps {
            subject.step(step);
        }
        subject.check_search(&probe.tuple(1));
    }

    #[test]
    fn a_page_of_random_bytes_never_panics(
        seed: u64,
        noise in prop::collection::vec((38_usize..4088, any::<u8>()), 1..60),
        origin in any::<u16>(),
        mode in 0_usize..4,
        key in prop::collection::vec(any::<u8>(), 4..=4),
    ) {
        let mut subject = Subject::new(4096, clustered());
        for key in 0..8_u32 {
            subject.insert(Row {
                fields: vec![
                    Some((key * 7).to_be_bytes().to_vec()), Some(vec![1; 6]), Some(vec![2; 7]),
                    Some(vec![seed as u8; 9]), None, None, None,
                ],
                external: None,
                deleted: false,
            });
        }
        let mut page = subject.page;
        for (at, byte) in noise {
            page[at] = byte;
        }
        let layout = &subject.layout;
        let _ = index::validate(&page, Some(layout));
        let _ = index::validate(&page, None);
        let mode = [SearchMode::Less, SearchMode::LessOrEqual, SearchMode::Greater, SearchMode::GreaterOrEqual][mode];
        let _ = index::search(&page, layout, &[Some(&key)], mode);
        let _ = index::search(&page, layout, &[Some(&key[..3])], mode);
        let _ = index::last(&page);
        let _ = index::nth(&page, 5);
        let _ = index::rank(&page, SUPREMUM);
        let _ = index::fit(&page, layout, 50);
        if let Ok(first) = index::first(&page) {
            let _ = index::split_point(&page, layout, first, 100);
            let _ = index::prev(&page, first);
        }
        let mut buffer = RecordBuffer::new();
        let row = Row {
            fields: vec![Some(key), Some(vec![1; 6]), Some(vec![2; 7]), None, None, None, None],
            external: None,
            deleted: false,
        };
        row.build(layout, &mut buffer);
        let image = buffer.image();
        let patches = { let mut patches = Patches::new(); patches.push(3, b"abc"); patches };
        for op in [
            PageOp::InsertRecord { after: origin, place: index::Place::Top, record: image },
            PageOp::InsertRecord { after: origin, place: index::Place::Free { start: origin.wrapping_add(9) }, record: image },
            PageOp::RemoveRecord { origin, extra: 6, data: 20 },
            PageOp::RemoveFrom { origin, bytes: 40 },
            PageOp::SetDeleteMark { origin, deleted: true },
            PageOp::SetMinRecord { origin, min: true },
            PageOp::UpdateInPlace { origin, deleted: None, patches: patches.bytes() },
            PageOp::Reorganize { sizes: &[8, 6, 26] },
            PageOp::UndoAppend { record: b"undo" },
        ] {
            for origin in [Some(origin), index::first(&page).ok()].into_iter().flatten() {
                let op = match op {
                    PageOp::InsertRecord { place, record, .. } => PageOp::InsertRecord { after: origin, place, record },
                    PageOp::RemoveRecord { extra, data, .. } => PageOp::RemoveRecord { origin, extra, data },
                    PageOp::RemoveFrom { bytes, .. } => PageOp::RemoveFrom { origin, bytes },
                    other => other,
                };
                let mut copy = page.clone();
                if op.apply(&mut copy).is_err() && !matches!(op, PageOp::Reorganize { .. }) {
                    prop_assert!(copy == page, "a failed operation leaves the page alone: {:?}", op);
                }
            }
        }
    }

    #[test]
    fn log_bytes_of_any_kind_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut page = Subject::new(4096, clustered()).page;
        let mut rest = &bytes[..];
        let mut previous = None;
        while let Ok(record) = Record::decode(&mut rest, &mut previous) {
            if let Record::Page { op, .. } = record {
                let _ = op.apply(&mut page);
            }
        }
    }
}

#[test]
fn ascending_inserts_leave_full_pages_behind() {
    let mut subject = Subject::new(16384, narrow());
    PageOp::Write { offset: header::NEXT as u16, bytes: &[0xFF; 4] }.apply(&mut subject.page).unwrap();
    let mut buffer = RecordBuffer::new();
    let mut count = 0_u64;
    let split = loop {
        let key = count.to_be_bytes();
        let row = Row {
            fields: vec![Some(key.to_vec()), Some(vec![0; 6]), Some(vec![0; 7]), Some(vec![0])],
            external: None,
            deleted: false,
        };
        row.build(&subject.layout, &mut buffer);
        let after = index::last(&subject.page).unwrap();
        match PageOp::insert(&subject.page, &subject.layout, after, buffer.image()).unwrap() {
            Some(op) => op.apply(&mut subject.page).unwrap(),
            None => break index::split_point(&subject.page, &subject.layout, after, buffer.size()).unwrap(),
        }
        count += 1;
    };
    index::validate(&subject.page, Some(&subject.layout)).unwrap();
    assert_eq!(split, index::Split { first_right: SUPREMUM, side: Side::Right, direction: Some(Side::Right) });
    // 22 bytes of data, 5 of header; two bytes of directory for four.
    assert_eq!(count, (16384 - 120 - 8 - 4) * 2 / (27 * 2 + 1));
}

#[test]
fn an_insert_costs_its_bytes_and_little_more_in_the_log() {
    let subject = Subject::new(16384, clustered());
    let row = Row {
        fields: vec![
            Some(vec![0, 0, 0, 1]),
            Some(vec![1; 6]),
            Some(vec![2; 7]),
            Some(vec![3; 20]),
            Some(vec![4; 100]),
            None,
            None,
        ],
        external: None,
        deleted: false,
    };
    let mut buffer = RecordBuffer::new();
    row.build(&subject.layout, &mut buffer);
    let op = PageOp::insert(&subject.page, &subject.layout, INFIMUM, buffer.image()).unwrap().unwrap();
    let mut log = Vec::new();
    Record::Page { page: PageId::new(SpaceId(9), PageNo(5000)), op }.encode(&mut None, &mut log);
    assert!(log.len() <= buffer.size() + 10, "{} for {}", log.len(), buffer.size());
}

#[test]
fn node_pointers_are_built_from_what_they_point_to() {
    let layout = secondary();
    let node = layout.node_pointer();
    let mut subject = Subject::new(4096, layout);
    subject.insert(Row {
        fields: vec![Some(b"key".to_vec()), None, Some(7_u64.to_be_bytes().to_vec())],
        external: None,
        deleted: true,
    });
    let first = index::first(&subject.page).unwrap();
    let mut pointer = RecordBuffer::new();
    pointer.build_node_pointer(&node, &subject.layout, &subject.page, first.into(), PageNo(77)).unwrap();
    assert_eq!(node.child(pointer.bytes(), pointer.origin()), Ok(PageNo(77)));
    assert_eq!(record::info(pointer.bytes(), pointer.origin()), 0);

    let mut level = Subject::new(4096, node);
    let op = PageOp::insert(&level.page, &level.layout, INFIMUM, pointer.image()).unwrap().unwrap();
    level.apply(op);
    let origin = index::first(&level.page).unwrap();
    let mut upper = RecordBuffer::new();
    upper.build_node_pointer(&level.layout, &level.layout, &level.page, origin.into(), PageNo(78)).unwrap();
    assert_eq!(level.layout.child(upper.bytes(), upper.origin()), Ok(PageNo(78)));

    // Marked as the smallest, it stands before every key.
    let key: &Tuple<'_> = &[None, None, Some(&[0; 8])];
    let found = index::search(&level.page, &level.layout, key, SearchMode::LessOrEqual).unwrap();
    assert_eq!(found.origin, INFIMUM);
    PageOp::SetMinRecord { origin, min: true }.apply(&mut level.page).unwrap();
    let found = index::search(&level.page, &level.layout, key, SearchMode::LessOrEqual).unwrap();
    assert_eq!(found.origin, origin);
}

#[test]
fn a_clustered_node_pointer_has_the_null_bitmap_of_its_index() {
    let node = clustered().node_pointer();
    assert_eq!(node.bitmap_bytes(0), Some(1));
    assert_eq!(node.constant_size().map(|size| (size.extra, size.data)), Some((6, 8)));
}

#[test]
fn the_newest_transaction_of_a_page_only_grows() {
    let mut page = Subject::new(4096, secondary()).page;
    for (set, is) in [(5, 5), (3, 5), (9, 9)] {
        PageOp::MaxTrxId { trx_id: TrxId(set) }.apply(&mut page).unwrap();
        assert_eq!(index::max_trx_id(&page), TrxId(is));
    }
    PageOp::IndexClear { level: 0 }.apply(&mut page).unwrap();
    assert_eq!(index::max_trx_id(&page), TrxId(9));
    assert_eq!(index::index_id(&page), IndexId(99));
}
