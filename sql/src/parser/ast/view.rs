//! Views.

use super::*;

/// CREATE VIEW and ALTER VIEW.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    pub or_replace: bool,
    /// MariaDB's.
    pub if_not_exists: bool,
    /// ALTER VIEW.
    pub alter: bool,
    pub algorithm: ViewAlgorithm,
    /// None: the account of the session; with ALTER VIEW what the view has, as with SQL SECURITY and ALGORITHM.
    pub definer: Option<UserName>,
    /// SQL SECURITY INVOKER, or DEFINER.
    pub as_invoker: Option<bool>,
    pub name: TableName,
    pub columns: Vec<String>,
    pub query: Box<Query>,
    /// The query as it was written.
    pub text: String,
    pub check: Option<CheckOption>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

impl ViewAlgorithm {
    pub fn name(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }
}

/// WITH CHECK OPTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    Local,
    Cascaded,
}

impl CheckOption {
    pub fn name(self) -> &'static str {
        match self {
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        }
    }
}
