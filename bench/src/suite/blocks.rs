//! The output of `mysqltest`, cut where it echoes a statement.
//!
//! An echo is the statement's own text with the delimiter behind it, over as many lines as the statement has. What
//! comes before the next echo is the answer: names and rows, an error, warnings, and whatever the script prints.

use std::collections::HashMap;

/// A statement as it was echoed, and the lines that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block<'a> {
    pub statement: &'a str,
    pub answer: Vec<&'a str>,
    /// The line of the echo, counted from 1.
    pub line: usize,
}

/// The statements that were sent, by the first line of each.
pub struct Echoes {
    by_first_line: HashMap<String, Vec<String>>,
}

/// Characters that a delimiter may have.
const DELIMITER_BYTES_MAX: usize = 4;

/// Blocks that are searched for the next pair of equal statements.
const RESYNCHRONISE_WITHIN: usize = 300;

impl Echoes {
    pub fn new(statements: impl Iterator<Item = String>) -> Echoes {
        let mut by_first_line: HashMap<String, Vec<String>> = HashMap::new();
        for statement in statements {
            let first = statement.lines().next().unwrap_or_default().trim_end().to_string();
            let known = by_first_line.entry(first).or_default();
            if !known.contains(&statement) {
                known.push(statement);
            }
        }
        for known in by_first_line.values_mut() {
            known.sort_by_key(|statement| std::cmp::Reverse(statement.len())); // The longest echo wins.
        }
        Echoes { by_first_line }
    }

    /// What comes before the first echo belongs to no statement and is dropped.
    pub fn cut<'a>(&'a self, output: &'a str) -> Vec<Block<'a>> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let (mut rest, mut line) = (output, 1);
        while !rest.is_empty() {
            let taken = match self.echo(rest) {
                Some((statement, taken)) => {
                    blocks.push(Block { statement, answer: Vec::new(), line });
                    taken
                }
                None => {
                    let taken = rest.find('\n').map_or(rest.len(), |end| end + 1);
                    if let Some(block) = blocks.last_mut() {
                        block.answer.push(rest[..taken].trim_end_matches('\n'));
                    }
                    taken
                }
            };
            line += rest[..taken].matches('\n').count();
            rest = &rest[taken..];
        }
        blocks
    }

    /// The statement that is echoed at the beginning of `text`, and the bytes of the echo.
    fn echo(&self, text: &str) -> Option<(&str, usize)> {
        let first = text.lines().next()?;
        // The delimiter stands behind the only line, or behind a later one.
        let candidates = (0..=DELIMITER_BYTES_MAX.min(first.len()))
            .filter_map(|cut| first.get(..first.len() - cut))
            .filter_map(|line| self.by_first_line.get(line.trim_end()));
        for statement in candidates.flatten() {
            let Some(behind) = text.strip_prefix(statement.as_str()) else { continue };
            let end = behind.find('\n').unwrap_or(behind.len());
            let delimiter = behind[..end].trim();
            if !delimiter.is_empty()
                && delimiter.len() <= DELIMITER_BYTES_MAX
                && !delimiter.contains(char::is_whitespace)
            {
                let taken = statement.len() + end + usize::from(end < behind.len());
                return Some((statement, taken));
            }
        }
        None
    }
}

/// The positions of blocks that belong together: the same statement in both, in the same order. Where the two part,
/// the nearest pair of equal statements is where they go on.
pub fn pairs(ours: &[Block<'_>], expected: &[Block<'_>]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut own, mut other) = (0, 0);
    while own < ours.len() && other < expected.len() {
        if ours[own].statement == expected[other].statement {
            found.push((own, other));
            (own, other) = (own + 1, other + 1);
            continue;
        }
        let next = (1..RESYNCHRONISE_WITHIN).find_map(|distance| {
            (0..=distance).map(|skipped| (own + skipped, other + distance - skipped)).find(|&(own, other)| {
                matches!((ours.get(own), expected.get(other)), (Some(a), Some(b)) if a.statement == b.statement)
            })
        });
        let Some(next) = next else { break };
        (own, other) = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echoes(statements: &[&str]) -> Echoes {
        Echoes::new(statements.iter().map(|statement| statement.to_string()))
    }

    #[test]
    fn output_is_cut_where_a_statement_is_echoed() {
        let echoes = echoes(&["select 1", "select 1 +\n 2", "create procedure p()\nselect 1"]);
        let output = "before\nselect 1;\n1\n1\nselect 1 +\n 2;\n3\n\ncreate procedure p()\nselect 1 //\nselect 1";
        let blocks = echoes.cut(output);
        let seen: Vec<_> = blocks.iter().map(|block| (block.line, block.statement, block.answer.join("|"))).collect();
        assert_eq!(
            seen,
            [
                (2, "select 1", "1|1".to_string()),
                (5, "select 1 +\n 2", "3|".to_string()),
                (9, "create procedure p()\nselect 1", "select 1".to_string()),
            ]
        );
    }

    #[test]
    fn blocks_meet_again_behind_what_only_one_side_has() {
        let echoes = echoes(&["a", "b", "c", "d"]);
        let (ours, expected) = (echoes.cut("a;\nb;\nc;\nd;\n"), echoes.cut("a;\nc;\nb;\nd;\n"));
        let met: Vec<_> = pairs(&ours, &expected).iter().map(|&(own, _)| ours[own].statement).collect();
        assert_eq!(met, ["a", "b", "d"]);
    }
}
