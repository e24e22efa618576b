//! What answers error 1235 is listed in `docs/refusals.md`, which is made of the places that answer it.
//!
//! ```text
//! Error::unsupported("GROUPS")                            GROUPS
//! Statement::Unsupported(format!("DROP {word}"))          DROP SERVER, DROP TABLESPACE: the words of `let known = [...]`
//! const UNSUPPORTED: &[&str] = &["master_gtid_wait"]      MASTER_GTID_WAIT
//! ```
//!
//! `UPDATE_DOCS=1 cargo test -p glassine --test layers` writes the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{root, rust_files};

/// Which part of the language a folder of sources answers for.
const PARTS: [(&str, &str); 8] = [
    ("sql/src/parser", "Statements and syntax"),
    ("sql/src/expression", "Expressions and functions"),
    ("sql/src/planner", "Queries and changes"),
    ("sql/src/executor", "Queries and changes"),
    ("sql/src/views", "Views"),
    ("sql/src/ddl", "Definitions"),
    ("sql/src/variables", "Variables"),
    ("", "Others"),
];

const HEAD: &str = "# What is refused

Each of these answers error 1235, `This version of Glassine doesn't yet support '...'`, and does nothing. The list is made of the places
in the sources that answer it (`cli/tests/layers/refusals.rs` keeps it true); `...` stands for a name of the statement.
";

/// The text literals that stand at the beginning of `code`, separated by commas and blanks.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    loop {
        while let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        let Some(text) = rest.strip_prefix('"') else { return found };
        let Some(end) = text.find('"') else { return found };
        found.push(text[..end].to_owned());
        rest = text[end + 1..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
}

/// A text with what `format!` puts in as dots, on one line.
fn plain(text: &str) -> String {
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    let text = lines.fold(first, |text, line| text + line.trim_start());
    let mut plain = String::new();
    let mut rest = &*text;
    while let Some((before, behind)) = rest.split_once('{') {
        plain.push_str(before);
        plain.push_str("...");
        rest = behind.split_once('}').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

/// What a file refuses.
fn refusals(code: &str, found: &mut BTreeSet<String>) {
    // Tests of a file stand at its end.
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    for (at, name) in code.match_indices("nsupported(") {
        let inside = code[at + name.len()..].trim_start();
        let inside = inside.strip_prefix("format!(").unwrap_or(inside);
        let Some(text) = literals(inside).into_iter().next() else { continue };
        let words = code[..at].rfind("let known = [").map(|known| (known, literals(&code[known + 13..])));
        match words {
            Some((known, words)) if text.ends_with("{word}") && !code[known..at].contains("\n    fn ") => {
                found.extend(words.iter().map(|word| text.replace("{word}", word)));
            }
            _ => drop(found.insert(plain(&text))),
        }
    }
    for (at, list) in code.match_indices("const UNSUPPORTED: &[&str] = &[") {
        found.extend(literals(&code[at + list.len()..]).iter().map(|name| name.to_uppercase()));
    }
}

fn list() -> String {
    let mut parts: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for krate in ["sql", "replica", "server"] {
        let mut files = Vec::new();
        rust_files(&root().join(krate).join("src"), &mut files);
        for file in files {
            let name = file.strip_prefix(root()).unwrap_or(&file).to_string_lossy().into_owned();
            let part = PARTS.iter().position(|(folder, _)| name.starts_with(folder)).unwrap_or(PARTS.len() - 1);
            // Several folders may be one part.
            let part = PARTS.iter().position(|(_, title)| *title == PARTS[part].1).unwrap_or(part);
            refusals(&fs::read_to_string(&file).expect("a source file"), parts.entry(part).or_default());
        }
    }
    let mut text = HEAD.to_owned();
    for (part, names) in parts.into_iter().filter(|(_, names)| !names.is_empty()) {
        text.push_str(&format!("\n## {}\n\n", PARTS[part].1));
        names.iter().for_each(|name| text.push_str(&format!("* {name}\n")));
    }
    text
}

#[test]
fn refusals_are_listed() {
    let file = root().join("docs/refusals.md");
    let list = list();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &list).expect("docs/refusals.md");
    }
    let written = fs::read_to_string(Path::new(&file)).unwrap_or_default();
    assert!(written == list, "docs/refusals.md is out of date: UPDATE_DOCS=1 cargo test -p glassine --test layers");
}

#[test]
fn refusals_are_found() {
    let mut found = BTreeSet::new();
    let code = "const UNSUPPORTED: &[&str] = &[\n    \"a\",\n    // Others.\n    \"b\",\n];\nreturn Err(Error::unsupported(\"X of Y\"));\n\
                Error::unsupported(what)\nlet known = [\"ONE\", \"TWO\"];\nStatement::Unsupported(format!(\"DROP {word}\"))\n\
                Error::unsupported(format!(\"SHOW {show:?} of\"))\n#[cfg(test)]\nError::unsupported(\"no\")";
    refusals(code, &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["A", "B", "DROP ONE", "DROP TWO", "SHOW ... of", "X of Y"]);
}
