//! LOAD DATA and LOAD XML: what becomes of the fields of a file.
//!
//! It is an INSERT whose values come field by field: some go to columns, some to user variables, and SET computes
//! further columns from both. What the file looks like ([`FileFormat`]) is shared with SELECT ... INTO OUTFILE.

use format::collation::Charset;
use format::value::{ColumnType, Value};

use super::PlanContext;
use super::change::{
    Assignment, InsertPlan, InsertRows, check_columns, check_not_generated, insert_events, open_stored, target_level,
};
use super::clause::Clause;
use super::defaults::{DefaultValue, defaults};
use super::row_rules::RowRules;
use super::scope::display;
use super::triggers::Triggers;
use super::view_target::insert_target;
use crate::accounts::Privileges;
use crate::error::{Error, Result};
use crate::expression::assign::zero_of;
use crate::parser::ast::{self, LoadTarget};
use crate::partitions::rows::Division;
use crate::sequences;
use crate::types::{Coercibility, SqlMode, TypeInfo};

/// How rows are written as text.
#[derive(Debug, Clone)]
pub struct FileFormat {
    /// Empty, with no quote: fields have fixed lengths.
    pub field_end: Vec<u8>,
    pub quote: Option<u8>,
    /// Only texts are enclosed.
    pub optionally: bool,
    pub escape: Option<u8>,
    pub line_start: Vec<u8>,
    /// Empty: lines end after their last field.
    pub line_end: Vec<u8>,
}

impl FileFormat {
    pub fn new(format: &ast::TextFormat, mode: SqlMode) -> Result<FileFormat> {
        let escape: &[u8] = match &format.escape {
            Some(escape) => escape,
            None if mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => b"",
            None => b"\\",
        };
        if escape.len() > 1 || format.quote.len() > 1 {
            return Err(Error::wrong_field_terminators());
        }
        Ok(FileFormat {
            field_end: format.field_end.clone(),
            quote: format.quote.first().copied(),
            optionally: format.optionally,
            escape: escape.first().copied(),
            line_start: format.line_start.clone(),
            line_end: format.line_end.clone(),
        })
    }

    pub fn is_fixed(&self) -> bool {
        self.field_end.is_empty() && self.quote.is_none()
    }

    /// Separators are compared byte by byte, whatever the file's character set is.
    pub fn is_ascii(&self) -> bool {
        self.field_end.is_ascii() && self.line_start.is_ascii() && self.line_end.is_ascii()
    }
}

/// Where a field goes.
#[derive(Debug, Clone)]
pub enum Place {
    Column(usize),
    Variable(String),
}

/// The rows of an XML file.
#[derive(Debug)]
pub struct XmlRows {
    /// What an element is called that is a row.
    pub tag: Vec<u8>,
    /// The name of the value of each place.
    pub names: Vec<Vec<u8>>,
}

/// LOAD DATA, LOAD XML.
pub struct LoadPlan {
    pub insert: InsertPlan,
    pub local: bool,
    pub file: Vec<u8>,
    pub format: FileFormat,
    /// The file is XML.
    pub xml: Option<XmlRows>,
    /// The type of a field: text in the file's character set.
    pub field: TypeInfo,
    pub skipped_lines: u64,
    /// Where the fields of a line go, in order.
    pub places: Vec<Place>,
    /// SET
    pub assignments: Vec<Assignment>,
    /// Columns that get no value though they have no default: 1364, once.
    pub missing: Vec<usize>,
    /// The bytes of each field where lengths are fixed.
    pub widths: Vec<usize>,
}

/// The character set of a file.
pub fn file_charset(name: &str) -> Result<Charset> {
    checked(Charset::by_name(name).ok_or_else(|| Error::unknown_charset(name))?)
}

/// Files are read and written byte by byte, where a character must not hide a separator or an escape.
fn checked(charset: Charset) -> Result<Charset> {
    match charset.hides_ascii() {
        true => Err(Error::unsupported(format!("files in CHARACTER SET {}", charset.name()))),
        false => Ok(charset),
    }
}

/// The bytes that a value of a type takes in a file of fixed lengths.
pub fn fixed_width(ty: &TypeInfo) -> usize {
    let bytes = if ty.is_string() { ty.charset().bytes_max() as usize } else { 1 };
    ty.length as usize * bytes
}

fn is_lob(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json | ColumnType::Geometry { .. })
}

pub fn plan_load(context: &PlanContext<'_>, load: &ast::Load) -> Result<LoadPlan> {
    if !load.local {
        context.rights.need_file()?;
    }
    let wanted = if load.replace { Privileges::INSERT | Privileges::DELETE } else { Privileges::INSERT };
    let given = load.targets.iter().filter_map(|target| match target {
        LoadTarget::Column(name) => Some(name.name.clone()),
        LoadTarget::Variable(_) => None,
    });
    let given: Vec<String> = given.chain(load.assignments.iter().map(|(name, _)| name.name.clone())).collect();
    let view = insert_target(context, &load.table, &given, &[], wanted).map_err(|error| match error.code {
        1471 => Error::target_not_updatable(&load.table.name, "LOAD"),
        _ => error,
    })?;
    let table = match &view {
        Some(view) => view.table.clone(),
        None => open_stored(context, &load.table, None, wanted)?,
    };
    let format = FileFormat::new(&load.format, context.eval.mode)?;
    let level = target_level(context, &load.table, view.as_ref())?;
    let find = |name: &ast::ColumnName| {
        level.find(name, &level.all, "field list")?.ok_or_else(|| Error::unknown_column(&display(name), "field list"))
    };

    let charset = match &load.charset {
        Some(name) => file_charset(name)?.default_collation(),
        None => context.database_collation,
    };
    let field = TypeInfo::string(u32::MAX, charset, Coercibility::Implicit);
    let mut places = Vec::new();
    match &view {
        _ if !load.targets.is_empty() => {}
        Some(view) => places.extend(view.columns.iter().map(|(_, column)| Place::Column(*column))),
        None => places.extend((0..table.columns.len()).filter(|at| !table.columns[*at].invisible).map(Place::Column)),
    }
    for target in &load.targets {
        places.push(match target {
            LoadTarget::Column(name) => Place::Column(find(name)?),
            LoadTarget::Variable(name) => {
                // SET is bound to the type that the variable will have.
                context.eval.session.set_user_variable(name, Value::Null, field);
                Place::Variable(name.clone())
            }
        });
    }
    let mut columns: Vec<usize> = places
        .iter()
        .filter_map(|place| if let Place::Column(column) = place { Some(*column) } else { None })
        .collect();
    let mut widths = Vec::new();
    if format.is_fixed() {
        if columns.len() < places.len() {
            return Err(Error::fixed_rows_to_variable());
        }
        widths.extend(columns.iter().map(|column| fixed_width(&TypeInfo::of_column(&table.columns[*column].ty, true))));
        let is_endless =
            columns.iter().any(|column| is_lob(&table.columns[*column].ty)) || widths.iter().all(|w| *w == 0);
        if format.line_end.is_empty() && is_endless {
            return Err(Error::blobs_without_terminator());
        }
    }

    let mut assignments = Vec::new();
    for (name, value) in &load.assignments {
        let column = find(name)?;
        let value = match value {
            ast::Expr::Default => None,
            value => Some(context.binder(&Clause::new(&level, "field list")).bind(value)?),
        };
        assignments.push(Assignment { column, value });
        columns.push(column);
    }
    match &view {
        Some(view) => view.check_columns(context, Privileges::INSERT, &columns)?,
        None => check_columns(context, &load.table, &table, Privileges::INSERT, &columns)?,
    }
    check_not_generated(&table, columns.iter().copied())?;
    let subqueries = context.plan_subqueries(level.subqueries.take())?;
    let mut defaults = defaults(&table)?;
    let mut rules = RowRules::of(context.eval, &table)?;
    rules.open_sequences(context, |column| !columns.contains(&column))?;
    let mut missing = Vec::new();
    for (column, default) in defaults.iter_mut().enumerate() {
        if matches!(default, DefaultValue::Missing) && !columns.contains(&column) {
            missing.push(column);
            let mut zero = Vec::new();
            let ty = &table.columns[column].ty;
            if matches!(ty, ColumnType::Geometry { .. }) {
                return Err(Error::no_default(&table.columns[column].name));
            }
            let encoded = ty.encode(&zero_of(ty), &mut zero);
            encoded.map_err(|error| Error::internal(format!("encode a zero: {error:?}")))?;
            *default = DefaultValue::Stored(Some(zero));
        }
    }
    if view.is_some() && !load.partitions.is_empty() {
        return Err(Error::partition_clause_on_plain());
    }
    let shows = |column: usize| view.as_ref().is_none_or(|view| view.columns.iter().any(|(_, own)| *own == column));
    let tells_id = table.auto_increment.is_none_or(shows);
    let triggers = Triggers::of(context, &table, insert_events(load.replace, false))?;
    let division = Division::of(context.eval, &table, &load.partitions)?.map(Box::new);
    let is_sequence = sequences::is_sequence(&table);
    let shown: Vec<String> = (0..table.columns.len())
        .map(|at| {
            let through = view.as_ref().and_then(|view| view.columns.iter().find(|(_, own)| *own == at));
            through.map_or_else(|| table.columns[at].name.to_string(), |(name, _)| name.clone())
        })
        .collect();
    let insert = InsertPlan {
        table,
        replace: load.replace,
        // Once a client sends its file, an error in the middle would leave it sending in vain.
        ignore: load.ignore || load.local && !load.replace,
        columns,
        source: InsertRows::File,
        members: Vec::new(),
        reads_given: !assignments.is_empty(),
        returning: None,
        on_duplicate: Vec::new(),
        subqueries,
        defaults,
        rules,
        tells_id,
        check: view.and_then(|view| view.check),
        triggers,
        division,
        is_sequence,
        is_streamed: false,
    };
    // As they are written, or as the table or the view has them.
    let name_of = |at: usize, place: &Place| match (load.targets.get(at), place) {
        (Some(LoadTarget::Column(name)), _) => name.name.clone(),
        (Some(LoadTarget::Variable(name)), _) | (None, Place::Variable(name)) => name.clone(),
        (None, Place::Column(column)) => shown[*column].clone(),
    };
    let names = || places.iter().enumerate().map(|(at, place)| name_of(at, place).into_bytes()).collect();
    let xml = load.row_tag.clone().map(|tag| XmlRows { tag, names: names() });
    let (local, file, skipped_lines) = (load.local, load.file.clone(), load.skipped_lines);
    Ok(LoadPlan { insert, local, file, format, xml, field, skipped_lines, places, assignments, missing, widths })
}
