//! Tables: columns side by side, figures to the right, names to the left.

use super::page::{Ink, Span, plain, span};

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Names.
    Left,
    /// Figures.
    Right,
}

/// A table. The last column may be cut by the page.
#[derive(Clone, Debug)]
pub struct Table {
    titles: Vec<(&'static str, Side)>,
    rows: Vec<Vec<Span>>,
}

/// What stands between columns.
const GAP: &str = "  ";

impl Table {
    /// A table without rows.
    pub fn new(titles: &[(&'static str, Side)]) -> Self {
        Self { titles: titles.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one cell a column.
    pub fn row(&mut self, cells: Vec<Span>) {
        debug_assert_eq!(cells.len(), self.titles.len());
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, titles first unless all are empty. Columns that say nothing are left out.
    pub fn lines(&self) -> Vec<Vec<Span>> {
        let titles = self.titles.iter().map(|&(title, _)| span(title, Ink::Faint)).collect::<Vec<_>>();
        let with_titles = titles.iter().any(|title| !title.is_empty()).then_some(&titles);
        let widths: Vec<usize> = (0..self.titles.len()).map(|column| self.width(column)).collect();
        with_titles.into_iter().chain(&self.rows).map(|row| self.aligned(row, &widths)).collect()
    }

    /// The width of a column; 0 if no row has anything in it.
    fn width(&self, column: usize) -> usize {
        let widest = self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest.max(plain(self.titles[column].0).width()) }
    }

    fn aligned(&self, row: &[Span], widths: &[usize]) -> Vec<Span> {
        let mut line = Vec::new();
        let columns = row.iter().zip(widths).zip(&self.titles).filter(|((_, width), _)| **width > 0);
        for ((cell, &width), &(_, side)) in columns {
            if !line.is_empty() {
                line.push(plain(GAP));
            }
            let padding = plain(" ".repeat(width.saturating_sub(cell.width())));
            match side {
                Side::Left => line.extend([cell.clone(), padding]),
                Side::Right => line.extend([padding, cell.clone()]),
            }
        }
        line
    }
}
