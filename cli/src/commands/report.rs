//! `wprof report`: shows where time and instructions went.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum, ValueHint};
use wprof_profiler::Profile;
use wprof_report::export::{Export, Format, Options};
use wprof_report::html::{self, HtmlPage};
use wprof_report::page::Page;
use wprof_report::text::{self, ContextOptions, Order, ReportOptions};
use wprof_report::{Sources, View};

use super::export;
use crate::help;
use crate::modules::ModuleOption;
use crate::ownership::OwnershipArgs;
use crate::screen::{ColorChoice, are_names_full, screen};
use crate::{modules, output, progress};

const EXAMPLES: &str = "\
Examples:
  wprof report f.wprof
  wprof report f.wprof --callers malloc    who calls it
  wprof report f.wprof --html f.html       everything, for a browser";

/// The order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SortBy {
    // Processor time in the function itself.
    Time,
    // Executed in the function itself.
    Instructions,
    Calls,
}

impl From<SortBy> for Order {
    fn from(order: SortBy) -> Order {
        match order {
            SortBy::Time => Order::Time,
            SortBy::Instructions => Order::Instructions,
            SortBy::Calls => Order::Calls,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
`time` is processor time, which a timer samples; `±` says by how many percentage points the share may be \
wrong, in nineteen of twenty cases. Other figures are exact counts unless they are marked as a sample. \
`instructions` are the WebAssembly instructions that a function itself executed, without its callees. `trips` \
is the number of iterations each time a loop is entered. Source lines are shown if the module is found and has \
debug information; otherwise offsets in the module are shown.

In the calling context tree, `with callees` includes everything that the function called there; a recursive \
call counts where its function was first called. For functions and call sites, `with callees` counts \
everything once, however deep they recurse; `at least` marks those in a recursion through several functions, \
part of which is counted further up. A hot path is dense if it has more of a metric per instruction than the \
program on average; otherwise it is sparse.

{EXAMPLES}

More examples:
  wprof report f.wprof --top 30 --sort calls
  wprof report f.wprof --cct --least 5
  wprof report f.wprof --cct --by cycles
  wprof report f.wprof --cct --by-thread
  wprof report f.wprof --cct --by loads          of a profile from --collect cct,events=loads
  wprof report f.wprof --cct --by instructions   of a profile from --collect flow
  wprof report f.wprof --interesting suite.wprof
  wprof report f.wprof --distribution            of a profile from --collect paths
  wprof report after.wprof --diff before.wprof --html changes.html
  wprof report f.wprof --json | jq .ops"))]
pub struct ReportArgs {
    /// The profile, a file from `wprof run -o`
    #[arg(value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    profile: PathBuf,
    /// Show the calling context tree, the contexts with most time or calls first
    #[arg(long, conflicts_with = "sort", help_heading = help::VIEW)]
    cct: bool,
    /// Show who called a function, who called those callers, and so on
    ///
    /// A function counts with everything that it calls. A recursive function counts where it was first called.
    #[arg(long, value_name = "FUNC", conflicts_with_all = ["cct", "sort"], help_heading = help::VIEW)]
    callers: Option<String>,
    /// With --cct or --callers: show each thread of the program separately
    #[arg(long, help_heading = help::VIEW, hide_short_help = true)]
    by_thread: bool,
    /// Show N rows in each table [default: 10, but all contexts]
    #[arg(short = 'n', long, value_name = "N", help_heading = help::VIEW)]
    top: Option<usize>,
    /// Sort functions in this order only [default: all]
    #[arg(long, value_enum, value_name = "ORDER", help_heading = help::VIEW)]
    sort: Option<SortBy>,
    /// With --cct or --callers: weigh contexts by a metric
    ///
    /// A metric is `time`, `calls`, one measured in contexts, such as `cycles`, an event kind that was counted there,
    /// such as `loads`, `instructions` if they were counted in contexts (in bursts, or by `--collect flow`), or
    /// `bytes-of-TYPE` for objects of garbage collection, with `--collect allocations` [default: time if it was
    /// sampled, else instructions, else calls]
    #[arg(long, value_name = "METRIC", help_heading = help::VIEW, hide_short_help = true)]
    by: Option<String>,
    /// Leave out contexts and paths with less than PERCENT of the total
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    #[arg(help_heading = help::VIEW, hide_short_help = true)]
    least: f64,
    /// Show how the paths of this earlier profile ran here, and how compact their numbers are
    #[arg(long, value_name = "PROFILE", conflicts_with_all = ["cct", "callers", "sort", "least"])]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::VIEW, hide_short_help = true)]
    interesting: Option<PathBuf>,
    /// Show how the instructions are distributed over paths, by rank and by length
    #[arg(long, conflicts_with_all = ["cct", "callers", "sort", "interesting", "top", "least", "library", "mine", "module"])]
    #[arg(help_heading = help::VIEW, hide_short_help = true)]
    distribution: bool,
    /// Write one self-contained HTML file for a browser; `-` is standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cct", "callers", "sort", "by", "top", "least", "interesting", "distribution", "json"])]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    html: Option<PathBuf>,
    /// With --html: show what changed since an earlier profile
    #[arg(long, value_name = "PROFILE", requires = "html")]
    #[arg(value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    diff: Option<PathBuf>,
    /// Print the profile as JSON, as `wprof export --to json`
    #[arg(long, conflicts_with_all = ["cct", "callers", "sort", "by", "top", "least", "interesting", "distribution"])]
    #[arg(conflicts_with_all = ["library", "mine"])]
    #[arg(help_heading = help::OUTPUT)]
    json: bool,
    #[command(flatten)]
    ownership: OwnershipArgs,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &ReportArgs, color: ColorChoice) -> Result<()> {
    ensure!(
        args.by.is_none() || args.cct || args.callers.is_some(),
        "--by weighs calling contexts: add --cct, or --callers FUNC"
    );
    ensure!(
        !args.by_thread || args.cct || args.callers.is_some(),
        "--by-thread shows the calling contexts of threads: add --cct, or --callers FUNC"
    );
    let mut profile = super::read_profile(&args.profile)?;
    if args.by_thread {
        profile = text::by_thread(&profile)?;
    }
    let module = args.module.at_hand(&mut profile, &args.profile)?;
    let ownership = args.ownership.resolve(module.as_ref());
    if args.json {
        let mut options = Options::default();
        options.ownership = ownership;
        let exported = Export::new(profile, module.as_ref(), Format::Json, options)?;
        return output::print_with(|out| exported.write(out));
    }
    modules::tell_missing_debug_info(module.as_ref());
    if let Some(file) = &args.html {
        let report = HtmlReport { path: &args.profile, module: &args.module, before: args.diff.as_deref() };
        return report.write(&View::new(&profile, module.as_ref()).owned(&ownership), file);
    }
    let mut page = Page::new(screen(io::stdout(), color));
    let path = args.module.path(&profile, &args.profile);
    let view = View::new(&profile, module.as_ref()).owned(&ownership).at(&path);
    if let Some(path) = &args.interesting {
        let interesting = interesting(&profile, path)?;
        let written = text::interesting(&mut page, &view, &interesting, report_options(args).top);
        written.with_context(|| path.display().to_string())?;
    } else if args.distribution {
        text::distribution(&mut page, &profile)?;
    } else if args.cct || args.callers.is_some() {
        text::contexts(&mut page, &view, &context_options(args))?;
    } else {
        text::report(&mut page, &view, &report_options(args));
    }
    output::print(&page.into_text())
}

fn report_options(args: &ReportArgs) -> ReportOptions {
    let mut options = ReportOptions::default();
    options.top = args.top.unwrap_or(options.top);
    (options.order, options.least) = (args.sort.map(Order::from), args.least / 100.0);
    options
}

fn context_options(args: &ReportArgs) -> ContextOptions {
    let mut options = ContextOptions::default();
    (options.callers, options.by) = (args.callers.clone(), args.by.clone());
    (options.least, options.rows) = (args.least / 100.0, args.top);
    options.top = args.top.unwrap_or(options.top);
    options
}

/// The input for an HTML page.
#[derive(Clone, Copy)]
pub struct HtmlReport<'a> {
    /// The path of the profile.
    pub path: &'a Path,
    /// The option that names the profile's module.
    pub module: &'a ModuleOption,
    /// An earlier profile to compare with.
    pub before: Option<&'a Path>,
}

impl HtmlReport<'_> {
    /// Writes the page to a file, or to standard output for the path `-`.
    ///
    /// # Errors
    /// Returns an error if a profile cannot be read, or the file cannot be written.
    pub fn write(self, view: &View<'_>, file: &Path) -> Result<()> {
        let mut options = html::Options::default();
        options.before = self.before.map(super::read_profile).transpose()?;
        options.sources = Sources::new(&self.module.path(view.profile(), self.path));
        options.full_names = are_names_full();
        progress::during("writing the report", || {
            let page = HtmlPage::new(view, options)?;
            export::write_to(file, |out| page.write(out))
        })
    }
}

/// Reads a profile whose paths are interesting in `profile`.
fn interesting(profile: &Profile, path: &Path) -> Result<Profile> {
    let across = profile.across_calls();
    let ours = across.as_ref().unwrap_or(profile);
    ensure!(
        ours.has_paths(),
        "the profile has no paths: record one with `wprof run --collect paths` or `wprof collect --collect paths`"
    );
    match ours.supergraphs.is_some() {
        true => super::read_across_calls(path),
        false => super::read_paths(path),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "give a number from 0 to 100".to_owned())
}
