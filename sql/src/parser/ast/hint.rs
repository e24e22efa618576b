//! Optimizer hints: what stands in `/*+ ... */` behind SELECT.

use super::Expr;

/// One hint.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// Its name, as MySQL writes it.
    pub name: String,
    /// `@name`: the query block that it is about, if that is not the one in which it stands.
    pub block: Option<String>,
    pub kind: HintKind,
    /// As it is written.
    pub text: String,
}

/// A table as a hint names it: by its alias, and its query block.
#[derive(Debug, Clone, PartialEq)]
pub struct HintTable {
    pub name: String,
    pub block: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum HintKind {
    /// JOIN_PREFIX, JOIN_ORDER, JOIN_SUFFIX
    Order { place: OrderPlace, tables: Vec<HintTable> },
    /// JOIN_FIXED_ORDER
    FixedOrder,
    /// `[NO_]HASH_JOIN`, `[NO_]BNL`; no tables: all.
    Hash { on: bool, tables: Vec<HintTable> },
    /// `[NO_]MERGE`; no tables: all.
    Merge { on: bool, tables: Vec<HintTable> },
    /// `[NO_]DERIVED_CONDITION_PUSHDOWN`; no tables: all.
    Pushdown { on: bool, tables: Vec<HintTable> },
    /// `[NO_]INDEX` and its kin; no indexes: all.
    Index { on: bool, table: HintTable, indexes: Vec<String> },
    /// `[NO_]INDEX_MERGE`: whichever indexes it names, the table's are merged, or none is.
    IndexMerge { on: bool, table: HintTable },
    /// NO_RANGE_OPTIMIZATION; no indexes: all.
    NoRanges { table: HintTable, indexes: Vec<String> },
    /// `[NO_]SEMIJOIN`
    Semijoin { on: bool },
    /// SUBQUERY(MATERIALIZATION) or SUBQUERY(INTOEXISTS)
    Subquery { materializes: bool },
    /// MAX_EXECUTION_TIME, in milliseconds
    MaxExecutionTime(u64),
    /// SET_VAR(name = value)
    SetVar { variable: String, value: Expr },
    /// QB_NAME
    Name(String),
    /// A hint of MySQL's about what the planner has no choice in.
    Unused,
    /// Not understood, and so is what follows: the text from there on.
    Syntax(String),
}

/// Where the tables of a hint stand among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderPlace {
    First,
    Among,
    Last,
}
