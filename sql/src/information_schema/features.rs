//! Tables that programs ask for although what they would list does not exist here: resource groups, a
//! trace of the optimiser. They have MySQL's columns and no rows, or few; and what `profiling` keeps.

use format::value::{ColumnType, Decimal, Value};

use super::{VirtualTable, exact, int, long_text, no_rows, number, string, text};
use crate::expression::{geometry, length_units};

pub const OPTIMIZER_TRACE: VirtualTable = VirtualTable {
    name: "OPTIMIZER_TRACE",
    columns: &[
        long_text("QUERY"),
        long_text("TRACE"),
        int("MISSING_BYTES_BEYOND_MAX_MEM_SIZE"),
        int("INSUFFICIENT_PRIVILEGES"),
    ],
    rows: no_rows,
};

pub const PROFILING: VirtualTable = VirtualTable {
    name: "PROFILING",
    columns: &[
        int("QUERY_ID"),
        int("SEQ"),
        text("STATE", 30),
        seconds("DURATION"),
        seconds("CPU_USER"),
        seconds("CPU_SYSTEM"),
        int("CONTEXT_VOLUNTARY"),
        int("CONTEXT_INVOLUNTARY"),
        int("BLOCK_OPS_IN"),
        int("BLOCK_OPS_OUT"),
        int("MESSAGES_SENT"),
        int("MESSAGES_RECEIVED"),
        int("PAGE_FAULTS_MAJOR"),
        int("PAGE_FAULTS_MINOR"),
        int("SWAPS"),
        text("SOURCE_FUNCTION", 30),
        text("SOURCE_FILE", 20),
        int("SOURCE_LINE"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for profile in facts.profiles.iter() {
            for (number, (state, micros)) in (1..).zip(profile.states()) {
                let duration = Decimal::from_i128(micros.into(), 6);
                let mut row =
                    vec![Value::UInt(profile.id), Value::Int(number), string(state), Value::Decimal(duration)];
                row.resize(18, Value::Null);
                rows.push(row);
            }
        }
        rows
    },
};

const fn double(name: &'static str) -> super::VirtualColumn {
    super::VirtualColumn { name, ty: ColumnType::Double { decimals: None, unsigned: false }, nullable: true }
}

const fn seconds(name: &'static str) -> super::VirtualColumn {
    let ty = ColumnType::Decimal { precision: 9, scale: 6, unsigned: false };
    super::VirtualColumn { name, ty, nullable: true }
}

pub const RESOURCE_GROUPS: VirtualTable = VirtualTable {
    name: "RESOURCE_GROUPS",
    columns: &[
        text("RESOURCE_GROUP_NAME", 64),
        exact("RESOURCE_GROUP_TYPE", 6),
        int("RESOURCE_GROUP_ENABLED"),
        long_text("VCPU_IDS"),
        int("THREAD_PRIORITY"),
    ],
    rows: no_rows,
};

pub const ST_SPATIAL_REFERENCE_SYSTEMS: VirtualTable = VirtualTable {
    name: "ST_SPATIAL_REFERENCE_SYSTEMS",
    columns: &[
        text("SRS_NAME", 80),
        number("SRS_ID"),
        text("ORGANIZATION", 256),
        number("ORGANIZATION_COORDSYS_ID"),
        exact("DEFINITION", 4096),
        exact("DESCRIPTION", 2048),
    ],
    rows: |_| {
        let plane = vec![string(""), Value::UInt(0), Value::Null, Value::Null, string(""), Value::Null];
        let row = |srid: u32| {
            let (name, definition) = geometry::name_and_text(srid)?;
            let number = || Value::UInt(srid.into());
            Some(vec![string(name), number(), string("EPSG"), number(), string(&definition), Value::Null])
        };
        std::iter::once(plane).chain(geometry::all_systems().filter_map(row)).collect()
    },
};

pub const ST_UNITS_OF_MEASURE: VirtualTable = VirtualTable {
    name: "ST_UNITS_OF_MEASURE",
    columns: &[text("UNIT_NAME", 255), text("UNIT_TYPE", 7), double("CONVERSION_FACTOR"), text("DESCRIPTION", 255)],
    rows: |_| {
        let row =
            |(name, metres): &(&str, f64)| vec![string(name), string("LINEAR"), Value::Double(*metres), string("")];
        length_units::UNITS.iter().map(row).collect()
    },
};

pub const TABLESPACES: VirtualTable = VirtualTable {
    name: "TABLESPACES",
    columns: &[
        text("TABLESPACE_NAME", 64),
        text("ENGINE", 64),
        text("TABLESPACE_TYPE", 64),
        text("LOGFILE_GROUP_NAME", 64),
        number("EXTENT_SIZE"),
        number("AUTOEXTEND_SIZE"),
        number("MAXIMUM_SIZE"),
        number("NODEGROUP_ID"),
        text("TABLESPACE_COMMENT", 2048),
    ],
    rows: no_rows,
};

pub const TABLESPACES_EXTENSIONS: VirtualTable = VirtualTable {
    name: "TABLESPACES_EXTENSIONS",
    columns: &[exact("TABLESPACE_NAME", 268), long_text("ENGINE_ATTRIBUTE")],
    rows: no_rows,
};

pub const VIEW_ROUTINE_USAGE: VirtualTable = VirtualTable {
    name: "VIEW_ROUTINE_USAGE",
    columns: &[
        text("TABLE_CATALOG", 64),
        text("TABLE_SCHEMA", 64),
        text("TABLE_NAME", 64),
        text("SPECIFIC_CATALOG", 64),
        text("SPECIFIC_SCHEMA", 64),
        text("SPECIFIC_NAME", 64),
    ],
    rows: no_rows,
};
