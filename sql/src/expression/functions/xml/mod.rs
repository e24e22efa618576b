//! EXTRACTVALUE and UPDATEXML: parts of an XML text, by XPath.
//!
//! ```text
//! text --- tree.rs ---> nodes in the order of the text
//! path --- path.rs ---> expression --- evaluate.rs ---> nodes, or a text, number or truth
//! ```
//!
//! As in MySQL a text may be any piece of XML, and a path is XPath 1.0 without namespaces and variables.

mod evaluate;
mod path;
mod tree;

use evaluate::{Evaluation, Value};
use format::collation::{CollationId, collation};
use tree::{Kind, Tree};

use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, Expr, json};
use crate::types::{Coercibility, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("extractvalue", (2, 2), text_type, extract_value),
    Function::new("updatexml", (3, 3), text_type, update_xml),
];

fn text_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::string(u32::MAX, CollationId::DEFAULT, Coercibility::Literal))
}

fn argument(call: &Call<'_>, index: usize) -> Result<Option<String>> {
    Ok(call.text(index)?.map(|text| json::unicode(&text, call.charset_of(index))))
}

/// The tree of the first argument; None, with a warning, if it is no XML.
fn parsed<'t>(call: &Call<'_>, text: &'t str) -> Result<Option<Tree<'t>>> {
    match Tree::parse(text, &|| call.context.session.is_interrupted()) {
        Ok(tree) => Ok(Some(tree)),
        Err((at, what)) => {
            call.look()?;
            let before = &text[..at];
            let line = before.matches('\n').count() + 1;
            let column = at - before.rfind('\n').map_or(0, |newline| newline + 1);
            let message = format!("Incorrect XML value: 'parse error at line {line} pos {column}: {what}'");
            call.context.warn(Error::new(1525, b"HY000", message));
            Ok(None)
        }
    }
}

fn evaluated(call: &Call<'_>, tree: &Tree<'_>, written: &str) -> Result<Value> {
    call.look()?;
    let expr = path::parse(written).map_err(|at| {
        if written[at..].starts_with('$') {
            return Error::unsupported("variables in XPath expressions");
        }
        let rest: String = written[at..].chars().take(20).collect();
        Error::new(1105, b"HY000", format!("XPATH syntax error: '{rest}'"))
    })?;
    let counts_case = |argument: &Expr| {
        let own = collation(argument.ty.collation);
        argument.ty.is_string() && own.is_case_sensitive()
    };
    Evaluation::new(tree, !call.args[..2].iter().any(counts_case)).run(&expr)
}

/// The texts in the elements that are found, with spaces between them; or the value of an expression that finds none.
fn extract_value<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(argument(call, 0)?);
    let written = not_null!(argument(call, 1)?);
    let tree = not_null!(parsed(call, &text)?);
    Ok(Datum::text(evaluated(call, &tree, &written)?.into_text(&tree)))
}

/// The text with another in the place of the one node that is found.
fn update_xml<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = not_null!(argument(call, 0)?);
    let written = not_null!(argument(call, 1)?);
    let new = not_null!(argument(call, 2)?);
    let tree = not_null!(parsed(call, &text)?);
    let Value::Nodes(found) = evaluated(call, &tree, &written)? else {
        return Err(Error::new(1105, b"HY000", format!("XPATH syntax error: '{written}'")));
    };
    let place = match found.as_slice() {
        [node] if tree.nodes[*node].kind == Kind::Root => return Ok(Datum::text(new)),
        [node] => tree.nodes[*node].source.clone(),
        _ => return Ok(Datum::text(text)),
    };
    if !call.fits("updatexml", (text.len() + new.len()) as u64) {
        return Ok(Datum::Null);
    }
    Ok(Datum::text([&text[..place.start], &new, &text[place.end..]].concat()))
}
