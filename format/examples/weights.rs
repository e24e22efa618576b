//! Packs a table of the Unicode Collation Algorithm into what `collation::uca` reads.
//!
//! ```text
//! cargo run -p format --example weights -- allkeys-4.0.0.txt format/src/collation/weights/4.0.0
//! cargo run -p format --example weights -- allkeys-5.2.0.txt format/src/collation/weights/5.2.0
//! ```
//!
//! The tables are at <https://www.unicode.org/Public/UCA/>. The packed form, in the order of code points:
//!
//! ```text
//! step from the last code point     u8, or 0 and three bytes; the first one from -1
//! count                             u8
//! count primary weights             u16 each, without those that are zero
//! ```
//!
//! Numbers are little-endian. Sequences of several code points are left out: these collations have none.

use std::{env, fs, process::ExitCode};

/// Weights of one code point; the tables have more for one ligature alone.
const WEIGHTS_MAX: usize = 8;

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
    let mut version = "";
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("@version") {
            version = named.trim();
        }
        let line = line.split('#').next().unwrap_or_default();
        let Some((code_points, elements)) = line.split_once(';') else { continue };
        let Ok(code_point) = u32::from_str_radix(code_points.trim(), 16) else { continue };
        if version == "4.0.0" && code_point > 0xFFFF {
            // Beyond the plane all weigh the same there.
            continue;
        }
        let mut weights = Vec::new();
        for element in elements.split('[').skip(1) {
            // Behind the mark of what is variable.
            let primary = element.get(1..5).and_then(|digits| u16::from_str_radix(digits, 16).ok());
            weights.push(primary.ok_or_else(|| format!("no weight in {line}"))?);
        }
        weights.retain(|weight| *weight != 0);
        if weights.len() > WEIGHTS_MAX {
            if version == "4.0.0" {
                // It weighs there as if it were not in the table.
                continue;
            }
            weights.truncate(WEIGHTS_MAX);
        }
        found.push((code_point, weights));
    }
    found.sort();
    let (mut packed, mut last) = (Vec::new(), -1);
    for (code_point, weights) in found {
        let step = i64::from(code_point) - last;
        match u8::try_from(step) {
            Ok(step) => packed.push(step),
            Err(_) => {
                packed.push(0);
                packed.extend_from_slice(&step.to_le_bytes()[..3]);
            }
        }
        packed.push(weights.len() as u8);
        weights.iter().for_each(|weight| packed.extend_from_slice(&weight.to_le_bytes()));
        last = i64::from(code_point);
    }
    Ok(packed)
}
