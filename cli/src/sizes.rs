//! Sizes in bytes on the command line.

/// Parses `65536`, `64K`, `64MiB`, `2G`: units are powers of 1024.
///
/// # Errors
/// Returns an error if the text has another form, or the size is not below 2^64.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(format!("unknown unit `{unit}`: use K, M, G or T")),
    };
    let number: u64 = number.parse().map_err(|_| "give a size such as 64M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "that is more than 2^64 bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_have_binary_units() {
        let all = ["65536", "64K", "64 kb", "2GiB", "0"].map(|text| parse(text).unwrap());
        assert_eq!(all, [65536, 65536, 65536, 2 << 30, 0]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "M", "12Q", "-1", "99999999999T", "1.5G"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
