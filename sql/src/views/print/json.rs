//! JSON_TABLE and JSON_VALUE.

use std::fmt::Write;

use super::Printer;
use crate::error::Result;
use crate::parser::ast::{Expr, JsonColumn, JsonOtherwise, JsonTable, JsonValue, Literal, TypeSpec};

impl Printer<'_> {
    pub(super) fn json_table(&mut self, table: &JsonTable) -> Result<()> {
        self.put("json_table(");
        self.expr(&table.document)?;
        self.put(", ");
        self.path(&table.path)?;
        self.json_columns(&table.columns)?;
        self.put(") ");
        self.name(&table.alias);
        Ok(())
    }

    fn path(&mut self, path: &[u8]) -> Result<()> {
        self.expr(&Expr::Literal(Literal::String { bytes: path.to_vec(), charset: None }))
    }

    fn json_columns(&mut self, columns: &[JsonColumn]) -> Result<()> {
        self.put(" columns (");
        self.list(columns, |printer, column| match column {
            JsonColumn::Ordinality(name) => {
                printer.name(name);
                printer.put(" for ordinality");
                Ok(())
            }
            JsonColumn::Nested { path, columns } => {
                printer.put("nested path ");
                printer.path(path)?;
                printer.json_columns(columns)
            }
            JsonColumn::Value(column) => {
                printer.name(&column.name);
                printer.put(" ");
                printer.type_spec(&column.ty);
                printer.put(if column.exists { " exists path " } else { " path " });
                printer.path(&column.path)?;
                printer.otherwise(&column.on_empty, "empty")?;
                printer.otherwise(&column.on_error, "error")
            }
        })?;
        self.put(")");
        Ok(())
    }

    pub(super) fn json_value(&mut self, value: &JsonValue) -> Result<()> {
        self.put("json_value(");
        self.expr(&value.document)?;
        self.put(", ");
        self.expr(&value.path)?;
        if let Some(to) = &value.returning {
            self.put(" returning ");
            self.cast_type(to);
        }
        self.otherwise(&value.on_empty, "empty")?;
        self.otherwise(&value.on_error, "error")?;
        self.put(")");
        Ok(())
    }

    /// NULL is what there is if nothing is said.
    fn otherwise(&mut self, otherwise: &JsonOtherwise, when: &str) -> Result<()> {
        match otherwise {
            JsonOtherwise::Null => return Ok(()),
            JsonOtherwise::Error => self.put(" error"),
            JsonOtherwise::Default(expr) => {
                self.put(" default ");
                self.expr(expr)?;
            }
        }
        let _ = write!(self.out, " on {when}");
        Ok(())
    }

    fn type_spec(&mut self, ty: &TypeSpec) {
        self.out.push_str(&ty.name.to_ascii_lowercase());
        let _ = match (ty.length, ty.decimals) {
            (Some(length), Some(decimals)) => write!(self.out, "({length},{decimals})"),
            (Some(length), None) => write!(self.out, "({length})"),
            (None, _) => Ok(()),
        };
        for (is_said, word) in [(ty.unsigned, " unsigned"), (ty.zerofill, " zerofill")] {
            self.put(if is_said { word } else { "" });
        }
        if let Some(charset) = &ty.charset {
            let _ = write!(self.out, " character set {charset}");
        }
        if ty.binary {
            self.put(" binary");
        }
        if let Some(collation) = &ty.collation {
            let _ = write!(self.out, " collate {collation}");
        }
    }
}
