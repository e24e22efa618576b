//! The static type of an expression, and the SQL modes that change what
//! expressions mean.
//!
//! [`TypeInfo`] is what MySQL tells a client about a result column: a kind, a
//! display length in characters, decimals, a collation. It is also what the binder
//! computes with: which kind two branches of an IF have in common, how a decimal's
//! scale grows, whose collation wins ([`Coercibility`]).
//!
//! It is not the type of a stored column: that is [`ColumnType`], from which
//! [`TypeInfo::of_column`] is made, and to which [`TypeInfo::column_type`] leads
//! back where a result is stored or sent.
//!
//! Invariants:
//!
//! * A `TypeInfo` is `Copy`: the members of an ENUM stay with its column.
//! * `length` counts characters for strings and printed characters for the rest.
//! * Whatever is not a string has the collation `binary`, as in result metadata;
//!   as an argument of a string function it has the connection's.

use format::collation::{Charset, CollationId, collation};
use format::value::{ColumnType, GeometryType, LobSize};

/// `decimals` of a double or float without a fixed number of decimals.
pub const DECIMALS_NOT_FIXED: u8 = 31;

/// The kinds of types, as clients see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The type of NULL.
    Null,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Year,
    Bit,
    Float,
    Double,
    Decimal,
    Date,
    Time,
    DateTime,
    Timestamp,
    /// CHAR and BINARY, by collation.
    Char,
    /// VARCHAR and VARBINARY, and most results of functions.
    VarChar,
    /// TEXT and BLOB of all sizes, by `length`.
    Text,
    Json,
    /// Bytes as a column stores them.
    Geometry(GeometryType),
    /// A column's value in string context; see `Expr::column`.
    Enum,
    Set,
    /// A `?` whose value has not been seen.
    Parameter,
}

/// The ways of the planner that `optimizer_switch` turns on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches(u16);

impl Switches {
    pub const DERIVED_MERGE: Switches = Switches(1);
    pub const DERIVED_CONDITION_PUSHDOWN: Switches = Switches(1 << 1);
    pub const SEMIJOIN: Switches = Switches(1 << 2);
    pub const MATERIALIZATION: Switches = Switches(1 << 3);
    pub const SUBQUERY_CACHE: Switches = Switches(1 << 4);
    pub const HASH_JOIN: Switches = Switches(1 << 5);
    pub const INDEX_MERGE: Switches = Switches(1 << 6);
    /// Off, unless it is asked for.
    pub const USE_INVISIBLE_INDEXES: Switches = Switches(1 << 8);
    /// All that are on by default.
    pub const DEFAULT: Switches = Switches(0xFF);

    const NAMES: [(&str, Switches); 10] = [
        ("derived_merge", Switches::DERIVED_MERGE),
        ("derived_condition_pushdown", Switches::DERIVED_CONDITION_PUSHDOWN),
        ("semijoin", Switches::SEMIJOIN),
        ("materialization", Switches::MATERIALIZATION),
        ("subquery_cache", Switches::SUBQUERY_CACHE),
        ("block_nested_loop", Switches::HASH_JOIN),
        ("hash_join", Switches::HASH_JOIN),
        ("index_merge", Switches::INDEX_MERGE),
        ("index_merge_union", Switches::INDEX_MERGE),
        ("use_invisible_indexes", Switches::USE_INVISIBLE_INDEXES),
    ];

    /// From the text of the variable. What it does not name is as by default.
    pub fn of_text(text: &str) -> Switches {
        let mut switches = Switches::DEFAULT;
        for (name, value) in text.split(',').filter_map(|flag| flag.split_once('=')) {
            let named = Switches::NAMES.iter().find(|(known, _)| *known == name.trim());
            let Some((_, switch)) = named else { continue };
            if value.trim().eq_ignore_ascii_case("off") {
                switches.0 &= !switch.0;
            } else if *switch == Switches::USE_INVISIBLE_INDEXES {
                switches.0 |= switch.0;
            }
        }
        switches
    }

    pub fn has(self, switch: Switches) -> bool {
        self.0 & switch.0 != 0
    }
}

/// How strongly a string holds to its collation: lower is stronger. MySQL's numbers, as COERCIBILITY() shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Coercibility {
    /// A COLLATE clause.
    Explicit = 0,
    /// Two columns of different collations concatenated: usable, but not comparable.
    None = 1,
    /// A column.
    Implicit = 2,
    /// USER(), VERSION() and other system constants.
    SystemConstant = 3,
    /// A literal.
    Literal = 4,
    /// A number or a temporal value.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
}

/// The static type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeInfo {
    pub kind: Kind,
    pub unsigned: bool,
    pub zerofill: bool,
    pub nullable: bool,
    /// Digits behind the point; of temporal kinds the fsp; [`DECIMALS_NOT_FIXED`] for floating ones.
    pub decimals: u8,
    pub coercibility: Coercibility,
    pub collation: CollationId,
    pub length: u32,
}

impl TypeInfo {
    pub const NULL: TypeInfo = TypeInfo {
        kind: Kind::Null,
        unsigned: false,
        zerofill: false,
        nullable: true,
        decimals: 0,
        coercibility: Coercibility::Ignorable,
        collation: CollationId::BINARY,
        length: 0,
    };

    const fn number(kind: Kind, unsigned: bool, length: u32, decimals: u8) -> TypeInfo {
        TypeInfo {
            kind,
            unsigned,
            zerofill: false,
            nullable: true,
            decimals,
            coercibility: Coercibility::Numeric,
            collation: CollationId::BINARY,
            length,
        }
    }

    /// BIGINT of the given printed length.
    pub const fn bigint(length: u32) -> TypeInfo {
        TypeInfo::number(Kind::BigInt, false, length, 0)
    }

    pub const fn bigint_unsigned(length: u32) -> TypeInfo {
        TypeInfo::number(Kind::BigInt, true, length, 0)
    }

    /// INT, which is what comparisons, lengths and the parts of dates give.
    pub const fn int(length: u32) -> TypeInfo {
        TypeInfo::number(Kind::Int, false, length, 0)
    }

    /// 0, 1 or NULL.
    pub const fn boolean() -> TypeInfo {
        TypeInfo::number(Kind::Int, false, 1, 0)
    }

    pub const fn double() -> TypeInfo {
        TypeInfo::number(Kind::Double, false, 23, DECIMALS_NOT_FIXED)
    }

    /// DOUBLE shown with a fixed number of decimals.
    pub const fn double_fixed(decimals: u8) -> TypeInfo {
        TypeInfo::number(Kind::Double, false, 17 + decimals as u32, decimals)
    }

    pub const fn decimal(precision: u8, scale: u8, unsigned: bool) -> TypeInfo {
        let point = if scale > 0 { 1 } else { 0 };
        let sign = if unsigned { 0 } else { 1 };
        TypeInfo::number(Kind::Decimal, unsigned, precision as u32 + point + sign, scale)
    }

    pub const fn date() -> TypeInfo {
        TypeInfo::number(Kind::Date, false, 10, 0)
    }

    pub const fn time(fsp: u8) -> TypeInfo {
        TypeInfo::number(Kind::Time, false, 10 + fraction_length(fsp), fsp)
    }

    pub const fn datetime(fsp: u8) -> TypeInfo {
        TypeInfo::number(Kind::DateTime, false, 19 + fraction_length(fsp), fsp)
    }

    /// A string of at most `length` characters.
    pub const fn string(length: u32, collation: CollationId, coercibility: Coercibility) -> TypeInfo {
        TypeInfo {
            kind: if length > 65535 { Kind::Text } else { Kind::VarChar },
            unsigned: false,
            zerofill: false,
            nullable: true,
            decimals: DECIMALS_NOT_FIXED,
            coercibility,
            collation,
            length,
        }
    }

    pub const fn json() -> TypeInfo {
        let mut ty = TypeInfo::string(u32::MAX, CollationId::UTF8MB4_BIN, Coercibility::Implicit);
        ty.kind = Kind::Json;
        ty
    }

    /// A geometry of the kind; of an expression any reference system.
    pub const fn geometry(kind: GeometryType) -> TypeInfo {
        let mut ty = TypeInfo::string(u32::MAX, CollationId::BINARY, Coercibility::Implicit);
        ty.kind = Kind::Geometry(kind);
        ty
    }

    pub const fn binary_string(length: u32) -> TypeInfo {
        TypeInfo::string(length, CollationId::BINARY, Coercibility::Implicit)
    }

    /// A hexadecimal or bit literal, `x'41'`, of so many bytes: a string, but a number where a number is wanted. No
    /// other string is `unsigned`.
    pub const fn bit_literal(length: u32) -> TypeInfo {
        TypeInfo::string(length, CollationId::BINARY, Coercibility::Literal).not_null().unsigned()
    }

    pub fn is_bit_literal(&self) -> bool {
        self.unsigned && self.is_string()
    }

    /// The type of a value that has gone through a column, a variable or a function: a bit literal is a plain string
    /// from there on.
    pub fn stored(mut self) -> TypeInfo {
        self.unsigned &= !self.is_string();
        self
    }

    /// A `?` of which nothing is known.
    pub const fn parameter(collation: CollationId) -> TypeInfo {
        let mut ty = TypeInfo::string(65535, collation, Coercibility::Literal);
        ty.kind = Kind::Parameter;
        ty
    }

    pub const fn nullable(mut self, nullable: bool) -> TypeInfo {
        self.nullable = nullable;
        self
    }

    pub const fn not_null(self) -> TypeInfo {
        self.nullable(false)
    }

    pub const fn unsigned(mut self) -> TypeInfo {
        self.unsigned = true;
        self
    }

    /// The type that a column's values have in expressions.
    /// That of a table's column, with its ZEROFILL.
    pub fn of_stored(column: &storage::Column) -> TypeInfo {
        let info = TypeInfo::of_column(&column.ty, column.nullable);
        match column.zerofill {
            Some(width) => TypeInfo { zerofill: true, length: u32::from(width), ..info },
            None => info,
        }
    }

    pub fn of_column(ty: &ColumnType, nullable: bool) -> TypeInfo {
        let text = |kind, length, id| TypeInfo { kind, ..TypeInfo::string(length, id, Coercibility::Implicit) };
        let info = match ty {
            ColumnType::Int { bytes, unsigned } => {
                let (kind, length) = match (bytes, unsigned) {
                    (1, false) => (Kind::TinyInt, 4),
                    (1, true) => (Kind::TinyInt, 3),
                    (2, false) => (Kind::SmallInt, 6),
                    (2, true) => (Kind::SmallInt, 5),
                    (3, false) => (Kind::MediumInt, 9),
                    (3, true) => (Kind::MediumInt, 8),
                    (4, false) => (Kind::Int, 11),
                    (4, true) => (Kind::Int, 10),
                    (_, _) => (Kind::BigInt, 20),
                };
                TypeInfo::number(kind, *unsigned, length, 0)
            }
            ColumnType::Year => TypeInfo { zerofill: true, ..TypeInfo::number(Kind::Year, true, 4, 0) },
            ColumnType::Bit { bits } => TypeInfo::number(Kind::Bit, true, *bits as u32, 0),
            ColumnType::Float { unsigned, decimals } => match decimals {
                Some((m, d)) => TypeInfo::number(Kind::Float, *unsigned, *m as u32, *d),
                None => TypeInfo::number(Kind::Float, *unsigned, 12, DECIMALS_NOT_FIXED),
            },
            ColumnType::Double { unsigned, decimals } => match decimals {
                Some((m, d)) => TypeInfo::number(Kind::Double, *unsigned, *m as u32, *d),
                None => TypeInfo::number(Kind::Double, *unsigned, 22, DECIMALS_NOT_FIXED),
            },
            ColumnType::Decimal { precision, scale, unsigned } => TypeInfo::decimal(*precision, *scale, *unsigned),
            ColumnType::Date => TypeInfo::date(),
            ColumnType::Time { fsp } => TypeInfo::time(*fsp),
            ColumnType::DateTime { fsp } => TypeInfo::datetime(*fsp),
            ColumnType::Timestamp { fsp } => TypeInfo { kind: Kind::Timestamp, ..TypeInfo::datetime(*fsp) },
            ColumnType::Char { chars, collation } => text(Kind::Char, *chars, *collation),
            ColumnType::VarChar { chars, collation } => text(Kind::VarChar, *chars, *collation),
            ColumnType::Binary { bytes } => text(Kind::Char, *bytes, CollationId::BINARY),
            ColumnType::VarBinary { bytes } => text(Kind::VarChar, *bytes, CollationId::BINARY),
            ColumnType::Text { size, collation } => text(Kind::Text, size.bytes_max(), *collation),
            ColumnType::Blob { size } => text(Kind::Text, size.bytes_max(), CollationId::BINARY),
            ColumnType::Json => TypeInfo::json(),
            ColumnType::Geometry { kind, .. } => TypeInfo::geometry(*kind),
            ColumnType::Enum { members, collation: id } => {
                let charset = collation(*id).charset;
                let longest = members.iter().map(|m| charset.char_count(m.as_bytes())).max().unwrap_or(0);
                text(Kind::Enum, longest as u32, *id)
            }
            ColumnType::Set { members, collation: id } => {
                let charset = collation(*id).charset;
                let all: usize = members.iter().map(|m| charset.char_count(m.as_bytes()) + 1).sum();
                text(Kind::Set, all.saturating_sub(1) as u32, *id)
            }
        };
        info.nullable(nullable)
    }

    /// The type of a column that can hold the values of this expression, and by which a result is rendered. ENUM
    /// and SET become VARCHAR, for their values are strings by then; NULL becomes BINARY(0).
    pub fn column_type(&self) -> ColumnType {
        let decimals = (self.decimals < DECIMALS_NOT_FIXED).then_some((self.length.min(255) as u8, self.decimals));
        let int = |bytes| ColumnType::Int { bytes, unsigned: self.unsigned };
        match self.kind {
            Kind::Null => ColumnType::Binary { bytes: 0 },
            Kind::TinyInt => int(1),
            Kind::SmallInt => int(2),
            Kind::MediumInt => int(3),
            Kind::Int => int(4),
            Kind::BigInt => int(8),
            Kind::Year => ColumnType::Year,
            Kind::Bit => ColumnType::Bit { bits: self.length.clamp(1, 64) as u8 },
            Kind::Float => ColumnType::Float { unsigned: self.unsigned, decimals },
            Kind::Double => ColumnType::Double { unsigned: self.unsigned, decimals },
            Kind::Decimal => ColumnType::Decimal {
                precision: self.precision(),
                scale: self.decimals.min(30),
                unsigned: self.unsigned,
            },
            Kind::Date => ColumnType::Date,
            Kind::Time => ColumnType::Time { fsp: self.decimals.min(6) },
            Kind::DateTime => ColumnType::DateTime { fsp: self.decimals.min(6) },
            Kind::Timestamp => ColumnType::DateTime { fsp: self.decimals.min(6) },
            Kind::Json => ColumnType::Json,
            Kind::Geometry(kind) => ColumnType::Geometry { kind, srid: None },
            Kind::Char if self.is_binary() && self.length <= 255 => ColumnType::Binary { bytes: self.length },
            Kind::Char if self.length <= 255 => ColumnType::Char { chars: self.length, collation: self.collation },
            _ => {
                let bytes_max = self.length as u64 * collation(self.collation).charset.bytes_max() as u64;
                match (bytes_max > 65535 || self.kind == Kind::Text, self.is_binary()) {
                    (false, true) => ColumnType::VarBinary { bytes: self.length },
                    (false, false) => ColumnType::VarChar { chars: self.length, collation: self.collation },
                    (true, true) => ColumnType::Blob { size: lob_size(self.length as u64) },
                    (true, false) => ColumnType::Text {
                        // TEXT columns count bytes already; strings that grew too long count characters.
                        size: lob_size(if self.kind == Kind::Text { self.length as u64 } else { bytes_max }),
                        collation: self.collation,
                    },
                }
            }
        }
    }

    /// All digits of a decimal.
    pub fn precision(&self) -> u8 {
        let point = if self.decimals > 0 { 1 } else { 0 };
        let sign = if self.unsigned { 0 } else { 1 };
        let digits = match self.kind {
            Kind::Decimal => self.length.saturating_sub(point + sign),
            _ => self.length.saturating_sub(sign),
        };
        digits.clamp(1.max(self.decimals as u32), 65).min(65) as u8
    }

    /// Digits in front of the point.
    pub fn integer_digits(&self) -> u8 {
        match self.kind {
            Kind::Decimal => self.precision().saturating_sub(self.decimals),
            _ => self.precision(),
        }
    }

    pub fn is_string(&self) -> bool {
        matches!(
            self.kind,
            Kind::Char
                | Kind::VarChar
                | Kind::Text
                | Kind::Json
                | Kind::Geometry(_)
                | Kind::Enum
                | Kind::Set
                | Kind::Parameter
        )
    }

    pub fn is_geometry(&self) -> bool {
        matches!(self.kind, Kind::Geometry(_))
    }

    pub fn is_integer(&self) -> bool {
        matches!(
            self.kind,
            Kind::TinyInt | Kind::SmallInt | Kind::MediumInt | Kind::Int | Kind::BigInt | Kind::Year | Kind::Bit
        )
    }

    pub fn is_floating(&self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Double)
    }

    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_floating() || self.kind == Kind::Decimal
    }

    pub fn is_temporal(&self) -> bool {
        matches!(self.kind, Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp)
    }

    /// DATE, DATETIME or TIMESTAMP.
    pub fn has_date(&self) -> bool {
        matches!(self.kind, Kind::Date | Kind::DateTime | Kind::Timestamp)
    }

    pub fn is_binary(&self) -> bool {
        self.collation == CollationId::BINARY
    }

    pub fn charset(&self) -> Charset {
        collation(self.collation).charset
    }
}

/// The printed length of a fraction with its point.
const fn fraction_length(fsp: u8) -> u32 {
    if fsp == 0 { 0 } else { fsp as u32 + 1 }
}

fn lob_size(bytes: u64) -> LobSize {
    match bytes {
        0..=0xFF => LobSize::Tiny,
        0x100..=0xFFFF => LobSize::Regular,
        0x1_0000..=0xFF_FFFF => LobSize::Medium,
        _ => LobSize::Long,
    }
}

/// `sql_mode` as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SqlMode(pub u64);

impl SqlMode {
    pub const REAL_AS_FLOAT: SqlMode = SqlMode(1);
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(1 << 1);
    pub const ANSI_QUOTES: SqlMode = SqlMode(1 << 2);
    pub const IGNORE_SPACE: SqlMode = SqlMode(1 << 3);
    /// MariaDB's: unknown options of tables are warnings.
    pub const IGNORE_BAD_TABLE_OPTIONS: SqlMode = SqlMode(1 << 4);
    pub const ONLY_FULL_GROUP_BY: SqlMode = SqlMode(1 << 5);
    pub const NO_UNSIGNED_SUBTRACTION: SqlMode = SqlMode(1 << 6);
    pub const NO_DIR_IN_CREATE: SqlMode = SqlMode(1 << 7);
    /// The combination's own name, shown beside its parts.
    pub const ANSI: SqlMode = SqlMode(1 << 18);
    pub const NO_AUTO_VALUE_ON_ZERO: SqlMode = SqlMode(1 << 19);
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(1 << 20);
    pub const STRICT_TRANS_TABLES: SqlMode = SqlMode(1 << 21);
    pub const STRICT_ALL_TABLES: SqlMode = SqlMode(1 << 22);
    pub const NO_ZERO_IN_DATE: SqlMode = SqlMode(1 << 23);
    pub const NO_ZERO_DATE: SqlMode = SqlMode(1 << 24);
    pub const ALLOW_INVALID_DATES: SqlMode = SqlMode(1 << 25);
    pub const ERROR_FOR_DIVISION_BY_ZERO: SqlMode = SqlMode(1 << 26);
    pub const TRADITIONAL: SqlMode = SqlMode(1 << 27);
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(1 << 29);
    pub const NO_ENGINE_SUBSTITUTION: SqlMode = SqlMode(1 << 30);
    pub const PAD_CHAR_TO_FULL_LENGTH: SqlMode = SqlMode(1 << 31);
    pub const TIME_TRUNCATE_FRACTIONAL: SqlMode = SqlMode(1 << 32);

    /// MySQL 8.0's default.
    pub const DEFAULT: SqlMode = SqlMode(
        Self::ONLY_FULL_GROUP_BY.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    #[inline]
    pub const fn has(self, mode: SqlMode) -> bool {
        self.0 & mode.0 != 0
    }

    pub const fn with(self, mode: SqlMode) -> SqlMode {
        SqlMode(self.0 | mode.0)
    }

    pub const fn without(self, mode: SqlMode) -> SqlMode {
        SqlMode(self.0 & !mode.0)
    }

    /// Whether bad values are errors rather than warnings. All our tables are transactional.
    #[inline]
    pub const fn is_strict(self) -> bool {
        self.has(SqlMode(Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0))
    }
}
