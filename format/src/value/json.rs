//! JSON: text and MySQL's binary form.

/// Not JSON; `at` is the byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    pub at: usize,
}
/// Appends the binary form of a JSON text.
pub fn json_from_text(_text: &[u8], _out: &mut Vec<u8>) -> Result<(), JsonError> {
    todo!()
}
/// Appends the text of a binary JSON value; false if it is malformed (nothing sensible is appended).
pub fn json_to_text(_binary: &[u8], _out: &mut Vec<u8>) -> bool {
    todo!()
}
