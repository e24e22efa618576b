//! What an upper layer defines beside tables. The engine keeps it whole and knows no more of it than its names.

/// The kinds of definitions; the numbers are in the rows of the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DefinitionKind {
    /// Views share their names with tables.
    View = 1,
    Procedure = 2,
    Function = 3,
    Trigger = 4,
    Event = 5,
}

impl DefinitionKind {
    pub const ALL: [DefinitionKind; 5] = [
        DefinitionKind::View,
        DefinitionKind::Procedure,
        DefinitionKind::Function,
        DefinitionKind::Trigger,
        DefinitionKind::Event,
    ];

    pub fn from_number(number: u64) -> Option<DefinitionKind> {
        DefinitionKind::ALL.into_iter().find(|kind| *kind as u64 == number)
    }
}

/// Kind, database, name.
pub type DefinitionName<'a> = (DefinitionKind, &'a str, &'a str);

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub kind: DefinitionKind,
    pub database: Box<str>,
    /// As names of its kind are compared: equal names have equal bytes.
    pub name: Box<str>,
    /// The table that it belongs to: it is dropped and renamed with it. Empty: none.
    pub table: Box<str>,
    /// What the upper layer makes of it.
    pub bytes: Box<[u8]>,
}

impl Definition {
    pub fn full_name(&self) -> DefinitionName<'_> {
        (self.kind, &self.database, &self.name)
    }
}
