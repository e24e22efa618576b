//! Rotation of the master key: a new one, with the key of every encrypted file wrapped by it. And encryption of the
//! system and undo tablespaces, which can be turned on and off while they are in use.
//!
//! ```text
//!   new master key in the ring, durable     page 0 of a.ibd     page 0 of b.ibd    log durable
//!   ------|------------------------------------|-------------------|-----------------|----->
//!         a crash from here on leaves files of both kinds, and the ring has the keys of both
//! ```
//!
//! Pages do not change: a file keeps its own key. Files created meanwhile may still be wrapped by the old key; the last
//! check finds them, or the next start.
//!
//! ```text
//!   key on page 0, durable      pages are encrypted as they are written      all pages have been written anew
//!   ------|-------------------------------|-------------------------------------------|----------------------->
//!         a crash from here on leaves pages of both kinds, and each page tells its kind
//! ```

use format::ids::{PageId, SpaceId};
use format::page::space::{self as layout, HEADER_PAGE};
use format::transform::encryption::KeyInfo;

use super::{Engine, Inner};
use crate::error::Result;
use crate::mtr::Mtr;
use crate::recovery::UNDO_SPACE;
use crate::store::{Tablespace, Transform};

impl Engine {
    /// ALTER INSTANCE ROTATE INNODB MASTER KEY. Durable on return.
    pub fn rotate_master_key(&self) -> Result<()> {
        self.inner.store.health().check()?;
        self.inner.store.key_ring().rotate()?;
        while self.inner.rewrap_keys()? > 0 {}
        self.inner.store.flush_log(self.inner.store.current_lsn())
    }
}

impl Engine {
    /// ALTER TABLESPACE mysql ENCRYPTION: the system tablespace, with the dictionary's names of tables and columns.
    pub fn set_system_encrypted(&self, encrypted: bool) -> Result<()> {
        self.inner.set_encrypted(SpaceId(0), encrypted)
    }

    /// SET GLOBAL innodb_undo_log_encrypt.
    pub fn set_undo_encrypted(&self, encrypted: bool) -> Result<()> {
        self.inner.store.set_config(|config| config.encrypt_undo = encrypted);
        self.inner.set_encrypted(UNDO_SPACE, encrypted)
    }
}

impl Inner {
    /// Encrypts the system or an undo tablespace, or stops doing so, and rewrites its pages. Durable on return.
    pub(super) fn set_encrypted(&self, id: SpaceId, encrypted: bool) -> Result<()> {
        let store = &self.store;
        let Some(space) = store.space(id) else { return Ok(()) };
        if space.transform().encrypted == encrypted {
            return Ok(());
        }
        let new_key = match space.key() {
            None => Some(store.key_ring().make_key(&space.path())?),
            Some(_) => None,
        };
        let mut mtr = Mtr::begin(store);
        let page = mtr.latch_exclusive(PageId::new(id, HEADER_PAGE))?;
        let flags = layout::flags(mtr.page(page));
        let flags = if encrypted { flags.encrypted() } else { flags.plain() };
        mtr.write(page, layout::FLAGS, &flags.0.to_be_bytes());
        if let Some(key) = &new_key {
            let offset = KeyInfo::offset(mtr.page(page).len());
            mtr.write(page, offset, &key.info().to_bytes());
        }
        mtr.commit();
        if let Some(key) = new_key {
            // Without the key what is encrypted by it could not be read.
            store.flush_space(id)?;
            space.add_key(key);
        }
        space.set_transform(Transform { encrypted, ..space.transform() });
        store.rewrite_space(id)
    }

    /// Wraps the keys that an interrupted rotation left over. It can wait: the old master key still exists.
    pub(super) fn finish_rotation(&self) {
        match self.rewrap_keys() {
            Ok(0) => {}
            Ok(count) => tracing::info!("the keys of {count} tablespaces are wrapped by the newest master key now"),
            Err(error) => tracing::warn!("wrap keys by the newest master key: {error}; tried again at the next start"),
        }
    }

    /// Wraps with the newest master key what is wrapped by another one. Returns the number of files.
    fn rewrap_keys(&self) -> Result<usize> {
        let mut count = 0;
        for space in self.store.spaces() {
            count += usize::from(self.rewrap_key(&space)?);
        }
        Ok(count)
    }

    fn rewrap_key(&self, space: &Tablespace) -> Result<bool> {
        let Some(key) = space.key() else { return Ok(false) };
        // Called before the page is latched: the ring may have to be read.
        let Some(info) = self.store.key_ring().rewrap(&space.path(), key)? else { return Ok(false) };
        let mut mtr = Mtr::begin(&self.store);
        let latched = mtr.latch_exclusive(PageId::new(space.id(), HEADER_PAGE));
        if space.is_dropped() {
            mtr.commit();
            return Ok(false);
        }
        let page = latched?;
        let offset = KeyInfo::offset(mtr.page(page).len());
        mtr.write(page, offset, &info.to_bytes());
        key.set_info(info);
        mtr.commit();
        Ok(true)
    }
}
