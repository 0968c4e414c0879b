//! The profile of a run and the costs of the kind `fuel` give the fuel that Wasmtime consumes.

use std::sync::Arc;

use wprof_jit::cfg;
use wprof_jit::events::{EventModel, block_events, bulk_sites, executed};
use wprof_jit::module::{self, ModuleInfo};
use wprof_profiler::{FunctionProfile, Profile};

use super::{Folder, wprof};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/programs");

/// Events of a function's executed instructions and entries; `None` if a bulk operation ran whose length counts.
fn function_events(info: &ModuleInfo, function: &FunctionProfile, model: &EventModel) -> Option<u64> {
    let cfg = cfg::build(info, function.index).expect("builds");
    let models = std::slice::from_ref(model);
    let counts = function.block_counts();
    if bulk_sites(info, &cfg, model).expect("reads").iter().any(|site| counts[site.block as usize] != 0) {
        return None;
    }
    let events = block_events(info, &cfg, models).expect("reads").remove(0);
    let whole: u64 = counts.iter().zip(&events).map(|(count, events)| count * events).sum();
    let cut = |exit: &wprof_profiler::UnfinishedExit| {
        let begun = executed(info, &cfg, exit.block.0, exit.offset, models).expect("reads")[0];
        exit.count * (events[exit.block.0 as usize] - begun)
    };
    Some(whole - function.exits.iter().map(cut).sum::<u64>() + function.calls() * model.entry)
}

fn program_events(folder: &Folder, program: &str, args: &str, model: &EventModel) -> Option<u64> {
    let (file, profile) = (format!("{PROGRAMS}/{program}"), folder.path("f.wprof"));
    let command = ["run", "-q", "-o", &profile, &file].into_iter().chain(args.split_whitespace());
    wprof(&command.collect::<Vec<_>>());
    let profile = Profile::read(std::path::Path::new(&profile)).expect("a profile");
    let bytes: Arc<[u8]> = std::fs::read(file).expect("the program").into();
    let info = module::parse(bytes).expect("valid");
    profile.functions.iter().map(|function| function_events(&info, function, model)).sum()
}

#[test]
fn the_fuel_of_programs_is_wasmtime_s() {
    let folder = Folder::new();
    let model = EventModel::built_in("fuel").expect("built in");
    let table = std::fs::read_to_string(format!("{PROGRAMS}/fuel.tsv")).expect("the record");
    let mut compared = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [program, args, _, fuel] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("bad line: {line}")
        };
        if let Some(events) = program_events(&folder, program, args, &model) {
            assert_eq!(events.to_string(), fuel, "{line}");
            compared += 1;
        }
    }
    println!("{compared} programs compared");
    assert!(compared >= 10, "{compared}");
}
