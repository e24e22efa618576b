//! SELECT ... INTO OUTFILE and DUMPFILE: rows as text.
//!
//! What is written with a format is read back with it by LOAD DATA (`text_reader`), unless the format cannot tell where
//! a field ends: then there is a warning (1475).
//!
//! In a text the escape character stands before itself, the quote, and the first bytes of the separators; a zero byte
//! is written as `\0`. If the character to be escaped could be mistaken for an escape sequence (`ENCLOSED BY 'n'`) it is
//! doubled instead.

use std::io::{self, Write};

use format::collation::{Charset, collation, convert};
use format::value::{ColumnType, Value};

use crate::error::Error;
use crate::expression::EvalContext;
use crate::planner::OutputColumn;
use crate::planner::load::{FileFormat, fixed_width};
use crate::types::Kind;

/// The second characters of escape sequences.
const ESCAPES: &[u8] = b"ntrb0ZN";
/// What numbers are written with.
const NUMERALS: &[u8] = b".0123456789e+-";

/// How a column is written.
struct Field {
    /// Texts and times, which OPTIONALLY encloses.
    is_text: bool,
    /// Its bytes may be any.
    is_escaped: bool,
    /// From this character set to that of the file.
    conversion: Option<(Charset, Charset)>,
    /// Filled up with spaces.
    width: Option<usize>,
}

/// Writes rows as text.
pub struct TextWriter {
    format: FileFormat,
    fields: Vec<Field>,
    /// What stands at the end of a line.
    line_end: Vec<u8>,
    /// The first byte of the separator of fields is as good as a digit or an escape sequence.
    is_ambiguous: bool,
    text: Vec<u8>,
    line: Vec<u8>,
}

impl TextWriter {
    /// `charset`: texts are converted to it; None: they stay as they are.
    pub fn new(
        format: FileFormat,
        charset: Option<Charset>,
        columns: &[OutputColumn],
        context: &EvalContext<'_>,
    ) -> TextWriter {
        let is_lob = |column: &OutputColumn| {
            matches!(
                column.column_type,
                ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json | ColumnType::Geometry { .. }
            )
        };
        let is_fixed = format.is_fixed() && !columns.iter().any(is_lob);
        let separator = format.quote.or(format.field_end.first().copied());
        let digits_separate = separator.is_some_and(|byte| NUMERALS.contains(&byte));
        let fields: Vec<Field> = columns
            .iter()
            .map(|column| {
                let ty = &column.ty;
                let is_text = ty.is_string() || ty.is_temporal() || ty.kind == Kind::Null;
                let from = collation(ty.collation).charset;
                let converts = |to: &Charset| {
                    ty.is_string() && from != Charset::Binary && *to != Charset::Binary && !from.converts_verbatim(*to)
                };
                Field {
                    is_text,
                    is_escaped: is_text || ty.kind == Kind::Bit || digits_separate,
                    conversion: charset.filter(converts).map(|to| (from, to)),
                    width: is_fixed.then(|| fixed_width(ty)),
                }
            })
            .collect();
        let line_end = if format.line_end.is_empty() { format.field_end.clone() } else { format.line_end.clone() };
        let optionally = format.quote.is_none() || format.optionally && !format.field_end.is_empty();
        let (texts, numbers) = (fields.iter().any(|f| f.is_text), fields.iter().any(|f| !f.is_text));
        let escapes_separate = separator.is_some_and(|byte| ESCAPES.contains(&byte));
        let digits_end = format.field_end.first().is_some_and(|byte| NUMERALS.contains(byte));
        let is_ambiguous = escapes_separate && format.quote.is_none() && (texts || digits_separate)
            || optionally && numbers && digits_end;
        if is_ambiguous {
            context.warn(Error::ambiguous_field_terminator());
        }
        if !format.is_ascii() {
            context.warn(Error::non_ascii_separator());
        }
        TextWriter { format, fields, line_end, is_ambiguous, text: Vec::new(), line: Vec::new() }
    }

    /// Writes a row. `lost` is called for each text that the file's character set cannot hold.
    pub fn row(
        &mut self,
        values: &[Value],
        types: &[ColumnType],
        out: &mut dyn Write,
        lost: &mut dyn FnMut(usize, &[u8]),
    ) -> io::Result<()> {
        let TextWriter { format, fields, line, text, is_ambiguous, line_end } = self;
        line.clear();
        line.extend_from_slice(&format.line_start);
        let optionally = format.optionally && !format.field_end.is_empty();
        for (at, ((value, ty), field)) in values.iter().zip(types).zip(fields.iter()).enumerate() {
            if at > 0 && field.width.is_none() {
                line.extend_from_slice(&format.field_end);
            }
            text.clear();
            if value.is_null() {
                match (field.width, format.escape) {
                    (Some(_), _) => {}
                    (None, Some(escape)) => line.extend_from_slice(&[escape, b'N']),
                    (None, None) => line.extend_from_slice(b"NULL"),
                }
            } else {
                ty.write_value_text(value, text);
                if let Some((from, to)) = field.conversion {
                    let mut converted = Vec::with_capacity(text.len());
                    if !convert(text, from, to, &mut converted) {
                        lost(at, text);
                    }
                    *text = converted;
                }
                if let Some(width) = field.width {
                    text.truncate(width);
                }
                let quote = format.quote.filter(|_| field.is_text || !optionally);
                line.extend(quote);
                match format.escape {
                    Some(escape) if field.is_escaped => {
                        let separator = quote.or(format.quote).or(format.field_end.first().copied());
                        let own = if quote.is_some() { quote } else { format.field_end.first().copied() };
                        for &byte in text.iter() {
                            let is_end = line_end.first() == Some(&byte);
                            let is_special = byte == escape || own == Some(byte) || is_end || byte == 0;
                            let stays = quote.is_none() && *is_ambiguous && own == Some(byte) && byte != escape;
                            if is_special && !stays {
                                let doubles = separator == Some(byte) && ESCAPES.contains(&byte);
                                line.push(if doubles { byte } else { escape });
                            }
                            line.push(if byte == 0 { b'0' } else { byte });
                        }
                    }
                    _ => line.extend_from_slice(text),
                }
                line.extend(quote);
            }
            if let Some(width) = field.width {
                // Escape characters do not count: a reader takes them away before it counts.
                line.resize(line.len() + width - text.len(), b' ');
            }
        }
        line.extend_from_slice(line_end);
        out.write_all(line)
    }
}

/// Appends the values of a row as they are: DUMPFILE.
pub fn dump_row(values: &[Value], types: &[ColumnType], out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    for (value, ty) in values.iter().zip(types) {
        ty.write_value_text(value, &mut text);
    }
    out.write_all(&text)
}
