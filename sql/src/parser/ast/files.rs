//! LOAD DATA, and where the rows of a SELECT go.

use super::*;

/// INTO: who gets the rows of a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SelectInto {
    #[default]
    Client,
    /// INTO @a, b
    Variables(Vec<IntoTarget>),
    /// They are kept for the program that asks.
    Program(Wanted),
    Outfile {
        file: String,
        charset: Option<String>,
        format: TextFormat,
    },
    /// INTO DUMPFILE: one row, its values as they are.
    Dumpfile(String),
}

/// What a program makes of the rows that it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wanted {
    /// It reads them as they are.
    #[default]
    Rows,
    /// It reads the one value, whose decimals have all their digits.
    Value,
    /// The value becomes that of a system variable, which has to take it.
    Variable { name: &'static str, is_global: bool },
    /// The value becomes a local variable.
    Local(usize),
    /// The value is what a function returns.
    Result,
}

impl SelectInto {
    pub fn is_client(&self) -> bool {
        *self == SelectInto::Client
    }
}

/// FIELDS and LINES: how rows are written as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFormat {
    /// Stands between two fields. Empty, with no quote: fields have fixed lengths.
    pub field_end: Vec<u8>,
    /// ENCLOSED BY
    pub quote: Vec<u8>,
    /// OPTIONALLY: only texts are enclosed.
    pub optionally: bool,
    /// ESCAPED BY; None: not said.
    pub escape: Option<Vec<u8>>,
    pub line_start: Vec<u8>,
    pub line_end: Vec<u8>,
}

impl Default for TextFormat {
    fn default() -> Self {
        TextFormat {
            field_end: b"\t".to_vec(),
            quote: Vec::new(),
            optionally: false,
            escape: None,
            line_start: Vec::new(),
            line_end: b"\n".to_vec(),
        }
    }
}

/// LOAD DATA, LOAD XML.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// LOAD XML: what an element is called that is a row.
    pub row_tag: Option<Vec<u8>>,
    /// The file is the client's.
    pub local: bool,
    pub file: Vec<u8>,
    pub replace: bool,
    pub ignore: bool,
    pub table: TableName,
    /// `PARTITION (p0, p1)`; empty: all.
    pub partitions: Vec<String>,
    pub charset: Option<String>,
    pub format: TextFormat,
    /// IGNORE n LINES
    pub skipped_lines: u64,
    /// Empty: all columns of the table, in order.
    pub targets: Vec<LoadTarget>,
    /// SET
    pub assignments: Vec<(ColumnName, Expr)>,
}

/// What a field of the file goes to.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadTarget {
    Column(ColumnName),
    Variable(String),
}
