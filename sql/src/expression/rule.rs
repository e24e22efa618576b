//! As which type two values compare, chosen by their static types, and the collation that strings agree on.
//!
//! | operands | compare as |
//! |---|---|
//! | integers | integers, whatever their signs |
//! | a decimal and an integer or decimal | decimals |
//! | JSON and anything | JSON values |
//! | strings | strings, by the collation they agree on |
//! | a column of integers or decimals and a constant string that is a number | exact numbers |
//! | a DATE, DATETIME or TIMESTAMP and a temporal value, a string, or a constant number that is a date | dates and times |
//! | a TIME and one of these without a date | times |
//! | all else: a double, a number and a string, a date and a number that is none | doubles |

use format::collation::{CollationId, collation};

use crate::error::{Error, Result};
use crate::types::{Coercibility, DECIMALS_NOT_FIXED, Kind, TypeInfo};

/// As what two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Both are integers, signed or not.
    Integer,
    Decimal,
    Double,
    /// Doubles of which both have a fixed number of decimals: equal if they are so within the larger number of them.
    /// The sum of 0.1, 0.2 and -0.3 in a DOUBLE(10,2) is 0.
    DoubleFixed {
        decimals: u8,
    },
    /// Both are strings.
    String(CollationId),
    /// One of them is a DATE or DATETIME and the other can be read as one.
    DateTime,
    /// One of them is a TIME.
    Time,
    /// One of them is JSON, and the other is taken as a JSON value.
    Json,
    /// A value without a static type is among them; strings compare by this collation.
    ByValue(CollationId),
}

/// The rule for a comparison between expressions of two types. 1267 for strings of collations that do not mix.
/// An index on a column can be used for `column op value` if the rule with the value's type is also the rule of the
/// column with itself.
pub fn comparison_of(left: &TypeInfo, right: &TypeInfo, operation: &str) -> Result<Comparison> {
    if left.kind == Kind::Null || right.kind == Kind::Null {
        let other = if left.kind == Kind::Null { right } else { left };
        // The result is NULL; the rule only has to be one that the other side takes.
        return Ok(if other.is_string() { Comparison::String(other.collation) } else { Comparison::Integer });
    }
    if left.kind == Kind::Parameter || right.kind == Kind::Parameter {
        let collation = comparing_collation(&[*left, *right], operation)?;
        let other = if left.kind == Kind::Parameter { right } else { left };
        return Ok(if other.has_date() { Comparison::DateTime } else { Comparison::ByValue(collation) });
    }
    if left.kind == Kind::Json || right.kind == Kind::Json {
        return Ok(Comparison::Json);
    }
    if left.is_string() && right.is_string() {
        return Ok(Comparison::String(comparing_collation(&[*left, *right], operation)?));
    }
    if left.has_date() || right.has_date() {
        return Ok(Comparison::DateTime);
    }
    if left.kind == Kind::Time || right.kind == Kind::Time {
        return Ok(Comparison::Time);
    }
    if left.is_integer() && right.is_integer() {
        return Ok(Comparison::Integer);
    }
    let is_exact = |ty: &TypeInfo| ty.is_integer() || ty.kind == Kind::Decimal;
    let is_fixed = |ty: &TypeInfo| ty.is_numeric() && ty.decimals < DECIMALS_NOT_FIXED;
    Ok(match (is_exact(left) && is_exact(right), is_fixed(left) && is_fixed(right)) {
        (true, _) => Comparison::Decimal,
        (false, true) => Comparison::DoubleFixed { decimals: left.decimals.max(right.decimals) },
        (false, false) => Comparison::Double,
    })
}

/// The collation that several strings agree on, by MySQL's rules of coercibility; numbers do not take part. Without
/// any string the connection's is meant, and `None` coercibility says so. `operation` is named in error 1267.
pub fn aggregate_collations(types: &[TypeInfo], operation: &str) -> Result<(CollationId, Coercibility)> {
    let mut result: Option<(CollationId, Coercibility)> = None;
    let mut disagree = false;
    for ty in types {
        if !ty.is_string() {
            continue;
        }
        let next = (ty.collation, ty.coercibility);
        // Two of COLLATE that differ are an error, whatever a third one says.
        if let Some((id, Coercibility::Explicit)) = result
            && next.1 == Coercibility::Explicit
            && id != next.0
        {
            return Err(mix(types, operation));
        }
        result = Some(match result {
            None => next,
            Some(current) => stronger(current, next).unwrap_or_else(|| {
                disagree = true;
                (CollationId::BINARY, Coercibility::None)
            }),
        });
    }
    match result {
        // What COLLATE says holds where others disagree.
        Some((_, coercibility)) if disagree && coercibility != Coercibility::Explicit => Err(mix(types, operation)),
        Some((id, coercibility)) => Ok((id, coercibility)),
        None => Ok((CollationId::DEFAULT, Coercibility::Numeric)),
    }
}

/// As [`aggregate_collations`], for texts that are compared: two columns of different collations, neither of them `_bin`,
/// can make one text, but nothing tells whether they are equal.
pub fn comparing_collation(types: &[TypeInfo], operation: &str) -> Result<CollationId> {
    let (id, coercibility) = aggregate_collations(types, operation)?;
    if coercibility == Coercibility::None && types.iter().filter(|ty| ty.is_string()).count() > 1 {
        return Err(mix(types, operation));
    }
    Ok(id)
}

/// The texts among `types` have no collation in common.
pub fn mix(types: &[TypeInfo], operation: &str) -> Error {
    let texts: Vec<_> = types.iter().filter(|ty| ty.is_string()).collect();
    let names = texts.iter().map(|ty| {
        let strength = match ty.coercibility {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SystemConstant => "SYSCONST",
            Coercibility::Literal => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        };
        (collation(ty.collation).name, strength)
    });
    Error::collation_mix(&names.collect::<Vec<_>>(), operation)
}

/// Which of two collations holds. None: neither, error 1267.
fn stronger(
    left: (CollationId, Coercibility),
    right: (CollationId, Coercibility),
) -> Option<(CollationId, Coercibility)> {
    use format::collation::Charset;
    if left.0 == right.0 {
        return Some(if right.1 < left.1 { right } else { left });
    }
    let (a, b) = (collation(left.0), collation(right.0));
    if a.charset != b.charset {
        // Binary strings have precedence over character strings of the same strength.
        if a.is_binary() || b.is_binary() {
            let (binary, text) = if a.is_binary() { (left, right) } else { (right, left) };
            return Some(if binary.1 <= text.1 { binary } else { text });
        }
        let is_unicode = |charset| matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Wide(_));
        // What has fewer characters is converted to what has more, if that one is not the weaker.
        let contains = |big: (CollationId, Coercibility), small: (CollationId, Coercibility)| {
            let (big_set, small_set) = (collation(big.0).charset, collation(small.0).charset);
            let is_larger = !is_unicode(small_set) || (big_set == Charset::Utf8mb4 && small_set == Charset::Utf8mb3);
            let from_ascii = small_set == Charset::Ascii && big.1 <= small.1;
            (is_unicode(big_set) && (big.1 < small.1 || (big.1 == small.1 && is_larger))) || from_ascii
        };
        if contains(left, right) {
            return Some(left);
        }
        if contains(right, left) {
            return Some(right);
        }
        // Literals and the like are converted to what is stronger.
        if left.1 < right.1 && right.1 >= Coercibility::SystemConstant {
            return Some(left);
        }
        if right.1 < left.1 && left.1 >= Coercibility::SystemConstant {
            return Some(right);
        }
        return None;
    }
    if left.1 != right.1 {
        return Some(if left.1 < right.1 { left } else { right });
    }
    if left.1 == Coercibility::Explicit {
        return None;
    }
    // The _bin collation of the character set wins; two of them differ in padding, and two others have nothing in common
    // but their bytes.
    if a.is_bytewise() && b.is_bytewise() {
        return None;
    }
    if a.is_bytewise() {
        return Some(left);
    }
    if b.is_bytewise() {
        return Some(right);
    }
    Some((a.charset.bin_collation(), Coercibility::None))
}
