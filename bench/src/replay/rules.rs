//! What is not replayed, what is replayed and not compared, and what is changed before both servers see it.

use regex::bytes::{NoExpand, Regex};

use super::apart::key;
use super::compare::Depth;
use super::record::DIRECTORY;
use super::statement::{Changes, Statement, Token};

/// Codes by which Glassine says that it has no such thing. MariaDB is not asked then, so that both stay as they are;
/// the recording tells what it answered.
pub const MISSING: [u16; 8] = [1064, 1235, 1193, 1231, 1305, 1115, 1273, 1286];

/// Why a statement is not replayed, if it is not.
pub fn left_out(statement: &Statement, default: &str) -> Option<&'static str> {
    let has = |word: &str| statement.has(word);
    let starts = |words: &[&str]| statement.starts_with(words);
    match statement.verb.as_str() {
        "" => return Some("nothing to run"),
        "shutdown" => return Some("stops the server"),
        "kill" => return Some("names a connection of the recording"),
        "install" | "uninstall" => return Some("plugins"),
        "change" | "binlog" | "purge" | "reset" | "stop" => return Some("replication"),
        "start" if !has("transaction") => return Some("replication"),
        "backup" => return Some("stages of a backup"),
        "grant" | "revoke" => return Some("accounts"),
        "create" | "drop" | "alter" | "rename"
            if ["user", "role", "server"].iter().any(|word| is_second(statement, word)) =>
        {
            return Some("accounts");
        }
        "create" | "drop" | "alter" if has("function") && has("soname") => return Some("plugins"),
        "set" if has("password") || has("role") => return Some("accounts"),
        "set" if starts(&["set", "global"]) || has_variable(statement, "@@global.") => {
            return Some("settings of the whole server stay those of the run");
        }
        "set" if names_engine(statement) => return Some("there is one engine"),
        "set" if names(statement, &["debug", "debug_dbug", "debug_sync"]) => return Some("debug builds"),
        "set" if names(statement, &["sql_log_bin", "pseudo_thread_id", "gtid_domain_id", "server_id"]) => {
            return Some("replication");
        }
        "call" if statement.tokens.get(1) == Some(&Token::Word("mtr".into())) => return Some("the scripts' harness"),
        _ => {}
    }
    if statement.tables().iter().any(|name| name.table.starts_with("seq_") && name.table.contains("_to_")) {
        return Some("MariaDB's tables of numbers");
    }
    if has("outfile") || has("dumpfile") {
        return Some("writes a file of the server");
    }
    let changed = match statement.changes() {
        Changes::Rows(tables) | Changes::Definition(tables) => {
            tables.iter().any(|name| SERVERS_OWN.contains(&key(name, default).0.as_str()))
        }
        Changes::Database(name) => SERVERS_OWN.contains(&name.as_str()),
        _ => false,
    };
    changed.then_some("the server's own tables")
}

const SERVERS_OWN: [&str; 4] = ["mysql", "performance_schema", "sys", "mtr"];

fn is_second(statement: &Statement, word: &str) -> bool {
    statement.tokens.iter().skip(1).take(4).any(|token| matches!(token, Token::Word(own) if own == word))
}

fn has_variable(statement: &Statement, start: &str) -> bool {
    statement.tokens.iter().any(|token| matches!(token, Token::Variable(name) if name.starts_with(start)))
}

fn names(statement: &Statement, words: &[&str]) -> bool {
    statement.tokens.iter().any(|token| match token {
        Token::Word(name) => words.contains(&name.as_str()),
        Token::Variable(name) => words.contains(&name.trim_start_matches('@').trim_start_matches("session.")),
        _ => false,
    })
}

fn names_engine(statement: &Statement) -> bool {
    names(
        statement,
        &["storage_engine", "default_storage_engine", "default_tmp_storage_engine", "enforce_storage_engine"],
    )
}

/// How much of the answers is compared.
pub fn depth(statement: &Statement) -> Depth {
    let own_words = matches!(
        statement.verb.as_str(),
        "show"
            | "explain"
            | "desc"
            | "describe"
            | "analyze"
            | "check"
            | "repair"
            | "optimize"
            | "checksum"
            | "help"
            | "flush"
            | "set"
            | "get"
    );
    let about_server = names(statement, &["information_schema", "performance_schema", "mysql"])
        || has_variable(statement, "@@")
        || statement.is_undecided();
    if own_words || about_server { Depth::Success } else { Depth::Everything }
}

/// Puts a statement into the words that both servers understand: one engine, this run's directory, and no ZEROFILL
/// and OR REPLACE, which would keep too many tables from being made.
pub struct Rewriting {
    engine: Regex,
    unsigned_zerofill: Regex,
    zerofill: Regex,
    replace_table: Regex,
    directory: Regex,
}

impl Default for Rewriting {
    fn default() -> Self {
        let engine =
            r"(?i-u)\bengine\s*=?\s*['`]?(myisam|aria|maria|heap|memory|merge|mrg_myisam|csv|archive|blackhole)['`]?";
        Rewriting {
            engine: Regex::new(engine).expect("a constant"),
            unsigned_zerofill: Regex::new(r"(?i-u)\bunsigned\s+zerofill\b").expect("a constant"),
            zerofill: Regex::new(r"(?i-u)\bzerofill\b").expect("a constant"),
            replace_table: Regex::new(r"(?i-u)^\s*create\s+or\s+replace\s+(temporary\s+)?table\s+([\w.`]+)")
                .expect("a constant"),
            directory: Regex::new(&regex::escape(DIRECTORY)).expect("a constant"),
        }
    }
}

impl Rewriting {
    pub fn apply(&self, text: &[u8], directory: &str) -> Vec<u8> {
        let text = self.engine.replace_all(text, NoExpand(b"ENGINE=InnoDB"));
        let text = self.unsigned_zerofill.replace_all(&text, NoExpand(b"unsigned"));
        let text = self.zerofill.replace_all(&text, NoExpand(b"unsigned"));
        let text = self.replace_table.replace(&text, &b"DROP ${1}TABLE IF EXISTS $2; CREATE ${1}TABLE $2"[..]);
        self.directory.replace_all(&text, NoExpand(directory.as_bytes())).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_would_part_the_servers_are_left_out() {
        let why = |text: &str| left_out(&Statement::new(text), "test");
        assert!(why("KILL QUERY 12").is_some());
        assert!(why("set @@global.a = 1").is_some());
        assert!(why("drop user u@localhost").is_some());
        assert!(why("update mysql.user set a = 1").is_some());
        assert!(left_out(&Statement::new("delete from user"), "mysql").is_some());
        assert!(why("select * from mysql.user").is_none());
        assert!(why("create table user (a int)").is_some(), "the price of looking at words only");
        assert!(why("insert into t1 select seq from seq_1_to_100").is_some());
        assert!(why("start transaction").is_none());
        assert!(why("set sql_mode = ''").is_none());
    }

    #[test]
    fn engines_and_directories_are_replaced() {
        let rewriting = Rewriting::default();
        let text = rewriting.apply(b"create table t (a int) engine= MyISAM comment '/replay-directory/x\xff'", "/d");
        assert_eq!(text, b"create table t (a int) ENGINE=InnoDB comment '/d/x\xff'");
        let text = rewriting.apply(b"create or replace table t (a int unsigned zerofill, b int ZEROFILL)", "/d");
        let expected: &[u8] = b"DROP TABLE IF EXISTS t; CREATE TABLE t (a int unsigned, b int unsigned)";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_a_server_says_of_itself_is_not_compared() {
        let of = |text: &str| depth(&Statement::new(text));
        assert_eq!(of("show tables"), Depth::Success);
        assert_eq!(of("select @@sql_mode"), Depth::Success);
        assert_eq!(of("select rand()"), Depth::Success);
        assert_eq!(of("select @a, 'information_schema'"), Depth::Everything);
    }
}
