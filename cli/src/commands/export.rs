//! `wprof export`: writes a profile for other tools.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum, ValueHint};
use wprof::Module;
use wprof_profiler::export::{self, CodeMap, Coverage, Differential, Metric, Samples, Unit};
use wprof_profiler::{Profile, share_names};
use wprof_report::ownership::Ownership;
use wprof_report::render::contexts::column_of;
use wprof_report::render::{runs, sample};
use wprof_report::{code_map, names};

use crate::modules::ModuleOption;
use crate::ownership::OwnershipArgs;
use crate::{modules, output, progress};

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One line per stack, for flamegraph.pl, inferno and similar tools
    Folded,
    /// A flame graph: an SVG image for any browser
    Flamegraph,
    /// For https://www.speedscope.app
    Speedscope,
    /// For `go tool pprof` and everything else that reads it (gzipped)
    Pprof,
    /// For https://profiler.firefox.com
    Firefox,
    /// Trace events for chrome://tracing and https://ui.perfetto.dev, with the time line
    Chrome,
    /// V8's own, for the performance panels of Chromium and editors
    Cpuprofile,
    /// For callgrind_annotate and KCachegrind, by instruction and line
    Callgrind,
    /// Coverage of lines, functions and branches, for genhtml
    Lcov,
    /// The same as Cobertura's XML, for CI
    Cobertura,
    /// A table of functions
    Csv,
    /// Everything in the profile, as one object
    Json,
}

impl Format {
    /// Reports whether the format is about source lines, including those of functions that did not run.
    fn is_of_lines(self) -> bool {
        matches!(self, Self::Lcov | Self::Cobertura)
    }

    /// Reports whether the format has threads of its own.
    fn has_threads(self) -> bool {
        matches!(self, Self::Speedscope | Self::Pprof | Self::Firefox | Self::Chrome)
    }

    /// Reports whether the format has room for one metric only.
    fn is_of_one_metric(self) -> bool {
        matches!(self, Self::Folded | Self::Flamegraph | Self::Cpuprofile)
    }
}

const EXAMPLES: &str = "\
Examples:
  wprof export --to flamegraph -o f.svg f.wprof
  wprof export --to pprof -o f.pb.gz f.wprof && go tool pprof -top f.pb.gz
  wprof export --to lcov -o f.info f.wprof && genhtml -o html f.info";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Stacks of time are those that were sampled; other stacks are calling contexts if the profile has them \
(`--collect cct`), and figures that are known by function only get stacks of one function. lcov and cobertura need the module with debug information, and cover your own source files; `--mine '*'` adds those of libraries. \
The book lists what each format keeps and loses (docs/src/how-to/exports.md).

{EXAMPLES}

More examples:
  wprof run --collect edges,cct -o f.wprof json.wasm 20 2    calling contexts for the stacks
  wprof export --to flamegraph --against before.wprof -o changes.svg after.wprof
  wprof export --to flamegraph --weight fuel -o fuel.svg f.wprof    of --collect cct,events=fuel
  wprof export --to folded --weight instructions f.wprof | sort -k2 -n
  wprof export --to callgrind -o callgrind.out f.wprof && callgrind_annotate callgrind.out
  wprof export --to json f.wprof | jq '.functions[] | [.name, .ops]'"))]
pub struct ExportArgs {
    /// Choose the format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// The profile
    #[arg(value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    profile: PathBuf,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Folded stacks and flame graphs only: weigh stacks by time (in nanoseconds), instructions, calls or an event kind
    /// [default: time if it was sampled often enough, else instructions]
    #[arg(short, long, value_name = "METRIC")]
    weight: Option<String>,
    /// Folded stacks, flame graphs and cpuprofile only: begin stacks with the thread that they are of
    ///
    /// In other formats with stacks each thread of a program is a thread, or has its name as a label.
    #[arg(long, conflicts_with = "against")]
    by_thread: bool,
    /// Flame graphs only: colour frames by what changed since an earlier profile
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    against: Option<PathBuf>,
    #[command(flatten)]
    ownership: OwnershipArgs,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &ExportArgs) -> Result<()> {
    let mut profile = super::read_profile(&args.profile)?;
    if args.to == Format::Json {
        return write_to(&args.output, |out| write_json(&profile, out));
    }
    ensure!(
        args.weight.is_none() || args.to.is_of_one_metric(),
        "this format contains all metrics: leave out --weight"
    );
    ensure!(
        !args.by_thread || args.to.is_of_one_metric() || args.to.has_threads(),
        "this format has no stacks that could begin with threads: leave out --by-thread"
    );
    ensure!(
        args.against.is_none() || args.to == Format::Flamegraph,
        "--against needs --to flamegraph: give that, or use `wprof diff`"
    );
    let mut before = args.against.as_deref().map(super::read_profile).transpose()?;
    if let Some(before) = &mut before {
        share_names(before, &mut profile);
    }
    let exported = Exported::new(profile, args)?;
    if let Some(before) = before {
        let changes = exported.changes_since(before)?;
        let about = changes.samples.metrics.first().map_or_else(String::new, |metric| exported.about(metric));
        return write_to(&args.output, |out| export::write_differential_flamegraph(&changes, &about, out));
    }
    let write = || write_to(&args.output, |out| exported.write(args.to, out));
    if is_output(&args.output) { write() } else { progress::during("exporting the profile", write) }
}

/// Writes a profile as JSON.
pub fn write_json(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    profile.write_json(&mut out)?;
    out.write_all(b"\n")
}

/// Writes a file, or standard output for the path `-`.
pub fn write_to(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_output(path) {
        return output::print_with(write);
    }
    output::write_file(path, write)
}

/// Reports whether a path stands for standard output.
fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}

const EMPTY: &str =
    "the profile is empty: the program was too short to sample; count it with `wprof run --exact`";

/// A profile with readable names, and the code map of its module.
struct Exported {
    profile: Profile,
    code: CodeMap,
    /// The owners of source files, for formats of lines.
    ownership: Ownership,
    /// The metric to show, in formats that show a single one.
    metric: Option<String>,
}

impl Exported {
    /// # Errors
    /// Returns an error if the format needs a module that is missing, or figures that the profile does not have.
    fn new(mut profile: Profile, args: &ExportArgs) -> Result<Self> {
        let (code, ownership) = code(&mut profile, args)?;
        let code = CodeMap { full_names: names::full_names(&profile), ..code };
        names::show_all(&mut profile);
        match args.to.has_threads() {
            true => profile = profile.by_thread().unwrap_or(profile),
            false if args.by_thread => profile = super::by_thread(&profile)?,
            false => {}
        }
        let mut exported = Self { profile, code, ownership, metric: args.weight.clone() };
        if args.to.is_of_one_metric() {
            if exported.samples().metric(args.weight.as_deref()).is_none() {
                exported.metric = args.weight.as_deref().map(|asked| column_of(asked).to_owned());
            }
            exported.check_metric()?;
            if args.weight.is_none() && !exported.profile.is_led_by_time() {
                let all = exported.samples().metrics;
                exported.metric = all.into_iter().map(|metric| metric.name).find(|name| name != "time");
            }
        }
        Ok(exported)
    }

    fn check_metric(&self) -> Result<()> {
        let samples = self.samples();
        if samples.metric(self.metric.as_deref()).is_some() {
            return Ok(());
        }
        let known: Vec<&str> = samples.metrics.iter().map(|metric| metric.name.as_str()).collect();
        match &self.metric {
            Some(asked) => bail!("the profile has no weight `{asked}`: give one of {}", known.join(", ")),
            None => bail!(EMPTY),
        }
    }

    /// Returns the changes since an earlier profile. A sample of another size is scaled.
    ///
    /// # Errors
    /// Returns an error if the earlier profile does not have the metric.
    fn changes_since(&self, before: Profile) -> Result<Differential> {
        let rate = |profile: &Profile| profile.sampled().map_or(1.0, |rate| rate.as_f64());
        let (samples, code) = (self.samples(), CodeMap::default());
        let Some(metric) = samples.metric(self.metric.as_deref()) else { bail!(EMPTY) };
        // Times are not scaled: a nanosecond is the same at any sampling rate.
        let scale = match metric.unit {
            Unit::Nanoseconds | Unit::Bytes => 1.0,
            Unit::Count => rate(&self.profile) / rate(&before).max(f64::MIN_POSITIVE),
        };
        let ownership = Ownership::default();
        let mut before = Self { profile: before, code, ownership, metric: Some(metric.name.clone()) };
        names::show_all(&mut before.profile);
        before.check_metric()?;
        let samples_before = before.samples();
        let Some(metric_before) = samples_before.metric(Some(&metric.name)) else { bail!(EMPTY) };
        Ok(Differential::new((&samples, metric), (&samples_before, metric_before), scale))
    }

    fn samples(&self) -> Samples {
        Samples::new(&self.profile, &self.code)
    }

    /// Describes the program, when it first ran, and the size of the sample if the metric was counted in bursts only.
    fn about(&self, metric: &Metric) -> String {
        // Events are counted in all of the run.
        let is_event = self.profile.events.iter().any(|event| event.name == metric.name);
        let rate = self.profile.sampled().filter(|_| metric.unit == Unit::Count && !is_event);
        format!("{}{}", self.about_run(), sample::mark(rate))
    }

    /// Describes the program, and when it first ran.
    fn about_run(&self) -> String {
        let program = Path::new(&self.profile.program).file_name().unwrap_or_default().to_string_lossy();
        let started = self.profile.runs.iter().map(|run| run.started).filter(|&started| started > 0).min();
        started.map_or_else(|| program.to_string(), |started| format!("{program}, {}", runs::date(started)))
    }

    fn write(&self, format: Format, mut out: impl Write) -> io::Result<()> {
        let Self { profile, code, .. } = self;
        let started = profile.runs.iter().map(|run| run.started).min().unwrap_or(0);
        match format {
            Format::Folded => self.write_metric(out, export::write_folded),
            Format::Flamegraph => self.write_metric(out, |samples, metric, out| {
                export::write_flamegraph(samples, metric, &self.about(metric), out)
            }),
            Format::Speedscope => export::write_speedscope(&self.samples(), &profile.program, out),
            Format::Pprof => export::write_pprof(&Samples::by_line(profile, code), profile, out),
            Format::Firefox => export::write_firefox(&self.samples(), started, out),
            Format::Chrome => export::write_chrome(&self.samples(), profile.timeline.as_ref(), out),
            Format::Cpuprofile => self.write_metric(out, export::write_cpuprofile),
            Format::Callgrind => export::write_callgrind(profile, code, &mut out),
            Format::Lcov => export::write_lcov(&self.coverage(), out),
            Format::Cobertura => export::write_cobertura(&self.coverage(), started, out),
            Format::Csv => export::write_csv(profile, code, out),
            Format::Json => write_json(profile, out),
        }
    }

    /// Returns the coverage of the program's own source files; readers cannot find those of libraries.
    fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::new(&self.profile, &self.code);
        coverage.files.retain(|file| !self.ownership.is_library(&file.path));
        coverage
    }

    fn write_metric<W: Write>(
        &self,
        out: W,
        write: impl FnOnce(&Samples, &Metric, W) -> io::Result<()>,
    ) -> io::Result<()> {
        let samples = self.samples();
        samples.metric(self.metric.as_deref()).map_or(Ok(()), |metric| write(&samples, metric, out))
    }
}

/// Returns the module's code map; an empty one if the module is missing and the format does not need it.
fn code(profile: &mut Profile, args: &ExportArgs) -> Result<(CodeMap, Ownership)> {
    if !args.to.is_of_lines() {
        let module = args.module.at_hand(profile, &args.profile)?;
        let code = |module: &Module| code_map::of_functions_that_ran(module, profile);
        let code = module.as_ref().map_or_else(|| Ok(CodeMap::default()), code)?;
        return Ok((code, Ownership::default()));
    }
    ensure!(
        profile.bursts.is_none() || profile.sampled().is_some_and(|rate| rate.counted >= rate.of),
        "this is a sample, and what it did not see would stand there as not covered: count everything with `wprof run --exact`"
    );
    ensure!(
        !profile.functions.is_empty(),
        "the profile has no counts of code: record one with `wprof run --collect edges`"
    );
    let module = args.module.needed(profile, &args.profile)?;
    let code = code_map::of_all_functions(&module, profile)?;
    ensure!(
        !code.lines.is_empty(),
        "{} has no source lines: {}",
        args.module.path(profile, &args.profile).display(),
        modules::missing_debug_info(&module).unwrap_or_else(|| "build it with debug information".to_owned())
    );
    let ownership = args.ownership.resolve(Some(&module));
    ensure!(
        code.files.iter().any(|file| !ownership.is_library(file)),
        "all source files are of libraries: say with --mine GLOB which ones are yours"
    );
    Ok((code, ownership))
}
