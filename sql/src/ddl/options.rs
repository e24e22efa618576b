//! Table options: what COMPRESSION, PAGE_COMPRESSED, CHARSET and their kin ask for.
//!
//! Two families ask for page compression: MySQL's `COMPRESSION='zlib'` and
//! MariaDB's engine attributes `PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=6`. Both
//! end in the same two facts, a codec and a level. Attributes are remembered as they
//! were given, so that SHOW CREATE TABLE gives them back.

use format::collation::{Charset, Collation, CollationId};
use storage::schema::{Compression, RowFormat, TableOptions};

use super::{Context, check_name};
use crate::error::{Error, Result};
use crate::parser::ast::{OptionValue, TableOption};
use crate::types::SqlMode;

/// Options that are no property of the table's files.
#[derive(Default)]
pub struct Given {
    pub auto_increment: Option<u64>,
    /// ENGINE= was written: in ALTER TABLE that asks for a rebuild.
    pub engine: bool,
    /// The default collation of columns to come was set.
    pub collation: bool,
}

/// The collation that a character set and a collation name mean together.
pub fn collation(charset: Option<&str>, name: Option<&str>, otherwise: CollationId) -> Result<CollationId> {
    let charset = match charset {
        None => None,
        Some(word) if word.eq_ignore_ascii_case("default") => None,
        Some(word) => Some(Charset::by_name(word).ok_or_else(|| Error::unknown_charset(word))?),
    };
    let Some(name) = name.filter(|word| !word.eq_ignore_ascii_case("default")) else {
        return Ok(charset.map_or(otherwise, Charset::default_collation));
    };
    let found = Collation::by_name(name).ok_or_else(|| Error::unknown_collation(name))?;
    if charset.is_some_and(|charset| charset != found.charset) {
        let charset = charset.map_or("", |charset| charset.name());
        return Err(Error::collation_charset_mismatch(found.name, charset));
    }
    if !found.is_stored {
        return Err(Error::unsupported(format!("columns of collation {}", found.name)));
    }
    Ok(found.id)
}

fn word(value: &OptionValue) -> String {
    match value {
        OptionValue::Default => "DEFAULT".into(),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Word(text) | OptionValue::Text(text) => text.clone(),
    }
}

fn number(option: &TableOption) -> Result<u64> {
    word(&option.value).parse().map_err(|_| Error::wrong_value_for_variable(&option.name, &word(&option.value)))
}

/// MariaDB's attributes are on with 1, YES, ON and TRUE, quoted or not.
fn switch(option: &TableOption) -> Result<Option<bool>> {
    match word(&option.value).to_ascii_lowercase().as_str() {
        "1" | "yes" | "on" | "true" => Ok(Some(true)),
        "0" | "no" | "off" | "false" => Ok(Some(false)),
        "default" => Ok(None),
        other => Err(Error::new(1912, b"HY000", format!("Incorrect value '{other}' for option '{}'", option.name))),
    }
}

/// Applies the options in the order written.
pub fn apply(context: &Context<'_>, given: &[TableOption], options: &mut TableOptions) -> Result<Given> {
    let mut rest = Given::default();
    // CHARSET and COLLATE belong together, in whatever order.
    let text = |name: &str| given.iter().rev().find(|option| option.name == name).map(|option| word(&option.value));
    let (charset, collate) = (text("CHARSET"), text("COLLATE"));
    if charset.is_some() || collate.is_some() {
        options.collation = collation(charset.as_deref(), collate.as_deref(), options.collation)?;
        rest.collation = true;
    }
    for option in given {
        one(context, option, options, &mut rest)?;
    }
    Ok(rest)
}

fn one(context: &Context<'_>, option: &TableOption, options: &mut TableOptions, rest: &mut Given) -> Result<()> {
    let text = word(&option.value);
    match option.name.as_str() {
        "CHARSET" | "COLLATE" => {}
        "ENGINE" => {
            rest.engine = true;
            engine(context, &text)?;
        }
        "AUTO_INCREMENT" => rest.auto_increment = Some(number(option)?),
        "COMMENT" => {
            if text.chars().count() > 2048 {
                return Err(Error::new(1628, b"HY000", "Comment for table is too long (max = 2048)"));
            }
            options.comment = text.into();
        }
        "COMPRESSION" => {
            options.compression = match text.to_ascii_lowercase().as_str() {
                "none" | "" => Compression::None,
                "zlib" => Compression::Zlib,
                "lz4" => Compression::Lz4,
                "zstd" => Compression::Zstd,
                _ => {
                    let known = "none, zlib, lz4 and zstd are known";
                    return Err(Error::new(
                        1112,
                        b"42000",
                        format!("InnoDB: Unsupported compression algorithm '{text}'; {known}"),
                    ));
                }
            };
            forget(options, "PAGE_COMPRESSED");
        }
        "PAGE_COMPRESSED" => {
            forget(options, "PAGE_COMPRESSED");
            match switch(option)? {
                Some(on) => {
                    let algorithm = context.instance.variables.text("innodb_compression_algorithm");
                    options.compression = if on { by_name(&algorithm) } else { Compression::None };
                    remember(options, option, if on { "1" } else { "0" });
                }
                None => options.compression = Compression::Default,
            }
        }
        "PAGE_COMPRESSION_LEVEL" => {
            forget(options, "PAGE_COMPRESSION_LEVEL");
            if text.eq_ignore_ascii_case("default") {
                options.compression_level = None;
                return Ok(());
            }
            let level = number(option)?;
            let level = u8::try_from(level).ok().filter(|level| *level <= 22);
            let Some(level) = level else {
                return Err(Error::new(
                    1912,
                    b"HY000",
                    format!("Incorrect value '{text}' for option 'PAGE_COMPRESSION_LEVEL'"),
                ));
            };
            options.compression_level = Some(level);
            remember(options, option, &text);
        }
        "ATOMIC_WRITES" => {
            forget(options, "ATOMIC_WRITES");
            if switch(option)?.is_some() {
                remember(options, option, &format!("'{}'", text.to_ascii_uppercase()));
                context
                    .warn(1618, "<ATOMIC_WRITES> option ignored: torn pages are prevented by the doublewrite buffer");
            }
        }
        "ENCRYPTION" | "ENCRYPTED" => match text.to_ascii_lowercase().as_str() {
            "n" | "no" | "off" | "" | "default" => {}
            _ => return Err(Error::unsupported("table encryption")),
        },
        "ROW_FORMAT" => {
            options.row_format = match text.to_ascii_uppercase().as_str() {
                "DEFAULT" => RowFormat::Default,
                "DYNAMIC" => RowFormat::Dynamic,
                "COMPACT" => RowFormat::Compact,
                "REDUNDANT" => RowFormat::Redundant,
                "COMPRESSED" => RowFormat::Compressed,
                _ => {
                    context.warn(1478, format!("InnoDB: ROW_FORMAT={text} is unknown; assuming ROW_FORMAT=DYNAMIC."));
                    RowFormat::Default
                }
            };
            match options.row_format {
                RowFormat::Default | RowFormat::Dynamic => {}
                RowFormat::Compressed => {
                    context.warn(1478, "InnoDB: ROW_FORMAT=COMPRESSED is stored as DYNAMIC with page compression.");
                }
                _ => context.warn(1478, format!("InnoDB: ROW_FORMAT={text} is stored as DYNAMIC.")),
            }
        }
        "KEY_BLOCK_SIZE" => {
            let size = number(option)?;
            if !matches!(size, 0 | 1 | 2 | 4 | 8 | 16) {
                return Err(Error::illegal_create_option("InnoDB", &format!("KEY_BLOCK_SIZE={size}")));
            }
            options.key_block_size = size as u32;
            if size > 0 {
                context.warn(
                    1478,
                    format!("InnoDB: KEY_BLOCK_SIZE={size} is ignored: pages are compressed to any length."),
                );
            }
        }
        "DATA DIRECTORY" | "INDEX DIRECTORY" => context.warn(1618, format!("<{}> option ignored", option.name)),
        "TABLESPACE" => {
            if !text.eq_ignore_ascii_case("innodb_file_per_table") {
                return Err(Error::unsupported("general tablespaces"));
            }
        }
        "UNION" | "CONNECTION" | "INSERT_METHOD" | "SECONDARY_ENGINE" => {
            return Err(Error::unsupported(format!("table option {}", option.name)));
        }
        // Hints for other engines and for statistics: remembered, as InnoDB does, and without effect there too.
        "STATS_PERSISTENT"
        | "STATS_AUTO_RECALC"
        | "STATS_SAMPLE_PAGES"
        | "MAX_ROWS"
        | "MIN_ROWS"
        | "AVG_ROW_LENGTH"
        | "PACK_KEYS"
        | "CHECKSUM"
        | "TABLE_CHECKSUM"
        | "PAGE_CHECKSUM"
        | "DELAY_KEY_WRITE"
        | "TRANSACTIONAL"
        | "AUTOEXTEND_SIZE"
        | "STORAGE"
        | "ENGINE_ATTRIBUTE"
        | "SECONDARY_ENGINE_ATTRIBUTE"
        | "PASSWORD" => {
            forget(options, &option.name);
            if option.value != OptionValue::Default {
                let shown = match &option.value {
                    OptionValue::Text(text) => crate::describe::literal(text),
                    other => word(other),
                };
                remember(options, option, &shown);
            }
        }
        unknown => return Err(Error::new(1911, b"HY000", format!("Unknown option '{unknown}'"))),
    }
    Ok(())
}

fn by_name(algorithm: &str) -> Compression {
    match algorithm.to_ascii_lowercase().as_str() {
        "none" => Compression::None,
        "zlib" => Compression::Zlib,
        "lz4" => Compression::Lz4,
        _ => Compression::Zstd,
    }
}

fn remember(options: &mut TableOptions, option: &TableOption, value: &str) {
    options.create_options.push((option.name.as_str().into(), value.into()));
}

fn forget(options: &mut TableOptions, name: &str) {
    options.create_options.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
}

/// ENGINE=: every table is an InnoDB table; other names are substituted where sql_mode allows it.
fn engine(context: &Context<'_>, name: &str) -> Result<()> {
    if name.eq_ignore_ascii_case("innodb") {
        return Ok(());
    }
    if context.settings.sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION) {
        return Err(Error::unknown_engine(name));
    }
    let error = Error::unknown_engine(name);
    context.warn(error.code, error.message);
    context.warn(1266, "Using storage engine InnoDB for table");
    Ok(())
}

/// The name of a new table.
pub fn check_table_name(name: &str) -> Result<()> {
    check_name(name, Error::wrong_table_name)
}
