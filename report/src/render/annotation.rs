//! The instructions of a function with the counts of its blocks and edges, and its sampled time, in the margin.
//!
//! Invariant: each block and each edge of a branch appears once, even without instructions.

use std::ops::Range;

use wprof_profiler::{BlockId, EdgeProfile, FunctionProfile};

use super::branches::{way, ways_out};
use super::function_time::FunctionTime;
use super::numbers::{count_of, grouped, percent};
use super::page::{Ink, Page, Span, plain, span};
use super::sample;
use super::tries::what;
use super::view::View;
use crate::disassembly::Line;
use crate::names;
use crate::source_line::SourceLine;
use crate::sources::Sources;
use crate::tries::Tried;

/// A function and the data to annotate it.
#[derive(Debug)]
pub struct Annotated<'a> {
    /// The profile and the module.
    pub view: View<'a>,
    /// The function. If it was not counted its time is all that is shown.
    pub function: &'a FunctionProfile,
    /// Whether the profile has its counts.
    pub is_counted: bool,
    /// The instructions of the function.
    pub code: Vec<Line>,
    /// The source files.
    pub sources: Sources,
}

/// Writes the function.
pub fn write(page: &mut Page, mut annotated: Annotated<'_>) {
    let time = FunctionTime::new(annotated.view.profile, annotated.function.index);
    write_head(page, &annotated, time.as_ref());
    let code = std::mem::take(&mut annotated.code);
    let mut writer = Writer::new(page, annotated, &code, time, None);
    for line in &code {
        writer.line(line);
    }
    writer.end();
}

/// Writes the instructions of a function at some offsets, ascending, where the source function `inlined` is inlined, with
/// the lines of that; returns the source files.
pub fn write_part(
    page: &mut Page,
    mut annotated: Annotated<'_>,
    (inlined, offsets): (&str, &[u32]),
) -> Sources {
    let time = FunctionTime::new(annotated.view.profile, annotated.function.index);
    let code = std::mem::take(&mut annotated.code);
    let part = Part { inlined: inlined.to_owned(), ..Part::default() };
    let mut writer = Writer::new(page, annotated, &code, time, Some(part));
    for line in &code {
        match line.offset {
            Some(offset) if offsets.binary_search(&offset).is_ok() => writer.line(line),
            Some(offset) => writer.skip(line, offset),
            None => {}
        }
    }
    writer.close_before(u32::MAX);
    writer.sources
}

fn write_head(page: &mut Page, annotated: &Annotated<'_>, time: Option<&FunctionTime>) {
    let &Annotated { view, function, is_counted, .. } = annotated;
    // A function without a name is displayed by its index anyway.
    let index =
        function.name.as_ref().map_or_else(String::new, |_| format!("  (function {})", function.index));
    let name = names::shown(function.index, function.name.as_deref());
    page.line(&[span(name, Ink::Name), plain(index)]);
    if let Some(time) = time {
        page.line(&[plain(format!("  {}", time.described()))]);
    }
    if !is_counted {
        let text = "  not counted: no burst saw it; `wprof run --exact` counts everything";
        page.line(&[span(text, Ink::Faint)]);
        page.gap();
        return;
    }
    let ops = function.ops();
    let blocks = count_of(function.blocks.len() as u64, "block");
    page.line(&[plain(format!(
        "  {} in {}, {} of all; {blocks}, {}",
        count_of(ops, "instruction"),
        count_of(function.calls(), "call"),
        percent(ops, view.ops),
        count_of(function.cost.counters, "counter"),
    ))]);
    if let Some(rate) = function.kind.rate() {
        page.line(&[plain(format!("  seen in bursts: {}", sample::size(rate)))]);
    }
    page.gap();
}

/// The width of times.
const TIME_WIDTH: usize = 9;

/// The width of block names.
const BLOCK_WIDTH: usize = 5;

/// The width of offsets, with a gap.
const OFFSET_WIDTH: usize = 10;

/// The text left of a line.
#[derive(Default)]
struct Margin {
    time: Span,
    count: Span,
    block: Span,
    offset: Option<u32>,
}

impl Margin {
    fn count(count: u64, ink: Ink) -> Self {
        Self { count: span(grouped(count), ink), ..Self::default() }
    }
}

/// The state of a block of which only a part is shown.
#[derive(Default)]
struct Part {
    /// The display name of the source function whose code is shown.
    inlined: String,
    /// The open block, if nothing of it has been shown.
    pending: Option<usize>,
    /// Whether the last instruction so far was shown.
    is_shown: bool,
}

/// The state of the annotation.
struct Writer<'a, 'p> {
    page: &'p mut Page,
    view: View<'a>,
    function: &'a FunctionProfile,
    sources: Sources,
    counts: Vec<u64>,
    ops: Vec<u64>,
    /// The number of instructions executed in the whole function.
    all_ops: u64,
    /// The edges out of each block, with their counts.
    ways: Vec<Vec<(&'a EdgeProfile, u64)>>,
    /// The sampled time, if there is any.
    time: Option<FunctionTime>,
    is_counted: bool,
    /// The offsets at which source lines begin, ascending.
    starts: Vec<u32>,
    /// The width of the counts in the margin.
    width: usize,
    /// The next block to begin.
    next: usize,
    /// The block whose instructions are being written.
    open: Option<usize>,
    source: Option<SourceLine>,
    /// The lines that were skipped, if only a part is shown.
    part: Option<Part>,
    /// The function's `try`s.
    tries: Vec<Tried>,
}

impl<'a, 'p> Writer<'a, 'p> {
    fn new(
        page: &'p mut Page,
        annotated: Annotated<'a>,
        code: &[Line],
        time: Option<FunctionTime>,
        part: Option<Part>,
    ) -> Self {
        let Annotated { view, function, is_counted, sources, .. } = annotated;
        let time = time.filter(FunctionTime::has_own);
        let (counts, ops) = (function.block_counts(), function.block_ops());
        let largest = counts.iter().copied().max().unwrap_or(0);
        let width = grouped(largest).len().max(9);
        let times = if is_counted { "times" } else { "" };
        let heading = time.as_ref().map_or_else(String::new, |_| format!("{:>TIME_WIDTH$}  ", "time"));
        page.line(&[span(format!("{heading}{times:>width$}  block"), Ink::Faint)]);
        let (all_ops, ways) = (function.ops(), ways_out(function));
        let (next, open, source) = (0, None, None);
        let tries = match (view.program, is_counted) {
            (Some(program), true) => program.tries(function),
            _ => Vec::new(),
        };
        let mut writer = Self {
            page,
            view,
            function,
            sources,
            counts,
            ops,
            all_ops,
            ways,
            time,
            is_counted,
            starts: Vec::new(),
            width,
            next,
            open,
            source,
            part,
            tries,
        };
        if writer.time.is_some() {
            writer.find_starts(code);
        }
        writer
    }

    /// Finds where source lines begin.
    fn find_starts(&mut self, code: &[Line]) {
        let mut last = None;
        for offset in code.iter().filter(|line| !line.is_structure()).filter_map(|line| line.offset) {
            let line = self.line_at(offset);
            if line.is_some() && line != last {
                self.starts.push(offset);
                last = line;
            }
        }
    }

    /// Returns the source line of the code at `offset`.
    fn line_at(&self, offset: u32) -> Option<SourceLine> {
        match &self.part {
            Some(part) => self.view.line_in(offset, &part.inlined),
            None => self.view.line(offset),
        }
    }

    /// Returns the time of a range of code.
    fn time(&self, code: Range<u32>) -> Span {
        self.time.as_ref().map(|time| time.within(code)).unwrap_or_default()
    }

    /// Writes one line of the disassembly.
    fn line(&mut self, line: &Line) {
        let margin = line.offset.and_then(|offset| {
            self.close_before(offset);
            if !line.is_structure() {
                self.source_line(offset);
            }
            let margin = self.begin_at(offset);
            self.part.iter_mut().for_each(|part| part.is_shown = true);
            margin
        });
        // Dead code, and lines that are only syntax, are faint.
        let ink = if self.open.is_some() { Ink::Plain } else { Ink::Faint };
        let time = line.offset.map(|offset| self.time(offset..offset + 1)).unwrap_or_default();
        let margin = Margin { time, offset: line.offset, ..margin.unwrap_or_default() };
        self.write(margin, span(line.text.clone(), ink));
        if let Some(offset) = line.offset {
            self.tried(offset);
            self.ended_frames(offset);
        }
    }

    /// Ends the open block.
    fn end(&mut self) {
        self.close_before(u32::MAX);
        let rest = self.next..self.function.blocks.len();
        rest.for_each(|block| self.empty_block(block));
    }

    fn write(&mut self, margin: Margin, text: Span) {
        let Margin { time, count, block, offset } = margin;
        let pad = |width: usize, cell: &Span| plain(" ".repeat(width.saturating_sub(cell.width())));
        let (left, right) = (pad(self.width, &count), pad(BLOCK_WIDTH, &block));
        let mut line = match &self.time {
            Some(_) => vec![pad(TIME_WIDTH, &time), time, plain("  ")],
            None => Vec::new(),
        };
        line.extend([left, count, plain("  "), block, right, plain("  ")]);
        if self.page.style().is_wide {
            let offset = offset.map(|offset| format!("{offset:#x}")).unwrap_or_default();
            line.push(span(format!("{offset:<OFFSET_WIDTH$}"), Ink::Faint));
        }
        line.push(text);
        self.page.line(&line);
    }

    /// Returns the width of everything left of the instructions.
    fn margin_width(&self) -> usize {
        let offset = if self.page.style().is_wide { OFFSET_WIDTH } else { 0 };
        let time = if self.time.is_some() { TIME_WIDTH + 2 } else { 0 };
        time + self.width + 2 + BLOCK_WIDTH + 2 + offset
    }

    /// Shows the edges of the open block if its code ends at or before `offset`.
    fn close_before(&mut self, offset: u32) {
        let ended = |block: &usize| self.function.blocks[*block].code.end <= offset;
        if let Some(block) = self.open.filter(ended) {
            self.open = None;
            if self.part.as_ref().is_none_or(|part| part.is_shown) {
                self.edges(block);
            }
            self.part = self.part.take().map(|part| Part { inlined: part.inlined, ..Part::default() });
        }
    }

    /// Begins the block at `offset`, if one begins there, and returns its margin. Blocks without code that begin
    /// earlier are shown at once.
    fn begin_at(&mut self, offset: u32) -> Option<Margin> {
        while let Some(block) = self.function.blocks.get(self.next).filter(|b| b.code.start <= offset) {
            let index = self.next;
            self.next += 1;
            if block.code.end > offset {
                self.open = Some(index);
                return Some(self.margin(index));
            }
            if self.part.is_none() {
                self.empty_block(index);
            }
        }
        let pending = self.part.as_mut().and_then(|part| part.pending.take());
        pending.map(|block| self.margin(block))
    }

    /// Passes an instruction that is not shown.
    fn skip(&mut self, line: &Line, offset: u32) {
        self.close_before(offset);
        let blocks = &self.function.blocks;
        while let Some(block) = blocks.get(self.next).filter(|block| block.code.start <= offset) {
            if block.code.end > offset {
                self.open = Some(self.next);
            }
            self.next += 1;
            let pending = self.open;
            self.part.iter_mut().for_each(|part| part.pending = pending);
        }
        if !line.is_structure() {
            self.part.iter_mut().for_each(|part| part.is_shown = false);
        }
    }

    fn empty_block(&mut self, block: usize) {
        self.write(self.margin(block), span("(no instructions)", Ink::Faint));
        self.edges(block);
    }

    fn margin(&self, block: usize) -> Margin {
        let count = self.counts[block];
        let ink = if count == 0 { Ink::Faint } else { Ink::of_share(self.ops[block], self.all_ops) };
        let block = span(BlockId::new(block).to_string(), Ink::Strong);
        let count = if self.is_counted { span(grouped(count), ink) } else { Span::default() };
        Margin { count, block, ..Margin::default() }
    }

    /// Writes the edges of a block, unless its only edge leads to the next block, or edges were not counted.
    fn edges(&mut self, block: usize) {
        if !self.is_counted {
            return;
        }
        let edges = std::mem::take(&mut self.ways[block]);
        if let [(only, _)] = edges[..]
            && only.to == BlockId::new(block + 1)
        {
            return;
        }
        let left = edges.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        for (edge, count) in edges {
            let ink = if count == 0 { Ink::Faint } else { Ink::Plain };
            let to = if edge.to == self.function.exit() { "exit".to_owned() } else { edge.to.to_string() };
            let share = percent(count, left);
            let text = format!("     └ {:<9} → {to:<5} {share:>6}", way(edge.kind));
            self.write(Margin::count(count, ink), span(text, Ink::Faint));
        }
    }

    /// Writes how often the `try` at an offset was entered, and what it caught.
    fn tried(&mut self, offset: u32) {
        let Ok(place) = self.tries.binary_search_by_key(&offset, |tried| tried.at) else { return };
        let tried = &self.tries[place];
        let caught = tried.caught_in_all().map(|caught| match caught {
            0 => ", caught nothing".to_owned(),
            _ => {
                format!(", caught {} ({}): {}", grouped(caught), percent(caught, tried.entered), what(tried))
            }
        });
        let ink = if tried.entered == 0 { Ink::Faint } else { Ink::Plain };
        let margin = Margin::count(tried.entered, ink);
        let text = format!("     ↳ entered{}", caught.unwrap_or_default());
        self.write(margin, span(text, Ink::Faint));
    }

    /// Writes the frames that ended at an instruction.
    fn ended_frames(&mut self, offset: u32) {
        let here = self.function.exits.iter().filter(|exit| exit.offset == offset);
        let frames = here.map(|exit| exit.count).fold(0, u64::saturating_add);
        if frames > 0 {
            let text = format!("     ✗ {} ended here", if frames == 1 { "call" } else { "calls" });
            self.write(Margin::count(frames, Ink::Bad), span(text, Ink::Bad));
        }
    }

    /// Writes the source line of the code at `offset`, if it differs from the previous one.
    fn source_line(&mut self, offset: u32) {
        let line = self.line_at(offset);
        if line.is_none() || line == self.source {
            return;
        }
        self.source = line;
        let Some(line) = &self.source else { return };
        let text = self.sources.text(line).map(|text| names::harmless(&text.trim().replace('\t', " ")));
        let next = self.starts.partition_point(|&start| start <= offset);
        let time = self.time(offset..self.starts.get(next).copied().unwrap_or(u32::MAX));
        let before = match &self.time {
            Some(_) => TIME_WIDTH.saturating_sub(time.width()),
            None => 0,
        };
        let behind = self.margin_width() - before - time.width();
        let text = span(text.unwrap_or_default(), Ink::Strong);
        let (shown, called) = match (&self.part, &line.inlined) {
            (Some(_), Some(called)) => (line.to_string(), format!("  ({called})")),
            _ => (line.with_function(), String::new()),
        };
        let margin = [plain(" ".repeat(before)), time, plain(" ".repeat(behind))];
        let place = [span(shown, Ink::Warm), plain("  "), text, span(called, Ink::Faint)];
        self.page.line(&[&margin[..], &place].concat());
    }
}
