//! A table in Markdown with one row per program.

use std::fmt;

use wprof_bench::stats::geometric_mean;

/// A table of figures and ratios; its last row has the geometric means of the ratios.
pub struct Table {
    title: &'static str,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    ratios: Vec<Vec<f64>>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(title: &'static str, figures: &[&str], ratios: &[&str]) -> Table {
        let head = ["program"].iter().chain(figures).chain(ratios).map(ToString::to_string).collect();
        Table { title, head, rows: Vec::new(), ratios: vec![Vec::new(); ratios.len()] }
    }

    /// Adds the row of a program.
    pub fn row(&mut self, program: &str, figures: &[f64], ratios: &[f64]) {
        for (all, ratio) in self.ratios.iter_mut().zip(ratios) {
            all.push(*ratio);
        }
        let figures = figures.iter().map(|figure| format!("{figure:.1}"));
        let ratios = ratios.iter().map(|ratio| format!("{ratio:.3}"));
        self.texts(program, &figures.chain(ratios).collect::<Vec<_>>());
    }

    /// Adds a row that is excluded from the means.
    pub fn texts(&mut self, program: &str, cells: &[String]) {
        self.rows.push([&[program.to_owned()], cells].concat());
    }

    /// Returns the geometric means of the ratios.
    pub fn means(&self) -> Vec<f64> {
        self.ratios.iter().map(|all| geometric_mean(all.iter().copied())).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        write!(f, "## {}\n\n{}|{}\n", self.title, line(&self.head), "---|".repeat(self.head.len()))?;
        self.rows.iter().try_for_each(|row| f.write_str(&line(row)))?;
        if self.ratios.iter().any(|all| !all.is_empty()) {
            let figures = self.head.len() - 1 - self.ratios.len();
            let empty = std::iter::repeat_n(String::new(), figures);
            let means = self.means().into_iter().map(|mean| format!("**{mean:.3}**"));
            let name = std::iter::once("geometric mean".to_owned());
            f.write_str(&line(&name.chain(empty).chain(means).collect::<Vec<_>>()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_a_mean_and_figures_have_none() {
        let mut table = Table::new("T", &["ms"], &["a"]);
        table.row("p", &[7.0], &[2.0]);
        table.row("q", &[9.0], &[0.5]);
        let text = "## T\n\n| program | ms | a |\n|---|---|---|\n| p | 7.0 | 2.000 |\n| q | 9.0 | 0.500 |\n\
                    | geometric mean |  | **1.000** |\n";
        assert_eq!(table.to_string(), text);
    }
}
