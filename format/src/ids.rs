//! Numbers with a meaning, as types: `lsn + bytes` compiles, `lsn + page number` does not.
//!
//! All are plain `Copy` newtypes with a public field, ordered and hashed as their number.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            #[inline]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl From<$inner> for $name {
            #[inline]
            fn from(value: $inner) -> $name {
                $name(value)
            }
        }
    };
}

id! {
    /// Log sequence number: a position in the redo log, counted in bytes since the database was created.
    Lsn(u64)
}
id! {
    /// A tablespace, that is, a file. 0 is the system tablespace.
    SpaceId(u32)
}
id! {
    /// A page within its tablespace, counted from 0.
    PageNo(u32)
}
id! {
    /// A transaction. Stored in 6 bytes.
    TrxId(u64)
}
id! {
    /// Where the undo record of a row's previous version lies. Stored in 7 bytes.
    ///
    /// ```text
    /// bit 55     insert: the row was inserted by this change, there is no previous version
    /// 54 .. 48   rollback segment
    /// 47 .. 16   undo page number
    /// 15 ..  0   offset of the undo record in its page
    /// ```
    RollPtr(u64)
}
id! {
    /// The number of an undo record within its transaction: later changes have larger ones.
    UndoNo(u64)
}
id! {
    TableId(u64)
}
id! {
    IndexId(u64)
}

impl Lsn {
    pub const ZERO: Lsn = Lsn(0);
    pub const MAX: Lsn = Lsn(u64::MAX);

    /// Bytes of log from `earlier` to here.
    #[inline]
    pub fn since(self, earlier: Lsn) -> u64 {
        self.0 - earlier.0
    }
}

impl std::ops::Add<u64> for Lsn {
    type Output = Lsn;
    #[inline]
    fn add(self, bytes: u64) -> Lsn {
        Lsn(self.0 + bytes)
    }
}

impl std::ops::AddAssign<u64> for Lsn {
    #[inline]
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}

impl PageNo {
    /// No page: the end of a list, a page without a neighbour. Called FIL_NULL in MySQL.
    pub const NULL: PageNo = PageNo(0xFFFF_FFFF);

    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == PageNo::NULL.0
    }
}

impl TrxId {
    /// Bytes that a transaction id takes in a row.
    pub const BYTES: usize = 6;
    pub const MAX: TrxId = TrxId((1 << 48) - 1);

    /// Reads the 6 bytes at the start of `bytes`.
    #[inline]
    pub fn read(bytes: &[u8]) -> TrxId {
        let mut wide = [0; 8];
        wide[2..].copy_from_slice(&bytes[..6]);
        TrxId(u64::from_be_bytes(wide))
    }

    /// An id that is stored in 8 bytes. None: it is none, because rows have no room for it.
    #[inline]
    pub fn checked(id: u64) -> Option<TrxId> {
        (id <= TrxId::MAX.0).then_some(TrxId(id))
    }

    #[inline]
    pub fn to_bytes(self) -> [u8; 6] {
        self.0.to_be_bytes()[2..].try_into().expect("6 of 8 bytes")
    }
}

impl RollPtr {
    /// Bytes that a roll pointer takes in a row.
    pub const BYTES: usize = 7;
    /// What a row without history carries: inserted, nowhere.
    pub const NO_HISTORY: RollPtr = RollPtr(1 << 55);

    #[inline]
    pub const fn new(insert: bool, rollback_segment: u8, page_no: PageNo, offset: u16) -> RollPtr {
        RollPtr(
            (insert as u64) << 55 | ((rollback_segment & 0x7F) as u64) << 48 | (page_no.0 as u64) << 16 | offset as u64,
        )
    }

    /// Whether the row did not exist before the change this points to.
    #[inline]
    pub const fn is_insert(self) -> bool {
        self.0 >> 55 & 1 == 1
    }

    #[inline]
    pub const fn rollback_segment(self) -> u8 {
        (self.0 >> 48 & 0x7F) as u8
    }

    #[inline]
    pub const fn page_no(self) -> PageNo {
        PageNo((self.0 >> 16) as u32)
    }

    #[inline]
    pub const fn offset(self) -> u16 {
        self.0 as u16
    }

    /// Reads the 7 bytes at the start of `bytes`.
    #[inline]
    pub fn read(bytes: &[u8]) -> RollPtr {
        let mut wide = [0; 8];
        wide[1..].copy_from_slice(&bytes[..7]);
        RollPtr(u64::from_be_bytes(wide))
    }

    #[inline]
    pub fn to_bytes(self) -> [u8; 7] {
        self.0.to_be_bytes()[1..].try_into().expect("7 of 8 bytes")
    }
}

impl SpaceId {
    /// The first number of a temporary tablespace.
    pub const TEMPORARY_FIRST: SpaceId = SpaceId(0x8000_0000);

    /// Whether the tablespace is of this run of the server alone. Its pages are neither logged nor made durable: the
    /// next start removes the file.
    #[inline]
    pub const fn is_temporary(self) -> bool {
        self.0 >> 28 >= 8 && self.0 >> 28 < 15
    }
}

/// A page of the instance: tablespace and number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    pub space: SpaceId,
    pub page: PageNo,
}

impl PageId {
    #[inline]
    pub const fn new(space: SpaceId, page: PageNo) -> PageId {
        PageId { space, page }
    }

    /// Both numbers in one word, space first: a hash key.
    #[inline]
    pub const fn fold(self) -> u64 {
        (self.space.0 as u64) << 32 | self.page.0 as u64
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.space, self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roll_pointer_parts_come_back() {
        // The example of a real server: an insert, segment 4, page 0x134, offset 0x110.
        let pointer = RollPtr::read(&[0x84, 0, 0, 1, 0x34, 1, 0x10]);
        assert!(pointer.is_insert());
        assert_eq!(pointer.rollback_segment(), 4);
        assert_eq!((pointer.page_no(), pointer.offset()), (PageNo(0x134), 0x110));
        assert_eq!(RollPtr::new(true, 4, PageNo(0x134), 0x110), pointer);
        assert_eq!(RollPtr::read(&pointer.to_bytes()), pointer);
        assert_eq!(RollPtr::NO_HISTORY.to_bytes(), [0x80, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn trx_ids_are_six_bytes() {
        let id = TrxId(0x0102_0304_0506);
        assert_eq!(id.to_bytes(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(TrxId::read(&id.to_bytes()), id);
    }
}
