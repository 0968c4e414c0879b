//! The names of its crate's root that a file uses, in imports and in paths elsewhere.
//!
//! The names follow `crate::`, or as many `super::` as lead to the root from their module: an inline module is one
//! level deeper than its file. Both may be followed by a group in braces.

use std::collections::BTreeSet;

use crate::tokens::without_tests;

/// Returns the names of the root in the tokens of a file whose module has the path `place`. `*` stands for all names.
pub fn imports(tokens: &[String], place: &[String]) -> BTreeSet<String> {
    let tokens = without_tests(tokens);
    let mut found = BTreeSet::new();
    // The number of open braces in each enclosing inline module.
    let mut inline: Vec<usize> = Vec::new();
    for at in 0..tokens.len() {
        match tokens[at].as_str() {
            "{" if is_module(&tokens[..at]) => inline.push(1),
            "{" => inline.last_mut().into_iter().for_each(|open| *open += 1),
            "}" => {
                inline.last_mut().into_iter().for_each(|open| *open -= 1);
                if inline.last() == Some(&0) {
                    inline.pop();
                }
            }
            "crate" => found.extend(names_behind(&tokens[at + 1..])),
            "super" if !is_behind_path(&tokens[..at]) => {
                let levels = supers(&tokens[at..]);
                if levels == place.len() + inline.len() {
                    // Each `super` is a word and two colons; the colons of the last one precede the name.
                    found.extend(names_behind(&tokens[at + 3 * levels - 2..]));
                }
            }
            _ => {}
        }
    }
    found
}

/// Reports whether a brace after these tokens opens an inline module.
fn is_module(before: &[String]) -> bool {
    before.len() >= 2 && before[before.len() - 2] == "mod"
}

fn is_behind_path(before: &[String]) -> bool {
    before.last().is_some_and(|token| token == ":")
}

/// Returns the number of `super::`.
fn supers(tokens: &[String]) -> usize {
    let is_level =
        |level: &&[String]| level.len() == 3 && level[0] == "super" && level[1] == ":" && level[2] == ":";
    tokens.chunks(3).take_while(is_level).count()
}

/// Returns the first name of each path after `::`.
fn names_behind(tokens: &[String]) -> Vec<String> {
    let [first, second, rest @ ..] = tokens else { return Vec::new() };
    match rest.first().map(String::as_str) {
        Some("{") if first == ":" && second == ":" => group(&rest[1..]),
        // All macros are in the root, wherever they are defined.
        Some(_) if rest.get(1).is_some_and(|token| token == "!") => Vec::new(),
        Some(name) if first == ":" && second == ":" => vec![name.into()],
        _ => Vec::new(),
    }
}

/// Returns the first name of each path of a group whose brace is open.
fn group(tokens: &[String]) -> Vec<String> {
    let (mut names, mut depth, mut is_first) = (Vec::new(), 0_usize, true);
    for token in tokens {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            "," if depth == 0 => is_first = true,
            name if is_first => {
                names.push(name.into());
                is_first = false;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, place: &[&str]) -> String {
        let place: Vec<String> = place.iter().map(ToString::to_string).collect();
        imports(&crate::tokens::tokens(text), &place).into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_stand_behind_crate() {
        assert_eq!(found("use crate::a::b; fn f() { crate::c::g() }", &["m"]), "a c");
        assert_eq!(found("use crate::{a::{b, c}, d as e, f::g};", &["m"]), "a d f");
        assert_eq!(found("/// [`a`](crate::a)\npub(crate) struct S;", &["m"]), "");
        assert_eq!(found("#[cfg(test)] mod tests { use crate::a; }", &["m"]), "");
        assert_eq!(found("macro_rules! m { () => { $crate::a::f() } } crate::m!();", &["m"]), "a");
    }

    #[test]
    fn names_stand_behind_as_many_supers_as_lead_to_the_root() {
        assert_eq!(found("use super::a; use super::super::b;", &["m"]), "a");
        assert_eq!(
            found("use super::a; use super::super::{b, c::d}; super::super::e();", &["m", "n"]),
            "b c e"
        );
        assert_eq!(found("mod inner { use super::a; use super::super::b; } use super::c;", &["m"]), "b c");
        assert_eq!(found("use super::*;", &["m"]), "*");
        assert_eq!(found("use self::super::a; pub(super) fn f() {}", &["m"]), "");
    }
}
