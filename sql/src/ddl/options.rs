//! Table options: what COMPRESSION, PAGE_COMPRESSED, CHARSET and their kin ask for.
//!
//! Two families ask for page compression: MySQL's `COMPRESSION='zlib'`, which names the
//! codec, and MariaDB's engine attributes `PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=6`,
//! which leave the codec to the server (innodb_compression_algorithm). Both end in two
//! facts, a codec and a level; whichever was said last holds. Options are remembered as
//! they were given, so that SHOW CREATE TABLE gives them back.
//!
//! What an option asks for may be impossible here: no holes can be punched, a page is
//! one block. The statement succeeds then, and [`warn_of_what_cannot_be`] says why in
//! SHOW WARNINGS and in the server's log; GLASSINE_TABLESPACE_COMPRESSION goes on saying it.

use format::transform::Algorithm;
use storage::TornProtection;
use storage::schema::{AtomicWrites, Compression, RowFormat, TableOptions};

use super::column::comment_of;
use super::{Context, check_file_name};
use crate::column_types::collation_of;
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
    /// COMPRESSION was written: it names the codec, whatever PAGE_COMPRESSED adds.
    codec: bool,
    /// What InnoDB has none of, and refuses in strict mode.
    row_format_fixed: bool,
    data_directory: bool,
    index_directory: bool,
    /// ENGINE= names another engine, which may have known the options.
    other_engine: bool,
}

impl Given {
    /// Whether a new table may have these options: InnoDB's strict mode refuses what it would ignore otherwise.
    pub fn check_new(&self, context: &Context<'_>, table: &str, temporary: bool) -> Result<()> {
        let refused = |reason: &str| {
            context.warn(1478, format!("InnoDB: {reason}"));
            Err(Error::without_this_option(table))
        };
        let is_strict = self.is_strict(context);
        if self.row_format_fixed && is_strict {
            return refused("invalid ROW_FORMAT specifier.");
        }
        if self.data_directory && temporary && is_strict {
            return refused("DATA DIRECTORY cannot be used for TEMPORARY tables.");
        }
        if self.index_directory && is_strict {
            return refused("INDEX DIRECTORY is not supported");
        }
        self.warn(context);
        Ok(())
    }

    /// The same of a table that there is: ALTER TABLE leaves the directories where they are.
    pub fn check_altered(&self, context: &Context<'_>) -> Result<()> {
        if self.row_format_fixed && self.is_strict(context) {
            context.warn(1478, "InnoDB: invalid ROW_FORMAT specifier.");
            return Err(Error::illegal_create_option("InnoDB", "ROW_TYPE"));
        }
        self.warn(context);
        Ok(())
    }

    fn is_strict(&self, context: &Context<'_>) -> bool {
        context.settings.innodb_strict_mode && !self.other_engine
    }

    fn warn(&self, context: &Context<'_>) {
        if self.row_format_fixed {
            context.warn(1478, "InnoDB: assuming ROW_FORMAT=DYNAMIC.");
        }
        for (is_said, what) in [(self.data_directory, "DATA"), (self.index_directory, "INDEX")] {
            if is_said {
                context.warn(1618, format!("<{what} DIRECTORY> option ignored"));
            }
        }
    }
}

pub fn word(value: &OptionValue) -> String {
    match value {
        OptionValue::Default => "DEFAULT".into(),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Word(text) | OptionValue::Text(text) => text.clone(),
    }
}

/// Of a number with a fraction the digits before the point.
fn number(option: &TableOption) -> Result<u64> {
    let text = word(&option.value);
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        _ => &text,
    };
    whole.parse().map_err(|_| Error::wrong_value_for_variable(&option.name, &text))
}

/// MariaDB's attributes are on with 1, YES, ON and TRUE, quoted or not.
fn switch(option: &TableOption) -> Result<Option<bool>> {
    match word(&option.value).to_ascii_lowercase().as_str() {
        "1" | "yes" | "on" | "true" => Ok(Some(true)),
        "0" | "no" | "off" | "false" => Ok(Some(false)),
        "default" => Ok(None),
        _ => Err(wrong_value(option)),
    }
}

fn wrong_value(option: &TableOption) -> Error {
    let value = word(&option.value);
    Error::new(1912, b"HY000", format!("Incorrect value '{value}' for option '{}'", option.name))
}

/// The value as it was written: quoted if it was.
fn written(option: &TableOption) -> String {
    match &option.value {
        OptionValue::Text(text) => crate::describe::literal(text),
        other => word(other),
    }
}

/// The options of a table that says none.
pub fn new_options(context: &Context<'_>) -> TableOptions {
    let encrypt_tables = context.instance.variables.text("innodb_encrypt_tables");
    let encrypted = context.settings.default_table_encryption || encrypt_tables != "OFF";
    let mut table_options = TableOptions { encrypted, ..TableOptions::default() };
    if !context.settings.innodb_compression_default {
        table_options.compression = Compression::NONE;
    }
    table_options
}

/// Applies the options in the order written.
pub fn apply(context: &Context<'_>, given: &[TableOption], options: &mut TableOptions) -> Result<Given> {
    let mut rest = Given::default();
    // CHARSET and COLLATE belong together, in whatever order.
    let text = |name: &str| given.iter().rev().find(|option| option.name == name).map(|option| word(&option.value));
    let (charset, collate) = (text("CHARSET"), text("COLLATE"));
    if charset.is_some() || collate.is_some() {
        let (charset, collate) = (charset.as_deref(), collate.as_deref());
        context.warn_of_old_unicode(charset, collate);
        options.collation = collation_of(charset, collate, options.collation, context.eval.utf8mb4)?;
        rest.collation = true;
    }
    rest.codec = check_families(given)?;
    if rest.codec {
        // What an earlier statement said of it; if this one says it too, it is remembered again.
        forget(options, "PAGE_COMPRESSED");
    }
    for option in given {
        one(context, option, options, &mut rest)?;
    }
    check_level(context, given, options)?;
    check_legacy_format(context, given, options);
    Ok(rest)
}

/// COMPRESSION and PAGE_COMPRESSED of one statement do not contradict each other. Tells whether there is the former.
fn check_families(given: &[TableOption]) -> Result<bool> {
    let last = |name: &str| given.iter().rev().find(|option| option.name == name);
    let Some(codec) = last("COMPRESSION") else { return Ok(false) };
    if let Some(option) = last("PAGE_COMPRESSED")
        && let Some(on) = switch(option)?
    {
        let codec = word(&codec.value);
        let compresses = !codec.is_empty() && !codec.eq_ignore_ascii_case("none");
        if on != compresses {
            let contradiction = format!("PAGE_COMPRESSED={} beside COMPRESSION='{codec}'", word(&option.value));
            return Err(Error::illegal_create_option("InnoDB", &contradiction));
        }
    }
    Ok(true)
}

/// The level has to be one of the codec's. The server's codec may change later, and takes the nearest level then.
fn check_level(context: &Context<'_>, given: &[TableOption], options: &mut TableOptions) -> Result<()> {
    let Some(level) = options.compression_level else { return Ok(()) };
    let codec = match options.compression {
        Compression::Default => Algorithm::by_name(&context.instance.variables.text("innodb_compression_algorithm")),
        Compression::Codec(algorithm) => Some(algorithm),
    };
    let Some(codec) = codec else { return Ok(()) };
    // No levels: any will do, and none does anything.
    let has_levels = codec.levels() != (0, 0);
    let levels = if has_levels { codec.levels().0..=codec.levels().1 } else { 0..=22 };
    let said = given.iter().any(|option| option.name == "PAGE_COMPRESSION_LEVEL");
    if !levels.contains(&i32::from(level)) {
        let why = format!("{} has levels {} to {}", codec.name(), levels.start(), levels.end());
        if said {
            let message = format!("Incorrect value '{level}' for option 'PAGE_COMPRESSION_LEVEL': {why}");
            return Err(Error::new(1912, b"HY000", message));
        }
        // The codec was changed under a level that was chosen for another.
        context.warn(1912, format!("PAGE_COMPRESSION_LEVEL={level} is dropped: {why}"));
        options.compression_level = None;
        forget(options, "PAGE_COMPRESSION_LEVEL");
    } else if said && !has_levels {
        let message = format!("PAGE_COMPRESSION_LEVEL={level} has no effect: {} has no levels", codec.name());
        context.warn(1618, message);
    }
    Ok(())
}

/// The older compression, ROW_FORMAT=COMPRESSED with its KEY_BLOCK_SIZE, has no pages of its own here.
fn check_legacy_format(context: &Context<'_>, given: &[TableOption], options: &TableOptions) {
    let said = |name: &str| given.iter().any(|option| option.name == name);
    if options.row_format != RowFormat::Compressed && options.key_block_size == 0 {
        return;
    }
    if !said("ROW_FORMAT") && !said("KEY_BLOCK_SIZE") {
        return;
    }
    let asked = match options.key_block_size {
        0 => "ROW_FORMAT=COMPRESSED".to_owned(),
        size => format!("KEY_BLOCK_SIZE={size}"),
    };
    context.warn(
        1478,
        match options.compression {
            Compression::NONE => format!("InnoDB: {asked} is ignored, and COMPRESSION is 'none': nothing is compressed."),
            _ => format!("InnoDB: {asked} is stored as ROW_FORMAT=DYNAMIC with page compression: each page takes the blocks that it needs."),
        },
    );
}

/// After the statement: what the table asked for and does not get, and why.
pub fn warn_of_what_cannot_be(context: &Context<'_>, given: &[TableOption], table: &storage::Table) {
    let said = |names: &[&str]| given.iter().any(|option| names.contains(&option.name.as_str()));
    let engine = &context.instance.engine;
    // A file that cannot be asked has made itself heard elsewhere.
    let Some(file) = table.schema().files().next() else { return };
    let Ok(Some(space)) = engine.tablespace(file.space.0) else { return };
    if said(&["ATOMIC_WRITES"])
        && table.options.atomic_writes == AtomicWrites::On
        && !matches!(space.torn_protection, TornProtection::AtomicWrites | TornProtection::CopyOnWrite)
    {
        context.warn(1478, format!("InnoDB: ATOMIC_WRITES=ON cannot be had: {}", space.torn_reason));
    }
    let asked = table.options.compression.name() != "none";
    if said(&["COMPRESSION", "PAGE_COMPRESSED", "ROW_FORMAT", "KEY_BLOCK_SIZE"])
        && asked
        && let Some(reason) = space.why_not_compressed()
    {
        // MySQL's number for it.
        context.warn(
            138,
            format!("Table {} asks for compression and cannot have it in full: {reason}", table.full_name()),
        );
        tracing::warn!("table {} asks for compression and cannot have it in full: {reason}", table.full_name());
    }
}

fn one(context: &Context<'_>, option: &TableOption, options: &mut TableOptions, rest: &mut Given) -> Result<()> {
    let text = word(&option.value);
    match option.name.as_str() {
        "CHARSET" | "COLLATE" => {}
        "ENGINE" => {
            rest.engine = true;
            rest.other_engine = !text.eq_ignore_ascii_case("innodb");
            engine(context, &text)?;
        }
        "AUTO_INCREMENT" => rest.auto_increment = Some(number(option)?),
        "COMMENT" => {
            let too_long = || Error::new(1628, b"HY000", "Comment for table is too long (max = 2048)");
            options.comment = comment_of(context, text, 2048, too_long)?.into();
        }
        "COMPRESSION" => compression(option, &text, options)?,
        "PAGE_COMPRESSED" if rest.codec => {
            if switch(option)?.is_some() {
                remember(options, option, &written(option));
            }
        }
        "PAGE_COMPRESSED" => page_compressed(context, option, options)?,
        "PAGE_COMPRESSION_LEVEL" => level(option, &text, options)?,
        "ATOMIC_WRITES" => {
            options.atomic_writes = match switch(option)? {
                None => AtomicWrites::Default,
                Some(true) => AtomicWrites::On,
                Some(false) => AtomicWrites::Off,
            };
            match options.atomic_writes {
                AtomicWrites::Default => forget(options, &option.name),
                _ => remember(options, option, &written(option)),
            }
        }
        "ENCRYPTION" => {
            options.encrypted = match text.to_ascii_lowercase().as_str() {
                "y" => true,
                "n" | "" => false,
                _ => return Err(Error::invalid_encryption_option()),
            };
            forget(options, "ENCRYPTED");
            remember(options, option, &crate::describe::literal(&text));
        }
        "ENCRYPTED" => {
            let on = switch(option)?;
            options.encrypted = on.unwrap_or(context.settings.default_table_encryption);
            forget(options, "ENCRYPTION");
            match on {
                Some(_) => remember(options, option, &written(option)),
                None => forget(options, &option.name),
            }
        }
        "ROW_FORMAT" => {
            options.row_format = row_format(context, &text)?;
            rest.row_format_fixed = options.row_format == RowFormat::Fixed;
        }
        "KEY_BLOCK_SIZE" => {
            let size = number(option)?;
            if !matches!(size, 0 | 1 | 2 | 4 | 8 | 16) {
                return Err(Error::illegal_create_option("InnoDB", &format!("KEY_BLOCK_SIZE={size}")));
            }
            options.key_block_size = size as u32;
        }
        "DATA DIRECTORY" | "INDEX DIRECTORY" if context.settings.sql_mode.has(SqlMode::NO_DIR_IN_CREATE) => {
            context.warn(1618, format!("<{}> option ignored", option.name));
        }
        "DATA DIRECTORY" => rest.data_directory = true,
        "INDEX DIRECTORY" => rest.index_directory = true,
        "TABLESPACE" => {
            if !text.eq_ignore_ascii_case("innodb_file_per_table") {
                return Err(Error::unsupported("general tablespaces"));
            }
        }
        // Of MERGE tables: InnoDB neither looks at them nor remembers them.
        "UNION" | "INSERT_METHOD" => {}
        // An engine beside InnoDB is asked when a table is loaded into it, and there is none to be loaded into.
        "SECONDARY_ENGINE" if text.eq_ignore_ascii_case("NULL") => forget(options, &option.name),
        "SECONDARY_ENGINE" => remember(options, option, &written(option)),
        "STATS_PERSISTENT" | "STATS_AUTO_RECALC" | "STATS_SAMPLE_PAGES" => {
            let allowed = if option.name == "STATS_SAMPLE_PAGES" { 1..=65_535 } else { 0..=1 };
            match option.value {
                OptionValue::Default => forget(options, &option.name),
                OptionValue::Number(number) if allowed.contains(&number) => {
                    remember(options, option, &number.to_string());
                }
                _ => return Err(Error::syntax(&text, 1)),
            }
        }
        "SEQUENCE" => match switch(option)? {
            Some(true) => remember(options, option, "1"),
            _ => forget(options, &option.name),
        },
        // Hints for other engines: remembered, as InnoDB does, and without effect there too.
        "MAX_ROWS" | "MIN_ROWS" | "AVG_ROW_LENGTH" | "CHECKSUM" | "TABLE_CHECKSUM" | "PAGE_CHECKSUM"
        | "DELAY_KEY_WRITE" | "TRANSACTIONAL" | "PACK_KEYS" => match option.value {
            OptionValue::Default => forget(options, &option.name),
            OptionValue::Number(number) => remember(options, option, &number.to_string()),
            _ => return Err(Error::syntax(&text, 1)),
        },
        "AUTOEXTEND_SIZE" => match option.value {
            OptionValue::Default => forget(options, &option.name),
            _ => remember(options, option, &size(&text)?.to_string()),
        },
        "STORAGE" => match text.to_ascii_uppercase().as_str() {
            "DEFAULT" => forget(options, &option.name),
            kind @ ("DISK" | "MEMORY") => remember(options, option, kind),
            _ => return Err(Error::syntax(&text, 1)),
        },
        "PASSWORD" => context.warn(1618, "<PASSWORD> option ignored"),
        // FEDERATED's; InnoDB remembers it, too.
        "CONNECTION" => match &option.value {
            OptionValue::Text(text) if text.is_empty() => forget(options, &option.name),
            OptionValue::Text(text) => remember(options, option, &crate::describe::literal(text)),
            _ => return Err(Error::syntax(&text, 1)),
        },
        "ENGINE_ATTRIBUTE" | "SECONDARY_ENGINE_ATTRIBUTE" => match &option.value {
            OptionValue::Text(text) => remember(options, option, &crate::describe::literal(text)),
            _ => return Err(Error::syntax(&text, 1)),
        },
        // One that would be remembered would stand in dumps, which other servers, and this one with another sql_mode, refuse.
        unknown => {
            let message = format!("Unknown option '{unknown}'");
            if !context.settings.sql_mode.has(SqlMode::IGNORE_BAD_TABLE_OPTIONS) {
                return Err(Error::new(1911, b"HY000", message));
            }
            context.warn(1911, message);
        }
    }
    Ok(())
}

/// Bytes: a number, with K, M or G behind it.
fn size(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(Error::syntax(text, 1)),
    };
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(|| Error::syntax(text, 1))
}

/// The codec of a name.
pub fn compression_of(text: &str, options: &mut TableOptions) -> Result<()> {
    let Some(algorithm) = Algorithm::by_name(text) else {
        let known = Algorithm::NAMES.join(", ");
        let message = format!("InnoDB: Unsupported compression algorithm '{text}'; known are {known}");
        return Err(Error::new(1112, b"42000", message));
    };
    options.compression = Compression::Codec(algorithm);
    Ok(())
}

/// COMPRESSION='zstd', MySQL's: the codec.
fn compression(option: &TableOption, text: &str, options: &mut TableOptions) -> Result<()> {
    compression_of(text, options)?;
    remember(options, option, &crate::describe::literal(text));
    Ok(())
}

/// PAGE_COMPRESSED=1, MariaDB's: the server's codec, also when that changes.
fn page_compressed(context: &Context<'_>, option: &TableOption, options: &mut TableOptions) -> Result<()> {
    let on = switch(option)?;
    forget(options, "COMPRESSION");
    options.compression = match on {
        Some(false) => Compression::NONE,
        Some(true) | None => Compression::Default,
    };
    if on == Some(true) && context.instance.variables.text("innodb_compression_algorithm") == "none" {
        context.warn(1478, "InnoDB: PAGE_COMPRESSED has no effect while innodb_compression_algorithm is none.");
    }
    match on {
        Some(_) => remember(options, option, &written(option)),
        None => forget(options, &option.name),
    }
    Ok(())
}

/// PAGE_COMPRESSION_LEVEL; whether the codec has the level is looked at when all has been said.
fn level(option: &TableOption, text: &str, options: &mut TableOptions) -> Result<()> {
    if text.eq_ignore_ascii_case("default") {
        options.compression_level = None;
        forget(options, &option.name);
        return Ok(());
    }
    let level = text.parse().ok().filter(|level| *level <= 22);
    let Some(level) = level else { return Err(wrong_value(option)) };
    options.compression_level = Some(level);
    remember(options, option, text);
    Ok(())
}

/// Rows are stored as DYNAMIC, whatever the statement wants; another format is answered with a warning.
fn row_format(context: &Context<'_>, text: &str) -> Result<RowFormat> {
    let format = match text.to_ascii_uppercase().as_str() {
        "DEFAULT" => RowFormat::Default,
        "DYNAMIC" => RowFormat::Dynamic,
        "COMPACT" => RowFormat::Compact,
        "REDUNDANT" => RowFormat::Redundant,
        "COMPRESSED" => RowFormat::Compressed,
        // MariaDB's PAGE is no format of InnoDB's either.
        "FIXED" | "PAGE" => RowFormat::Fixed,
        _ => return Err(Error::syntax(text, 1)),
    };
    if matches!(format, RowFormat::Compact | RowFormat::Redundant) {
        context.warn(1478, format!("InnoDB: ROW_FORMAT={text} is stored as DYNAMIC."));
    }
    Ok(format)
}

/// Whether `innodb_encrypt_tables` lets the table be as it asks.
pub fn check_encryption(options: &TableOptions, encrypt_tables: &str) -> Result<()> {
    if encrypt_tables == "FORCE" && !options.encrypted {
        return Err(Error::illegal_create_option("InnoDB", "ENCRYPTED"));
    }
    Ok(())
}

/// Keeps the option as it was written, in the place of an earlier one of this name.
fn remember(options: &mut TableOptions, option: &TableOption, value: &str) {
    forget(options, &option.name);
    options.create_options.push((option.name.as_str().into(), value.into()));
}

fn forget(options: &mut TableOptions, name: &str) {
    options.create_options.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
}

/// Engines of tables that lose nothing when InnoDB has them.
const TAKEN_AS_INNODB: [&str; 6] = ["MyISAM", "Aria", "MEMORY", "HEAP", "ARCHIVE", "CSV"];

/// An engine that is named beside that of the table: an error if there is none of the name, and none may stand for it.
pub fn check_engine(context: &Context<'_>, name: &str) -> Result<()> {
    let is_known = |known: &str| name.eq_ignore_ascii_case(known);
    if is_known("innodb") || TAKEN_AS_INNODB.into_iter().any(is_known) {
        return Ok(());
    }
    engine(context, name)
}

/// ENGINE=: every table is an InnoDB table. It is a note for tables that are that and more, as old dumps have them; other
/// names are substituted where sql_mode allows it.
fn engine(context: &Context<'_>, name: &str) -> Result<()> {
    if name.eq_ignore_ascii_case("innodb") {
        return Ok(());
    }
    if TAKEN_AS_INNODB.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        context.note(1266, "Using storage engine InnoDB for table");
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
    check_file_name(name, Error::wrong_table_name)
}
