//! An XML text as nodes.
//!
//! Nodes stand in the order of the text, so a sorted list of them is in document order. The reading keeps its own stack:
//! no nesting exhausts that of the thread.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Around everything.
    Root,
    Element,
    Attribute,
    Text,
}

pub struct Node {
    pub kind: Kind,
    /// Of an element or attribute.
    pub name: String,
    /// Of a text or attribute, without entities.
    pub text: String,
    pub parent: usize,
    /// Elements and texts, and attributes in front of them.
    pub children: Vec<usize>,
    /// Where it stands.
    pub source: Range<usize>,
}

pub struct Tree<'t> {
    text: &'t str,
    pub nodes: Vec<Node>,
}

/// Where reading ended, and why.
type Fault = (usize, String);

/// Tags and texts between two questions whether to give up.
const PIECES_BETWEEN: u32 = 4096;

impl<'t> Tree<'t> {
    /// Now and then it is asked whether to give up: then the fault is any.
    pub fn parse(text: &'t str, gives_up: &dyn Fn() -> bool) -> Result<Tree<'t>, Fault> {
        let mut tree = Tree { text, nodes: Vec::new() };
        tree.add(Kind::Root, String::new(), String::new(), 0, 0..text.len());
        let mut open = vec![0];
        let mut at = 0;
        let mut pieces = 0_u32;
        while at < text.len() {
            pieces = pieces.wrapping_add(1);
            if pieces.is_multiple_of(PIECES_BETWEEN) && gives_up() {
                return Err((at, String::new()));
            }
            let parent = open[open.len() - 1];
            let rest = &text[at..];
            let skip = |start: &str, end: &str| -> Option<Result<usize, Fault>> {
                let inside = rest.strip_prefix(start)?;
                let found = inside.find(end).map(|length| at + start.len() + length + end.len());
                Some(found.ok_or_else(|| unexpected_end(text, end)))
            };
            if let Some(end) = skip("<!--", "-->").or_else(|| skip("<?", "?>")) {
                at = end?;
            } else if let Some(end) = skip("<![CDATA[", "]]>") {
                let end = end?;
                tree.add(Kind::Text, String::new(), text[at + 9..end - 3].to_owned(), parent, at..end);
                at = end;
            } else if let Some(end) = skip("<!", ">") {
                at = end?;
            } else if let Some(rest) = rest.strip_prefix("</") {
                let name = name(rest);
                let end = at + 2 + name.len() + spaces(&rest[name.len()..]);
                let wanted = &tree.nodes[parent].name;
                if open.len() == 1 {
                    return Err((at, format!("'</{name}>' unexpected (END-OF-INPUT wanted)")));
                }
                if wanted != name {
                    return Err((at, format!("'</{name}>' unexpected ('</{wanted}>' wanted)")));
                }
                if !text[end..].starts_with('>') {
                    return Err(unexpected(text, end, ">"));
                }
                at = end + 1;
                tree.nodes[parent].source.end = at;
                open.pop();
            } else if rest.starts_with('<') {
                at = tree.start(at, parent, &mut open)?;
            } else {
                let end = at + rest.find('<').unwrap_or(rest.len());
                tree.add(Kind::Text, String::new(), unescaped(&text[at..end]), parent, at..end);
                at = end;
            }
        }
        match open.len() {
            1 => Ok(tree),
            _ => {
                let wanted = format!("</{}>", tree.nodes[open[open.len() - 1]].name);
                Err(unexpected_end(text, &wanted))
            }
        }
    }

    fn add(&mut self, kind: Kind, name: String, text: String, parent: usize, source: Range<usize>) -> usize {
        let number = self.nodes.len();
        self.nodes.push(Node { kind, name, text, parent, children: Vec::new(), source });
        if number > 0 {
            self.nodes[parent].children.push(number);
        }
        number
    }

    /// Reads the tag that an element begins with; returns what is behind it.
    fn start(&mut self, start: usize, parent: usize, open: &mut Vec<usize>) -> Result<usize, Fault> {
        let text = self.text;
        let tag = name(&text[start + 1..]);
        if tag.is_empty() {
            return Err(unexpected(text, start + 1, "identifier"));
        }
        let element = self.add(Kind::Element, tag.to_owned(), String::new(), parent, start..start);
        let mut at = start + 1 + tag.len();
        loop {
            at += spaces(&text[at..]);
            let rest = &text[at..];
            if rest.starts_with("/>") {
                self.nodes[element].source.end = at + 2;
                return Ok(at + 2);
            }
            if rest.starts_with('>') {
                open.push(element);
                return Ok(at + 1);
            }
            let attribute = name(rest);
            if attribute.is_empty() {
                return Err(if rest.is_empty() { unexpected_end(text, ">") } else { unexpected(text, at, ">") });
            }
            let begin = at;
            at += attribute.len();
            at += spaces(&text[at..]);
            let mut value = "";
            if text[at..].starts_with('=') {
                at += 1;
                at += spaces(&text[at..]);
                let rest = &text[at..];
                match rest.chars().next() {
                    Some(quote @ ('"' | '\'')) => {
                        let length = rest[1..].find(quote).ok_or_else(|| unexpected_end(text, "STRING"))?;
                        value = &rest[1..1 + length];
                        at += length + 2;
                    }
                    _ => {
                        value = name(rest);
                        if value.is_empty() {
                            return Err(unexpected(text, at, "STRING"));
                        }
                        at += value.len();
                    }
                }
            }
            self.add(Kind::Attribute, attribute.to_owned(), unescaped(value), element, begin..at);
        }
    }
}

fn unexpected_end(text: &str, wanted: &str) -> Fault {
    (text.len(), format!("unexpected END-OF-INPUT ('{wanted}' wanted)"))
}

fn unexpected(text: &str, at: usize, wanted: &str) -> Fault {
    let found = text[at..].chars().next().map_or("END-OF-INPUT".to_owned(), |found| found.to_string());
    (at, format!("'{found}' unexpected ('{wanted}' wanted)"))
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The name that a text begins with: none if that is a digit, a point or a hyphen.
fn name(text: &str) -> &str {
    let is_part = |character: char| character.is_alphanumeric() || "_-.:".contains(character);
    if text.starts_with(|first: char| first.is_ascii_digit() || "-.".contains(first)) {
        return "";
    }
    &text[..text.find(|character| !is_part(character)).unwrap_or(text.len())]
}

fn unescaped(text: &str) -> String {
    const ENTITIES: [(&str, &str); 5] =
        [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'")];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity)) {
            Some((entity, character)) => {
                out.push_str(character);
                rest = &rest[entity.len()..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
