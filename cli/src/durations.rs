//! Durations on the command line.

use std::time::Duration;

/// Parses `5s`, `1.5m`, `200ms`, `50us`.
///
/// # Errors
/// Returns an error if the text has another form, or the duration is zero or longer than a year.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("give a number and a unit, us, ms, s, m or h, such as 5s".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "give a duration such as 5s".to_owned())?;
    let fits = |seconds: &f64| (1e-9..=366.0 * 24.0 * 3600.0).contains(seconds);
    let seconds = Some(number * seconds).filter(fits);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "give a duration from 1us to a year".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let all = ["5s", "1.5m", "200ms", "50us", "1h"].map(|text| parse(text).unwrap().as_micros());
        assert_eq!(all, [5_000_000, 90_000_000, 200_000, 50, 3_600_000_000]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "5", "s", "0s", "-1s", "1.2.3s", "1d", "99999h", "inf s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
