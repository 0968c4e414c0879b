//! Tables of ratios.

use wprof_bench::stats::{Spread, geometric_mean};

use super::Row;
use super::kinds::{KINDS, KINDS_PER_CACHE, Peer, Took, plain};

/// Returns the ratios of a kind's runs to those of plain code in the same round.
fn ratio(row: &Row, kind: usize, of: fn(Took) -> f64) -> Spread {
    between(row, kind, plain(kind), of)
}

/// Returns the ratios of a kind's runs to those of another in the same round.
fn between(row: &Row, kind: usize, other: usize, of: fn(Took) -> f64) -> Spread {
    let all = |kind: usize| -> Vec<f64> { row.runs[kind].iter().map(|&took| of(took)).collect() };
    Spread::of_ratios(&all(kind), &all(other))
}

/// Returns what the timer costs: sampled runs over those without it, by state of the cache.
pub fn timer(rows: &[Row]) -> String {
    let cost = |cache: usize| {
        let untimed = cache * KINDS_PER_CACHE + 1;
        let medians: Vec<f64> =
            rows.iter().map(|row| between(row, untimed + 1, untimed, |took| took.processor).median).collect();
        let Spread { min, median, max } = Spread::new(&medians);
        let mean = geometric_mean(medians.iter().copied());
        format!("{mean:.3} (least {min:.3}, median {median:.3}, greatest {max:.3})")
    };
    if rows.is_empty() {
        return String::new();
    }
    format!("The timer alone, sampled over untimed: {} cold, {} warm", cost(0), cost(1))
}

/// Returns a row of the table: milliseconds of plain code, and the ratios of the other kinds.
pub fn line(row: &Row, of: fn(Took) -> f64) -> String {
    let cell = |kind: usize| {
        if kind == plain(kind) {
            let all: Vec<f64> = row.runs[kind].iter().map(|&took| of(took)).collect();
            return format!("{:.0} ms", Spread::new(&all).median);
        }
        let Spread { min, median, max } = ratio(row, kind, of);
        format!("{median:.2} ({min:.2} to {max:.2})")
    };
    let cells: Vec<String> = (0..KINDS.len()).map(cell).collect();
    format!("| {} | {} |", row.name, cells.join(" | "))
}

/// Returns the table of all kinds.
pub fn table(rows: &[Row], of: fn(Took) -> f64) -> String {
    let names = KINDS.map(|kind| kind.name).join(" | ");
    let mean = |kind: usize| {
        let medians = rows.iter().map(|row| ratio(row, kind, of).median);
        let worst = medians.clone().fold(0.0, f64::max);
        if kind == plain(kind) {
            String::new()
        } else {
            format!("{:.3}, at most {worst:.2}", geometric_mean(medians))
        }
    };
    let means: Vec<String> = (0..KINDS.len()).map(mean).collect();
    let lines: Vec<String> = rows.iter().map(|row| line(row, of)).collect();
    let rule = "|---".repeat(KINDS.len() + 1);
    format!(
        "| program | {names} |\n{rule}|\n{}\n| geometric mean of {} | {} |",
        lines.join("\n"),
        rows.len(),
        means.join(" | ")
    )
}

/// Returns the times of wprof with a warm cache over those of other engines in the same round, plain and by default.
pub fn beside(rows: &[Row], peers: &[Peer], of: fn(Took) -> f64) -> String {
    if peers.is_empty() {
        return String::new();
    }
    let kinds = [KINDS_PER_CACHE, KINDS.len() - 1];
    let columns: Vec<(usize, usize)> =
        (0..peers.len()).flat_map(|peer| kinds.map(|kind| (peer, kind))).collect();
    let name = |&(peer, kind): &(usize, usize)| format!("{} over {}", KINDS[kind].name, peers[peer].name());
    let ratio = |row: &Row, &(peer, kind): &(usize, usize)| {
        let times = |runs: &[Took]| runs.iter().map(|&took| of(took)).collect::<Vec<f64>>();
        let theirs = row.peers[peer].as_ref().ok()?;
        Some(Spread::of_ratios(&times(&row.runs[kind]), &times(theirs)))
    };
    let cell = |row: &Row, column: &(usize, usize)| match ratio(row, column) {
        Some(Spread { min, median, max }) => format!("{median:.2} ({min:.2} to {max:.2})"),
        None => "does not run".to_owned(),
    };
    let line = |row: &Row| {
        let cells: Vec<String> = columns.iter().map(|column| cell(row, column)).collect();
        format!("| {} | {} |\n", row.name, cells.join(" | "))
    };
    let mean = |column: &(usize, usize)| {
        let medians: Vec<f64> = rows.iter().filter_map(|row| Some(ratio(row, column)?.median)).collect();
        let worst = medians.iter().copied().fold(0.0, f64::max);
        format!("{:.3} of {}, at most {worst:.2}", geometric_mean(medians.iter().copied()), medians.len())
    };
    let names: Vec<String> = columns.iter().map(name).collect();
    let means: Vec<String> = columns.iter().map(mean).collect();
    let rule = "|---".repeat(columns.len() + 1);
    let lines: String = rows.iter().map(line).collect();
    format!("| program | {} |\n{rule}|\n{lines}| geometric mean | {} |", names.join(" | "), means.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a program with these times for each kind, in two rounds.
    fn row(name: &str, took: [[f64; 2]; KINDS.len()]) -> Row {
        let runs = took.map(|rounds| rounds.map(|processor| Took { processor, wall: 1.0 }).to_vec());
        let theirs = vec![Took { processor: 200.0, wall: 1.0 }, Took { processor: 100.0, wall: 1.0 }];
        Row { name: name.to_owned(), runs, peers: vec![Ok(theirs), Err("it traps".to_owned())] }
    }

    #[test]
    fn ratios_are_of_runs_of_one_round_and_a_cache_as_warm() {
        let rows = [
            row(
                "a",
                [
                    [100.0, 200.0],
                    [100.0, 200.0],
                    [110.0, 220.0],
                    [100.0, 300.0],
                    [50.0; 2],
                    [80.0; 2],
                    [100.0; 2],
                    [50.0; 2],
                ],
            ),
            row("b", [[10.0; 2], [8.0; 2], [10.0; 2], [10.0; 2], [10.0; 2], [10.0; 2], [10.0; 2], [40.0; 2]]),
        ];
        let text = table(&rows, |took| took.processor);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| a | 150 ms | 1.00 (1.00 to 1.00) | 1.10 (1.10 to 1.10) | 1.25 (1.00 to 1.50) | 50 ms | 1.60 (1.60 to 1.60) | 2.00 (2.00 to 2.00) | 1.00 (1.00 to 1.00) |",
                "| b | 10 ms | 0.80 (0.80 to 0.80) | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) | 10 ms | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) | 4.00 (4.00 to 4.00) |",
                "| geometric mean of 2 |  | 0.894, at most 1.00 | 1.049, at most 1.10 | 1.118, at most 1.25 |  | 1.265, at most 1.60 | 1.414, at most 2.00 | 2.000, at most 4.00 |",
            ]
        );
        assert_eq!(
            timer(&rows),
            "The timer alone, sampled over untimed: 1.173 (least 1.100, median 1.175, greatest 1.250) cold, \
             1.118 (least 1.000, median 1.125, greatest 1.250) warm"
        );
        let peers = [Peer::Wasmtime("peer".into()), Peer::V8];
        let beside = beside(&rows, &peers, |took| took.processor);
        let lines: Vec<&str> = beside.lines().collect();
        assert!(
            lines[0]
                .contains("plain, warm over Wasmtime | default, warm over Wasmtime | plain, warm over V8")
        );
        assert_eq!(
            lines[2],
            "| a | 0.38 (0.25 to 0.50) | 0.38 (0.25 to 0.50) | does not run | does not run |"
        );
        assert!(lines[4].starts_with("| geometric mean | 0.168 of 2, at most 0.38 |"), "{}", lines[4]);
    }
}
