//! Locks, transactions, limits; backups.

use super::{Error, PRODUCT};

impl Error {
    pub fn deadlock() -> Error {
        Error::new(1213, b"40001", "Deadlock found when trying to get lock; try restarting transaction")
    }

    pub fn lock_wait_timeout() -> Error {
        Error::new(1205, b"HY000", "Lock wait timeout exceeded; try restarting transaction")
    }

    pub fn lock_table_full() -> Error {
        Error::new(1206, b"HY000", "The total number of locks exceeds the lock table size")
    }

    pub fn lock_nowait() -> Error {
        let text = "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
        Error::new(3572, b"HY000", text)
    }

    pub fn unresolved_lock_table(name: &str) -> Error {
        Error::new(3568, b"HY000", format!("Unresolved table name `{name}` in locking clause."))
    }

    // ---------------------------------------------------------------- XA

    pub fn xaer_nota() -> Error {
        Error::new(1397, b"XAE04", "XAER_NOTA: Unknown XID")
    }

    pub fn xaer_inval() -> Error {
        Error::new(1398, b"XAE05", "XAER_INVAL: Invalid arguments (or unsupported command)")
    }

    /// The two blanks are MySQL's.
    pub fn xaer_rmfail(state: &str) -> Error {
        let text = "XAER_RMFAIL: The command cannot be executed when global transaction is in the ";
        Error::new(1399, b"XAE07", format!("{text} {state} state"))
    }

    pub fn xa_temporary_table() -> Error {
        let text = "Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON";
        Error::new(4091, b"HY000", text)
    }

    pub fn xaer_outside() -> Error {
        Error::new(1400, b"XAE09", "XAER_OUTSIDE: Some work is done outside global transaction")
    }

    pub fn xaer_rmerr() -> Error {
        let text = "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency";
        Error::new(1401, b"XAE03", text)
    }

    pub fn xa_rbrollback() -> Error {
        Error::new(1402, b"XA100", "XA_RBROLLBACK: Transaction branch was rolled back")
    }

    pub fn xaer_dupid() -> Error {
        Error::new(1440, b"XAE08", "XAER_DUPID: The XID already exists")
    }

    pub fn xa_rbtimeout() -> Error {
        Error::new(1613, b"XA106", "XA_RBTIMEOUT: Transaction branch was rolled back: took too long")
    }

    pub fn xa_rbdeadlock() -> Error {
        Error::new(1614, b"XA102", "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected")
    }

    // ------------------------------------------------------- conflicts, limits

    pub fn record_changed() -> Error {
        Error::new(1020, b"HY000", "Record has changed since last read; try restarting transaction")
    }

    pub fn interrupted() -> Error {
        Error::new(1317, b"70100", "Query execution was interrupted")
    }

    pub fn execution_time_exceeded() -> Error {
        let text = "Query execution was interrupted, maximum statement execution time exceeded";
        Error::new(3024, b"HY000", text)
    }

    /// MariaDB's error for `max_statement_time`.
    pub fn statement_time_exceeded() -> Error {
        Error::new(1969, b"70100", "Query execution was interrupted (max_statement_time exceeded)")
    }

    pub fn unsafe_update() -> Error {
        let text =
            "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column";
        Error::new(1175, b"HY000", text)
    }

    pub fn read_only_transaction() -> Error {
        Error::new(1792, b"25006", "Cannot execute statement in a READ ONLY transaction.")
    }

    pub fn lock_or_active_transaction() -> Error {
        let text = "Can't execute the given command because you have active locked tables or an active transaction";
        Error::new(1192, b"HY000", text)
    }

    pub fn conflicting_read_lock() -> Error {
        Error::new(1223, b"HY000", "Can't execute the query because you have a conflicting read lock")
    }

    pub fn user_lock_wrong_name(name: &str) -> Error {
        Error::new(3057, b"42000", format!("Incorrect user-level lock name '{name}'."))
    }

    pub fn user_lock_deadlock() -> Error {
        let text = "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and \
                    restarting lock acquisition.";
        Error::new(3058, b"HY000", text)
    }

    pub fn transaction_in_progress() -> Error {
        let text = "Transaction characteristics can't be changed while a transaction is in progress";
        Error::new(1568, b"25001", text)
    }

    pub fn option_prevents(option: &str) -> Error {
        let text =
            format!("The {PRODUCT} server is running with the {option} option so it cannot execute this statement");
        Error::new(1290, b"HY000", text)
    }

    /// `what` is what the path was given for: "DATA DIRECTORY".
    pub fn wrong_directory(what: &str, path: &str) -> Error {
        Error::new(1525, b"HY000", format!("Incorrect {what} value: '{path}'"))
    }

    pub fn file_exists(path: &str) -> Error {
        Error::new(1086, b"HY000", format!("File '{path}' already exists"))
    }

    /// `doing` names the file: "create '/dir/file'".
    pub fn file_error(doing: &str, errno: i32, cause: &str) -> Error {
        Error::new(1105, b"HY000", format!("Cannot {doing} (errno: {errno} \"{cause}\")"))
    }

    pub fn path_in_data_directory(path: &str) -> Error {
        Error::new(1105, b"HY000", format!("'{path}' lies within the data directory"))
    }

    /// `what` is in the way: another backup.
    pub fn backup_refused(what: &str) -> Error {
        Error::new(3634, b"HY000", format!("Too many concurrent clone operations. Maximum allowed - 1: {what}"))
    }

    pub fn backup_not_running() -> Error {
        Error::new(4146, b"HY000", "You must start backup with \"BACKUP STAGE START\"")
    }

    pub fn backup_wrong_stage(stage: &str, current: &str) -> Error {
        let text = format!("Backup stage '{stage}' is same or before current backup stage '{current}'");
        Error::new(4147, b"HY000", text)
    }

    pub fn backup_unknown_stage(stage: &str) -> Error {
        let text = format!(
            "Unknown backup stage: '{stage}'. Stage should be one of START, FLUSH, BLOCK_DDL, BLOCK_COMMIT or END"
        );
        Error::new(4149, b"HY000", text)
    }

    pub fn table_not_locked(name: &str) -> Error {
        Error::new(1100, b"HY000", format!("Table '{name}' was not locked with LOCK TABLES"))
    }

    pub fn table_locked_for_read(name: &str) -> Error {
        let text = format!("Table '{name}' was locked with a READ lock and can't be updated");
        Error::new(1099, b"HY000", text)
    }
}
