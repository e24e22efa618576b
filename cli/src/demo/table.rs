//! The table that the demo ends with.

use comfy_table::{CellAlignment, Table, presets};

/// One codec's line.
pub struct Line {
    cells: [String; 6],
}

impl Line {
    /// From the texts that SQL answered.
    pub fn new(codec: &str, rows: &str, logical: &str, allocated: &str, saved_pct: &str, seconds: &str) -> Self {
        let seconds = seconds.parse::<f64>().map_or_else(|_| seconds.to_owned(), |seconds| format!("{seconds:.1}"));
        Self {
            cells: [
                codec.to_owned(),
                grouped(rows),
                grouped(logical),
                grouped(allocated),
                format!("{saved_pct} %"),
                seconds,
            ],
        }
    }
}

pub fn render(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["codec", "rows", "logical bytes", "allocated bytes", "saved", "load seconds"]);
    for line in lines {
        table.add_row(line.cells.clone());
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// Digits in groups of three.
fn grouped(number: &str) -> String {
    let mut text = String::with_capacity(number.len() + number.len() / 3);
    for (index, digit) in number.chars().enumerate() {
        if index > 0 && (number.len() - index).is_multiple_of(3) && digit.is_ascii_digit() {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups() {
        assert_eq!(grouped("1"), "1");
        assert_eq!(grouped("320000"), "320 000");
        assert_eq!(grouped("1234567"), "1 234 567");
    }

    #[test]
    fn a_line_for_each_codec() {
        let lines = [
            Line::new("none", "10", "65536", "65536", "0.0", "1.25"),
            Line::new("zstd", "10", "65536", "16384", "75.0", "1"),
        ];
        let text = render(&lines);
        assert!(text.contains("65 536") && text.contains("75.0 %") && text.contains("zstd"), "{text}");
    }
}
