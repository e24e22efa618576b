//! Pages: the unit of reading, writing, latching and logging.
//!
//! Every page has the same frame, drawn in [`header`]; what lies between depends on its type: an index page
//! ([`index`]), the bookkeeping of a tablespace ([`space`]), of undo ([`undo`]), or a piece of a long value ([`blob`]; [`lob`]
//! where MySQL 8.0 wrote it).
//!
//! All functions take the page as a plain slice whose length is the page size (4096 .. 65536, a power of two). Reading
//! never panics on nonsense inside a page of such a length. Nothing here changes a page: changes are
//! [`PageOp`](crate::redo::PageOp)s, so that what runs live is what recovery repeats. The exceptions are
//! [`header::seal`], which stamps a page on its way to disk, and the leaf setters that the operations are made of.
//!
//! Integers are big-endian, as all of InnoDB's.

pub use crate::bytes::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};

pub mod header;

pub mod space;

pub mod undo;

pub mod blob;

pub mod lob;

pub mod index;

/// The page size that is the default everywhere.
pub const DEFAULT_BYTES: usize = 16384;
/// Page sizes that exist.
pub const SIZES: [usize; 5] = [4096, 8192, 16384, 32768, 65536];
