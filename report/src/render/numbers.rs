//! Formatting of numbers for people.

/// Formats a number with separators: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a share as `65.8%`; `<0.1%` for small shares other than 0.
pub fn percent(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return "0%".to_owned();
    }
    share(part as f64 / whole as f64)
}

/// Formats a share from 0 to 1 as a percentage; only 1 is `100%`, and only 0 is `0%`.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent <= 0.0 => "0%".to_owned(),
        _ if percent < 0.05 => "<0.1%".to_owned(),
        _ if percent == 100.0 => "100%".to_owned(),
        _ if (99.95..100.0).contains(&percent) => ">99.9%".to_owned(),
        _ => format!("{percent:.1}%"),
    }
}

/// Formats the share of a run that is in a sample, however small, from 0 to 1: `2.345%`, `0.00013%`.
pub fn sampled_share(share: f64) -> String {
    let percent = share * 100.0;
    let is_tiny = percent > 0.0 && percent < 0.01;
    // Two digits that tell something.
    let decimals = if is_tiny { (1.0 - percent.log10().floor()).min(12.0) as usize } else { 3 };
    format!("{percent:.decimals$}%")
}

/// Formats an average: `12.4`, `1,234`.
pub fn average(value: f64) -> String {
    if value < 1000.0 { format!("{value:.1}") } else { grouped(value.round() as u64) }
}

/// Formats a duration in nanoseconds: `12.3 ms`, `1.24 s`, `3 min 20 s`.
pub fn duration(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match ns {
        0..1_000_000 => format!("{:.0} µs", seconds * 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", seconds * 1e3),
        1_000_000_000..60_000_000_000 => format!("{seconds:.2} s"),
        _ => format!("{} min {} s", ns / 60_000_000_000, ns / 1_000_000_000 % 60),
    }
}

/// Formats a count with a noun: `1 call`, `2 calls`, `2 branches`.
pub fn count_of(count: u64, noun: &str) -> String {
    let plural = match noun {
        _ if count == 1 => "",
        hissing if hissing.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_nouns_in_the_right_number() {
        let all = [(1, "call"), (0, "call"), (2000, "branch"), (1, "branch")];
        let all = all.map(|(count, noun)| count_of(count, noun));
        assert_eq!(all, ["1 call", "0 calls", "2,000 branches", "1 branch"]);
    }

    #[test]
    fn thousands_are_grouped() {
        let all = [0, 999, 1000, 1_234_567, u64::MAX].map(grouped);
        assert_eq!(all, ["0", "999", "1,000", "1,234,567", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn little_is_not_nothing_and_almost_all_is_not_all() {
        let all = [(0, 7), (1, 100_000), (658, 1000), (99_999, 100_000), (7, 7), (1, 0)];
        let all = all.map(|(part, whole)| percent(part, whole));
        assert_eq!(all, ["0%", "<0.1%", "65.8%", ">99.9%", "100%", "0%"]);
    }

    #[test]
    fn small_samples_have_two_digits() {
        let all = [0.0, 0.000_001_34, 0.000_000_01, 0.0001, 0.023_456, 1.0].map(sampled_share);
        assert_eq!(all, ["0.000%", "0.00013%", "0.0000010%", "0.010%", "2.346%", "100.000%"]);
    }

    #[test]
    fn durations_have_a_fitting_unit() {
        let all = [900, 12_345_678, 1_239_000_000, 200_000_000_000].map(duration);
        assert_eq!(all, ["1 µs", "12.3 ms", "1.24 s", "3 min 20 s"]);
    }
}
