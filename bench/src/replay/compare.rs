//! Two answers to one statement: the same or not.

use crate::client::{Answer, Error};

use super::statement::Statement;

/// What a server said to one command, whose text may hold several statements.
pub type Reply = Result<Vec<Answer>, Error>;

/// How two replies differ. The names are those of the report and of the list of known differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A server ended while it worked on the statement.
    Died,
    /// It did not answer in time.
    Hang,
    /// Both answered, with other rows.
    Rows,
    /// The same rows in an order that ORDER BY excludes.
    Order,
    /// Other numbers of affected rows.
    Affected,
    /// The same rows with other warnings.
    Warnings,
    /// Glassine carries out what its peer refuses.
    Accepted,
    /// The peer carries out what Glassine refuses.
    Refused,
    /// Both refuse, with different numbers.
    Errors,
    /// Other names of result columns.
    Names,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Died => "died",
            Kind::Hang => "hang",
            Kind::Rows => "rows",
            Kind::Order => "order",
            Kind::Affected => "affected",
            Kind::Warnings => "warnings",
            Kind::Accepted => "accepted",
            Kind::Refused => "refused",
            Kind::Errors => "errors",
            Kind::Names => "names",
        }
    }
}

/// What of two answers is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Whether there is one.
    Success,
    /// Rows and counts as well.
    Everything,
}

const TYPE_FLOAT: u8 = 4;
const TYPE_DOUBLE: u8 = 5;

/// How the replies differ, if they do.
pub fn difference(ours: &Reply, peer: &Reply, statement: &Statement, depth: Depth) -> Option<Kind> {
    match (ours, peer) {
        (Err(ours), Err(peer)) => (ours.code() != peer.code()).then_some(Kind::Errors),
        (Ok(_), Err(_)) => Some(Kind::Accepted),
        (Err(_), Ok(_)) => Some(Kind::Refused),
        (Ok(_), Ok(_)) if depth == Depth::Success => None,
        (Ok(ours), Ok(peer)) if ours.len() != peer.len() => Some(Kind::Rows),
        (Ok(ours), Ok(peer)) => {
            ours.iter().zip(peer).filter_map(|(ours, peer)| answers_differ(ours, peer, statement)).min()
        }
    }
}

fn answers_differ(ours: &Answer, peer: &Answer, statement: &Statement) -> Option<Kind> {
    let shape = |answer: &Answer| (answer.columns.len(), answer.rows.len(), answer.rows_beyond);
    if shape(ours) != shape(peer) {
        return Some(Kind::Rows);
    }
    if ours.rows_beyond == 0 && !are_same_set(ours, peer, statement) {
        return Some(Kind::Rows);
    }
    if ours.affected != peer.affected && !counts_copies(statement) {
        return Some(Kind::Affected);
    }
    if ours.rows_beyond == 0 && is_out_of_order(ours, peer, statement) {
        return Some(Kind::Order);
    }
    (ours.columns != peer.columns).then_some(Kind::Names)
}

/// How many rows a change of a definition copies is a server's own affair.
fn counts_copies(statement: &Statement) -> bool {
    matches!(statement.verb.as_str(), "alter" | "optimize")
        || statement.starts_with(&["create", "index"])
        || statement.has_in_a_row(&["unique", "index"])
        || statement.starts_with(&["drop", "index"])
}

fn are_same_set(ours: &Answer, peer: &Answer, statement: &Statement) -> bool {
    let lists = statement.has("group_concat") && !statement.has("order");
    let same = |a: &[Option<String>], b: &[Option<String>]| {
        a.iter().zip(b).enumerate().all(|(column, (a, b))| match (a, b) {
            (Some(a), Some(b)) => a == b || cells_are_equal(a, b, is_float(ours, peer, column), lists),
            (None, None) => true,
            _ => false,
        })
    };
    if ours.rows.iter().zip(&peer.rows).all(|(ours, peer)| same(ours, peer)) {
        return true;
    }
    let sorted = |answer: &Answer| {
        let mut rows: Vec<Vec<Option<String>>> = answer.rows.clone();
        for row in &mut rows {
            for (column, cell) in row.iter_mut().enumerate() {
                if let Some(text) = cell {
                    *text = rounded(text, is_float(ours, peer, column), lists);
                }
            }
        }
        rows.sort();
        rows
    };
    sorted(ours).iter().zip(&sorted(peer)).all(|(ours, peer)| same(ours, peer))
}

fn is_float(ours: &Answer, peer: &Answer, column: usize) -> bool {
    [ours, peer].iter().any(|answer| matches!(answer.types.get(column), Some(&(TYPE_FLOAT | TYPE_DOUBLE))))
}

/// Approximate numbers may differ in their last digits, and whether a zero keeps its sign is a version's affair. A JSON
/// value is one, in whichever order and with whichever spaces: MySQL stores values, MariaDB texts.
fn cells_are_equal(ours: &str, peer: &str, float: bool, lists: bool) -> bool {
    if lists && sorted_list(ours) == sorted_list(peer) {
        return true;
    }
    let zero = |text: &str| text.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-')) && text.contains('0');
    if zero(ours) && zero(peer) && ours.trim_start_matches('-') == peer.trim_start_matches('-') {
        return true;
    }
    if let (Some(ours), Some(peer)) = (json(ours), json(peer)) {
        return ours == peer;
    }
    match (ours.parse::<f64>(), peer.parse::<f64>()) {
        (Ok(a), Ok(b)) if float => (a - b).abs() <= 1e-13 * a.abs().max(b.abs()),
        _ => false,
    }
}

/// An object or an array.
fn json(text: &str) -> Option<serde_json::Value> {
    text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok())?
}

/// A cell as it is sorted: JSON in one form, numbers that may differ in the last digits without these.
fn rounded(text: &str, float: bool, lists: bool) -> String {
    if lists {
        return sorted_list(text);
    }
    if let Some(value) = json(text) {
        return value.to_string();
    }
    match text.parse::<f64>() {
        // The text itself stays behind the rounded number, so that equal numbers keep their digits.
        Ok(number) if float && number != 0.0 => format!("{number:.10e}"),
        Ok(_) if float => "0".into(),
        _ => text.to_string(),
    }
}

/// GROUP_CONCAT without ORDER BY takes rows as they come.
fn sorted_list(text: &str) -> String {
    let mut parts: Vec<&str> = text.split(',').collect();
    parts.sort_unstable();
    parts.join(",")
}

/// Whether rows that are the same as a set break the outer ORDER BY differently. Only columns that are in the
/// result can be judged, and only up to the first other expression; case and spaces at the end do not count,
/// because most collations ignore them.
fn is_out_of_order(ours: &Answer, peer: &Answer, statement: &Statement) -> bool {
    let Some(keys) = super::order::outer_order(statement, &peer.columns) else { return false };
    let keyed = |answer: &Answer| -> Vec<Vec<Option<String>>> {
        let cell = |row: &Vec<Option<String>>, column: usize| {
            row.get(column)?
                .as_ref()
                .map(|text| rounded(text, is_float(ours, peer, column), false).trim_end().to_lowercase())
        };
        answer.rows.iter().map(|row| keys.iter().map(|&column| cell(row, column)).collect()).collect()
    };
    keyed(ours) != keyed(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(types: &[u8], rows: &[&[&str]]) -> Reply {
        let cell = |text: &&str| (*text != "NULL").then(|| text.to_string());
        Ok(vec![Answer {
            columns: (0..types.len()).map(|column| format!("c{column}")).collect(),
            types: types.to_vec(),
            rows: rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
            ..Answer::default()
        }])
    }

    fn refused(code: u16) -> Reply {
        Err(Error::Server { code, state: String::new(), message: String::new() })
    }

    fn judge(ours: &Reply, peer: &Reply, text: &str) -> Option<Kind> {
        difference(ours, peer, &Statement::new(text), Depth::Everything)
    }

    #[test]
    fn rows_are_a_set_unless_order_by_decides() {
        let ours = answer(&[3, 3], &[&["1", "a"], &["2", "b"]]);
        let peer = answer(&[3, 3], &[&["2", "b"], &["1", "a"]]);
        assert_eq!(judge(&ours, &peer, "select * from t"), None);
        assert_eq!(judge(&ours, &peer, "select * from t order by c0"), Some(Kind::Order));
        assert_eq!(judge(&ours, &peer, "select * from t order by 2 desc"), Some(Kind::Order));
        assert_eq!(judge(&ours, &peer, "select * from t order by x"), None);
        let more = answer(&[3, 3], &[&["1", "a"], &["2", "b"], &["2", "b"]]);
        let other = answer(&[3, 3], &[&["1", "a"], &["1", "a"], &["2", "b"]]);
        assert_eq!(judge(&more, &other, "select * from t"), Some(Kind::Rows), "duplicates count");
        assert_eq!(judge(&ours, &more, "select * from t"), Some(Kind::Rows));
    }

    #[test]
    fn ties_of_order_by_may_stand_in_any_order() {
        let ours = answer(&[3, 3], &[&["1", "a"], &["1", "b"], &["2", "c"]]);
        let peer = answer(&[3, 3], &[&["1", "b"], &["1", "a"], &["2", "c"]]);
        assert_eq!(judge(&ours, &peer, "select * from t order by c0"), None);
        assert_eq!(judge(&ours, &peer, "select * from t order by c0, c1"), Some(Kind::Order));
    }

    #[test]
    fn doubles_may_differ_in_the_last_digits_and_nothing_else_may() {
        let ours = answer(&[TYPE_DOUBLE], &[&["0.30000000000000004"], &["-0"]]);
        let peer = answer(&[TYPE_DOUBLE], &[&["0"], &["0.3"]]);
        assert_eq!(judge(&ours, &peer, "select a from t"), None);
        let exact = answer(&[246], &[&["0.30000000000000004"], &["0"]]);
        let other = answer(&[246], &[&["0.3"], &["0"]]);
        assert_eq!(judge(&exact, &other, "select a from t"), Some(Kind::Rows));
        let null = answer(&[TYPE_DOUBLE], &[&["0.3"], &["NULL"]]);
        assert_eq!(judge(&ours, &null, "select a from t"), Some(Kind::Rows));
    }

    #[test]
    fn refusals_are_told_apart() {
        let rows = answer(&[3], &[]);
        assert_eq!(judge(&refused(1062), &refused(1062), "insert into t values (1)"), None);
        assert_eq!(judge(&refused(1062), &refused(1054), "insert into t values (1)"), Some(Kind::Errors));
        assert_eq!(judge(&refused(1062), &rows, "insert into t values (1)"), Some(Kind::Refused));
        assert_eq!(judge(&rows, &refused(1062), "insert into t values (1)"), Some(Kind::Accepted));
    }

    #[test]
    fn json_is_compared_by_its_value() {
        let ours = answer(&[245], &[&["[1]"], &["{\"a\": 1, \"b\": [1, 2]}"]]);
        let peer = answer(&[252], &[&["{\"b\":[1,2],\"a\":1}"], &["[1]"]]);
        assert_eq!(judge(&ours, &peer, "select j from t"), None);
        let other = answer(&[252], &[&["{\"b\":[2,1],\"a\":1}"], &["[1]"]]);
        assert_eq!(judge(&ours, &other, "select j from t"), Some(Kind::Rows));
    }

    #[test]
    fn lists_without_order_are_sets() {
        let ours = answer(&[253], &[&["a,b"], &["c"]]);
        let peer = answer(&[253], &[&["c"], &["b,a"]]);
        assert_eq!(judge(&ours, &peer, "select group_concat(a) from t group by b"), None);
        assert_eq!(judge(&ours, &peer, "select group_concat(a order by a) from t group by b"), Some(Kind::Rows));
    }
}
