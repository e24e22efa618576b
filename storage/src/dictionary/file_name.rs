//! Names of databases and tables as names of directories and files, as in MySQL: letters, digits and `_` are kept,
//! everything else becomes `@` and four hexadecimal digits of its UTF-16 code unit (`a-b` is `a@002db`).
//!
//! MySQL has shorter forms for some letters beyond ASCII (`@1o` for `\u{fc}`), and reads both. This module writes the long one,
//! unless the name of the file would be too long: so files have the names that they have always had.

use crate::schema::{PartitionDefinition, Table};

/// Letters with a short form: the first of a row of them, and two characters for each.
const SHORT: [(u32, &str); 50] = [
    (0x00c0, "0G0H0I0J0K0L0M0N0O0P0Q0R0S0T0U0V0W0X0Y0Z1G1H1I"),
    (0x00d8, "1K1L1M1N1O1P1Q1j0g0h0i0j0k0l0m0n0o0p0q0r0s0t0u0v0w0x0y0z1g1h1i"),
    (
        0x00f8,
        "1k1l1m1n1o1p1q1r1S1s1T1t1U1u1V1v1W1w1X1x1Y1y1Z1z2G2g2H2h2I2i2J2j2K2k2L2l2M2m2N2n2O2o2P2p2Q2q2R2r2S2s2T2t\
         2U2u2V2v",
    ),
    (
        0x0131,
        "2w2X2x2Y2y2Z2z3g3H3h3I3i3J3j3K3k3L3l3M3m3N3n3O3o3p3Q3q3R3r3S3s3T3t3U3u3V3v3W3w3X3x3Y3y3Z3z4G4g4H4h4I4i4J\
         4j4K4k4L4l4M4m4N4n4O4o4P4p4Q4q4R4r4S4s1R4T4t4U4u4V4v4wgaQfHahaIaiaRfJajaTfUfKakalaZbWfYfMamaJgMgnaSgRgOa\
         oapaqaYgHhraKhSasaTataUauaVhVavaYhwaxaYayaJiZazaLiMiGbgbHbhbTiIbibjbkbNbnbmb",
    ),
    (0x01c4, "Ob"),
    (0x01c6, "obPb"),
    (0x01c9, "pbQb"),
    (0x01cc, "qbRbrbSbsbTbtbUbubVbvbWbwbXbxbYbybzbGcgcHchcIcicJcjcKckcLclcMcmcNcncOcocpcQc"),
    (0x01f3, "qcRcrcNa"),
    (
        0x01f8,
        "ScscTctcUcucVcvcWcwcXcxcYcycZczcGdgdHdhdIdidJdjdKdkdLdldMdmdNdndOdodPdpdQdqdRdrdRasdTdtdUdudVdvdWdwdXdxd\
         YdydZdzdGegeHeheiejekelemeneOePepePaQereseVi",
    ),
    (
        0x0250,
        "nfofpfqfrfsftfufvfwfxfyfzfgghgigjgkglgmgngogpgqgrgsgtgugvgwgxgygzgghhhihjhkhlhmhnhohphqhrhshthuhvhwhxhyh\
         zhgihiiijikiliminioipiqirisitiuiviwixiyizigjhjijjjkjljmjnjojpjqjrjsjtjujvjwjxjyjzjgkhkik",
    ),
    (0x0386, "6G"),
    (0x0388, "6H6I6J"),
    (0x038c, "7S"),
    (0x038e, "7T7U5y6L7W6N6O6P6Q6R7X6T8W6V6W6X6Y6Z8I7H"),
    (0x03a3, "8Y7K7L8H7N7O7P7Q7R6g6h6i6j6k6l6m6n6o6p6q6r6s6t6u6v6w6x6y6z7g7h7i7j7k7l7m7n7o7p7q7r7s7t7u"),
    (0x03d0, "7w7x7Y7Z8G8h8i8j"),
    (0x03d9, "8k8L8l8M8m8N8n8O8o8P8p8Q8q8R8r8S8s8T8t8U8u8V8v8w8x8y8z"),
    (0x03f5, "9g9h"),
    (0x03f8, "9i"),
    (
        0x03fb,
        "9j9k9L9M9NS1T1U1V1W1X1Y1Z1G2H2I2J2K2L2M2N2G0H0I0J0K0L0M0N0O0P0Q0R0S0T0U0V0W0X0Y0Z0G1H1I1J1K1L1M1N1O1P1Q1\
         R1g0h0i0j0k0l0m0n0o0p0q0r0s0t0u0v0w0x0y0z0g1h1i1j1k1l1m1n1o1p1q1r1s1t1u1v1w1x1y1z1g2h2i2j2k2l2m2n2O2o2P2\
         p2Q2q2R2r2S2s2T2t2U2u2V2v2W2w2X2x2Y2y2Z2z2G3g3H3h3I3i3J3j3K3k3",
    ),
    (
        0x048a,
        "M3m3N3n3O3o3P3p3Q3q3R3r3S3s3T3t3U3u3V3v3W3w3X3x3Y3y3Z3z3G4g4H4h4I4i4J4j4K4k4L4l4M4m4N4n4O4o4P4p4Q4q4R4r4\
         S4s4T4U4u4V4v4W4w4X4x4Y4y4Z4z4G5g5",
    ),
    (0x04d0, "I5i5J5j5K5k5L5l5M5m5N5n5O5o5P5p5Q5q5R5r5S5s5T5t5U5u5V5v5W5w5X5x5Y5y5Z5z5G6g6H6h6I6i6"),
    (0x0500, "P6p6Q6q6R6r6S6s6T6t6U6u6V6v6W6w6"),
    (0x0531, "H7I7J7K7L7M7N7O7P7Q7R7S7T7U7V7W7X7Y7Z7G8H8I8J8K8L8M8N8O8P8Q8R8S8T8U8V8W8X8"),
    (0x0561, "h7i7j7k7l7m7n7o7p7q7r7s7t7u7v7w7x7y7z7g8h8i8j8k8l8m8n8o8p8q8r8s8t8u8v8w8x8"),
    (
        0x1e00,
        "GlglHlhlIlilJljlKlklLlllMlmlNlnlOlolPlplQlqlRlrlSlslTltlUlulVlvlWlwlXlxlYlylZlzlGmgmHmhmImimJmjmKmkmLmlm\
         MmmmNmnmOmomPmpmQmqmRmrmSmsmTmtmUmumVmvmWmwmXmxmYmymZmzmGngnHnhnIninJnjnKnknLnlnMnmnNnnnGponPnpnQnqnRnrn\
         SnsnTntnUnunVnvnWnwnXnxnYnynZnznGogoHohoIoioJojoKokoLoloMomoNonoOoooPopoQoqoRoroSosoTotoUouovowoxoyozogp",
    ),
    (
        0x1ea0,
        "LplpMpmpNpnpOpopPpppQpqpRprpSpspTptpUpupVpvpWpwpXpxpYpypZpzpGqgqHqhqIqiqJqjqKqkqLqlqMqmqNqnqOqoqPqpqQqqq\
         RqrqSqsqTqtqUquqVqvqWqwqXqxqYqyqZqzqGrgrHrhrIrirJrjrKrkrLrlrMrmrNrnrOrorPrpr",
    ),
    (0x1f00, "gshsisjskslsmsnsGsHsIsJsKsLsMsNsospsqsrsssts"),
    (0x1f18, "OsPsQsRsSsTs"),
    (0x1f20, "yszsgthtitjtktltYsZsGtHtItJtKtLtmtntotptqtrtstttMtNtOtPtQtRtStTtutvtwtxtytzt"),
    (0x1f48, "UtVtWtXtYtZt"),
    (0x1f50, "kulumunuoupuquru"),
    (0x1f59, "Lu"),
    (0x1f5b, "Nu"),
    (0x1f5d, "Pu"),
    (0x1f5f, "RuwuxuyuzugvhvivjvWuXuYuZuGvHvIvJvkvlvmvnvovpvqvrvsvtvuvvvwvxv"),
    (
        0x1f80,
        "gwhwiwjwkwlwmwnwGwHwIwJwKwLwMwNwowpwqwrwswtwuwvwOwPwQwRwSwTwUwVwwwxwywzwgxhxixjxWwXwYwZwGxHxIxJxkxlxmxnx\
         ox",
    ),
    (0x1fb6, "qxrxKxLxKvLvNx"),
    (0x1fc2, "sxtxux"),
    (0x1fc6, "wxxxMvNvOvPvTx"),
    (0x1fd0, "yxzxgyhy"),
    (0x1fd6, "kylyYxZxQvRv"),
    (0x1fe0, "nyoypyqyrysytyuyNyOyUvVvSy"),
    (0x1ff2, "xyyy"),
    (0x1ff6, "hzizSvTvWvXvYy"),
    (0x2160, "G9H9I9J9K9L9M9N9O9P9Q9R9S9T9U9V9g9h9i9j9k9l9m9n9o9p9q9r9s9t9u9v9"),
    (
        0x24b6,
        "@A@B@C@D@E@F@G@H@I@J@K@L@M@N@O@P@Q@R@S@T@U@V@W@X@Y@Z@a@b@c@d@e@f@g@h@i@j@k@l@m@n@o@p@q@r@s@t@u@v@w@x@y@z",
    ),
    (0xff21, "A@B@C@D@E@F@G@H@I@J@K@L@M@N@O@P@Q@R@S@T@U@V@W@X@Y@Z@"),
    (0xff41, "a@b@c@d@e@f@g@h@i@j@k@l@m@n@o@p@q@r@s@t@u@v@w@x@y@z@"),
];

/// The short form of a letter, behind the `@`.
fn short_form(letter: char) -> Option<&'static str> {
    let code = u32::from(letter);
    let at = SHORT.partition_point(|(first, _)| *first <= code).checked_sub(1)?;
    let (first, forms) = SHORT[at];
    let offset = (code - first) as usize * 2;
    forms.get(offset..offset + 2)
}

fn encoded(name: &str, is_short: bool) -> String {
    let mut file = String::with_capacity(name.len());
    let mut units = [0; 2];
    for character in name.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            file.push(character);
            continue;
        }
        if let Some(form) = short_form(character).filter(|_| is_short) {
            file.push('@');
            file.push_str(form);
            continue;
        }
        for unit in character.encode_utf16(&mut units) {
            file.push_str(&format!("@{unit:04x}"));
        }
    }
    file
}

/// The file or directory name of a name.
pub fn encode(name: &str) -> String {
    let long = encoded(name, false);
    match long.len() + ".ibd".len() <= FILE_NAME_BYTES_MAX {
        true => long,
        false => encoded(name, true),
    }
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
    let file = |is_short: bool| {
        let suffix = partition.suffix_by(|name| encoded(&name.to_lowercase(), is_short));
        format!("{}{suffix}.ibd", encoded(table, is_short))
    };
    let long = file(false);
    let file = if long.len() <= FILE_NAME_BYTES_MAX { long } else { file(true) };
    format!("{}/{file}", encode(database))
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

    /// Sixty-four letters like these were refused (1860), and are not in MySQL.
    #[test]
    fn letters_are_written_shortly_where_names_would_be_too_long() {
        assert_eq!(encode(&"\u{fc}".repeat(50)), "@00fc".repeat(50));
        for (letter, form) in [('\u{fc}', "@1o"), ('\u{c4}', "@0K"), ('\u{44f}', "@r1"), ('\u{ff5a}', "@z@")] {
            assert_eq!(encode(&letter.to_string().repeat(64)), form.repeat(64), "{letter}");
            assert!(names_a_file(&letter.to_string().repeat(64)));
        }
        assert_eq!(encode(&format!("{}-a", "\u{fc}".repeat(60))), format!("{}@002da", "@1o".repeat(60)));
        assert!(!names_a_file(&"\u{4e00}".repeat(64)));
        let partition = PartitionDefinition { name: "\u{fc}".repeat(10).into(), ..PartitionDefinition::default() };
        let path = partition_path("d", &"\u{fc}".repeat(45), &partition);
        assert_eq!(path, format!("d/{}#p#{}.ibd", "@1o".repeat(45), "@1o".repeat(10)));
        assert!(names_a_partition(&"\u{fc}".repeat(45), &partition));
    }
}
