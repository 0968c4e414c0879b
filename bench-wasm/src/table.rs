//! Tables in Markdown.

/// A table: a row for each program, whose name is the first cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What the figures are.
    pub head: Vec<String>,
    /// Rows; one that has a cell fewer than wanted says why it has no figures.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows; the first column is that of the programs.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Table {
        let head = std::iter::once("program".to_string()).chain(head.into_iter().map(Into::into));
        Table { head: head.collect(), rows: Vec::new() }
    }

    /// Adds a program.
    pub fn row(&mut self, program: &str, cells: impl IntoIterator<Item = String>) {
        self.rows.push(std::iter::once(program.to_string()).chain(cells).collect());
    }

    /// The figures of a column, with the programs, where they are figures.
    pub fn column(&self, column: usize) -> Vec<(&str, f64)> {
        let figure = |row: &'_ Vec<String>| {
            let figure = row.get(column)?.trim_end_matches('%');
            Some(
                figure.replace(',', "").parse::<f64>().ok()?
                    / if row[column].ends_with('%') { 100.0 } else { 1.0 },
            )
        };
        self.rows.iter().filter_map(|row| Some((row[0].as_str(), figure(row)?))).collect()
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|---|{}\n", "---:|".repeat(self.head.len() - 1));
        line(&self.head) + &rule + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn tables_are_markdown_and_columns_are_figures() {
        let mut table = Table::new(["a", "b"]);
        table.row("x", ["1,5".to_string(), "50.0%".to_string()]);
        table.row("y", ["left out".to_string()]);
        assert_eq!(
            table.markdown(),
            "| program | a | b |\n|---|---:|---:|\n| x | 1,5 | 50.0% |\n| y | left out |\n"
        );
        assert_eq!((table.column(1), table.column(2)), (vec![("x", 15.0)], vec![("x", 0.5)]));
    }
}
