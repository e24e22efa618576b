//! LOAD DATA and LOAD XML at work: the fields of a text or XML file become rows.
//!
//! For each line: its fields go to columns and variables, SET computes further columns from them, and the row is
//! inserted as INSERT inserts it. Neither the file nor its rows are kept; a statement of any length needs the memory of
//! one line.
//!
//! | a line that has | strict | lenient |
//! |---|---|---|
//! | too few fields | 1261 | 1261 for each; the columns become zero, or NULL where that is the default |
//! | too many fields | 1262 | 1262, and they are passed over |
//! | NULL for NOT NULL | 1263 | 1263 and zero; a TIMESTAMP becomes the current time in both |
//!
//! What a row of an XML file does not have is NULL, whatever the column's default is.

use std::borrow::Cow;

use format::value::{ColumnType, Value};
use storage::ColumnDefault;

use super::change::{Changes, assign_mode, push_now};
use super::insert::{Inserter, Series, with_counter};
use super::text_reader::{Pieces, TextReader};
use super::xml_reader::XmlReader;
use super::{Environment, Level};
use crate::error::{Error, Result};
use crate::expression::assign::zero_of;
use crate::expression::{AssignMode, Datum, EvalContext};
use crate::planner::load::{LoadPlan, Place, XmlRows};

/// How often the statement looks whether it was killed, in lines.
const INTERRUPT_EVERY: u64 = 256;

/// Loads a file.
pub fn load(
    environment: &Environment<'_>,
    plan: &LoadPlan,
    context: &EvalContext<'_>,
    series: Series,
    pieces: &mut dyn Pieces,
) -> Result<Changes> {
    with_counter(environment, &plan.insert, || load_lines(environment, plan, context, series, pieces))
}

fn load_lines(
    environment: &Environment<'_>,
    plan: &LoadPlan,
    context: &EvalContext<'_>,
    series: Series,
    pieces: &mut dyn Pieces,
) -> Result<Changes> {
    let mode = assign_mode(context, plan.insert.ignore);
    let level = Level::new(environment, &plan.insert.subqueries);
    let context = &EvalContext {
        strict_change: mode == AssignMode::Strict,
        ignores: plan.insert.ignore,
        subqueries: Some(&level),
        lists: Some(&level.lists),
        ..*context
    };
    let bytes_max = context.max_allowed_packet_bytes as usize;
    let inserter = Inserter::new(environment, &plan.insert, context, mode, series);
    let mut loader = Loader { plan, context, mode, inserter };
    if !plan.format.is_ascii() {
        context.warn(Error::non_ascii_separator());
    }
    for column in &plan.missing {
        loader.doubt(Error::no_default(&plan.insert.table.columns[*column].name))?;
    }
    if let Some(rows) = &plan.xml {
        let is_interrupted = || context.session.is_interrupted();
        loader.elements(rows, XmlReader::new(pieces, bytes_max, &is_interrupted))?;
        return Ok(loader.inserter.changes);
    }
    let mut reader = TextReader::new(pieces, &plan.format, bytes_max);
    let mut cut = false;
    // Without line ends, lines to skip are read as all others.
    let mut to_skip = plan.skipped_lines;
    while to_skip > 0 && reader.sees_lines() {
        to_skip -= 1;
        if context.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        if !reader.next_line(&mut cut)? {
            break;
        }
    }
    let mut lines = 0u64;
    loop {
        if lines.is_multiple_of(INTERRUPT_EVERY) && context.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        lines += 1;
        let skips = to_skip > 0;
        to_skip -= u64::from(skips);
        let read = match plan.format.is_fixed() {
            true => loader.fixed_line(&mut reader, skips)?,
            false => loader.line(&mut reader, skips)?,
        };
        if !read {
            break;
        }
        if !reader.next_line(&mut cut)? {
            break;
        }
        if cut && !skips {
            loader.doubt(Error::too_many_fields(loader.inserter.changes.found))?;
        }
    }
    Ok(loader.inserter.changes)
}

struct Loader<'a> {
    plan: &'a LoadPlan,
    context: &'a EvalContext<'a>,
    mode: AssignMode,
    inserter: Inserter<'a>,
}

impl Loader<'_> {
    fn doubt(&self, error: Error) -> Result<()> {
        self.mode.doubt(self.context, error)
    }

    fn begin_row(&mut self) {
        self.inserter.begin_row();
        self.inserter.values.clear();
        self.inserter.given.fill(None);
        self.inserter.wishes = false;
    }

    /// Inserts the rows of an XML file.
    fn elements(&mut self, rows: &XmlRows, mut reader: XmlReader<'_>) -> Result<()> {
        let (plan, context) = (self.plan, self.context);
        let mut to_skip = plan.skipped_lines;
        let mut read = 0u64;
        while reader.next_row(&rows.tag)? {
            read += 1;
            if read.is_multiple_of(INTERRUPT_EVERY) && context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            if to_skip > 0 {
                to_skip -= 1;
                continue;
            }
            self.begin_row();
            for (place, name) in plan.places.iter().zip(&rows.names) {
                let value = reader.value(name);
                match place {
                    Place::Column(column) => self.give(*column, value)?,
                    Place::Variable(name) => {
                        let value = value.map_or(Value::Null, |value| Value::Bytes(value.to_vec()));
                        context.session.set_user_variable(name, value, plan.field);
                    }
                }
            }
            self.finish_row()?;
        }
        Ok(())
    }

    /// Reads a line and inserts it, unless it is to be skipped; false: the file has ended.
    fn line(&mut self, reader: &mut TextReader<'_>, skips: bool) -> Result<bool> {
        let plan = self.plan;
        let mut has_more = true;
        for (at, place) in plan.places.iter().enumerate() {
            has_more = has_more && reader.read_field()?;
            if at == 0 {
                if !has_more {
                    return Ok(false);
                }
                if !skips {
                    self.begin_row();
                }
            }
            if skips {
                continue;
            }
            match (place, has_more) {
                (Place::Column(column), true) => {
                    let field = (!reader.is_null).then_some(&reader.field[..]);
                    self.give(*column, field)?;
                }
                (Place::Column(column), false) => self.give_nothing(*column)?,
                (Place::Variable(name), _) => {
                    let value = match has_more && !reader.is_null {
                        true => Value::Bytes(reader.field.clone()),
                        false => Value::Null,
                    };
                    self.context.session.set_user_variable(name, value, plan.field);
                }
            }
        }
        if !skips {
            self.finish_row()?;
        }
        Ok(true)
    }

    /// The same for a line whose fields have fixed lengths.
    fn fixed_line(&mut self, reader: &mut TextReader<'_>, skips: bool) -> Result<bool> {
        let plan = self.plan;
        if !reader.read_fixed(plan.widths.iter().sum())? {
            return Ok(false);
        }
        if skips {
            return Ok(true);
        }
        self.begin_row();
        let mut rest = &reader.field[..];
        for (place, width) in plan.places.iter().zip(&plan.widths) {
            let Place::Column(column) = place else { continue };
            if rest.is_empty() {
                self.give_nothing(*column)?;
            } else {
                let (field, behind) = rest.split_at(rest.len().min(*width));
                rest = behind;
                self.give(*column, Some(field))?;
            }
        }
        self.finish_row()?;
        Ok(true)
    }

    /// The column is the next of the given values.
    fn note_given(&mut self, column: usize) {
        self.inserter.given[column] = Some(self.inserter.values.parts.len());
    }

    /// Gives a column a field of the file.
    fn give(&mut self, column: usize, field: Option<&[u8]>) -> Result<()> {
        let described = &self.plan.insert.table.columns[column];
        self.note_given(column);
        match field {
            Some(field) => self.inserter.give_value(column, Datum::Bytes(Cow::Borrowed(field)), &self.plan.field),
            None if described.auto_increment => self.inserter.wish(column),
            None if described.nullable => self.inserter.values.push(Datum::Null, &described.ty),
            None if matches!(described.ty, ColumnType::Timestamp { .. }) => self.give_now(column),
            None => {
                self.doubt(Error::null_to_not_null(&described.name, self.inserter.changes.found))?;
                self.give_zero(column)
            }
        }
    }

    /// The line has no field for a column.
    fn give_nothing(&mut self, column: usize) -> Result<()> {
        self.doubt(Error::too_few_fields(self.inserter.changes.found))?;
        let described = &self.plan.insert.table.columns[column];
        self.note_given(column);
        let is_null = described.nullable && matches!(described.default, ColumnDefault::Null | ColumnDefault::None);
        match &described.ty {
            _ if described.auto_increment => self.inserter.wish(column),
            ty if is_null => self.inserter.values.push(Datum::Null, ty),
            ColumnType::Timestamp { .. } if !described.nullable => self.give_now(column),
            _ => self.give_zero(column),
        }
    }

    fn give_zero(&mut self, column: usize) -> Result<()> {
        let ty = &self.plan.insert.table.columns[column].ty;
        // An ENUM's is its error value, unlike that of INSERT.
        let zero = if matches!(ty, ColumnType::Enum { .. }) { Value::UInt(0) } else { zero_of(ty) };
        self.inserter.values.push(Datum::from(&zero), ty)
    }

    fn give_now(&mut self, column: usize) -> Result<()> {
        let ty = &self.plan.insert.table.columns[column].ty;
        let fsp = if let ColumnType::Timestamp { fsp } = ty { *fsp } else { 0 };
        push_now(ty, fsp, self.context, &mut self.inserter.values)
    }

    /// Computes what SET says, and inserts the row.
    fn finish_row(&mut self) -> Result<()> {
        let plan = self.plan;
        for assignment in &plan.assignments {
            let column = assignment.column;
            if plan.insert.table.auto_increment == Some(column) {
                self.inserter.wishes = false;
            }
            // Until it is assigned, the column shows the field.
            let next = self.inserter.values.parts.len();
            self.inserter.give(column, assignment.value.as_ref())?;
            self.inserter.given[column] = Some(next);
        }
        self.inserter.finish_row()
    }
}
