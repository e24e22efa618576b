//! MariaDB's sequences.

use super::{TableName, TableOption};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateSequence {
    pub temporary: bool,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub name: TableName,
    pub said: SequenceWords,
    pub options: Vec<TableOption>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterSequence {
    pub name: TableName,
    pub if_exists: bool,
    pub said: SequenceWords,
}

/// What a statement says of a sequence; None: nothing of that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SequenceWords {
    pub start: Option<i64>,
    pub increment: Option<i64>,
    pub minimum: Option<SequenceBound>,
    pub maximum: Option<SequenceBound>,
    /// 0: NOCACHE.
    pub cache: Option<i64>,
    pub cycles: Option<bool>,
    pub restart: Option<SequenceRestart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceBound {
    /// NO MINVALUE, NO MAXVALUE: that of a sequence of its step.
    Usual,
    At(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceRestart {
    /// RESTART alone: at the start value.
    Start,
    At(i64),
}
