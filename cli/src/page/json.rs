//! The same for programs: one JSON object.
//!
//! ```text
//! {"file": ..., "page_bytes": 16384, "block_bytes": 4096, "pages": 7, "file_bytes": ..., "hole_bytes": ...,
//!  "allocated_bytes": ..., "exact_bytes": ..., "stored_bytes": ..., "occupied_bytes": ..., "boundary_misses": 0,
//!  "encrypted": 0, "damaged": 0,
//!  "by_codec": [{"codec": "zstd", "pages": 5, "exact_bytes": ..., "stored_bytes": ..., ...}, ...],
//!  "list": [{"page": 0, "type": "FSP_HDR", "codec": "plain", "exact_bytes": 16384, "occupied_bytes": 16384,
//!            "state": "ok", "free": false, "content": "..."}, ...]}
//! ```
//!
//! `list` is left out with --summary. `free` is null where the file does not say.

use std::fmt::Write as _;
use std::io::{self, Write};

use format::page::header;

use super::Args;
use super::list::in_words;
use super::summary::{Recount, Sum};
use super::tablespace::Tablespace;

/// Writes it.
pub(super) fn report(tablespace: &mut Tablespace, args: &Args, out: &mut impl Write) -> io::Result<u64> {
    let mut recount = Recount::default();
    let mut pages = Vec::new();
    let damaged = tablespace.walk(|tablespace, visited| {
        recount.add(tablespace, visited);
        if !args.summary {
            let plain = visited.plain;
            pages.push(format!(
                "{{\"page\": {}, \"type\": {}, \"codec\": {}, \"exact_bytes\": {}, \"occupied_bytes\": {}, \"encrypted\": {}, \"state\": {}, \"free\": {}, \"content\": {}}}",
                visited.number,
                text(&header::page_type(&plain.bytes).to_string()),
                text(plain.storage.key()),
                plain.stored_bytes,
                visited.occupied_bytes,
                plain.encrypted,
                text(plain.state.name()),
                visited.free.map_or("null".to_owned(), |free| free.to_string()),
                text(&in_words(tablespace, visited)),
            ));
        }
        Ok(())
    })?;
    let codecs: Vec<String> = recount
        .0
        .iter()
        .map(|(storage, sum)| {
            format!("{{\"codec\": {}, \"pages\": {}, {}}}", text(storage.key()), sum.pages, sums(sum))
        })
        .collect();
    writeln!(
        out,
        "{{\"file\": {},\n \"page_bytes\": {}, \"block_bytes\": {}, \"pages\": {}, \"file_bytes\": {}, \"hole_bytes\": {}, \"allocated_bytes\": {},\n {},\n \"by_codec\": [\n  {}]{}}}",
        text(&args.file.display().to_string()),
        tablespace.page_bytes,
        tablespace.block_bytes,
        tablespace.page_count(),
        tablespace.file_bytes,
        tablespace.hole_bytes(),
        tablespace.disk_bytes,
        sums(&recount.total()),
        codecs.join(",\n  "),
        if args.summary { String::new() } else { format!(",\n \"list\": [\n  {}]", pages.join(",\n  ")) },
    )?;
    Ok(damaged)
}

fn sums(sum: &Sum) -> String {
    format!(
        "\"exact_bytes\": {}, \"stored_bytes\": {}, \"occupied_bytes\": {}, \"boundary_misses\": {}, \"encrypted\": {}, \"damaged\": {}",
        sum.exact_bytes, sum.stored_bytes, sum.occupied_bytes, sum.boundary_misses, sum.encrypted, sum.damaged
    )
}

/// A JSON string.
fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(text("a\"b\\c\n\u{e4}"), "\"a\\\"b\\\\c\\u000a\u{e4}\"");
    }
}
