//! Torn pages: a crash in the middle of a page's write leaves a part of the new page and a part of the old one. This
//! module chooses how a file is protected, by the first line that holds:
//!
//! | | holds if | costs |
//! |---|---|---|
//! | `CopyOnWrite` | the filesystem never overwrites: ZFS, btrfs but for files with the attribute C | nothing |
//! | `AtomicWrites` | the kernel promises untorn writes up to the length of a page, the file bypasses the page cache, and neither the server nor the table says no | lengths are powers of two |
//! | `Doublewrite` | `innodb_doublewrite` is ON or DETECT_AND_RECOVER | each page is written twice, in its stored length |
//! | `DetectOnly` | `innodb_doublewrite` is DETECT_ONLY | 4K per batch; a torn page is named, not restored |
//! | `Off` | `innodb_doublewrite` is OFF | a torn page is found when it is read |
//!
//! ATOMIC_WRITES=ON of a table overrides `innodb_use_atomic_writes=OFF` and the other way round. A file whose untorn
//! writes are refused while it is in use moves to the next line.
//!
//! XFS promises untorn writes with any device, and makes a copy where the device cannot: nothing tells the two apart
//! for sure. The copy is accepted, too. It costs half of doublewrite's bytes, though more time;
//! `innodb_use_atomic_writes=OFF` selects doublewrite instead.
//!
//! The choice comes with its reason, which names the first line that holds and every line above it that did not.

use std::fmt;

use crate::config::{Config, Doublewrite};
use crate::io::FileFacts;
use crate::schema::AtomicWrites;

/// How a file is protected from torn pages. See the module header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TornProtection {
    /// The filesystem never overwrites in place.
    CopyOnWrite,
    /// Each page is one write that happens as a whole or not at all.
    AtomicWrites,
    /// Each page is written to a doublewrite file first.
    Doublewrite,
    /// A doublewrite file first gets an entry for each page, but not its bytes.
    DetectOnly,
    /// Switched off: a torn page is lost.
    Off,
}

impl TornProtection {
    pub(super) fn from_number(number: u8) -> TornProtection {
        use TornProtection::*;
        [CopyOnWrite, AtomicWrites, Doublewrite, DetectOnly, Off][usize::from(number)]
    }

    pub fn name(self) -> &'static str {
        match self {
            TornProtection::CopyOnWrite => "copy on write",
            TornProtection::AtomicWrites => "atomic writes",
            TornProtection::Doublewrite => "doublewrite",
            TornProtection::DetectOnly => "detect only",
            TornProtection::Off => "off",
        }
    }
}

impl fmt::Display for TornProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The choice for a file, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub protection: TornProtection,
    pub reason: String,
}

/// For a file that need not survive a crash.
pub fn temporary() -> Choice {
    Choice { protection: TornProtection::Off, reason: "temporary: nothing of it survives a crash".into() }
}

/// The inputs of the choice, besides the file.
#[derive(Clone, Copy, Debug)]
pub struct LockRequests {
    pub doublewrite: Doublewrite,
    /// `innodb_use_atomic_writes`.
    pub use_atomic_writes: bool,
    /// ATOMIC_WRITES of the table.
    pub table: AtomicWrites,
    /// The file has refused an untorn write.
    pub refused: bool,
}

impl LockRequests {
    pub fn new(config: &Config) -> LockRequests {
        LockRequests {
            doublewrite: config.doublewrite,
            use_atomic_writes: config.use_atomic_writes,
            table: AtomicWrites::Default,
            refused: false,
        }
    }
}

/// Chooses for a file with pages of this size.
pub fn choose(facts: &FileFacts, page_bytes: usize, requests: LockRequests) -> Choice {
    let filesystem = facts.filesystem;
    if facts.copy_on_write {
        let reason = format!("{filesystem} never overwrites in place");
        return Choice { protection: TornProtection::CopyOnWrite, reason };
    }
    let no_copy = match filesystem {
        "btrfs" => "btrfs overwrites this file in place (attribute C, nodatacow)".to_string(),
        _ => format!("{filesystem} overwrites in place"),
    };
    let no_atomic = match why_not_atomic(facts, page_bytes, requests) {
        None => {
            let (min, max) = facts.atomic_write.expect("checked by why_not_atomic");
            let reason = format!("{no_copy}, but writes of {min} to {max} bytes are untorn");
            return Choice { protection: TornProtection::AtomicWrites, reason };
        }
        Some(reason) => reason,
    };
    let (protection, setting) = match requests.doublewrite {
        Doublewrite::On => (TornProtection::Doublewrite, "innodb_doublewrite=ON"),
        Doublewrite::DetectOnly => (TornProtection::DetectOnly, "innodb_doublewrite=DETECT_ONLY"),
        Doublewrite::Off => (TornProtection::Off, "innodb_doublewrite=OFF"),
    };
    Choice { protection, reason: format!("{setting}; {no_copy}; {no_atomic}") }
}

fn why_not_atomic(facts: &FileFacts, page_bytes: usize, requests: LockRequests) -> Option<String> {
    let wanted = match requests.table {
        AtomicWrites::Default => requests.use_atomic_writes,
        AtomicWrites::On => true,
        AtomicWrites::Off => false,
    };
    if !wanted {
        let setting = match requests.table {
            AtomicWrites::Off => "ATOMIC_WRITES=OFF",
            _ => "innodb_use_atomic_writes=OFF",
        };
        return Some(format!("no untorn writes: {setting}"));
    }
    match facts.atomic_write {
        None => Some("no untorn writes: the device, the filesystem or the page cache stands in the way".into()),
        Some((min, max)) if min > page_bytes || max < page_bytes => {
            Some(format!("untorn writes are of {min} to {max} bytes, and not of {page_bytes}"))
        }
        Some(_) if requests.refused => Some("an untorn write was refused by this file".into()),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Punching;

    const PLAIN: FileFacts = FileFacts {
        filesystem: "ext4",
        block_bytes: 4096,
        copy_on_write: false,
        atomic_write: None,
        punching: Punching::Frees,
    };
    const BTRFS: FileFacts = FileFacts { filesystem: "btrfs", copy_on_write: true, ..PLAIN };
    const XFS: FileFacts = FileFacts { filesystem: "xfs", atomic_write: Some((4096, 65536)), ..PLAIN };

    fn requests(doublewrite: Doublewrite, use_atomic_writes: bool, table: AtomicWrites) -> LockRequests {
        LockRequests { doublewrite, use_atomic_writes, table, refused: false }
    }

    /// The table of the module header, line by line.
    #[test]
    fn the_cheapest_means_that_holds_is_chosen() {
        use AtomicWrites::{Default as Usual, Off as No, On as Yes};
        use Doublewrite::{DetectOnly, Off, On};
        use TornProtection as Torn;
        let table = [
            (BTRFS, On, true, Usual, Torn::CopyOnWrite),
            (BTRFS, Off, false, No, Torn::CopyOnWrite),
            (XFS, On, true, Usual, Torn::AtomicWrites),
            (XFS, Off, true, Usual, Torn::AtomicWrites),
            (XFS, On, false, Usual, Torn::Doublewrite),
            (XFS, On, false, Yes, Torn::AtomicWrites),
            (XFS, On, true, No, Torn::Doublewrite),
            (XFS, DetectOnly, false, Usual, Torn::DetectOnly),
            (XFS, Off, true, No, Torn::Off),
            (PLAIN, On, true, Usual, Torn::Doublewrite),
            (PLAIN, On, true, Yes, Torn::Doublewrite),
            (PLAIN, DetectOnly, true, Usual, Torn::DetectOnly),
            (PLAIN, Off, true, Usual, Torn::Off),
        ];
        for (facts, doublewrite, server, of_table, expected) in table {
            let choice = choose(&facts, 16384, requests(doublewrite, server, of_table));
            assert_eq!(choice.protection, expected, "{facts:?} {doublewrite:?} {server} {of_table:?}: {choice:?}");
        }
    }

    #[test]
    fn lengths_that_do_not_fit_are_no_protection() {
        let usual = requests(Doublewrite::On, true, AtomicWrites::Default);
        for (atomic_write, page_bytes, fits) in [
            ((4096, 65536), 16384, true),
            ((4096, 16384), 16384, true),
            ((16384, 16384), 16384, true),
            ((4096, 16384), 65536, false),
            ((4096, 4096), 16384, false),
            ((65536, 65536), 16384, false),
        ] {
            let facts = FileFacts { atomic_write: Some(atomic_write), ..XFS };
            let chosen = choose(&facts, page_bytes, usual).protection == TornProtection::AtomicWrites;
            assert_eq!(chosen, fits, "{atomic_write:?} {page_bytes}");
        }
    }

    #[test]
    fn the_reason_says_why_nothing_better_holds() {
        let usual = requests(Doublewrite::On, true, AtomicWrites::Default);
        let reason = |facts: FileFacts, requests| choose(&facts, 16384, requests).reason;
        assert_eq!(reason(BTRFS, usual), "btrfs never overwrites in place");
        assert_eq!(reason(XFS, usual), "xfs overwrites in place, but writes of 4096 to 65536 bytes are untorn");
        assert_eq!(
            reason(PLAIN, usual),
            "innodb_doublewrite=ON; ext4 overwrites in place; \
             no untorn writes: the device, the filesystem or the page cache stands in the way"
        );
        assert_eq!(
            reason(XFS, LockRequests { refused: true, ..usual }),
            "innodb_doublewrite=ON; xfs overwrites in place; an untorn write was refused by this file"
        );
        let nodatacow = FileFacts { copy_on_write: false, ..BTRFS };
        assert!(reason(nodatacow, usual).contains("btrfs overwrites this file in place (attribute C, nodatacow)"));
    }
}
