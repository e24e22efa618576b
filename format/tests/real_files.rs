//! Files that real MySQL servers wrote, as far as this machine has some: Debian's mariadb-test-data package brings a
//! few. Every page must have a right checksum, stand where its number says, and, if it holds records, pass the check
//! of its structure.
//!
//! Without the package the test says so and passes. `GLASSINE_TEST_FILES` names another directory to look in.

use std::fs;
use std::path::{Path, PathBuf};

use format::Error;
use format::page::header::{self, PageType};
use format::page::{index, space};
use format::transform::{self, Scratch};

const PACKAGE: &str = "/usr/share/mysql/mysql-test/std_data";

/// All files below a directory that are tablespaces by their name.
fn tablespaces(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            tablespaces(&path, found);
        } else if name.ends_with(".ibd") || name.starts_with("ibdata") || name.ends_with(".ibu") {
            found.push(path);
        }
    }
}

/// What was met in a file.
#[derive(Debug, Default)]
struct Census {
    pages: usize,
    index_pages: usize,
    encoded: usize,
    never_written: usize,
    records: usize,
}

/// Checks one file; `Err` says why it is not one for us.
fn check(bytes: &[u8]) -> Result<Census, String> {
    let first = bytes.get(..4096).ok_or("shorter than a page")?;
    let flags = space::flags(first);
    if header::page_type(first) != PageType::FSP_HDR {
        return Err(format!("first page is of type {}", header::page_type(first)));
    }
    if flags.is_full_crc32() || flags.is_row_compressed() {
        return Err(format!("flags {:#x}", flags.0));
    }
    let page_bytes = flags.page_bytes().ok_or(format!("flags {:#x}", flags.0))?;
    let mut census = Census::default();
    let mut scratch = Scratch::new();
    let mut decoded = vec![0; page_bytes];
    for (number, stored) in bytes.chunks(page_bytes).enumerate() {
        census.pages += 1;
        if stored.iter().all(|&byte| byte == 0) {
            census.never_written += 1;
            continue;
        }
        let page = if transform::is_encoded(stored) {
            census.encoded += 1;
            transform::decode(stored, &mut scratch, &mut decoded).unwrap();
            &decoded[..]
        } else {
            stored
        };
        assert_eq!(header::verify_checksum(page), Ok(()), "page {number}");
        assert_eq!(header::page_no(page).0 as usize, number);
        let page_type = header::page_type(page);
        assert_ne!(page_type.name(), "?", "page {number}");
        if matches!(page_type, PageType::INDEX | PageType::SDI) {
            match index::validate(page, None) {
                Err(Error::Unsupported { .. }) => continue, // ROW_FORMAT=REDUNDANT
                result => assert_eq!(result, Ok(()), "page {number}"),
            }
            census.index_pages += 1;
            let mut origin = index::first(page).unwrap();
            while origin != index::SUPREMUM {
                census.records += 1;
                origin = index::next(page, origin).unwrap();
            }
        }
    }
    Ok(census)
}

#[test]
fn files_of_real_servers_are_read_and_found_whole() {
    let mut files = Vec::new();
    tablespaces(Path::new(PACKAGE), &mut files);
    if let Some(directory) = std::env::var_os("GLASSINE_TEST_FILES") {
        tablespaces(Path::new(&directory), &mut files);
    }
    if files.is_empty() {
        eprintln!("skipped: no tablespaces in {PACKAGE}; install mariadb-test-data for this test");
    }
    let mut whole = 0;
    for file in &files {
        let Ok(bytes) = fs::read(file) else {
            eprintln!("{}: not readable", file.display());
            continue;
        };
        match check(&bytes) {
            Ok(census) => {
                eprintln!("{}: {census:?}", file.display());
                whole += 1;
            }
            Err(why) => eprintln!("{}: not for us, {why}", file.display()),
        }
    }
    assert!(files.is_empty() || whole > 0, "none of {} files was read", files.len());
}
