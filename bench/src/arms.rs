//! The arms of the storage benchmark: one way to configure one server.
//!
//! ```text
//! data set   what the tables are made of: server, codec       loaded once, kept
//!   arm      how the server runs on a copy of it: options     measured
//! ```
//!
//! Several arms share a data set: `zstd` with and without punching start from the
//! same bytes. Every arm gets [`COMMON`], so that durability, pool and I/O limits are
//! equal, and only then what makes it different.
//!
//! Adding an arm is adding a line to [`ARMS`].

use crate::process::Kind;

/// What both servers are told, whatever the arm. Doublewrite is on in both unless an arm says otherwise.
pub const COMMON: &[&str] =
    &["--innodb-flush-method=O_DIRECT", "--innodb-io-capacity=2000", "--innodb-io-capacity-max=20000"];

/// Tables of one kind, loaded by sysbench.
#[derive(Debug)]
pub struct DataSet {
    pub name: &'static str,
    pub kind: Kind,
    /// What CREATE TABLE says behind the engine.
    pub table_options: &'static str,
    /// Options without which the server cannot make or read such tables.
    pub server_options: &'static [&'static str],
}

/// A data set and the options of the server that runs on it.
#[derive(Debug)]
pub struct Arm {
    pub name: &'static str,
    pub data: &'static DataSet,
    pub options: &'static [&'static str],
    /// What the arm shows, for `bench load --list`.
    pub shows: &'static str,
}

static OURS_NONE: DataSet = DataSet {
    name: "none",
    kind: Kind::Glassine,
    table_options: "COMPRESSION='none'",
    server_options: &["--innodb-compression-algorithm=none"],
};
static OURS_LZ4: DataSet = DataSet {
    name: "lz4",
    kind: Kind::Glassine,
    table_options: "COMPRESSION='lz4'",
    server_options: &["--innodb-compression-algorithm=lz4"],
};
static OURS_ZSTD: DataSet = DataSet {
    name: "zstd",
    kind: Kind::Glassine,
    table_options: "COMPRESSION='zstd'",
    server_options: &["--innodb-compression-algorithm=zstd"],
};
static INNODB: DataSet = DataSet { name: "innodb", kind: Kind::MariaDb, table_options: "", server_options: &[] };
static INNODB_LZ4: DataSet = DataSet {
    name: "innodb-lz4",
    kind: Kind::MariaDb,
    table_options: "PAGE_COMPRESSED=1",
    server_options: &["--plugin-load-add=provider_lz4", "--innodb-compression-algorithm=lz4"],
};
static INNODB_ZLIB: DataSet = DataSet {
    name: "innodb-zlib",
    kind: Kind::MariaDb,
    table_options: "PAGE_COMPRESSED=1",
    server_options: &["--innodb-compression-algorithm=zlib"],
};
static INNODB_KBS8: DataSet = DataSet {
    name: "innodb-kbs8",
    kind: Kind::MariaDb,
    table_options: "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
    server_options: &[],
};

/// The arm that all others are compared with.
pub const BASELINE: &str = "innodb";

const DOUBLEWRITE: &[&str] = &["--innodb-doublewrite=ON", "--innodb-use-atomic-writes=OFF"];
const ATOMIC: &[&str] = &["--innodb-doublewrite=ON", "--innodb-use-atomic-writes=ON"];
const UNPROTECTED: &[&str] = &["--innodb-doublewrite=OFF", "--innodb-use-atomic-writes=OFF"];

pub static ARMS: &[Arm] = &[
    Arm { name: "none", data: &OURS_NONE, options: &[], shows: "Glassine, pages as they are" },
    Arm { name: "lz4", data: &OURS_LZ4, options: &[], shows: "Glassine, LZ4 pages" },
    Arm { name: "zstd", data: &OURS_ZSTD, options: &[], shows: "Glassine, Zstandard pages: the default" },
    Arm { name: "innodb", data: &INNODB, options: &[], shows: "MariaDB, pages as they are: the baseline" },
    Arm { name: "innodb-lz4", data: &INNODB_LZ4, options: &[], shows: "MariaDB, PAGE_COMPRESSED, LZ4" },
    Arm {
        name: "innodb-zlib",
        data: &INNODB_ZLIB,
        options: &[],
        shows: "MariaDB, PAGE_COMPRESSED, zlib (its default)",
    },
    Arm { name: "innodb-kbs8", data: &INNODB_KBS8, options: &[], shows: "MariaDB, ROW_FORMAT=COMPRESSED, 8K blocks" },
    Arm {
        name: "zstd-nopunch",
        data: &OURS_ZSTD,
        options: &["--innodb-use-trim=OFF"],
        shows: "zstd without punching holes",
    },
    Arm {
        name: "lz4-nopunch",
        data: &OURS_LZ4,
        options: &["--innodb-use-trim=OFF"],
        shows: "lz4 without punching holes",
    },
    Arm { name: "zstd-doublewrite", data: &OURS_ZSTD, options: DOUBLEWRITE, shows: "zstd, doublewrite" },
    Arm {
        name: "zstd-atomic",
        data: &OURS_ZSTD,
        options: ATOMIC,
        shows: "zstd, untorn writes where the filesystem has them",
    },
    Arm { name: "zstd-unprotected", data: &OURS_ZSTD, options: UNPROTECTED, shows: "zstd, nothing against torn pages" },
    Arm { name: "none-doublewrite", data: &OURS_NONE, options: DOUBLEWRITE, shows: "none, doublewrite" },
    Arm {
        name: "none-atomic",
        data: &OURS_NONE,
        options: ATOMIC,
        shows: "none, untorn writes where the filesystem has them",
    },
    Arm { name: "none-unprotected", data: &OURS_NONE, options: UNPROTECTED, shows: "none, nothing against torn pages" },
    Arm {
        name: "innodb-unprotected",
        data: &INNODB,
        options: &["--innodb-doublewrite=OFF"],
        shows: "MariaDB, nothing against torn pages",
    },
    Arm {
        name: "zstd-1cleaner",
        data: &OURS_ZSTD,
        options: &["--innodb-page-cleaners=1"],
        shows: "zstd, one page cleaner",
    },
    Arm {
        name: "zstd-2cleaners",
        data: &OURS_ZSTD,
        options: &["--innodb-page-cleaners=2"],
        shows: "zstd, two page cleaners",
    },
    Arm {
        name: "zstd-4cleaners",
        data: &OURS_ZSTD,
        options: &["--innodb-page-cleaners=4"],
        shows: "zstd, four page cleaners",
    },
];

/// Names for several arms at once.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("main", &["none", "lz4", "zstd", "innodb", "innodb-lz4", "innodb-zlib", "innodb-kbs8"]),
    ("punch", &["zstd", "zstd-nopunch", "lz4", "lz4-nopunch"]),
    (
        "torn",
        &[
            "zstd-doublewrite",
            "zstd-atomic",
            "zstd-unprotected",
            "none-doublewrite",
            "none-atomic",
            "none-unprotected",
            "innodb",
            "innodb-unprotected",
        ],
    ),
    ("cleaners", &["zstd-1cleaner", "zstd-2cleaners", "zstd-4cleaners"]),
];

/// The arms of a comma-separated list of names and groups, each once, in the order of [`ARMS`].
pub fn select(list: &str) -> Result<Vec<&'static Arm>, String> {
    let mut wanted: Vec<&str> = Vec::new();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match GROUPS.iter().find(|(group, _)| *group == word) {
            Some((_, arms)) => wanted.extend(*arms),
            None if word == "all" => wanted.extend(ARMS.iter().map(|arm| arm.name)),
            None if ARMS.iter().any(|arm| arm.name == word) => wanted.push(word),
            None => return Err(format!("there is no arm '{word}'; `bench load --list` names them")),
        }
    }
    Ok(ARMS.iter().filter(|arm| wanted.contains(&arm.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_name_arms_that_exist_and_names_are_unique() {
        for (group, arms) in GROUPS {
            assert_eq!(select(group).map(|found| found.len()), Ok(arms.len()), "{group}");
        }
        for arm in ARMS {
            assert_eq!(ARMS.iter().filter(|other| other.name == arm.name).count(), 1, "{}", arm.name);
        }
        assert!(select("zstd,nonsense").is_err());
        assert_eq!(select("zstd,main,zstd").map(|arms| arms.len()), Ok(7));
    }
}
