//! Random stored programs: functions, procedures and triggers of nested blocks, loops, cursors and handlers.
//!
//! A program writes what it passes into `@t`, which no rollback undoes. After each call this text, the variables, what
//! the call sent and the tables must be the same on both servers. Every loop ends by a counter of its own.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::rounds::{Outcome, Round, play};
use super::tables::Chance;

#[test]
fn random_programs_are_answered_as_by_mariadb() {
    play("oracle-programs", 1, is_known, |round, seed| {
        Author::new(seed).play(round);
    });
}

/// Where both servers are known to differ.
fn is_known(_: &str, how: &str, _: &str) -> bool {
    // MariaDB describes the columns of a query before it fails, when a handler lets the program go on.
    how.contains("columns: ours []")
        // IGNORE makes a warning of it also in a function, as in MySQL.
        || how.contains("oracle: ERROR 1365")
        // A zero date in a comparison.
        || how.contains("Incorrect datetime value: '0000-00-00")
}

/// What a statement may be part of.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Procedure,
    Function,
    /// With OLD, NEW, and whether NEW may be set.
    Trigger(bool, bool, bool),
}

/// What a statement sees.
#[derive(Clone, Default)]
struct Scope {
    variables: Vec<(String, Kind)>,
    /// Labels that LEAVE takes, and whether ITERATE does.
    labels: Vec<(String, bool)>,
    cursors: Vec<String>,
    conditions: Vec<String>,
    in_handler: bool,
}

struct Author {
    chance: Chance,
    place: Place,
    /// Numbers names.
    named: u32,
    /// How many statements a program may still get, and how many calls.
    left: i64,
    calls: i64,
    functions: Vec<Kind>,
    procedures: Vec<usize>,
    /// A statement that changes a table reads no other rows of it in MySQL (1093): what subqueries read then.
    changes: bool,
}

/// What can be computed with and compared without a conversion.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    /// Beside numbers they may or may not get digits behind the point.
    Fraction,
    Text,
    Day,
}

const TYPES: [(&str, Kind); 14] = [
    ("INT", Kind::Number),
    ("INT", Kind::Number),
    ("TINYINT", Kind::Number),
    ("TINYINT UNSIGNED", Kind::Number),
    ("BIGINT UNSIGNED", Kind::Number),
    ("DECIMAL(4,1)", Kind::Fraction),
    ("MEDIUMINT", Kind::Number),
    ("VARCHAR(4)", Kind::Text),
    ("VARCHAR(40)", Kind::Text),
    ("CHAR(3)", Kind::Text),
    ("TEXT", Kind::Text),
    ("VARCHAR(6)", Kind::Text),
    ("DATE", Kind::Day),
    ("DATETIME", Kind::Day),
];

/// What is written of a condition. Of what does not fit a column the servers have several numbers.
const TOLD: &str = "IF(@e IN (1264, 1265, 1292, 1366, 1406, 1416, 3819, 4025), 'value', CONCAT(@s, ':', @e)), ' '";

/// Not those of values that do not fit, which have other numbers and states in MariaDB.
const STATES: [&str; 11] = [
    "SQLEXCEPTION",
    "SQLEXCEPTION",
    "SQLEXCEPTION",
    "SQLWARNING",
    "NOT FOUND",
    "NOT FOUND",
    "SQLSTATE '45000'",
    "SQLSTATE '23000'",
    "SQLSTATE '02000'",
    "1062",
    "1329",
];

impl Author {
    fn new(seed: u64) -> Author {
        Author {
            chance: Chance(StdRng::seed_from_u64(seed)),
            place: Place::Procedure,
            named: 0,
            left: 0,
            calls: 0,
            functions: Vec::new(),
            procedures: Vec::new(),
            changes: false,
        }
    }

    fn play(mut self, round: &mut Round<'_>) {
        round.change("SET max_sp_recursion_depth = 2");
        self.mode(round);
        for table in [
            "p (id INT PRIMARY KEY, a TINYINT, s VARCHAR(4) NOT NULL, UNIQUE (a))",
            "q (id INT PRIMARY KEY, a INT, s VARCHAR(9), d DECIMAL(5,2))",
            "k (id INT PRIMARY KEY, a INT, s VARCHAR(9))",
            "l (w VARCHAR(20))",
        ] {
            round.change(&format!("CREATE TABLE {table}"));
        }
        round.change("INSERT INTO p VALUES (1, 1, 'a'), (2, NULL, 'b'), (3, 5, ''), (4, 7, 'abcd')");
        round.change("INSERT INTO k VALUES (1, 3, 'k'), (2, NULL, NULL), (3, 70000, '2024-01-31')");
        round.change("INSERT INTO q VALUES (1, 10, 'x', 1.25), (2, NULL, NULL, NULL), (3, 5, '12', -3)");
        for _ in 0..self.chance.number(1, 2) {
            self.function(round);
        }
        for _ in 0..self.chance.number(0, 2) {
            self.trigger(round);
        }
        for _ in 0..self.chance.number(1, 3) {
            self.procedure(round);
        }
        for _ in 0..self.chance.number(6, 14) {
            if !round.goes_on() {
                return;
            }
            if self.chance.once_in(6) {
                self.mode(round);
            }
            round.change("SET @t = '', @a = 1, @b = 'b', @c = NULL");
            let statement = self.call();
            round.call(&statement);
            round.ask("SELECT @t, @a, @b, @c, @@autocommit, @@in_transaction");
            for table in ["p", "q", "l"] {
                round.ask(&format!("SELECT * FROM {table}"));
            }
            if self.chance.once_in(4) {
                round.change("ROLLBACK");
            }
        }
    }

    fn mode(&mut self, round: &mut Round<'_>) {
        round.set_mode(self.chance.word(&[
            "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
            "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
            "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE",
            "",
        ]));
    }

    fn name(&mut self, letter: &str) -> String {
        self.named += 1;
        format!("{letter}{}", self.named)
    }

    fn begin(&mut self, place: Place, statements: i64) {
        // What a function that fails has changed stays in MariaDB, if a function or trigger that calls it handles that.
        let calls = if place == Place::Procedure { 2 } else { 0 };
        (self.place, self.left, self.calls) = (place, statements, calls);
    }

    fn function(&mut self, round: &mut Round<'_>) {
        let statements = self.chance.number(3, 10);
        self.begin(Place::Function, statements);
        let ((returns, result), (takes, kind)) = (self.typed(), self.typed());
        let scope = Scope { variables: vec![("x".into(), kind)], ..Scope::default() };
        let body = self.block(&scope, 3);
        let number = self.functions.len();
        let statement = format!("CREATE FUNCTION f{number}(x {takes}) RETURNS {returns} DETERMINISTIC {body}");
        if let Outcome::Done(_) = round.change(&statement) {
            self.functions.push(result);
        }
    }

    fn procedure(&mut self, round: &mut Round<'_>) {
        let statements = self.chance.number(4, 18);
        self.begin(Place::Procedure, statements);
        let count = self.chance.number(0, 3) as usize;
        let mut scope = Scope::default();
        let parameters: Vec<String> = (0..count)
            .map(|number| {
                let (way, (takes, kind)) = (self.chance.word(&["IN", "OUT", "INOUT"]), self.typed());
                scope.variables.push((format!("x{number}"), kind));
                format!("{way} x{number} {takes}")
            })
            .collect();
        let body = self.block(&scope, 4);
        let number = self.procedures.len();
        let statement = format!("CREATE PROCEDURE r{number}({}) {body}", parameters.join(", "));
        if let Outcome::Done(_) = round.change(&statement) {
            self.procedures.push(count);
        }
    }

    fn trigger(&mut self, round: &mut Round<'_>) {
        let (time, event) = (self.chance.word(&["BEFORE", "AFTER"]), self.chance.word(&["INSERT", "UPDATE", "DELETE"]));
        let place = Place::Trigger(event != "INSERT", event != "DELETE", time == "BEFORE" && event != "DELETE");
        let statements = self.chance.number(2, 6);
        self.begin(place, statements);
        let (name, table) = (self.name("t"), self.chance.word(&["p", "q"]));
        let body = self.block(&Scope::default(), 3);
        round.change(&format!("CREATE TRIGGER {name} {time} {event} ON {table} FOR EACH ROW {body}"));
    }

    /// A statement outside of programs.
    fn call(&mut self) -> String {
        self.begin(Place::Procedure, 1);
        let scope = Scope::default();
        match self.chance.number(0, 7) {
            0..=4 if !self.procedures.is_empty() => {
                let number = self.chance.number(0, self.procedures.len() as i64 - 1) as usize;
                format!("CALL r{number}({})", ["@a", "@b", "@c"][..self.procedures[number]].join(", "))
            }
            5 if !self.functions.is_empty() => {
                let (function, column) =
                    (self.chance.number(0, self.functions.len() as i64 - 1), self.chance.word(&["a", "s"]));
                format!("SELECT f{function}({column}) FROM q ORDER BY id")
            }
            _ => self.change(&scope),
        }
    }

    /// A value of any kind, which a target converts.
    fn any(&mut self, scope: &Scope, depth: u32) -> String {
        let kind = *self.chance.one(&[Kind::Number, Kind::Number, Kind::Fraction, Kind::Text, Kind::Text, Kind::Day]);
        match self.chance.once_in(15) {
            true => self.chance.word(&["1.5", "99.95", "-0.05", "1e3"]).to_owned(),
            false => self.value(scope, kind, depth),
        }
    }

    fn value(&mut self, scope: &Scope, kind: Kind, depth: u32) -> String {
        if depth == 0 || self.chance.once_in(3) {
            let is_of = |(name, of): &(String, Kind)| (*of == kind).then(|| name.clone());
            let mut known: Vec<String> = scope.variables.iter().filter_map(is_of).collect();
            if let Place::Trigger(old, new, _) = self.place {
                let column = if kind == Kind::Number { "a" } else { "s" };
                let has_column = matches!(kind, Kind::Number | Kind::Text);
                known.extend(old.then(|| format!("OLD.{column}")).filter(|_| has_column));
                known.extend(new.then(|| format!("NEW.{column}")).filter(|_| has_column));
            }
            return match known.is_empty() || self.chance.once_in(3) {
                true => self.literal(kind),
                false => self.chance.one(&known).clone(),
            };
        }
        let (a, b) = (self.value(scope, kind, depth - 1), self.value(scope, kind, depth - 1));
        let text = match (kind, self.chance.number(0, 5)) {
            (_, 0) => format!("IFNULL({a}, {b})"),
            (_, 1) => format!("IF({}, {a}, {b})", self.condition(scope)),
            (Kind::Number, 2) => format!("({a} + 1)"),
            (Kind::Number, 3) => format!("({a} * 100)"),
            (Kind::Number, 4) => format!("({a} - {b})"),
            (Kind::Number, _) => format!("({a} DIV {b})"),
            (Kind::Text, 2 | 3) => format!("CONCAT({a}, 'z')"),
            (Kind::Text, 4) => format!("UPPER({a})"),
            (Kind::Day, 2) => format!("({a} + INTERVAL 1 DAY)"),
            _ => a,
        };
        if kind == Kind::Fraction {
            return text;
        }
        let (column, table) = (if kind == Kind::Number { "a" } else { "s" }, self.chance.word(&["p", "q"]));
        let table = if self.changes { "k" } else { table };
        match self.chance.number(0, 9) {
            0 if kind != Kind::Day => format!("(SELECT {column} FROM {table} WHERE id = {})", self.chance.number(1, 6)),
            1 if kind == Kind::Number => {
                format!("(SELECT {} FROM {table})", self.chance.word(&["MAX(a)", "COUNT(*)", "a"]))
            }
            2 if kind == Kind::Number => format!("LENGTH({})", self.value(scope, Kind::Text, depth - 1)),
            3 | 4 if self.calls > 0 => {
                let functions: Vec<usize> =
                    (0..self.functions.len()).filter(|at| self.functions[*at] == kind).collect();
                if functions.is_empty() {
                    return text;
                }
                self.calls -= 1;
                format!("f{}({text})", self.chance.one(&functions))
            }
            _ => text,
        }
    }

    fn literal(&mut self, kind: Kind) -> String {
        let literals: &[&'static str] = match kind {
            Kind::Number => &["NULL", "0", "1", "2", "3", "5", "-1", "127", "130", "300", "70000"],
            Kind::Fraction => &["1.5", "99.5", "-0.5", "7.0"],
            Kind::Text => &["NULL", "'a'", "'abc'", "'abcdef'", "'12'", "'3x'", "''", "'B'", "'2024-02-30'"],
            Kind::Day => &["DATE '2024-02-28'", "TIMESTAMP '2024-01-31 10:00:00'", "DATE '1999-12-31'"],
        };
        self.chance.word(literals).to_owned()
    }

    fn kind(&mut self) -> Kind {
        *self.chance.one(&[Kind::Number, Kind::Number, Kind::Text])
    }

    fn condition(&mut self, scope: &Scope) -> String {
        let kind = *self.chance.one(&[Kind::Number, Kind::Number, Kind::Text, Kind::Day]);
        let (a, b) = (self.value(scope, kind, 1), self.value(scope, kind, 0));
        match self.chance.number(0, 4) {
            0 => format!("{a} IS NULL"),
            1 if kind == Kind::Number => a,
            _ => format!("{a} {} {b}", self.chance.word(&["=", "<", ">=", "<>", "<=>"])),
        }
    }

    /// A type for a variable.
    fn typed(&mut self) -> (&'static str, Kind) {
        *self.chance.one(&TYPES)
    }

    /// The name of a variable.
    fn variable(&mut self, scope: &Scope) -> String {
        self.chance.one(&scope.variables).0.clone()
    }

    fn mark(&mut self) -> String {
        self.named += 1;
        format!("SET @t = CONCAT(@t, '{} ')", self.named)
    }

    /// A block, without the semicolon behind it.
    fn block(&mut self, outer: &Scope, depth: u32) -> String {
        let mut scope = outer.clone();
        let (mut declared, mut parts, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.chance.number(0, 3) {
            // Some have the name of one outside.
            let name = match outer.variables.is_empty() || !self.chance.once_in(5) {
                true => self.name("v"),
                false => self.variable(outer),
            };
            let (of_type, kind) = self.typed();
            if own.contains(&name) {
                continue;
            }
            let default = match self.chance.number(0, 2) {
                0 => String::new(),
                _ => format!(" DEFAULT {}", self.assigned(&scope, 1)),
            };
            declared.push(format!("DECLARE {name} {of_type}{default}"));
            own.push(name.clone());
            scope.variables.retain(|(other, _)| *other != name);
            scope.variables.push((name, kind));
        }
        if self.chance.once_in(5) {
            let name = self.name("n");
            let of = self.chance.word(&["1062", "1329", "SQLSTATE '45000'", "SQLSTATE '22012'", "1365"]);
            parts.push(format!("DECLARE {name} CONDITION FOR {of}"));
            scope.conditions.push(name);
        }
        if self.chance.once_in(3) {
            let (name, value) = (self.name("c"), self.any(&scope, 0));
            let query = match self.chance.number(0, 3) {
                0 => format!("SELECT id, s FROM p WHERE id > {} ORDER BY id", self.chance.number(0, 3)),
                1 => "SELECT a, s FROM q ORDER BY id".to_owned(),
                2 => format!("SELECT id, {value} FROM q ORDER BY id"),
                _ => "SELECT x.id, y.s FROM p x JOIN q y ON x.id = y.id ORDER BY x.id".to_owned(),
            };
            // A row that does not fit its variables confuses MariaDB's cursor: here each does.
            declared.push(format!("DECLARE {name}_0, {name}_1 VARCHAR(99)"));
            parts.push(format!("DECLARE {name} CURSOR FOR {query}"));
            scope.variables.extend([0, 1].map(|number| (format!("{name}_{number}"), Kind::Text)));
            scope.cursors.push(name);
        }
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..*self.chance.one(&[0, 1, 1, 2]) {
            let mut of: Vec<String> = Vec::new();
            for _ in 0..self.chance.number(1, 2) {
                let state = match scope.conditions.is_empty() || self.chance.once_in(2) {
                    true => (*self.chance.one(&STATES)).to_owned(),
                    false => self.chance.one(&scope.conditions).clone(),
                };
                // A block has one handler of a condition.
                if !taken.contains(&state) && !scope.conditions.contains(&state) {
                    taken.push(state.clone());
                    of.push(state);
                }
            }
            if of.is_empty() {
                continue;
            }
            let inner = Scope { labels: Vec::new(), in_handler: true, ..scope.clone() };
            let action = match self.chance.number(0, 4) {
                0 | 1 => self.mark(),
                2 => self.block(&inner, depth.saturating_sub(2)),
                3 => format!(
                    "BEGIN GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @e = MYSQL_ERRNO; SET @t = CONCAT(@t, {TOLD}); {} \
                     END",
                    self.chance.word(&["", "", "RESIGNAL;", "RESIGNAL SQLSTATE '45001';"])
                ),
                _ => format!("BEGIN {}; {}; END", self.mark(), self.statement(&inner, 0)),
            };
            let kind = self.chance.word(&["CONTINUE", "CONTINUE", "EXIT"]);
            parts.push(format!("DECLARE {kind} HANDLER FOR {} {action}", of.join(", ")));
        }
        let label = self.name("b");
        scope.labels.push((label.clone(), false));
        for _ in 0..self.chance.number(1, 5) {
            parts.push(self.statement(&scope, depth));
        }
        if self.place == Place::Function && !scope.in_handler && !self.chance.once_in(12) {
            parts.push(format!("RETURN {}", self.any(&scope, 1)));
        }
        declared.extend(parts);
        format!("{label}: BEGIN {}; END {label}", declared.join("; "))
    }

    fn statements(&mut self, scope: &Scope, depth: u32) -> String {
        let statements: Vec<String> = (0..self.chance.number(1, 3)).map(|_| self.statement(scope, depth)).collect();
        statements.join("; ")
    }

    fn statement(&mut self, scope: &Scope, depth: u32) -> String {
        self.left -= 1;
        let depth = if self.left < 0 { 0 } else { depth };
        match self.chance.number(0, if depth == 0 { 13 } else { 21 }) {
            0 | 1 => self.mark(),
            2..=4 => self.assignment(scope),
            5 | 6 => self.change(scope),
            7 => self.into(scope),
            8 => self.signal(scope),
            9 | 10 => self.cursor(scope),
            11 => self.jump(scope),
            12 | 13 => match self.place {
                Place::Procedure => self.of_procedure(scope),
                _ => self.assignment(scope),
            },
            14 | 15 => self.block(scope, depth - 1),
            16 | 17 => self.turns(scope, depth - 1),
            18 | 19 => {
                let (condition, one) = (self.condition(scope), self.statements(scope, depth - 1));
                let other = match self.chance.number(0, 2) {
                    0 => String::new(),
                    1 => format!("ELSE {}; ", self.statements(scope, depth - 1)),
                    _ => format!("ELSEIF {} THEN {}; ", self.condition(scope), self.statements(scope, depth - 1)),
                };
                format!("IF {condition} THEN {one}; {other}END IF")
            }
            _ => {
                let kind = self.kind();
                let subject = if self.chance.once_in(2) { self.value(scope, kind, 1) } else { String::new() };
                let mut text = format!("CASE {subject}");
                for _ in 0..self.chance.number(1, 2) {
                    let when = if subject.is_empty() { self.condition(scope) } else { self.value(scope, kind, 0) };
                    text += &format!(" WHEN {when} THEN {};", self.statements(scope, depth - 1));
                }
                if !self.chance.once_in(3) {
                    text += &format!(" ELSE {};", self.statement(scope, depth - 1));
                }
                text + " END CASE"
            }
        }
    }

    /// A value for a variable. What a function has changed stays, if its result does not fit the variable: here it does not
    /// call any.
    fn assigned(&mut self, scope: &Scope, depth: u32) -> String {
        let calls = std::mem::take(&mut self.calls);
        let value = self.any(scope, depth);
        self.calls = calls;
        value
    }

    fn assignment(&mut self, scope: &Scope) -> String {
        if let Place::Trigger(_, _, true) = self.place
            && self.chance.once_in(2)
        {
            // A field whose new value is an error keeps a part of it in MariaDB.
            let fits =
                ["NEW.a = NULL", "NEW.a = 9", "NEW.a = 4", "NEW.s = 'n'", "NEW.s = LEFT(NEW.s, 1)", "NEW.s = NEW.a"];
            return format!("SET {}", self.chance.word(&fits));
        }
        let value = self.assigned(scope, 2);
        match scope.variables.is_empty() || self.chance.once_in(6) {
            true => format!("SET @{} = {value}", self.chance.word(&["a", "b"])),
            false if self.chance.once_in(5) => {
                let (one, other) = (self.variable(scope), self.variable(scope));
                format!("SET {one} = {value}, {other} = {}", self.assigned(scope, 1))
            }
            false => format!("SET {} = {value}", self.variable(scope)),
        }
    }

    /// A change of rows.
    fn change(&mut self, scope: &Scope) -> String {
        self.changes = true;
        let change = self.change_of_rows(scope);
        self.changes = false;
        change
    }

    fn change_of_rows(&mut self, scope: &Scope) -> String {
        let (a, s, d) = (self.any(scope, 1), self.any(scope, 1), self.any(scope, 0));
        let (id, other) = (self.chance.number(1, 9), self.chance.number(1, 9));
        let ignore = self.chance.word(&["", "", "", " IGNORE"]);
        // Functions and triggers write one table only: what they could change elsewhere MariaDB looks through beforehand.
        let is_inner = self.place != Place::Procedure;
        match if is_inner { 9 } else { self.chance.number(0, 9) } {
            0 | 1 => format!("INSERT{ignore} INTO p VALUES ({id}, {a}, {s})"),
            2 => format!("INSERT{ignore} INTO p VALUES ({id}, {a}, 'x'), ({other}, {}, {s})", self.any(scope, 0)),
            3 => format!("INSERT INTO q VALUES ({id}, {a}, {s}, {d})"),
            4 => format!("UPDATE{ignore} p SET a = {a} WHERE id = {id}"),
            5 => format!("UPDATE{ignore} q SET s = {s}, d = {d} WHERE id < {id} ORDER BY id"),
            6 => format!("DELETE FROM {} WHERE id = {id}", self.chance.word(&["p", "q"])),
            7 => format!("REPLACE INTO p VALUES ({id}, {a}, 'r')"),
            8 => format!("INSERT INTO q VALUES ({id}, {a}, 'n', 1) ON DUPLICATE KEY UPDATE s = {s}"),
            _ => format!("INSERT INTO l VALUES ({a})"),
        }
    }

    fn into(&mut self, scope: &Scope) -> String {
        let targets: Vec<String> = (0..2)
            .map(|_| match scope.variables.is_empty() || self.chance.once_in(4) {
                true => self.chance.word(&["@a", "@b", "@c"]).to_owned(),
                false => self.variable(scope),
            })
            .collect();
        let condition = match self.chance.number(0, 3) {
            0 => "".to_owned(),
            _ => format!(" WHERE id = {}", self.chance.number(1, 8)),
        };
        format!("SELECT id, s INTO {} FROM {}{condition}", targets.join(", "), self.chance.word(&["p", "q"]))
    }

    fn signal(&mut self, scope: &Scope) -> String {
        if scope.in_handler && self.chance.once_in(2) {
            return self
                .chance
                .word(&["RESIGNAL", "RESIGNAL SET MYSQL_ERRNO = 1900", "RESIGNAL SQLSTATE '45002'"])
                .into();
        }
        match self.chance.number(0, 5) {
            0 => "SIGNAL SQLSTATE '01000' SET MYSQL_ERRNO = 1300".into(),
            1 => "SIGNAL SQLSTATE '02000'".into(),
            2 => "SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = 'twice'".into(),
            3 => "SIGNAL SQLSTATE '45000'".into(),
            _ => self.mark(),
        }
    }

    fn cursor(&mut self, scope: &Scope) -> String {
        if scope.cursors.is_empty() {
            return self.assignment(scope);
        }
        let cursor = self.chance.one(&scope.cursors).clone();
        match self.chance.number(0, 5) {
            0 | 1 => format!("OPEN {cursor}"),
            2 => format!("CLOSE {cursor}"),
            _ => format!("FETCH {cursor} INTO {cursor}_0, {cursor}_1"),
        }
    }

    fn jump(&mut self, scope: &Scope) -> String {
        if self.place == Place::Function && !scope.in_handler && self.chance.once_in(3) {
            return format!("RETURN {}", self.any(scope, 1));
        }
        if scope.labels.is_empty() {
            return self.mark();
        }
        let (label, turns) = self.chance.one(&scope.labels).clone();
        let verb = if turns { self.chance.word(&["ITERATE", "LEAVE"]) } else { "LEAVE" };
        format!("IF {} THEN {verb} {label}; END IF", self.condition(scope))
    }

    /// A loop.
    fn turns(&mut self, scope: &Scope, depth: u32) -> String {
        let (label, counter) = (self.name("w"), self.name("i"));
        let mut inner = scope.clone();
        inner.labels.push((label.clone(), true));
        let most = self.chance.number(1, 4);
        let mut body = format!(
            "SET {counter} = {counter} + 1; IF {counter} > {most} THEN LEAVE {label}; END IF; {}",
            self.statements(&inner, depth)
        );
        let mut open = String::new();
        if let Some(cursor) = scope.cursors.first().cloned()
            && self.chance.once_in(2)
        {
            open = format!("OPEN {cursor}; ");
            body = format!(
                "{body}; FETCH {cursor} INTO {cursor}_0, {cursor}_1; SET @t = CONCAT(@t, IFNULL({cursor}_1, '-'), ' ')"
            );
        }
        let condition = self.condition(scope);
        let text = match self.chance.number(0, 2) {
            0 => format!("{label}: LOOP {body}; END LOOP {label}"),
            1 => format!("{label}: WHILE {counter} < {} DO {body}; END WHILE {label}", most - 1),
            _ => format!("{label}: REPEAT {body}; UNTIL {condition} END REPEAT {label}"),
        };
        format!("BEGIN DECLARE {counter} INT DEFAULT 0; {open}{text}; END")
    }

    /// What functions and triggers may not do.
    fn of_procedure(&mut self, scope: &Scope) -> String {
        match self.chance.number(0, 8) {
            0 => format!("SELECT {}, {}", self.any(scope, 1), self.any(scope, 1)),
            1 => "SELECT id, a, s FROM p ORDER BY id".into(),
            2 => "START TRANSACTION".into(),
            3 => self.chance.word(&["COMMIT", "ROLLBACK"]).into(),
            4 => self.chance.word(&["SAVEPOINT a", "ROLLBACK TO a", "RELEASE SAVEPOINT a"]).into(),
            5 => format!(
                "PREPARE s FROM '{}'; EXECUTE s{}; DEALLOCATE PREPARE s",
                self.chance.word(&["INSERT INTO q VALUES (?, ?, 7, 8)", "SELECT ?, a + ? FROM p ORDER BY id"]),
                self.chance.word(&[" USING @a, @b", " USING @a, @c", ""])
            ),
            _ if self.calls > 0 && !self.procedures.is_empty() => {
                self.calls -= 1;
                let number = self.chance.number(0, self.procedures.len() as i64 - 1) as usize;
                let count = self.procedures[number];
                let mut arguments = Vec::new();
                for _ in 0..count {
                    arguments.push(match scope.variables.is_empty() {
                        true => self.chance.word(&["@a", "@b"]).to_owned(),
                        false => self.variable(scope),
                    });
                }
                format!("CALL r{number}({})", arguments.join(", "))
            }
            _ => self.mark(),
        }
    }
}
