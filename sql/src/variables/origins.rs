//! Where the server's values of variables come from: `performance_schema.variables_info`.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Where one value comes from. A variable without an origin has the value that is compiled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// `GLOBAL`, `USER`, `EXPLICIT` and `EXTRA` are option files, `COMMAND_LINE`, `PERSISTED`, `DYNAMIC`: SET GLOBAL.
    pub source: &'static str,
    /// The file.
    pub path: String,
    /// When and by whom it was set, in microseconds since 1970.
    pub set_us: Option<u64>,
    pub user: String,
    pub host: String,
}

impl Origin {
    pub const COMPILED: &str = "COMPILED";

    /// An option, and the file that it stands in.
    pub fn option(source: &'static str, path: &str) -> Origin {
        Origin { source, path: path.to_owned(), ..Origin::default() }
    }

    /// SET GLOBAL, now.
    pub fn set_by(user: &str, host: &str) -> Origin {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros() as u64);
        let (user, host) = (user.to_owned(), host.to_owned());
        Origin { source: "DYNAMIC", set_us: Some(now), user, host, ..Origin::default() }
    }
}

/// The origins of all values that are not compiled in, by the variables' names.
#[derive(Debug, Default)]
pub struct Origins(Mutex<FxHashMap<&'static str, Origin>>);

impl Origins {
    pub fn note(&self, variable: &'static str, origin: Origin) {
        self.0.lock().insert(variable, origin);
    }

    pub fn of(&self, variable: &str) -> Origin {
        let known = self.0.lock().get(variable).cloned();
        known.unwrap_or_else(|| Origin { source: Origin::COMPILED, ..Origin::default() })
    }
}
