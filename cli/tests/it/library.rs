//! The library `wprof-report` gives, byte for byte, what the command shows of the same profile.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use wprof::{Collect, Config, Engine, Module, PassSet, ProfilingConfig};
use wprof_profiler::{Comparison, Profile, order_tests, share_names, suspects};
use wprof_report::explain::{Stage, Tier};
use wprof_report::export::{Changes, Export, Format};
use wprof_report::html::{self, HtmlPage};
use wprof_report::page::{Page, Style};
use wprof_report::rank::{self, Runs};
use wprof_report::text::{self, ContextOptions, Order, ReportOptions};
use wprof_report::{Ownership, Program, Sources, View, annotate, diff, explain, export, hints, residual};

use super::residual::called;
use super::{Folder, command, program, wprof};

/// The layout of the command's output in these tests.
fn style() -> Style {
    let mut style = Style::default();
    style.width = 80;
    style
}

/// What `write` adds to a page.
fn page(write: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(style());
    write(&mut page);
    page.into_text()
}

/// A program with debug information that ran, its profile, and the files of both.
struct Ran {
    module: Module,
    code: Program,
    program: String,
    profile: Profile,
    file: String,
}

impl Ran {
    fn new(folder: &Folder, collect: &str, input: &str) -> Self {
        let (program, file) = (program("json"), folder.path(&format!("{collect}-{input}.wprof")));
        wprof(&["run", "-q", "--collect", collect, "-o", &file, &program, input, "1"]).succeeded();
        let engine = Engine::new(&Config::new()).expect("an engine");
        let module = Module::from_file(&engine, &program).expect("a module");
        let profile = Profile::read(Path::new(&file)).expect("a profile");
        let code = Program::from(&module);
        Self { module, code, program, profile, file }
    }

    /// As commands with the option `--library` see it.
    fn view<'a>(&'a self, ownership: &'a Ownership) -> View<'a> {
        View::new(&self.profile, Some(&self.code)).owned(ownership).at(Path::new(&self.program))
    }

    fn ownership(&self) -> Ownership {
        Ownership::new(Some(&self.code), Vec::new(), Vec::new())
    }
}

#[test]
fn reports_are_those_of_the_command() {
    let folder = Folder::new();
    let ran = Ran::new(&folder, "paths,cct,events=loads", "5");
    let (ownership, report) =
        (ran.ownership(), |args: &[&str]| wprof(&[&["report", &ran.file], args].concat()).succeeded());
    let view = ran.view(&ownership);
    let of = |options: &ReportOptions| page(|page| text::report(page, &view, options));
    let mut options = ReportOptions::default();
    let usual = of(&options);
    assert!(usual.contains("Hottest paths"), "{usual}");
    assert_eq!(usual, report(&[]));
    (options.top, options.order) = (3, Some(Order::Calls));
    assert_eq!(of(&options), report(&["--top", "3", "--sort", "calls"]));

    let of = |options: &ContextOptions| page(|page| text::contexts(page, &view, options).expect("contexts"));
    let mut options = ContextOptions::default();
    let usual = of(&options);
    assert_eq!(usual, report(&["--cct"]));
    (options.least, options.by) = (0.05, Some("loads".to_owned()));
    assert!(of(&options) != usual);
    assert_eq!(of(&options), report(&["--cct", "--least", "5", "--by", "loads"]));
    options.callers = Some("malloc".to_owned());
    assert_eq!(of(&options), report(&["--callers", "malloc", "--least", "5", "--by", "loads"]));

    (options.top, options.rows) = (2, Some(2));
    let short = of(&options);
    assert!(short.lines().count() < of(&ContextOptions::default()).lines().count(), "{short}");
    assert_eq!(short, report(&["--callers", "malloc", "--least", "5", "--by", "loads", "--top", "2"]));
    options.callers = None;
    assert_eq!(of(&options), report(&["--cct", "--least", "5", "--by", "loads", "--top", "2"]));

    let distribution = page(|page| text::distribution(page, &ran.profile).expect("paths"));
    assert_eq!(distribution, report(&["--distribution"]));
    let suite = Ran::new(&folder, "paths", "3");
    let interesting =
        page(|page| text::interesting(page, &view, &suite.profile, 4).expect("profiles of one module"));
    assert_eq!(interesting, report(&["--interesting", &suite.file, "--top", "4"]));
}

#[test]
fn names_are_as_full_as_the_options_say() {
    let folder = Folder::new();
    let mut profile = Ran::new(&folder, "edges,cct", "5").profile;
    // Without the module the names are those of the profile.
    profile.program = "gone.wasm".to_owned();
    profile.rename(|index, _| Some(format!("void std::vector<int, std::allocator<int>>::f{index}(int)")));
    let file = folder.path("named.wprof");
    profile.write(Path::new(&file)).expect("the folder can be written");
    let view = View::new(&profile, None);
    for (full_names, args) in [(false, &[][..]), (true, &["--full-names"])] {
        let mut style = style();
        style.full_names = full_names;
        let mut page = Page::new(style);
        text::report(&mut page, &view, &ReportOptions::default());
        let mut options = html::Options::default();
        options.full_names = full_names;
        let mut bytes = Vec::new();
        HtmlPage::new(&view, options).expect("a page").write(&mut bytes).expect("a vector grows");
        let mut options = export::Options::default();
        options.full_names = full_names;
        let folded = Export::new(profile.clone(), None, Format::Folded, options).expect("stacks");
        let mut stacks = Vec::new();
        folded.write(&mut stacks).expect("a vector grows");
        let wanted = if full_names {
            ";void std::vector<int, std::allocator<int>>::f"
        } else {
            ";std::vector<int>::f"
        };
        assert!(String::from_utf8_lossy(&stacks).contains(wanted), "{wanted}");
        let shows = |command: &[&str]| wprof(&[command, &[&file], args].concat()).succeeded();
        let text = page.into_text();
        assert_eq!(text.contains(" void std::vector<"), full_names, "{text}");
        assert_eq!(text, shows(&["report"]));
        assert!(bytes == shows(&["report", "--html", "-"]).into_bytes());
        assert!(stacks == shows(&["export", "--to", "folded"]).into_bytes());
    }
}

#[test]
fn pages_are_those_of_the_command() {
    let folder = Folder::new();
    let (before, after) = (Ran::new(&folder, "edges,cct", "3"), Ran::new(&folder, "edges,cct", "5"));
    let ownership = after.ownership();
    let html = |options| {
        let mut bytes = Vec::new();
        let page = HtmlPage::new(&after.view(&ownership), options).expect("a page");
        page.write(&mut bytes).expect("a vector grows");
        String::from_utf8(bytes).expect("UTF-8")
    };
    let options = || {
        let mut options = html::Options::default();
        options.sources = Sources::new(Path::new(&after.program));
        options
    };
    assert_eq!(html(options()), wprof(&["report", &after.file, "--html", "-"]).succeeded());
    let mut compared = options();
    compared.before = Some(before.profile.clone());
    let shown = wprof(&["report", &after.file, "--html", "-", "--diff", &before.file]).succeeded();
    assert_eq!(html(compared), shown);
}

#[test]
fn annotations_are_those_of_the_command() {
    let folder = Folder::new();
    let ran = Ran::new(&folder, "paths", "5");
    let view = View::new(&ran.profile, Some(&ran.code));
    let sources = || Sources::new(Path::new(&ran.program));
    let shown = page(|page| annotate::function(page, &view, "parse_value", sources()).expect("a function"));
    assert_eq!(shown, wprof(&["annotate", &ran.file, "parse_value"]).succeeded());
    let function = ran.profile.functions_by_ops()[0].0;
    let id = function.paths().expect("paths").finished[0].id;
    let asked = function.index.to_string();
    let shown = page(|page| annotate::path(page, &view, &asked, id, sources()).expect("a path"));
    assert_eq!(shown, wprof(&["annotate", &ran.file, &asked, "--path", &id.to_string()]).succeeded());
    let error =
        annotate::function(&mut Page::new(style()), &View::new(&ran.profile, None), "main", sources());
    assert!(error.unwrap_err().to_string().contains("without the module"));
}

#[test]
fn comparisons_are_those_of_the_command() {
    let folder = Folder::new();
    let (mut before, mut after) = (Ran::new(&folder, "edges", "3"), Ran::new(&folder, "edges", "5"));
    share_names(&mut before.profile, &mut after.profile);
    let comparison = Comparison::of_amounts(&before.profile, &after.profile);
    let view = View::new(&before.profile, Some(&before.code));
    let changes = page(|page| diff::changes(page, &comparison, (&view, &after.profile), 10));
    assert_eq!(changes, wprof(&["diff", &before.file, &after.file]).succeeded());
    let agree = page(|page| diff::overlap(page, &before.profile, &after.profile).expect("edges"));
    assert_eq!(agree, wprof(&["overlap", &before.file, &after.file]).succeeded());
    let options = export::Options::default();
    let changes = Changes::new(before.profile, after.profile, Some(&after.code), options).expect("changes");
    let mut image = Vec::new();
    changes.write(&mut image).expect("a vector grows");
    let args = ["export", "--to", "flamegraph", "--against", &before.file, &after.file];
    assert_eq!(String::from_utf8(image).expect("UTF-8"), wprof(&args).succeeded());
}

#[test]
fn paths_are_ranked_as_the_command_does() {
    let folder = Folder::new();
    let files = ["1", "2", "3"].map(|argument| called(&folder, argument));
    let profiles = files.each_ref().map(|file| Profile::read(Path::new(file)).expect("a profile"));
    let order = order_tests(&profiles).expect("one module");
    let tests = page(|page| rank::tests(page, &order, &files));
    assert_eq!(tests, wprof(&["rank", "--tests", &files[0], &files[1], &files[2]]).succeeded());
    let engine = Engine::new(&Config::new()).expect("an engine");
    let module = Module::from_file(&engine, folder.path("two.wat")).expect("a module");
    let code = Program::from(&module);
    let runs = Runs { failing: &profiles[2..], passing: &profiles[..2], program: Some(&code) };
    let found = suspects(runs.failing, runs.passing).expect("one module");
    let shown = page(|page| rank::suspects(page, &found, &runs, 10));
    let args = ["rank", "--failing", &files[2], "--passing", &files[0], &files[1]];
    assert_eq!(shown, wprof(&args).succeeded());
    let tested = &profiles[0];
    let untested = profiles[1].residual(tested).expect("paths");
    let view = View::new(&profiles[1], Some(&code));
    let shown = page(|page| residual::untested(page, &view, &untested, 10));
    let ran = command(&["residual", "--tested", &files[0], "--run", &files[1]]).output().expect("it starts");
    assert_eq!(shown, String::from_utf8(ran.stdout).expect("UTF-8"));
}

#[test]
fn exports_are_those_of_the_command() {
    let folder = Folder::new();
    let ran = Ran::new(&folder, "edges,cct", "5");
    let formats = [
        (Format::Folded, "folded"),
        (Format::Flamegraph, "flamegraph"),
        (Format::Speedscope, "speedscope"),
        (Format::Pprof, "pprof"),
        (Format::Firefox, "firefox"),
        (Format::Chrome, "chrome"),
        (Format::Cpuprofile, "cpuprofile"),
        (Format::Callgrind, "callgrind"),
        (Format::Lcov, "lcov"),
        (Format::Cobertura, "cobertura"),
        (Format::Csv, "csv"),
        (Format::Json, "json"),
    ];
    for (format, name) in formats {
        let mut options = export::Options::default();
        options.ownership = ran.ownership();
        let exported = Export::new(ran.profile.clone(), Some(&ran.code), format, options).expect(name);
        let mut bytes = Vec::new();
        exported.write(&mut bytes).expect("a vector grows");
        let file = folder.path(name);
        wprof(&["export", "--to", name, "-o", &file, &ran.file]).succeeded();
        assert!(bytes == fs::read(file).expect("a file"), "{name}");
    }
    let lines = Export::new(ran.profile.clone(), None, Format::Lcov, export::Options::default());
    assert!(lines.unwrap_err().to_string().contains("without the module"), "lines need the module");
}

#[test]
fn hints_are_those_of_the_command() {
    let folder = Folder::new();
    let ran = Ran::new(&folder, "edges,cct", "5");
    let mut options = hints::Options::default();
    options.all = true;
    let hinted = hints::write(&ran.module, &ran.profile, &options).expect("hints");
    let files = ["hinted.wasm", "order.txt", "auto.prof", "split.prof"].map(|name| folder.path(name));
    let [output, order, autofdo, split] = files.each_ref().map(String::as_str);
    let args = ["hints", &ran.program, &ran.file, "--all", "-o", output, "--order", order];
    let told = wprof(&[&args[..], &["--autofdo", autofdo, "--split", split]].concat());
    let lines: Vec<String> = hinted.sections.iter().map(ToString::to_string).collect();
    assert_eq!(told.err, format!("{}\n{}\n", lines.join("\n"), hinted.accuracy));
    let file = |path: &str| fs::read(path).expect("a file");
    assert!(hinted.bytes == file(output));
    assert!(hints::order(&ran.profile).into_bytes() == file(order));
    let mut bytes = Vec::new();
    let samples = hints::autofdo(&ran.module, &ran.profile).expect("lines");
    samples.write(&mut bytes).expect("a vector grows");
    assert!(bytes == file(autofdo));
    let bytes = hints::split(&ran.module, &file(&ran.program), &ran.profile).expect("functions");
    assert!(bytes == file(split));

    let again = Module::new(ran.module.engine(), &hinted.bytes).expect("a module");
    let error = hints::accuracy(&ran.module, &ran.profile).unwrap_err().to_string();
    assert!(error.contains("no branch hints"), "{error}");
    assert_eq!(hints::accuracy(&again, &ran.profile).expect("hints"), hinted.accuracy);
}

#[test]
fn functions_are_explained_as_the_command_does() {
    let folder = Folder::new();
    let ran = Ran::new(&folder, "edges", "5");
    let stages = [
        (Stage::Cfg, "cfg"),
        (Stage::Plan, "plan"),
        (Stage::Graph, "graph"),
        (Stage::Clif, "clif"),
        (Stage::Asm, "asm"),
    ];
    let tiers = [(Tier::Baseline, "baseline"), (Tier::Optimized, "optimized")];
    let kinds = [
        (ProfilingConfig::Off, ["--profile", "off"]),
        (ProfilingConfig::Exact(Collect::Edges), ["--collect", "edges"]),
        (ProfilingConfig::Exact(Collect::Paths), ["--collect", "paths"]),
    ];
    for (profiling, args) in kinds {
        let mut config = Config::new();
        config.profiling(profiling);
        let mut options = explain::Options::new(&config).expect("a configuration of engines");
        for ((stage, name), (tier, speed)) in
            stages.into_iter().flat_map(|stage| tiers.map(|tier| (stage, tier)))
        {
            (options.stage, options.tier) = (stage, tier);
            let text = explain::function(&ran.module, "parse_value", &options).expect("a function");
            let asked = ["explain", &ran.program, "parse_value", "--stage", name, "--tier", speed];
            assert_eq!(text, wprof(&[&asked[..], &args].concat()).succeeded(), "{name} {speed} {args:?}");
        }
    }
    let mut options = explain::Options::new(&Config::new()).expect("a configuration of engines");
    (options.stage, options.passes) = (Stage::Decisions, PassSet::default());
    let error = explain::function(&ran.module, "parse_value", &options).unwrap_err().to_string();
    assert_eq!(error, "decisions need a profile in which the function ran");
    options.profile = Some(Arc::new(ran.profile.clone()));
    let text = explain::function(&ran.module, "parse_value", &options).expect("decisions");
    let asked = ["explain", &ran.program, "parse_value", "--stage", "decisions", "--profile", "off"];
    assert_eq!(text, wprof(&[&asked[..], &["--profile-use", &ran.file]].concat()).succeeded());
}
