//! Playing a folder of scripts, and saying where they answer something else than they did.

use std::fs;
use std::path::Path;

/// What a script answered.
#[derive(Default)]
pub struct Played {
    /// The script as it would have to be.
    written: String,
    differences: Vec<String>,
}

impl Played {
    /// Notes a step: the comments before it, what was told, and what was answered beside what the script says.
    pub fn step(&mut self, comments: &[String], told: &str, answered: &[String], expected: &[String]) {
        let lines = comments.iter().map(String::as_str).chain([told]).chain(answered.iter().map(String::as_str));
        for line in lines {
            self.written.push_str(line);
            self.written.push('\n');
        }
        if answered != expected {
            let (expected, answered) = (expected.join("\n    "), answered.join("\n    "));
            self.differences.push(format!("{told}\n  expected\n    {expected}\n  but got\n    {answered}"));
        }
    }
}

/// Plays all scripts of a folder of `tests`, given to `play` by name and text; the one that SCRIPT names; writes the answers
/// into them if UPDATE_SCRIPTS is set.
pub fn folder(folder: &str, play: impl Fn(&str, &str) -> Played) {
    let update = std::env::var_os("UPDATE_SCRIPTS").is_some();
    let only = std::env::var("SCRIPT").ok();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = fs::read_dir(directory).expect("scripts");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let (mut played_any, mut failed) = (false, Vec::new());
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "test")) {
        let name = path.file_stem().expect("a name").to_string_lossy();
        if only.as_ref().is_some_and(|only| *only != *name) {
            continue;
        }
        played_any = true;
        let played = play(&name, &fs::read_to_string(path).expect("a script"));
        if update {
            fs::write(path, played.written).expect("the script is written");
        } else {
            failed.extend(played.differences.iter().map(|difference| format!("{name}.test: {difference}")));
        }
    }
    assert!(played_any || only.is_some(), "there are scripts in {folder}");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
