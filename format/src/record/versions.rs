//! Row versions: which fields the records of each version of a table have.
//!
//! ```text
//! field       0  1  2  3  4       version 0      version 1          version 2
//! added       0  0  0  1  1       0 1 2          0 1 2 3 4          0 1 3 4
//! dropped     -  -  2  -  -       3, 4: the value that rows had when they came
//! ```
//!
//! Invariants:
//!
//! * A field that came later has one value in all records of earlier versions; it never changes.
//! * The value of a field that a record's version has no more is NULL: nobody asks for it.

/// The most row versions of a table, as in MySQL 8.0.
pub const ROW_VERSIONS_MAX: u8 = 64;

/// In place of the version that dropped a field.
pub const NEVER: u8 = u8::MAX;

/// The versions that have a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSpan {
    /// The first one.
    pub added: u8,
    /// The first one without it again, [`NEVER`] = none.
    pub dropped: u8,
    /// What the records of earlier versions have; None = NULL.
    pub default: Option<Box<[u8]>>,
}

impl FieldSpan {
    /// A field of every version.
    pub const ALWAYS: FieldSpan = FieldSpan { added: 0, dropped: NEVER, default: None };

    #[inline]
    pub fn has(&self, version: u8) -> bool {
        self.added <= version && version < self.dropped
    }
}

/// The versions of a table's clustered leaf records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowVersions {
    /// The newest, in which records are written.
    current: u8,
    /// Of each field.
    spans: Box<[FieldSpan]>,
    /// Of each version, the bytes of the NULL bitmap.
    null_bytes: Box<[u8]>,
}

impl RowVersions {
    pub(super) fn new(spans: Vec<FieldSpan>, current: u8, nullable: &dyn Fn(usize) -> bool) -> RowVersions {
        let null_bytes = |version| {
            let has = spans.iter().enumerate().filter(|(field, span)| span.has(version) && nullable(*field));
            has.count().div_ceil(8) as u8
        };
        let null_bytes = (0..=current).map(null_bytes).collect();
        RowVersions { current, spans: spans.into(), null_bytes }
    }

    #[inline]
    pub fn current(&self) -> u8 {
        self.current
    }

    #[inline]
    pub fn span(&self, field: usize) -> &FieldSpan {
        &self.spans[field]
    }

    /// Bytes between the header and the lengths: the version, if it is not 0, and the NULL bitmap. None = there is no such
    /// version.
    #[inline]
    pub(super) fn bitmap_bytes(&self, version: u8) -> Option<usize> {
        let bytes = self.null_bytes.get(usize::from(version))?;
        Some(usize::from(*bytes) + usize::from(version > 0))
    }
}
