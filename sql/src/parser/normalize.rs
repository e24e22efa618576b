//! Literals taken out of a statement, so that the plan cache knows it again.
//!
//! ```text
//! SELECT c FROM t WHERE id=17 AND b='x'
//! SELECT c FROM t WHERE id=?  AND b=?      [Int 17, Bytes "x"]
//! ```
//!
//! A quick pass with the lexer alone. It copies the text as it stands and replaces
//! a literal only where a parameter provably means the same:
//!
//! * not in the select list, for there the text names the column;
//! * not in ORDER BY and GROUP BY, where a number is a position;
//! * not among a function's arguments, where a constant may decide the type
//!   (`ROUND(x, 2)`, `NOW(6)`);
//! * not behind words that want a literal (INTERVAL, ESCAPE, AS, `_latin1`).
//!
//! Whatever stays is simply part of the key. Statements with several SELECTs,
//! version comments, parameters of their own or a second statement are left alone.
//!
//! Invariants:
//!
//! * Parsing [`Normalized::sql`] and binding [`Normalized::literals`] to its
//!   parameters gives the same result as parsing the original.
//! * Equal [`Normalized::key`]s mean equal texts with literals of equal kinds, so
//!   that a plan made for one is typed rightly for the other.

use format::value::{Decimal, Value};

use super::ast::Literal;
use super::expression::number;
use super::lexer::{Kind, Lexer, Token, unescape};
use crate::types::SqlMode;

/// A bulk insert is parsed as it is: its literals are its bulk, and its shape seldom returns.
const LITERALS_MAX: usize = 512;

/// How deep parentheses may be for this quick pass.
const PARENTHESES_MAX: usize = 32;

/// A statement with its literals taken out.
#[derive(Debug, Default)]
pub struct Normalized {
    /// The text with `?`, then a zero byte and the kinds of the literals.
    key: Vec<u8>,
    sql_bytes: usize,
    /// The literals, in the order of the `?`.
    pub literals: Vec<Value>,
    /// Buffers of former literals.
    spare: Vec<Vec<u8>>,
}

impl Normalized {
    /// What to parse.
    pub fn sql(&self) -> &[u8] {
        &self.key[..self.sql_bytes]
    }

    /// What to look up.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    fn clear(&mut self) {
        self.key.clear();
        self.sql_bytes = 0;
        for literal in self.literals.drain(..) {
            if let Value::Bytes(mut bytes) = literal {
                bytes.clear();
                self.spare.push(bytes);
            }
        }
    }
}

/// Takes the literals out of a SELECT, INSERT, REPLACE, UPDATE or DELETE. False: run the statement as it is.
/// `out` is reused; a warm one does not allocate.
pub fn normalize(sql: &[u8], mode: SqlMode, out: &mut Normalized) -> bool {
    out.clear();
    if sql.len() >= u32::MAX as usize {
        return false;
    }
    let mut pass = Pass { sql, mode, out, copied: 0, active: false, in_calls: [false; PARENTHESES_MAX], open: 0 };
    pass.run().is_some()
}

/// What a plan depends on in a parameter's value: parameters of equal kinds can share one.
pub fn parameter_kind(value: &Value) -> u8 {
    match value {
        Value::Null => b'n',
        Value::Int(_) => b'i',
        Value::UInt(_) => b'u',
        Value::Double(_) => b'd',
        Value::Bytes(_) => b's',
        Value::Json(_) => b'j',
        Value::Date(_) => b'D',
        Value::Time(time) => b't' - u8::from(time.micros > 0) * 32,
        Value::DateTime(moment) => b'w' - u8::from(moment.micros > 0) * 32,
        // 0 to 30 digits behind the point, in a range of their own.
        Value::Decimal(decimal) => 0x80 + decimal.scale(),
    }
}

struct Pass<'a> {
    sql: &'a [u8],
    mode: SqlMode,
    out: &'a mut Normalized,
    /// How much of the text has been copied.
    copied: usize,
    /// In a clause where literals may go.
    active: bool,
    /// For each open parenthesis, whether it is a function's or inside of one.
    in_calls: [bool; PARENTHESES_MAX],
    open: usize,
}

/// What the token before says about a literal behind it.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// An operator, an opening parenthesis, AND, WHERE ...: a value follows.
    Value,
    /// A name: a parenthesis behind it belongs to a call.
    Name,
    /// IN, VALUES: a parenthesis behind it is a list.
    List,
    Other,
}

impl Pass<'_> {
    /// None: leave it alone.
    fn run(&mut self) -> Option<()> {
        let mut lexer = Lexer::new(self.sql, 0, self.mode);
        let first = lexer.next_token();
        if first.kind != Kind::Word {
            return None;
        }
        let word = self.bytes(first);
        let is_select = word.eq_ignore_ascii_case(b"SELECT");
        let is_change =
            [&b"INSERT"[..], b"UPDATE", b"DELETE", b"REPLACE"].iter().any(|verb| word.eq_ignore_ascii_case(verb));
        if !is_select && !is_change {
            return None;
        }
        self.active = is_change;
        let mut selects = usize::from(is_select);
        let mut before = Before::Other;
        let mut token = lexer.next_token();
        // What hints set holds for a statement as it is written.
        let gap = &self.sql[first.end as usize..(token.start as usize).max(first.end as usize)];
        if gap.len() > 1 && gap.windows(3).any(|three| three == b"/*+") {
            let sets = gap.windows(7).any(|seven| seven.eq_ignore_ascii_case(b"SET_VAR"));
            if sets {
                return None;
            }
        }
        loop {
            let next = match token.kind {
                Kind::End => break,
                _ => lexer.next_token(),
            };
            before = match token.kind {
                Kind::Bad | Kind::Parameter => return None,
                Kind::Word => self.word(token, &mut selects)?,
                Kind::QuotedName => Before::Name,
                Kind::Symbol => {
                    if self.bytes(token) == b";" {
                        // Only a last semicolon; what it ends is the statement.
                        if next.kind != Kind::End {
                            return None;
                        }
                        let end = token.start as usize;
                        self.copy_to(end);
                        self.copied = self.sql.len();
                        break;
                    }
                    self.symbol(token, before)?
                }
                Kind::Text | Kind::Integer | Kind::Decimal | Kind::Float => {
                    let in_call = self.open > 0 && self.in_calls[self.open - 1];
                    let joins = token.kind == Kind::Text && next.kind == Kind::Text;
                    if self.active && before == Before::Value && !in_call && !joins {
                        self.take(token)?;
                    }
                    // An adjacent text is no value of its own.
                    Before::Other
                }
                _ => Before::Other,
            };
            token = next;
        }
        if lexer.saw_version_comment || self.open > 0 {
            return None;
        }
        let end = self.sql.len();
        self.copy_to(end);
        self.out.sql_bytes = self.out.key.len();
        self.out.key.push(0);
        for literal in &self.out.literals {
            self.out.key.push(parameter_kind(literal));
        }
        Some(())
    }

    #[inline]
    fn bytes(&self, token: Token) -> &[u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    fn copy_to(&mut self, end: usize) {
        if end > self.copied {
            self.out.key.extend_from_slice(&self.sql[self.copied..end]);
        }
    }

    fn word(&mut self, token: Token, selects: &mut usize) -> Option<Before> {
        let word = self.bytes(token);
        let is = |keyword: &[u8]| word.eq_ignore_ascii_case(keyword);
        Some(match word.len() {
            2 if is(b"OR") || is(b"ON") => Before::Value,
            2 if is(b"IN") => Before::List,
            3 if is(b"AND") || is(b"XOR") || is(b"NOT") || is(b"DIV") || is(b"MOD") => Before::Value,
            4 if is(b"LIKE") || is(b"WHEN") || is(b"THEN") || is(b"ELSE") => Before::Value,
            // FROM ends the select list; inside of a call it belongs to SUBSTRING(a FROM b).
            4 if is(b"FROM") && self.open == 0 => {
                self.active = true;
                Before::Other
            }
            5 if is(b"WHERE") => Before::Value,
            5 if is(b"ORDER") || is(b"GROUP") => {
                self.active = false;
                Before::Other
            }
            // GROUP_CONCAT's stands in a select list.
            5 if is(b"LIMIT") && self.open > 0 && self.in_calls[self.open - 1] => return None,
            5 if is(b"LIMIT") => {
                self.active = true;
                Before::Value
            }
            5 if is(b"UNION") => return None,
            6 if is(b"HAVING") => {
                self.active = true;
                Before::Value
            }
            6 if is(b"OFFSET") => Before::Value,
            // Rows of a query: its first expressions name the columns.
            6 if is(b"VALUES") && *selects > 0 => return None,
            6 if is(b"VALUES") => Before::List,
            5 if is(b"VALUE") => Before::List,
            6 if is(b"SELECT") => {
                *selects += 1;
                if *selects > 1 {
                    return None;
                }
                self.active = false;
                Before::Other
            }
            7 if is(b"BETWEEN") => Before::Value,
            // The names of files are no values.
            7 if is(b"OUTFILE") => return None,
            8 if is(b"DUMPFILE") => return None,
            // A list that names columns.
            9 if is(b"RETURNING") => return None,
            _ => Before::Name,
        })
    }

    fn symbol(&mut self, token: Token, before: Before) -> Option<Before> {
        match self.bytes(token) {
            b"(" => {
                if self.open == PARENTHESES_MAX {
                    return None;
                }
                let outer = self.open > 0 && self.in_calls[self.open - 1];
                self.in_calls[self.open] = outer || before == Before::Name;
                self.open += 1;
                Some(Before::Value)
            }
            b")" => {
                self.open = self.open.checked_sub(1)?;
                Some(Before::Other)
            }
            b"=" | b"<" | b">" | b"<=" | b">=" | b"<>" | b"!=" | b"<=>" | b"+" | b"-" | b"*" | b"/" | b"%" | b"," => {
                Some(Before::Value)
            }
            _ => Some(Before::Other),
        }
    }

    fn take(&mut self, token: Token) -> Option<()> {
        if self.out.literals.len() == LITERALS_MAX {
            return None;
        }
        let bytes = &self.sql[token.start as usize..token.end as usize];
        let value = match token.kind {
            Kind::Text => {
                let mut text = self.out.spare.pop().unwrap_or_default();
                unescape(bytes, self.mode, &mut text);
                Value::Bytes(text)
            }
            kind => match number(kind, bytes) {
                Literal::Integer(value) => match i64::try_from(value) {
                    Ok(value) => Value::Int(value),
                    Err(_) => Value::UInt(value),
                },
                // What has more digits than a DECIMAL is rounded by the binder.
                Literal::Decimal(digits) => {
                    let number = Decimal::parse(digits.as_bytes()).ok()?;
                    if number.scale() > 30 || number.precision() > 65 {
                        return None;
                    }
                    Value::Decimal(number)
                }
                Literal::Float(value) if value.is_finite() => Value::Double(value),
                _ => return None,
            },
        };
        self.copy_to(token.start as usize);
        self.out.key.push(b'?');
        self.copied = token.end as usize;
        self.out.literals.push(value);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(sql: &str) -> Option<(String, Vec<String>)> {
        let mut out = Normalized::default();
        if !normalize(sql.as_bytes(), SqlMode::DEFAULT, &mut out) {
            return None;
        }
        let literals = out.literals.iter().map(|value| match value {
            Value::Bytes(text) => format!("'{}'", String::from_utf8_lossy(text)),
            Value::Int(value) => value.to_string(),
            other => format!("{other:?}"),
        });
        Some((String::from_utf8(out.sql().to_vec()).unwrap(), literals.collect()))
    }

    fn expect(sql: &str, text: &str, literals: &[&str]) {
        let (found, values) = normalized(sql).unwrap_or_else(|| panic!("{sql} was left alone"));
        assert_eq!(found, text);
        assert_eq!(values, literals);
    }

    #[test]
    fn literals_go_where_parameters_can_stand() {
        expect("SELECT c FROM sbtest1 WHERE id=17", "SELECT c FROM sbtest1 WHERE id=?", &["17"]);
        expect(
            "SELECT c, 1 FROM t WHERE id BETWEEN 5 AND 9 AND b IN ('x', 'y''z') ORDER BY 1 LIMIT 3,4;",
            "SELECT c, 1 FROM t WHERE id BETWEEN ? AND ? AND b IN (?, ?) ORDER BY 1 LIMIT ?,?",
            &["5", "9", "'x'", "'y'z'", "3", "4"],
        );
        expect("UPDATE t SET k=k+1, c='a' WHERE id=-5", "UPDATE t SET k=k+?, c=? WHERE id=-?", &["1", "'a'", "5"]);
        expect(
            "INSERT INTO t (a, b) VALUES (1, 'x'),(2,NULL)",
            "INSERT INTO t (a, b) VALUES (?, ?),(?,NULL)",
            &["1", "'x'", "2"],
        );
    }

    #[test]
    fn literals_stay_where_they_mean_more() {
        for sql in [
            "SELECT 1 FROM t GROUP BY 1",
            "SELECT a FROM t WHERE ROUND(a, 2) > NOW(3)",
            "SELECT a FROM t WHERE a LIKE _latin1'x' ESCAPE '!'",
            "DELETE FROM t WHERE a > b + INTERVAL 1 DAY",
            "SELECT a FROM t WHERE d = DATE '2020-01-01'",
            "SELECT a FROM t WHERE b = 'x' 'y'",
        ] {
            expect(sql, sql, &[]);
        }
    }

    #[test]
    fn what_is_not_simple_is_left_alone() {
        for sql in [
            "SET a = 1",
            "SELECT 1; SELECT 2",
            "SELECT a FROM t WHERE a = ?",
            "SELECT a FROM t WHERE a = (SELECT 1)",
            "SELECT /*!40001 SQL_NO_CACHE */ a FROM t WHERE a = 1",
            "SELECT a FROM t WHERE a = 'x",
            "SELECT a FROM t WHERE (a = 1",
        ] {
            assert!(normalized(sql).is_none(), "{sql}");
        }
    }
}
