//! Finding the fields of a record, without allocation.
//!
//! All functions take a slice and the origin of a record in it: a page, or the bytes of a [`RecordBuffer`]. They never
//! read outside the slice, and answer an error if the record claims to lie there.
//!
//! [`RecordBuffer`]: super::RecordBuffer

use crate::bytes::get_u32;
use crate::error::{Error, Result};
use crate::ids::{PageNo, RollPtr, TrxId};

use super::layout::{Kind, Layout, Length, Size};
use super::versions::RowVersions;
use super::{HEADER_BYTES, INSTANT, VERSIONED, info, row_version};

/// Where a field's data is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Offset in the slice that was parsed.
    pub start: u32,
    /// Bytes in the record; of an external field, those of the reference included.
    pub bytes: u32,
    pub null: bool,
    /// The data ends with a reference to the rest of the value.
    pub external: bool,
    /// The record is of a version without the field: its value is [`Layout::absent_value`].
    pub absent: bool,
}

impl Field {
    /// The field's bytes, `None` if NULL. Of a field behind the system fields, which may be absent, see [`Field::value`].
    #[inline]
    pub fn of<'a>(&self, page: &'a [u8]) -> Option<&'a [u8]> {
        debug_assert!(!self.absent, "the value of an absent field is not in the record");
        (!self.null).then(|| &page[self.start as usize..(self.start + self.bytes) as usize])
    }

    /// The same for any field: `number` is its own.
    #[inline]
    pub fn value<'a>(&self, layout: &'a Layout, number: usize, page: &'a [u8]) -> Option<&'a [u8]> {
        if self.absent { layout.absent_value(number) } else { self.of(page) }
    }

    #[inline]
    pub fn end(&self) -> usize {
        (self.start + self.bytes) as usize
    }
}

/// The fields of a record, one by one. `VERSIONS`: some of them may be absent. Walks are compiled for both, because most
/// tables never have a row version and a query asks for each field of each row.
#[derive(Clone)]
pub struct Fields<'a, const VERSIONS: bool> {
    page: &'a [u8],
    layout: &'a Layout,
    origin: usize,
    index: usize,
    /// One behind the last field of the walk.
    end: usize,
    /// Where the next field's data starts.
    at: usize,
    /// One above the next length entry.
    lengths: usize,
    /// One above the NULL bitmap.
    bitmap: usize,
    /// How many nullable fields were passed.
    nullable: usize,
    /// Where fields may be absent: their versions, and the record's own.
    versions: Option<(&'a RowVersions, u8)>,
}

impl<const VERSIONS: bool> Fields<'_, VERSIONS> {
    /// The index of the field that [`Iterator::next`] returns next.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The size of the record up to here: that of the whole record once the iterator is exhausted.
    #[inline]
    pub fn size(&self) -> Size {
        Size { extra: (self.origin - self.lengths) as u32, data: (self.at - self.origin) as u32 }
    }

    /// The field of a number that was not passed yet.
    #[inline]
    fn field(mut self, index: usize) -> Result<Field> {
        while self.index < index {
            self.parse()?;
        }
        self.parse()
    }

    /// The size of the whole record.
    #[inline]
    fn whole(mut self) -> Result<Size> {
        while self.index < self.end {
            self.parse()?;
        }
        Ok(self.size())
    }

    #[inline]
    fn length_byte(&mut self) -> Result<usize> {
        if self.lengths == 0 {
            return Err(Error::corrupt("record lengths before the page", self.origin));
        }
        self.lengths -= 1;
        Ok(usize::from(self.page[self.lengths]))
    }

    // As a call it would hand each field over in memory, byte by byte, to be read in wider words: walks would wait for that.
    #[inline(always)]
    fn parse(&mut self) -> Result<Field> {
        let field = &self.layout.fields()[self.index];
        self.index += 1;
        let start = self.at as u32;
        if VERSIONS
            && let Some((versions, own)) = self.versions
            && !versions.span(self.index - 1).has(own)
        {
            return Ok(Field { start, bytes: 0, null: true, external: false, absent: true });
        }
        if field.nullable {
            let bit = self.nullable;
            self.nullable += 1;
            // In bounds: `fields` checked that the bitmap lies within the slice.
            if self.page[self.bitmap - 1 - bit / 8] >> (bit % 8) & 1 == 1 {
                return Ok(Field { start, bytes: 0, null: true, external: false, absent: false });
            }
        }
        let mut external = false;
        let bytes = match field.length {
            Length::Fixed(bytes) => usize::from(bytes),
            Length::Variable { .. } => {
                let first = self.length_byte()?;
                if first & 0x80 != 0 && field.long_lengths() {
                    external = first & 0x40 != 0;
                    (first & 0x3F) << 8 | self.length_byte()?
                } else {
                    first
                }
            }
        };
        self.at += bytes;
        if self.at > self.page.len() {
            return Err(Error::corrupt("record data beyond the page", self.origin));
        }
        Ok(Field { start, bytes: bytes as u32, null: false, external, absent: false })
    }
}

impl<const VERSIONS: bool> Iterator for Fields<'_, VERSIONS> {
    type Item = Result<Field>;

    #[inline(always)]
    fn next(&mut self) -> Option<Result<Field>> {
        (self.index < self.end).then(|| self.parse())
    }
}

/// The places of all fields of one record: a buffer to parse into, again and again.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    fields: Vec<Field>,
    size: Size,
}

impl Offsets {
    pub fn new() -> Offsets {
        Offsets::default()
    }

    #[inline]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    #[inline]
    pub fn field(&self, index: usize) -> Field {
        self.fields[index]
    }

    #[inline]
    pub fn size(&self) -> Size {
        self.size
    }

    pub fn has_external(&self) -> bool {
        self.fields.iter().any(|field| field.external)
    }

    #[inline]
    fn take<const VERSIONS: bool>(&mut self, mut fields: Fields<'_, VERSIONS>) -> Result<()> {
        self.fields.clear();
        while fields.index < fields.end {
            self.fields.push(fields.parse()?);
        }
        self.size = fields.size();
        Ok(())
    }
}

/// The error of a record whose kind its table does not have.
#[cold]
fn not_readable(page: &[u8], origin: usize) -> Error {
    let what = "rows written after an instant ALTER, info bits";
    Error::Unsupported { what, value: info(page, origin).into() }
}

impl Layout {
    /// Walks the fields of the record at `origin`.
    #[inline]
    pub fn parse<'a>(&'a self, page: &'a [u8], origin: usize) -> Result<Fields<'a, true>> {
        match self.versions() {
            Some(_) => self.parse_version(page, origin),
            None => Ok(self.walk(page, origin, self.plain_lengths(page, origin)?, self.fields().len())),
        }
    }

    /// The same of a layout without row versions.
    #[inline]
    pub fn parse_plain<'a>(&'a self, page: &'a [u8], origin: usize) -> Result<Fields<'a, false>> {
        debug_assert!(self.versions().is_none(), "fields may be absent");
        Ok(self.walk(page, origin, self.plain_lengths(page, origin)?, self.fields().len()))
    }

    /// Walks the fields that records of all versions have: of a clustered leaf at least the key and the system fields.
    #[inline]
    pub fn parse_keys<'a>(&'a self, page: &'a [u8], origin: usize) -> Result<Fields<'a, false>> {
        if self.versions().is_none() {
            return self.parse_plain(page, origin);
        }
        let Fields { lengths, bitmap, .. } = self.parse_version(page, origin)?;
        let end = self.trx_id_field().map_or(self.key_fields(), |trx_id| trx_id + 2);
        Ok(Fields { bitmap, ..self.walk(page, origin, lengths, end) })
    }

    /// Where the length entries of a record without a version begin, going down.
    #[inline]
    fn plain_lengths(&self, page: &[u8], origin: usize) -> Result<usize> {
        if origin > page.len() || origin < HEADER_BYTES + self.null_bytes {
            return Err(Error::corrupt("record outside the page", origin));
        }
        if info(page, origin) & (VERSIONED | INSTANT) != 0 {
            return Err(not_readable(page, origin));
        }
        Ok(origin - HEADER_BYTES - self.null_bytes)
    }

    /// The walk over all fields up to `end`, with the NULL bitmap behind the header.
    #[inline]
    fn walk<'a, const VERSIONS: bool>(
        &'a self,
        page: &'a [u8],
        origin: usize,
        lengths: usize,
        end: usize,
    ) -> Fields<'a, VERSIONS> {
        let bitmap = origin - HEADER_BYTES;
        Fields { page, layout: self, origin, index: 0, end, at: origin, lengths, bitmap, nullable: 0, versions: None }
    }

    /// Whether a record is of a kind that may be here, by its info bits: without the versions of an instant ALTER, unless
    /// there are such.
    #[inline]
    pub fn reads(&self, page: &[u8], origin: usize) -> bool {
        match info(page, origin) & (VERSIONED | INSTANT) {
            0 => true,
            bits => bits == VERSIONED && self.versions().is_some(),
        }
    }

    /// [`Layout::parse`] where records of several versions may be.
    #[inline(never)]
    fn parse_version<'a>(&'a self, page: &'a [u8], origin: usize) -> Result<Fields<'a, true>> {
        if origin > page.len() || origin < HEADER_BYTES {
            return Err(Error::corrupt("record outside the page", origin));
        }
        let bits = info(page, origin);
        let Some(versions) = self.versions().filter(|_| bits & INSTANT == 0) else {
            return Err(not_readable(page, origin));
        };
        if bits & VERSIONED != 0 && origin == HEADER_BYTES {
            return Err(Error::corrupt("record outside the page", origin));
        }
        let own = row_version(page, origin);
        if (bits & VERSIONED != 0) != (own > 0) {
            return Err(Error::corrupt("a row version of 0", origin));
        }
        let Some(bytes) = versions.bitmap_bytes(own) else {
            return Err(Error::corrupt("a row version that its table does not have", origin));
        };
        let Some(lengths) = origin.checked_sub(HEADER_BYTES + bytes) else {
            return Err(Error::corrupt("record outside the page", origin));
        };
        let bitmap = origin - HEADER_BYTES - usize::from(own > 0);
        let all = self.walk(page, origin, lengths, self.fields().len());
        Ok(Fields { bitmap, versions: Some((versions, own)), ..all })
    }

    /// Finds all fields of the record at `origin`.
    #[inline]
    pub fn parse_into(&self, page: &[u8], origin: usize, offsets: &mut Offsets) -> Result<()> {
        match self.versions() {
            None => offsets.take(self.parse_plain(page, origin)?),
            Some(_) => offsets.take(self.parse_version(page, origin)?),
        }
    }

    /// One field of the record at `origin`. Costs nothing for the leading fields of fixed length.
    #[inline]
    pub fn field(&self, page: &[u8], origin: usize, index: usize) -> Result<Field> {
        if index < self.constant_fields() {
            // Both exist: there is one start more than constant fields.
            let start = origin + self.constant_start(index).unwrap_or_default();
            let end = origin + self.constant_start(index + 1).unwrap_or_default();
            if end > page.len() {
                return Err(Error::corrupt("record data beyond the page", origin));
            }
            let (start, bytes) = (start as u32, (end - start) as u32);
            return Ok(Field { start, bytes, null: false, external: false, absent: false });
        }
        match self.versions() {
            None => self.parse_plain(page, origin)?.field(index),
            Some(_) => self.parse_version(page, origin)?.field(index),
        }
    }

    /// The size of the record at `origin`.
    #[inline]
    pub fn size(&self, page: &[u8], origin: usize) -> Result<Size> {
        if let Some(size) = self.constant_size() {
            if origin < size.extra as usize || origin + size.data as usize > page.len() {
                return Err(Error::corrupt("record outside the page", origin));
            }
            return Ok(size);
        }
        match self.versions() {
            None => self.parse_plain(page, origin)?.whole(),
            Some(_) => self.parse_version(page, origin)?.whole(),
        }
    }

    /// Where the 13 bytes of transaction id and roll pointer start, as an offset in `page`.
    #[inline]
    pub fn system_fields(&self, page: &[u8], origin: usize) -> Result<usize> {
        let index = self.trx_id_field().expect("only clustered leaves have system fields");
        let start = self.field(page, origin, index)?.start as usize;
        if start + TrxId::BYTES + RollPtr::BYTES > page.len() {
            return Err(Error::corrupt("record data beyond the page", origin));
        }
        Ok(start)
    }

    #[inline]
    pub fn trx_id(&self, page: &[u8], origin: usize) -> Result<TrxId> {
        Ok(TrxId::read(&page[self.system_fields(page, origin)?..]))
    }

    #[inline]
    pub fn roll_ptr(&self, page: &[u8], origin: usize) -> Result<RollPtr> {
        Ok(RollPtr::read(&page[self.system_fields(page, origin)? + TrxId::BYTES..]))
    }

    /// The child page of the node pointer at `origin`.
    #[inline]
    pub fn child(&self, page: &[u8], origin: usize) -> Result<PageNo> {
        debug_assert!(self.kind() == Kind::NodePointer);
        let field = self.field(page, origin, self.fields().len() - 1)?;
        Ok(PageNo(get_u32(page, field.start as usize)))
    }
}
