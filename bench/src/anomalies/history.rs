//! What the clients saw: transactions on lists, and how each ended.

use std::fmt;

pub type Key = u64;
pub type Element = u64;

/// One operation, with what it saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// An element was put at the end of a list. No element is appended twice.
    Append(Key, Element),
    /// The whole list was read.
    Read(Key, Vec<Element>),
}

/// How a transaction ended, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Committed,
    /// Rolled back, or the server died before it was asked to commit.
    Aborted,
    /// The server died and left COMMIT unanswered.
    Unknown,
}

/// One transaction. A client runs one after the other; they stand in the history in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Txn {
    pub client: usize,
    pub ops: Vec<Op>,
    pub end: End,
}

impl fmt::Display for Txn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.client)?;
        for op in &self.ops {
            match op {
                Op::Append(key, element) => write!(f, ", append {element} to {key}")?,
                Op::Read(key, list) if list.len() <= 6 => write!(f, ", read {key}: {list:?}")?,
                Op::Read(key, list) => write!(f, ", read {key}: [.. {:?}", &list[list.len() - 5..])?,
            }
        }
        match self.end {
            End::Committed => write!(f, ", committed"),
            End::Aborted => write!(f, ", aborted"),
            End::Unknown => write!(f, ", commit not answered"),
        }
    }
}
