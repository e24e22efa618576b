//! Statements of clients whose character set has one byte for a letter (latin1, cp1251, koi8r ...) or is one of East Asia
//! (gbk, big5, sjis ...), brought to UTF-8 before anything reads them: names are in UTF-8, and in the sets of East Asia a
//! byte of a character may look like a backslash or a backtick, which would mislead the lexer.
//!
//! What stands in quotes and is not of the client's character set stays the bytes that it was, in hexadecimal:
//!
//! ```text
//! 'text'                 'text', converted
//! _latin1'\xE9'          _latin1 x'E9'         the bytes behind an introducer
//! 'a\xFF'                _gbk x'61FF'          bytes that are no characters
//! ```
//!
//! So the session's statements are in UTF-8 for the parser, the plan cache, the binary log and what is stored of them,
//! while `character_set_client` says what the client speaks.

use format::collation::{Charset, convert};

use super::lexer::{is_word_byte, unescape};
use crate::types::SqlMode;

/// The statement in UTF-8.
pub fn in_utf8(sql: &[u8], client: Charset, mode: SqlMode) -> Vec<u8> {
    until(sql, client, mode, usize::MAX).0
}

/// How many bytes of a text are the first `bytes` of it in UTF-8.
pub fn bytes_of(sql: &[u8], client: Charset, mode: SqlMode, bytes: usize) -> usize {
    until(sql, client, mode, bytes).1
}

/// The beginning of a text in UTF-8, so many bytes at least, and how many it is as written.
fn until(sql: &[u8], client: Charset, mode: SqlMode, bytes: usize) -> (Vec<u8>, usize) {
    let mut out = Vec::with_capacity(sql.len() + sql.len() / 2);
    let mut rest = sql;
    // Where the last word begins and ends in `out`.
    let mut word = 0..0;
    while let Some(first) = rest.first().copied().filter(|_| out.len() < bytes) {
        let is_text = first == b'\'' || (first == b'"' && !mode.has(SqlMode::ANSI_QUOTES));
        let taken = match first {
            b'\'' | b'"' | b'`' => {
                let token = quoted(rest, client, is_text && !mode.has(SqlMode::NO_BACKSLASH_ESCAPES));
                let behind = out[word.end..].iter().all(u8::is_ascii_whitespace);
                let introduced = is_text && behind && out[word.clone()].starts_with(b"_");
                let is_closed = token.len() > 1 && token.ends_with(&[first]);
                if is_text && is_closed && !token.is_ascii() && (introduced || !client.is_well_formed(token)) {
                    if !introduced {
                        out.extend_from_slice(b" _");
                        out.extend_from_slice(client.name().as_bytes());
                    }
                    let mut bytes = Vec::new();
                    unescape_with(token, client, mode, &mut bytes);
                    out.extend_from_slice(b" x'");
                    bytes.iter().for_each(|byte| out.extend_from_slice(format!("{byte:02X}").as_bytes()));
                    out.push(b'\'');
                } else {
                    convert(token, client, Charset::Utf8mb4, &mut out);
                }
                token.len()
            }
            b'#' => line(rest),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(|byte| *byte <= b' ') => line(rest),
            // What is in a version comment is part of the statement.
            b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") => {
                rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |length| length + 4)
            }
            _ => client.char_bytes(rest),
        };
        if !matches!(first, b'\'' | b'"' | b'`') {
            let begins = !out.last().copied().is_some_and(is_word_byte);
            let from = out.len();
            convert(&rest[..taken], client, Charset::Utf8mb4, &mut out);
            if is_word_byte(first) {
                word = if begins { from..out.len() } else { word.start..out.len() };
            }
        }
        rest = &rest[taken..];
    }
    (out, sql.len() - rest.len())
}

/// The bytes to the end of the line.
fn line(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// A token in quotes, cut by characters.
fn quoted(rest: &[u8], client: Charset, escapes: bool) -> &[u8] {
    let quote = rest[0];
    let mut at = 1;
    while at < rest.len() {
        if rest[at] == quote {
            if rest.get(at + 1) != Some(&quote) {
                return &rest[..at + 1];
            }
            at += 1;
        } else if rest[at] == b'\\' && escapes {
            at += 1;
        }
        at += rest.get(at..).filter(|rest| !rest.is_empty()).map_or(0, |rest| client.char_bytes(rest));
    }
    rest
}

/// The value of a text whose characters may hide backslashes: these are doubled, as the lexer wants them.
fn unescape_with(token: &[u8], client: Charset, mode: SqlMode, out: &mut Vec<u8>) {
    let mut plain = Vec::with_capacity(token.len());
    let mut rest = token;
    while !rest.is_empty() {
        let (character, behind) = rest.split_at(client.char_bytes(rest));
        plain.extend_from_slice(character);
        if character.len() > 1 && character.ends_with(b"\\") && !mode.has(SqlMode::NO_BACKSLASH_ESCAPES) {
            plain.push(b'\\');
        }
        rest = behind;
    }
    unescape(&plain, mode, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(sql: &[u8], name: &str) -> String {
        let client = Charset::by_name(name).expect("it is known");
        String::from_utf8(in_utf8(sql, client, SqlMode::DEFAULT)).expect("it is UTF-8")
    }

    #[test]
    fn hidden_backslashes_and_quotes() {
        assert_eq!(converted(b"SELECT '\x83\x5C', 1", "sjis"), "SELECT 'ソ', 1");
        assert_eq!(converted(b"SELECT `\x83\x60` FROM t", "sjis"), "SELECT `チ` FROM t");
        assert_eq!(converted(b"SELECT '\xD6\xD0\\'' -- '\xD6\xD0\n, 2", "gbk"), "SELECT '中\\'' -- '中\n, 2");
        assert_eq!(
            converted(b"SELECT /* ' */ \"\xD6\xD0\" /*! '\xD6\xD0' */", "gbk"),
            "SELECT /* ' */ \"中\" /*! '中' */"
        );
        assert_eq!(converted(b"SELECT 'a\\\\', 'b''\xD6\xD0'", "gbk"), "SELECT 'a\\\\', 'b''中'");
        assert_eq!(converted(b"SELECT '\xD6\xD0", "gbk"), "SELECT '中", "no end: an error of the parser");
    }

    #[test]
    fn letters_of_one_byte() {
        assert_eq!(converted(b"SELECT '\xE9', `\xE8`.a\xE0 -- \xE9", "latin1"), "SELECT 'é', `è`.aà -- é");
        assert_eq!(converted(b"SELECT _utf8mb4'\xC3\xA9', '\xC3'", "cp1251"), "SELECT _utf8mb4 x'C3A9', 'Г'");
        assert_eq!(converted(b"SELECT _binary'\\0\xFF'", "latin1"), "SELECT _binary x'00FF'");
    }

    #[test]
    fn other_bytes_stay() {
        assert_eq!(
            converted(b"SELECT _gbk'\xD6\xD0', _binary '\x83\x5C'", "sjis"),
            "SELECT _gbk x'D6D0', _binary  x'835C'"
        );
        assert_eq!(converted(b"SELECT 'a\xFF\\n'", "gbk"), "SELECT  _gbk x'61FF0A'");
        assert_eq!(converted(b"SELECT _utf8mb4'a'", "gbk"), "SELECT _utf8mb4'a'");
        assert_eq!(converted(b"SELECT a_b'\xD6\xD0'", "gbk"), "SELECT a_b'中'");
    }
}
