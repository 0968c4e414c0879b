//! Tables in Markdown.

/// A table with a row for each program, whose name is the first cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows; a row that has one cell less gives the reason why there are no figures.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows; the first column has the programs.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Table {
        let head = std::iter::once("program".to_string()).chain(head.into_iter().map(Into::into));
        Table { head: head.collect(), rows: Vec::new() }
    }

    /// Adds the row of a program.
    pub fn row(&mut self, program: &str, cells: impl IntoIterator<Item = String>) {
        self.rows.push(std::iter::once(program.to_string()).chain(cells).collect());
    }

    /// Returns the numeric figures of a column, with their programs.
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

    /// Formats the table as Markdown.
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
