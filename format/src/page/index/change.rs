//! The leaf changes that the operations of `redo` are made of.

use super::Place;
use crate::error::Result;
use crate::ids::{IndexId, TrxId};
use crate::record::RecordImage;

pub fn init(page: &mut [u8], level: u16, index: IndexId) { todo!() }
pub fn clear(page: &mut [u8], level: u16) { todo!() }
pub fn insert(page: &mut [u8], after: u16, place: Place, record: RecordImage<'_>) -> Result<u16> { todo!() }
pub fn remove(page: &mut [u8], origin: u16, extra: u16, data: u16) -> Result<()> { todo!() }
pub fn remove_from(page: &mut [u8], origin: u16, bytes: u16) -> Result<()> { todo!() }
pub fn remove_before(page: &mut [u8], origin: u16, bytes: u16) -> Result<()> { todo!() }
pub fn set_max_trx_id(page: &mut [u8], trx_id: TrxId) { todo!() }
