//! No option is ignored without a word.

use super::{COUNT, Folder, wprof};

/// Commands with an option that would do nothing, and what is said of it: `GOOD` is an exact profile, `CONTEXTS` one
/// without counts of code, `M` their module.
const IDLE: [(&str, &str); 29] = [
    ("run --exact --profile-use GOOD M", "--profile-use controls optimization by a profile"),
    ("run --exact --prefetch M", "--prefetch controls optimization by a profile"),
    ("run --collect cct --without inlining M", "--without controls optimization by a profile"),
    ("run --profile off --prefetch M", "leave out --prefetch or --profile off, or add --profile-use"),
    ("run --profile off --profile-use CONTEXTS M", "contexts.wprof has no branch counts"),
    ("run --exact --path-table 128x4 M", "--path-table needs sampling"),
    ("run --collect edges --cache 16K,4,64 M", "add --collect cache, or leave out --cache"),
    ("run --collect cct,cache --energy 1,2,3 M", "add --collect energy, or leave out --energy"),
    ("run --profile adaptive --weights GOOD M", "add --collect edges, or leave out --weights"),
    ("run --collect cct --weights GOOD M", "add --collect edges, or leave out --weights"),
    ("run --eager --conservative M", "cannot be used with"),
    ("run --conservative --prefetch M", "cannot be used with"),
    ("compile --exact --profile-use GOOD -o OUT M", "--profile-use controls optimization by a profile"),
    ("report GOOD --json --top 3", "cannot be used with"),
    ("report GOOD --html OUT --top 3", "cannot be used with"),
    ("report GOOD --json --library x", "cannot be used with"),
    ("report GOOD --distribution --top 3", "cannot be used with"),
    ("report GOOD --distribution --least 5", "cannot be used with"),
    ("report GOOD --distribution --mine x", "cannot be used with"),
    ("report GOOD --interesting GOOD --least 5", "cannot be used with"),
    ("rank --tests GOOD --top 3", "cannot be used with"),
    ("rank --tests GOOD -m M", "cannot be used with"),
    ("export GOOD --to json --weight calls", "leave out --weight"),
    ("export GOOD --to json --by-thread", "leave out --by-thread"),
    ("export GOOD --to json --against GOOD", "only flame graphs have --against"),
    ("export GOOD --to json --library x", "leave out --library and --mine"),
    ("export GOOD --to folded --library x", "leave out --library and --mine"),
    ("export GOOD --to pprof --mine x", "leave out --library and --mine"),
    ("diff GOOD GOOD --json --top 3", "cannot be used with"),
];

#[test]
fn options_that_would_do_nothing_are_refused() {
    let folder = Folder::new();
    let (module, good, contexts) =
        (folder.file("count.wat", COUNT), folder.count_profile(), folder.path("contexts.wprof"));
    let run = ["run", "-q", "--collect", "cct,cycles", "-o", &contexts, "--invoke", "count", &module, "3"];
    wprof(&run).succeeded();
    for (command, said) in IDLE {
        let place = |word: &str| match word {
            "M" => module.clone(),
            "GOOD" => good.clone(),
            "CONTEXTS" => contexts.clone(),
            "OUT" => folder.path("out"),
            other => other.to_owned(),
        };
        let ran = wprof(&command.split(' ').map(place).collect::<Vec<_>>());
        assert!(ran.code.is_some_and(|code| code != 0) && ran.err.contains(said), "{command}: {ran:?}");
        assert!(!std::path::Path::new(&folder.path("out")).exists(), "{command}");
    }
}

#[test]
fn options_behind_the_module_are_told_also_short_ones() {
    let folder = Folder::new();
    let module = folder.file("main.wat", "(module (func (export \"_start\")))");
    let told = |args: &[&str]| wprof(args).err.lines().next().unwrap_or_default().to_owned();
    for option in ["-o", "-v", "--exact", "--burst=7:1"] {
        let said = told(&["run", &module, "x", option, "f"]);
        let expected = format!("wprof: {option} stands after the module, so it goes to the program");
        assert!(said.starts_with(&expected), "{option}: {said}");
    }
    for others in ["-x", "-", "-of", "--other", "o"] {
        let said = told(&["run", &module, others]);
        assert!(!said.contains("after the module"), "{others}: {said}");
    }
    let trace = folder.path("t.wtrace");
    let said = told(&["trace", "record", "-o", &trace, &module, "--max-size", "1M"]);
    assert!(said.contains("--max-size stands after the module"), "{said}");
}
