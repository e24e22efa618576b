//! Chooses which thread runs next, in a simulator.

/// Lets threads run one at a time, in an order of its own. A transaction that would sleep asks the scheduler instead of
/// the clock. The caller holds no latch.
pub trait Scheduler: Send + Sync + std::fmt::Debug {
    /// Returns true when `ready` is true, or false once the time is over.
    fn wait(&self, ready: &mut dyn FnMut() -> bool) -> bool;

    /// Between two mini-transactions of one row operation, where other threads may run.
    fn pass(&self);
}
