//! Building records: from fields to the bytes that go onto a page.

use crate::error::{Error, Result};
use crate::ids::PageNo;

use super::layout::{FieldLayout, Kind, Layout, Length};
use super::{FIELD_BYTES_MAX, HEADER_BYTES, VERSIONED, info, set_heap_no_status};

/// What goes into one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldData<'a> {
    Null,
    Bytes(&'a [u8]),
    /// Ends with a reference to the rest of the value, see `page::blob`.
    External(&'a [u8]),
}

impl<'a> From<Option<&'a [u8]>> for FieldData<'a> {
    #[inline]
    fn from(value: Option<&'a [u8]>) -> FieldData<'a> {
        match value {
            Some(bytes) => FieldData::Bytes(bytes),
            None => FieldData::Null,
        }
    }
}

/// A record apart from any page: what the place on a page does not decide.
///
/// Number in the heap, distance to the next record and the like come from the page it is put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordImage<'a> {
    /// Info bits, in the high half: [`DELETED`](super::DELETED) and so on.
    pub info: u8,
    /// Lengths and NULL bitmap, as they lie below the header.
    pub extra: &'a [u8],
    pub data: &'a [u8],
}

impl<'a> RecordImage<'a> {
    /// Bytes that the record takes in the heap of a page.
    #[inline]
    pub fn size(&self) -> usize {
        self.extra.len() + HEADER_BYTES + self.data.len()
    }

    /// The record at `origin` of a page.
    #[inline]
    pub fn of(page: &'a [u8], layout: &Layout, origin: usize) -> Result<RecordImage<'a>> {
        let size = layout.size(page, origin)?;
        let start = origin - size.extra as usize;
        Ok(RecordImage {
            info: info(page, origin),
            extra: &page[start..origin - HEADER_BYTES],
            data: &page[origin..origin + size.data as usize],
        })
    }
}

/// A record under construction, or a copy of one: bytes and origin. Meant to be reused.
///
/// The bytes can be parsed and compared like a page: `layout.parse(buffer.bytes(), buffer.origin())`.
#[derive(Clone, Debug, Default)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
    origin: usize,
}

impl FieldLayout {
    /// Whether a record can have this value here: no NULL where none may be, a fixed length, or one within the maximum.
    #[inline]
    pub fn takes(&self, data: FieldData<'_>) -> bool {
        let (bytes, external) = match data {
            FieldData::Null => return self.nullable,
            FieldData::Bytes(bytes) => (bytes.len(), false),
            FieldData::External(bytes) => (bytes.len(), true),
        };
        match self.length {
            Length::Fixed(fixed) => bytes == usize::from(fixed) && !external,
            Length::Variable { .. } if self.long_lengths() => bytes <= FIELD_BYTES_MAX,
            Length::Variable { .. } => bytes <= 255 && !external,
        }
    }
}

impl RecordBuffer {
    pub fn new() -> RecordBuffer {
        RecordBuffer::default()
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// For changes that keep the record's shape: system fields, info bits, fields of the same length.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    #[inline]
    pub fn origin(&self) -> usize {
        self.origin
    }

    #[inline]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub fn image(&self) -> RecordImage<'_> {
        RecordImage {
            info: info(&self.bytes, self.origin),
            extra: &self.bytes[..self.origin - HEADER_BYTES],
            data: &self.bytes[self.origin..],
        }
    }

    /// Builds a record of all fields of the layout, in order, with the given info bits, in the newest row version.
    ///
    /// The values must fit the layout: a NULL where the field is nullable, a fixed field of its length.
    pub fn build<'f, I>(&mut self, layout: &Layout, info: u8, fields: I)
    where
        I: IntoIterator<Item = FieldData<'f>>,
        I::IntoIter: Clone,
    {
        self.try_build(layout, info, fields).expect("a value that fits its field");
    }

    /// [`RecordBuffer::build`] of values that come from a page, so that they may not fit.
    pub fn try_build<'f, I>(&mut self, layout: &Layout, info: u8, fields: I) -> Result<()>
    where
        I: IntoIterator<Item = FieldData<'f>>,
        I::IntoIter: Clone,
    {
        self.try_build_version(layout, layout.current_version(), info, fields)
    }

    /// The same in a row version of one's choice: values of fields that it does not have are left out.
    pub fn try_build_version<'f, I>(&mut self, layout: &Layout, version: u8, info: u8, fields: I) -> Result<()>
    where
        I: IntoIterator<Item = FieldData<'f>>,
        I::IntoIter: Clone,
    {
        let Some(bitmap_bytes) = layout.bitmap_bytes(version) else {
            return Err(Error::corrupt("a row version that its table does not have", usize::from(version)));
        };
        let fields = fields.into_iter();
        let mut length_bytes = 0;
        let mut data_bytes = 0;
        let mut count = 0;
        for (field, data) in layout.fields().iter().zip(fields.clone()) {
            count += 1;
            if !layout.has_field(count - 1, version) {
                continue;
            }
            if !field.takes(data) {
                return Err(Error::corrupt("a value that does not fit its field", count - 1));
            }
            let (bytes, external) = match data {
                FieldData::Null => continue,
                FieldData::Bytes(bytes) => (bytes.len(), false),
                FieldData::External(bytes) => (bytes.len(), true),
            };
            data_bytes += bytes;
            if let Length::Variable { .. } = field.length {
                length_bytes += if field.long_lengths() && (bytes > 127 || external) { 2 } else { 1 };
            }
        }
        if count != layout.fields().len() {
            return Err(Error::corrupt("fewer values than fields", count));
        }

        self.origin = length_bytes + bitmap_bytes + HEADER_BYTES;
        self.bytes.clear();
        self.bytes.resize(self.origin, 0);
        self.bytes.reserve(data_bytes);
        self.bytes[self.origin - 5] = info & 0xF0 & !VERSIONED;
        set_heap_no_status(&mut self.bytes, self.origin, 0, layout.status());

        let mut bitmap = self.origin - HEADER_BYTES;
        if version > 0 {
            self.bytes[self.origin - 5] |= VERSIONED;
            bitmap -= 1;
            self.bytes[bitmap] = version;
        }
        let mut lengths = length_bytes;
        let mut nullable = 0;
        for (number, (field, data)) in layout.fields().iter().zip(fields).enumerate() {
            if !layout.has_field(number, version) {
                continue;
            }
            let bit = nullable;
            nullable += usize::from(field.nullable);
            let (bytes, external) = match data {
                FieldData::Null => {
                    self.bytes[bitmap - 1 - bit / 8] |= 1 << (bit % 8);
                    continue;
                }
                FieldData::Bytes(bytes) => (bytes, false),
                FieldData::External(bytes) => (bytes, true),
            };
            if let Length::Variable { .. } = field.length {
                lengths -= 1;
                if field.long_lengths() && (bytes.len() > 127 || external) {
                    self.bytes[lengths] = 0x80 | u8::from(external) << 6 | (bytes.len() >> 8) as u8;
                    lengths -= 1;
                }
                self.bytes[lengths] = bytes.len() as u8;
            }
            self.bytes.extend_from_slice(bytes);
        }
        debug_assert!(lengths == 0);
        Ok(())
    }

    /// Builds the node pointer to `child` whose first record (or node pointer) is at `origin` of `page`.
    ///
    /// `node` is the layout of the node pointer, `source` that of the record on the page.
    pub fn build_node_pointer(
        &mut self,
        node: &Layout,
        source: &Layout,
        page: &[u8],
        origin: usize,
        child: PageNo,
    ) -> Result<()> {
        assert!(node.kind() == Kind::NodePointer);
        let key_fields = node.fields().len() - 1;
        // A first pass, so that the second cannot fail within `build`.
        let mut fields = source.parse_keys(page, origin)?;
        for _ in 0..key_fields {
            if let Some(field) = fields.next() {
                field?;
            }
        }
        let child = child.0.to_be_bytes();
        let key = source.parse_keys(page, origin)?.take(key_fields).map(|field| {
            let field = field.expect("parsed a moment ago");
            FieldData::from(field.of(page))
        });
        self.build(node, 0, key.chain(std::iter::once(FieldData::Bytes(&child))));
        Ok(())
    }

    /// Copies the record at `origin` of a page, whole. Info bits and status come along; n_owned, heap number and next
    /// do not.
    pub fn copy(&mut self, page: &[u8], layout: &Layout, origin: usize) -> Result<()> {
        let image = RecordImage::of(page, layout, origin)?;
        self.set(layout, image);
        Ok(())
    }

    /// Takes over a record image.
    pub fn set(&mut self, layout: &Layout, image: RecordImage<'_>) {
        self.origin = image.extra.len() + HEADER_BYTES;
        self.bytes.clear();
        self.bytes.extend_from_slice(image.extra);
        self.bytes.extend_from_slice(&[image.info & 0xF0, 0, layout.status(), 0, 0]);
        self.bytes.extend_from_slice(image.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{DELETED, FieldLayout, FieldSpan, NEVER, Offsets};

    fn layout() -> Layout {
        Layout::secondary(vec![
            FieldLayout::variable(300, false).nullable(true),
            FieldLayout::variable(255, false).nullable(true),
            FieldLayout::fixed(4).nullable(true),
            FieldLayout::variable(65535, true),
        ])
    }

    #[test]
    fn lengths_are_those_of_real_pages() {
        // Memory order, as on a page: the entry of the first field comes last.
        let mut buffer = RecordBuffer::new();
        let mut extra = |first: &[u8], last: FieldData<'_>| {
            let fields = [FieldData::Bytes(first), FieldData::Null, FieldData::Null, last];
            buffer.build(&layout(), 0, fields);
            buffer.image().extra.to_vec()
        };
        assert_eq!(extra(&[1; 200], FieldData::Bytes(b"")), [0, 0xC8, 0x80, 0b110]);
        assert_eq!(extra(&[1; 127], FieldData::Bytes(b"")), [0, 127, 0b110]);
        assert_eq!(extra(b"", FieldData::Bytes(&[1; 300])), [0x2C, 0x81, 0, 0b110]);
        assert_eq!(extra(b"", FieldData::External(&[1; 20])), [0x14, 0xC0, 0, 0b110]);
        assert_eq!(extra(b"", FieldData::Bytes(&[1; 8000])), [0x40, 0x9F, 0, 0b110]);
    }

    #[test]
    fn what_is_built_is_parsed() {
        let mut buffer = RecordBuffer::new();
        let fields = [
            FieldData::Null,
            FieldData::Bytes(&[7; 255]),
            FieldData::Bytes(&[1, 2, 3, 4]),
            FieldData::External(&[9; 20]),
        ];
        buffer.build(&layout(), DELETED, fields);
        let mut offsets = Offsets::new();
        layout().parse_into(buffer.bytes(), buffer.origin(), &mut offsets).unwrap();
        let values: Vec<_> = offsets.fields().iter().map(|field| field.of(buffer.bytes())).collect();
        assert_eq!(values, [None, Some(&[7; 255][..]), Some(&[1, 2, 3, 4]), Some(&[9; 20])]);
        assert!(offsets.field(3).external && offsets.has_external());
        assert_eq!(offsets.size().total(), buffer.size());

        let mut copy = RecordBuffer::new();
        copy.copy(buffer.bytes(), &layout(), buffer.origin()).unwrap();
        assert_eq!(copy.bytes(), buffer.bytes());
        assert_eq!(copy.origin(), buffer.origin());
    }

    /// Field 4 comes with version 1 and is 7 in older rows, field 3 goes with version 2.
    fn versions(current: u8) -> Layout {
        let mut fields = vec![FieldLayout::fixed(4), FieldLayout::fixed(6), FieldLayout::fixed(7)];
        fields.push(FieldLayout::variable(65535, true).nullable(true));
        fields.push(FieldLayout::fixed(1).nullable(true));
        let mut spans = vec![FieldSpan::ALWAYS; 3];
        spans.push(FieldSpan { added: 0, dropped: if current > 1 { 2 } else { NEVER }, default: None });
        spans.push(FieldSpan { added: 1, dropped: NEVER, default: Some([7].into()) });
        if current == 0 {
            fields.pop();
            return Layout::clustered(fields, 1);
        }
        Layout::clustered(fields, 1).with_versions(spans, current)
    }

    #[test]
    fn a_record_is_read_by_the_version_that_it_was_written_in() {
        let key = [FieldData::Bytes(&[1; 4]), FieldData::Bytes(&[2; 6]), FieldData::Bytes(&[3; 7])];
        let long = FieldData::External(&[9; 20]);
        let mut first = RecordBuffer::new();
        first.build(&versions(0), 0, key.into_iter().chain([long]));
        let mut second = RecordBuffer::new();
        second.build(&versions(1), DELETED, key.into_iter().chain([FieldData::Null, FieldData::Bytes(&[5])]));
        // Memory order: the NULL bitmap, the version, the header.
        assert_eq!(second.image().extra, [0b01, 1]);
        let layout = versions(2);
        let mut third = RecordBuffer::new();
        third.build(&layout, 0, key.into_iter().chain([long, FieldData::Null]));
        assert_eq!(third.image().extra, [0b1, 2], "what was dropped is not written");

        let mut offsets = Offsets::new();
        let mut values = |record: &RecordBuffer| {
            layout.parse_into(record.bytes(), record.origin(), &mut offsets).unwrap();
            assert_eq!(offsets.size().total(), record.size());
            let field = |number: usize| {
                let field = offsets.field(number);
                (field.value(&layout, number, record.bytes()).map(<[u8]>::to_vec), field.external, field.absent)
            };
            (field(3), field(4))
        };
        assert_eq!(values(&first), ((Some(vec![9; 20]), true, false), (Some(vec![7]), false, true)));
        assert_eq!(values(&second), ((None, false, false), (Some(vec![5]), false, false)));
        assert_eq!(values(&third), ((None, false, true), (None, false, false)));
        assert_eq!(layout.constant_fields(), 3);
        assert_eq!(layout.node_pointer(), versions(0).node_pointer(), "the pages above the leaves stay");

        // A record goes back to the version before as it was.
        let mut again = RecordBuffer::new();
        again.try_build_version(&layout, 0, 0, key.into_iter().chain([long, FieldData::Bytes(&[7])])).unwrap();
        assert_eq!(again.bytes(), first.bytes());
        assert!(versions(1).parse(third.bytes(), third.origin()).is_err(), "a version that is yet to come");
    }

    #[test]
    #[should_panic(expected = "a value that fits its field")]
    fn a_fixed_field_of_another_length_is_our_mistake() {
        let fields = [FieldData::Null, FieldData::Null, FieldData::Bytes(&[1; 3]), FieldData::Bytes(b"")];
        RecordBuffer::new().build(&layout(), 0, fields);
    }
}
