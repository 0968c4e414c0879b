//! A page for an experiment, and one that lists all rows of the papers.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use super::{EXPERIMENTS, Experiment, How, Row, Runs};
use crate::plot;

/// Makes a table, and writes its page and plot to a folder. One that is timed has a page with its command.
///
/// # Errors
/// If a program fails, or the folder cannot be written.
pub fn write(experiment: &Experiment, runs: &Runs<'_>, inputs: &str, folder: &Path) -> Result<()> {
    let Experiment { paper, item, title, how, plot, paper_has } = experiment;
    let name = format!("{paper}-{item}");
    let mut page = format!("# {paper} {item}: {title}\n\n");
    match how {
        How::Timed(command) => page += &format!("Times are measured on a quiet machine, by `{command}`.\n"),
        How::Counted(make) => {
            let table = make(runs)?;
            page += &format!("Made on {} with {inputs}, by `papers -- {paper} {item}`.\n\n", today());
            page += &table.markdown();
            if let Some(column) = *plot {
                let bars = table.column(column);
                let title = format!("{title}: {}", table.head[column]);
                save(&folder.join(format!("{name}.svg")), &plot::bars(&title, &bars))?;
                page += &format!("\n![{title}]({name}.svg)\n");
            }
            page += &format!("\n{paper_has}\n");
        }
    }
    save(&folder.join(format!("{name}.md")), &page)
}

/// Writes the page that lists all rows of the papers, and what can be made.
///
/// # Errors
/// If the folder cannot be written.
pub fn index(rows: &[Row], folder: &Path) -> Result<()> {
    let mut page = "# The systems of the papers, row by row\n\n## Tables and figures\n\n".to_string();
    for Experiment { paper, item, title, .. } in EXPERIMENTS {
        page += &format!("* [{paper} {item}]({paper}-{item}.md): {title}\n");
    }
    page += "\n## Systems\n\n| row | paper | section | what | status | what is missing |\n|---:|---|---|---|---|---|\n";
    for Row { number, paper, section, what, status, lacking } in rows {
        page += &format!("| {number} | {paper} | {section} | {what} | {status} | {lacking} |\n");
    }
    save(&folder.join("README.md"), &page)
}

fn save(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The day, as `2026-01-31`, of UTC.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(since / 86_400)
}

/// The date of a day since 1970 (Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
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
    use super::date;

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
}
