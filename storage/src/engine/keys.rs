//! Rotation of the master key: a new one, and the key of every encrypted file wrapped by it.
//!
//! ```text
//!   new master key in the ring, durable     page 0 of a.ibd     page 0 of b.ibd    log durable
//!   ------|------------------------------------|-------------------|-----------------|----->
//!         a crash from here on leaves files of both kinds, and the ring has the keys of both
//! ```
//!
//! Pages are not touched: a file's own key stays what it is. Files that are made meanwhile may still be wrapped by the
//! old key; they are found by the last look, or at the next start.

use format::ids::PageId;
use format::page::space::HEADER_PAGE;
use format::transform::encryption::KeyInfo;

use super::{Engine, Inner};
use crate::error::Result;
use crate::mtr::Mtr;
use crate::store::Tablespace;

impl Engine {
    /// ALTER INSTANCE ROTATE INNODB MASTER KEY. Durable on return.
    pub fn rotate_master_key(&self) -> Result<()> {
        self.inner.store.health().check()?;
        self.inner.store.key_ring().rotate()?;
        while self.inner.rewrap_keys()? > 0 {}
        self.inner.store.flush_log(self.inner.store.current_lsn())
    }
}

impl Inner {
    /// Wraps what a rotation left over when it was interrupted. It can wait: the old master key is still there.
    pub(super) fn finish_rotation(&self) {
        match self.rewrap_keys() {
            Ok(0) => {}
            Ok(count) => tracing::info!("the keys of {count} tablespaces are wrapped by the newest master key now"),
            Err(error) => tracing::warn!("wrap keys by the newest master key: {error}; tried again at the next start"),
        }
    }

    /// Wraps by the newest master key what is wrapped by another one. Returns for how many files.
    fn rewrap_keys(&self) -> Result<usize> {
        let mut count = 0;
        for space in self.store.spaces() {
            count += usize::from(self.rewrap_key(&space)?);
        }
        Ok(count)
    }

    fn rewrap_key(&self, space: &Tablespace) -> Result<bool> {
        let Some(key) = space.key() else { return Ok(false) };
        // Asked for before the page is latched: the ring may have to be read.
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
