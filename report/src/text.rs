//! Reports as text: the whole profile, calling contexts, how a run ended, and what a program does just now.
//!
//! Each function adds to a [`Page`], whose [`Style`](crate::page::Style) says how wide it is and whether it has colours.

use std::borrow::Cow;

use wprof_profiler::{ContextTree, Ending, FunctionProfile, INSTRUCTIONS, Profile};

use crate::error::{Context, NO_PATHS, Result, ensure};
use crate::page::Page;
use crate::render::contexts::{self, Weights};
use crate::render::view::View;
use crate::render::{self, distribution, live, runs, summary, time};
use crate::{code_map, inlined, names};

pub use crate::render::functions::Order;

/// The number of rows of a table, unless it is set.
const TOP: usize = 10;

/// The share from which on contexts and paths are shown, unless it is set.
const LEAST: f64 = 0.01;

/// The choices of [`report`]. The default is everything, ten rows in each table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReportOptions {
    /// The number of rows in each table.
    pub top: usize,
    /// The only order in which functions are shown; without one they are shown in all orders.
    pub order: Option<Order>,
    /// The share of a metric, from 0 to 1, that a path has at least where hot paths are shown.
    pub least: f64,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { top: TOP, order: None, least: LEAST }
    }
}

/// Adds the whole profile: where the time and the instructions went.
pub fn report(page: &mut Page, view: &View<'_>, options: &ReportOptions) {
    page.with_names(|page| render::report::write(page, view, options.top, options.order, options.least));
}

/// The choices of [`contexts`]. The default is the tree from the program's entry down, by time if it was sampled, else by
/// instructions, else by calls.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContextOptions {
    /// The function whose callers are shown, and theirs, instead of the tree: its name, a part that only one name has, or
    /// its index.
    pub callers: Option<String>,
    /// The metric by which contexts are weighed: `time`, `calls`, `instructions`, a metric, or a kind of events.
    pub by: Option<String>,
    /// The share of the weight, from 0 to 1, that a context has at least.
    pub least: f64,
    /// The number of functions and of call sites.
    pub top: usize,
    /// The most contexts that are shown, the heaviest; without it all that have the share.
    pub rows: Option<usize>,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self { callers: None, by: None, least: LEAST, top: TOP, rows: None }
    }
}

/// Adds calling contexts, with frames for inlined functions if the view has the module.
///
/// # Errors
/// Returns an error if the profile has no calling contexts or does not know the metric in them, or if no function or
/// several have the name.
pub fn contexts(page: &mut Page, view: &View<'_>, options: &ContextOptions) -> Result<()> {
    page.with_names(|page| {
        let expanded = code_map::with_inlined(view.profile, view.program);
        let shown = View { profile: &expanded, ops: expanded.ops(), ..*view };
        let weighed = weighed_contexts(&shown, options.by.as_deref()).and_then(|(tree, weights)| {
            let callees = options.callers.as_ref().map(|asked| contexts::find(&tree, asked)).transpose()?;
            Ok((tree, weights, callees))
        });
        let (tree, weights, callees) = match weighed {
            Err(_) if write_places(page, &shown, options)? => return Ok(()),
            weighed => weighed?,
        };
        let trees = (tree.as_ref(), view.profile.contexts.as_ref());
        let limits = contexts::Limits { share: options.least, rows: options.rows };
        let limits = (callees.as_deref(), limits, options.top);
        render::report::write_contexts(page, &shown, trees, &weights, limits);
        Ok(())
    })
}

/// Writes where the function whose callers are asked for is inlined, by instructions, if it is known by that only.
fn write_places(page: &mut Page, view: &View<'_>, options: &ContextOptions) -> Result<bool> {
    let is_by_instructions = options.by.as_deref().is_none_or(|by| by == INSTRUCTIONS);
    let asked = options.callers.as_ref().filter(|_| is_by_instructions);
    let Some((asked, program)) = asked.zip(view.program) else { return Ok(false) };
    let Some(found) = inlined::find(program, &names::of_profile(view.profile), asked)? else {
        return Ok(false);
    };
    let ran: Vec<&FunctionProfile> = view.profile.functions.iter().collect();
    let code = code_map::of_instructions(program, &ran)?;
    let ops = render::inlined::ops(view.profile, &code, &found.places);
    render::inlined::write_head(page, view, &found, &ops);
    page.heading("Callers by instructions");
    let limits = contexts::Limits { share: options.least, rows: options.rows };
    page.table(&render::inlined::callers(view, &found, &ops, limits));
    Ok(true)
}

/// Returns calling contexts weighed by a metric: by default time if it was sampled, else instructions, else calls.
fn weighed_contexts<'a>(view: &View<'a>, by: Option<&str>) -> Result<(Cow<'a, ContextTree>, Weights)> {
    let time = time::sampled(view).filter(|_| by.is_none_or(|by| by == "time"));
    if let Some(time) = time {
        let tree = time.contexts();
        let weights = Weights::time(&tree);
        return Ok((Cow::Owned(tree), weights));
    }
    let profile = view.profile;
    let tree = profile.contexts.as_ref();
    let tree =
        tree.context("the profile has no calling contexts: record one with `wprof run --collect cct` or `wprof collect --collect cct`")?;
    let weights = by.map(|name| Weights::named(profile, tree, name)).transpose()?;
    Ok((Cow::Borrowed(tree), weights.unwrap_or_else(|| Weights::usual(profile, tree))))
}

/// Returns a profile with its threads as the outermost callers, for contexts of each thread apart.
///
/// # Errors
/// Returns an error if the profile tells no threads apart.
pub fn by_thread(profile: &Profile) -> Result<Profile> {
    profile.by_thread().context(
        "the profile does not have threads apart: the program started none, or profiles without threads were added up",
    )
}

/// Adds how the paths of an earlier profile of the same module ran in this one, and how compactly they are numbered,
/// `top` rows in each table. If the profile has paths across calls, these are compared.
///
/// # Errors
/// Returns an error if a profile has no paths, or if the profiles are of different modules.
pub fn interesting(page: &mut Page, view: &View<'_>, earlier: &Profile, top: usize) -> Result<()> {
    let across = view.profile.across_calls();
    let ours = across.as_ref().unwrap_or(view.profile);
    ensure!(ours.has_paths(), "{NO_PATHS}");
    let across_earlier = ours.supergraphs.is_some().then(|| earlier.across_calls().unwrap_or_default());
    let earlier = across_earlier.as_ref().unwrap_or(earlier);
    // The residual is not shown, but computing it checks that the profiles match.
    ours.residual(earlier)?;
    let view = View { profile: ours, ..*view };
    page.with_names(|page| render::report::write_interesting(page, &view, earlier, top));
    Ok(())
}

/// Adds how the instructions are distributed over paths, by rank and by length.
///
/// # Errors
/// Returns an error if the profile has no paths.
pub fn distribution(page: &mut Page, profile: &Profile) -> Result<()> {
    let found = profile.path_distribution().context(NO_PATHS)?;
    distribution::write(page, &found);
    Ok(())
}

/// Adds the summary of a run, a screen at most; `title` says how it ended.
pub fn summary(page: &mut Page, view: &View<'_>, title: &str) {
    page.with_names(|page| summary::write(page, view, title));
}

/// Adds what a program does just now: the changes since an earlier snapshot of the same run, or everything so far, with
/// the `limit` functions that take the most time.
pub fn live(page: &mut Page, now: &Profile, before: Option<&Profile>, limit: usize) {
    page.with_names(|page| live::LiveChanges::new(now, before).write(page, limit));
}

/// Adds the line that begins a summary.
pub fn title(page: &mut Page, title: &str) {
    summary::write_title(page, title);
}

/// Adds a line of additional detail.
pub fn detail(page: &mut Page, text: &str) {
    summary::write_detail(page, text);
}

/// Describes how a run ended, in words that follow the program's name.
pub fn ending(ending: &Ending) -> String {
    runs::ending(ending)
}
