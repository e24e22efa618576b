//! A statement's text without its values, in the form of MySQL's digests.
//!
//! ```text
//! SELECT c FROM t WHERE id IN (1, 2) AND b = -3     SELECT `c` FROM `t` WHERE `id` IN (...) AND `b` = ?
//! INSERT INTO t VALUES (1, 'x'), (2, 'y')           INSERT INTO `t` VALUES (...) /* , ... */
//! ```
//!
//! Tokens are written one after the other, and what the last ones make together is replaced by a shorter form:
//!
//! | tokens | become |
//! |---|---|
//! | a literal, `?` | `?` |
//! | a sign, and a literal, where an operand is expected | `?` |
//! | `?` , `?` | `?, ...` |
//! | ( `?` ) and ( `?, ...` ) | `(?)` and `(...)` |
//! | several of these, with commas | `(...) /* , ... */` |
//! | IN `(?)` and IN `(...)` | `IN (...)` |
//!
//! Keywords are in capitals, names in backquotes. MySQL hashes the numbers of its grammar's tokens, which belong to one
//! version; here the digest is the SHA-256 of the text.

use sha2::{Digest as _, Sha256};

use super::keywords::{is_function, is_unreserved};
use crate::parser::lexer::{Kind, Lexer, Token, unquote};
use crate::parser::words::is_reserved;
use crate::types::SqlMode;

/// A SHA-256.
pub type Hash = [u8; 32];

pub fn hash(digest_text: &str) -> Hash {
    Sha256::digest(digest_text).into()
}

/// In hexadecimal digits.
pub fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a written token is to those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Value,
    Values,
    /// `(?)`, `(...)`, and several of them.
    Row {
        several_values: bool,
        several_rows: bool,
    },
    In,
    Open,
    Comma,
    Sign,
    /// An operand may follow.
    Opens,
    /// It ends an operand, or is none of these.
    Other,
}

struct Writer {
    out: String,
    /// The written tokens, and where each begins.
    tokens: Vec<(Tag, usize)>,
}

impl Writer {
    fn last(&self, back: usize) -> Option<Tag> {
        self.tokens.len().checked_sub(back + 1).map(|at| self.tokens[at].0)
    }

    fn put(&mut self, tag: Tag, text: &str) {
        self.tokens.push((tag, self.out.len()));
        self.out.push_str(text);
        self.out.push(' ');
    }

    /// Removes tokens from the end.
    fn take(&mut self, count: usize) {
        for _ in 0..count {
            if let Some((_, start)) = self.tokens.pop() {
                self.out.truncate(start);
            }
        }
    }

    fn value(&mut self) {
        // A sign belongs to the literal unless it stands between two operands.
        while self.last(0) == Some(Tag::Sign)
            && matches!(self.last(1), None | Some(Tag::Opens | Tag::Open | Tag::Comma | Tag::Sign | Tag::In))
        {
            self.take(1);
        }
        if self.last(0) == Some(Tag::Comma) && matches!(self.last(1), Some(Tag::Value | Tag::Values)) {
            self.take(2);
            return self.put(Tag::Values, "?, ...");
        }
        self.put(Tag::Value, "?");
    }

    fn close(&mut self) {
        let several_values = match (self.last(1), self.last(0)) {
            (Some(Tag::Open), Some(Tag::Value)) => false,
            (Some(Tag::Open), Some(Tag::Values)) => true,
            _ => return self.put(Tag::Other, ")"),
        };
        self.take(2);
        let text = if several_values { "(...)" } else { "(?)" };
        match (self.last(1), self.last(0)) {
            (_, Some(Tag::In)) => {
                self.take(1);
                self.put(Tag::Other, "IN (...)");
            }
            (Some(Tag::Row { several_values: before, .. }), Some(Tag::Comma)) if before == several_values => {
                self.take(2);
                self.put(Tag::Row { several_values, several_rows: true }, &format!("{text} /* , ... */"));
            }
            _ => self.put(Tag::Row { several_values, several_rows: false }, text),
        }
    }

    fn name(&mut self, name: &[u8]) {
        self.put(Tag::Other, &format!("`{}`", String::from_utf8_lossy(name).replace('`', "``")));
    }

    fn symbol(&mut self, symbol: &[u8]) {
        match symbol {
            b"(" => self.put(Tag::Open, "("),
            b")" => self.close(),
            b"," => self.put(Tag::Comma, ","),
            b"-" => self.put(Tag::Sign, "-"),
            b"+" => self.put(Tag::Sign, "+"),
            b"<>" => self.put(Tag::Opens, "!="),
            b"." => self.put(Tag::Other, "."),
            _ => self.put(Tag::Opens, &String::from_utf8_lossy(symbol)),
        }
    }

    fn word(&mut self, word: &[u8], is_call: bool, is_literal_next: bool) {
        if word.starts_with(b"_") && is_literal_next {
            return self.put(Tag::Opens, "(_charset_introducer)");
        }
        if !(is_reserved(word) || is_unreserved(word) || is_call && is_function(word)) {
            return self.name(word);
        }
        let upper = String::from_utf8_lossy(word).to_ascii_uppercase();
        let tag = match upper.as_str() {
            "IN" => Tag::In,
            "NULL" if self.expects_value() => return self.value(),
            "NULL" | "TRUE" | "FALSE" | "END" => Tag::Other,
            _ => Tag::Opens,
        };
        self.put(tag, &upper);
    }

    /// Whether NULL is a value here, and not part of IS NULL, NOT NULL, SET NULL.
    fn expects_value(&self) -> bool {
        let before = self.out.trim_end().rsplit(' ').next().unwrap_or_default();
        match self.last(0) {
            Some(Tag::Open | Tag::Comma | Tag::In) => true,
            Some(Tag::Opens) => {
                !matches!(before, "IS" | "NOT" | "SET") && !before.ends_with("CHAR") && !before.ends_with("INT")
            }
            _ => false,
        }
    }
}

fn is_value(kind: Kind) -> bool {
    use Kind::{Bit, Decimal, Float, Hex, Integer, NationalText, NullEscape, Parameter, Text};
    matches!(kind, Text | NationalText | Integer | Decimal | Float | Hex | Bit | Parameter | NullEscape)
}

/// The text without its values, of about `bytes_max` bytes at most.
pub fn digest_text(text: &[u8], mode: SqlMode, bytes_max: usize) -> String {
    let mut writer = Writer { out: String::with_capacity(text.len().min(bytes_max) + 32), tokens: Vec::new() };
    if bytes_max == 0 {
        return writer.out;
    }
    let mut lexer = Lexer::new(text, 0, mode);
    let of = |token: Token| &text[token.start as usize..token.end as usize];
    let mut next = lexer.next_token();
    let mut behind_dot = false;
    while !matches!(next.kind, Kind::End | Kind::Bad) {
        let token = next;
        next = lexer.next_token();
        let bytes = of(token);
        match token.kind {
            kind if is_value(kind) => writer.value(),
            Kind::Word if behind_dot => writer.name(bytes),
            Kind::Word => {
                let is_call = next.start == token.end && of(next) == b"(";
                let literal = matches!(next.kind, Kind::Text | Kind::Hex | Kind::Bit);
                writer.word(bytes, is_call, literal);
            }
            Kind::QuotedName => writer.name(&unquote(bytes)),
            Kind::UserVariable => {
                let name = match bytes[1..].first() {
                    Some(b'`' | b'\'' | b'"') => unquote(&bytes[1..]),
                    _ => bytes[1..].to_vec(),
                };
                writer.name(&name);
                let start = writer.tokens.last().map_or(0, |(_, start)| *start);
                writer.out.insert(start, '@');
            }
            Kind::AtAt | Kind::At => {
                writer.put(Tag::Other, &String::from_utf8_lossy(bytes));
                writer.out.pop();
            }
            // What follows is another statement, or nothing.
            Kind::Symbol if bytes == b";" => break,
            _ => writer.symbol(bytes),
        }
        behind_dot = token.kind == Kind::Symbol && bytes == b".";
        if writer.out.len() > bytes_max + 3 {
            writer.out.truncate(writer.out.floor_char_boundary(bytes_max));
            writer.out.push_str("...");
            return writer.out;
        }
    }
    writer.out.truncate(writer.out.trim_end().len());
    writer.out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> String {
        digest_text(text.as_bytes(), SqlMode::default(), 1024)
    }

    #[test]
    fn texts_that_differ_by_values_have_one_digest() {
        for (texts, expected) in [
            (
                &[
                    "SELECT c FROM sbtest1 WHERE id=17",
                    "select  c from `sbtest1` where id = -3 -- x",
                    "SELECT c FROM sbtest1 WHERE id=?",
                ][..],
                "SELECT `c` FROM `sbtest1` WHERE `id` = ?",
            ),
            (&["COMMIT", "commit;", "/* x */ Commit"], "COMMIT"),
            (
                &["SELECT 1 FROM t WHERE a IN (1, 'x', NULL)", "SELECT 2 FROM t WHERE a IN (?)"],
                "SELECT ? FROM `t` WHERE `a` IN (...)",
            ),
            (&["SELECT 1, 2, -3"], "SELECT ?, ..."),
            (&["SELECT a - 1, b -2, -3 + c"], "SELECT `a` - ? , `b` - ?, ... + `c`"),
            (
                &["INSERT INTO t VALUES (1, -2), (3, 4)", "INSERT INTO t VALUES (1, 2), (3, 4), (5, 6)"],
                "INSERT INTO `t` VALUES (...) /* , ... */",
            ),
            (&["INSERT INTO t (a, b) VALUES (1, NULL)"], "INSERT INTO `t` ( `a` , `b` ) VALUES (...)"),
            (&["INSERT INTO t VALUES (1), (2)"], "INSERT INTO `t` VALUES (?) /* , ... */"),
            (
                &["SELECT NOW(), COUNT(*), f(1), count FROM a.b"],
                "SELECT NOW ( ) , COUNT ( * ) , `f` (?) , `count` FROM `a` . `b`",
            ),
            (&["SELECT @@version_comment LIMIT 1"], "SELECT @@`version_comment` LIMIT ?"),
            (&["SET @x = NULL", "SET @x = 'y'"], "SET @`x` = ?"),
            (&["SELECT a FROM t WHERE b IS NULL"], "SELECT `a` FROM `t` WHERE `b` IS NULL"),
            (&["SELECT t.select, name FROM t WHERE a <> 1"], "SELECT `t` . `select` , NAME FROM `t` WHERE `a` != ?"),
            (&["SELECT _utf8mb4'x', DATE '2020-01-01'"], "SELECT (_charset_introducer) ? , DATE ?"),
            (&["CREATE TABLE t (a INT NOT NULL)"], "CREATE TABLE `t` ( `a` INT NOT NULL )"),
            (&["SELECT 'unfinished"], "SELECT"),
            (&["SELECT `a``b`"], "SELECT `a``b`"),
        ] {
            for text in texts {
                assert_eq!(digest(text), expected, "{text}");
            }
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let cut = digest_text("SELECT äääääääääää".as_bytes(), SqlMode::default(), 11);
        assert_eq!(cut, "SELECT `ä...");
        assert_eq!(digest_text(b"SELECT 1", SqlMode::default(), 0), "");
        let many = format!("INSERT INTO t VALUES {}", vec!["(1, 2)"; 10_000].join(", "));
        assert_eq!(digest_text(many.as_bytes(), SqlMode::default(), 100), "INSERT INTO `t` VALUES (...) /* , ... */");
    }
}
