//! Kinds of events as the command line names them: `events=instructions,fuel,energy.toml`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use wprof::{BUILT_IN_EVENTS, EventModel};
use wprof_report::cost_model;

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
        BUILT_IN_EVENTS.join(", ")
    )
}

fn read(path: &Path) -> Result<EventModel> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MAX_FILE, "the file is larger than {} KiB", MAX_FILE >> 10);
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("the file is not UTF-8"))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(cost_model::parse(&text, &stem)?)
}

#[cfg(test)]
mod tests {
    use super::parse_kinds;

    #[test]
    fn kinds_are_built_in_or_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("energy.toml");
        std::fs::write(&file, "entry = 5").unwrap();
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
