//! The list of modules in `lib.rs` is the order of the crate: a module imports only those listed before it.

use std::fs;
use std::path::Path;

/// The modules that a source text names by `crate::`.
fn imports(source: &str) -> Vec<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        for part in line.split("crate::").skip(1) {
            let name: String = part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            if !name.is_empty() {
                found.push(name);
            }
        }
    }
    found
}

/// Checks a file or folder; one that does not exist imports nothing.
fn check(path: &Path, allowed: &[String], all: &[String], wrong: &mut Vec<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            check(&entry.unwrap().path(), allowed, all, wrong);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let source = fs::read_to_string(path).unwrap_or_default();
        for name in imports(&source) {
            if all.contains(&name) && !allowed.contains(&name) {
                wrong.push(format!("{} imports {name}", path.display()));
            }
        }
    }
}

#[test]
fn modules_import_downward() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let lib = fs::read_to_string(source.join("lib.rs")).unwrap();
    let modules: Vec<String> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).map(str::to_owned).collect();
    assert!(modules.len() > 5);
    let mut wrong = Vec::new();
    for (place, module) in modules.iter().enumerate() {
        let allowed = &modules[..=place];
        check(&source.join(module), allowed, &modules, &mut wrong);
        check(&source.join(format!("{module}.rs")), allowed, &modules, &mut wrong);
    }
    assert!(wrong.is_empty(), "upward imports:\n{}", wrong.join("\n"));
}
