//! CREATE EVENT, ALTER EVENT.

use super::*;

/// When an event runs, as it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum ScheduleSpec {
    At(Expr),
    Every { amount: Expr, unit: IntervalUnit, starts: Option<Expr>, ends: Option<Expr> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    Enabled,
    Disabled,
    /// It runs on the source that it comes from.
    DisabledOnReplica,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateEvent {
    /// MariaDB's.
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub definer: Option<UserName>,
    pub name: TableName,
    pub schedule: ScheduleSpec,
    pub preserve: bool,
    pub status: EventStatus,
    pub comment: String,
    pub program: Program,
    /// As it was written.
    pub body_text: Vec<u8>,
}

/// None: it stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterEvent {
    pub definer: Option<UserName>,
    pub name: TableName,
    pub schedule: Option<ScheduleSpec>,
    pub preserve: Option<bool>,
    pub rename: Option<TableName>,
    pub status: Option<EventStatus>,
    pub comment: Option<String>,
    pub body: Option<(Program, Vec<u8>)>,
}
