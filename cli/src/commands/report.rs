//! `wprof report`: where the instructions went.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use wprof_profiler::Profile;

use super::export;
use crate::html::HtmlPage;
use crate::modules::ModuleOption;
use crate::render::contexts::Weights;
use crate::render::functions::Order;
use crate::render::page::Page;
use crate::render::screen::{ColorChoice, Screen};
use crate::render::view::View;
use crate::render::{contexts, report};
use crate::sources::Sources;
use crate::{code_map, modules, output, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Figures are exact counts, or marked as samples. Instructions are WebAssembly instructions executed in \
a function itself, not in those that it calls. `trips` is how often a loop goes round \
each time it is entered. Source lines are shown if the module is at hand and has debug \
information; otherwise offsets in the module. `with callees` are the calls of a function \
in a context and of all that it called there; a recursive call counts where its function \
was first called; below twelve callers the depth is told in numbers. A hot path is dense if it has more of the metric for each instruction than \
the program on average, otherwise sparse.

Examples:
  wprof report f.wprof
  wprof report f.wprof --top 30 --sort calls
  wprof report f.wprof --cct --least 5
  wprof report f.wprof --callers malloc
  wprof report f.wprof --cct --by cycles
  wprof report f.wprof --cct --by instructions   of a profile by --collect flow
  wprof report f.wprof --interesting suite.wprof
  wprof report f.wprof --html f.html
  wprof report after.wprof --diff before.wprof --html changes.html
  wprof report f.wprof --json | jq .ops")]
pub struct ReportArgs {
    /// The profile, a file that `wprof run -o` wrote
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,
    /// How many rows each table has
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Show the functions in one order only [default: both]
    #[arg(long, value_enum, value_name = "ORDER")]
    sort: Option<Order>,
    #[command(flatten)]
    module: ModuleOption,
    /// Show the calling contexts as a tree, those with most calls first
    #[arg(long, conflicts_with = "sort")]
    cct: bool,
    /// Show who called a function, who called those, …
    #[arg(long, value_name = "FUNC", conflicts_with_all = ["cct", "sort"])]
    callers: Option<String>,
    /// Weigh calling contexts by a metric that was measured in them, such as `cycles`, or by `instructions` where
    /// paths were counted in them (`--collect flow`) [default: calls]
    #[arg(long, value_name = "METRIC")]
    by: Option<String>,
    /// Show which paths are interesting, as they ran in this profile, and how compactly they are numbered
    #[arg(long, value_name = "PROFILE", conflicts_with_all = ["cct", "callers", "sort"])]
    interesting: Option<PathBuf>,
    /// Leave out contexts with less than so many percent of the calls, and paths with less of a metric: the others
    /// are hot
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    least: f64,
    /// Write one HTML file for a browser instead, with all that it needs; `-` is standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cct", "callers", "sort", "by", "interesting", "json"])]
    html: Option<PathBuf>,
    /// Show in the HTML file what changed since an earlier profile
    #[arg(long, value_name = "PROFILE", requires = "html")]
    diff: Option<PathBuf>,
    /// Print the profile as JSON instead, as `wprof export --to json`
    #[arg(long)]
    json: bool,
}

pub fn execute(args: &ReportArgs, color: ColorChoice) -> Result<()> {
    let profile = super::read_profile(&args.profile)?;
    if args.json {
        return output::print_with(|out| export::write_json(&profile, out));
    }
    let module = args.module.at_hand(&profile, &args.profile)?;
    modules::tell_missing_debug_info(module.as_ref());
    if let Some(file) = &args.html {
        return write_html(args, &View::new(&profile, module.as_ref()), file);
    }
    let mut page = Page::new(Screen::of(io::stdout(), color));
    let view = View::new(&profile, module.as_ref());
    if let Some(path) = &args.interesting {
        let interesting = interesting(&profile, path)?;
        report::write_interesting(&mut page, &view, &interesting, args.top);
        return output::print(&page.into_text());
    }
    if args.cct || args.callers.is_some() {
        let tree = profile.contexts.as_ref();
        let tree =
            tree.context("the profile has no calling contexts: take one by `wprof run --collect cct`")?;
        let callee = args.callers.as_ref().map(|asked| contexts::find(tree, asked)).transpose()?;
        let weights = args.by.as_deref().map(|name| Weights::named(&profile, tree, name)).transpose()?;
        let weights = weights.unwrap_or_else(|| Weights::calls(tree));
        report::write_contexts(&mut page, &view, tree, &weights, (callee, args.least / 100.0));
    } else {
        report::write(&mut page, &view, args.top, args.sort, args.least / 100.0);
    }
    output::print(&page.into_text())
}

fn write_html(args: &ReportArgs, view: &View<'_>, file: &Path) -> Result<()> {
    let before = args.diff.as_deref().map(super::read_profile).transpose()?;
    let map = view.module.map(code_map::of_lines).unwrap_or_default();
    let at = args.module.path(view.profile, &args.profile);
    progress::during("writing the report", || {
        let page = HtmlPage::new(*view, before.as_ref(), &map, Sources::new(&at))?;
        export::write_to(file, |out| page.write(out))
    })
}

/// A profile whose paths are interesting in `profile`.
fn interesting(profile: &Profile, path: &Path) -> Result<Profile> {
    ensure!(profile.has_paths(), "the profile has no paths: take one by `wprof run --collect paths`");
    let interesting = super::read_paths(path)?;
    // The residual is not shown, but asking for it tells whether they fit.
    profile.residual(&interesting).with_context(|| path.display().to_string())?;
    Ok(interesting)
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "give a number from 0 to 100".to_owned())
}
