//! The layout of the texts behind the options of `--help`: paragraphs, tables and examples.
//!
//! Input: a text as the commands have it, whose tables and examples are lines with an indent. Output: the same for a
//! number of columns: a line of a table that does not fit continues below its column, not below its name. Clap alone
//! would wrap it as if it were a paragraph.

use clap::Command;

/// The indent of a continuation line, relative to its line.
const HANGING: usize = 4;

/// The number of columns of help that is not written to a terminal, and the largest that is used.
const USUAL_WIDTH: usize = 100;

/// Lays out the texts of a command and of its subcommands for the terminal.
pub fn laid_out(command: Command) -> Command {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    for_width(command, terminal.or_else(told).unwrap_or(USUAL_WIDTH).clamp(2 * HANGING, USUAL_WIDTH))
}

/// Lays out the texts of a command and of its subcommands for a number of columns.
pub fn for_width(mut command: Command, width: usize) -> Command {
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(wrapped(&text, width));
    }
    if let Some(text) = command.get_after_long_help().map(ToString::to_string) {
        command = command.after_long_help(wrapped(&text, width));
    }
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |inner| for_width(inner, width)));
    command.term_width(width)
}

/// A line of a text: its indent, what stands there, and, in a table, what stands in the second column and where.
#[derive(Debug)]
struct Line {
    indent: usize,
    first: String,
    second: Option<(usize, String)>,
}

impl Line {
    fn new(text: &str) -> Self {
        let first = text.trim_start();
        let indent = text.chars().count() - first.chars().count();
        let gap = first.find("  ").filter(|_| indent > 0);
        let (first, rest) = first.split_at(gap.unwrap_or(first.len()));
        let second = rest.trim_start();
        let column = indent + (first.to_owned() + rest).chars().count() - second.chars().count();
        let second = gap.map(|_| (column, second.to_owned()));
        Self { indent, first: first.to_owned(), second }
    }

    /// Joins the next line if it continues this one; reports whether it does.
    fn takes(&mut self, next: &Line) -> bool {
        let goes_on = match &self.second {
            Some((column, _)) => next.indent == *column,
            None => next.indent == self.indent && self.indent > 2,
        };
        let takes = goes_on && next.second.is_none() && !next.first.is_empty();
        if takes {
            let text = self.second.as_mut().map_or(&mut self.first, |(_, second)| second);
            text.push(' ');
            text.push_str(&next.first);
        }
        takes
    }

    fn write(&self, width: usize, out: &mut Vec<String>) {
        let Self { indent, first, second } = self;
        let Some((column, second)) = second else {
            let hanging = if (1..=2).contains(indent) { indent + HANGING } else { *indent };
            return out.extend(wrapped_at(first, (*indent, hanging), width));
        };
        let whole =
            format!("{}{first}{}", " ".repeat(*indent), " ".repeat(column - indent - first.chars().count()));
        if column + second.chars().count() <= width {
            out.push(whole + second);
        } else if 5 * column <= 2 * width {
            let mut lines = wrapped_at(second, (*column, *column), width);
            lines[0].replace_range(..*column, &whole);
            out.append(&mut lines);
        } else {
            // Too little room is left beside it.
            out.extend(wrapped_at(first, (*indent, indent + HANGING), width));
            out.extend(wrapped_at(second, (indent + HANGING, indent + HANGING), width));
        }
    }
}

/// Lays out a text for a number of columns.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<Line> = Vec::new();
    for line in text.lines().map(Line::new) {
        if !lines.last_mut().is_some_and(|last| last.takes(&line)) {
            lines.push(line);
        }
    }
    let mut out = Vec::new();
    lines.iter().for_each(|line| line.write(width, &mut out));
    out.join("\n")
}

/// Splits a text between words into lines with an indent, that of the first and that of the others.
fn wrapped_at(text: &str, (first, others): (usize, usize), width: usize) -> Vec<String> {
    let mut lines = vec![" ".repeat(first)];
    let mut is_empty = true;
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        let needed = line.chars().count() + usize::from(!is_empty) + word.chars().count();
        if !is_empty && needed > width {
            lines.push(" ".repeat(others) + word);
        } else {
            line.push_str(if is_empty { "" } else { " " });
            line.push_str(word);
        }
        is_empty = false;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_wrap_below_their_columns() {
        let text = "What is counted:\n  edges    how often each branch went\n           each way\n  paths    loops\n  \
            cct=by-callee\n           the same, with less memory than that\n             [cost]\n             \
            a = 4  # most specific";
        let expected = "What is counted:\n  edges    how often each branch\n           went each way\n  paths    \
            loops\n  cct=by-callee\n           the same, with less\n           memory than that\n             \
            [cost]\n             a = 4\n                 # most specific";
        assert_eq!(wrapped(text, 32), expected);
    }

    #[test]
    fn examples_keep_their_remarks() {
        let text = "Examples:\n  wprof run json.wasm 4000 150     sample the program\n  wprof run a.wasm\n\nA \
            paragraph that is longer.";
        let expected = "Examples:\n  wprof run json.wasm 4000 150\n      sample the program\n  wprof run \
            a.wasm\n\nA paragraph that is longer.";
        assert_eq!(wrapped(text, 40), expected);
        assert_eq!(wrapped(text, 100), text);
        assert_eq!(wrapped("  a command too long", 12), "  a command\n      too\n      long");
    }
}
