//! Query: a statement as text, with what it needs to do the same again.
//!
//! ```text
//! offset  bytes
//!      0      4  connection
//!      4      4  seconds that it took
//!      8      1  bytes of the database's name, d
//!      9      2  error with which it ended
//!     11      2  bytes of status variables, s
//!     13      s  status variables: a code each, and what belongs to it
//!   13+s    d+1  database, and a zero
//!             .  statement
//! ```
//!
//! Some status variables say of themselves how long they are, others are known by their code only. So what stands
//! behind an unknown code cannot be read; it is kept out, as other readers do.

use crate::error::{Error, Result};
use crate::packet::{Malformed, Reader, writer};

const FLAGS2: u8 = 0;
const SQL_MODE: u8 = 1;
const CATALOG_OLD: u8 = 2;
const AUTO_INCREMENT: u8 = 3;
const CHARSET: u8 = 4;
const TIME_ZONE: u8 = 5;
const CATALOG: u8 = 6;
const LC_TIME_NAMES: u8 = 7;
const DATABASE_COLLATION: u8 = 8;
const TABLE_MAP_FOR_UPDATE: u8 = 9;
const ORIGINAL_LENGTH: u8 = 10;
const INVOKER: u8 = 11;
const UPDATED_DATABASES: u8 = 12;
const MICROSECONDS: u8 = 13;
const COMMIT_TIMES: [u8; 2] = [14, 15];
const EXPLICIT_TIMESTAMP_DEFAULTS: u8 = 16;
const DDL_XID: u8 = 17;
const UTF8MB4_COLLATION: u8 = 18;
const REQUIRE_PRIMARY_KEY: u8 = 19;
const TABLE_ENCRYPTION: u8 = 20;
const MARIADB_MICROSECONDS: u8 = 128;
const MARIADB_XID: u8 = 129;

/// More databases than are listed.
pub const DATABASES_TOO_MANY: u8 = 254;

/// What a statement needs besides its text. What is `None` was not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusVars {
    /// Session options such as foreign_key_checks, one bit each.
    pub flags2: Option<u32>,
    pub sql_mode: Option<u64>,
    /// auto_increment_increment and auto_increment_offset.
    pub auto_increment: Option<(u16, u16)>,
    /// Collations of character_set_client, collation_connection, collation_server.
    pub charset: Option<[u16; 3]>,
    pub time_zone: Option<Box<str>>,
    pub catalog: Option<Box<str>>,
    pub lc_time_names: Option<u16>,
    pub database_collation: Option<u16>,
    pub table_map_for_update: Option<u64>,
    /// The account that a definer defaults to.
    pub invoker: Option<(Box<str>, Box<str>)>,
    /// Databases that the statement changes; `None` inside: too many to list.
    pub updated_databases: Option<Option<Vec<Box<str>>>>,
    pub microseconds: Option<u32>,
    pub explicit_timestamp_defaults: Option<bool>,
    pub ddl_xid: Option<u64>,
    pub utf8mb4_collation: Option<u16>,
    pub require_primary_key: Option<bool>,
    pub table_encryption: Option<bool>,
}

impl StatusVars {
    pub fn decode(bytes: &[u8]) -> Result<StatusVars> {
        let mut vars = StatusVars::default();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            if !vars.decode_one(&mut reader)? {
                break;
            }
        }
        Ok(vars)
    }

    /// False for an unknown code.
    fn decode_one(&mut self, reader: &mut Reader<'_>) -> std::result::Result<bool, Malformed> {
        const WHAT: &str = "a status variable of a Query event";
        match reader.u8(WHAT)? {
            FLAGS2 => self.flags2 = Some(reader.u32(WHAT)?),
            SQL_MODE => self.sql_mode = Some(reader.u64(WHAT)?),
            CATALOG_OLD => {
                self.catalog = Some(short_text(reader)?);
                reader.u8(WHAT)?;
            }
            AUTO_INCREMENT => self.auto_increment = Some((reader.u16(WHAT)?, reader.u16(WHAT)?)),
            CHARSET => self.charset = Some([reader.u16(WHAT)?, reader.u16(WHAT)?, reader.u16(WHAT)?]),
            TIME_ZONE => self.time_zone = Some(short_text(reader)?),
            CATALOG => self.catalog = Some(short_text(reader)?),
            LC_TIME_NAMES => self.lc_time_names = Some(reader.u16(WHAT)?),
            DATABASE_COLLATION => self.database_collation = Some(reader.u16(WHAT)?),
            TABLE_MAP_FOR_UPDATE => self.table_map_for_update = Some(reader.u64(WHAT)?),
            ORIGINAL_LENGTH => drop(reader.u32(WHAT)?),
            INVOKER => self.invoker = Some((short_text(reader)?, short_text(reader)?)),
            UPDATED_DATABASES => {
                self.updated_databases = Some(match reader.u8(WHAT)? {
                    DATABASES_TOO_MANY => None,
                    count => {
                        let name = |_| reader.until_zero(WHAT).map(text);
                        Some((0..count).map(name).collect::<std::result::Result<_, Malformed>>()?)
                    }
                });
            }
            MICROSECONDS | MARIADB_MICROSECONDS => self.microseconds = Some(reader.u24(WHAT)?),
            code if COMMIT_TIMES.contains(&code) => drop(reader.bytes(8, WHAT)?),
            EXPLICIT_TIMESTAMP_DEFAULTS => self.explicit_timestamp_defaults = Some(reader.u8(WHAT)? != 0),
            DDL_XID | MARIADB_XID => self.ddl_xid = Some(reader.u64(WHAT)?),
            UTF8MB4_COLLATION => self.utf8mb4_collation = Some(reader.u16(WHAT)?),
            REQUIRE_PRIMARY_KEY => self.require_primary_key = Some(reader.u8(WHAT)? != 0),
            TABLE_ENCRYPTION => self.table_encryption = Some(reader.u8(WHAT)? != 0),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends the variables in MySQL 8.0's codes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |code: u8, bytes: &[u8]| {
            out.push(code);
            out.extend_from_slice(bytes);
        };
        if let Some(flags) = self.flags2 {
            put(FLAGS2, &flags.to_le_bytes());
        }
        if let Some(mode) = self.sql_mode {
            put(SQL_MODE, &mode.to_le_bytes());
        }
        if let Some(catalog) = &self.catalog {
            put(CATALOG, &short(catalog));
        }
        if let Some((increment, offset)) = self.auto_increment {
            put(AUTO_INCREMENT, &[increment.to_le_bytes(), offset.to_le_bytes()].concat());
        }
        if let Some(charset) = self.charset {
            put(CHARSET, &charset.map(u16::to_le_bytes).concat());
        }
        if let Some(zone) = &self.time_zone {
            put(TIME_ZONE, &short(zone));
        }
        if let Some(names) = self.lc_time_names {
            put(LC_TIME_NAMES, &names.to_le_bytes());
        }
        if let Some(collation) = self.database_collation {
            put(DATABASE_COLLATION, &collation.to_le_bytes());
        }
        if let Some(map) = self.table_map_for_update {
            put(TABLE_MAP_FOR_UPDATE, &map.to_le_bytes());
        }
        if let Some((user, host)) = &self.invoker {
            put(INVOKER, &[short(user), short(host)].concat());
        }
        if let Some(databases) = &self.updated_databases {
            let mut bytes = Vec::new();
            match databases {
                Some(names) if names.len() < DATABASES_TOO_MANY as usize => {
                    bytes.push(names.len() as u8);
                    names.iter().for_each(|name| writer::zero_terminated(&mut bytes, name.as_bytes()));
                }
                _ => bytes.push(DATABASES_TOO_MANY),
            }
            put(UPDATED_DATABASES, &bytes);
        }
        if let Some(micros) = self.microseconds {
            put(MICROSECONDS, &micros.to_le_bytes()[..3]);
        }
        if let Some(explicit) = self.explicit_timestamp_defaults {
            put(EXPLICIT_TIMESTAMP_DEFAULTS, &[u8::from(explicit)]);
        }
        if let Some(xid) = self.ddl_xid {
            put(DDL_XID, &xid.to_le_bytes());
        }
        if let Some(collation) = self.utf8mb4_collation {
            put(UTF8MB4_COLLATION, &collation.to_le_bytes());
        }
        if let Some(required) = self.require_primary_key {
            put(REQUIRE_PRIMARY_KEY, &[u8::from(required)]);
        }
        if let Some(encrypted) = self.table_encryption {
            put(TABLE_ENCRYPTION, &[u8::from(encrypted)]);
        }
    }
}

fn text(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}

fn short_text(reader: &mut Reader<'_>) -> std::result::Result<Box<str>, Malformed> {
    const WHAT: &str = "a text among the status variables of a Query event";
    let bytes = reader.u8(WHAT)? as usize;
    reader.bytes(bytes, WHAT).map(text)
}

fn short(text: &str) -> Vec<u8> {
    let bytes = &text.as_bytes()[..text.len().min(255)];
    [&[bytes.len() as u8], bytes].concat()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    pub connection: u32,
    pub seconds: u32,
    pub error: u16,
    pub vars: StatusVars,
    pub database: &'a [u8],
    pub statement: &'a [u8],
}

impl<'a> Query<'a> {
    pub fn decode(body: &'a [u8]) -> Result<Query<'a>> {
        let mut reader = Reader::new(body);
        let connection = reader.u32("the connection of a Query event")?;
        let seconds = reader.u32("the duration of a Query event")?;
        let database_bytes = reader.u8("the database of a Query event")? as usize;
        let error = reader.u16("the error of a Query event")?;
        let vars_bytes = reader.u16("the status variables of a Query event")? as usize;
        let vars = StatusVars::decode(reader.bytes(vars_bytes, "the status variables of a Query event")?)?;
        let database = reader.bytes(database_bytes, "the database of a Query event")?;
        if reader.u8("the database of a Query event")? != 0 {
            return Err(Error::Malformed { what: "the database of a Query event does not end where it should" });
        }
        Ok(Query { connection, seconds, error, vars, database, statement: reader.rest() })
    }

    /// Appends the body. Names of databases have at most 255 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.connection.to_le_bytes());
        out.extend_from_slice(&self.seconds.to_le_bytes());
        out.push(self.database.len() as u8);
        out.extend_from_slice(&self.error.to_le_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0; 2]);
        self.vars.encode(out);
        let vars_bytes = (out.len() - length_at - 2) as u16;
        out[length_at..length_at + 2].copy_from_slice(&vars_bytes.to_le_bytes());
        writer::zero_terminated(out, self.database);
        out.extend_from_slice(self.statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> StatusVars {
        StatusVars {
            flags2: Some(0x0400_0000),
            sql_mode: Some(0x5000_0000),
            auto_increment: Some((10, 3)),
            charset: Some([255, 255, 33]),
            time_zone: Some("Europe/Berlin".into()),
            catalog: Some("std".into()),
            lc_time_names: Some(4),
            database_collation: Some(255),
            table_map_for_update: Some(1),
            invoker: Some(("root".into(), "localhost".into())),
            updated_databases: Some(Some(vec!["a".into(), "b".into()])),
            microseconds: Some(999_999),
            explicit_timestamp_defaults: Some(true),
            ddl_xid: Some(77),
            utf8mb4_collation: Some(255),
            require_primary_key: Some(false),
            table_encryption: Some(true),
        }
    }

    #[test]
    fn a_statement_comes_back_with_all_that_it_needs() {
        for vars in
            [StatusVars::default(), full(), StatusVars { updated_databases: Some(None), ..StatusVars::default() }]
        {
            let query =
                Query { connection: 8, seconds: 1, error: 0, vars, database: b"shop", statement: b"DROP TABLE t" };
            let mut body = Vec::new();
            query.encode(&mut body);
            assert_eq!(Query::decode(&body), Ok(query));
            // Whatever is cut off is an error, or a shorter statement.
            for length in 0..body.len() {
                if let Ok(cut) = Query::decode(&body[..length]) {
                    assert!(b"DROP TABLE t".starts_with(cut.statement));
                }
            }
        }
    }

    #[test]
    fn what_stands_behind_an_unknown_code_is_left_out() {
        let mut bytes = Vec::new();
        StatusVars { sql_mode: Some(1), ..StatusVars::default() }.encode(&mut bytes);
        bytes.extend_from_slice(&[250, SQL_MODE, 9]);
        assert_eq!(StatusVars::decode(&bytes).unwrap().sql_mode, Some(1));
    }
}
