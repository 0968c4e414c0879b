//! Kinds of events as the command line names them: `events=instructions,fuel,energy.toml`.
//!
//! A cost model is a file like this one:
//!
//! ```toml
//! name = "energy"        # its name in reports; the file's name without .toml if missing
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
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use wprof_jit::events::{BUILT_IN, CustomModel, EventModel};

/// The maximum size of a cost model; names and costs of all instructions take less.
const MAX_FILE: u64 = 1 << 20;

/// The maximum number of kinds that are counted at once.
const MAX_KINDS: usize = 16;

/// Parses a list of kinds: built-in ones and files `*.toml`, separated by commas.
///
/// # Errors
/// Returns an error if a kind is unknown, a file is not a cost model, or two kinds have the same name.
pub fn parse_kinds(list: &str) -> Result<Vec<EventModel>> {
    let mut kinds: Vec<EventModel> = Vec::new();
    for item in list.split(',').map(str::trim) {
        let kind = kind(item)?;
        ensure!(
            kinds.iter().all(|known| known.name != kind.name),
            "two event kinds are called `{}`",
            kind.name
        );
        ensure!(kinds.len() < MAX_KINDS, "too many event kinds: at most {MAX_KINDS} can be counted at once");
        kinds.push(kind);
    }
    Ok(kinds)
}

fn kind(item: &str) -> Result<EventModel> {
    if let Some(kind) = EventModel::built_in(item) {
        return Ok(kind);
    }
    let path = Path::new(item);
    if path.extension().is_some_and(|extension| extension == "toml") {
        return read(path).with_context(|| format!("cost model {item}"));
    }
    bail!(
        "there is no event kind `{item}`: give a file such as costs.toml, or one of {}",
        BUILT_IN.join(", ")
    )
}

fn read(path: &Path) -> Result<EventModel> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MAX_FILE, "the file is larger than {} KiB", MAX_FILE >> 10);
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("the file is not UTF-8"))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    parse(&text, &stem)
}

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

/// Parses the model in `text`; its default name is `name`.
fn parse(text: &str, name: &str) -> Result<EventModel> {
    // The parser's message ends with a line break.
    let file: Definition =
        toml::from_str(text).map_err(|error| anyhow!("{}", error.to_string().trim_end()))?;
    Ok(EventModel::custom(&CustomModel {
        name: file.name.unwrap_or_else(|| name.to_owned()),
        default: file.default,
        entry: file.entry,
        back_edge: file.back_edge,
        cost: file.cost.into_iter().collect(),
        per_unit: file.per_unit.into_iter().collect(),
    })?)
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_kinds};

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
        format!("{:#}", parse(text, "file").expect_err("refused"))
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

    #[test]
    fn kinds_are_built_in_or_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("energy.toml");
        std::fs::write(&file, ENERGY).unwrap();
        let list = format!("instructions, fuel,{}", file.display());
        let names: Vec<_> = parse_kinds(&list).unwrap().into_iter().map(|kind| kind.name).collect();
        assert_eq!(names, ["instructions", "fuel", "energy"]);
    }

    #[test]
    fn unknown_and_repeated_kinds_are_refused() {
        let refusal = |list| format!("{:#}", parse_kinds(list).expect_err("refused"));
        assert!(refusal("fule").contains("one of instructions, loads"));
        assert!(refusal("").contains("no event kind"));
        assert_eq!(refusal("fuel,fuel"), "two event kinds are called `fuel`");
        assert!(refusal("/nowhere/costs.toml").starts_with("cost model /nowhere/costs.toml: "));
    }

    #[test]
    fn a_file_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("large.toml");
        std::fs::write(&file, vec![b'#'; super::MAX_FILE as usize + 1]).unwrap();
        assert!(format!("{:#}", super::read(&file).expect_err("refused")).contains("larger than 1024 KiB"));
    }
}
