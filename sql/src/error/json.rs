//! JSON values, and the places in them.

use format::value::JsonError;

use super::Error;

impl Error {
    pub fn invalid_json(error: JsonError, column: &str) -> Error {
        let place = format!("value for column '{column}'");
        Error::json(error, |reason, at| {
            Error::invalid_json_text(&format!("Invalid JSON text: \"{reason}\" at position {at} in {place}."), 3140)
        })
    }

    /// An argument of a function, counted from 1.
    pub fn invalid_json_argument(error: JsonError, argument: usize, function: &str) -> Error {
        Error::json(error, |reason, at| {
            let text = format!(
                "Invalid JSON text in argument {argument} to function {function}: \"{reason}\" at position {at}."
            );
            Error::invalid_json_text(&text, 3141)
        })
    }

    fn invalid_json_text(text: &str, number: u16) -> Error {
        Error::new(number, b"22032", text)
    }

    fn json(error: JsonError, invalid: impl Fn(&str, usize) -> Error) -> Error {
        match error {
            JsonError::Invalid { reason, at } => invalid(reason, at),
            JsonError::TooDeep => Error::json_too_deep(),
            JsonError::LongName => Error::json_long_name(),
        }
    }

    pub fn invalid_json_binary() -> Error {
        Error::new(3142, b"22032", "The JSON binary value contains invalid data.")
    }

    pub fn invalid_json_path(at: usize) -> Error {
        let text = format!("Invalid JSON path expression. The error is around character position {at}.");
        Error::new(3143, b"42000", text)
    }

    pub fn json_charset(charset: &str) -> Error {
        Error::new(3144, b"22032", format!("Cannot create a JSON value from a string with CHARACTER SET '{charset}'."))
    }

    pub fn json_argument_type(argument: usize, function: &str) -> Error {
        let text = format!(
            "Invalid data type for JSON data in argument {argument} to function {function}; a JSON string or JSON type \
             is required."
        );
        Error::new(3146, b"22032", text)
    }

    /// ER_INCORRECT_TYPE
    pub fn incorrect_argument_type(argument: usize, function: &str) -> Error {
        Error::new(3064, b"HY000", format!("Incorrect type for argument {argument} in function {function}."))
    }

    /// `what` is "object" or "array".
    pub fn json_kind(argument: usize, function: &str, what: &str) -> Error {
        let text = format!("Invalid JSON type in argument {argument} to function {function}; an {what} is required.");
        Error::new(3853, b"22032", text)
    }

    pub fn json_path_wildcard() -> Error {
        let text = "In this situation, path expressions may not contain the * and ** tokens or an array range.";
        Error::new(3149, b"42000", text)
    }

    pub fn json_too_long() -> Error {
        Error::new(3150, b"22032", "The JSON value is too big to be stored in a JSON column.")
    }

    pub fn json_long_name() -> Error {
        Error::new(3151, b"22032", "The JSON object contains a key name that is too long.")
    }

    pub fn json_vacuous_path() -> Error {
        Error::new(3153, b"42000", "The path expression '$' is not allowed in this context.")
    }

    pub fn json_one_or_all(function: &str) -> Error {
        let text = format!("The oneOrAll argument to {function} may take these values: 'one' or 'all'.");
        Error::new(3154, b"42000", text)
    }

    /// `kind` is INTEGER, DOUBLE, DECIMAL or DATE/TIME/DATETIME/TIMESTAMP.
    pub fn invalid_json_for_cast(kind: &str) -> Error {
        Error::new(3156, b"22018", format!("Invalid JSON value for CAST to {kind} from column json at row 1"))
    }

    pub fn json_too_deep() -> Error {
        Error::new(3157, b"22032", "The JSON document exceeds the maximum depth.")
    }

    pub fn json_null_name() -> Error {
        Error::new(3158, b"22032", "JSON documents may not contain NULL member names.")
    }

    pub fn missing_json_value(function: &str) -> Error {
        Error::new(3966, b"22035", format!("No value was found by '{function}' on the specified path."))
    }

    pub fn several_json_values(function: &str) -> Error {
        Error::new(3967, b"22034", format!("More than one value was found by '{function}' on the specified path."))
    }

    pub fn lateral_join(alias: &str) -> Error {
        let text = format!("INNER or LEFT JOIN must be used for LATERAL references made by '{alias}'");
        Error::new(3668, b"42000", text)
    }

    pub fn json_path_no_element() -> Error {
        Error::new(3165, b"42000", "A path expression is not a path to a cell in an array.")
    }
}
