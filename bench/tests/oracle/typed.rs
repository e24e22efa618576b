//! Random expressions of a wanted family over the columns of given tables.
//!
//! What both servers leave open, or where MySQL's and MariaDB's manuals differ, is not written: which of several texts that
//! are equal by their collation stands for them, sums of fractions in another order, times compared with moments.

use super::tables::{Chance, Column, Family, Table};

/// Columns that an expression may read, as they are written.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub columns: Vec<(String, Family)>,
}

impl Scope {
    pub fn of(tables: &[Table]) -> Scope {
        let named = |table: &Table, column: &Column| (format!("{}.{}", table.name, column.name), column.family);
        let columns =
            tables.iter().flat_map(|table| table.columns.iter().map(move |column| named(table, column))).collect();
        Scope { columns }
    }

    pub fn and(&self, other: &Scope) -> Scope {
        Scope { columns: self.columns.iter().chain(&other.columns).cloned().collect() }
    }
}

const COMPARISONS: [&str; 7] = ["=", "=", "<>", "<", "<=", ">", "<=>"];

impl Chance {
    pub fn column(&mut self, scope: &Scope, family: Family) -> Option<String> {
        let fitting: Vec<&String> =
            scope.columns.iter().filter(|(_, one)| *one == family).map(|(name, _)| name).collect();
        (!fitting.is_empty()).then(|| (*self.one(&fitting)).clone())
    }

    pub fn any_column(&mut self, scope: &Scope) -> (String, Family) {
        self.one(&scope.columns).clone()
    }

    /// A column of the family, or a literal.
    fn leaf(&mut self, scope: &Scope, family: Family) -> String {
        match self.column(scope, family) {
            Some(column) if !self.once_in(4) => column,
            _ => self.literal(family),
        }
    }

    pub fn expression(&mut self, scope: &Scope, family: Family, depth: u32) -> String {
        if depth == 0 || self.once_in(3) {
            return self.leaf(scope, family);
        }
        let below = depth - 1;
        match self.number(0, 9) {
            0 => {
                let condition = self.condition(scope, below);
                let (a, b) = (self.expression(scope, family, below), self.expression(scope, family, below));
                return format!("IF({condition}, {a}, {b})");
            }
            1 => {
                let (a, b) = (self.expression(scope, family, below), self.expression(scope, family, below));
                return format!("COALESCE({a}, {b})");
            }
            2 => {
                let (when, then) = (self.condition(scope, below), self.expression(scope, family, below));
                let otherwise = self.expression(scope, family, below);
                return format!("CASE WHEN {when} THEN {then} ELSE {otherwise} END");
            }
            _ => {}
        }
        match family {
            Family::Integer => match self.number(0, 8) {
                0 => format!("LENGTH({})", self.expression(scope, Family::Text, below)),
                1 => format!("CHAR_LENGTH({})", self.expression(scope, Family::Text, below)),
                2 => format!("DATEDIFF({}, {})", self.leaf(scope, Family::Date), self.leaf(scope, Family::Moment)),
                3 => format!("({})", self.condition(scope, below)),
                4 => format!("FLOOR({})", self.expression(scope, Family::Decimal, below)),
                5 => format!("MONTH({})", self.leaf(scope, Family::Date)),
                6 => format!("({} DIV 3)", self.signed(scope, below)),
                7 => format!("SIGN({})", self.expression(scope, Family::Decimal, below)),
                _ => format!("({} {} {})", self.signed(scope, below), self.word(&["+", "-", "*"]), self.number(0, 5)),
            },
            Family::Decimal => match self.number(0, 4) {
                0 => format!("({} / 4)", self.expression(scope, Family::Decimal, below)),
                1 => format!("ROUND({}, 1)", self.expression(scope, Family::Decimal, below)),
                2 => format!("ABS({})", self.expression(scope, Family::Decimal, below)),
                3 => format!("TRUNCATE({}, 1)", self.expression(scope, Family::Decimal, below)),
                _ => format!(
                    "({} {} {})",
                    self.expression(scope, Family::Decimal, below),
                    self.word(&["+", "-", "*"]),
                    self.leaf(scope, Family::Integer)
                ),
            },
            Family::Double => format!("({} + {})", self.leaf(scope, Family::Double), self.leaf(scope, Family::Double)),
            Family::Text => {
                let text = self.expression(scope, Family::Text, below);
                match self.number(0, 8) {
                    0 => format!("CONCAT({text}, {})", self.literal(Family::Text)),
                    1 => format!("UPPER({text})"),
                    2 => format!("LEFT({text}, 2)"),
                    3 => format!("SUBSTRING({text}, {})", self.number(-2, 3)),
                    4 => format!("TRIM({text})"),
                    5 => format!("REPLACE({text}, 'a', 'xy')"),
                    6 => format!("RPAD({text}, 4, '-')"),
                    7 => format!("REVERSE({text})"),
                    _ => format!("CONCAT_WS('-', {text}, {})", self.leaf(scope, Family::Integer)),
                }
            }
            Family::Bytes => format!("HEX({})", self.leaf(scope, Family::Bytes)),
            Family::Date => match self.number(0, 2) {
                0 => format!("LAST_DAY({})", self.leaf(scope, Family::Date)),
                1 => format!("DATE({})", self.leaf(scope, Family::Moment)),
                _ => format!("DATE_ADD({}, INTERVAL {} DAY)", self.leaf(scope, Family::Date), self.number(-40, 40)),
            },
            Family::Time => self.leaf(scope, Family::Time),
            Family::Moment => {
                let unit = self.word(&["DAY", "HOUR", "MINUTE", "SECOND", "MONTH"]);
                format!("DATE_ADD({}, INTERVAL {} {unit})", self.leaf(scope, Family::Moment), self.number(-40, 40))
            }
        }
    }

    /// An integer that may be negative: a difference of unsigned ones would be out of range.
    fn signed(&mut self, scope: &Scope, depth: u32) -> String {
        format!("CAST({} AS SIGNED)", self.expression(scope, Family::Integer, depth))
    }

    pub fn condition(&mut self, scope: &Scope, depth: u32) -> String {
        if depth > 0 && self.once_in(3) {
            let (a, b) = (self.condition(scope, depth - 1), self.condition(scope, depth - 1));
            return match self.number(0, 3) {
                0 => format!("({a} AND {b})"),
                1 => format!("({a} OR {b})"),
                2 => format!("NOT ({a})"),
                _ => format!("(({a}) IS NOT TRUE)"),
            };
        }
        let (column, family) = self.any_column(scope);
        let below = depth.saturating_sub(1);
        match self.number(0, 7) {
            0 => format!("{column} IS {}NULL", self.word(&["", "NOT "])),
            1 => {
                let values: Vec<String> = (0..self.number(1, 4)).map(|_| self.literal(family)).collect();
                format!("{column} {}IN ({})", self.word(&["", "NOT "]), values.join(", "))
            }
            2 => {
                let (a, b) = (self.literal(family), self.literal(family));
                format!("{column} {}BETWEEN {a} AND {b}", self.word(&["", "NOT "]))
            }
            3 if family == Family::Text => {
                format!(
                    "{column} {}LIKE '{}'",
                    self.word(&["", "NOT "]),
                    self.word(&["a%", "%b", "_", "%", "c_", "A%"])
                )
            }
            4 => {
                let value = self.expression(scope, family, below);
                let other = self.literal(family);
                format!("{value} {} {other}", self.word(&COMPARISONS))
            }
            5 => match self.column(scope, family) {
                Some(other) if family != Family::Text => format!("{column} {} {other}", self.word(&COMPARISONS)),
                _ => format!("{column} {} {}", self.word(&COMPARISONS), self.literal(family)),
            },
            _ => format!("{column} {} {}", self.word(&COMPARISONS), self.literal(family)),
        }
    }

    /// An expression whose value is the same whichever of several equal values stands for them.
    pub fn settled(&mut self, scope: &Scope, depth: u32) -> String {
        let (column, family) = self.any_column(scope);
        // A number alone would be a position in GROUP BY and ORDER BY.
        let value =
            Some(self.expression(scope, family, depth)).filter(|value| value.contains('.') && value.contains('x'));
        let value = value.unwrap_or(column);
        match family {
            Family::Text => format!("LOWER(TRIM({value}))"),
            Family::Double => format!("CAST({value} AS DECIMAL(20,4))"),
            _ => value,
        }
    }

    /// An aggregate of exact result.
    pub fn aggregate(&mut self, scope: &Scope, depth: u32) -> String {
        let distinct = self.word(&["", "", "DISTINCT "]);
        match self.number(0, 6) {
            0 => "COUNT(*)".into(),
            1 => format!("COUNT({distinct}{})", self.settled(scope, depth)),
            2 => format!("SUM({distinct}{})", self.expression(scope, Family::Integer, depth)),
            3 => format!("SUM({distinct}{})", self.expression(scope, Family::Decimal, depth)),
            4 => format!("MIN({})", self.settled(scope, depth)),
            5 => format!("MAX({})", self.settled(scope, depth)),
            // The last digit of a quotient is cut or rounded.
            _ => format!("ROUND(AVG({}), 3)", self.expression(scope, Family::Decimal, depth)),
        }
    }

    /// An aggregate that a window may have.
    pub fn running(&mut self, scope: &Scope) -> String {
        match self.number(0, 4) {
            0 => "COUNT(*)".into(),
            1 => format!("COUNT({})", self.settled(scope, 1)),
            2 => format!("SUM({})", self.expression(scope, Family::Decimal, 1)),
            3 => format!("MIN({})", self.settled(scope, 1)),
            _ => format!("MAX({})", self.settled(scope, 1)),
        }
    }
}
