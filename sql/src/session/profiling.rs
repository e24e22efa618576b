//! SHOW PROFILES and SHOW PROFILE: see [`profiles`](crate::profiles).

use format::value::{ColumnType, Decimal, Value};

use super::Session;
use super::admin::text_type;
use crate::error::{Error, Warning};
use crate::parser::ast::ProfileKind;
use crate::show::Listing;

/// The columns of each kind; none of what they count is counted here.
const KINDS: [(ProfileKind, &[&str]); 7] = [
    (ProfileKind::Cpu, &["CPU_user", "CPU_system"]),
    (ProfileKind::ContextSwitches, &["Context_voluntary", "Context_involuntary"]),
    (ProfileKind::BlockIo, &["Block_ops_in", "Block_ops_out"]),
    (ProfileKind::Ipc, &["Messages_sent", "Messages_received"]),
    (ProfileKind::PageFaults, &["Page_faults_major", "Page_faults_minor"]),
    (ProfileKind::Swaps, &["Swaps"]),
    (ProfileKind::Source, &["Source_function", "Source_file", "Source_line"]),
];

/// That a statement is one of the past.
pub(super) fn deprecated(what: &str, instead: &str) -> Warning {
    let text = format!("'{what}' is deprecated and will be removed in a future release.{instead}");
    Error::new(1287, b"HY000", text).into_warning()
}

impl Session {
    pub(super) fn show_profiles(&mut self) -> Listing {
        self.profiles_are_asked_for("SHOW PROFILES");
        let number = ColumnType::Int { bytes: 4, unsigned: true };
        let seconds = ColumnType::Double { unsigned: false, decimals: Some((10, 8)) };
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let profiles = self.measure.profiles().iter();
        Listing {
            columns: vec![
                ("Query_ID".to_owned(), number),
                ("Duration".to_owned(), seconds),
                ("Query".to_owned(), text_type(300)),
            ],
            rows: profiles
                .map(|profile| vec![Value::UInt(profile.id), Value::Double(profile.seconds()), text(&profile.text)])
                .collect(),
        }
    }

    pub(super) fn show_profile(&mut self, kinds: &[ProfileKind], query: Option<u64>) -> Listing {
        self.profiles_are_asked_for("SHOW PROFILE");
        let seconds = ColumnType::Decimal { precision: 9, scale: 6, unsigned: false };
        let mut columns = vec![("Status".to_owned(), text_type(30)), ("Duration".to_owned(), seconds)];
        let wanted = |kind: &ProfileKind| kinds.contains(kind) || kinds.contains(&ProfileKind::All);
        for name in KINDS.iter().filter(|(kind, _)| wanted(kind)).flat_map(|(_, names)| *names) {
            columns.push(((*name).to_owned(), text_type(30)));
        }
        let states = self.measure.profiles().find(query).into_iter().flat_map(|profile| profile.states());
        let row = |(state, micros): (&str, u64)| {
            let duration = Decimal::from_i128(micros.into(), 6);
            let mut row = vec![Value::Bytes(state.as_bytes().to_vec()), Value::Decimal(duration)];
            row.resize(columns.len(), Value::Null);
            row
        };
        let rows = states.map(row).collect();
        Listing { columns, rows }
    }

    /// The statement itself is none of those that are kept.
    fn profiles_are_asked_for(&mut self, statement: &str) {
        self.measure.asks = true;
        self.warnings.push(deprecated(statement, " Please use Performance Schema instead"));
    }
}
