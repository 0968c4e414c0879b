//! Profiles in the formats of other tools, with the names and source lines of their modules.
//!
//! The crate [`wprof::profiler::export`](wprof_profiler::export) has the formats themselves; here is what they hold for a
//! module: readable names, inlined functions, the program's own source files.

use std::io::{self, Write};
use std::path::Path;

use wprof_profiler::export::{
    self, CodeMap, Coverage, Differential, Metric, Samples, Unit, write_differential_flamegraph,
};
use wprof_profiler::{LineFigures, Profile};

use crate::error::{Result, bail, ensure};
use crate::ownership::Ownership;
use crate::program::Program;
use crate::render::contexts::column_of;
use crate::render::view::View;
use crate::render::{lines, runs, sample};
use crate::text::by_thread;
use crate::{code_map, names};

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One line per stack, for flamegraph.pl, inferno and similar tools.
    Folded,
    /// A flame graph: an SVG image for any browser.
    Flamegraph,
    /// For <https://www.speedscope.app>.
    Speedscope,
    /// For `go tool pprof` and everything else that reads it (gzipped).
    Pprof,
    /// For <https://profiler.firefox.com>.
    Firefox,
    /// Trace events for chrome://tracing and <https://ui.perfetto.dev>, with the time line.
    Chrome,
    /// V8's own, for the performance panels of Chromium and editors.
    Cpuprofile,
    /// For callgrind_annotate and KCachegrind, by instruction and line.
    Callgrind,
    /// Coverage of lines, functions and branches, for genhtml.
    Lcov,
    /// The same as Cobertura's XML, for CI.
    Cobertura,
    /// A table of functions.
    Csv,
    /// Everything in the profile, as one object.
    Json,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 12] = [
        Self::Folded,
        Self::Flamegraph,
        Self::Speedscope,
        Self::Pprof,
        Self::Firefox,
        Self::Chrome,
        Self::Cpuprofile,
        Self::Callgrind,
        Self::Lcov,
        Self::Cobertura,
        Self::Csv,
        Self::Json,
    ];

    /// Returns the name by which commands and other languages ask for the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Flamegraph => "flamegraph",
            Self::Speedscope => "speedscope",
            Self::Pprof => "pprof",
            Self::Firefox => "firefox",
            Self::Chrome => "chrome",
            Self::Cpuprofile => "cpuprofile",
            Self::Callgrind => "callgrind",
            Self::Lcov => "lcov",
            Self::Cobertura => "cobertura",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    /// Returns what the format is for, in a sentence without a full stop.
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Folded => "One line per stack, for flamegraph.pl, inferno and similar tools",
            Self::Flamegraph => "A flame graph: an SVG image for any browser",
            Self::Speedscope => "For https://www.speedscope.app",
            Self::Pprof => "For `go tool pprof` and everything else that reads it (gzipped)",
            Self::Firefox => "For https://profiler.firefox.com",
            Self::Chrome => {
                "Trace events for chrome://tracing and https://ui.perfetto.dev, with the time line"
            }
            Self::Cpuprofile => "V8's own, for the performance panels of Chromium and editors",
            Self::Callgrind => "For callgrind_annotate and KCachegrind, by instruction and line",
            Self::Lcov => "Coverage of lines, functions and branches, for genhtml",
            Self::Cobertura => "The same as Cobertura's XML, for CI",
            Self::Csv => "A table of functions",
            Self::Json => "Everything in the profile, as one object",
        }
    }

    /// Reports whether the format is about source lines, including those of functions that did not run, and so needs
    /// the module.
    pub fn is_of_lines(self) -> bool {
        matches!(self, Self::Lcov | Self::Cobertura)
    }

    /// Reports whether the format has threads of its own.
    pub fn has_threads(self) -> bool {
        matches!(self, Self::Speedscope | Self::Pprof | Self::Firefox | Self::Chrome)
    }

    /// Reports whether the format has room for one metric only.
    pub fn is_of_one_metric(self) -> bool {
        matches!(self, Self::Folded | Self::Flamegraph | Self::Cpuprofile)
    }

    /// Checks that a profile has the figures of the format: formats of lines need counts of all code.
    ///
    /// # Errors
    /// Returns an error if it has no such counts.
    pub fn check(self, profile: &Profile) -> Result<()> {
        if !self.is_of_lines() {
            return Ok(());
        }
        ensure!(
            profile.bursts.is_none() || profile.sampled().is_some_and(|rate| rate.counted >= rate.of),
            "a sample would show code as not covered that ran between bursts: count everything with `wprof run --exact`"
        );
        ensure!(
            !profile.functions.is_empty(),
            "the profile has no block counts: record one with `wprof run --collect edges`"
        );
        Ok(())
    }
}

/// The contents of a file in a [`Format`]. The default is all that the format has room for, weighed by time if it was sampled often
/// enough, else by instructions.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// In formats of one metric, the metric: `time` in nanoseconds, `instructions`, `calls`, or a kind of events.
    pub weight: Option<String>,
    /// In formats without threads, whether stacks begin with the thread that they are of.
    pub by_thread: bool,
    /// The ownership of source files: formats of lines leave out those of libraries, and in JSON the time of a library is that of
    /// the program's own line.
    pub ownership: Ownership,
    /// Whether names are shown in full.
    pub full_names: bool,
}

/// The number of source lines in JSON.
const LINES: usize = 100;

const EMPTY: &str =
    "the profile is empty: the program was too short to sample; count it with `wprof run --exact`";

/// A profile on its way into a file, with readable names and the code map of its module.
#[derive(Debug)]
pub struct Export {
    format: Format,
    profile: Profile,
    code: CodeMap,
    /// The hottest source lines, in JSON.
    lines: Vec<LineFigures>,
    /// The metric to show, in formats that show a single one.
    metric: Option<String>,
    options: Options,
}

impl Export {
    /// Prepares a profile; `program` must be the profile's. Without it there are no source lines, inlined functions and
    /// instructions.
    ///
    /// # Errors
    /// Returns an error if the format needs the module and there is none, if the profile lacks figures that the format or
    /// the options need, or if a function exceeds a limit of the compiler.
    pub fn new(
        profile: Profile,
        program: Option<&Program>,
        format: Format,
        options: Options,
    ) -> Result<Self> {
        format.check(&profile)?;
        if format == Format::Json {
            let view = View::new(&profile, program).owned(&options.ownership);
            let (code, lines) = (CodeMap::default(), lines::figures(&view, LINES));
            return Ok(Self { format, profile, code, lines, metric: None, options });
        }
        names::shown_in_full(options.full_names, || Self::with_names(profile, program, format, options))
    }

    fn with_names(
        mut profile: Profile,
        program: Option<&Program>,
        format: Format,
        options: Options,
    ) -> Result<Self> {
        let code = match (program, format.is_of_lines()) {
            (Some(program), true) => code_map::of_all_functions(program, &profile)?,
            (Some(program), false) => code_map::of_functions_that_ran(program, &profile)?,
            (None, true) => bail!("cannot show source lines without the module"),
            (None, false) => CodeMap::default(),
        };
        let code = CodeMap { full_names: names::full_names(&profile), ..code };
        names::show_all(&mut profile);
        match format.has_threads() {
            true => profile = profile.by_thread().unwrap_or(profile),
            false if options.by_thread => profile = by_thread(&profile)?,
            false => {}
        }
        let (metric, lines) = (options.weight.clone(), Vec::new());
        let mut exported = Self { format, profile, code, lines, metric, options };
        if format.is_of_one_metric() {
            exported.choose_metric()?;
        }
        Ok(exported)
    }

    fn choose_metric(&mut self) -> Result<()> {
        let weight = self.options.weight.as_deref();
        if self.samples().metric(weight).is_none() {
            self.metric = weight.map(|asked| column_of(asked).to_owned());
        }
        self.check_metric()?;
        if self.options.weight.is_none() && !self.profile.is_led_by_time() {
            let mut samples = self.samples();
            samples.metrics.retain(|metric| metric.name != "time");
            self.metric = samples.metric(None).map(|metric| metric.name.clone());
        }
        Ok(())
    }

    fn check_metric(&self) -> Result<()> {
        let samples = self.samples();
        if samples.metric(self.metric.as_deref()).is_some() {
            return Ok(());
        }
        let known: Vec<&str> = samples.metrics.iter().map(|metric| metric.name.as_str()).collect();
        match &self.metric {
            Some(asked) => bail!("the profile has no weight `{asked}`: give one of {}", known.join(", ")),
            None => bail!("{EMPTY}"),
        }
    }

    /// Reports whether the module has source lines.
    pub fn has_lines(&self) -> bool {
        !self.code.lines.is_empty()
    }

    /// Reports whether any source file is the program's own; only such files are in formats of lines.
    pub fn has_own_files(&self) -> bool {
        self.code.files.iter().any(|file| !self.options.ownership.is_library(file))
    }

    /// Returns what the reader of the file should know and the format has no room for: that weights are those of a sample.
    pub fn remark(&self) -> Option<String> {
        if self.format != Format::Folded {
            return None;
        }
        let samples = self.samples();
        let metric = samples.metric(self.metric.as_deref())?;
        let size = sample::size(metric.sampled?);
        Some(format!("{} are those of {size}, not scaled up", metric.name))
    }

    /// Writes the profile.
    ///
    /// # Errors
    /// Returns an error if `out` fails.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let Self { profile, code, .. } = self;
        let started = profile.runs.iter().map(|run| run.started).min().unwrap_or(0);
        match self.format {
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
            Format::Json => {
                profile.write_json_with_lines(&self.lines, &mut out)?;
                out.write_all(b"\n")
            }
        }
    }

    /// Returns the coverage of the program's own source files; readers cannot find those of libraries.
    fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::new(&self.profile, &self.code);
        coverage.files.retain(|file| !self.options.ownership.is_library(&file.path));
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

    fn samples(&self) -> Samples {
        Samples::new(&self.profile, &self.code)
    }

    /// Describes the program, when it first ran, and the size of the sample if the metric was counted in bursts only.
    fn about(&self, metric: &Metric) -> String {
        format!("{}{}", self.about_run(), sample::mark(metric.sampled))
    }

    /// Describes the program, and when it first ran.
    fn about_run(&self) -> String {
        let program = Path::new(&self.profile.program).file_name().unwrap_or_default().to_string_lossy();
        let started = self.profile.runs.iter().map(|run| run.started).filter(|&started| started > 0).min();
        started.map_or_else(|| program.to_string(), |started| format!("{program}, {}", runs::date(started)))
    }
}

/// The changes of a program since an earlier profile, as a flame graph whose colours tell them.
#[derive(Debug)]
pub struct Changes {
    found: Differential,
    about: String,
}

impl Changes {
    /// Compares a profile with an earlier one; `program` is that of the later one. A sample of another size is scaled. Stacks
    /// are matched by names, which [`share_names`](wprof_profiler::share_names) gives to the profile that has none.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`Export::new`], or if the earlier profile does not have the metric.
    pub fn new(before: Profile, after: Profile, program: Option<&Program>, options: Options) -> Result<Self> {
        let after = Export::new(after, program, Format::Flamegraph, options)?;
        names::shown_in_full(after.options.full_names, || Self::between(before, &after))
    }

    fn between(before: Profile, after: &Export) -> Result<Self> {
        let rate = |profile: &Profile| profile.sampled().map_or(1.0, |rate| rate.as_f64());
        let samples = after.samples();
        let Some(metric) = samples.metric(after.metric.as_deref()) else { bail!("{EMPTY}") };
        // Times are not scaled: a nanosecond is the same at any sampling rate.
        let scale = match metric.unit {
            Unit::Nanoseconds | Unit::Bytes => 1.0,
            Unit::Count => rate(&after.profile) / rate(&before).max(f64::MIN_POSITIVE),
        };
        let (code, options) = (CodeMap::default(), after.options.clone());
        let name = Some(metric.name.clone());
        let (format, lines) = (after.format, Vec::new());
        let mut before = Export { format, profile: before, code, lines, metric: name, options };
        names::show_all(&mut before.profile);
        before.check_metric()?;
        let samples_before = before.samples();
        let Some(metric_before) = samples_before.metric(Some(&metric.name)) else { bail!("{EMPTY}") };
        let found = Differential::new((&samples, metric), (&samples_before, metric_before), scale);
        let about = found.samples.metrics.first().map_or_else(String::new, |metric| after.about(metric));
        Ok(Self { found, about })
    }

    /// Writes the flame graph, an SVG image.
    ///
    /// # Errors
    /// Returns an error if `out` fails.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        write_differential_flamegraph(&self.found, &self.about, out)
    }
}

/// Writes a profile as JSON, in one line, without source lines.
///
/// # Errors
/// Returns an error if `out` fails.
pub fn write_json(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    profile.write_json(&mut out)?;
    out.write_all(b"\n")
}
