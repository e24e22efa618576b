//! Packs a table of the Unicode Collation Algorithm into what `collation::uca` reads.
//!
//! ```text
//! cargo run -p format --example weights -- allkeys-4.0.0.txt format/src/collation/weights/4.0.0
//! cargo run -p format --example weights -- allkeys-5.2.0.txt format/src/collation/weights/5.2.0
//! cargo run -p format --example weights -- allkeys-9.0.0.txt format/src/collation/weights/9.0.0
//! cargo run -p format --example weights -- allkeys-14.0.0.txt format/src/collation/weights/14.0.0
//! ```
//!
//! The tables are at <https://www.unicode.org/Public/UCA/>. The packed form, in the order of code points:
//!
//! ```text
//! step from the last code point     u8, or 0 and three bytes; the first one from -1
//! count                             u8
//! count primary weights             u16 each; before 9.0.0 without those that are zero
//! ```
//!
//! From 9.0.0 on, each primary weight has the secondary and the tertiary one behind it: a byte 0 stands for the most common
//! pair 0020.0002; else it is the tertiary weight and 1, and the secondary one, u16, follows. Elements of zeros are left out.
//!
//! Numbers are little-endian. From 14.0.0 on, sequences of several code points follow: four zero bytes, and for each
//!
//! ```text
//! count of code points              u8
//! code points                       three bytes each
//! their weights                     as above: count, and so many
//! ```
//!
//! The collations of the versions before have no sequences.

use std::{env, fs, process::ExitCode};

/// Elements of one code point that MySQL takes; the tables have more for one ligature alone.
const ELEMENTS_MAX: usize = 8;

/// The most common secondary and tertiary weight.
const COMMON: (u16, u8) = (0x20, 2);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [from, to] = &arguments[..] else {
        eprintln!("usage: weights ALLKEYS OUT");
        return ExitCode::FAILURE;
    };
    let packed =
        fs::read(from).map_err(|error| error.to_string()).and_then(|text| pack(&String::from_utf8_lossy(&text)));
    match packed.and_then(|packed| fs::write(to, packed).map_err(|error| error.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weights: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pack(text: &str) -> Result<Vec<u8>, String> {
    let mut found = Vec::new();
    let (mut version, mut has_levels, mut has_sequences) = ("", false, false);
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("@version") {
            version = named.trim();
            let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).unwrap_or(0);
            (has_levels, has_sequences) = (major >= 9, major >= 14);
        }
        let line = line.split('#').next().unwrap_or_default();
        let Some((code_points, elements)) = line.split_once(';') else { continue };
        let code_points: Result<Vec<u32>, _> =
            code_points.split_whitespace().map(|digits| u32::from_str_radix(digits, 16)).collect();
        let Ok(code_points) = code_points else { continue };
        if code_points.len() > 1 && !has_sequences {
            continue;
        }
        if version == "4.0.0" && code_points[0] > 0xFFFF {
            // Beyond the plane all weigh the same there.
            continue;
        }
        let mut weights = Vec::new();
        for element in elements.split('[').skip(1) {
            // Behind the mark of what is variable.
            let weight = |at: usize| element.get(at..at + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
            let of_line = || format!("no weight in {line}");
            let tertiary = weight(11).and_then(|weight| u8::try_from(weight).ok().filter(|weight| *weight < u8::MAX));
            weights.push((
                weight(1).ok_or_else(of_line)?,
                weight(6).ok_or_else(of_line)?,
                tertiary.ok_or_else(of_line)?,
            ));
        }
        if !has_levels {
            weights.retain(|(primary, ..)| *primary != 0);
        }
        if weights.len() > ELEMENTS_MAX {
            if version == "4.0.0" {
                // It weighs there as if it were not in the table.
                continue;
            }
            weights.truncate(ELEMENTS_MAX);
        }
        weights.retain(|weights| *weights != (0, 0, 0));
        found.push((code_points, weights));
    }
    let (mut sequences, mut characters): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(code_points, _)| code_points.len() > 1);
    characters.sort();
    sequences.sort();
    let (mut packed, mut last) = (Vec::new(), -1);
    for (code_points, weights) in characters {
        let step = i64::from(code_points[0]) - last;
        match u8::try_from(step) {
            Ok(step) => packed.push(step),
            Err(_) => {
                packed.push(0);
                packed.extend_from_slice(&step.to_le_bytes()[..3]);
            }
        }
        pack_weights(&weights, has_levels, &mut packed);
        last = i64::from(code_points[0]);
    }
    if !sequences.is_empty() {
        packed.extend_from_slice(&[0; 4]);
    }
    for (code_points, weights) in sequences {
        packed.push(code_points.len() as u8);
        for code_point in code_points {
            packed.extend_from_slice(&code_point.to_le_bytes()[..3]);
        }
        pack_weights(&weights, has_levels, &mut packed);
    }
    Ok(packed)
}

fn pack_weights(weights: &[(u16, u16, u8)], has_levels: bool, packed: &mut Vec<u8>) {
    packed.push(weights.len() as u8);
    for (primary, secondary, tertiary) in weights {
        packed.extend_from_slice(&primary.to_le_bytes());
        if has_levels && (*secondary, *tertiary) == COMMON {
            packed.push(0);
        } else if has_levels {
            packed.push(tertiary + 1);
            packed.extend_from_slice(&secondary.to_le_bytes());
        }
    }
}
