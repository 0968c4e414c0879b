//! Tables with aligned columns: figures are right-aligned, names left-aligned.

use super::page::{Ink, Span, plain, span};

/// The alignment of a column, and the order in which columns are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Names: the first to be cut where there is no room, the longest first.
    Left,
    /// Places: cut when names are short already, so that their lines stay.
    Place,
    /// Figures.
    Right,
}

/// A table. Figures are never cut.
#[derive(Clone, Debug)]
pub struct Table {
    titles: Vec<(&'static str, Side)>,
    rows: Vec<Vec<Span>>,
}

/// The gap between columns.
const GAP: &str = "  ";

/// The width to which names are padded where they are not cut.
const MOST_PADDED: usize = 60;

/// The width below which names and places are not cut.
const NARROWEST: usize = 12;

impl Table {
    /// Creates a table without rows.
    pub fn new(titles: &[(&'static str, Side)]) -> Self {
        Self { titles: titles.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one cell per column.
    ///
    /// # Panics
    /// Panics in debug builds if the number of cells is not that of the columns.
    pub fn row(&mut self, cells: Vec<Span>) {
        debug_assert_eq!(cells.len(), self.titles.len());
        self.rows.push(cells);
    }

    /// Reports whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the lines for `room` columns, titles first unless all are empty. Empty columns are left out. Without a
    /// limit of the room names may be longer than any line of a terminal, so nothing is aligned behind them.
    pub(crate) fn lines(&self, room: Option<usize>) -> Vec<Vec<Span>> {
        let titles = self.titles.iter().map(|&(title, _)| span(title, Ink::Faint)).collect::<Vec<_>>();
        let with_titles = titles.iter().any(|title| !title.is_empty()).then_some(&titles);
        let widths = self.widths(room.unwrap_or(usize::MAX));
        let most = if room.is_some() { usize::MAX } else { MOST_PADDED };
        with_titles.into_iter().chain(&self.rows).map(|row| self.aligned(row, &widths, most)).collect()
    }

    /// Returns the widths of the columns; their sum fits the room if names and places can be cut far enough.
    fn widths(&self, room: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.titles.len()).map(|column| self.width(column)).collect();
        for side in [Side::Left, Side::Place] {
            while let Some(excess) = excess(&widths, room) {
                let of_side = |column: &usize| self.titles[*column].1 == side;
                let mut sorted: Vec<usize> = (0..widths.len()).filter(of_side).collect();
                sorted.sort_by_key(|&column| std::cmp::Reverse(widths[column]));
                let Some(&widest) = sorted.first().filter(|&&widest| widths[widest] > NARROWEST) else {
                    break;
                };
                // Cut to the width of the next column, so that no name is cut while another is longer.
                let next = sorted.get(1).map_or(0, |&next| widths[next]);
                let cut = if widths[widest] > next { excess.min(widths[widest] - next) } else { 1 };
                widths[widest] = (widths[widest] - cut).max(NARROWEST);
            }
        }
        widths
    }

    /// Returns the width of a column; 0 if all its cells are empty.
    fn width(&self, column: usize) -> usize {
        let widest = self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest.max(plain(self.titles[column].0).width()) }
    }

    /// Returns the cells of a row; those of names are padded to `most` columns at most.
    fn aligned(&self, row: &[Span], widths: &[usize], most: usize) -> Vec<Span> {
        let mut line = Vec::new();
        let columns = row.iter().zip(widths).zip(&self.titles).filter(|((_, width), _)| **width > 0);
        for ((cell, &width), &(_, side)) in columns {
            if !line.is_empty() {
                line.push(plain(GAP));
            }
            let padded = if side == Side::Right { width } else { width.min(most) };
            let padding = plain(" ".repeat(padded.saturating_sub(cell.width())));
            match side {
                Side::Left => line.extend([cell.cut(width), padding]),
                Side::Place => line.extend([cell.cut_place(width), padding]),
                Side::Right => line.extend([padding, cell.clone()]),
            }
        }
        line
    }
}

/// Returns by how many columns the table exceeds the room.
fn excess(widths: &[usize], room: usize) -> Option<usize> {
    let shown = widths.iter().filter(|&&width| width > 0);
    let width = shown.clone().sum::<usize>() + GAP.len() * shown.count().saturating_sub(1);
    width.checked_sub(room).filter(|&excess| excess > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::page::Page;
    use crate::render::style::Style;

    fn text(width: usize) -> String {
        let mut table = Table::new(&[
            ("calls", Side::Right),
            ("place", Side::Place),
            ("callee", Side::Left),
            ("caller", Side::Left),
        ]);
        let cells =
            ["1,234,567", "a_long_file.rs:1234", "a::function::of::some::length", "another::function"];
        table.row(cells.map(plain).to_vec());
        let mut page = Page::new(Style { width, cut: true, ..Style::default() });
        page.table(&table);
        page.into_text().lines().nth(1).unwrap().to_owned()
    }

    #[test]
    fn names_that_are_not_cut_are_not_padded_to_the_longest() {
        let mut table = Table::new(&[("function", Side::Left), ("place", Side::Place)]);
        for name in ["f".to_owned(), "g".repeat(1000)] {
            table.row(vec![plain(name), plain("a.rs:1")]);
        }
        let mut page = Page::new(Style { width: 120, cut: false, ..Style::default() });
        page.table(&table);
        let text = page.into_text();
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(widths[1] < 120 && widths[2] > 1000, "{text}");
    }

    #[test]
    fn the_longest_names_are_cut_first_and_places_last() {
        assert_eq!(
            text(90),
            "  1,234,567  a_long_file.rs:1234  a::function::of::some::length  another::function"
        );
        assert_eq!(text(72), "  1,234,567  a_long_file.rs:1234  a::function::of::s…  another::function");
        assert_eq!(text(60), "  1,234,567  a_long_file.rs:1234  a::function…  another::fu…");
        assert_eq!(text(55), "  1,234,567  a_long_f…:1234  a::function…  another::fu…");
        assert!(
            text(20).starts_with("  1,234,567  a_long") && text(20).chars().count() == 20,
            "{}",
            text(20)
        );
    }
}
