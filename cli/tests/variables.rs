//! Every variable works, or says that it does nothing when it is set: a variable whose name no code asks for is either
//! a fact that cannot be set, or inert.

use std::fs;
use std::path::Path;

use sql::variables;

/// Appends all sources below a directory, but for tests and the list of variables itself.
fn read(directory: &Path, out: &mut String) {
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !matches!(name, "list" | "tests") {
            read(&path, out);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).expect("a source");
            out.push_str(text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
        }
    }
}

#[test]
fn every_variable_works_or_says_that_it_does_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    for crate_name in ["storage", "binlog", "sql", "replica", "server", "cli"] {
        read(&root.join(crate_name).join("src"), &mut sources);
    }
    let mut obeyed = 0;
    for variable in variables::names().filter_map(variables::find) {
        let can_be_set = variable.dynamic || variable.option;
        let is_asked_for = sources.contains(&format!("\"{}\"", variable.name));
        obeyed += usize::from(can_be_set && is_asked_for && variable.no_effect.is_none());
        assert!(
            !can_be_set || is_asked_for || variable.no_effect.is_some(),
            "{} can be set, and nothing asks for it",
            variable.name
        );
    }
    assert!(obeyed > 150, "{obeyed} variables are obeyed");
}
