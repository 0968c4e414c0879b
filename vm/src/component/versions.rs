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

/// Returns the name with the highest version that is compatible with a name's.
pub fn highest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = compatible(wanted)?;
    names.filter(|name| compatible(name) == Some(wanted)).max_by_key(|name| (numbers(name), *name))
}

/// Returns the numbers of a version.
fn numbers(name: &str) -> Vec<u64> {
    let version = name.split_once('@').map_or("", |(_, version)| version);
    version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::{compatible, highest};

    #[test]
    fn the_highest_of_compatible_versions_is_found() {
        let names = ["a:b/c@0.2.9", "a:b/c@0.2.10", "a:b/c@0.2.1", "a:b/c@0.3.11", "a:b/d@0.2.12", "a:b/c"];
        let mut reversed = names;
        reversed.reverse();
        for names in [names, reversed] {
            let find = |wanted| highest(wanted, names.into_iter());
            assert_eq!(find("a:b/c@0.2.0"), Some("a:b/c@0.2.10"));
            assert_eq!(find("a:b/c@0.2.11"), Some("a:b/c@0.2.10"));
            assert_eq!([find("a:b/c@0.4.0"), find("a:b/c"), find("a:b/c@0.2.0-rc")], [None; 3]);
        }
    }

    #[test]
    fn versions_fit_those_with_the_same_meaning() {
        assert_eq!(compatible("wasi:cli/run@0.2.6"), Some("wasi:cli/run@0.2"));
        assert_eq!(compatible("wasi:cli/run@1.2.6"), Some("wasi:cli/run@1"));
        assert_eq!(compatible("wasi:cli/run@0.0.6"), Some("wasi:cli/run@0.0.6"));
        assert_eq!(compatible("wasi:cli/run@0.3.0-rc"), None);
        assert_eq!(compatible("run"), None);
    }
}
