//! Expressions, and the values of rows.

use super::Error;

impl Error {
    /// ER_PARSE_ERROR_IN_DIGEST_FN
    pub fn unparsed_digest(text: &str) -> Error {
        let text: String = text.chars().take(80).collect();
        Error::new(3676, b"HY000", format!("Could not parse argument to digest function: \"{text}\"."))
    }

    pub fn wrong_argument_count(function: &str) -> Error {
        let text = format!("Incorrect parameter count in the call to native function '{function}'");
        Error::new(1582, b"42000", text)
    }

    /// ER_INVALID_BITWISE_OPERANDS_SIZE
    pub fn unequal_bit_strings() -> Error {
        Error::new(3513, b"HY000", "Binary operands of bitwise operators must be of equal length")
    }

    /// ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE
    pub fn long_bit_strings(bytes_max: u32) -> Error {
        let text = format!(
            "Aggregate bitwise functions cannot accept arguments longer than {bytes_max} bytes; consider using the \
             SUBSTRING() function"
        );
        Error::new(3514, b"HY000", text)
    }

    /// `kind` is "BIGINT", "BIGINT UNSIGNED", "DECIMAL" or "DOUBLE".
    pub fn out_of_range(kind: &str, expression: &str) -> Error {
        Error::new(1690, b"22003", format!("{kind} value is out of range in '{expression}'"))
    }

    pub fn division_by_zero() -> Error {
        Error::new(1365, b"22012", "Division by 0")
    }

    pub fn invalid_group_function() -> Error {
        Error::new(1111, b"HY000", "Invalid use of group function")
    }

    /// ONLY_FULL_GROUP_BY. `place` is "SELECT list", "HAVING clause" or "ORDER BY clause".
    pub fn not_in_group_by(expression: usize, place: &str, column: &str) -> Error {
        let text = format!(
            "Expression #{expression} of {place} is not in GROUP BY clause and contains nonaggregated column '{column}' \
             which is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
             sql_mode=only_full_group_by"
        );
        Error::new(1055, b"42000", text)
    }

    pub fn distinct_order(expression: usize, column: &str) -> Error {
        let text = format!(
            "Expression #{expression} of ORDER BY clause is not in SELECT list, references column '{column}' which is \
             not in SELECT list; this is incompatible with DISTINCT"
        );
        Error::new(3065, b"HY000", text)
    }

    pub fn distinct_order_aggregate(expression: usize) -> Error {
        let text = format!(
            "Expression #{expression} of ORDER BY clause is not in SELECT list, contains aggregate function; this is \
             incompatible with DISTINCT"
        );
        Error::new(3066, b"HY000", text)
    }

    pub fn illegal_reference(name: &str, why: &str) -> Error {
        Error::new(1247, b"42S22", format!("Reference '{name}' not supported ({why})"))
    }

    pub fn too_big_select() -> Error {
        let text = "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET \
                    SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay";
        Error::new(1104, b"42000", text)
    }

    pub fn mix_of_group_function(expression: usize, column: &str) -> Error {
        let text = format!(
            "In aggregated query without GROUP BY, expression #{expression} of SELECT list contains nonaggregated \
             column '{column}'; this is incompatible with sql_mode=only_full_group_by"
        );
        Error::new(1140, b"42000", text)
    }

    /// The collations of an operation's texts. Coercibilities are written IMPLICIT, EXPLICIT, NONE, COERCIBLE ...
    pub fn collation_mix(texts: &[(&str, &str)], operation: &str) -> Error {
        let (code, among) = match texts {
            [a, b] => (1267, format!(" ({},{}) and ({},{})", a.0, a.1, b.0, b.1)),
            [a, b, c] => (1270, format!(" ({},{}), ({},{}), ({},{})", a.0, a.1, b.0, b.1, c.0, c.1)),
            _ => (1271, String::new()),
        };
        Error::new(code, b"HY000", format!("Illegal mix of collations{among} for operation '{operation}'"))
    }

    pub fn operand_columns(count: usize) -> Error {
        Error::new(1241, b"21000", format!("Operand should contain {count} column(s)"))
    }

    pub fn subquery_rows() -> Error {
        Error::new(1242, b"21000", "Subquery returns more than 1 row")
    }

    /// A pattern that is none. `cause` is what the library says of it, which knows more cases than there are numbers.
    pub fn regexp(cause: &str) -> Error {
        let known: [(&str, u16, &str); 10] = [
            ("unclosed character class", 3696, "The regular expression contains an unclosed bracket expression."),
            ("unclosed group", 3691, "Mismatched parenthesis in regular expression."),
            ("unopened group", 3691, "Mismatched parenthesis in regular expression."),
            (
                "invalid character class range",
                3697,
                "The regular expression contains an [x-y] character range where x comes after y.",
            ),
            ("unrecognized escape", 3689, "Unrecognized escape sequence in regular expression."),
            ("backreference", 3694, "Invalid back-reference in regular expression."),
            (
                "unrecognized flag",
                3690,
                "The regular expression contains a feature that is not implemented in this library version.",
            ),
            ("invalid repetition count range", 3693, "The maximum is less than the minimum in a {min,max} interval."),
            ("counted repetition", 3692, "Incorrect description of a {min,max} interval."),
            ("size limit", 3700, "The regular expression pattern exceeds limits on size or complexity."),
        ];
        match known.iter().find(|(text, ..)| cause.contains(text)) {
            Some((_, number, message)) => Error::new(*number, b"HY000", *message),
            None => Error::new(3692, b"HY000", format!("Incorrect description of a regular expression: {cause}")),
        }
    }

    pub fn regexp_timeout() -> Error {
        Error::new(3699, b"HY000", "Timeout exceeded in regular expression match.")
    }

    pub fn wrong_date_type(kind: &str, value: &str) -> Error {
        Error::new(1525, b"HY000", format!("Incorrect {kind} value: '{value}'"))
    }

    pub fn no_default(name: &str) -> Error {
        Error::new(1364, b"HY000", format!("Field '{name}' doesn't have a default value"))
    }

    pub fn duplicate_entry(value: &str, key: &str) -> Error {
        Error::new(1062, b"23000", format!("Duplicate entry '{value}' for key '{key}'"))
    }

    pub fn null_in_not_null(name: &str) -> Error {
        Error::new(1048, b"23000", format!("Column '{name}' cannot be null"))
    }

    pub fn value_count(row: u64) -> Error {
        Error::new(1136, b"21S01", format!("Column count doesn't match value count at row {row}"))
    }

    pub fn union_columns() -> Error {
        Error::new(1222, b"21000", "The used SELECT statements have a different number of columns")
    }

    pub fn column_out_of_range(name: &str, row: u64) -> Error {
        Error::new(1264, b"22003", format!("Out of range value for column '{name}' at row {row}"))
    }

    pub fn data_truncated(name: &str, row: u64) -> Error {
        Error::new(1265, b"01000", format!("Data truncated for column '{name}' at row {row}"))
    }

    pub fn data_too_long(name: &str, row: u64) -> Error {
        Error::new(1406, b"22001", format!("Data too long for column '{name}' at row {row}"))
    }

    /// `kind` is integer, decimal, double, string ...
    pub fn incorrect_value_for_column(kind: &str, value: &str, name: &str, row: u64) -> Error {
        Error::new(1366, b"HY000", format!("Incorrect {kind} value: '{value}' for column '{name}' at row {row}"))
    }

    pub fn datetime_overflow() -> Error {
        Error::new(1441, b"22008", "Datetime function: datetime field overflow")
    }

    /// `kind` is date, datetime, time.
    pub fn incorrect_temporal(kind: &str, value: &str, name: &str, row: u64) -> Error {
        Error::new(1292, b"22007", format!("Incorrect {kind} value: '{value}' for column '{name}' at row {row}"))
    }

    /// `sql_require_primary_key` is set.
    pub fn primary_key_required() -> Error {
        let text = "A table without a primary key is neither made nor left by ALTER TABLE while sql_require_primary_key \
                    is set: a replica would search all of its rows for each that changes";
        Error::new(3750, b"HY000", text)
    }

    /// A local time that the zone's clock leaves out.
    pub fn invalid_timestamp(name: &str, row: u64) -> Error {
        Error::new(1299, b"HY000", format!("Invalid TIMESTAMP value in column '{name}' at row {row}"))
    }

    /// A conversion inside an expression. `kind` is INTEGER, DOUBLE, DECIMAL, date, datetime, time.
    pub fn truncated_wrong_value(kind: &str, value: &str) -> Error {
        Error::new(1292, b"22007", format!("Truncated incorrect {kind} value: '{value}'"))
    }

    pub fn incorrect_value(kind: &str, value: &str) -> Error {
        Error::new(1292, b"22007", format!("Incorrect {kind} value: '{value}'"))
    }

    pub fn invalid_character_string(charset: &str, bytes: &str) -> Error {
        Error::new(1300, b"HY000", format!("Invalid {charset} character string: '{bytes}'"))
    }

    /// A name with a character that names cannot have.
    pub fn invalid_character_in_name(name: &str) -> Error {
        let shown: String = name
            .bytes()
            .map(|byte| match byte {
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02X}"),
            })
            .collect();
        Error::invalid_character_string("utf8mb4", &shown)
    }

    /// Shows the first bytes, those that are no printable ASCII as hexadecimal numbers.
    pub fn cannot_convert_string(text: &[u8], from: &str, to: &str) -> Error {
        const SHOWN: usize = 6;
        let mut shown = String::new();
        for &byte in text.iter().take(SHOWN) {
            match byte {
                b' '..=b'~' => shown.push(char::from(byte)),
                _ => shown.push_str(&format!("\\x{byte:02X}")),
            }
        }
        if text.len() > SHOWN {
            shown.push_str("...");
        }
        Error::new(3854, b"HY000", format!("Cannot convert string '{shown}' from {from} to {to}"))
    }

    pub fn memory_exceeded(what: &str, bytes_max: u64) -> Error {
        Error::new(3170, b"HY000", format!("Memory capacity of {bytes_max} bytes for '{what}' exceeded."))
    }

    pub fn result_too_large(function: &str, bytes_max: u64) -> Error {
        let text = format!("Result of {function}() was larger than max_allowed_packet ({bytes_max}) - truncated");
        Error::new(1301, b"HY000", text)
    }
}
