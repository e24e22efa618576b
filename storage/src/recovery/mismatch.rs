//! Redo log and tablespaces of different times are refused.
//!
//! Such an instance would open in a state that never existed, with committed changes of some pages and not of others.
//! Both directions are found by the pages that almost every transaction changes: those of the transaction system and of
//! the rollback segments.
//!
//! | found                 | how                                                                               |
//! |-----------------------|-----------------------------------------------------------------------------------|
//! | an older log          | such a page is newer than the end of the log (`tablespace::future`)               |
//! | older tablespaces     | such a page is older than its stamp in the log's checkpoint (`redo::stamps`)      |

use format::ids::{PageId, SpaceId};
use format::page::{header, space as layout};

use super::{UNDO_PATH, UNDO_SPACE};
use crate::dictionary::SYSTEM_PATH;
use crate::error::{Error, Result};
use crate::io::{AlignedBuffer, Caching, Disk, OpenMode};
use crate::redo::Checkpoint;
use crate::store::Store;
use crate::transaction::SYSTEM_PAGE;
use crate::undo::UndoSpace;

/// Refuses tablespaces that are older than the log. Nothing has been changed in this run yet, and no page has got redo.
pub fn refuse_older_files(disk: &dyn Disk, checkpoint: &Checkpoint, page_bytes: usize) -> Result<()> {
    // The first bytes of a page are neither compressed nor encrypted, and lie in one sector: a torn page has them, too.
    let mut block = AlignedBuffer::new(page_bytes);
    for (space, path) in [(SpaceId(0), SYSTEM_PATH), (UNDO_SPACE, UNDO_PATH)] {
        let mut stamps = checkpoint.stamps.iter().filter(|stamp| stamp.page.space == space).peekable();
        // Others find that the file is missing.
        if stamps.peek().is_none() || !disk.exists(path).map_err(Error::io("look for a tablespace"))? {
            continue;
        }
        let file = disk.open(path, OpenMode::Read, Caching::Cached).map_err(Error::io("open a tablespace"))?;
        for stamp in stamps {
            let start = &mut block[..header::BODY];
            start.fill(0);
            let offset = u64::from(stamp.page.page.0) * page_bytes as u64;
            file.read_at(offset, start).map_err(Error::io("read a page"))?;
            let lsn = header::lsn(start);
            // Another page, or none at all, is damage; whoever reads it says so.
            if header::page_no(start) != stamp.page.page || header::is_zero(start) || lsn >= stamp.lsn {
                continue;
            }
            let what = format!(
                "its LSN {lsn} is older than {}, which it had in {path} when the redo log's checkpoint at {} was \
                 written: the tablespaces are older than the redo log",
                stamp.lsn, checkpoint.lsn
            );
            return Err(Error::corrupt_page(stamp.page, what));
        }
    }
    Ok(())
}

/// Refuses a redo log that is older than the tablespaces, and returns the pages that tell. They have been read, with
/// their redo; nothing has been changed in this run yet.
pub fn refuse_older_log(store: &Store) -> Result<Vec<PageId>> {
    let system = [layout::HEADER_PAGE, SYSTEM_PAGE.page].map(|page| PageId::new(SpaceId(0), page));
    let undo = UndoSpace::header_pages(store)?.into_iter().map(|(_, page)| page);
    let pages: Vec<PageId> =
        system.into_iter().chain([PageId::new(UNDO_SPACE, layout::HEADER_PAGE)]).chain(undo).collect();
    for &page in &pages {
        store.read(page)?;
    }
    Ok(pages)
}
