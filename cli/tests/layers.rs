//! The line of crates and modules holds: each imports only what stands before it.
//!
//! `lib.rs` of every crate lists its modules bottom to top; this test reads the
//! lists and fails on an import that points upward, so the lists stay true.
//! Within a module, the files of a folder import each other in one direction: no
//! cycle, whether a path begins with `crate` or with `super`.

#[path = "layers/refusals.rs"]
mod refusals;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates, bottom to top. What stands beside the line may import all of it.
const LINE: [&str; 7] = ["format", "storage", "binlog", "sql", "replica", "server", "cli"];

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
    for krate in &LINE[..5] {
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

/// A module's path within its crate.
type ModulePath = Vec<String>;

/// The code of every module of a crate, without comments and tests, by its path.
fn sources(krate: &str) -> BTreeMap<ModulePath, String> {
    let source = root().join(krate).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let mut sources = BTreeMap::new();
    for file in files.into_iter().filter(|file| !file.ends_with("tests.rs")) {
        let inside = file.strip_prefix(&source).expect("a file of the crate").with_extension("");
        let mut path: ModulePath = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if ["mod", "lib", "main"].contains(&path.last().expect("a name").as_str()) {
            path.pop();
        }
        let text = fs::read_to_string(&file).expect("a source file");
        let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        let code: Vec<&str> = lines.map(|line| line.split("//").next().unwrap_or("")).collect();
        for parent in 0..path.len() {
            sources.entry(path[..parent].to_vec()).or_default();
        }
        sources.insert(path, code.join("\n"));
    }
    sources
}

/// The paths that a path of `use` names: one, or with braces several. What follows them is left in `rest`.
fn use_paths(rest: &mut &str) -> Vec<ModulePath> {
    let mut before = Vec::new();
    loop {
        *rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            *rest = inner;
            let mut paths: Vec<ModulePath> = Vec::new();
            loop {
                *rest = rest.trim_start().trim_start_matches(',').trim_start();
                if let Some(behind) = rest.strip_prefix('}') {
                    *rest = behind;
                    return paths;
                }
                let before_item = rest.len();
                paths.extend(use_paths(rest).into_iter().map(|path| before.iter().cloned().chain(path).collect()));
                if let Some(name) = rest.trim_start().strip_prefix("as ") {
                    *rest = name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
                }
                if rest.is_empty() || rest.len() == before_item {
                    return paths;
                }
            }
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 {
            return vec![before];
        }
        before.push(rest[..end].to_string());
        *rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(behind) => *rest = behind,
            None => return vec![before],
        }
    }
}

/// All paths in a module's code that begin with `crate` or `super`, as paths from the crate's root.
fn absolute_paths(module: &[String], code: &str) -> Vec<ModulePath> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let inside = |before: char| before.is_alphanumeric() || matches!(before, '_' | '$' | ':');
            if code[..at].ends_with(inside) {
                continue;
            }
            for path in use_paths(&mut &code[at..]) {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let (from, rest) = match ups {
                    0 => (&[][..], &path[1..]),
                    ups => (&module[..module.len().saturating_sub(ups)], &path[ups..]),
                };
                found.push(from.iter().chain(rest).cloned().collect());
            }
        }
    }
    found
}

/// Within each folder: which module imports which.
fn imports_within_folders(sources: &BTreeMap<ModulePath, String>) -> BTreeMap<ModulePath, BTreeSet<(String, String)>> {
    // What a folder's own file takes from its modules, others take from there.
    let mut taken_from: BTreeMap<ModulePath, ModulePath> = BTreeMap::new();
    for (module, code) in sources {
        for (at, _) in code.match_indices("use ") {
            let rest = &code[at + 4..];
            for path in use_paths(&mut rest.strip_prefix("self::").unwrap_or(rest)) {
                let from: ModulePath = module.iter().chain(&path[..1.min(path.len())]).cloned().collect();
                if path.len() > 1 && sources.contains_key(&from) {
                    let name = module.iter().chain(path.last()).cloned().collect();
                    taken_from.insert(name, from);
                }
            }
        }
    }
    let mut folders: BTreeMap<ModulePath, BTreeSet<(String, String)>> = BTreeMap::new();
    for (module, code) in sources {
        for path in absolute_paths(module, code) {
            let common = module.iter().zip(&path).take_while(|(one, other)| one == other).count();
            if common >= module.len() || common >= path.len() {
                continue;
            }
            let named = &path[..=common];
            let target = match sources.contains_key(named) {
                true => Some(named),
                false => taken_from.get(named).map(|target| &target[..=common]),
            };
            if let Some(target) = target.filter(|target| target[common] != module[common]) {
                let edge = (module[common].clone(), target[common].clone());
                folders.entry(module[..common].to_vec()).or_default().insert(edge);
            }
        }
    }
    folders
}

/// The sets of modules that reach each other.
fn cycles(imports: &BTreeSet<(String, String)>) -> Vec<Vec<String>> {
    let reach = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut ahead = vec![from];
        while let Some(at) = ahead.pop() {
            for (_, to) in imports.iter().filter(|(importer, _)| importer == at) {
                if reached.insert(to.clone()) {
                    ahead.push(to);
                }
            }
        }
        reached
    };
    let importers: BTreeSet<&String> = imports.iter().map(|(importer, _)| importer).collect();
    let reached: BTreeMap<&String, BTreeSet<String>> = importers.iter().map(|name| (*name, reach(name))).collect();
    let mut cycles: Vec<Vec<String>> = Vec::new();
    for (name, others) in &reached {
        if others.contains(*name) && !cycles.iter().any(|cycle| cycle.contains(name)) {
            let mutual = |other: &&String| reached.get(other).is_some_and(|back| back.contains(*name));
            cycles.push(others.iter().filter(mutual).cloned().collect());
        }
    }
    cycles
}

#[test]
fn the_files_of_a_folder_import_each_other_in_one_direction() {
    let mut found = BTreeSet::new();
    for krate in &LINE[..5] {
        for (folder, imports) in imports_within_folders(&sources(krate)) {
            // The modules of a crate have an order, which the test above checks.
            if !folder.is_empty() {
                found.extend(cycles(&imports).into_iter().map(|cycle| (krate.to_string(), folder.join("/"), cycle)));
            }
        }
    }
    assert!(found.is_empty(), "modules that import each other:\n{found:#?}");
}

#[test]
fn imports_are_found_in_every_form() {
    let module: ModulePath = ["row", "scan", "locking"].map(str::to_string).to_vec();
    let code =
        "use super::super::{entry::{Key, damaged as bad}, lock};\nuse crate::mtr::Mtr;\nlet x = super::Scan::new();";
    let mut paths: Vec<String> = absolute_paths(&module, code).iter().map(|path| path.join("::")).collect();
    paths.sort();
    assert_eq!(paths, ["mtr::Mtr", "row::entry::Key", "row::entry::damaged", "row::lock", "row::scan::Scan::new"]);
    let edge = |one: &str, other: &str| (one.to_string(), other.to_string());
    let tied = BTreeSet::from([edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("d", "a")]);
    assert_eq!(cycles(&tied), [["a", "b", "c"]]);
    assert!(cycles(&BTreeSet::from([edge("a", "b"), edge("d", "a")])).is_empty());
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
