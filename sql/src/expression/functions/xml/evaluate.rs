//! The value of an XPath expression in a tree.
//!
//! Nodes are numbers in document order, each once. The work has a limit: predicates in predicates look at all nodes for
//! each of all nodes.
//!
//! As in MySQL, and unlike XPath's own rule, the text of an element is what stands in it directly, not what its elements
//! have; a comparison is with each such text, and follows the collation in whether letters' case counts.

use format::collation::{CollationId, collation};
use format::value::write_double;

use super::path::{Axis, Expr, Operator, Start, Step, Test};
use super::tree::{Kind, Tree};
use crate::error::{Error, Result};

/// How many nodes one evaluation looks at.
const LOOKS_MAX: usize = 10_000_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nodes(Vec<usize>),
    Number(f64),
    Text(String),
    Truth(bool),
}

/// The node that an expression is about, and which of how many it is.
#[derive(Clone, Copy)]
struct Here {
    node: usize,
    position: usize,
    size: usize,
}

pub struct Evaluation<'t> {
    tree: &'t Tree<'t>,
    /// Whether `a` and `A` are equal.
    folds_case: bool,
    looks: usize,
}

impl Value {
    pub fn into_text(self, tree: &Tree<'_>) -> String {
        match self {
            Value::Nodes(nodes) => texts_of(tree, &nodes).join(" "),
            Value::Text(text) => text,
            Value::Truth(truth) => u8::from(truth).to_string(),
            Value::Number(number) => {
                let mut out = Vec::new();
                write_double(number, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
        }
    }

    fn number(&self, tree: &Tree<'_>) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Truth(truth) => f64::from(u8::from(*truth)),
            other => other.clone().into_text(tree).trim().parse().unwrap_or(f64::NAN),
        }
    }

    fn truth(&self) -> bool {
        match self {
            Value::Nodes(nodes) => !nodes.is_empty(),
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::Text(text) => !text.is_empty(),
            Value::Truth(truth) => *truth,
        }
    }
}

/// The texts that stand in nodes directly, each once, in the order of the document.
pub fn texts_of<'t>(tree: &'t Tree<'_>, nodes: &[usize]) -> Vec<&'t str> {
    let mut found: Vec<usize> = Vec::new();
    for node in nodes {
        match tree.nodes[*node].kind {
            Kind::Text | Kind::Attribute => found.push(*node),
            Kind::Root | Kind::Element => {
                let children = tree.nodes[*node].children.iter().copied();
                found.extend(children.filter(|child| tree.nodes[*child].kind == Kind::Text));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|node| tree.nodes[node].text.as_str()).collect()
}

impl<'t> Evaluation<'t> {
    pub fn new(tree: &'t Tree<'t>, folds_case: bool) -> Evaluation<'t> {
        Evaluation { tree, folds_case, looks: 0 }
    }

    pub fn run(&mut self, expr: &Expr) -> Result<Value> {
        self.eval(expr, Here { node: 0, position: 1, size: 1 })
    }

    fn look(&mut self, nodes: usize) -> Result<()> {
        self.looks += nodes;
        match self.looks > LOOKS_MAX {
            true => Err(Error::unsupported("an XPath expression that looks at so many nodes")),
            false => Ok(()),
        }
    }

    fn eval(&mut self, expr: &Expr, here: Here) -> Result<Value> {
        Ok(match expr {
            Expr::Number(number) => Value::Number(*number),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Negate(inner) => Value::Number(-self.eval(inner, here)?.number(self.tree)),
            Expr::Call(name, args) => self.call(name, args, here)?,
            Expr::Binary(operator, left, right) => {
                let left = self.eval(left, here)?;
                match operator {
                    Operator::Or if left.truth() => return Ok(Value::Truth(true)),
                    Operator::And if !left.truth() => return Ok(Value::Truth(false)),
                    _ => {}
                }
                let right = self.eval(right, here)?;
                self.binary(*operator, left, right)?
            }
            Expr::Path { from, steps } => {
                let mut nodes = match from {
                    Start::Root => vec![0],
                    Start::Here => vec![here.node],
                    Start::Found(inner) => match self.eval(inner, here)? {
                        Value::Nodes(nodes) => nodes,
                        _ => {
                            return Err(Error::new(1105, b"HY000", "XPATH error: a path of something that is no node"));
                        }
                    },
                };
                for step in steps {
                    nodes = self.step(step, &nodes)?;
                }
                Value::Nodes(nodes)
            }
        })
    }

    fn step(&mut self, step: &Step, from: &[usize]) -> Result<Vec<usize>> {
        // What a parenthesis found is counted as a whole.
        let as_whole = step.axis == Axis::Itself && !step.predicates.is_empty();
        let groups: Vec<Vec<usize>> = match as_whole {
            true => vec![from.to_vec()],
            false => from.iter().map(|node| self.axis(step.axis, *node)).collect(),
        };
        let mut all = Vec::new();
        for group in groups {
            self.look(group.len() + 1)?;
            let mut nodes: Vec<usize> = group.into_iter().filter(|node| self.passes(step, *node)).collect();
            for predicate in &step.predicates {
                let size = nodes.len();
                let mut kept = Vec::new();
                for (at, node) in nodes.into_iter().enumerate() {
                    let here = Here { node, position: at + 1, size };
                    self.look(1)?;
                    let holds = match self.eval(predicate, here)? {
                        Value::Number(number) => number == here.position as f64,
                        value => value.truth(),
                    };
                    if holds {
                        kept.push(node);
                    }
                }
                nodes = kept;
            }
            all.extend(nodes);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn passes(&self, step: &Step, node: usize) -> bool {
        let node = &self.tree.nodes[node];
        let principal = if step.axis == Axis::Attribute { Kind::Attribute } else { Kind::Element };
        match &step.test {
            Test::Node => true,
            Test::Text => node.kind == Kind::Text,
            Test::Any => node.kind == principal,
            Test::Name(name) => node.kind == principal && node.name == *name,
        }
    }

    /// The nodes of an axis, those nearest first.
    fn axis(&self, axis: Axis, node: usize) -> Vec<usize> {
        let nodes = &self.tree.nodes;
        let children = |node: usize| nodes[node].children.iter().copied();
        let is_part = |node: &usize| nodes[*node].kind != Kind::Attribute;
        match axis {
            Axis::Child => children(node).filter(is_part).collect(),
            Axis::Attribute => children(node).filter(|child| !is_part(child)).collect(),
            Axis::Itself => vec![node],
            Axis::Parent if node == 0 => Vec::new(),
            Axis::Parent => vec![nodes[node].parent],
            Axis::Descendant | Axis::DescendantOrSelf => {
                let mut found = Vec::new();
                let mut open = vec![node];
                while let Some(next) = open.pop() {
                    found.push(next);
                    let parts: Vec<usize> = children(next).filter(is_part).collect();
                    open.extend(parts.into_iter().rev());
                }
                if axis == Axis::Descendant {
                    found.remove(0);
                }
                found
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let mut found = if axis == Axis::AncestorOrSelf { vec![node] } else { Vec::new() };
                let mut next = node;
                while next != 0 {
                    next = nodes[next].parent;
                    found.push(next);
                }
                found
            }
            Axis::FollowingSibling | Axis::PrecedingSibling if node == 0 => Vec::new(),
            Axis::FollowingSibling => {
                children(nodes[node].parent).filter(|other| *other > node && is_part(other)).collect()
            }
            Axis::PrecedingSibling => {
                let mut before: Vec<usize> =
                    children(nodes[node].parent).filter(|other| *other < node && is_part(other)).collect();
                before.reverse();
                before
            }
        }
    }

    fn binary(&mut self, operator: Operator, left: Value, right: Value) -> Result<Value> {
        let tree = self.tree;
        let numbers = |compute: fn(f64, f64) -> f64| Value::Number(compute(left.number(tree), right.number(tree)));
        Ok(match operator {
            Operator::Or | Operator::And => Value::Truth(right.truth()),
            Operator::Add => numbers(|a, b| a + b),
            Operator::Subtract => numbers(|a, b| a - b),
            Operator::Multiply => numbers(|a, b| a * b),
            Operator::Divide => numbers(|a, b| a / b),
            Operator::Modulo => numbers(|a, b| a % b),
            Operator::Union => match (left, right) {
                (Value::Nodes(mut all), Value::Nodes(others)) => {
                    all.extend(others);
                    all.sort_unstable();
                    all.dedup();
                    Value::Nodes(all)
                }
                _ => return Err(Error::new(1105, b"HY000", "XPATH error: a union of something that is no node")),
            },
            _ => Value::Truth(self.compare(operator, &left, &right)?),
        })
    }

    /// Whether a comparison holds; of several nodes for any.
    fn compare(&mut self, operator: Operator, left: &Value, right: &Value) -> Result<bool> {
        let tree = self.tree;
        let each = |value: &Value| -> Vec<Value> {
            match value {
                Value::Nodes(nodes) => {
                    texts_of(tree, nodes).into_iter().map(|text| Value::Text(text.to_owned())).collect()
                }
                other => vec![other.clone()],
            }
        };
        let (lefts, rights) = (each(left), each(right));
        let folding = self.folds_case.then(|| collation(CollationId::UTF8MB4_GENERAL_CI));
        self.look(lefts.len() * rights.len())?;
        let holds = |left: &Value, right: &Value| {
            let by_number = |is: fn(&f64, &f64) -> bool| is(&left.number(tree), &right.number(tree));
            let equal = || match (left, right) {
                (Value::Truth(_), _) | (_, Value::Truth(_)) => left.truth() == right.truth(),
                (Value::Number(_), _) | (_, Value::Number(_)) => left.number(tree) == right.number(tree),
                (Value::Text(left), Value::Text(right)) => match folding {
                    Some(folding) => folding.equal(left.as_bytes(), right.as_bytes()),
                    None => left == right,
                },
                _ => left == right,
            };
            match operator {
                Operator::Equal => equal(),
                Operator::NotEqual => !equal(),
                Operator::Less => by_number(f64::lt),
                Operator::LessEqual => by_number(f64::le),
                Operator::Greater => by_number(f64::gt),
                _ => by_number(f64::ge),
            }
        };
        Ok(lefts.iter().any(|left| rights.iter().any(|right| holds(left, right))))
    }

    fn call(&mut self, name: &str, args: &[Expr], here: Here) -> Result<Value> {
        let tree = self.tree;
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.eval(arg, here)?);
        }
        let text = |index: usize| match values.get(index) {
            Some(value) => value.clone().into_text(tree),
            None => texts_of(tree, &[here.node]).join(" "),
        };
        let number = |index: usize| match values.get(index) {
            Some(value) => value.number(tree),
            None => Value::Nodes(vec![here.node]).number(tree),
        };
        Ok(match (name, values.as_slice()) {
            ("position", []) => Value::Number(here.position as f64),
            ("last", []) => Value::Number(here.size as f64),
            ("count", [Value::Nodes(nodes)]) => Value::Number(nodes.len() as f64),
            ("sum", [Value::Nodes(nodes)]) => {
                Value::Number(nodes.iter().map(|node| Value::Nodes(vec![*node]).number(tree)).sum())
            }
            ("name" | "local-name", [] | [Value::Nodes(_)]) => {
                let node = match values.first() {
                    Some(Value::Nodes(nodes)) => nodes.first().copied(),
                    _ => Some(here.node),
                };
                Value::Text(node.map_or_else(String::new, |node| tree.nodes[node].name.clone()))
            }
            ("not", [value]) => Value::Truth(!value.truth()),
            ("true", []) => Value::Truth(true),
            ("false", []) => Value::Truth(false),
            ("boolean", [value]) => Value::Truth(value.truth()),
            ("number", [] | [_]) => Value::Number(number(0)),
            ("string", [] | [_]) => Value::Text(text(0)),
            ("string-length", [] | [_]) => Value::Number(text(0).chars().count() as f64),
            ("normalize-space", [] | [_]) => Value::Text(text(0).split_whitespace().collect::<Vec<_>>().join(" ")),
            ("contains", [_, _]) if self.folds_case => {
                let (text, part) = (text(0), text(1));
                let folding = collation(CollationId::UTF8MB4_GENERAL_CI);
                Value::Truth(folding.find(text.as_bytes(), part.as_bytes(), 0).is_some())
            }
            ("contains", [_, _]) => Value::Truth(text(0).contains(&text(1))),
            ("starts-with", [_, _]) => Value::Truth(text(0).starts_with(&text(1))),
            ("concat", [_, _, ..]) => Value::Text((0..values.len()).map(text).collect()),
            ("substring-before", [_, _]) => {
                Value::Text(text(0).split_once(&text(1)).map_or_else(String::new, |(before, _)| before.to_owned()))
            }
            ("substring-after", [_, _]) => {
                Value::Text(text(0).split_once(&text(1)).map_or_else(String::new, |(_, after)| after.to_owned()))
            }
            ("substring", [_, _] | [_, _, _]) => {
                let start = number(1).round();
                let end = if values.len() == 3 { start + number(2).round() } else { f64::INFINITY };
                let is_inside = |at: usize| (at as f64 + 1.0) >= start && (at as f64 + 1.0) < end;
                Value::Text(text(0).chars().enumerate().filter(|(at, _)| is_inside(*at)).map(|(_, c)| c).collect())
            }
            ("translate", [_, _, _]) => {
                let (from, to): (Vec<char>, Vec<char>) = (text(1).chars().collect(), text(2).chars().collect());
                let translated = |character: char| match from.iter().position(|other| *other == character) {
                    Some(at) => to.get(at).copied(),
                    None => Some(character),
                };
                Value::Text(text(0).chars().filter_map(translated).collect())
            }
            ("floor", [_]) => Value::Number(number(0).floor()),
            ("ceiling", [_]) => Value::Number(number(0).ceil()),
            ("round", [_]) => Value::Number(number(0).round()),
            _ => return Err(Error::new(1105, b"HY000", format!("XPATH syntax error: '{name}'"))),
        })
    }
}
