//! The line of crates and modules holds: each imports only what stands before it.
//!
//! `lib.rs` of every crate lists its modules bottom to top; this test reads the
//! lists and fails on an import that points upward, so the lists stay true.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates, bottom to top. What stands beside the line may import all of it.
const LINE: [&str; 5] = ["format", "storage", "sql", "server", "cli"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a source directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The modules named in a crate's `lib.rs`, in order.
fn modules(krate: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(krate).join("src/lib.rs")).expect("lib.rs");
    let names = text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_string)
    });
    names.collect()
}

/// The first path segments that follow `crate::` in a line of code; a comment has none.
fn imports(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or("");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let group = rest.strip_prefix('{').map_or(rest, |group| group.split('}').next().unwrap_or(""));
        let parts: Vec<&str> = if rest.starts_with('{') { group.split(',').collect() } else { vec![group] };
        for part in parts {
            let name: String = part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !name.is_empty() {
                found.push(name);
            }
        }
    }
    found
}

#[test]
fn modules_import_only_what_stands_below_them() {
    let mut upward = Vec::new();
    for krate in &LINE[..4] {
        let order = modules(krate);
        assert!(!order.is_empty(), "{krate}/src/lib.rs lists no modules");
        let source = root().join(krate).join("src");
        for (rank, module) in order.iter().enumerate() {
            let mut files = Vec::new();
            let folder = source.join(module);
            if folder.is_dir() {
                rust_files(&folder, &mut files);
            }
            let file = source.join(format!("{module}.rs"));
            if file.is_file() {
                files.push(file);
            }
            assert!(!files.is_empty(), "{krate}: module {module} has no file");
            // Tests may look up; those that fill a file of their own, too.
            for file in files.into_iter().filter(|file| !file.ends_with("tests.rs")) {
                let text = fs::read_to_string(&file).expect("a source file");
                for (number, line) in text.lines().enumerate() {
                    // Tests stand at the end of a file and may look up.
                    if line.trim() == "#[cfg(test)]" {
                        break;
                    }
                    for name in imports(line) {
                        if order.iter().position(|other| *other == name).is_some_and(|other| other > rank) {
                            upward.push(format!("{}:{}: {module} imports {name}", file.display(), number + 1));
                        }
                    }
                }
            }
        }
    }
    assert!(upward.is_empty(), "imports that point upward:\n{}", upward.join("\n"));
}

#[test]
fn crates_depend_only_on_those_below_them() {
    for (rank, krate) in LINE.iter().enumerate() {
        let manifest = fs::read_to_string(root().join(krate).join("Cargo.toml")).expect("Cargo.toml");
        for above in &LINE[rank + 1..] {
            let name = format!("{above}.workspace");
            assert!(!manifest.lines().any(|line| line.starts_with(&name)), "{krate} depends on {above}");
        }
        for beside in ["sim", "bench"] {
            assert!(!manifest.contains(&format!("path = \"../{beside}\"")), "{krate} depends on {beside}");
        }
    }
}
