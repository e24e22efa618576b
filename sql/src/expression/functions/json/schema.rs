//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: documents against a JSON schema, draft 4.
//!
//! A schema says what a value must be like, by keywords; those that it does not know say nothing. `$ref` leads to other
//! places of the same schema only: others are 1235. References may make a small schema a large one, so the work has a
//! limit.
//!
//! Source: "JSON Schema: core definitions and terminology" and "interactive and non interactive validation", draft 4.

use std::cmp::Ordering;

use format::value::{Decimal, Json};
use regex::Regex;

use super::arguments::{document, json_type, result, truth_type};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;

pub const FUNCTIONS: &[Function] = &[
    Function::new("json_schema_valid", (2, 2), truth_type, json_schema_valid),
    Function::new("json_schema_validation_report", (2, 2), json_type, json_schema_validation_report),
];

/// How many keywords are looked at for one document.
const STEPS_MAX: usize = 1 << 20;

/// How deep schemas may lie in each other, references included.
const DEPTH_MAX: usize = 200;

fn json_schema_valid<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (schema, value) = not_null!(arguments(call)?);
    Ok(Check::run(&schema, &value)?.is_none().into())
}

fn json_schema_validation_report<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (schema, value) = not_null!(arguments(call)?);
    let failure = Check::run(&schema, &value)?;
    let mut members = vec![("valid".to_owned(), Json::Bool(failure.is_none()))];
    if let Some(failure) = failure {
        let reason = format!(
            "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
            failure.place, failure.keyword, failure.schema
        );
        let facts = [
            ("reason", reason),
            ("schema-location", failure.schema),
            ("document-location", failure.place),
            ("schema-failed-keyword", failure.keyword.to_owned()),
        ];
        members.extend(facts.map(|(name, text)| (name.to_owned(), Json::String(text))));
    }
    result(call, &Json::object(members))
}

fn arguments(call: &Call<'_>) -> Result<Option<(Json, Json)>> {
    let Some(schema) = document(call, 0)? else { return Ok(None) };
    if !matches!(schema, Json::Object(_)) {
        return Err(Error::json_kind(1, call.name, "object"));
    }
    Ok(document(call, 1)?.map(|value| (schema, value)))
}

/// The first requirement that is not met.
struct Failure {
    schema: String,
    place: String,
    keyword: &'static str,
}

struct Check<'s> {
    root: &'s Json,
    steps_left: usize,
}

/// Where in the schema and where in the document, as fragments of a URI.
#[derive(Clone)]
struct At {
    schema: String,
    place: String,
    depth: usize,
}

impl At {
    fn schema(&self, name: impl std::fmt::Display) -> At {
        At { schema: format!("{}/{}", self.schema, name), ..self.clone() }
    }

    fn place(&self, name: impl std::fmt::Display) -> At {
        At { place: format!("{}/{}", self.place, name), ..self.clone() }
    }
}

impl<'s> Check<'s> {
    fn run(schema: &'s Json, value: &Json) -> Result<Option<Failure>> {
        let at = At { schema: "#".into(), place: "#".into(), depth: 0 };
        Check { root: schema, steps_left: STEPS_MAX }.value(schema, value, &at)
    }

    fn value(&mut self, schema: &'s Json, value: &Json, at: &At) -> Result<Option<Failure>> {
        if at.depth > DEPTH_MAX {
            return Err(Error::json_too_deep());
        }
        if let Some(Json::String(reference)) = schema.member("$ref") {
            let Some(target) = self.resolved(reference)? else { return Ok(None) };
            let at = At { schema: reference.clone(), depth: at.depth + 1, ..at.clone() };
            return self.value(target, value, &at);
        }
        let Json::Object(keywords) = schema else { return Ok(None) };
        let at = &At { depth: at.depth + 1, ..at.clone() };
        for (keyword, wanted) in keywords {
            self.steps_left =
                self.steps_left.checked_sub(1).ok_or_else(|| Error::unsupported("such a large JSON schema"))?;
            let failure = match value {
                Json::Object(members) => self.object(schema, keyword, wanted, members, at)?,
                Json::Array(elements) => self.array(schema, keyword, wanted, elements, at)?,
                Json::String(text) => text_failure(keyword, wanted, text, at),
                _ => number_failure(schema, keyword, wanted, value, at),
            };
            let failure = match failure {
                None => self.any(keyword, wanted, value, at)?,
                failure => failure,
            };
            if failure.is_some() {
                return Ok(failure);
            }
        }
        Ok(None)
    }

    /// The schema at a place of this one. None: there is none, which requires nothing.
    fn resolved(&self, reference: &str) -> Result<Option<&'s Json>> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(Error::unsupported("references to other JSON schemas"));
        };
        let mut place = self.root;
        for name in pointer.split('/').skip(1) {
            let name = name.replace("~1", "/").replace("~0", "~");
            let next = match place {
                Json::Array(elements) => name.parse::<usize>().ok().and_then(|at| elements.get(at)),
                place => place.member(&name),
            };
            let Some(next) = next else { return Ok(None) };
            place = next;
        }
        Ok(Some(place))
    }

    /// Keywords for values of all kinds.
    fn any(&mut self, keyword: &str, wanted: &'s Json, value: &Json, at: &At) -> Result<Option<Failure>> {
        match (keyword, wanted) {
            ("type", Json::String(name)) => Ok(failed(!has_type(value, name), "type", at)),
            ("type", Json::Array(names)) => {
                let fits = names.iter().any(|name| matches!(name, Json::String(name) if has_type(value, name)));
                Ok(failed(!fits, "type", at))
            }
            ("enum", Json::Array(values)) => {
                Ok(failed(!values.iter().any(|other| other.compare(value) == Ordering::Equal), "enum", at))
            }
            ("allOf", Json::Array(schemas)) => {
                for (number, schema) in schemas.iter().enumerate() {
                    let failure = self.value(schema, value, &at.schema("allOf").schema(number))?;
                    if failure.is_some() {
                        return Ok(failed(true, "allOf", at));
                    }
                }
                Ok(None)
            }
            ("anyOf", Json::Array(schemas)) => Ok(failed(self.fitting(schemas, value, at)? == 0, "anyOf", at)),
            ("oneOf", Json::Array(schemas)) => Ok(failed(self.fitting(schemas, value, at)? != 1, "oneOf", at)),
            ("not", schema) => Ok(failed(self.value(schema, value, at)?.is_none(), "not", at)),
            _ => Ok(None),
        }
    }

    fn fitting(&mut self, schemas: &'s [Json], value: &Json, at: &At) -> Result<usize> {
        let mut count = 0;
        for schema in schemas {
            count += usize::from(self.value(schema, value, at)?.is_none());
        }
        Ok(count)
    }

    fn object(
        &mut self,
        schema: &'s Json,
        keyword: &str,
        wanted: &'s Json,
        members: &[(String, Json)],
        at: &At,
    ) -> Result<Option<Failure>> {
        let find = |name: &str| members.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        match (keyword, wanted) {
            ("required", Json::Array(names)) => {
                let lacks = |name: &Json| matches!(name, Json::String(name) if find(name).is_none());
                Ok(failed(names.iter().any(lacks), "required", at))
            }
            ("minProperties", _) => Ok(failed(is_below(members.len(), wanted), "minProperties", at)),
            ("maxProperties", _) => Ok(failed(is_above(members.len(), wanted), "maxProperties", at)),
            ("properties", Json::Object(schemas)) => {
                for (name, inner) in schemas {
                    if let Some(value) = find(name) {
                        let failure = self.value(inner, value, &at.schema("properties").schema(name).place(name))?;
                        if failure.is_some() {
                            return Ok(failure);
                        }
                    }
                }
                Ok(None)
            }
            ("patternProperties", Json::Object(schemas)) => {
                for (pattern, inner) in schemas {
                    let Some(regex) = compiled(pattern) else { continue };
                    for (name, value) in members.iter().filter(|(name, _)| regex.is_match(name)) {
                        let at = at.schema("patternProperties").schema(pattern).place(name);
                        let failure = self.value(inner, value, &at)?;
                        if failure.is_some() {
                            return Ok(failure);
                        }
                    }
                }
                Ok(None)
            }
            ("additionalProperties", inner) => {
                let patterns: Vec<Regex> = match schema.member("patternProperties") {
                    Some(Json::Object(schemas)) => {
                        schemas.iter().filter_map(|(pattern, _)| compiled(pattern)).collect()
                    }
                    _ => Vec::new(),
                };
                let is_known = |name: &str| {
                    schema.member("properties").is_some_and(|known| known.member(name).is_some())
                        || patterns.iter().any(|pattern| pattern.is_match(name))
                };
                for (name, value) in members.iter().filter(|(name, _)| !is_known(name)) {
                    if *inner == Json::Bool(false) {
                        return Ok(failed(true, "additionalProperties", &at.place(name)));
                    }
                    let failure = self.value(inner, value, &at.schema("additionalProperties").place(name))?;
                    if failure.is_some() {
                        return Ok(failure);
                    }
                }
                Ok(None)
            }
            ("dependencies", Json::Object(rules)) => {
                for (name, rule) in rules.iter().filter(|(name, _)| find(name).is_some()) {
                    let is_broken = match rule {
                        Json::Array(names) => {
                            names.iter().any(|name| matches!(name, Json::String(name) if find(name).is_none()))
                        }
                        rule => {
                            let whole = Json::Object(members.to_vec());
                            self.value(rule, &whole, &at.schema("dependencies").schema(name))?.is_some()
                        }
                    };
                    if is_broken {
                        return Ok(failed(true, "dependencies", at));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn array(
        &mut self,
        schema: &'s Json,
        keyword: &str,
        wanted: &'s Json,
        elements: &[Json],
        at: &At,
    ) -> Result<Option<Failure>> {
        let inner = |number: usize| -> Option<&'s Json> {
            match wanted {
                Json::Array(schemas) => schemas.get(number),
                schema => Some(schema),
            }
        };
        match (keyword, wanted) {
            ("minItems", _) => Ok(failed(is_below(elements.len(), wanted), "minItems", at)),
            ("maxItems", _) => Ok(failed(is_above(elements.len(), wanted), "maxItems", at)),
            ("uniqueItems", Json::Bool(true)) => {
                let keys = elements.iter().map(|element| {
                    let mut key = Vec::new();
                    element.write_key(&mut key);
                    key
                });
                let distinct: std::collections::HashSet<Vec<u8>> = keys.collect();
                Ok(failed(distinct.len() < elements.len(), "uniqueItems", at))
            }
            ("items", _) => {
                for (number, element) in elements.iter().enumerate() {
                    let Some(inner) = inner(number) else { break };
                    let failure = self.value(inner, element, &at.schema("items").place(number))?;
                    if failure.is_some() {
                        return Ok(failure);
                    }
                }
                Ok(None)
            }
            ("additionalItems", _) => {
                let Some(Json::Array(known)) = schema.member("items") else { return Ok(None) };
                for (number, element) in elements.iter().enumerate().skip(known.len()) {
                    if *wanted == Json::Bool(false) {
                        return Ok(failed(true, "additionalItems", at));
                    }
                    let failure = self.value(wanted, element, &at.schema("additionalItems").place(number))?;
                    if failure.is_some() {
                        return Ok(failure);
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

fn failed(fails: bool, keyword: &'static str, at: &At) -> Option<Failure> {
    fails.then(|| Failure { schema: at.schema.clone(), place: at.place.clone(), keyword })
}

fn has_type(value: &Json, name: &str) -> bool {
    match name {
        "null" => *value == Json::Null,
        "boolean" => matches!(value, Json::Bool(_)),
        "integer" => matches!(value, Json::Int(_) | Json::UInt(_)),
        "number" => matches!(value, Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_)),
        "array" => matches!(value, Json::Array(_)),
        "object" => matches!(value, Json::Object(_)),
        "string" => {
            matches!(value, Json::String(_) | Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Opaque { .. })
        }
        _ => true,
    }
}

/// Whether there are fewer than a schema wants; it says so by a number.
fn is_below(count: usize, wanted: &Json) -> bool {
    is_number(wanted) && Json::Int(count as i64).compare(wanted) == Ordering::Less
}

fn is_above(count: usize, wanted: &Json) -> bool {
    is_number(wanted) && Json::Int(count as i64).compare(wanted) == Ordering::Greater
}

fn is_number(value: &Json) -> bool {
    has_type(value, "number")
}

fn compiled(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

fn text_failure(keyword: &str, wanted: &Json, text: &str, at: &At) -> Option<Failure> {
    match (keyword, wanted) {
        ("minLength", _) => failed(is_below(text.chars().count(), wanted), "minLength", at),
        ("maxLength", _) => failed(is_above(text.chars().count(), wanted), "maxLength", at),
        ("pattern", Json::String(pattern)) => {
            failed(compiled(pattern).is_some_and(|regex| !regex.is_match(text)), "pattern", at)
        }
        _ => None,
    }
}

fn number_failure(schema: &Json, keyword: &str, wanted: &Json, value: &Json, at: &At) -> Option<Failure> {
    if !is_number(value) || !is_number(wanted) {
        return None;
    }
    let is_exclusive = |name: &str| schema.member(name) == Some(&Json::Bool(true));
    let order = value.compare(wanted);
    match keyword {
        "minimum" => {
            let fails = order == Ordering::Less || order == Ordering::Equal && is_exclusive("exclusiveMinimum");
            failed(fails, "minimum", at)
        }
        "maximum" => {
            let fails = order == Ordering::Greater || order == Ordering::Equal && is_exclusive("exclusiveMaximum");
            failed(fails, "maximum", at)
        }
        "multipleOf" => {
            let decimal = |value: &Json| Decimal::parse(&value.to_text()).ok();
            let rest = decimal(value).zip(decimal(wanted)).and_then(|(value, wanted)| value.rem(&wanted).ok());
            failed(rest.is_some_and(|rest| !rest.is_zero()), "multipleOf", at)
        }
        _ => None,
    }
}
