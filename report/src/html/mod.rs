//! The report as one self-contained HTML file, without network access or other files.
//!
//! Input: a [`View`] of a profile, and optionally an earlier profile. Output: a page that holds
//! the figures as JSON, and the program (`assets/`) that shows them.
//! Invariant: text from the module or the profile is in the page only as data that contains no `<`, so that it can
//! neither end the data nor begin an element; the program displays it only as text.
//! Oracle: `cli/tests/it/html.rs`, which opens pages in a browser.

mod code;
mod contexts;
mod data;
mod details;
mod figures;
mod functions;
mod overview;
mod owners;
mod timeline;

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use wprof_profiler::export::CodeMap;
use wprof_profiler::{Profile, share_names};

use crate::error::Result;
use crate::render::view::View;
use crate::sources::Sources;
use crate::{code_map, names};
use code::Code;
use contexts::Contexts;
use details::{Details, Shown};
use functions::Functions;
use overview::Overview;
use owners::Owners;
use timeline::Timeline;

/// The page template, with a `{{name}}` for each part.
const PAGE: &str = include_str!("assets/page.html");

const STYLE: &str = concat!(
    include_str!("assets/style.css"),
    include_str!("assets/contexts.css"),
    include_str!("assets/function.css"),
    include_str!("assets/timeline.css"),
);

/// The concatenated script: each file may use the definitions of the files before it.
const SCRIPT: &str = concat!(
    include_str!("assets/dom.js"),
    include_str!("assets/numbers.js"),
    include_str!("assets/data.js"),
    include_str!("assets/overview.js"),
    include_str!("assets/functions.js"),
    include_str!("assets/stacks.js"),
    include_str!("assets/frames.js"),
    include_str!("assets/contexts.js"),
    include_str!("assets/layout.js"),
    include_str!("assets/graph.js"),
    include_str!("assets/code.js"),
    include_str!("assets/function.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/main.js"),
    include_str!("assets/test.js"),
);

/// The data that the page shows first.
#[derive(Debug, Serialize)]
struct Data {
    overview: Overview,
    functions: Functions,
    contexts: Option<Contexts>,
    /// The contexts with the threads of the program as outermost callers, if it had several.
    threads: Option<Contexts>,
    timeline: Option<Timeline>,
}

/// The contents of a page besides the profile.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// An earlier profile, for comparison.
    pub before: Option<Profile>,
    /// The files from which the text of source lines comes.
    pub sources: Sources,
    /// Whether names are shown in full.
    pub full_names: bool,
}

/// A page to be written.
#[derive(Debug)]
pub struct HtmlPage<'a> {
    view: View<'a>,
    /// The profile, which an earlier one may have given names.
    profile: Cow<'a, Profile>,
    /// The source lines of the module.
    map: CodeMap,
    shown: Shown,
    code: Code,
    options: Options,
}

impl<'a> HtmlPage<'a> {
    /// Creates the page of a profile.
    ///
    /// # Errors
    /// Returns an error if the module cannot be disassembled.
    pub fn new(view: &View<'a>, mut options: Options) -> Result<Self> {
        let mut profile = Cow::Borrowed(view.profile);
        if let Some(before) = &mut options.before {
            share_names(before, profile.to_mut());
        }
        let map = view.program.map(code_map::of_lines).unwrap_or_default();
        let shown = Shown::new(&View { profile: &profile, ..*view });
        let code = Code::new(view.program, &shown.functions(&profile), &map)?;
        Ok(Self { view: *view, profile, map, shown, code, options })
    }

    /// Writes the page.
    ///
    /// # Errors
    /// Returns an error if `out` fails.
    pub fn write(self, mut out: impl Write) -> io::Result<()> {
        names::shown_in_full(self.options.full_names, || self.write_parts(&mut out))
    }

    fn write_parts(mut self, mut out: &mut dyn Write) -> io::Result<()> {
        let mut rest = PAGE;
        while let Some((text, name, behind)) = next_part(rest) {
            out.write_all(text.as_bytes())?;
            match name {
                "style" => out.write_all(STYLE.as_bytes())?,
                "script" => out.write_all(SCRIPT.as_bytes())?,
                "data" => {
                    let mut sources = std::mem::take(&mut self.options.sources);
                    data::write_line(&self.data(&mut sources), &mut out)?;
                    self.options.sources = sources;
                }
                "details" => self.write_details(&mut out)?,
                "sources" => self.write_sources(&mut out)?,
                _ => unreachable!("the page has no other parts"),
            }
            rest = behind;
        }
        out.write_all(rest.as_bytes())
    }

    /// Returns the view of the profile with its names.
    fn view(&self) -> View<'_> {
        View { profile: &self.profile, ..self.view }
    }

    fn data(&self, sources: &mut Sources) -> Data {
        let (view, before) = (self.view(), self.options.before.as_ref());
        let mut owners = Owners::new(&view);
        let expanded = self.with_inlined(&self.profile, &mut owners);
        let by_thread = view.profile.by_thread();
        let by_thread = by_thread.as_ref().map(|profile| self.with_inlined(profile, &mut owners));
        let shown = self.shown.functions(view.profile);
        Data {
            overview: Overview::new(&view, before, (&self.map, sources), &owners),
            functions: Functions::new(&view, before, &self.map, (&shown, &owners)),
            contexts: Contexts::new(&expanded, before, &owners),
            threads: by_thread.and_then(|profile| Contexts::new(&profile, None, &owners)),
            timeline: Timeline::new(view.profile),
        }
    }

    /// Returns a profile of the module with frames for inlined functions, which `owners` gets to know. An earlier profile may be of
    /// another module, whose inlining is unknown; then neither profile gets such frames.
    fn with_inlined<'p>(&self, profile: &'p Profile, owners: &mut Owners<'_>) -> Cow<'p, Profile> {
        match self.options.before {
            Some(_) => Cow::Borrowed(profile),
            None => code_map::with_inlined_seen(profile, self.view.program, &mut |symbol| owners.add(symbol)),
        }
    }

    fn write_details(&self, mut out: impl Write) -> io::Result<()> {
        let view = self.view();
        let shown = self.shown.functions(view.profile);
        let times = details::Times::new(view.profile);
        let code = (&self.code, &self.map);
        let mut details = shown.iter().map(|function| Details::new(&view, function, code, &times));
        details.try_for_each(|details| data::write_line(&details, &mut out))
    }

    fn write_sources(&mut self, mut out: impl Write) -> io::Result<()> {
        let mut files = self.code.files(&mut self.options.sources);
        files.try_for_each(|file| data::write_line(&file, &mut out))
    }
}

/// Splits a text at its next `{{name}}`: the text before it, the name, and the rest.
fn next_part(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (name, behind) = rest.split_once("}}")?;
    Some((before, name, behind))
}
