//! Optimizer hints of MySQL 8: `SELECT /*+ JOIN_ORDER(a, b) NO_INDEX(a i) */ ...`.
//!
//! To the lexer they are comments. A hint comment counts directly behind SELECT alone; so the parser looks into the gap
//! between that word and the next one. What is wrong in it is no error of the statement: the hints in front of it count, and
//! a warning tells where it is.

use super::ast::{Expr, Hint, HintKind, HintTable, Literal, OrderPlace};
use super::expression::number;
use super::lexer::{Kind, Lexer, Token};
use crate::types::SqlMode;

/// Hints that are read, and about which there is no choice here.
const UNUSED: &[&str] = &["BKA", "NO_BKA", "MRR", "NO_MRR", "NO_ICP", "SKIP_SCAN", "NO_SKIP_SCAN", "RESOURCE_GROUP"];

/// The hints in a gap between two words.
pub fn in_gap(gap: &[u8], mode: SqlMode) -> Vec<Hint> {
    let Some(start) = gap.windows(3).position(|three| three == b"/*+") else { return Vec::new() };
    // Only blanks may stand before it.
    if !gap[..start].iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    let text = &gap[start + 3..];
    let end = text.windows(2).position(|two| two == b"*/").unwrap_or(text.len());
    let text = &text[..end];
    let mut lexer = Lexer::new(text, 0, mode);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token();
        tokens.push(token);
        if matches!(token.kind, Kind::End | Kind::Bad) {
            break;
        }
    }
    Reader { text, tokens, at: 0 }.hints()
}

struct Reader<'t> {
    text: &'t [u8],
    tokens: Vec<Token>,
    at: usize,
}

impl Reader<'_> {
    fn hints(mut self) -> Vec<Hint> {
        let mut hints = Vec::new();
        while self.tokens[self.at].kind != Kind::End {
            let start = self.at;
            match self.hint() {
                Some(hint) => hints.push(hint),
                None => {
                    // Where reading stopped, as errors of statements tell it.
                    let at = self.tokens[self.at.max(start)].start as usize;
                    let rest = String::from_utf8_lossy(&self.text[at..]).trim_end().to_owned();
                    let kind = HintKind::Syntax(rest);
                    hints.push(Hint { name: String::new(), block: None, kind, text: String::new() });
                    break;
                }
            }
        }
        hints
    }

    fn bytes(&self) -> &[u8] {
        let token = self.tokens[self.at];
        &self.text[token.start as usize..token.end as usize]
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn take(&mut self, symbol: &[u8]) -> bool {
        let found = self.tokens[self.at].kind == Kind::Symbol && self.bytes() == symbol;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &[u8]) -> Option<()> {
        self.take(symbol).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        let text = String::from_utf8_lossy(self.bytes()).into_owned();
        let name = match self.tokens[self.at].kind {
            Kind::Word => text,
            Kind::QuotedName => unquoted(&text),
            _ => return None,
        };
        self.advance();
        Some(name)
    }

    /// `@block`
    fn block(&mut self) -> Option<String> {
        let text = String::from_utf8_lossy(self.bytes()).into_owned();
        let name = text.strip_prefix('@').filter(|name| !name.is_empty() && !name.starts_with('@'))?;
        self.advance();
        Some(unquoted(name))
    }

    /// `a, b@block`; the end stands behind it.
    fn tables(&mut self) -> Option<Vec<HintTable>> {
        let mut tables = Vec::new();
        while !self.take(b")") {
            if !tables.is_empty() {
                self.expect(b",")?;
            }
            tables.push(self.table()?);
        }
        Some(tables)
    }

    fn table(&mut self) -> Option<HintTable> {
        let name = self.name()?;
        Some(HintTable { name, block: self.block() })
    }

    fn hint(&mut self) -> Option<Hint> {
        let first = self.at;
        let name = self.name()?.to_ascii_uppercase();
        if !is_known(&name) {
            self.at = first;
            return None;
        }
        self.expect(b"(")?;
        let mut block = None;
        if !matches!(&*name, "QB_NAME" | "SET_VAR" | "MAX_EXECUTION_TIME" | "RESOURCE_GROUP") {
            block = self.block();
        }
        let on = !name.starts_with("NO_");
        let kind = match &*name {
            "JOIN_PREFIX" => HintKind::Order { place: OrderPlace::First, tables: self.tables()? },
            "JOIN_ORDER" => HintKind::Order { place: OrderPlace::Among, tables: self.tables()? },
            "JOIN_SUFFIX" => HintKind::Order { place: OrderPlace::Last, tables: self.tables()? },
            "HASH_JOIN" | "NO_HASH_JOIN" | "BNL" | "NO_BNL" => HintKind::Hash { on, tables: self.tables()? },
            "MERGE" | "NO_MERGE" => HintKind::Merge { on, tables: self.tables()? },
            "DERIVED_CONDITION_PUSHDOWN" | "NO_DERIVED_CONDITION_PUSHDOWN" => {
                HintKind::Pushdown { on, tables: self.tables()? }
            }
            "JOIN_FIXED_ORDER" => {
                self.expect(b")")?;
                HintKind::FixedOrder
            }
            "SEMIJOIN" | "NO_SEMIJOIN" => {
                while !self.take(b")") {
                    let strategy = self.name()?.to_ascii_uppercase();
                    if !["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION"].contains(&&*strategy) {
                        return None;
                    }
                    self.take(b",");
                }
                HintKind::Semijoin { on }
            }
            "SUBQUERY" => {
                let strategy = self.name()?.to_ascii_uppercase();
                let materializes = strategy == "MATERIALIZATION";
                if !materializes && strategy != "INTOEXISTS" {
                    return None;
                }
                self.expect(b")")?;
                HintKind::Subquery { materializes }
            }
            "MAX_EXECUTION_TIME" => {
                let text = String::from_utf8_lossy(self.bytes()).into_owned();
                let milliseconds = text.parse::<u32>().ok()?;
                self.advance();
                self.expect(b")")?;
                HintKind::MaxExecutionTime(milliseconds.into())
            }
            "QB_NAME" => {
                let name = self.name()?;
                self.expect(b")")?;
                HintKind::Name(name)
            }
            "SET_VAR" => self.set_var()?,
            name if UNUSED.contains(&name) => {
                let mut open = 1;
                while open > 0 {
                    match self.tokens[self.at].kind {
                        Kind::End | Kind::Bad => return None,
                        Kind::Symbol if self.bytes() == b"(" => open += 1,
                        Kind::Symbol if self.bytes() == b")" => open -= 1,
                        _ => {}
                    }
                    self.advance();
                }
                HintKind::Unused
            }
            // [NO_]INDEX, [NO_]JOIN_INDEX, [NO_]INDEX_MERGE ...
            name => {
                let table = self.table()?;
                let mut indexes = Vec::new();
                while !self.take(b")") {
                    if !indexes.is_empty() {
                        self.expect(b",")?;
                    }
                    indexes.push(self.name()?);
                }
                match name.trim_start_matches("NO_") {
                    "INDEX_MERGE" => HintKind::IndexMerge { on, table },
                    "RANGE_OPTIMIZATION" => HintKind::NoRanges { table, indexes },
                    _ => HintKind::Index { on, table, indexes },
                }
            }
        };
        let (from, to) = (self.tokens[first].start, self.tokens[self.at.saturating_sub(1)].end);
        let text = String::from_utf8_lossy(&self.text[from as usize..to as usize]).into_owned();
        Some(Hint { name, block, kind, text })
    }

    fn set_var(&mut self) -> Option<HintKind> {
        let variable = self.name()?;
        self.expect(b"=")?;
        let text = String::from_utf8_lossy(self.bytes()).into_owned();
        let value = match self.tokens[self.at].kind {
            Kind::Integer => Expr::Literal(Literal::Integer(text.parse().ok()?)),
            kind @ (Kind::Decimal | Kind::Float) => Expr::Literal(number(kind, text.as_bytes())),
            Kind::Word if text.starts_with(|first: char| first.is_ascii_digit()) => {
                Expr::Literal(Literal::Integer(number_with_suffix(&text)?))
            }
            Kind::Word => Expr::Column(super::ast::ColumnName { database: None, table: None, name: text }),
            Kind::Text => {
                let inner = text.get(1..text.len().checked_sub(1)?)?.as_bytes().to_vec();
                Expr::Literal(Literal::String { bytes: inner, charset: None })
            }
            _ => return None,
        };
        self.advance();
        self.expect(b")")?;
        Some(HintKind::SetVar { variable, value })
    }
}

fn is_known(name: &str) -> bool {
    const KNOWN: &[&str] = &[
        "JOIN_PREFIX",
        "JOIN_ORDER",
        "JOIN_SUFFIX",
        "JOIN_FIXED_ORDER",
        "HASH_JOIN",
        "BNL",
        "MERGE",
        "DERIVED_CONDITION_PUSHDOWN",
        "SEMIJOIN",
        "SUBQUERY",
        "MAX_EXECUTION_TIME",
        "QB_NAME",
        "SET_VAR",
        "INDEX",
        "INDEX_MERGE",
        "JOIN_INDEX",
        "GROUP_INDEX",
        "ORDER_INDEX",
    ];
    const NEGATED: &[&str] = &[
        "HASH_JOIN",
        "BNL",
        "MERGE",
        "DERIVED_CONDITION_PUSHDOWN",
        "SEMIJOIN",
        "INDEX",
        "INDEX_MERGE",
        "JOIN_INDEX",
        "GROUP_INDEX",
        "ORDER_INDEX",
        "RANGE_OPTIMIZATION",
    ];
    KNOWN.contains(&name)
        || UNUSED.contains(&name)
        || name.strip_prefix("NO_").is_some_and(|name| NEGATED.contains(&name))
}

/// `16M`: powers of 1024, which numbers have in hints alone.
fn number_with_suffix(text: &str) -> Option<u64> {
    let (last, digits) = (text.bytes().last()?, text.get(..text.len() - 1)?);
    let place = b"KMGTPE".iter().position(|suffix| *suffix == last.to_ascii_uppercase())?;
    digits.parse::<u64>().ok()?.checked_mul(1 << (10 * (place + 1)))
}

fn unquoted(name: &str) -> String {
    match name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
        Some(name) => name.replace("``", "`"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(gap: &str) -> Vec<String> {
        let hints = in_gap(gap.as_bytes(), SqlMode::DEFAULT);
        hints.iter().map(|hint| format!("{}{:?}", hint.name, hint.kind)).collect()
    }

    #[test]
    fn hints_are_read_up_to_the_first_mistake() {
        assert_eq!(names(" /* no hint */ "), Vec::<String>::new());
        assert_eq!(names(" /*+ JOIN_FIXED_ORDER() */ "), ["JOIN_FIXED_ORDERFixedOrder"]);
        let read = names(" /*+ qb_name(`a b`) BKA(t) NO_INDEX(t@q i, j) nonsense(1) MERGE() */ ");
        assert_eq!(read.len(), 4);
        assert!(read[0].starts_with("QB_NAMEName(\"a b\")"), "{read:?}");
        assert!(read[2].contains("block: Some(\"q\")") && read[2].contains("on: false"), "{read:?}");
        assert_eq!(read[3], "Syntax(\"nonsense(1) MERGE()\")");
        assert_eq!(names(" /*+ MAX_EXECUTION_TIME(1000) */ "), ["MAX_EXECUTION_TIMEMaxExecutionTime(1000)"]);
    }
}
