//! Cost models: kinds of events of one's own, as files have them.
//!
//! A cost model is a text like this one:
//!
//! ```toml
//! name = "energy"        # its name in reports; for a file without it, the file's name without .toml
//! default = 1            # events of an instruction that has no cost below; 0 if missing
//! entry = 5              # events of each function entry; 0 if missing
//! back_edge = 2          # events of each iteration of a loop but the first; 0 if missing
//!
//! [cost]                 # events of instructions, by name
//! "i32.load" = 3
//! "f64.*" = 4            # all names with this prefix; the most specific entry decides
//! call = 10
//!
//! [per_unit]             # events of each byte, page or element of a bulk operation
//! "memory.copy" = 1
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use wprof::{CustomModel, EventModel};

use crate::error::{Error, Result};

/// The contents of a cost model's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    name: Option<String>,
    #[serde(default)]
    default: u64,
    #[serde(default)]
    entry: u64,
    #[serde(default)]
    back_edge: u64,
    #[serde(default)]
    cost: BTreeMap<String, u64>,
    #[serde(default)]
    per_unit: BTreeMap<String, u64>,
}

/// Parses the model in `text`; its default name is `name`. [`Config::count_events`](wprof::Config::count_events) takes it.
///
/// # Errors
/// Returns an error if the text is not a cost model, names an unknown instruction, or has the name of a built-in kind.
pub fn parse(text: &str, name: &str) -> Result<EventModel> {
    // The parser's message ends with a line break.
    let file: Definition = toml::from_str(text).map_err(|error| Error::new(error.to_string().trim_end()))?;
    let model = EventModel::custom(&CustomModel {
        name: file.name.unwrap_or_else(|| name.to_owned()),
        default: file.default,
        entry: file.entry,
        back_edge: file.back_edge,
        cost: file.cost.into_iter().collect(),
        per_unit: file.per_unit.into_iter().collect(),
    });
    model.map_err(|error| Error::new(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    const ENERGY: &str = r#"
        default = 1
        entry = 5
        [cost]
        "i32.load" = 3
        "f64.*" = 4
        call = 10
        [per_unit]
        "memory.*" = 2
    "#;

    fn refusal(text: &str) -> String {
        parse(text, "file").expect_err("refused").to_string()
    }

    #[test]
    fn a_file_gives_costs_by_name_and_pattern() {
        let model = parse(ENERGY, "energy").unwrap();
        assert_eq!((model.name.as_str(), model.entry, model.back_edge), ("energy", 5, 0));
        let costs = ["i32.load", "f64.add", "call", "nop", "block"].map(|name| model.cost_named(name));
        assert_eq!(costs, [Some(3), Some(4), Some(10), Some(1), Some(0)]);
        assert!(model.charges_lengths());
        assert_eq!(parse("name = 'other'", "energy").unwrap().name, "other");
    }

    #[test]
    fn mistakes_in_a_file_are_named() {
        for (text, part) in [
            ("[cost]\n'i32.laod' = 1", "`i32.load`"),
            ("[cost]\n'nop' = -1", "expected u64"),
            ("[cost]\n'nop' = 1\n'nop' = 2", "duplicate key"),
            ("costs = 1", "unknown field `costs`"),
            ("[cost", "line 1"),
            ("name = 'fuel'", "`fuel` is a built-in kind"),
            ("[per_unit]\n'i32.add' = 1", "`i32.add` has no length"),
        ] {
            assert!(refusal(text).contains(part), "{text}: {}", refusal(text));
        }
    }
}
