//! The paths that cost the most, their blocks, and how few paths make up most of the run.

use wprof_profiler::{FunctionProfile, HotPath};

use super::numbers::{count_of, grouped, percent};
use super::page::{Ink, Page, Span, plain, span};
use super::path_text;
use super::table::{Side, Table};
use super::view::View;

/// The number of blocks shown from the beginning of a path, and from its end.
const FIRST: usize = 8;
const LAST: usize = 3;

/// The maximum number of source places that are shown.
const PLACES: usize = 5;

/// The share of instructions, in percent, that the summary looks for.
const MOST: u64 = 90;

/// All paths that ran to their end, hottest first.
#[derive(Debug)]
pub struct Paths<'a> {
    view: View<'a>,
    hottest: Vec<HotPath>,
}

impl<'a> Paths<'a> {
    /// Returns the paths of a profile; none if they were not counted.
    pub fn new(view: &View<'a>) -> Self {
        Self { view: *view, hottest: view.profile.hottest_paths() }
    }

    /// Returns the hottest `limit` paths.
    pub fn table(&self, limit: usize) -> Table {
        let mut table = Table::new(&[
            ("instructions", Side::Right),
            ("share", Side::Right),
            ("times", Side::Right),
            ("path in", Side::Left),
            ("blocks", Side::Left),
            ("places", Side::Place),
        ]);
        for hot in self.hottest.iter().take(limit) {
            let Some(description) = self.description(hot.function, hot.id) else { continue };
            table.row(self.figures(hot).into_iter().chain(description).collect());
        }
        table
    }

    /// Returns the instructions of a path, their share of all instructions, and the path's count.
    pub fn figures(&self, hot: &HotPath) -> [Span; 3] {
        let share = span(percent(hot.ops, self.view.ops), Ink::of_share(hot.ops, self.view.ops));
        [plain(grouped(hot.ops)), share, plain(grouped(hot.count))]
    }

    /// Returns the function, the blocks, and the blocks' places in the source.
    pub fn description(&self, function: u32, id: u64) -> Option<[Span; 3]> {
        let Shown { blocks, places } = self.shown(self.view.profile.function(function)?, id)?;
        let name = span(self.view.name(function), Ink::Name);
        Some([name, plain(blocks), span(places, Ink::Faint)])
    }

    fn shown(&self, function: &FunctionProfile, id: u64) -> Option<Shown> {
        let (cfg, path) = (function.cfg().ok()?, function.path_numbering()?.path(id)?);
        let blocks = path.blocks(&cfg);
        let names = path_text::shown(&self.view, function, &blocks);
        let last = path.edges.last().map(|&last| cfg.edge(last).to)?;
        let to = if last == cfg.exit() { "exit".to_owned() } else { last.to_string() };
        let mut places: Vec<String> =
            blocks.iter().flat_map(|&block| path_text::places(&self.view, function, block)).collect();
        places.dedup();
        let more = if places.len() > PLACES { " …" } else { "" };
        places.truncate(PLACES);
        Some(Shown { blocks: format!("{} → {to}", shortened(&names)), places: places.join(" ") + more })
    }

    /// Writes a line below the table: how few paths have most of the instructions.
    pub fn write_coverage(&self, page: &mut Page) {
        let all = self.hottest.iter().map(|hot| hot.ops).fold(0, u64::saturating_add);
        let mut sum = 0_u64;
        let few = self.hottest.iter().take_while(|hot| {
            let is_needed = u128::from(sum) * 100 < u128::from(all) * u128::from(MOST);
            sum = sum.saturating_add(hot.ops);
            is_needed
        });
        let few = few.count() as u64;
        let ran = count_of(self.hottest.len() as u64, "path");
        let line = format!("  {} of {ran} that ran have {MOST}% of their instructions", grouped(few));
        page.line(&[span(line, Ink::Faint)]);
    }
}

/// A path as text.
struct Shown {
    blocks: String,
    places: String,
}

/// Joins the list, without its middle if it is long.
pub(super) fn shortened(names: &[String]) -> String {
    match names.len() {
        len if len > FIRST + LAST + 1 => {
            let hidden = len - FIRST - LAST;
            let (first, last) = (names[..FIRST].join(" "), names[len - LAST..].join(" "));
            format!("{first} …{hidden} more… {last}")
        }
        _ => names.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_lose_their_middle() {
        let names = |count: usize| (0..count).map(|i| format!("b{i}")).collect::<Vec<_>>();
        assert!(shortened(&names(12)).ends_with("b10 b11") && !shortened(&names(12)).contains('…'));
        assert_eq!(shortened(&names(13)), "b0 b1 b2 b3 b4 b5 b6 b7 …2 more… b10 b11 b12");
    }
}
