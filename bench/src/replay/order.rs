//! Which columns of a result its outer ORDER BY sorts by.

use super::statement::{Statement, Token};

/// The result's columns that the outermost ORDER BY begins with, as far as they are in the result; nothing if it
/// has none, or begins with another expression. `names` are the result's columns.
pub fn outer_order(statement: &Statement, names: &[String]) -> Option<Vec<usize>> {
    let tokens = &statement.tokens;
    let word = |at: usize, word: &str| matches!(tokens.get(at), Some(Token::Word(own)) if own == word);
    let mut depth = 0;
    let mut start = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            Token::Word(_) if depth == 0 && word(at, "order") && word(at + 1, "by") => start = Some(at + 2),
            // Whatever was ordered before belongs to a part of the union.
            Token::Word(name) if depth == 0 && name == "union" => start = None,
            _ => {}
        }
    }
    let mut at = start?;
    let mut keys = Vec::new();
    loop {
        let column = match (tokens.get(at)?, tokens.get(at + 1), tokens.get(at + 2)) {
            (
                Token::Word(_) | Token::Name(_),
                Some(Token::Symbol('.')),
                Some(Token::Word(name) | Token::Name(name)),
            ) => {
                at += 2;
                named(names, name)
            }
            (Token::Word(name) | Token::Name(name), next, _) if next != Some(&Token::Symbol('(')) => named(names, name),
            (Token::Number(number), _, _) => {
                number.parse::<usize>().ok().filter(|&n| n > 0 && n <= names.len()).map(|n| n - 1)
            }
            _ => None,
        };
        let end = match tokens.get(at + 1) {
            Some(Token::Word(direction)) if matches!(direction.as_str(), "asc" | "desc") => at + 2,
            _ => at + 1,
        };
        let goes_on = tokens.get(end) == Some(&Token::Symbol(','));
        let ends = match tokens.get(end) {
            None | Some(Token::Symbol(';')) => true,
            Some(Token::Word(word)) => matches!(word.as_str(), "limit" | "for" | "lock" | "into" | "offset" | "fetch"),
            _ => false,
        };
        match column {
            Some(column) if goes_on || ends => keys.push(column),
            _ => break,
        }
        if ends {
            break;
        }
        at = end + 1;
    }
    (!keys.is_empty()).then_some(keys)
}

/// The only column of that name.
fn named(names: &[String], name: &str) -> Option<usize> {
    let mut found = names.iter().enumerate().filter(|(_, own)| own.to_lowercase() == name);
    match (found.next(), found.next()) {
        (Some((column, _)), None) => Some(column),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(text: &str) -> Option<Vec<usize>> {
        outer_order(&Statement::new(text), &["a".to_string(), "b".to_string(), "n".to_string(), "n".to_string()])
    }

    #[test]
    fn the_outer_order_is_read_up_to_the_first_expression() {
        assert_eq!(order("select * from t order by b, t.a desc limit 1"), Some(vec![1, 0]));
        assert_eq!(order("select * from t order by b, a + 1"), Some(vec![1]));
        assert_eq!(order("select * from t order by a + 1"), None);
        assert_eq!(order("select * from t order by f(a)"), None);
        assert_eq!(order("select * from t order by 2, 9"), Some(vec![1]));
        assert_eq!(order("select * from t order by n"), None, "two columns have this name");
        assert_eq!(order("select * from (select * from t order by a) x"), None);
        assert_eq!(order("(select a from t order by a) union select b from t"), None);
    }
}
