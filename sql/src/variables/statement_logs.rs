//! The server's variables about the logs of statements, which each statement looks at: without a name and without a lock.

use std::sync::atomic::{AtomicU16, Ordering};

use format::value::Value;

use super::settings;

const SLOW: u16 = 1;
const GENERAL: u16 = 2;
const WITHOUT_INDEX: u16 = 4;
const ADMINISTRATION: u16 = 8;
const EXTRA: u16 = 16;
const TO_FILE: u16 = 32;
const TO_TABLE: u16 = 64;
const LOCAL_TIME: u16 = 128;

/// Which statements are logged, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementLogs(u16);

impl StatementLogs {
    /// `slow_query_log`, and `log_output` is not NONE.
    #[inline]
    pub fn slow(self) -> bool {
        self.0 & SLOW != 0
    }

    /// `log_output` has FILE.
    pub fn to_file(self) -> bool {
        self.0 & TO_FILE != 0
    }

    /// `log_output` has TABLE.
    pub fn to_table(self) -> bool {
        self.0 & TO_TABLE != 0
    }

    /// `general_log`, and `log_output` is not NONE.
    #[inline]
    pub fn general(self) -> bool {
        self.0 & GENERAL != 0
    }

    /// `log_queries_not_using_indexes`.
    pub fn without_index(self) -> bool {
        self.0 & WITHOUT_INDEX != 0
    }

    /// `log_slow_admin_statements`.
    pub fn administration(self) -> bool {
        self.0 & ADMINISTRATION != 0
    }

    /// `log_timestamps` is SYSTEM.
    pub fn local_time(self) -> bool {
        self.0 & LOCAL_TIME != 0
    }

    /// `slow_query_log` and `log_slow_extra`.
    #[inline]
    pub fn extra(self) -> bool {
        self.0 & (SLOW | EXTRA) == SLOW | EXTRA
    }
}

/// See the module header.
#[derive(Default)]
pub struct StatementLogGlobals(AtomicU16);

impl StatementLogGlobals {
    #[inline]
    pub fn get(&self) -> StatementLogs {
        StatementLogs(self.0.load(Ordering::Relaxed))
    }

    /// Takes over what has been set: `value` knows it by name.
    pub(super) fn refresh(&self, value: &dyn Fn(&str) -> Value) {
        let bit = |name, bit| if settings::on(&value(name)) { bit } else { 0 };
        let mut bits = bit("slow_query_log", SLOW)
            | bit("general_log", GENERAL)
            | bit("log_queries_not_using_indexes", WITHOUT_INDEX)
            | bit("log_slow_admin_statements", ADMINISTRATION)
            | bit("log_slow_extra", EXTRA);
        bits |= if settings::text(&value("log_timestamps")) == "SYSTEM" { LOCAL_TIME } else { 0 };
        let output = settings::text(&value("log_output"));
        let has = |wanted: &str| output.split(',').any(|place| place == wanted);
        match has("NONE") || !has("FILE") && !has("TABLE") {
            true => bits &= !(SLOW | GENERAL),
            false => {
                bits |= if has("FILE") { TO_FILE } else { 0 };
                bits |= if has("TABLE") { TO_TABLE } else { 0 };
            }
        }
        self.0.store(bits, Ordering::Relaxed);
    }

    /// Whether a variable is one of these.
    pub(super) fn has(name: &str) -> bool {
        let names = [
            "general_log",
            "log_output",
            "log_queries_not_using_indexes",
            "log_slow_admin_statements",
            "log_slow_extra",
            "log_timestamps",
            "slow_query_log",
        ];
        names.contains(&name)
    }
}
