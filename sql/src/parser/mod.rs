//! From the text of a statement to its tree, [`ast`].
//!
//! ```text
//! bytes --lexer--> tokens --statement, query, expression ...--> ast::Statement
//!   `----normalize---> text with ? and literals: the plan cache's way past all this
//! ```
//!
//! Recursive descent with one token of lookahead (here and there two). The grammar is
//! MySQL's, by its manual, and so are the two answers to what is not understood:
//! 1064 with the place for what is not MySQL, and 1235 by name for what we do not
//! not support yet ([`ast::Statement::Unsupported`] and its kin).
//!
//! Alternative considered: `sqlparser` 0.63 with its MySQL dialect. Of 94 short
//! statements that stock tools send it refused 18 (DIV, XOR, `!`, compound INTERVAL units,
//! LOCK IN SHARE MODE, CHAR .. USING, FROM (a, b), later version comments ...), and read
//! `BINARY a = b` as `BINARY (a = b)` (`docs/benchmarks.md` has its times). Most statements of
//! MySQL's own would be parsed here anyway, and two grammars over two lexers do not agree.
//!
//! | module | idea |
//! |---|---|
//! | [`ast`] | what comes out |
//! | [`words`] | the reserved words |
//! | [`lexer`] | tokens, comments, escapes |
//! | [`multibyte`] | texts of East Asian character sets, in UTF-8 |
//! | [`normalize`] | literals taken out of a text, for the plan cache |
//! | [`mod@print`] | expressions back to text, as the dictionary keeps them |
//! | `expression` | precedence, functions with a syntax of their own |
//! | `query` | SELECT and its clauses |
//! | `hint` | optimizer hints, which are comments to the lexer |
//! | `window` | OVER and WINDOW |
//! | `change` | INSERT, UPDATE, DELETE |
//! | `files` | LOAD DATA, INTO of SELECT |
//! | `definition` | CREATE, ALTER, DROP |
//! | `program` | procedures, functions, triggers |
//! | `administration` | SET, SHOW, transactions, users ... |
//!
//! Invariants:
//!
//! * The tree is not deeper than [`DEPTH_MAX`], so that every walk over it may recurse: chains
//!   of AND and OR are built balanced, chains of UNION are lists, anything else that goes deeper is error 1436.
//! * Every byte of input is either consumed or in the error.

mod administration;
pub mod ast;
mod change;
mod definition;
mod expression;
mod files;
mod hint;
mod json_table;
pub mod lexer;
pub mod multibyte;
pub mod normalize;
pub mod print;
mod program;
mod query;
mod window;
pub mod words;

use std::ops::Range;

use self::ast::{ColumnName, Expr, Literal, Statement, TableName};
use self::lexer::{Kind, Lexer, Token};
use crate::error::{Error, Result};
use crate::types::SqlMode;

/// How deep expressions and queries may nest.
pub const DEPTH_MAX: usize = 250;

/// Placeholders are numbered in 16 bits by the protocol.
const PARAMETERS_MAX: usize = 65535;

/// Statements that are known by their first word alone.
const UNSUPPORTED: &[&str] = &["HANDLER", "CACHE", "IMPORT", "RESTART"];

/// Longest name of a table, a column, an index, in characters.
const NAME_CHARACTERS_MAX: usize = 64;
const ALIAS_CHARACTERS_MAX: usize = 256;

/// A statement, and where it stood.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub statement: Statement,
    /// The bytes of the statement, without the semicolon.
    pub source: Range<usize>,
    /// How many `?` it has.
    pub parameters: usize,
}

/// Parses the clause PARTITION BY of a table that exists.
pub fn parse_partition_by(text: &str) -> Result<ast::PartitionBy> {
    Parser::new(text.as_bytes(), 0, SqlMode::DEFAULT).whole_partition_by()
}

/// Parses all statements of a text. An empty one (between two semicolons) is left out; a text without any is an empty
/// list. On an error, the statements before it are in the first place: MySQL runs these before it reports.
pub fn parse(sql: &[u8], mode: SqlMode) -> (Vec<Parsed>, Result<()>) {
    let mut parsed = Vec::new();
    let mut offset = 0;
    loop {
        match parse_at(sql, offset, mode) {
            Ok((statement, next)) => {
                parsed.extend(statement);
                match next {
                    Some(next) => offset = next,
                    None => return (parsed, Ok(())),
                }
            }
            Err(error) => return (parsed, Err(error)),
        }
    }
}

/// Parses the first statement. The second is the offset behind its semicolon, where the next begins; None if it is the
/// last. `Ok(None)`: there is no statement.
pub fn parse_first(sql: &[u8], mode: SqlMode) -> Result<(Option<Parsed>, Option<usize>)> {
    parse_at(sql, 0, mode)
}

fn parse_at(sql: &[u8], offset: usize, mode: SqlMode) -> Result<(Option<Parsed>, Option<usize>)> {
    if sql.len() >= u32::MAX as usize {
        return Err(Error::packet_too_large());
    }
    let mut parser = Parser::new(sql, offset, mode);
    // Where the next statement begins, if anything but space and comments follows the semicolon.
    let next = |parser: &Parser<'_>| {
        let end = parser.peek().end as usize;
        let follows = parser.peek().kind != Kind::End && Lexer::new(sql, end, mode).next_token().kind != Kind::End;
        follows.then_some(end)
    };
    if parser.is_at_end() {
        return Ok((None, next(&parser)));
    }
    let start = parser.begin;
    let statement = parser.statement()?;
    if !parser.is_at_end() {
        return Err(parser.unexpected());
    }
    let end = parser.peek().start as usize;
    let source = start..start + sql[start..end].trim_ascii_end().len();
    let parameters = parser.parameters;
    if parameters > PARAMETERS_MAX {
        return Err(Error::too_many_placeholders());
    }
    Ok((Some(Parsed { statement, source, parameters }), next(&parser)))
}

/// Parses an expression alone: a DEFAULT kept as text in the dictionary.
pub fn parse_expression(sql: &[u8], mode: SqlMode) -> Result<Expr> {
    let mut parser = Parser::new(sql, 0, mode);
    let expr = parser.expr()?;
    if parser.peek().kind != Kind::End {
        return Err(parser.unexpected());
    }
    Ok(expr)
}

/// Parses the body of a stored program; `parameters` is the text of its parameters.
pub fn parse_body(
    body: &str,
    kind: ast::ProgramKind,
    fires: Option<(bool, ast::TriggerEvent)>,
    parameters: &str,
    mode: SqlMode,
) -> Result<ast::Program> {
    Parser::new(body.as_bytes(), 0, mode).stored_body(kind, fires, parameters)
}

/// Parses the parameters of a stored routine.
pub fn parse_parameters(text: &str, kind: ast::ProgramKind, mode: SqlMode) -> Result<Vec<ast::ParameterSpec>> {
    Parser::new(text.as_bytes(), 0, mode).stored_parameters(kind)
}

/// Parses a type alone: what a stored function returns.
pub fn parse_type(text: &str, mode: SqlMode) -> Result<ast::TypeSpec> {
    Parser::new(text.as_bytes(), 0, mode).type_spec()
}

/// The tokens of one statement, and a place in them.
struct Parser<'a> {
    sql: &'a [u8],
    mode: SqlMode,
    lexer: Lexer<'a>,
    /// Up to the semicolon or the end, which is the last; of a program, up to its end.
    tokens: Vec<Token>,
    /// Where the statement begins: at its first token, or at the comment around that.
    begin: usize,
    /// The last token that is seen.
    last: usize,
    at: usize,
    parameters: usize,
    depth: usize,
    /// The variables of an INTO that stood in front of FROM.
    into_found: Option<ast::SelectInto>,
    /// Whether a query block of the statement has begun, and what the hints of the first one set.
    has_block: bool,
    variables: Vec<(String, Expr)>,
    /// The program whose body is being parsed.
    program: Option<Box<program::ProgramScope>>,
}

impl<'a> Parser<'a> {
    fn new(sql: &'a [u8], offset: usize, mode: SqlMode) -> Parser<'a> {
        let mut lexer = Lexer::new(sql, offset, mode);
        let mut tokens = Vec::with_capacity(((sql.len() - offset) / 4).clamp(8, 1 << 16));
        let mut begin = None;
        loop {
            let mut token = lexer.next_token();
            if token.kind == Kind::Symbol
                && sql[token.start as usize] == b';'
                && lexer.open_version_comment().is_some()
                && sql[token.end as usize..].trim_ascii().is_empty()
            {
                // The comment does not end behind its last statement.
                token.kind = Kind::Bad;
            }
            tokens.push(token);
            // `/*!40000 ALTER TABLE t DISABLE KEYS */` ends with its comment, and so begins with it.
            begin = begin.or_else(|| Some(lexer.open_version_comment().unwrap_or(token.start as usize)));
            let is_semicolon = token.kind == Kind::Symbol && sql[token.start as usize] == b';';
            if matches!(token.kind, Kind::End | Kind::Bad) || is_semicolon {
                break;
            }
        }
        let last = tokens.len() - 1;
        let begin = begin.unwrap_or(offset);
        Parser {
            sql,
            mode,
            lexer,
            tokens,
            begin,
            last,
            at: 0,
            parameters: 0,
            depth: 0,
            into_found: None,
            has_block: false,
            variables: Vec::new(),
            program: None,
        }
    }

    // ------------------------------------------------------------ tokens

    #[inline]
    fn peek(&self) -> Token {
        self.peek_at(0)
    }

    #[inline]
    fn peek_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.last)]
    }

    #[inline]
    fn advance(&mut self) {
        if self.at < self.last {
            self.at += 1;
        }
    }

    /// At the semicolon or the end of the text.
    fn is_at_end(&self) -> bool {
        self.at == self.last && self.peek().kind != Kind::Bad
    }

    #[inline]
    fn bytes(&self, token: Token) -> &'a [u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    /// The error "near" the next token.
    fn unexpected(&self) -> Error {
        self.error_at(self.peek().start as usize)
    }

    fn error_at(&self, offset: usize) -> Error {
        let near = String::from_utf8_lossy(&self.sql[offset..]);
        let line = 1 + self.sql[..offset].iter().filter(|byte| **byte == b'\n').count();
        Error::syntax(&near, line)
    }

    #[inline]
    fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    #[inline]
    fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Word && self.bytes(token).eq_ignore_ascii_case(word.as_bytes())
    }

    fn is_any_word(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(word))
    }

    /// Takes the keyword if it is the next token.
    #[inline]
    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes all the words of a phrase, or none.
    fn take_words(&mut self, phrase: &[&str]) -> bool {
        let found = phrase.iter().enumerate().all(|(ahead, word)| self.is_word_at(ahead, word));
        if found {
            self.at += phrase.len();
        }
        found
    }

    /// Takes one of the words, and says which.
    fn take_any_word(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let found = words.iter().find(|word| self.is_word(word)).copied();
        if found.is_some() {
            self.advance();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    #[inline]
    fn is_symbol(&self, symbol: &str) -> bool {
        self.is_symbol_at(0, symbol)
    }

    #[inline]
    fn is_symbol_at(&self, ahead: usize, symbol: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Symbol && self.bytes(token) == symbol.as_bytes()
    }

    #[inline]
    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The bytes between two places, as they were written.
    fn bytes_since(&self, start: u32) -> Vec<u8> {
        let end = if self.at == 0 { start } else { self.tokens[self.at - 1].end.max(start) };
        self.sql[start as usize..end as usize].to_vec()
    }

    /// The text between two places, as it was written.
    fn text_since(&self, start: u32) -> String {
        let end = if self.at == 0 { start } else { self.tokens[self.at - 1].end.max(start) };
        String::from_utf8_lossy(&self.sql[start as usize..end as usize]).into_owned()
    }

    /// Goes one level down, for the time of `parse`.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::nested_too_deep());
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// `item, item, ...`: at least one.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take_symbol(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `( inside )`
    fn in_parentheses<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.expect_symbol("(")?;
        let inside = inside(self)?;
        self.expect_symbol(")")?;
        Ok(inside)
    }

    /// `(item, item, ...)`
    fn parenthesized_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.in_parentheses(|parser| parser.list(item))
    }

    /// Skips to the parenthesis that closes the one just taken, and takes it.
    fn skip_parenthesized(&mut self) -> Result<()> {
        let mut open = 1;
        while open > 0 {
            if self.is_symbol("(") {
                open += 1;
            } else if self.is_symbol(")") {
                open -= 1;
            } else if self.at == self.last {
                return Err(self.unexpected());
            }
            self.advance();
        }
        Ok(())
    }

    /// Skips everything up to the end of the statement.
    fn skip_rest(&mut self) -> Result<()> {
        self.at = self.last;
        if self.peek().kind == Kind::Bad { Err(self.unexpected()) } else { Ok(()) }
    }

    // ------------------------------------------------------------- names

    /// Whether the next token can be a name.
    fn is_name(&self) -> bool {
        self.is_name_at(0)
    }

    fn is_name_at(&self, ahead: usize) -> bool {
        let token = self.peek_at(ahead);
        match token.kind {
            Kind::QuotedName => true,
            Kind::Word => !words::is_reserved(self.bytes(token)),
            _ => false,
        }
    }

    /// A name: quoted, or a word that is not reserved.
    fn name(&mut self) -> Result<String> {
        if !self.is_name() || self.is_joined_function() {
            return Err(self.unexpected());
        }
        self.any_name()
    }

    /// The alias of a column or table, or what may be one: it may be longer than the names of what is kept.
    fn alias(&mut self) -> Result<String> {
        if !self.is_name() {
            return Err(self.unexpected());
        }
        self.name_within(ALIAS_CHARACTERS_MAX)
    }

    fn alias_or_text(&mut self) -> Result<String> {
        match self.peek().kind {
            Kind::Text => self.text(),
            _ => self.alias(),
        }
    }

    /// A name that may be reserved: behind a dot, or where no keyword can stand.
    fn any_name(&mut self) -> Result<String> {
        self.name_within(NAME_CHARACTERS_MAX)
    }

    fn name_within(&mut self, characters_max: usize) -> Result<String> {
        let token = self.peek();
        let bytes = self.bytes(token);
        let name = match token.kind {
            Kind::QuotedName => lexer::unquote(bytes),
            Kind::Word => bytes.to_vec(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        // Two names that differ in such bytes alone would become one.
        let name = String::from_utf8(name).map_err(|error| {
            let wrong = &error.as_bytes()[error.utf8_error().valid_up_to()..];
            let shown: String = wrong.iter().take(6).map(|byte| format!("{byte:02X}")).collect();
            Error::invalid_character_string("utf8mb4", &shown)
        })?;
        if name.len() > characters_max && name.chars().count() > characters_max {
            return Err(Error::identifier_too_long(&name));
        }
        Ok(name)
    }

    /// A name, or a string in its place: user names, index comments of old tools.
    fn name_or_text(&mut self) -> Result<String> {
        match self.peek().kind {
            Kind::Text => self.text(),
            _ => self.name(),
        }
    }

    /// A word of any kind, upper case.
    fn upper_word(&mut self) -> Result<String> {
        let token = self.peek();
        if token.kind != Kind::Word {
            return Err(self.unexpected());
        }
        self.advance();
        Ok(String::from_utf8_lossy(self.bytes(token)).to_ascii_uppercase())
    }

    fn table_name(&mut self) -> Result<TableName> {
        let table = self.qualified_name()?;
        if table.name.is_empty() || table.name.ends_with(' ') {
            return Err(Error::wrong_table_name(&table.name));
        }
        Ok(table)
    }

    /// The name of a table, a program or another thing of a database.
    fn qualified_name(&mut self) -> Result<TableName> {
        // A leading dot means the current database (ODBC).
        if self.take_symbol(".") {
            return Ok(TableName::new(self.any_name()?));
        }
        let name = self.name()?;
        if self.take_symbol(".") {
            return Ok(TableName { database: Some(name), name: self.any_name()? });
        }
        Ok(TableName::new(name))
    }

    fn column_name(&mut self) -> Result<ColumnName> {
        let first = self.alias()?;
        if !self.take_symbol(".") {
            return Ok(ColumnName::new(first));
        }
        let second = self.any_name()?;
        if !self.take_symbol(".") {
            return Ok(ColumnName { database: None, table: Some(first), name: second });
        }
        Ok(ColumnName { database: Some(first), table: Some(second), name: self.any_name()? })
    }

    // ---------------------------------------------------------- literals

    /// The bytes of a string literal: adjacent ones are one.
    fn text_bytes(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        if self.peek().kind != Kind::Text {
            return Err(self.unexpected());
        }
        while self.peek().kind == Kind::Text {
            lexer::unescape(self.bytes(self.peek()), self.mode, &mut out);
            self.advance();
        }
        Ok(out)
    }

    /// A text, or the bytes of a hexadecimal or bit literal.
    fn text_or_bits(&mut self) -> Result<Vec<u8>> {
        if !matches!(self.peek().kind, Kind::Hex | Kind::Bit) {
            return self.text_bytes();
        }
        match self.literal_alone()? {
            Expr::Literal(Literal::Hex { bytes, .. } | Literal::Bit { bytes, .. }) => Ok(bytes),
            _ => Err(self.unexpected()),
        }
    }

    fn text(&mut self) -> Result<String> {
        let bytes = self.text_bytes()?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// An integer literal that fits in u64.
    fn integer(&mut self) -> Result<u64> {
        let token = self.peek();
        let value = match token.kind {
            Kind::Integer => std::str::from_utf8(self.bytes(token)).ok().and_then(|digits| digits.parse().ok()),
            _ => None,
        };
        let value = value.ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(value)
    }

    /// `(n)` as the fsp of a temporal type or function; 0 without.
    fn optional_fsp(&mut self, name: &str) -> Result<u8> {
        if !self.take_symbol("(") {
            return Ok(0);
        }
        if self.take_symbol(")") {
            return Ok(0);
        }
        let fsp = self.integer()?;
        self.expect_symbol(")")?;
        if fsp > 6 {
            return Err(Error::too_big_precision(fsp, name, 6));
        }
        Ok(fsp as u8)
    }

    // -------------------------------------------------------- statements

    fn statement(&mut self) -> Result<Statement> {
        let start = self.peek().start;
        let outer = (std::mem::take(&mut self.has_block), std::mem::take(&mut self.variables));
        let parsed = self.statement_inner();
        let variables = std::mem::replace(&mut self.variables, outer.1);
        self.has_block = outer.0;
        Ok(match parsed? {
            Statement::Explain { format, analyze, statement: explained } => match *explained {
                // The variables of an explained statement hold while it is explained.
                Statement::SetStatement { variables, statement, text, by_hint: true } => {
                    let statement = Box::new(Statement::Explain { format, analyze, statement });
                    Statement::SetStatement { variables, statement, text, by_hint: true }
                }
                other => Statement::Explain { format, analyze, statement: Box::new(other) },
            },
            statement if variables.is_empty() => statement,
            statement => {
                let text = self.text_since(start);
                Statement::SetStatement { variables, statement: Box::new(statement), text, by_hint: true }
            }
        })
    }

    fn statement_inner(&mut self) -> Result<Statement> {
        let token = self.peek();
        if token.kind == Kind::Symbol && self.bytes(token) == b"(" {
            return Ok(Statement::Query(Box::new(self.query()?)));
        }
        if token.kind != Kind::Word {
            return Err(self.unexpected());
        }
        let word = self.bytes(token).to_ascii_uppercase();
        match word.as_slice() {
            b"SELECT" | b"WITH" | b"VALUES" => self.query_statement(),
            b"TABLE" => self.query_statement(),
            b"INSERT" | b"REPLACE" => self.insert(),
            b"UPDATE" => self.update(),
            b"DELETE" => self.delete(),
            b"LOAD" => self.load(),
            b"CREATE" => self.create(),
            b"ALTER" => self.alter(),
            b"DROP" => self.drop(),
            b"RENAME" => self.rename(),
            b"TRUNCATE" => self.truncate(),
            b"SET" => self.set(),
            b"SHOW" => self.show(),
            b"EXPLAIN" | b"DESCRIBE" | b"DESC" => self.explain(),
            b"BEGIN" | b"START" | b"COMMIT" | b"ROLLBACK" | b"SAVEPOINT" | b"RELEASE" => self.transaction(),
            b"XA" => self.xa(),
            b"LOCK" | b"UNLOCK" => self.lock_tables(),
            b"CLONE" | b"BACKUP" => self.backup(),
            b"OPTIMIZE" | b"ANALYZE" | b"CHECK" | b"REPAIR" | b"CHECKSUM" => self.maintain(),
            b"GRANT" => self.grant(),
            b"REVOKE" => self.revoke(),
            b"PREPARE" | b"EXECUTE" | b"DEALLOCATE" => self.prepared(),
            b"USE" => {
                self.advance();
                Ok(Statement::Use(self.any_name()?))
            }
            b"KILL" => self.kill(),
            b"FLUSH" => self.flush(),
            b"RESET" => {
                self.advance();
                if self.take_word("PERSIST") {
                    let if_exists = self.if_exists()?;
                    let name = if self.is_at_end() { None } else { Some(self.any_name()?) };
                    return Ok(Statement::ResetPersist { name, if_exists });
                }
                if self.take_any_word(&["SLAVE", "REPLICA"]).is_some() {
                    let all = self.take_word("ALL");
                    return Ok(Statement::ResetReplica { all, channel: self.for_channel()? });
                }
                let mut words = Vec::new();
                while self.peek().kind == Kind::Word {
                    words.push(self.upper_word()?);
                }
                self.skip_rest()?; // RESET MASTER TO 100
                Ok(Statement::Reset(words.join(" ")))
            }
            b"PURGE" => {
                self.advance();
                if self.take_any_word(&["BINARY", "MASTER"]).is_none() {
                    return Err(self.unexpected());
                }
                self.expect_word("LOGS")?;
                if self.take_word("TO") {
                    return Ok(Statement::PurgeLogs(ast::Purge::To(self.text()?)));
                }
                self.expect_word("BEFORE")?;
                Ok(Statement::PurgeLogs(ast::Purge::Before(self.expr()?)))
            }
            b"BINLOG" => self.binlog(),
            b"SHUTDOWN" => {
                self.advance();
                Ok(Statement::Shutdown)
            }
            b"DO" => {
                self.advance();
                // What stands in a list of DO may have a name, as in SELECT, which nobody sees.
                Ok(Statement::Do(self.list(|parser| {
                    let expr = parser.expr()?;
                    if parser.take_word("AS") {
                        parser.alias()?;
                    }
                    Ok(expr)
                })?))
            }
            b"INSTALL" | b"UNINSTALL" => self.components(),
            b"HELP" => {
                self.advance();
                self.help()
            }
            b"CHANGE" => self.change_source(),
            b"STOP" => {
                self.advance();
                if self.take_any_word(&["SLAVE", "REPLICA"]).is_some() {
                    return self.stop_replica();
                }
                self.skip_rest()?;
                Ok(Statement::Unsupported("STOP of several channels, and of groups".into()))
            }
            b"CALL" => {
                self.advance();
                Ok(Statement::Call(Box::new(self.call_of_program()?)))
            }
            b"SIGNAL" | b"RESIGNAL" => Ok(Statement::Signal(Box::new(self.signal()?))),
            b"GET" => Ok(Statement::GetDiagnostics(Box::new(self.get_diagnostics()?))),
            word => match UNSUPPORTED.iter().find(|known| known.as_bytes() == word) {
                Some(name) => {
                    self.skip_rest()?;
                    Ok(Statement::Unsupported((*name).to_owned()))
                }
                None => Err(self.unexpected()),
            },
        }
    }

    fn query_statement(&mut self) -> Result<Statement> {
        let start = self.at;
        if self.is_word("WITH") {
            let with = self.with()?;
            if self.is_any_word(&["UPDATE", "DELETE"]) {
                let mut statement = if self.is_word("UPDATE") { self.update()? } else { self.delete()? };
                match &mut statement {
                    Statement::Update(update) => update.with = with,
                    Statement::Delete(delete) => delete.with = with,
                    Statement::JoinedUpdate(update) => update.with = with,
                    Statement::JoinedDelete(delete) => delete.with = with,
                    _ => {}
                }
                return Ok(statement);
            }
            let mut query = self.query()?;
            query.with = with;
            return Ok(Statement::Query(Box::new(query)));
        }
        debug_assert_eq!(self.at, start);
        Ok(Statement::Query(Box::new(self.query()?)))
    }
}

#[cfg(test)]
mod tests;
