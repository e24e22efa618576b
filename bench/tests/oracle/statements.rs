//! Random statements over six random tables: joins of all of them, subqueries of every kind, derived tables, CTEs, groups,
//! windows and set operations within each other, and changes that read other tables.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::tables::{Chance, Column, Family, Table};
use super::typed::Scope;

pub struct Author {
    chance: Chance,
    tables: Vec<Table>,
    aliases: u32,
}

impl Author {
    pub fn new(seed: u64) -> Author {
        Author { chance: Chance(StdRng::seed_from_u64(seed)), tables: Vec::new(), aliases: 0 }
    }

    /// The statements that make and fill a new set of tables.
    pub fn schema(&mut self) -> Vec<String> {
        self.tables.clear();
        let mut statements = Vec::new();
        for number in 0..6 {
            let (table, definition) = self.chance.table(&format!("t{number}"));
            statements.push(format!("DROP TABLE IF EXISTS {}", table.name));
            statements.push(definition);
            let count = *self.chance.one(&[0, 3, 8, 14, 20]);
            if count > 0 {
                statements.push(self.chance.rows(&table, 1, count));
            }
            self.tables.push(table);
        }
        statements
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    /// A source in FROM, its text and what it offers.
    fn source(&mut self, depth: u32) -> (String, Table) {
        let alias = self.alias();
        if depth > 0 && self.chance.once_in(5) {
            let (query, columns) = self.derived(depth - 1);
            return (format!("({query}) {alias}"), Table { name: alias, columns });
        }
        let table = self.chance.one(&self.tables).clone();
        (format!("{} {alias}", table.name), Table { name: alias, columns: table.columns })
    }

    /// A query whose columns are named, for FROM and WITH.
    fn derived(&mut self, depth: u32) -> (String, Vec<Column>) {
        let (from, tables) = self.from(depth, 2);
        let scope = Scope::of(&tables);
        let condition = self.condition(&scope, 1, depth);
        if self.chance.once_in(3) {
            let (key, family) = self.chance.any_column(&scope);
            let key = if family == Family::Text { format!("LOWER(TRIM({key}))") } else { key };
            let total = format!("COUNT({})", self.chance.any_column(&scope).0);
            let columns = vec![
                Column { name: "id".into(), definition: "", family, nullable: true },
                Column { name: "n".into(), definition: "", family: Family::Integer, nullable: true },
            ];
            return (format!("SELECT {key} AS id, {total} AS n FROM {from} WHERE {condition} GROUP BY {key}"), columns);
        }
        let mut names = Vec::new();
        let mut columns = Vec::new();
        for number in 0..self.chance.number(1, 3) {
            let (column, family) = self.chance.any_column(&scope);
            let name = if number == 0 { "id".to_owned() } else { format!("d{number}") };
            names.push(format!("{column} AS {name}"));
            columns.push(Column { name, definition: "", family, nullable: true });
        }
        let distinct = if columns.iter().all(|column| column.family != Family::Text) && self.chance.once_in(4) {
            "DISTINCT "
        } else {
            ""
        };
        (format!("SELECT {distinct}{} FROM {from} WHERE {condition}", names.join(", ")), columns)
    }

    /// FROM with up to `most` sources, joined by equalities of columns of one family.
    fn from(&mut self, depth: u32, most: i64) -> (String, Vec<Table>) {
        let (mut text, first) = self.source(depth);
        let mut tables = vec![first];
        for _ in 1..self.chance.number(1, most) {
            let (next, table) = self.source(depth);
            let (left, right) = (Scope::of(&tables), Scope::of(std::slice::from_ref(&table)));
            let on = self.equality(&left, &right);
            let on = match on {
                Some(on) if self.chance.once_in(3) => {
                    format!("{on} AND {}", self.chance.condition(&left.and(&right), 1))
                }
                Some(on) => on,
                None => self.chance.condition(&left.and(&right), 1),
            };
            let join = self.chance.word(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN"]);
            text = format!("{text} {join} {next} ON {on}");
            tables.push(table);
        }
        (text, tables)
    }

    fn equality(&mut self, left: &Scope, right: &Scope) -> Option<String> {
        for _ in 0..6 {
            let (column, family) = self.chance.any_column(right);
            if matches!(family, Family::Text | Family::Double) {
                continue;
            }
            if let Some(other) = self.chance.column(left, family) {
                return Some(format!("{other} = {column}"));
            }
        }
        None
    }

    /// A condition that may hold subqueries.
    fn condition(&mut self, scope: &Scope, depth: u32, queries: u32) -> String {
        let plain = self.chance.condition(scope, depth);
        if queries == 0 || !self.chance.once_in(2) {
            return plain;
        }
        let subquery = self.subquery(scope, queries - 1);
        match self.chance.number(0, 4) {
            0 => format!("{plain} AND {subquery}"),
            1 => format!("({plain} OR {subquery})"),
            2 => format!("{plain} AND NOT {subquery}"),
            _ => subquery,
        }
    }

    /// A condition made of a subquery, which reads the outer row half of the time.
    fn subquery(&mut self, outer: &Scope, depth: u32) -> String {
        let (from, tables) = self.from(depth, 2);
        let inner = Scope::of(&tables);
        let mut condition = self.condition(&inner, 1, depth);
        if self.chance.once_in(2)
            && let Some(link) = self.equality(outer, &inner)
        {
            condition = format!("{condition} AND {link}");
        }
        let (family, value, column) = loop {
            let (column, family) = self.chance.any_column(&inner);
            if let Some(value) = self.chance.column(outer, family)
                && family != Family::Text
            {
                break (family, value, column);
            }
            if self.chance.once_in(20) {
                let value = self.chance.literal(Family::Integer);
                break (Family::Integer, value, format!("{}.id", tables[0].name).clone());
            }
        };
        let same = inner.columns.iter().any(|(name, one)| *name == column && *one == family);
        match self.chance.number(0, 6) {
            0 | 1 if same => format!(
                "{value} {}IN (SELECT {column} FROM {from} WHERE {condition})",
                self.chance.word(&["", "", "NOT "])
            ),
            2 if same => format!(
                "{value} {} {} (SELECT {column} FROM {from} WHERE {condition})",
                self.chance.word(&["=", "<", ">=", "<>"]),
                self.chance.word(&["ANY", "ALL"])
            ),
            3 if same => format!(
                "{value} {} (SELECT {}({column}) FROM {from} WHERE {condition})",
                self.chance.word(&["=", "<", ">=", "<=>"]),
                self.chance.word(&["MIN", "MAX"])
            ),
            4 => format!(
                "(SELECT COUNT(*) FROM {from} WHERE {condition}) {} {}",
                self.chance.word(&["=", "<", ">"]),
                self.chance.number(0, 4)
            ),
            _ => format!("EXISTS (SELECT 1 FROM {from} WHERE {condition})"),
        }
    }

    pub fn query(&mut self) -> String {
        match self.chance.number(0, 9) {
            0 | 1 => {
                let (from, tables) = self.from(1, 6);
                let scope = Scope::of(&tables);
                let values: Vec<String> =
                    (0..self.chance.number(1, 4)).map(|_| self.chance.settled(&scope, 2)).collect();
                let condition = self.condition(&scope, 2, 1);
                format!("SELECT {} FROM {from} WHERE {condition}", values.join(", "))
            }
            2 | 3 => {
                let (from, tables) = self.from(2, 3);
                let scope = Scope::of(&tables);
                let condition = self.condition(&scope, 1, 2);
                let value = self.chance.settled(&scope, 1);
                format!("SELECT {value}, COUNT(*) FROM {from} WHERE {condition} GROUP BY {value}")
            }
            4 => {
                let (from, tables) = self.from(1, 4);
                let scope = Scope::of(&tables);
                let (key, total) = (self.chance.settled(&scope, 1), self.chance.aggregate(&scope, 2));
                let (condition, other) = (self.condition(&scope, 1, 1), self.chance.aggregate(&scope, 1));
                let having = match self.chance.number(0, 2) {
                    0 => " HAVING COUNT(*) > 1".to_owned(),
                    1 => format!(" HAVING {other} IS NOT NULL"),
                    _ => String::new(),
                };
                format!("SELECT {key} AS k, {total}, {other} FROM {from} WHERE {condition} GROUP BY k{having}")
            }
            5 => {
                let (query, columns) = self.derived(2);
                let name = self.alias();
                let (a, b) = (self.alias(), self.alias());
                let one = Table { name: a.clone(), columns: columns.clone() };
                let two = Table { name: b.clone(), columns };
                let (left, right) = (Scope::of(&[one]), Scope::of(&[two]));
                let on = self.equality(&left, &right).unwrap_or_else(|| "TRUE".into());
                let value = self.chance.settled(&left.and(&right), 1);
                let condition = self.chance.condition(&left, 1);
                format!(
                    "WITH {name} AS ({query}) SELECT {value}, COUNT(*) FROM {name} {a} {} {name} {b} ON {on} WHERE \
                     {condition} GROUP BY {value}",
                    self.chance.word(&["JOIN", "LEFT JOIN"])
                )
            }
            6 => {
                let operator = self.chance.word(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
                let mut parts = Vec::new();
                let families: &[Family] = if self.chance.once_in(3) {
                    &[Family::Date, Family::Date]
                } else {
                    &[Family::Integer, Family::Decimal]
                };
                for _ in 0..self.chance.number(2, 3) {
                    let (from, tables) = self.from(1, 2);
                    let scope = Scope::of(&tables);
                    let family = *self.chance.one(families);
                    let (value, condition) = (self.chance.expression(&scope, family, 1), self.condition(&scope, 1, 1));
                    parts.push(format!("SELECT {value} FROM {from} WHERE {condition}"));
                }
                parts.join(&format!(" {operator} "))
            }
            7 => {
                let (source, table) = self.source(0);
                let scope = Scope::of(std::slice::from_ref(&table));
                let (partition, condition) = (self.chance.settled(&scope, 0), self.condition(&scope, 1, 1));
                let (alias, total) = (&table.name, self.chance.running(&scope));
                let frame = self.chance.word(&[
                    "",
                    " ROWS 1 PRECEDING",
                    " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
                    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                ]);
                format!(
                    "SELECT {alias}.id, {total} OVER (PARTITION BY COALESCE({partition}) ORDER BY {alias}.id{frame}) FROM {source} \
                     WHERE {condition}"
                )
            }
            8 => {
                let (source, table) = self.source(0);
                let scope = Scope::of(std::slice::from_ref(&table));
                let inner = self.chance.one(&self.tables).clone();
                let alias = self.alias();
                let inside = Scope::of(&[Table { name: alias.clone(), columns: inner.columns }]);
                let (total, condition) = (self.chance.aggregate(&inside, 1), self.chance.condition(&inside, 1));
                let link = self.equality(&scope, &inside).unwrap_or_else(|| "TRUE".into());
                format!(
                    "SELECT {}.id, (SELECT {total} FROM {} {alias} WHERE {condition} AND {link}) FROM {source}",
                    table.name, inner.name
                )
            }
            _ => {
                let (source, table) = self.source(0);
                let scope = Scope::of(std::slice::from_ref(&table));
                let condition = self.condition(&scope, 2, 2);
                let order = self.chance.settled(&scope, 1);
                format!(
                    "SELECT {0}.* FROM {source} WHERE {condition} ORDER BY {order}, {0}.id LIMIT {1}",
                    table.name,
                    self.chance.number(0, 12)
                )
            }
        }
    }

    /// A change, and the table whose rows it changes.
    pub fn change(&mut self) -> (String, String) {
        let table = self.chance.one(&self.tables).clone();
        let own = Scope::of(std::slice::from_ref(&table));
        let target = table.name.clone();
        let others = std::mem::take(&mut self.tables);
        // A subquery does not read the table that the statement changes (1093 in MySQL).
        self.tables = others.iter().filter(|other| other.name != target).cloned().collect();
        let statement = match self.chance.number(0, 5) {
            0 => {
                let first = self.chance.number(1, 60);
                let count = self.chance.number(1, 4);
                self.chance.rows(&table, first, count)
            }
            1 => {
                let condition = self.condition(&own, 1, 1);
                format!("DELETE FROM {target} WHERE {condition} AND {target}.id > 5")
            }
            2 | 3 => {
                let condition = self.condition(&own, 1, 2);
                let column = self.chance.one(&table.columns[1..]).clone();
                let value = self.chance.stored(&column);
                format!("UPDATE IGNORE {target} SET {} = {value} WHERE {condition}", column.name)
            }
            4 => {
                let (source, read) = self.source(0);
                let scope = Scope::of(std::slice::from_ref(&read));
                let values: Vec<String> = table.columns[1..]
                    .iter()
                    .map(|column| match self.chance.column(&scope, column.family) {
                        Some(other) if column.family == Family::Date && column.nullable => other,
                        Some(other) if column.definition == "BIGINT" && column.nullable => format!("{other} % 50"),
                        _ => self.chance.stored(column),
                    })
                    .collect();
                let condition = self.condition(&scope, 1, 1);
                let values = values.join(", ");
                format!(
                    "INSERT IGNORE INTO {target} SELECT {}.id + 60, {values} FROM {source} WHERE {condition}",
                    read.name
                )
            }
            _ => {
                let other = self.chance.one(&self.tables).clone();
                let alias = self.alias();
                let joined = Scope::of(&[Table { name: alias.clone(), columns: other.columns.clone() }]);
                let on = self.equality(&own, &joined).unwrap_or_else(|| format!("{target}.id = {alias}.id"));
                let condition = self.condition(&joined, 1, 1);
                match self.chance.number(0, 1) {
                    0 => format!(
                        "DELETE {target} FROM {target} JOIN {} {alias} ON {on} WHERE {condition} AND {target}.id > 8",
                        other.name
                    ),
                    _ => {
                        let column = self.chance.one(&table.columns[1..]).clone();
                        let value = self.chance.stored(&column);
                        format!(
                            "UPDATE IGNORE {target} JOIN {} {alias} ON {on} SET {target}.{} = {value} WHERE {condition}",
                            other.name, column.name
                        )
                    }
                }
            }
        };
        self.tables = others;
        (statement, target)
    }
}

/// Whether both servers are known to differ in this way.
pub fn is_known(how: &str) -> bool {
    // MariaDB refuses more mixtures of collations.
    ["oracle: ERROR 1267", "oracle: ERROR 1270", "oracle: ERROR 1271"].iter().any(|refused| how.contains(refused))
}
