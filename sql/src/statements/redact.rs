//! Passwords taken out of the texts of statements that others may read: in logs, and in tables of performance_schema.

use crate::parser::lexer::{Kind, Lexer};
use crate::types::SqlMode;

const INSTEAD: &[u8] = b"<secret>";

fn mentions(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

fn mentions_secret(text: &[u8]) -> bool {
    mentions(text, b"identified") || mentions(text, b"password")
}

/// The text without passwords; `None` if there is none in it. A text that was cut loses what it was cut in.
pub fn redacted(text: &[u8], mode: SqlMode) -> Option<Vec<u8>> {
    if !mentions_secret(text) {
        return None;
    }
    let mut lexer = Lexer::new(text, 0, mode);
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    // Behind IDENTIFIED or PASSWORD, as long as the same item goes on.
    let mut armed = false;
    let mut before: &[u8] = b"";
    let mut is_first = true;
    loop {
        let token = lexer.next_token();
        let bytes = &text[token.start as usize..token.end as usize];
        let is_text = matches!(token.kind, Kind::Text | Kind::NationalText | Kind::Hex);
        let named = [&b"BY"[..], b"AS", b"=", b"(", b"USING", b"REPLACE", b"PASSWORD"];
        match token.kind {
            Kind::End => break,
            // A literal without an end.
            Kind::Bad if armed || mentions_secret(bytes) => {
                out.extend_from_slice(&text[copied..token.start as usize]);
                out.extend_from_slice(INSTEAD);
                return Some(out);
            }
            Kind::Bad => break,
            Kind::Word if is_first => {
                // These have no passwords of accounts, whatever their columns are called.
                let data = [&b"SELECT"[..], b"INSERT", b"UPDATE", b"DELETE", b"REPLACE", b"WITH"];
                if data.iter().any(|word| bytes.eq_ignore_ascii_case(word)) {
                    return None;
                }
            }
            Kind::Word if bytes.eq_ignore_ascii_case(b"IDENTIFIED") => armed = true,
            Kind::Word if mentions(bytes, b"PASSWORD") => armed = true,
            _ if bytes == b"," => armed = false,
            _ => {}
        }
        let hides = armed && named.iter().any(|word| before.eq_ignore_ascii_case(word))
            || mentions(bytes, b"identified")
            || before.len() > b"PASSWORD".len() && mentions(before, b"password");
        if is_text && hides {
            out.extend_from_slice(&text[copied..token.start as usize]);
            out.extend_from_slice(INSTEAD);
            copied = token.end as usize;
        }
        is_first = false;
        before = bytes;
    }
    (copied > 0).then(|| {
        out.extend_from_slice(&text[copied..]);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_and_nothing_else() {
        for (text, expected) in [
            (
                "CREATE USER u@'h' IDENTIFIED BY 'pw' COMMENT 'c'",
                "CREATE USER u@'h' IDENTIFIED BY <secret> COMMENT 'c'",
            ),
            (
                "ALTER USER a IDENTIFIED WITH 'p' AS 'x' REPLACE 'y', b identified by 'z'",
                "ALTER USER a IDENTIFIED WITH 'p' AS <secret> REPLACE <secret>, b identified by <secret>",
            ),
            ("SET PASSWORD FOR 'u'@'h' = 'pw'", "SET PASSWORD FOR 'u'@'h' = <secret>"),
            ("SET PASSWORD = PASSWORD('pw')", "SET PASSWORD = PASSWORD(<secret>)"),
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='h', SOURCE_PASSWORD='pw', SOURCE_USER='u'",
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='h', SOURCE_PASSWORD=<secret>, SOURCE_USER='u'",
            ),
            ("START REPLICA USER='u' PASSWORD='pw'", "START REPLICA USER='u' PASSWORD=<secret>"),
            ("PREPARE s FROM 'CREATE USER u IDENTIFIED BY \"pw\"'", "PREPARE s FROM <secret>"),
            ("ALTER USER u IDENTIFIED BY 'cut", "ALTER USER u IDENTIFIED BY <secret>"),
        ] {
            let shown = redacted(text.as_bytes(), SqlMode::default()).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(shown.as_deref(), Some(expected), "{text}");
        }
        for text in [
            "SELECT 1",
            "SELECT * FROM users WHERE password = 'x'",
            "ALTER USER u PASSWORD EXPIRE COMMENT 'x'",
            "SET GLOBAL password_history = 3",
        ] {
            assert_eq!(redacted(text.as_bytes(), SqlMode::default()), None, "{text}");
        }
    }
}
