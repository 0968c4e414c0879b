//! `wprof collect`: creates profiles from the counters of instrumented modules.

mod browser;
mod listen;
mod node;
mod signals;
mod traces;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, ValueHint};
use wprof_instrument::{RawCounters, Source, read};
use wprof_profiler::{Profile, Run};
use wprof_report::page::Page;
use wprof_report::text;
use wprof_report::{Program, View};

use super::instrument::{RewriteArgs, binary};
use super::web::site::ReceivedCounters;
use crate::help;
use crate::screen::{ColorChoice, screen};
use crate::{modules, output};

const EXAMPLES: &str = "\
Examples:
  wprof collect -o f.wprof -- node app.js        rewrite what app.js loads, run it, and profile it
  wprof collect -o f.wprof --browser test.html   the same with a page in Chromium
  wprof collect --trace -o f.wtrace -- node app.js   keep the sequence of blocks instead
  wprof collect -m app.wasm -o f.wprof *.counters
  wprof collect -m app.wasm -o f.wprof --listen 127.0.0.1:8000";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Counters come from files that the JavaScript of `wprof instrument --js` wrote, from the network, or from a \
program that wprof starts. The result is a profile of the original module, as `wprof run --exact` takes it; \
`wprof report`, `wprof view`, `wprof annotate` and `wprof export` read it. Counts of several instances of one \
module are added up.

A command after `--` runs under Node, or starts Node. wprof instruments each WebAssembly module that it loads, \
also in workers. The exit code is the command's. If several modules ran, each gets a profile: the module that \
executed most gets the name of -o, the others that name with a number. Each module is written beside its \
profile.

--browser serves the folder of a page, or that of --root, and opens the page in Chromium. It ends when the \
page's modules have counted nothing new for five seconds, when the page calls wprof.done(), or after \
--timeout; with --head, when the window is closed. wprof serve does the same for any browser.

--listen waits until Ctrl-C for the counters of pages that have loaded wprof.js from this address.

With --trace, wprof writes each instance's trace to the file of -o, or to numbered files beside it, for wprof \
trace.

{EXAMPLES}"))]
pub struct CollectArgs {
    /// The module that was instrumented; may be repeated
    #[arg(short, long = "module", value_name = "MODULE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = help::INPUT, required_unless_present_any = ["command", "browser"])]
    modules: Vec<PathBuf>,
    /// Wait for counters at this address; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = help::INPUT, conflicts_with = "counters")]
    listen: Option<SocketAddr>,
    /// Open this page in Chromium, and profile what it runs
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    #[arg(conflicts_with_all = ["counters", "listen", "modules", "command"])]
    browser: Option<PathBuf>,
    /// Serve this folder instead of the page's own
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = help::INPUT)]
    #[arg(requires = "browser", hide_short_help = true)]
    root: Option<PathBuf>,
    /// Show the browser's window, and continue until it is closed
    #[arg(long, help_heading = help::INPUT, requires = "browser", hide_short_help = true)]
    head: bool,
    /// End after this many seconds, whatever the page does
    #[arg(long, value_name = "SECONDS", default_value_t = 60, help_heading = help::LIMITS)]
    #[arg(hide_short_help = true)]
    timeout: u64,
    #[command(flatten)]
    rewrite: RewriteArgs,
    /// Write the profile to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: Option<PathBuf>,
    /// Print no summary
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
    /// Files with counters
    #[arg(value_name = "COUNTERS", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present_any = ["listen", "command", "browser"], conflicts_with = "command")]
    counters: Vec<PathBuf>,
    /// The command that runs the program
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["listen", "modules"])]
    command: Vec<String>,
}

/// Counters, and the sender of each.
type Counters = Vec<(String, RawCounters)>;

pub fn execute(args: &CollectArgs, color: ColorChoice) -> Result<ExitCode> {
    ensure!(!args.rewrite.is_trace() || args.output.is_some(), "a trace needs a file: give -o FILE.wtrace");
    if !args.command.is_empty() {
        return of_command(args, color);
    }
    ensure!(
        args.listen.is_none() || args.output.is_some() || !args.quiet,
        "nothing would read the counts: give -o FILE, or leave out --quiet"
    );
    if let Some(page) = &args.browser {
        return of_page(args, page, color);
    }
    let originals = originals(&args.modules)?;
    let counters = match args.listen {
        Some(address) => listen::until_interrupted(address)?,
        None => args.counters.iter().map(|path| from_file(path)).collect::<Result<Counters>>()?,
    };
    let (counted, traced) = traces::split(&counters)?;
    let profiles = profiles(&originals, &counted, &run(Vec::new()))?;
    finish((args.output.as_deref(), args.quiet), &profiles, color)?;
    traces::write(&originals, &traced, args.output.as_deref(), false)?;
    Ok(ExitCode::SUCCESS)
}

fn of_page(args: &CollectArgs, page: &Path, color: ColorChoice) -> Result<ExitCode> {
    let timeout = Duration::from_secs(args.timeout);
    let visit = browser::Visit { page, root: args.root.as_deref(), head: args.head, timeout };
    let (started, clock) = (SystemTime::now(), Instant::now());
    args.rewrite.check()?;
    let taken = browser::visit(visit, &args.rewrite)?;
    let mut gathered = Gathered::of_site(taken, &page.display().to_string())?;
    gathered.run.wall_ns = Some(u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX));
    gathered.run.started = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if !gathered.conclude(args.output.as_deref(), args.quiet, color)? {
        output::tell_line(format_args!("wprof: {NOTHING}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn of_command(args: &CollectArgs, color: ColorChoice) -> Result<ExitCode> {
    args.rewrite.check()?;
    let ended = node::run(&args.command, &args.rewrite.to_args())?;
    let originals = originals(&ended.modules)?;
    let run = Run {
        ending: ended.ending,
        wall_ns: Some(ended.wall_ns),
        started: ended.started,
        ..run(args.command.clone())
    };
    let gathered = Gathered { originals, counters: ended.counters, run };
    if !gathered.conclude(args.output.as_deref(), args.quiet, color)? {
        output::tell_line(format_args!("wprof: {NOTHING}"));
    }
    if CRASHES.contains(&ended.code) {
        output::tell_line(format_args!("wprof: {CRASHED}"));
    }
    Ok(ExitCode::from(ended.code))
}

/// The exit codes of processes that end themselves by SIGILL, SIGTRAP or SIGABRT, as V8 does.
const CRASHES: RangeInclusive<u8> = 132..=134;

/// The message if Node has crashed.
const CRASHED: &str = "Node has crashed. Its optimizing compiler may lack memory for a very large function, which counting \
                       makes larger: `node --liftoff-only` does without it";

/// The message if no counters are left.
pub const NOTHING: &str =
    "no WebAssembly module was loaded, or the program was killed: there is nothing to profile";

/// Counters, together with modules that are known by their bytes only.
pub struct Gathered {
    originals: Vec<Original>,
    counters: Counters,
    run: Run,
}

impl Gathered {
    /// Gathers the modules and counters that a site received.
    ///
    /// # Errors
    /// Returns an error if the bytes of a module are invalid.
    pub fn of_site(taken: ReceivedCounters, name: &str) -> Result<Gathered> {
        let original =
            |(bytes, number)| Original::of_bytes(&PathBuf::from(format!("{name}#{number}")), bytes);
        let originals = taken.modules.into_iter().zip(1..).map(original).collect::<Result<_>>()?;
        Ok(Gathered { originals, counters: taken.counters, run: run(vec![name.to_owned()]) })
    }

    /// Writes and shows the profile of each module; reports whether there was one.
    ///
    /// # Errors
    /// Returns an error if counters do not fit their modules, or files cannot be written.
    pub fn conclude(&self, path: Option<&Path>, quiet: bool, color: ColorChoice) -> Result<bool> {
        let (counted, traced) = traces::split(&self.counters)?;
        let mut profiles = profiles(&self.originals, &counted, &self.run)?;
        if let Some(path) = path {
            for (number, (profile, original)) in profiles.iter_mut().enumerate() {
                // The module is written too: a later view of the profile needs it, and the program only received its
                // bytes.
                let beside = numbered(path, number).with_extension("wasm");
                output::write_file(&beside, |out| out.write_all(&original.bytes))?;
                profile.program = beside.display().to_string();
            }
        }
        finish((path, quiet), &profiles, color)?;
        traces::write(&self.originals, &traced, path, true)?;
        Ok(!profiles.is_empty() || !traced.is_empty())
    }
}

/// A module before instrumentation.
struct Original {
    path: PathBuf,
    bytes: Vec<u8>,
    hash: [u8; 32],
}

/// Returns the modules in files, including those in components.
fn originals(paths: &[PathBuf]) -> Result<Vec<Original>> {
    let mut all = Vec::new();
    for path in paths {
        let bytes = binary(path)?;
        let modules = wprof_instrument::modules(&bytes);
        let modules = modules.map_err(|error| anyhow!("{}: {error}", path.display()))?;
        for module in modules {
            all.push(Original::of_bytes(path, module.to_vec())?);
        }
    }
    Ok(all)
}

impl Original {
    fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Original> {
        let hash = Source::new(&bytes).map(|source| source.hash());
        let hash = hash.map_err(|error| anyhow!("{}: {error}", path.display()))?;
        Ok(Original { path: path.to_path_buf(), bytes, hash })
    }

    /// Reports whether counters with this hash are the module's.
    fn has_hash(&self, hash: &[u8; 32]) -> bool {
        self.hash == *hash || Source::new(&self.bytes).is_ok_and(|source| source.has_hash(hash))
    }
}

fn from_file(path: &Path) -> Result<(String, RawCounters)> {
    let name = path.display().to_string();
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let counters = RawCounters::from_bytes(&bytes).map_err(|error| anyhow!("{name}: {error}"))?;
    Ok((name, counters))
}

fn run(args: Vec<String>) -> Run {
    Run {
        tool: concat!("wprof ", env!("CARGO_PKG_VERSION")).to_owned(),
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        args,
        ..Run::default()
    }
}

/// Returns the module that counters are of.
fn original_of<'a>(originals: &'a [Original], name: &str, counters: &RawCounters) -> Result<&'a Original> {
    let hash = counters.module_hash().map_err(|error| anyhow!("{name}: {error}"))?;
    originals.iter().find(|original| original.has_hash(&hash)).with_context(|| {
        format!(
            "{name}: these are the counters of another module: give the instrumented module with --module"
        )
    })
}

/// Returns the profile of each module that has counters, ordered by executed instructions, the most first.
fn profiles<'a>(
    originals: &'a [Original],
    counters: &[(&str, &RawCounters)],
    run: &Run,
) -> Result<Vec<(Profile, &'a Original)>> {
    let mut found: BTreeMap<usize, Profile> = BTreeMap::new();
    for (name, counters) in counters {
        let original = original_of(originals, name, counters)?;
        let index = originals.iter().position(|other| std::ptr::eq(other, original)).unwrap_or_default();
        let read = read(&original.bytes, counters).map_err(|error| anyhow!("{name}: {error}"))?;
        if read.is_guessed {
            output::tell_line(format_args!(
                "wprof: {name}: very many calls did not return; some may still have been running, but all count as ended"
            ));
        }
        let mut profile = read.profile;
        profile.program = original.path.display().to_string();
        profile.runs = vec![run.clone()];
        match found.get_mut(&index) {
            None => drop(found.insert(index, profile)),
            Some(sum) => sum.merge(&profile).with_context(|| (*name).to_owned())?,
        }
    }
    for profile in found.values_mut() {
        // The instances belong to one run.
        profile.runs.dedup();
    }
    let mut all: Vec<_> = found.into_iter().map(|(index, profile)| (profile, &originals[index])).collect();
    all.sort_by_key(|(profile, _)| std::cmp::Reverse(profile.ops()));
    Ok(all)
}

/// Writes and shows profiles.
fn finish(
    (path, quiet): (Option<&Path>, bool),
    profiles: &[(Profile, &Original)],
    color: ColorChoice,
) -> Result<()> {
    for (number, (profile, original)) in profiles.iter().enumerate() {
        if !quiet {
            let mut page = Page::new(screen(io::stderr(), color));
            let module = modules::plain_engine().and_then(|engine| {
                wprof::Module::new(&engine, original.bytes.clone())
                    .map(Program::from)
                    .map_err(modules::failure)
            });
            let title = wprof_report::names::harmless(&profile.program);
            text::summary(&mut page, &View::new(profile, module.as_ref().ok()), &title);
            output::tell(format_args!("{}", page.into_text()));
        }
        if let Some(path) = path {
            super::write_profile(profile, &numbered(path, number))?;
        }
    }
    Ok(())
}

/// Returns the path for profile `number`: the file itself, or a numbered file beside it.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        return path.to_path_buf();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let kind = path.extension().map(|kind| format!(".{}", kind.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{}{kind}", number + 1))
}
