//! Tables that programs ask for although what they would list does not exist here: resource groups, units, a
//! trace of the optimiser. They have MySQL's columns and no rows, or few; and what `profiling` keeps.

use format::value::{ColumnType, Decimal, Value};

use super::catalog::reference_system_name;
use super::{VirtualTable, exact, int, long_text, no_rows, number, string, text};
use crate::expression::geometry::WGS_84;

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
    // The two that have a meaning of their own; functions know the numbers of others, but not their names.
    rows: |_| {
        let row = |srid: u32, organization: Value, definition: &str| {
            let name = reference_system_name(srid).unwrap_or_default();
            let number = if srid == 0 { Value::Null } else { Value::UInt(srid.into()) };
            vec![string(name), Value::UInt(srid.into()), organization, number, string(definition), Value::Null]
        };
        vec![row(0, Value::Null, ""), row(WGS_84, string("EPSG"), WGS_84_TEXT)]
    },
};

/// WGS 84 in the well-known text of OGC.
const WGS_84_TEXT: &str = "GEOGCS[\"WGS 84\",DATUM[\"World Geodetic System 1984\",SPHEROID[\"WGS 84\",6378137,\
     298.257223563,AUTHORITY[\"EPSG\",\"7030\"]],AUTHORITY[\"EPSG\",\"6326\"]],PRIMEM[\"Greenwich\",0,\
     AUTHORITY[\"EPSG\",\"8901\"]],UNIT[\"degree\",0.017453292519943278,AUTHORITY[\"EPSG\",\"9122\"]],\
     AXIS[\"Lat\",NORTH],AXIS[\"Lon\",EAST],AUTHORITY[\"EPSG\",\"4326\"]]";

pub const ST_UNITS_OF_MEASURE: VirtualTable = VirtualTable {
    name: "ST_UNITS_OF_MEASURE",
    columns: &[text("UNIT_NAME", 255), text("UNIT_TYPE", 7), number("CONVERSION_FACTOR"), text("DESCRIPTION", 255)],
    rows: no_rows,
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
