//! What a replay has to know of a statement: its first word, the tables that it names and those that it changes,
//! and whether its answer is decided by what it says.
//!
//! Statements are split into tokens and not parsed. A name that is taken for a table by mistake costs a
//! comparison at worst, so the rules lean to that side.

/// A piece of a statement. Words and names are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Word(String),
    /// In backquotes.
    Name(String),
    /// In quotes.
    Text,
    Number(String),
    /// `@a`, `@@b`.
    Variable(String),
    Symbol(char),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(own) if own == word)
    }
}

/// A table as it is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    pub database: Option<String>,
    pub table: String,
}

/// A statement in tokens.
#[derive(Debug, Clone)]
pub struct Statement {
    pub tokens: Vec<Token>,
    /// The first word, or nothing.
    pub verb: String,
}

/// What a statement does to the tables that it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    Nothing,
    /// Their rows.
    Rows(Vec<TableName>),
    /// Their definition: they are made, altered, renamed or dropped.
    Definition(Vec<TableName>),
    /// A whole database.
    Database(String),
    /// Something that the text does not tell, as CALL does.
    Anything,
}

/// Words that may stand between a keyword and the table it announces.
const BEFORE_TABLES: &[&str] = &[
    "low_priority",
    "high_priority",
    "delayed",
    "ignore",
    "quick",
    "if",
    "not",
    "exists",
    "only",
    "into",
    "table",
    "tables",
    "temporary",
    "local",
    "from",
    "online",
    "offline",
    "extended",
    "partitions",
    "lateral",
];

/// Words that end a list of tables, and so are no alias.
const AFTER_TABLES: &[&str] = &[
    "where",
    "set",
    "on",
    "using",
    "join",
    "left",
    "right",
    "inner",
    "cross",
    "natural",
    "straight_join",
    "order",
    "group",
    "having",
    "limit",
    "union",
    "values",
    "value",
    "select",
    "force",
    "use",
    "ignore",
    "for",
    "lock",
    "add",
    "drop",
    "modify",
    "change",
    "rename",
    "engine",
    "to",
    "like",
    "partition",
    "read",
    "write",
    "procedure",
    "with",
    "except",
    "intersect",
    "window",
];

/// Functions whose values two servers cannot share.
const UNDECIDED_FUNCTIONS: &[&str] = &[
    "rand",
    "uuid",
    "uuid_short",
    "sys_guid",
    "connection_id",
    "version",
    "sysdate",
    "user",
    "current_user",
    "session_user",
    "system_user",
    "found_rows",
    "benchmark",
    "sleep",
    "random_bytes",
    "encrypt",
    "load_file",
    "row_count",
    "database_version",
    "rownum",
];

impl Statement {
    pub fn new(text: &str) -> Statement {
        let tokens = tokens(text);
        let verb = tokens
            .iter()
            .find_map(|token| match token {
                Token::Symbol('(') => None,
                Token::Word(word) => Some(word.clone()),
                _ => Some(String::new()),
            })
            .unwrap_or_default();
        Statement { tokens, verb }
    }

    pub fn has(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| token.is(word))
    }

    /// Whether these words stand in a row somewhere.
    pub fn has_in_a_row(&self, words: &[&str]) -> bool {
        self.tokens.windows(words.len()).any(|window| window.iter().zip(words).all(|(token, word)| token.is(word)))
    }

    pub fn starts_with(&self, words: &[&str]) -> bool {
        self.tokens.len() >= words.len() && self.tokens.iter().zip(words).all(|(token, word)| token.is(word))
    }

    /// Every table that the statement names, as far as the words before the names tell.
    pub fn tables(&self) -> Vec<TableName> {
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let Token::Word(word) = token else { continue };
            match word.as_str() {
                "from" | "join" | "straight_join" | "into" | "update" | "table" | "tables" | "view" | "references"
                | "truncate" | "describe" | "desc" | "explain" | "like" | "replace" | "insert" | "to" | "handler"
                | "using" | "on" | "trigger" => {
                    self.list(at + 1, &mut found);
                }
                _ => {}
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// Every routine that the statement names: what is called, made or dropped. Their names end with `()`.
    pub fn routines(&self) -> Vec<TableName> {
        let mut found = Vec::new();
        let named = |at: usize| -> Option<TableName> {
            let table = format!("{}()", self.any_name(at)?);
            let dot = at > 1 && self.tokens[at - 1] == Token::Symbol('.');
            Some(TableName { database: self.any_name(at.wrapping_sub(2)).filter(|_| dot), table })
        };
        for (at, pair) in self.tokens.windows(2).enumerate() {
            if pair[1] == Token::Symbol('(') {
                found.extend(named(at));
            }
            let makes = ["create", "drop", "alter", "call"].contains(&self.verb.as_str());
            if makes && ["call", "function", "procedure", "exists"].iter().any(|word| pair[0].is(word)) {
                let qualified = self.tokens.get(at + 2) == Some(&Token::Symbol('.'));
                found.extend(named(if qualified { at + 3 } else { at + 1 }));
            }
        }
        found
    }

    /// What the statement changes.
    pub fn changes(&self) -> Changes {
        let rest = |at: usize| {
            let mut found = Vec::new();
            self.list(at, &mut found);
            found
        };
        match self.verb.as_str() {
            "insert" | "replace" => Changes::Rows(rest(1).into_iter().take(1).collect()),
            "load" => match self.position("table") {
                Some(at) => Changes::Rows(rest(at + 1).into_iter().take(1).collect()),
                None => Changes::Anything,
            },
            "update" => {
                let mut found = Vec::new();
                let end = self.position("set").unwrap_or(self.tokens.len());
                self.list(1, &mut found);
                for (at, token) in self.tokens[..end].iter().enumerate() {
                    if ["join", "straight_join"].iter().any(|word| token.is(word)) {
                        self.list(at + 1, &mut found);
                    }
                }
                Changes::Rows(found)
            }
            "delete" => Changes::Rows(self.tables()),
            "truncate" => Changes::Rows(rest(1)),
            "create" | "drop" | "alter" | "rename" | "optimize" | "repair" => self.definition(),
            "call" | "execute" => Changes::Anything,
            _ => Changes::Nothing,
        }
    }

    fn definition(&self) -> Changes {
        let object = ["table", "view", "index", "trigger", "database", "schema", "tables", "function", "procedure"];
        let Some((at, kind)) = self
            .tokens
            .iter()
            .enumerate()
            .find_map(|(at, token)| object.iter().find(|kind| token.is(kind)).map(|kind| (at, *kind)))
        else {
            return Changes::Nothing;
        };
        let mut found = Vec::new();
        match kind {
            "database" | "schema" => {
                self.list(at + 1, &mut found);
                return found.pop().map_or(Changes::Nothing, |name| Changes::Database(name.table));
            }
            "function" | "procedure" => {
                let routines = self.routines();
                let first = routines.into_iter().find(|name| name.table != "if()");
                return Changes::Definition(first.into_iter().collect());
            }
            "index" | "trigger" => {
                if let Some(on) = self.position("on") {
                    self.list(on + 1, &mut found);
                }
            }
            _ => {
                self.list(at + 1, &mut found);
                if self.verb == "rename" {
                    found = self.tables();
                    let mut at = at + 1;
                    while at < self.tokens.len() {
                        if matches!(self.tokens[at], Token::Symbol(',')) {
                            self.list(at + 1, &mut found);
                        }
                        at += 1;
                    }
                    found.sort();
                    found.dedup();
                } else if self.verb == "alter" {
                    for (at, token) in self.tokens.iter().enumerate() {
                        if token.is("rename") {
                            let to = usize::from(self.tokens.get(at + 1).is_some_and(|token| token.is("to")));
                            self.list(at + 1 + to, &mut found);
                        }
                    }
                } else if self.verb == "create" {
                    found.truncate(1);
                }
            }
        }
        Changes::Definition(found)
    }

    /// Whether the rows, or what is changed, depend on something that the statement does not say. A variable that
    /// is set on the way depends on the order of the rows, and of the expressions in a row.
    pub fn is_undecided(&self) -> bool {
        let sets_on_the_way = self.verb != "set"
            && self.tokens.windows(3).any(|three| {
                matches!(three[0], Token::Variable(_))
                    && three[1] == Token::Symbol(':')
                    && three[2] == Token::Symbol('=')
            });
        if sets_on_the_way {
            return true;
        }
        // A replay begins RAND() anew on both servers, and VALUES is computed in the order in which it is written.
        let is_seeded = matches!(self.verb.as_str(), "insert" | "replace") && !self.has("select");
        self.tokens.windows(2).any(|pair| {
            matches!(&pair[0], Token::Word(word) if UNDECIDED_FUNCTIONS.contains(&word.as_str())
                && !(is_seeded && word == "rand"))
                && pair[1] == Token::Symbol('(')
        })
    }

    /// Whether it calls RAND.
    pub fn calls_rand(&self) -> bool {
        self.tokens
            .windows(2)
            .any(|pair| matches!(&pair[0], Token::Word(word) if word == "rand") && pair[1] == Token::Symbol('('))
    }

    /// Whether rows are cut off, so that the order of equal ones decides which remain.
    pub fn has_limit(&self) -> bool {
        self.has("limit") || self.has("fetch")
    }

    fn position(&self, word: &str) -> Option<usize> {
        self.tokens.iter().position(|token| token.is(word))
    }

    /// Reads `[words] name [[AS] alias] [, name ...]` from `at`.
    fn list(&self, mut at: usize, found: &mut Vec<TableName>) {
        loop {
            while let Some(token) = self.tokens.get(at) {
                let skipped = matches!(token, Token::Symbol('('))
                    || matches!(token, Token::Word(word) if BEFORE_TABLES.contains(&word.as_str()));
                if !skipped {
                    break;
                }
                at += 1;
            }
            let Some(first) = self.name(at) else { return };
            at += 1;
            let dot = self.tokens.get(at) == Some(&Token::Symbol('.'));
            match self.any_name(at + 1).filter(|_| dot) {
                Some(table) => {
                    found.push(TableName { database: Some(first), table });
                    at += 2;
                    // `t1.*` of a DELETE from several tables was read as far as the dot.
                }
                None => found.push(TableName { database: None, table: first }),
            }
            if self.tokens.get(at).is_some_and(|token| token.is("as")) {
                at += 1;
            }
            if self.name(at).is_some() {
                at += 1;
            }
            // LOCK TABLES t READ, u WRITE
            while self.tokens.get(at).is_some_and(|token| ["read", "write", "local"].iter().any(|word| token.is(word)))
            {
                at += 1;
            }
            if self.tokens.get(at) != Some(&Token::Symbol(',')) {
                return;
            }
            at += 1;
        }
    }

    fn name(&self, at: usize) -> Option<String> {
        match self.tokens.get(at)? {
            Token::Name(name) => Some(name.clone()),
            Token::Word(word) if !AFTER_TABLES.contains(&word.as_str()) => Some(word.clone()),
            _ => None,
        }
    }

    fn any_name(&self, at: usize) -> Option<String> {
        match self.tokens.get(at)? {
            Token::Name(name) | Token::Word(name) => Some(name.clone()),
            _ => None,
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            byte if byte.is_ascii_whitespace() => 1,
            b'#' => line(rest),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => line(rest),
            // What stands in a comment with a version is read by the server.
            b'/' if rest.starts_with(b"/*!") || rest.starts_with(b"/*M!") => {
                let head = if rest[2] == b'M' { 4 } else { 3 };
                head + rest[head..].iter().take_while(|byte| byte.is_ascii_digit()).count()
            }
            b'/' if rest.starts_with(b"/*") => find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4),
            b'*' if rest.starts_with(b"*/") => 2,
            quote @ (b'\'' | b'"') => {
                tokens.push(Token::Text);
                quoted(rest, quote).1
            }
            b'`' => {
                let (name, length) = quoted(rest, b'`');
                tokens.push(Token::Name(name.to_lowercase()));
                length
            }
            b'@' => {
                let length =
                    1 + rest[1..].iter().take_while(|byte| is_word(**byte) || matches!(byte, b'@' | b'.')).count();
                tokens.push(Token::Variable(String::from_utf8_lossy(&rest[..length]).to_ascii_lowercase()));
                length
            }
            byte if byte.is_ascii_digit() => {
                let length = rest.iter().take_while(|byte| is_word(**byte)).count();
                let word = &rest[..length];
                let number = word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'e' | b'E'))
                    || word.starts_with(b"0x")
                    || word.starts_with(b"0b");
                let word = String::from_utf8_lossy(word).to_ascii_lowercase();
                tokens.push(if number { Token::Number(word) } else { Token::Word(word) });
                length
            }
            byte if is_word(byte) => {
                let length = rest.iter().take_while(|byte| is_word(**byte)).count();
                tokens.push(Token::Word(String::from_utf8_lossy(&rest[..length]).to_lowercase()));
                length
            }
            byte => {
                tokens.push(Token::Symbol(char::from(byte)));
                1
            }
        };
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn line(rest: &[u8]) -> usize {
    find(rest, b"\n").map_or(rest.len(), |end| end + 1)
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// The text between quotes, and the bytes it took with them.
fn quoted(rest: &[u8], quote: u8) -> (String, usize) {
    let mut at = 1;
    let mut inner = Vec::new();
    while at < rest.len() {
        if rest[at] == b'\\' && quote != b'`' {
            at += 1;
        } else if rest[at] == quote {
            if rest.get(at + 1) != Some(&quote) {
                return (String::from_utf8_lossy(&inner).into_owned(), at + 1);
            }
            at += 1;
        }
        inner.extend(rest.get(at));
        at += 1;
    }
    (String::from_utf8_lossy(&inner).into_owned(), rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[TableName]) -> String {
        let written = |name: &TableName| match &name.database {
            Some(database) => format!("{database}.{}", name.table),
            None => name.table.clone(),
        };
        list.iter().map(written).collect::<Vec<_>>().join(" ")
    }

    fn tables(text: &str) -> String {
        names(&Statement::new(text).tables())
    }

    fn changes(text: &str) -> String {
        match Statement::new(text).changes() {
            Changes::Nothing => "-".into(),
            Changes::Rows(tables) => format!("rows {}", names(&tables)),
            Changes::Definition(tables) => format!("definition {}", names(&tables)),
            Changes::Database(name) => format!("database {name}"),
            Changes::Anything => "anything".into(),
        }
    }

    #[test]
    fn tables_are_found_where_they_stand() {
        assert_eq!(
            tables("SELECT a, b FROM t1 AS x, d.`T 2` y JOIN (t3, t4) USING (a) WHERE a IN (1, 2)"),
            "a t1 t3 t4 d.t 2"
        );
        assert_eq!(tables("select 'from t1' -- from t2\n from t3 /* from t4 */ where a = \"x\\\" from t5\""), "t3");
        assert_eq!(tables("INSERT t1 VALUES (1)"), "t1");
        assert_eq!(tables("insert into t1 select * from t2 on duplicate key update a = 1"), "a duplicate t1 t2");
        assert_eq!(tables("LOCK TABLES t1 READ, t2 AS x WRITE"), "t1 t2");
        assert_eq!(tables("/*!40000 ALTER TABLE t1 DISABLE KEYS */"), "t1");
    }

    #[test]
    fn what_is_changed_is_told_from_what_is_read() {
        assert_eq!(changes("INSERT INTO t1 SELECT * FROM t2"), "rows t1");
        assert_eq!(changes("replace low_priority d.t1 (a) values (1)"), "rows d.t1");
        assert_eq!(changes("UPDATE t1 x, t2 SET x.a = 1"), "rows t1 t2");
        assert_eq!(changes("update t1 join t2 using (a) set b = (select 1 from t3)"), "rows t1 t2");
        assert_eq!(changes("create table if not exists t1 (a int references t2 (b))"), "definition t1");
        assert_eq!(changes("create unique index i on t1 (a)"), "definition t1");
        assert_eq!(changes("drop table if exists t1, d.t2"), "definition t1 d.t2");
        assert_eq!(changes("alter table t1 rename t2"), "definition t1 t2");
        assert_eq!(changes("rename table t1 to t2, t3 to t4"), "definition t1 t2 t3 t4");
        assert_eq!(changes("create database d"), "database d");
        assert_eq!(changes("create procedure p() insert into t1 values (1)"), "definition p()");
        assert_eq!(changes("call p()"), "anything");
        assert_eq!(changes("select 1"), "-");
        assert_eq!(changes("(select 1)"), "-");
    }

    #[test]
    fn undecided_functions_are_seen_as_calls_only() {
        assert!(Statement::new("select rand()").is_undecided());
        assert!(Statement::new("insert t select rand()").is_undecided());
        assert!(!Statement::new("insert t values (rand())").is_undecided());
        assert!(Statement::new("insert t values (rand(), uuid())").is_undecided());
        assert!(Statement::new("select @a := @a + 1 from t").is_undecided());
        assert!(!Statement::new("set @a := 1").is_undecided());
        assert!(!Statement::new("select user, `rand`, 'uuid()' from t").is_undecided());
    }
}
