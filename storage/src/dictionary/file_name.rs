//! Names of databases and tables as names of directories and files, as in MySQL: letters, digits and `_` are kept,
//! everything else becomes `@` and four hexadecimal digits of its UTF-16 code unit (`a-b` is `a@002db`).
//!
//! MySQL has shorter forms (`@0G`) for some letters beyond ASCII; MySQL reads both, and this module writes the long
//! one.

use crate::schema::{PartitionDefinition, Table};

/// The file or directory name of a name.
pub fn encode(name: &str) -> String {
    let mut file = String::with_capacity(name.len());
    let mut units = [0; 2];
    for character in name.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            file.push(character);
        } else {
            for unit in character.encode_utf16(&mut units) {
                file.push_str(&format!("@{unit:04x}"));
            }
        }
    }
    file
}

/// The longest name of a file that every filesystem takes.
const FILE_NAME_BYTES_MAX: usize = 255;

/// Whether a database or a table can have this name: encoded, and with what stands behind it, it names a file.
pub fn names_a_file(name: &str) -> bool {
    encode(name).len() + ".ibd".len() <= FILE_NAME_BYTES_MAX
}

/// The path of a table's file, relative to the data directory.
pub fn table_path(database: &str, table: &str) -> String {
    format!("{}/{}.ibd", encode(database), encode(table))
}

/// The path of a partition's file, as MySQL names it on Linux: in lower case behind the table's name.
pub fn partition_path(database: &str, table: &str, partition: &PartitionDefinition) -> String {
    let suffix = partition.suffix_by(|name| encode(&name.to_lowercase()));
    format!("{}/{}{suffix}.ibd", encode(database), encode(table))
}

/// Whether a partition can have its name: see [`names_a_file`].
pub fn names_a_partition(table: &str, partition: &PartitionDefinition) -> bool {
    partition_path("", table, partition).len() - 1 <= FILE_NAME_BYTES_MAX
}

/// The path of a file that a DDL statement works on until it has a name: no table can have it.
pub fn temporary_path(database: &str, space: u32) -> String {
    format!("{}/#sql-ib{space}.ibd", encode(database))
}

/// The path under which a table's file, or a partition's, is found by its name.
pub fn named_path(file: &Table) -> String {
    match &file.partition {
        None => table_path(&file.database, &file.name),
        Some(partition) => partition_path(&file.database, &file.name, partition),
    }
}

/// The path of a table's file, or of a partition's. One that was discarded leaves its name to a file that is to be imported,
/// see [`waits_for_import`].
pub fn file_path(file: &Table) -> String {
    match file.options.discarded {
        false => named_path(file),
        true => beside(file, DISCARDED),
    }
}

/// The path of the description that belongs to a file: InnoDB's `.cfg`.
pub fn description_path(file: &Table) -> String {
    beside(file, ".cfg")
}

/// What stands behind the name of a file that was discarded.
const DISCARDED: &str = "#discarded.ibd";

fn beside(file: &Table, ending: &str) -> String {
    let path = named_path(file);
    format!("{}{ending}", path.strip_suffix(".ibd").unwrap_or(&path))
}

/// Whether the name of a table's file, or of a partition's, is short enough for DISCARD TABLESPACE.
pub fn may_be_discarded(file: &Table) -> bool {
    beside(file, DISCARDED).rsplit('/').next().is_some_and(|name| name.len() <= FILE_NAME_BYTES_MAX)
}

/// Whether a file of this name is none of this instance, by the names in its directory: it waits to be imported. What its
/// first page says must not be taken for one of ours.
pub fn waits_for_import(name: &str, is_there: impl Fn(&str) -> bool) -> bool {
    name.strip_suffix(".ibd").is_some_and(|stem| is_there(&format!("{stem}{DISCARDED}")))
}

/// The path of such a file while the statement that has read it ends. By this name nothing takes it for a tablespace.
pub fn consumed_path(database: &str, number: u32) -> String {
    format!("{}/#sql-{number}.imported", encode(database))
}

/// `database/table` of a path, for people.
pub fn display_of_path(path: &str) -> String {
    path.strip_suffix(".ibd").unwrap_or(path).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_written_in_hexadecimal() {
        assert_eq!(encode("plain_Name1"), "plain_Name1");
        assert_eq!(encode("a-b"), "a@002db");
        assert_eq!(table_path("my db", "t\u{e4}"), "my@0020db/t@00e4.ibd");
        assert_eq!(encode("\u{1F600}"), "@d83d@de00");
    }

    #[test]
    fn partitions_have_files_in_lower_case() {
        let mut partition = PartitionDefinition { name: "P-0".into(), ..PartitionDefinition::default() };
        assert_eq!(partition_path("d", "T", &partition), "d/T#p#p@002d0.ibd");
        partition.subpartition = Some("S1".into());
        assert_eq!(partition_path("d", "T", &partition), "d/T#p#p@002d0#sp#s1.ibd");
        assert!(names_a_partition("t", &partition));
        partition.name = "x".repeat(64).into();
        assert!(!names_a_partition(&"-".repeat(40), &partition));
    }

    #[test]
    fn a_name_is_not_too_long_for_its_file() {
        assert!(names_a_file(&"a".repeat(64)) && names_a_file(&"#".repeat(50)));
        assert!(!names_a_file(&"#".repeat(51)));
    }
}
