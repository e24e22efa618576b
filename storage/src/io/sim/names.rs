//! Names of a simulated disk: a flat list of paths, and what changes it.

use std::collections::{BTreeMap, BTreeSet};

use crate::io::parent;

/// The file of each path.
#[derive(Clone, Default)]
pub struct Names {
    pub files: BTreeMap<String, u64>,
    pub directories: BTreeSet<String>,
}

#[derive(Clone)]
pub enum NameChange {
    Link { path: String, file: u64 },
    Remove { path: String },
    Rename { from: String, to: String },
    MakeDirectory { path: String },
    RemoveDirectory { path: String },
}

impl Names {
    pub fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Link { path, file } => {
                self.files.insert(path.clone(), *file);
            }
            NameChange::Remove { path } => {
                self.files.remove(path);
            }
            NameChange::Rename { from, to } => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                }
            }
            NameChange::MakeDirectory { path } => {
                self.directories.insert(path.clone());
            }
            NameChange::RemoveDirectory { path } => {
                self.directories.remove(path);
            }
        }
    }

    pub fn has_directory(&self, path: &str) -> bool {
        path.is_empty() || self.directories.contains(path)
    }
}

impl NameChange {
    /// Whether syncing a directory makes this durable.
    pub fn concerns(&self, directory: &str) -> bool {
        match self {
            NameChange::Rename { from, to } => parent(from) == directory || parent(to) == directory,
            NameChange::Link { path, .. }
            | NameChange::Remove { path }
            | NameChange::MakeDirectory { path }
            | NameChange::RemoveDirectory { path } => parent(path) == directory,
        }
    }
}
