//! Memory by component.
//!
//! What is used now is known of the parts that the server accounts for. The rest of the process (dictionary, plans, sessions,
//! stacks, code) is one component, so that the sum is what the system says that the process occupies. No allocation is
//! counted: SUM_NUMBER_OF_BYTES_ALLOC is what is used, and LOW and HIGH are the present.

use format::value::Value;

use super::{Facts, VirtualTable, number, string, text};
use crate::instance::Instance;

type Bytes = fn(&Instance) -> u64;

/// The components that are accounted for. Frames of the pool that were never used take no memory.
const ACCOUNTED: [(&str, Bytes); 5] = [
    ("memory/innodb/buf_buf_pool", |instance| {
        let store = instance.engine.status().store;
        store.pool_pages_total_now.saturating_sub(store.pool_pages_free_now) * store.page_bytes
    }),
    ("memory/innodb/lock_sys", |instance| instance.engine.status().lock_bytes),
    ("memory/innodb/log_buffer_memory", |instance| instance.engine.store().config().log_buffer_bytes as u64),
    ("memory/performance_schema/events_statements_summary_by_digest", |instance| instance.statements.digest_bytes()),
    ("memory/temptable/physical_ram", |instance| instance.temporary.budget.lent_bytes()),
];

const REST: &str = "memory/sql/rest_of_the_process";

/// The names of all components.
pub fn memory_events() -> impl Iterator<Item = &'static str> {
    ACCOUNTED.iter().map(|(name, _)| *name).chain([REST])
}

/// What the performance schema has in memory: its tables that keep something, and all of them, as SHOW ENGINE names them.
pub fn schema_memory(instance: &Instance) -> Vec<(String, u64)> {
    let of_schema = |(name, bytes): &(&str, Bytes)| {
        name.strip_prefix("memory/performance_schema/").map(|table| (format!("{table}.memory"), bytes(instance)))
    };
    let mut parts: Vec<(String, u64)> = ACCOUNTED.iter().filter_map(of_schema).collect();
    let sum = parts.iter().map(|(_, bytes)| bytes).sum();
    parts.push(("performance_schema.memory".to_owned(), sum));
    parts
}

/// What the system says that the process has in memory.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

pub const MEMORY_BY_EVENT: VirtualTable = VirtualTable {
    name: "memory_summary_global_by_event_name",
    columns: &[
        text("EVENT_NAME", 128),
        number("COUNT_ALLOC"),
        number("COUNT_FREE"),
        number("SUM_NUMBER_OF_BYTES_ALLOC"),
        number("SUM_NUMBER_OF_BYTES_FREE"),
        number("LOW_COUNT_USED"),
        number("CURRENT_COUNT_USED"),
        number("HIGH_COUNT_USED"),
        number("LOW_NUMBER_OF_BYTES_USED"),
        number("CURRENT_NUMBER_OF_BYTES_USED"),
        number("HIGH_NUMBER_OF_BYTES_USED"),
    ],
    rows: |facts: &Facts<'_>| {
        if !facts.instance.statements.limits().enabled {
            return Vec::new();
        }
        let mut used: Vec<(&str, u64)> = ACCOUNTED.iter().map(|(name, bytes)| (*name, bytes(facts.instance))).collect();
        if let Some(resident) = resident_bytes() {
            let accounted: u64 = used.iter().map(|(_, bytes)| bytes).sum();
            used.push((REST, resident.saturating_sub(accounted)));
        }
        let row = |(name, bytes): (&str, u64)| {
            let mut row = vec![string(name)];
            row.extend([0, 0, bytes, 0, 0, 0, 0, bytes, bytes, bytes].map(Value::UInt));
            row
        };
        used.into_iter().map(row).collect()
    },
};
