//! The functions by name.
//!
//! Each is one line in its file's list: name, how many arguments, a function that
//! types it and one that computes it.
//!
//! ```text
//! Function { name, args, typing: fn(&mut Typing) -> TypeInfo, eval: fn(&Call) -> Datum }
//!                         once per plan, may convert arguments     once per row
//! ```
//!
//! Typing sees the bound arguments and may wrap them (a common character set, an
//! ENUM as its number). Evaluation asks [`Call`] for its arguments in the form it
//! needs; `None` is NULL, and by default a NULL argument makes a NULL result.
//!
//! Functions with a syntax of their own (CAST, TRIM, EXTRACT ...) are nodes, see
//! [`Node`]. Names that we know but do not do are in [`UNSUPPORTED`]: they
//! answer 1235, and only others 1305.

// The macro below comes first for those who use it.
mod address;
mod bytes;
mod clock;
mod compress;
mod control;
mod crypt;
mod date;
mod date_format;
mod hash;
mod json;
mod numeric;
mod operand;
mod regexp;
mod search;
mod session;
pub mod spatial;
mod string;
pub mod sys;
mod to_char;
mod weight;
mod xml;

pub use json::{JSON_VALUE, json_as_column, json_error_marker, json_path};
pub use numeric::restart_sequences;
pub use operand::{
    JSON_OPERAND, LISTED_MOMENT, MOMENT_OPERANDS, NUMBER_OPERAND, PADDED, TEXT_OF, TIME_OPERAND, YEAR_MOMENT,
    YEAR_OPERAND,
};

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::LazyLock;

use format::collation::{Charset, CollationId, collation};
use format::value::{Date, DateTime, Decimal, Time, Value};
use rustc_hash::FxHashMap;

use super::datum::in_place;
use super::memory::Charge;
use super::rule::{self, aggregate_collations, comparing_collation};
use super::temporal::Zeros;
use super::{Datum, EvalContext, Expr, Fields, Node};
use crate::error::{Error, Result};
use crate::parser::ast::CastType;
use crate::types::{Coercibility, Kind, TypeInfo};

/// A function by name.
pub struct Function {
    /// Lower case.
    pub name: &'static str,
    pub args_min: usize,
    /// `usize::MAX`: any number.
    pub args_max: usize,
    /// Equal arguments give equal results, and nothing else happens.
    pub deterministic: bool,
    /// In which character set it takes and gives texts whose characters have two bytes or more.
    pub texts: Texts,
    /// The type of the result, when the arguments are bound.
    pub typing: fn(&mut Typing<'_>) -> Result<TypeInfo>,
    pub eval: for<'a> fn(&Call<'a>) -> Result<Datum<'a>>,
}

impl Function {
    /// A deterministic function of `args` arguments.
    pub const fn new(
        name: &'static str,
        args: (usize, usize),
        typing: fn(&mut Typing<'_>) -> Result<TypeInfo>,
        eval: for<'a> fn(&Call<'a>) -> Result<Datum<'a>>,
    ) -> Function {
        Function { name, args_min: args.0, args_max: args.1, deterministic: true, texts: Texts::Utf8, typing, eval }
    }

    /// The same, of the bytes of texts in their own character set, which gives no text or one of ASCII.
    pub const fn of_bytes(mut self) -> Function {
        self.texts = Texts::Bytes;
        self
    }

    /// The same, of texts in their own character set, which gives such.
    pub const fn of_any_text(mut self) -> Function {
        self.texts = Texts::Own;
        self
    }

    /// The same, which gives one of its arguments.
    pub const fn of_choice(mut self) -> Function {
        self.texts = Texts::Choice;
        self
    }

    /// The same, whose result is not what its type says.
    pub const fn operand(mut self) -> Function {
        self.texts = Texts::Operand;
        self
    }

    /// The same, but not constant for constant arguments.
    pub const fn volatile(mut self) -> Function {
        self.deterministic = false;
        self
    }
}

/// How a function has to do with texts whose characters have two bytes or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// It takes them in UTF-8, and gives a text in UTF-8 that becomes one of the result's character set.
    Utf8,
    /// It takes them as they are. The text that it gives is ASCII.
    Bytes,
    /// It takes and gives them as they are.
    Own,
    /// As `Own` if its result is a text, else as `Utf8`.
    Choice,
    /// It takes them in UTF-8. The result is a value beside which another one is compared.
    Operand,
}

/// Any number of arguments.
pub const MANY: usize = usize::MAX;

impl PartialEq for Function {
    /// There is one of each name.
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

static BY_NAME: LazyLock<FxHashMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let lists = [
        address::FUNCTIONS,
        bytes::FUNCTIONS,
        sys::FUNCTIONS,
        clock::FUNCTIONS,
        compress::FUNCTIONS,
        control::FUNCTIONS,
        crypt::FUNCTIONS,
        date::FUNCTIONS,
        date_format::FUNCTIONS,
        hash::FUNCTIONS,
        numeric::FUNCTIONS,
        operand::FUNCTIONS,
        regexp::FUNCTIONS,
        search::FUNCTIONS,
        session::FUNCTIONS,
        string::FUNCTIONS,
        to_char::FUNCTIONS,
        weight::FUNCTIONS,
        xml::FUNCTIONS,
    ];
    let lists = lists.into_iter().chain(json::FUNCTIONS).chain(spatial::FUNCTIONS);
    let mut names = FxHashMap::default();
    for function in lists.flatten() {
        let earlier = names.insert(function.name, function);
        assert!(earlier.is_none(), "function {} is listed twice", function.name);
    }
    names
});

/// A function by its name in lower case.
pub fn find(name: &str) -> Result<&'static Function> {
    match BY_NAME.get(name) {
        Some(function) => Ok(function),
        None if UNSUPPORTED.contains(&name) || name.starts_with("st_") || name.starts_with("mbr") => {
            Err(Error::unsupported(name.to_ascii_uppercase()))
        }
        None => Err(Error::unknown_function(name)),
    }
}

/// Whether a function has numbers as arguments, and a geometry is none.
pub fn takes_numbers_only(name: &str) -> bool {
    let has_other_arguments = ["bit_count", "conv", "bin", "oct"].contains(&name);
    name == "format" || !has_other_arguments && numeric::FUNCTIONS.iter().any(|function| function.name == name)
}

/// Whether a function of the server has this name.
pub fn is_known(name: &str) -> bool {
    BY_NAME.contains_key(name)
}

/// Whether a text that a function gives is of its own making: neither one of its arguments, nor what stands around one.
pub fn makes_texts(function: &Function) -> bool {
    !matches!(function.texts, Texts::Choice | Texts::Operand) && !function.name.contains(' ')
}

/// Functions that we know by name alone.
const UNSUPPORTED: &[&str] = &[
    "binlog_gtid_pos",
    "master_gtid_wait",
    // MariaDB's.
    "sformat",
];

// ----------------------------------------------------------------- typing

/// A call being typed: its arguments, and what may be asked.
pub struct Typing<'a> {
    pub name: &'static str,
    pub args: &'a mut [Expr],
    /// `collation_connection`
    pub connection: CollationId,
    pub div_precision_increment: u8,
    pub max_allowed_packet_bytes: u64,
}

impl Typing<'_> {
    /// Whether any argument can be NULL.
    pub fn any_nullable(&self) -> bool {
        self.args.iter().any(|arg| arg.ty.nullable)
    }

    /// Finds the collation that the arguments from `from` to `to` agree on, and converts them to its character set.
    pub fn agree(&mut self, from: usize, to: usize) -> Result<(CollationId, Coercibility)> {
        let to = to.min(self.args.len());
        agree(&mut self.args[from..to], self.connection, self.name)
    }

    /// As [`agree`](Self::agree), for texts that are compared.
    pub fn agree_to_compare(&mut self, from: usize, to: usize) -> Result<CollationId> {
        let to = to.min(self.args.len());
        agree_to_compare(&mut self.args[from..to], self.connection, self.name)
    }

    /// The collation of one argument. Others become texts of its character set, those that have no such text are
    /// error 3854.
    pub fn decided_by(&mut self, index: usize, others: &[usize]) -> Result<(CollationId, Coercibility)> {
        let (id, coercibility) = self.agree(index, index + 1)?;
        for &other in others {
            text_of(&mut self.args[other], collation(id).charset)?;
        }
        Ok((id, coercibility))
    }

    /// As [`agree`](Self::agree), where bytes among texts have to be text: error 3854 for those that are none.
    pub fn agree_on_text(&mut self, from: usize, to: usize) -> Result<(CollationId, Coercibility)> {
        let to = to.min(self.args.len());
        agree_on_text(&mut self.args[from..to], self.connection, self.name)
    }

    /// The printed length of an argument, in characters.
    pub fn length(&self, index: usize) -> u32 {
        self.args.get(index).map_or(0, |arg| arg.ty.length)
    }

    /// The value of an argument that is a constant integer.
    pub fn constant_int(&self, index: usize) -> Option<i64> {
        constant_int(self.args.get(index)?)
    }

    /// ENUM and SET columns among the arguments become their numbers, hexadecimal literals integers.
    pub fn numbers(&mut self) {
        for arg in self.args.iter_mut() {
            as_number(arg);
        }
    }

    /// The type of a result that is NULL if it is longer than a packet may be.
    pub fn grown(&self, ty: TypeInfo) -> TypeInfo {
        let bytes = u64::from(ty.length) * u64::from(ty.charset().bytes_max() as u32);
        ty.nullable(ty.nullable || bytes > self.max_allowed_packet_bytes)
    }

    /// A string of the connection's character set.
    pub fn text(&self, length: u32) -> TypeInfo {
        TypeInfo::string(length, self.connection, Coercibility::Literal)
    }
}

/// Common typings.
pub mod typings {
    use super::*;

    pub fn int(typing: &mut Typing<'_>) -> Result<TypeInfo> {
        Ok(TypeInfo::int(10).nullable(typing.any_nullable()))
    }

    pub fn bigint(typing: &mut Typing<'_>) -> Result<TypeInfo> {
        Ok(TypeInfo::bigint(21).nullable(typing.any_nullable()))
    }

    /// NULL also for an argument that is no date or time.
    pub fn bigint_or_null(_: &mut Typing<'_>) -> Result<TypeInfo> {
        Ok(TypeInfo::bigint(21))
    }

    /// True or false, which JSON tells from 1 and 0.
    pub fn truth(typing: &mut Typing<'_>) -> Result<TypeInfo> {
        Ok(TypeInfo::boolean().nullable(typing.any_nullable()))
    }

    pub fn bigint_unsigned(typing: &mut Typing<'_>) -> Result<TypeInfo> {
        Ok(TypeInfo::bigint_unsigned(21).nullable(typing.any_nullable()))
    }

    /// A double of numbers; NULL also where the function is not defined.
    pub fn double(typing: &mut Typing<'_>) -> Result<TypeInfo> {
        typing.numbers();
        Ok(TypeInfo::double())
    }

    /// Short text in the connection's character set.
    pub fn text(typing: &mut Typing<'_>) -> Result<TypeInfo> {
        Ok(typing.text(64))
    }

    pub fn date(_: &mut Typing<'_>) -> Result<TypeInfo> {
        Ok(TypeInfo::date())
    }
}

/// Converts arguments to the character set of the collation they agree on.
pub fn agree(args: &mut [Expr], connection: CollationId, operation: &str) -> Result<(CollationId, Coercibility)> {
    if args.iter().any(is_wide) {
        widen_literals(&mut args.iter_mut().collect::<Vec<_>>());
    }
    for arg in args.iter_mut().filter(|arg| arg.ty.kind == Kind::Bit) {
        bits_as_bytes(arg);
    }
    let types: Vec<TypeInfo> = args.iter().map(|arg| arg.ty).collect();
    let (mut id, mut coercibility) = aggregate_collations(&types, operation)?;
    if coercibility == Coercibility::Numeric && !types.iter().any(TypeInfo::is_string) {
        // No string among them: numbers print in the connection's character set, and NULL is of none.
        (id, coercibility) = match types.iter().all(|ty| ty.kind == Kind::Null) {
            true => (CollationId::BINARY, Coercibility::Ignorable),
            false => (connection, Coercibility::Literal),
        };
    }
    let charset = collation(id).charset;
    for arg in args {
        if chooses_literal(arg, charset) {
            return Err(rule::mix(&types, operation));
        }
        convert_exactly(arg, charset, &types, operation);
    }
    Ok((id, coercibility))
}

/// Whether it is one of several literals of another character set, by what a row holds: the server converts a literal
/// beforehand, or where all characters that there may be are ASCII.
fn chooses_literal(arg: &Expr, charset: Charset) -> bool {
    let is_unicode = matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Wide(_));
    if !arg.ty.is_string()
        || arg.ty.charset() == charset
        || is_unicode
        || charset == Charset::Binary
        || arg.ty.is_binary()
    {
        return false;
    }
    let Node::Call { function, args } = &arg.node else { return false };
    let Some(values) = args.get(1..).filter(|_| function.name == "if") else { return false };
    !arg.is_constant()
        && values.iter().all(|value| matches!(value.node, Node::Constant(_)))
        && values.iter().any(|value| value.ty.is_string() && ascii_literal(value).is_none())
}

/// The bits of a column are bytes where a text is wanted.
fn bits_as_bytes(arg: &mut Expr) {
    let bits = std::mem::replace(arg, Expr::null());
    let bytes = bits.ty.length.div_ceil(8);
    let ty = TypeInfo::string(bytes, CollationId::BINARY, Coercibility::Implicit).nullable(bits.ty.nullable);
    *arg = Expr { node: Node::Cast { expr: Box::new(bits), to: CastType::Binary { bytes: None } }, ty };
}

/// A user variable has the collation of the connection that set it, which a client of MySQL chooses for another server's
/// columns. So beside other texts of its character set it compares by their collation, where MySQL has error 1267.
pub fn yield_variables(args: &mut [&mut Expr]) {
    let is_variable = |arg: &Expr| matches!(arg.node, Node::UserVariable(_));
    let strength = |arg: &Expr| (arg.ty.is_string() && !is_variable(arg)).then_some(arg.ty.coercibility);
    if args.iter().any(|arg| is_variable(arg))
        && args.iter().any(|arg| strength(arg).is_some_and(|strength| strength <= Coercibility::Implicit))
    {
        let charset = args.iter().find(|arg| strength(arg) == Some(Coercibility::Implicit)).map(|arg| arg.ty.charset());
        for arg in args.iter_mut().filter(|arg| is_variable(arg) && Some(arg.ty.charset()) == charset) {
            arg.ty.coercibility = Coercibility::SystemConstant;
        }
    }
}

/// As [`agree`], for texts that are compared.
pub fn agree_to_compare(args: &mut [Expr], connection: CollationId, operation: &str) -> Result<CollationId> {
    yield_variables(&mut args.iter_mut().collect::<Vec<_>>());
    comparing_collation(&args.iter().map(|arg| arg.ty).collect::<Vec<_>>(), operation)?;
    Ok(agree(args, connection, operation)?.0)
}

/// As [`agree`], where bytes among texts have to be text: error 3854 for those that are none.
pub fn agree_on_text(
    args: &mut [Expr],
    connection: CollationId,
    operation: &str,
) -> Result<(CollationId, Coercibility)> {
    let (id, coercibility) = agree(args, connection, operation)?;
    for arg in args {
        text_of(arg, collation(id).charset)?;
    }
    Ok((id, coercibility))
}

/// Wraps a string expression of another character set; false: it has this one. Numbers are ASCII and fit anywhere.
pub fn convert_charset(arg: &mut Expr, charset: Charset) -> bool {
    let from = arg.ty.charset();
    if !arg.ty.is_string() && charset.is_wide() && arg.ty.kind != Kind::Null {
        // A number has no text in such a set until it is converted.
        let ty = TypeInfo::string(arg.ty.length, charset.default_collation(), Coercibility::Numeric);
        let ty = ty.nullable(arg.ty.nullable);
        let inner = std::mem::replace(arg, Expr::null());
        *arg = Expr { node: Node::ToCharset { expr: Box::new(inner), to: charset, refused: None }, ty };
        return true;
    }
    // Bytes become whole units of a wide set.
    let is_verbatim = from.converts_verbatim(charset) && !charset.is_wide();
    if !arg.ty.is_string() || from == charset || charset == Charset::Binary || is_verbatim {
        return false;
    }
    let mut ty = arg.ty.stored();
    ty.collation = charset.default_collation();
    let inner = std::mem::replace(arg, Expr::null());
    *arg = Expr { node: Node::ToCharset { expr: Box::new(inner), to: charset, refused: None }, ty };
    true
}

/// As [`convert_charset`], for one of several texts that agree on a collation: they do not, with error 1267, where a literal
/// has a character that the others cannot have. A column with `?` is not equal to it.
pub fn convert_exactly(arg: &mut Expr, charset: Charset, types: &[TypeInfo], operation: &str) {
    let is_unicode = matches!(charset, Charset::Utf8mb4 | Charset::Wide(_));
    if convert_charset(arg, charset)
        && !is_unicode
        && let Node::ToCharset { refused, .. } = &mut arg.node
    {
        *refused = Some(Box::new(rule::mix(types, operation)));
    }
}

/// Makes a string expression one of a character set, whatever its own is. Numbers are ASCII and fit anywhere.
fn text_of(arg: &mut Expr, charset: Charset) -> Result<()> {
    let from = arg.ty.charset();
    if !arg.ty.is_string() || arg.ty.kind == Kind::Parameter {
        convert_charset(arg, charset);
        return Ok(());
    }
    if from == charset || charset == Charset::Binary || from != Charset::Binary && from.converts_verbatim(charset) {
        return Ok(());
    }
    let ty = TypeInfo::string(arg.ty.length, charset.default_collation(), arg.ty.coercibility);
    let ty = ty.nullable(arg.ty.nullable);
    let inner = std::mem::replace(arg, Expr::null());
    *arg = Expr { node: Node::Call { function: find(TEXT_OF)?, args: vec![inner] }, ty };
    Ok(())
}

/// Whether an expression is a text whose characters have two bytes or more.
pub fn is_wide(expr: &Expr) -> bool {
    expr.ty.is_string() && expr.ty.charset().is_wide()
}

/// The text of a literal of nothing but ASCII, which goes with texts of any character set.
fn ascii_literal(expr: &Expr) -> Option<Vec<u8>> {
    let Node::Constant(Value::Bytes(bytes)) = &expr.node else { return None };
    if !expr.ty.is_string() || expr.ty.is_binary() || expr.ty.coercibility != Coercibility::Literal {
        return None;
    }
    let mut ascii = Vec::new();
    (format::collation::convert(bytes, expr.ty.charset(), Charset::Ascii, &mut ascii)).then_some(ascii)
}

/// Whether a text has the strength of a literal and no characters but ASCII: a literal, what a function makes of such, or
/// a literal that stands in the plan as a parameter.
fn is_of_ascii_literals(expr: &Expr) -> bool {
    if !expr.ty.is_string() || expr.ty.is_binary() || expr.ty.coercibility != Coercibility::Literal {
        return false;
    }
    match &expr.node {
        Node::Constant(_) => ascii_literal(expr).is_some(),
        Node::Parameter(_) => expr.ty.kind != Kind::Parameter,
        Node::Call { function, args } => {
            !matches!(function.name, "char" | "chr")
                && args.iter().all(|arg| !arg.ty.is_string() || is_of_ascii_literals(arg))
        }
        _ => false,
    }
}

/// Texts of ASCII literals beside a text of a wide character set that is none become texts of that set.
pub fn widen_literals(args: &mut [&mut Expr]) {
    let Some(wide) = args.iter().find(|arg| is_wide(arg) && ascii_literal(arg).is_none()) else { return };
    let charset = wide.ty.charset();
    for arg in args.iter_mut().filter(|arg| !is_wide(arg) && is_of_ascii_literals(arg)) {
        match ascii_literal(arg) {
            Some(ascii) => {
                let mut text = Vec::new();
                format::collation::convert(&ascii, Charset::Ascii, charset, &mut text);
                arg.node = Node::Constant(Value::Bytes(text));
                arg.ty.collation = charset.default_collation();
            }
            None => {
                convert_charset(arg, charset);
            }
        }
    }
}

/// Brings a text whose characters have two bytes or more to UTF-8, under the collation that compares as its own does.
pub fn in_utf8(arg: &mut Expr) {
    if !arg.ty.is_string() || !arg.ty.charset().is_wide() || arg.ty.kind == Kind::Parameter {
        return;
    }
    let mut ty = arg.ty.stored();
    ty.collation = collation(ty.collation).in_utf8();
    let inner = std::mem::replace(arg, Expr::null());
    *arg = Expr { node: Node::ToCharset { expr: Box::new(inner), to: Charset::Utf8mb4, refused: None }, ty };
}

/// An expression that gives UTF-8 whatever the character set of its type is: converted to that one.
pub fn from_utf8(expr: Expr) -> Expr {
    if !expr.ty.is_string() || !expr.ty.charset().is_wide() {
        return expr;
    }
    let (ty, to) = (expr.ty, expr.ty.charset());
    let mut inner = expr;
    inner.ty.collation = collation(ty.collation).in_utf8();
    Expr { node: Node::ToCharset { expr: Box::new(inner), to, refused: None }, ty }
}

/// A call of a function with arguments that its typing has seen.
pub fn call(function: &'static Function, mut args: Vec<Expr>, ty: TypeInfo) -> Expr {
    let (takes_utf8, gives_utf8) = match function.texts {
        Texts::Utf8 => (true, true),
        Texts::Bytes => (false, true),
        Texts::Own => (false, false),
        Texts::Choice => (!ty.is_string(), false),
        Texts::Operand => (true, false),
    };
    if takes_utf8 {
        args.iter_mut().for_each(in_utf8);
    }
    let call = Expr { node: Node::Call { function, args }, ty };
    if gives_utf8 { from_utf8(call) } else { call }
}

pub fn constant_int(expr: &Expr) -> Option<i64> {
    match &expr.node {
        Node::Constant(Value::Int(value)) => Some(*value),
        Node::Constant(Value::UInt(value)) => Some(i64::try_from(*value).unwrap_or(i64::MAX)),
        Node::Minus(inner) => constant_int(inner).and_then(i64::checked_neg),
        _ => None,
    }
}

/// An ENUM or SET column as its number, which is a signed one; x'41' and b'01' as the number of their bits; and what a
/// number is read of in UTF-8.
pub fn as_number(expr: &mut Expr) {
    if let Node::Constant(Value::Bytes(bytes)) = &expr.node {
        if expr.ty.is_bit_literal() {
            *expr = Expr::constant(Value::UInt(super::datum::bits_of(bytes)), TypeInfo::bigint_unsigned(21).not_null());
        }
        return in_utf8(expr);
    }
    // IF and NULLIF hand a literal on as it is; what COALESCE and CASE make of it is a string of bytes.
    if let Node::Call { function, args } = &mut expr.node
        && matches!(function.name, "if" | "nullif")
    {
        let values = if function.name == "if" { &mut args[1..] } else { &mut args[..1] };
        if values.iter().any(|value| value.ty.is_bit_literal() || matches!(value.node, Node::Call { .. })) {
            values.iter_mut().for_each(as_number);
            if expr.ty.is_string() && values.iter().all(|value| value.ty.is_integer() || value.is_null_literal()) {
                expr.ty = TypeInfo::bigint_unsigned(21).nullable(expr.ty.nullable);
            }
        }
        return in_utf8(expr);
    }
    if expr.ty.is_string()
        && is_moment(expr)
        && let Ok(function) = find(date::MOMENT_NUMBER)
    {
        let text = std::mem::replace(expr, Expr::null());
        *expr = Expr { node: Node::Call { function, args: vec![text] }, ty: TypeInfo::double().nullable(true) };
        return;
    }
    let (slot, ty) = match expr.node {
        Node::EnumName { slot, .. } => (slot, TypeInfo { kind: Kind::SmallInt, ..TypeInfo::int(5) }),
        Node::SetNames { slot, .. } => (slot, TypeInfo::bigint(20)),
        _ => return in_utf8(expr),
    };
    let ty = ty.nullable(expr.ty.nullable);
    *expr = Expr { node: Node::Cast { expr: Box::new(Expr::slot(slot, ty.unsigned())), to: CastType::Signed }, ty };
}

/// ENUM and SET columns sort by their numbers.
pub fn by_number(expr: Expr) -> Expr {
    match expr.node {
        Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => {
            Expr::slot(slot, TypeInfo::bigint_unsigned(20).nullable(expr.ty.nullable))
        }
        _ => expr,
    }
}

/// Whether a text is that of a moment: of a function that takes dates in any form, and gives text where it cannot tell
/// beforehand what it will be. As a number it is then the moment's.
fn is_moment(expr: &Expr) -> bool {
    match &expr.node {
        Node::DateAdd { .. } => true,
        Node::Call { function, args } => match function.name {
            "addtime" | "subtime" => true,
            "least" | "greatest" => args.iter().any(|arg| arg.ty.is_temporal()),
            _ => false,
        },
        _ => false,
    }
}

// -------------------------------------------------------------- evaluation

/// From here on what is done with a value takes long enough that KILL is looked at in between.
pub const LONG_BYTES: usize = 1 << 20;

/// A call being evaluated.
pub struct Call<'a> {
    pub name: &'static str,
    pub args: &'a [Expr],
    /// The type of the result.
    pub ty: &'a TypeInfo,
    pub context: &'a EvalContext<'a>,
    pub row: &'a dyn Fields,
    /// For the arguments, which are held while others are computed.
    pub held: RefCell<Vec<Charge>>,
}

impl<'a> Call<'a> {
    #[inline]
    pub fn arg(&self, index: usize) -> Result<Datum<'a>> {
        let value = self.args[index].eval(self.context, self.row);
        if let Ok(value @ (Datum::Bytes(Cow::Owned(_)) | Datum::Json(Cow::Owned(_)))) = &value {
            self.hold(value)?;
        }
        value
    }

    /// Between the parts of a long computation: 1317 if the statement was told to stop.
    pub fn look(&self) -> Result<()> {
        if self.context.session.is_interrupted() { Err(Error::interrupted()) } else { Ok(()) }
    }

    fn hold(&self, value: &Datum<'_>) -> Result<()> {
        if let Datum::Bytes(bytes) | Datum::Json(bytes) = value
            && bytes.len() >= LONG_BYTES
        {
            self.look()?;
        }
        let charge = self.context.session.memory().hold(value)?;
        if charge.is_some() {
            self.held.borrow_mut().push(charge);
        }
        Ok(())
    }

    pub fn has(&self, index: usize) -> bool {
        index < self.args.len()
    }

    pub fn arg_type(&self, index: usize) -> &'a TypeInfo {
        &self.args[index].ty
    }

    /// An argument as text.
    pub fn text(&self, index: usize) -> Result<Option<Cow<'a, [u8]>>> {
        match self.arg(index) {
            Ok(Datum::Bytes(text)) => Ok(Some(text)),
            Ok(Datum::Null) => Ok(None),
            Ok(value) => Ok(value.into_text_or_null(&self.args[index].ty)),
            Err(error) => Err(error),
        }
    }

    /// An argument that is asked for its number: of a bit literal its bits, of an ENUM or SET column the number that it
    /// has, of all else its value.
    #[inline]
    fn number(&self, index: usize) -> Result<Datum<'a>> {
        let arg = &self.args[index];
        match &arg.node {
            Node::Constant(Value::Bytes(bits)) if arg.ty.is_bit_literal() => {
                Ok(Datum::UInt(super::datum::bits_of(bits)))
            }
            Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => Ok(self.row.field(*slot)),
            _ => self.arg(index),
        }
    }

    /// An argument as an integer, rounded.
    pub fn int(&self, index: usize) -> Result<Option<i64>> {
        match self.number(index) {
            Ok(Datum::Null) => Ok(None),
            Ok(Datum::Int(value)) => Ok(Some(value)),
            Ok(Datum::UInt(value)) => Ok(Some(i64::try_from(value).unwrap_or(i64::MAX))),
            Ok(value) => Ok(Some(value.in_utf8(self.arg_type(index)).to_i64(self.context)?)),
            Err(error) => Err(error),
        }
    }

    pub fn uint(&self, index: usize) -> Result<Option<u64>> {
        match self.number(index)? {
            Datum::Null => Ok(None),
            value => Ok(Some(value.in_utf8(self.arg_type(index)).to_u64(self.context)?)),
        }
    }

    pub fn double(&self, index: usize) -> Result<Option<f64>> {
        match self.number(index)? {
            Datum::Null => Ok(None),
            value => Ok(Some(value.in_utf8(self.arg_type(index)).to_f64(self.context)?)),
        }
    }

    pub fn decimal(&self, index: usize) -> Result<Option<Decimal>> {
        match self.number(index)? {
            Datum::Null => Ok(None),
            value => Ok(Some(value.in_utf8(self.arg_type(index)).to_decimal(self.context)?)),
        }
    }

    pub fn datetime(&self, index: usize, zeros: Zeros) -> Result<Option<DateTime>> {
        let value = self.arg(index);
        in_place!(value).to_datetime(zeros, self.context)
    }

    pub fn date(&self, index: usize, zeros: Zeros) -> Result<Option<Date>> {
        let value = self.arg(index);
        in_place!(value).to_date(zeros, self.context)
    }

    pub fn time(&self, index: usize) -> Result<Option<Time>> {
        let value = self.arg(index);
        in_place!(value).to_time(self.context)
    }

    /// The character set of the result.
    pub fn charset(&self) -> Charset {
        self.ty.charset()
    }

    /// The character set of a string argument; numbers are ASCII.
    pub fn charset_of(&self, index: usize) -> Charset {
        let ty = &self.args[index].ty;
        if ty.is_string() { ty.charset() } else { Charset::Ascii }
    }

    /// Whether a result of so many bytes is not longer than a packet may be; else it is NULL, with warning 1301. Asked
    /// before the result is allocated.
    pub fn fits(&self, name: &str, bytes: u64) -> bool {
        let fits = bytes <= self.context.max_allowed_packet_bytes;
        if !fits {
            self.context.warn(Error::result_too_large(name, self.context.max_allowed_packet_bytes));
        }
        fits
    }
}

/// The value, or return NULL.
macro_rules! not_null {
    ($value:expr) => {
        match $value {
            Some(value) => value,
            None => return Ok($crate::expression::Datum::Null),
        }
    };
}
pub(crate) use not_null;
