//! JSON values: read from a text, changed at a path, written in MySQL's normal form.
//!
//! ```text
//!   text  --- parse --->  Json  --- write --->  normal form        "[1,{\"bb\":2 , \"a\":1e2}]"
//!                         ^  |                                      [1, {"a": 100.0, "bb": 2}]
//!                         |  v
//!                      path.rs: replace, insert, remove
//! ```
//!
//! A JSON column holds the normal form, in utf8mb4: names sorted by length and then by their bytes, the last of several
//! members with one name, `, ` and `: ` between the parts, numbers and escapes as MySQL prints them. So two texts of one
//! value are stored as the same bytes, and a row that was replicated has the bytes of its source.
//!
//! Nesting is limited as in MySQL, so that no text exhausts the stack.

mod parse;
mod path;
mod tree;
mod write;

pub use path::{JsonPath, PathError};
pub use tree::{Json, JsonError};
