//! XPath 1.0 as a tree of expressions, without namespaces and variables.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Union,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Number(f64),
    Text(String),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    Call(String, Vec<Expr>),
    Path { from: Start, steps: Vec<Step> },
}

/// Where a path begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    Root,
    Here,
    Found(Box<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub axis: Axis,
    pub test: Test,
    pub predicates: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Child,
    Attribute,
    Itself,
    Parent,
    Descendant,
    DescendantOrSelf,
    Ancestor,
    AncestorOrSelf,
    FollowingSibling,
    PrecedingSibling,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    Name(String),
    /// `*`
    Any,
    /// `text()`
    Text,
    /// `node()`
    Node,
}

const AXES: [(&str, Axis); 10] = [
    ("child", Axis::Child),
    ("attribute", Axis::Attribute),
    ("self", Axis::Itself),
    ("parent", Axis::Parent),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("following-sibling", Axis::FollowingSibling),
    ("preceding-sibling", Axis::PrecedingSibling),
];

/// How deep expressions may lie in each other.
const DEPTH_MAX: usize = 60;

/// Reads an expression; the error is where reading ended.
pub fn parse(text: &str) -> Result<Expr, usize> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expr = parser.expr(0)?;
    parser.skip();
    if parser.at < text.len() { Err(parser.at) } else { Ok(expr) }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

/// By rank, the loosest first; longer ones before those that they begin with.
const OPERATORS: [&[(&str, Operator)]; 7] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[("!=", Operator::NotEqual), ("=", Operator::Equal)],
    &[("<=", Operator::LessEqual), (">=", Operator::GreaterEqual), ("<", Operator::Less), (">", Operator::Greater)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("div", Operator::Divide), ("mod", Operator::Modulo)],
    &[("|", Operator::Union)],
];

impl Parser<'_> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes a symbol, or a word that ends there.
    fn take(&mut self, symbol: &str) -> bool {
        self.skip();
        let Some(behind) = self.text[self.at..].strip_prefix(symbol) else { return false };
        let is_word = symbol.starts_with(|character: char| character.is_alphabetic());
        if is_word && behind.starts_with(is_name_part) {
            return false;
        }
        self.at += symbol.len();
        true
    }

    fn expect(&mut self, symbol: &str) -> Result<(), usize> {
        if self.take(symbol) { Ok(()) } else { Err(self.at) }
    }

    fn expr(&mut self, rank: usize) -> Result<Expr, usize> {
        let Some(operators) = OPERATORS.get(rank) else { return self.unary() };
        let mut left = self.expr(rank + 1)?;
        let mut links = 0;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.take(symbol)) {
            links += 1;
            if links > DEPTH_MAX {
                return Err(self.at);
            }
            left = Expr::Binary(*operator, Box::new(left), Box::new(self.expr(rank + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, usize> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.at);
        }
        let expr = match self.take("-") {
            true => Expr::Negate(Box::new(self.unary()?)),
            false => self.path()?,
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn path(&mut self) -> Result<Expr, usize> {
        self.skip();
        let rest = &self.text[self.at..];
        let first = rest.chars().next().ok_or(self.at)?;
        let start = match first {
            '/' if rest.starts_with("//") => Start::Root,
            '/' => {
                self.at += 1;
                self.skip();
                let behind = self.text[self.at..].chars().next();
                if !behind.is_some_and(|next| is_name_part(next) || "@*.".contains(next)) {
                    return Ok(Expr::Path { from: Start::Root, steps: Vec::new() });
                }
                let mut steps = vec![self.step()?];
                self.steps(&mut steps)?;
                return Ok(Expr::Path { from: Start::Root, steps });
            }
            '"' | '\'' => {
                let length = rest[1..].find(first).ok_or(self.at)?;
                self.at += length + 2;
                return Ok(Expr::Text(rest[1..1 + length].to_owned()));
            }
            '0'..='9' => {
                let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
                let digits = &rest[..end.unwrap_or(rest.len())];
                let number = digits.parse().map_err(|_| self.at)?;
                self.at += digits.len();
                return Ok(Expr::Number(number));
            }
            '(' => {
                self.at += 1;
                let inner = self.expr(0)?;
                self.expect(")")?;
                Start::Found(Box::new(inner))
            }
            _ => match self.call()? {
                Some(call) => Start::Found(Box::new(call)),
                None => {
                    let mut steps = vec![self.step()?];
                    self.steps(&mut steps)?;
                    return Ok(Expr::Path { from: Start::Here, steps });
                }
            },
        };
        let mut steps = Vec::new();
        if matches!(start, Start::Found(_)) {
            // Predicates of what was found as a whole.
            let predicates = self.predicates()?;
            if !predicates.is_empty() {
                steps.push(Step { axis: Axis::Itself, test: Test::Node, predicates });
            }
        }
        self.steps(&mut steps)?;
        match (start, steps.is_empty()) {
            (Start::Found(inner), true) => Ok(*inner),
            (from, _) => Ok(Expr::Path { from, steps }),
        }
    }

    /// `name(arguments)`, unless the name is a node's.
    fn call(&mut self) -> Result<Option<Expr>, usize> {
        let start = self.at;
        let name = self.name();
        self.skip();
        if name.is_empty()
            || matches!(name.as_str(), "text" | "node" | "comment")
            || !self.text[self.at..].starts_with('(')
        {
            self.at = start;
            return Ok(None);
        }
        self.at += 1;
        let mut args = Vec::new();
        while !self.take(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.expr(0)?);
        }
        Ok(Some(Expr::Call(name, args)))
    }

    /// The steps behind slashes.
    fn steps(&mut self, steps: &mut Vec<Step>) -> Result<(), usize> {
        loop {
            if self.take("//") {
                steps.push(Step { axis: Axis::DescendantOrSelf, test: Test::Node, predicates: Vec::new() });
            } else if !self.take("/") {
                return Ok(());
            }
            steps.push(self.step()?);
        }
    }

    fn step(&mut self) -> Result<Step, usize> {
        self.skip();
        if self.take("..") {
            return Ok(Step { axis: Axis::Parent, test: Test::Node, predicates: Vec::new() });
        }
        if self.take(".") {
            return Ok(Step { axis: Axis::Itself, test: Test::Node, predicates: Vec::new() });
        }
        let mut axis = if self.take("@") { Axis::Attribute } else { Axis::Child };
        let named = AXES.iter().find(|(name, _)| {
            self.text[self.at..].strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with("::"))
        });
        if let Some((name, named)) = named {
            self.at += name.len();
            self.expect("::")?;
            self.skip();
            axis = *named;
        }
        let test = if self.take("*") {
            Test::Any
        } else {
            let name = self.name();
            if name.is_empty() {
                return Err(self.at);
            }
            match name.as_str() {
                "text" | "node" if self.take("(") => {
                    self.expect(")")?;
                    if name == "text" { Test::Text } else { Test::Node }
                }
                _ => Test::Name(name),
            }
        };
        Ok(Step { axis, test, predicates: self.predicates()? })
    }

    fn predicates(&mut self) -> Result<Vec<Expr>, usize> {
        let mut predicates = Vec::new();
        while self.take("[") {
            predicates.push(self.expr(0)?);
            self.expect("]")?;
        }
        Ok(predicates)
    }

    fn name(&mut self) -> String {
        let rest = &self.text[self.at..];
        let mut end = rest.find(|character| !is_name_part(character)).unwrap_or(rest.len());
        // Two colons are an axis; a name does not begin with a digit or a sign.
        if let Some(axis) = rest[..end].find("::") {
            end = axis;
        }
        if rest.starts_with(|first: char| first.is_ascii_digit() || "-.:".contains(first)) {
            end = 0;
        }
        self.at += end;
        rest[..end].to_owned()
    }
}

fn is_name_part(character: char) -> bool {
    character.is_alphanumeric() || "_-.:".contains(character)
}
