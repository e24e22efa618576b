//! The DDL log: makes changes of files part of a transaction, as in MySQL 8.
//!
//! Rows can be rolled back; a file that was created, renamed or removed cannot. So each such action has an entry in a
//! system table that says what remains to be done about it:
//!
//! * An action that must be *undone* if the transaction does not commit (a file created, a file renamed) is preceded by
//!   an entry that undoes it, committed at once by a transaction of its own. The DDL's transaction deletes the entry.
//!   So a commit removes it, and a rollback keeps it.
//! * An action that cannot be undone (a file removed) waits for the commit: the DDL's transaction inserts the entry. So
//!   a commit makes it appear, and a rollback removes it.
//!
//! ```text
//!                        entry in the table      what remains        what remains
//!                        while it runs           after a commit      after a rollback or crash
//! CREATE TABLE t         drop file t             -                   drop file t  -> done, deleted
//! RENAME TABLE a TO b    rename b back to a      -                   rename back  -> done, deleted
//! DROP TABLE t           (drop file t)           drop file t         -
//! ```
//!
//! What remains is executed, newest first, and then deleted: right after the commit or rollback, or by recovery. Each
//! action may be executed any number of times.

use format::bytes::get_u64;
use format::ids::{IndexId, PageId, PageNo, SpaceId};
use format::page::index::MAX_TRX_ID;

use super::codec::{Reader, Writer};
use super::index_pages::drop_index_pages;
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::store::Store;

/// The position of the last AUTO_INCREMENT value given, on the root page of the clustered index: the field has no other
/// use there.
pub const LAST_GIVEN: usize = MAX_TRX_ID;

/// What remains to be done about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Removes the tablespace and its file, which is at `path` if the tablespace is not open.
    DropSpace { space: SpaceId, path: Box<str> },
    /// Renames the tablespace's file to this path.
    RenameSpace { space: SpaceId, path: Box<str> },
    /// Renames a file that is no tablespace of this instance, if it is there and the other name is free.
    RenameFile { from: Box<str>, to: Box<str> },
    /// Removes the directory of a database.
    RemoveDirectory { path: Box<str> },
    /// Frees the pages of an index, wherever its root is.
    DropIndex { space: SpaceId, index: IndexId },
    /// Sets the last AUTO_INCREMENT value given, on page `root`. If rows inserted since have changed it from `from`, it
    /// stays as it is, so that no value is given twice.
    SetLastGiven { space: SpaceId, root: PageNo, from: u64, to: u64 },
}

/// Files that are made or removed with one sync of the log and of their directory.
pub const FILES_AT_ONCE: usize = 64;

impl Action {
    /// Executes actions in this order. Files that are removed one behind the other are removed together.
    pub fn execute_all<'a>(actions: impl Iterator<Item = &'a Action>, store: &Store) -> Result<()> {
        let mut gone: Vec<(SpaceId, &str)> = Vec::new();
        for action in actions {
            match action {
                Action::DropSpace { space, path } => gone.push((*space, path)),
                _ => {
                    store.drop_spaces(&std::mem::take(&mut gone))?;
                    action.execute(store)?;
                }
            }
            if gone.len() == FILES_AT_ONCE {
                store.drop_spaces(&std::mem::take(&mut gone))?;
            }
        }
        store.drop_spaces(&gone)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        match self {
            Action::DropSpace { space, path } => {
                out.u8(1);
                out.u32(space.0);
                out.text(path);
            }
            Action::RenameSpace { space, path } => {
                out.u8(2);
                out.u32(space.0);
                out.text(path);
            }
            Action::RemoveDirectory { path } => {
                out.u8(3);
                out.text(path);
            }
            Action::DropIndex { space, index } => {
                out.u8(4);
                out.u32(space.0);
                out.u64(index.0);
            }
            Action::SetLastGiven { space, root, from, to } => {
                out.u8(5);
                out.u32(space.0);
                out.u32(root.0);
                out.u64(*from);
                out.u64(*to);
            }
            Action::RenameFile { from, to } => {
                out.u8(6);
                out.text(from);
                out.text(to);
            }
        }
        out.bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Action> {
        let mut from = Reader::new(bytes)?;
        Ok(match from.u8()? {
            1 => Action::DropSpace { space: SpaceId(from.u32()?), path: from.text()? },
            2 => Action::RenameSpace { space: SpaceId(from.u32()?), path: from.text()? },
            3 => Action::RemoveDirectory { path: from.text()? },
            4 => Action::DropIndex { space: SpaceId(from.u32()?), index: IndexId(from.u64()?) },
            5 => Action::SetLastGiven {
                space: SpaceId(from.u32()?),
                root: PageNo(from.u32()?),
                from: from.u64()?,
                to: from.u64()?,
            },
            6 => Action::RenameFile { from: from.text()?, to: from.text()? },
            other => return Err(Error::Unsupported(format!("an entry of kind {other} in the DDL log").into())),
        })
    }

    /// Executes the action, unless it is done already. Its object is no longer in use.
    pub fn execute(&self, store: &Store) -> Result<()> {
        match self {
            Action::DropSpace { space, path } => store.drop_spaces(&[(*space, path)]),
            Action::RenameSpace { space, path } => match store.space(*space) {
                Some(file) if file.path() != **path => store.rename_space(*space, path),
                _ => Ok(()),
            },
            Action::RenameFile { from, to } => store.rename_file(from, to),
            Action::RemoveDirectory { path } => {
                let disk = store.disk();
                if disk.exists(path).map_err(Error::io("look for a database directory"))? {
                    // If a user put files in it, the directory and those files stay.
                    match disk.remove_directory(path) {
                        Err(cause) if cause.kind() != std::io::ErrorKind::DirectoryNotEmpty => {
                            return Err(Error::from_io("remove a database directory", cause));
                        }
                        _ => disk.sync_directory("").map_err(Error::io("sync the data directory"))?,
                    }
                }
                Ok(())
            }
            Action::DropIndex { space, index } => match store.space(*space) {
                Some(_) => drop_index_pages(store, *space, *index),
                None => Ok(()),
            },
            Action::SetLastGiven { space, root, from, to } => {
                if store.space(*space).is_none() {
                    return Ok(());
                }
                let mut mtr = Mtr::begin(store);
                let page = mtr.latch_exclusive(PageId::new(*space, *root))?;
                if get_u64(mtr.page(page), LAST_GIVEN) == *from {
                    mtr.write(page, LAST_GIVEN, &to.to_be_bytes());
                }
                mtr.commit();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back() {
        let actions = [
            Action::DropSpace { space: SpaceId(7), path: "d/t.ibd".into() },
            Action::RenameSpace { space: SpaceId(7), path: "d/u.ibd".into() },
            Action::RemoveDirectory { path: "d".into() },
            Action::RenameFile { from: "d/a".into(), to: "d/b".into() },
            Action::DropIndex { space: SpaceId(7), index: IndexId(1 << 40) },
            Action::SetLastGiven { space: SpaceId(7), root: PageNo(4), from: 1 << 40, to: 9 },
        ];
        for action in actions {
            assert_eq!(Action::decode(&action.encode()).unwrap(), action);
        }
    }
}
