//! What performance_schema collects of, and tables of what is never collected: these have columns and no rows.

use format::value::Value;

use super::{Facts, VirtualColumn, VirtualTable, int, long_text, number, string, text, yes};

fn is_collected(facts: &Facts<'_>) -> bool {
    facts.instance.statements.limits().enabled
}

fn words<const N: usize>(facts: &Facts<'_>, rows: &[[&str; N]]) -> Vec<Vec<Value>> {
    let rows = rows.iter().filter(|_| is_collected(facts));
    rows.map(|row| row.iter().map(string).collect()).collect()
}

/// All sessions of clients are looked at.
pub const SETUP_ACTORS: VirtualTable = VirtualTable {
    name: "setup_actors",
    columns: &[text("HOST", 255), text("USER", 32), text("ROLE", 32), text("ENABLED", 3), text("HISTORY", 3)],
    rows: |facts| words(facts, &[["%", "%", "%", "YES", "YES"]]),
};

/// Rows of all tables of users are counted.
pub const SETUP_OBJECTS: VirtualTable = VirtualTable {
    name: "setup_objects",
    columns: &[
        text("OBJECT_TYPE", 64),
        text("OBJECT_SCHEMA", 64),
        text("OBJECT_NAME", 64),
        text("ENABLED", 3),
        text("TIMED", 3),
    ],
    rows: |facts| {
        let rows = super::DATABASES.map(|database| ["TABLE", database, "%", "NO", "NO"]);
        let mut rows = words(facts, &rows);
        rows.extend(words(facts, &[["TABLE", "%", "%", "YES", "NO"]]));
        rows
    },
};

pub const SETUP_THREADS: VirtualTable = VirtualTable {
    name: "setup_threads",
    columns: &[
        text("NAME", 128),
        text("ENABLED", 3),
        text("HISTORY", 3),
        text("PROPERTIES", 64),
        number("VOLATILITY"),
        long_text("DOCUMENTATION"),
    ],
    rows: |facts| {
        let row = vec![
            string("thread/sql/one_connection"),
            yes(true),
            yes(true),
            string("user"),
            Value::UInt(0),
            Value::Null,
        ];
        Some(row).into_iter().filter(|_| is_collected(facts)).collect()
    },
};

/// The clock that times are measured with.
pub const PERFORMANCE_TIMERS: VirtualTable = VirtualTable {
    name: "performance_timers",
    columns: &[text("TIMER_NAME", 64), number("TIMER_FREQUENCY"), number("TIMER_RESOLUTION"), number("TIMER_OVERHEAD")],
    rows: |facts| {
        let row = vec![string("NANOSECOND"), Value::UInt(1_000_000_000), Value::UInt(1), Value::Null];
        Some(row).into_iter().filter(|_| is_collected(facts)).collect()
    },
};

const WAIT: &[VirtualColumn] = &[
    number("THREAD_ID"),
    number("EVENT_ID"),
    number("END_EVENT_ID"),
    text("EVENT_NAME", 128),
    text("SOURCE", 64),
    number("TIMER_START"),
    number("TIMER_END"),
    number("TIMER_WAIT"),
    number("SPINS"),
    text("OBJECT_SCHEMA", 64),
    text("OBJECT_NAME", 512),
    text("INDEX_NAME", 64),
    text("OBJECT_TYPE", 64),
    number("OBJECT_INSTANCE_BEGIN"),
    number("NESTING_EVENT_ID"),
    text("NESTING_EVENT_TYPE", 11),
    text("OPERATION", 32),
    number("NUMBER_OF_BYTES"),
    number("FLAGS"),
];

const STAGE: &[VirtualColumn] = &[
    number("THREAD_ID"),
    number("EVENT_ID"),
    number("END_EVENT_ID"),
    text("EVENT_NAME", 128),
    text("SOURCE", 64),
    number("TIMER_START"),
    number("TIMER_END"),
    number("TIMER_WAIT"),
    number("WORK_COMPLETED"),
    number("WORK_ESTIMATED"),
    number("NESTING_EVENT_ID"),
    text("NESTING_EVENT_TYPE", 11),
];

const TRANSACTION: &[VirtualColumn] = &[
    number("THREAD_ID"),
    number("EVENT_ID"),
    number("END_EVENT_ID"),
    text("EVENT_NAME", 128),
    text("STATE", 11),
    number("TRX_ID"),
    text("GTID", 90),
    number("XID_FORMAT_ID"),
    text("XID_GTRID", 130),
    text("XID_BQUAL", 130),
    text("XA_STATE", 64),
    text("SOURCE", 64),
    number("TIMER_START"),
    number("TIMER_END"),
    number("TIMER_WAIT"),
    text("ACCESS_MODE", 10),
    text("ISOLATION_LEVEL", 64),
    text("AUTOCOMMIT", 3),
    number("NUMBER_OF_SAVEPOINTS"),
    number("NUMBER_OF_ROLLBACK_TO_SAVEPOINT"),
    number("NUMBER_OF_RELEASE_SAVEPOINT"),
    number("OBJECT_INSTANCE_BEGIN"),
    number("NESTING_EVENT_ID"),
    text("NESTING_EVENT_TYPE", 11),
];

macro_rules! never {
    ($($table:ident $name:literal $columns:expr;)*) => {
        $(pub const $table: VirtualTable = VirtualTable { name: $name, columns: $columns, rows: super::no_rows };)*
    };
}

never! {
    WAITS_CURRENT "events_waits_current" WAIT;
    WAITS_HISTORY "events_waits_history" WAIT;
    WAITS_HISTORY_LONG "events_waits_history_long" WAIT;
    STAGES_CURRENT "events_stages_current" STAGE;
    STAGES_HISTORY "events_stages_history" STAGE;
    STAGES_HISTORY_LONG "events_stages_history_long" STAGE;
    TRANSACTIONS_CURRENT "events_transactions_current" TRANSACTION;
    TRANSACTIONS_HISTORY "events_transactions_history" TRANSACTION;
    TRANSACTIONS_HISTORY_LONG "events_transactions_history_long" TRANSACTION;
}

/// There is no group replication.
pub const GROUP_MEMBERS: VirtualTable = VirtualTable {
    name: "replication_group_members",
    columns: &[
        text("CHANNEL_NAME", 64),
        text("MEMBER_ID", 36),
        text("MEMBER_HOST", 255),
        int("MEMBER_PORT"),
        text("MEMBER_STATE", 64),
        text("MEMBER_ROLE", 64),
        text("MEMBER_VERSION", 64),
        text("MEMBER_COMMUNICATION_STACK", 64),
    ],
    rows: super::no_rows,
};

pub const GROUP_MEMBER_STATS: VirtualTable = VirtualTable {
    name: "replication_group_member_stats",
    columns: &[
        text("CHANNEL_NAME", 64),
        text("VIEW_ID", 60),
        text("MEMBER_ID", 36),
        number("COUNT_TRANSACTIONS_IN_QUEUE"),
        number("COUNT_TRANSACTIONS_CHECKED"),
        number("COUNT_CONFLICTS_DETECTED"),
        number("COUNT_TRANSACTIONS_ROWS_VALIDATING"),
        long_text("TRANSACTIONS_COMMITTED_ALL_MEMBERS"),
        text("LAST_CONFLICT_FREE_TRANSACTION", 64),
        number("COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE"),
        number("COUNT_TRANSACTIONS_REMOTE_APPLIED"),
        number("COUNT_TRANSACTIONS_LOCAL_PROPOSED"),
        number("COUNT_TRANSACTIONS_LOCAL_ROLLBACK"),
    ],
    rows: super::no_rows,
};

/// Tables have no locks of the kind that is counted here, only those of `data_locks` and `metadata_locks`.
pub const TABLE_LOCK_WAITS: VirtualTable = VirtualTable {
    name: "table_lock_waits_summary_by_table",
    columns: &[
        text("OBJECT_TYPE", 64),
        text("OBJECT_SCHEMA", 64),
        text("OBJECT_NAME", 64),
        number("COUNT_STAR"),
        number("SUM_TIMER_WAIT"),
        number("MIN_TIMER_WAIT"),
        number("AVG_TIMER_WAIT"),
        number("MAX_TIMER_WAIT"),
        number("COUNT_READ"),
        number("SUM_TIMER_READ"),
        number("MIN_TIMER_READ"),
        number("AVG_TIMER_READ"),
        number("MAX_TIMER_READ"),
        number("COUNT_WRITE"),
        number("SUM_TIMER_WRITE"),
        number("MIN_TIMER_WRITE"),
        number("AVG_TIMER_WRITE"),
        number("MAX_TIMER_WRITE"),
        number("COUNT_READ_NORMAL"),
        number("SUM_TIMER_READ_NORMAL"),
        number("MIN_TIMER_READ_NORMAL"),
        number("AVG_TIMER_READ_NORMAL"),
        number("MAX_TIMER_READ_NORMAL"),
        number("COUNT_READ_WITH_SHARED_LOCKS"),
        number("SUM_TIMER_READ_WITH_SHARED_LOCKS"),
        number("MIN_TIMER_READ_WITH_SHARED_LOCKS"),
        number("AVG_TIMER_READ_WITH_SHARED_LOCKS"),
        number("MAX_TIMER_READ_WITH_SHARED_LOCKS"),
        number("COUNT_READ_HIGH_PRIORITY"),
        number("SUM_TIMER_READ_HIGH_PRIORITY"),
        number("MIN_TIMER_READ_HIGH_PRIORITY"),
        number("AVG_TIMER_READ_HIGH_PRIORITY"),
        number("MAX_TIMER_READ_HIGH_PRIORITY"),
        number("COUNT_READ_NO_INSERT"),
        number("SUM_TIMER_READ_NO_INSERT"),
        number("MIN_TIMER_READ_NO_INSERT"),
        number("AVG_TIMER_READ_NO_INSERT"),
        number("MAX_TIMER_READ_NO_INSERT"),
        number("COUNT_READ_EXTERNAL"),
        number("SUM_TIMER_READ_EXTERNAL"),
        number("MIN_TIMER_READ_EXTERNAL"),
        number("AVG_TIMER_READ_EXTERNAL"),
        number("MAX_TIMER_READ_EXTERNAL"),
        number("COUNT_WRITE_ALLOW_WRITE"),
        number("SUM_TIMER_WRITE_ALLOW_WRITE"),
        number("MIN_TIMER_WRITE_ALLOW_WRITE"),
        number("AVG_TIMER_WRITE_ALLOW_WRITE"),
        number("MAX_TIMER_WRITE_ALLOW_WRITE"),
        number("COUNT_WRITE_CONCURRENT_INSERT"),
        number("SUM_TIMER_WRITE_CONCURRENT_INSERT"),
        number("MIN_TIMER_WRITE_CONCURRENT_INSERT"),
        number("AVG_TIMER_WRITE_CONCURRENT_INSERT"),
        number("MAX_TIMER_WRITE_CONCURRENT_INSERT"),
        number("COUNT_WRITE_LOW_PRIORITY"),
        number("SUM_TIMER_WRITE_LOW_PRIORITY"),
        number("MIN_TIMER_WRITE_LOW_PRIORITY"),
        number("AVG_TIMER_WRITE_LOW_PRIORITY"),
        number("MAX_TIMER_WRITE_LOW_PRIORITY"),
        number("COUNT_WRITE_NORMAL"),
        number("SUM_TIMER_WRITE_NORMAL"),
        number("MIN_TIMER_WRITE_NORMAL"),
        number("AVG_TIMER_WRITE_NORMAL"),
        number("MAX_TIMER_WRITE_NORMAL"),
        number("COUNT_WRITE_EXTERNAL"),
        number("SUM_TIMER_WRITE_EXTERNAL"),
        number("MIN_TIMER_WRITE_EXTERNAL"),
        number("AVG_TIMER_WRITE_EXTERNAL"),
        number("MAX_TIMER_WRITE_EXTERNAL"),
    ],
    rows: super::no_rows,
};
