//! A path by the source lines that it runs, such as `t.c:12-15 → 20`.
//!
//! Input: a function of a profile with a module that has debug information, and the blocks of a path. Output: the lines
//! of the program's own source in these blocks, or else a library's, file by file, ascending, and the line at which the
//! path leaves. Invariant: a range contains no line with code of the function that the path does not run, and no long
//! part without code of the function, which would belong to others.

use std::collections::{BTreeSet, HashMap};

use wprof_profiler::export::LineRow;
use wprof_profiler::{BlockId, CodeRange, FunctionProfile, Path, PathEnd};

use super::path_text;
use super::place::{self, Line, Place};
use super::view::View;

/// The maximum size of a function whose lines are all looked up. In a larger one only adjacent lines form a range.
const MOST_CODE: u32 = 4 << 10;

/// The maximum number of bytes of a block whose lines are looked up.
const MOST_OF_BLOCK: usize = 200;

/// The lines of a function's blocks.
#[derive(Debug)]
pub struct PathLines<'a> {
    view: View<'a>,
    function: &'a FunctionProfile,
    /// The rows of the module's line table, if they are at hand; only where one begins can the line change.
    rows: Option<&'a [LineRow]>,
    /// The lines of pieces of code that were looked up.
    known: HashMap<CodeRange, Vec<Line>>,
    /// All lines of the function, if they were looked up.
    all: Option<BTreeSet<Line>>,
}

impl<'a> PathLines<'a> {
    /// Creates the lines of a function; they are looked up when they are needed. `rows` makes that faster.
    pub fn new(view: &View<'a>, function: &'a FunctionProfile, rows: Option<&'a [LineRow]>) -> Self {
        Self { view: *view, function, rows, known: HashMap::new(), all: None }
    }

    /// Describes a path that ran to its end; `None` without debug information.
    pub fn name(&mut self, path: &Path) -> Option<String> {
        if self.rows.is_some_and(<[LineRow]>::is_empty) {
            return None;
        }
        let blocks = path_text::blocks(self.function, path, &PathEnd::Finished(0));
        let to = self.function.edges[path.edges.last()?.index()].to;
        self.describe(&blocks, to)
    }

    fn describe(&mut self, blocks: &[BlockId], to: BlockId) -> Option<String> {
        let mut shown = Vec::new();
        let mut file = String::new();
        for segment in path_text::segments(&self.view, self.function, blocks) {
            let mut lines = Lines::default();
            segment.code.iter().for_each(|&code| lines.add(&self.lines(code)));
            let ranges = self.ranges(lines, &mut file);
            shown.extend(segment.label.filter(|_| !ranges.is_empty()));
            shown.extend(ranges);
        }
        if file.is_empty() {
            return None;
        }
        let to = self.target(to, &file);
        Some(format!("{} → {to}", path_text::shortened(&shown)))
    }

    /// Returns the line at which a block begins, without its file if that is `file`.
    fn target(&mut self, to: BlockId, file: &str) -> String {
        if to == self.function.exit() {
            return path_text::target(self.function, to);
        }
        let code =
            path_text::segments(&self.view, self.function, &[to]).into_iter().flat_map(|part| part.code);
        match code.into_iter().find_map(|code| self.lines(code).into_iter().next()) {
            Some(line) if line.file() == file => line.number().to_string(),
            Some(line) => line.to_string(),
            None => to.to_string(),
        }
    }

    /// Returns the ranges of lines, each with its file unless that is the file before.
    fn ranges(&mut self, lines: Lines, file: &mut String) -> Vec<String> {
        let mut shown = Vec::new();
        for lines in lines.by_file {
            let mut lines = lines.into_iter().peekable();
            while let Some(first) = lines.next() {
                let mut last = first.clone();
                while let Some(next) = lines.next_if(|next| self.is_next(&last, next)) {
                    last = next;
                }
                let begin = if first.file() == file { first.number().to_string() } else { first.to_string() };
                first.file().clone_into(file);
                shown.push(match first == last {
                    true => begin,
                    false => format!("{begin}-{}", last.number()),
                });
            }
        }
        shown
    }

    /// Reports whether two lines of a file are near each other, and no line of the function lies between them.
    fn is_next(&mut self, line: &Line, next: &Line) -> bool {
        if next.number() <= line.number() + 1 {
            return true;
        }
        if !line.is_near(next) {
            return false;
        }
        let FunctionProfile { code, ref blocks, .. } = *self.function;
        if code.end.saturating_sub(code.start) > MOST_CODE {
            return false;
        }
        if self.all.is_none() {
            let all = blocks.iter().flat_map(|block| self.lines(block.code)).collect();
            self.all = Some(all);
        }
        let all = self.all.iter().flatten();
        !all.into_iter().any(|other| line < other && other < next)
    }

    /// Returns the lines of a piece of code in its order: the program's own, or else a library's.
    fn lines(&mut self, code: CodeRange) -> Vec<Line> {
        if let Some(known) = self.known.get(&code) {
            return known.clone();
        }
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for offset in self.offsets(code) {
            // Compilers give some instructions no line; there the line of the surrounding code says little.
            let Some(Place { lines, is_own, .. }) = place::place_with_line(&self.view, offset) else {
                continue;
            };
            let list = if is_own { &mut own } else { &mut others };
            list.extend(lines.into_iter().next().filter(|line| list.last() != Some(line)));
        }
        let found = if own.is_empty() { others } else { own };
        self.known.insert(code, found.clone());
        found
    }
}

impl PathLines<'_> {
    /// Returns the offsets of some code at which lines are looked up.
    fn offsets(&self, code: CodeRange) -> Vec<u32> {
        let Some(rows) = self.rows else {
            return (code.start..code.end).take(MOST_OF_BLOCK).collect();
        };
        let from = rows.partition_point(|row| row.offset <= code.start);
        let within = rows[from..].iter().map(|row| row.offset).take_while(|&offset| offset < code.end);
        [code.start].into_iter().chain(within).collect()
    }
}

/// Lines by file, in the order in which the files come first.
#[derive(Debug, Default)]
struct Lines {
    by_file: Vec<BTreeSet<Line>>,
}

impl Lines {
    fn add(&mut self, lines: &[Line]) {
        for line in lines {
            let is_its =
                |known: &&mut BTreeSet<Line>| known.first().is_some_and(|first| first.file() == line.file());
            match self.by_file.iter_mut().find(is_its) {
                Some(known) => drop(known.insert(line.clone())),
                None => self.by_file.push(BTreeSet::from([line.clone()])),
            }
        }
    }
}
