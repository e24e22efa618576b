//! JSON functions.
//!
//! A document is an argument of type JSON, or a text that is read as one (3141 if it is none, 3146 if it is no text). A
//! value that goes into a document is taken as what it is: a text becomes a string, and only a value of type JSON a part
//! with a structure of its own.
//!
//! | module | functions |
//! |---|---|
//! | `arguments` | documents, paths and values |
//! | `make` | JSON_ARRAY, JSON_OBJECT, JSON_QUOTE, JSON_UNQUOTE |
//! | `find` | what is at a path, and where something is |
//! | `change` | JSON_SET and its kin |
//! | `merge` | JSON_MERGE_PATCH, JSON_MERGE_PRESERVE |
//! | `facts` | JSON_TYPE, JSON_DEPTH, ... |
//! | `value` | JSON_VALUE |
//! | `schema` | JSON_SCHEMA_VALID |
//! | `mariadb` | what only MariaDB has |

mod arguments;
mod change;
mod facts;
mod find;
mod make;
mod mariadb;
mod merge;
mod schema;
mod value;

use super::{Call, Function, LONG_BYTES, MANY, Typing, not_null, typings};

pub use arguments::parsed_path as json_path;
pub use value::{JSON_VALUE, json_as_column, json_error_marker};

/// The lists of this folder.
pub const FUNCTIONS: [&[Function]; 8] = [
    change::FUNCTIONS,
    facts::FUNCTIONS,
    find::FUNCTIONS,
    make::FUNCTIONS,
    mariadb::FUNCTIONS,
    merge::FUNCTIONS,
    schema::FUNCTIONS,
    value::FUNCTIONS,
];
