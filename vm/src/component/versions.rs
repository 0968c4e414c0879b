//! Versions in names of imports and exports.

/// Returns a name without the part that may differ between compatible versions: `a:b/c@0.2` for `a:b/c@0.2.5`,
/// `a:b/c@1` for `a:b/c@1.2.3`. Pre-release versions match only themselves.
pub fn compatible(name: &str) -> Option<&str> {
    let (start, version) = name.split_once('@')?;
    if version.contains(['-', '+']) {
        return None;
    }
    let numbers = if version.starts_with("0.0.") {
        3
    } else if version.starts_with("0.") {
        2
    } else {
        1
    };
    let kept: usize = version.split('.').take(numbers).map(|number| number.len() + 1).sum();
    name.get(..start.len() + kept)
}

#[cfg(test)]
mod tests {
    use super::compatible;

    #[test]
    fn versions_fit_those_with_the_same_meaning() {
        assert_eq!(compatible("wasi:cli/run@0.2.6"), Some("wasi:cli/run@0.2"));
        assert_eq!(compatible("wasi:cli/run@1.2.6"), Some("wasi:cli/run@1"));
        assert_eq!(compatible("wasi:cli/run@0.0.6"), Some("wasi:cli/run@0.0.6"));
        assert_eq!(compatible("wasi:cli/run@0.3.0-rc"), None);
        assert_eq!(compatible("run"), None);
    }
}
