//! Option files: where they lie, their groups and lines, and what they include.

use std::fs;
use std::path::{Path, PathBuf};

use super::{INCLUDE_DEPTH_MAX, Raw};

pub(super) fn default_files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/my.cnf"), PathBuf::from("/etc/mysql/my.cnf")];
    if let Some(home) = std::env::var_os("HOME") {
        files.push(Path::new(&home).join(".my.cnf"));
    }
    files
}

pub(super) fn read_file(
    path: &Path,
    groups: &[&str],
    depth: usize,
    raws: &mut Vec<Raw>,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    if depth > INCLUDE_DEPTH_MAX {
        return Err(format!("{}: !include goes too deep", path.display()));
    }
    let text = fs::read_to_string(path).map_err(|cause| format!("cannot read {}: {cause}", path.display()))?;
    let mut in_group = false;
    let mut has_group = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let here = || format!("{}:{}", path.display(), index + 1);
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            include(directive, path, groups, depth, raws, warnings).map_err(|cause| format!("{}: {cause}", here()))?;
        } else if let Some(group) = line.strip_prefix('[') {
            let group = group.split_once(']').map(|(group, _)| group.trim());
            let group = group.ok_or_else(|| format!("{}: group without ]", here()))?;
            in_group = groups.contains(&group);
            has_group = true;
        } else if !has_group {
            return Err(format!("{}: option before any group", here()));
        } else if in_group {
            let (name, value) = split_line(line);
            raws.push(Raw { name: name.to_owned(), value, source: here(), kind: "" });
        }
    }
    Ok(())
}

pub(super) fn include(
    directive: &str,
    from: &Path,
    groups: &[&str],
    depth: usize,
    raws: &mut Vec<Raw>,
    warnings: &mut Vec<String>,
) -> Result<(), String> {
    // Relative paths count from the file that names them.
    let resolve = |path: &str| from.parent().unwrap_or(Path::new(".")).join(path.trim());
    if let Some(directory) = directive.strip_prefix("includedir") {
        let directory = resolve(directory);
        let listing = match fs::read_dir(&directory) {
            Ok(listing) => listing,
            Err(cause) => {
                warnings.push(format!("cannot read directory {}: {cause}", directory.display()));
                return Ok(());
            }
        };
        let mut files: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "cnf" || extension == "ini"));
        files.sort();
        return files.iter().try_for_each(|file| read_file(file, groups, depth + 1, raws, warnings));
    }
    match directive.strip_prefix("include") {
        Some(file) => read_file(&resolve(file), groups, depth + 1, raws, warnings),
        None => Err(format!("unknown directive !{directive}")),
    }
}

/// `name`, `name=value`, `name = "value" # remark`.
fn split_line(line: &str) -> (&str, Option<String>) {
    match line.split_once('=') {
        None => (line.split(" #").next().unwrap_or(line).trim(), None),
        Some((name, value)) => (name.trim(), Some(unquote(value.trim()))),
    }
}

fn unquote(value: &str) -> String {
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let inner = match quote.and_then(|quote| value[1..].rfind(quote).map(|end| &value[1..1 + end])) {
        Some(inner) => inner,
        None => {
            // A remark begins at a # behind a space.
            let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
            value[..end].trim_end()
        }
    };
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some('\\') => text.push('\\'),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}
