//! Writes a page for each paper, with its tables, figures and rows, and a page that lists the papers.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use super::{Experiment, How, PAPERS, Plot, Row, Runs, experiments};
use crate::plot;
use crate::table::Table;

/// The file name of a plot, and its text.
type Drawing = (String, String);

/// Writes all pages to a folder: those of the papers, and `README.md`. `how` names the inputs and the command.
///
/// # Errors
/// Returns an error if a program fails, or the folder cannot be written.
pub fn write_all(rows: &[Row], runs: &Runs<'_>, how: &str, folder: &Path) -> Result<()> {
    let made = format!("Made on {} by {how}.", today());
    for (paper, title) in PAPERS {
        let mut page = format!("# {paper}: {title}\n\n{made}\n\n");
        for experiment in experiments().filter(|experiment| experiment.paper == paper) {
            let (text, drawing) = section(experiment, runs)?;
            page += &format!("{} {}\n\n{text}\n", heading(experiment), experiment.title);
            if let Some((name, svg)) = drawing {
                save(&folder.join(name), &svg)?;
            }
        }
        page += &format!("{ROWS}{}", rows_of(rows, paper));
        save(&folder.join(format!("{paper}.md")), &page)?;
    }
    save(&folder.join("README.md"), &index(rows, &made))
}

/// Returns the beginning of an experiment's heading.
fn heading(experiment: &Experiment) -> String {
    format!("## <a id=\"{}\"></a>{}", experiment.item, experiment.item)
}

/// The heading of the rows of a paper.
const ROWS: &str = "## Rows\n\n";

/// Makes some experiments anew in the pages of a folder, and all rows.
///
/// # Errors
/// Returns an error if a program fails, or if the folder has no such pages.
pub fn renew(rows: &[Row], chosen: &[&Experiment], runs: &Runs<'_>, folder: &Path) -> Result<()> {
    let read =
        |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    for (paper, _) in PAPERS {
        let path = folder.join(format!("{paper}.md"));
        let page = read(&path)?;
        let (before, _) = page.split_once(ROWS).with_context(|| format!("{}: no rows", path.display()))?;
        let mut page = before.to_owned();
        for experiment in experiments().filter(|experiment| experiment.paper == paper) {
            if chosen.iter().any(|one| (one.paper, one.item) == (experiment.paper, experiment.item)) {
                let (text, drawing) = section(experiment, runs)?;
                let text = format!("{} {}\n\n{text}\n", heading(experiment), experiment.title);
                page = with_section(&page, experiment, &text);
                drawing.map_or(Ok(()), |(name, svg)| save(&folder.join(name), &svg))?;
            }
        }
        save(&path, &format!("{page}{ROWS}{}", rows_of(rows, paper)))?;
    }
    let path = folder.join("README.md");
    let page = read(&path)?;
    let made = page.lines().find_map(|line| Some(line.split_once(" A single one ")?.0));
    save(&path, &index(rows, made.with_context(|| format!("{}: not made by this", path.display()))?))
}

/// Returns a page with this text in place of an experiment's, or before that of the next experiment that it has.
fn with_section(page: &str, experiment: &Experiment, text: &str) -> String {
    let of_paper = experiments().filter(|other| other.paper == experiment.paper);
    let later: Vec<&Experiment> = of_paper.skip_while(|other| other.item != experiment.item).collect();
    let begins = |other: &&Experiment| page.find(&format!("{} ", heading(other)));
    let start = later.iter().find_map(begins).unwrap_or(page.len());
    let end = match begins(&experiment) {
        Some(_) => later.iter().skip(1).find_map(begins).unwrap_or(page.len()),
        None => start,
    };
    format!("{}{text}{}", &page[..start], &page[end..])
}

/// Returns an experiment as Markdown, and its plot.
///
/// # Errors
/// Returns an error if a program fails.
pub fn section(experiment: &Experiment, runs: &Runs<'_>) -> Result<(String, Option<Drawing>)> {
    match experiment.how {
        How::Timed { command, record } => Ok((
            format!(
                "Times want a quiet machine: `{command}`. Of a run of it: \
                 [record](../../bench-wasm/records/{record}).\n"
            ),
            None,
        )),
        How::Counted(make) => {
            let table = make(runs).with_context(|| format!("{} {}", experiment.paper, experiment.item))?;
            let drawing = drawing(experiment, &table);
            let mut text = table.markdown();
            if let Some((name, _)) = &drawing {
                text += &format!("\n![{}]({name})\n", experiment.title);
            }
            Ok((text + &beside_theirs(experiment, &table) + &format!("\n{}\n", experiment.differs), drawing))
        }
    }
}

fn drawing(experiment: &Experiment, table: &Table) -> Option<Drawing> {
    let name = format!("{}-{}.svg", experiment.paper, experiment.item);
    let svg = match experiment.plot {
        Plot::None => return None,
        Plot::Bars(column) => plot::bars(&table.head[column], &table.column(column)),
        Plot::Points(x, y) => {
            let heights = table.column(y);
            let height = |name| heights.iter().find(|(other, _)| *other == name).map(|&(_, height)| height);
            let points: Vec<(&str, f64, f64)> = table
                .column(x)
                .into_iter()
                .filter_map(|(name, at)| Some((name, at, height(name)?)))
                .collect();
            plot::points(experiment.title, (&table.head[x], &table.head[y]), &points)
        }
    };
    Some((name, svg))
}

/// Returns the paper's figures beside the means of ours, if the paper has any.
fn beside_theirs(experiment: &Experiment, table: &Table) -> String {
    if experiment.theirs.is_empty() {
        return String::new();
    }
    let row = |theirs: &super::Theirs| {
        let ours = table.column(theirs.column);
        let mean = ours.iter().map(|(_, figure)| figure).sum::<f64>() / ours.len().max(1) as f64;
        let is_share = table.rows.iter().any(|row| row.get(theirs.column).is_some_and(|c| c.ends_with('%')));
        let mean = if is_share { format!("{:.1}%", 100.0 * mean) } else { format!("{mean:.2}") };
        format!("| {} | {} | {mean} |\n", theirs.figure, theirs.paper)
    };
    let rows: String = experiment.theirs.iter().map(row).collect();
    format!("\n| | the paper | ours, mean |\n|---|---:|---:|\n{rows}")
}

/// Returns the rows of a paper; each has the anchor `#row-N`, and links to the experiments made from it and to what shows
/// that it works.
fn rows_of(rows: &[Row], paper: &str) -> String {
    let line = |row: &Row| {
        let Row { number, section, what, status, lacking, .. } = row;
        let made = experiments().filter(|experiment| experiment.rows.contains(number));
        let links: Vec<String> = made.map(|e| format!("[{}]({}.md#{})", e.item, e.paper, e.item)).collect();
        let (file, test) = row.shown_by();
        let name = if test.is_empty() { file } else { test };
        let shown = if file.is_empty() { String::new() } else { format!("[{name}](../../{file})") };
        format!(
            "| <a id=\"row-{number}\"></a>{number} | {section} | {what} | {status} | {lacking} | {} | {shown} |\n",
            links.join(", ")
        )
    };
    let head = "| row | section | what | status | what is missing | tables and figures | shown by |\n\
                |---:|---|---|---|---|---|---|\n";
    head.to_owned() + &rows.iter().filter(|row| row.paper == paper).map(line).collect::<String>()
}

fn index(rows: &[Row], made: &str) -> String {
    let mut page = format!(
        "# The papers: their tables and figures for our programs\n\n{made} \
         A single one is printed by `papers -- S002 table3`.\n\n\
         | | paper | rows | work | partly | missing |\n|---|---|---:|---:|---:|---:|\n"
    );
    for (paper, title) in PAPERS {
        let of: Vec<&Row> = rows.iter().filter(|row| row.paper == paper).collect();
        let count = |status: &str| of.iter().filter(|row| row.status == status).count();
        page += &format!(
            "| [{paper}]({paper}.md) | {title} | {} | {} | {} | {} |\n",
            of.len(),
            count("works"),
            count("partial"),
            count("missing")
        );
    }
    page += "\n## Tables and figures\n\n";
    for Experiment { paper, item, title, .. } in experiments() {
        page += &format!("* [{paper} {item}]({paper}.md#{item}): {title}\n");
    }
    page += "\n## Rows\n\n";
    for row in rows {
        page += &format!(
            "* [{}]({}.md#row-{}) {}: {}\n",
            row.number, row.paper, row.number, row.what, row.status
        );
    }
    page
}

fn save(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the current UTC date, such as `2026-01-31`.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(since / 86_400)
}

/// Returns the date of a day counted from 1970 (Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{}-{month:02}-{day:02}", era * 400 + year + next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::Theirs;

    #[test]
    fn days_have_dates() {
        let dates = [0, 58, 59, 364, 365, 11_016, 20_000].map(date);
        let expected = [
            "1970-01-01",
            "1970-02-28",
            "1970-03-01",
            "1970-12-31",
            "1971-01-01",
            "2000-02-29",
            "2024-10-04",
        ];
        assert_eq!(dates, expected);
    }

    #[test]
    fn the_papers_figures_stand_beside_the_means_of_ours() {
        let experiment = Experiment {
            paper: "S000",
            item: "table9",
            title: "t",
            rows: &[1],
            how: How::Timed { command: "c", record: "r.md" },
            plot: Plot::Bars(2),
            theirs: &[
                Theirs { figure: "count", paper: "7", column: 1 },
                Theirs { figure: "share", paper: "8%", column: 2 },
            ],
            differs: "",
        };
        let mut table = Table::new(["count", "share"]);
        table.row("a", ["1".to_owned(), "10.0%".to_owned()]);
        table.row("b", ["2".to_owned(), "30.0%".to_owned()]);
        table.row("c", ["it failed".to_owned()]);
        let text = beside_theirs(&experiment, &table);
        assert!(text.contains("| count | 7 | 1.50 |\n| share | 8% | 20.0% |"), "{text}");
        let (name, svg) = drawing(&experiment, &table).expect("it has a plot");
        assert!(name == "S000-table9.svg" && svg.contains(">share<"), "{svg}");
    }

    #[test]
    fn a_section_is_made_anew_or_comes_in_its_order() {
        let [first, second, third] = [0, 1, 2].map(|at| experiments().nth(at).expect("there are more"));
        let text = |experiment: &Experiment, text: &str| format!("{} {text}\n", heading(experiment));
        let page = format!("head\n{}{}", text(first, "one"), text(third, "three"));
        let anew = with_section(&page, first, &text(first, "ONE"));
        assert_eq!(anew, format!("head\n{}{}", text(first, "ONE"), text(third, "three")));
        let more = with_section(&page, second, &text(second, "two"));
        assert_eq!(
            more,
            format!("head\n{}{}{}", text(first, "one"), text(second, "two"), text(third, "three"))
        );
    }
}
