//! Text in nested Rust modules.

use std::collections::BTreeMap;

/// A module: its own text, and the modules in it.
#[derive(Default)]
pub struct Tree {
    pub text: String,
    inner: BTreeMap<String, Tree>,
}

impl Tree {
    /// Returns the module at a path, which is made if necessary.
    pub fn at(&mut self, path: &[String]) -> &mut Tree {
        path.iter().fold(self, |tree, name| tree.inner.entry(name.clone()).or_default())
    }

    /// Writes the module's text and those in it, indented.
    pub fn write(&self, depth: usize, to: &mut String) {
        for line in self.text.lines() {
            let indent = if line.is_empty() { 0 } else { depth * 4 };
            to.push_str(&format!("{:indent$}{line}\n", ""));
        }
        for (name, tree) in &self.inner {
            let indent = depth * 4;
            let allowed = "#[allow(missing_docs, dead_code, clippy::all)]";
            to.push_str(&format!("\n{:indent$}{allowed}\n{:indent$}pub mod {name} {{\n", "", ""));
            tree.write(depth + 1, to);
            to.push_str(&format!("{:indent$}}}\n", ""));
        }
    }
}
