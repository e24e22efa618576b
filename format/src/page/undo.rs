//! Undo pages, rollback segments and the transaction system page: where their fields are.
