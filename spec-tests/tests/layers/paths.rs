//! The whole paths of a file, from the root of its crate.
//!
//! A path begins with `crate`, with `self` or with as many `super` as lead to one of the modules around its own; in imports
//! it may also begin with a module inside its own. A group in braces stands for a path each.

use crate::tokens::without_tests;

/// The segments of a path, from the root; the last is `*` if it stands for all names.
pub type Path = Vec<String>;

/// A path, and the name that it introduces if it is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The path.
    pub path: Path,
    /// The name; `None` if the path stands in code.
    pub name: Option<String>,
}

/// Returns the paths in the tokens of a file whose module is `place`; `is_child` tells the modules inside it.
pub fn uses(tokens: &[String], place: &[String], is_child: &dyn Fn(&str) -> bool) -> Vec<Use> {
    let tokens = without_tests(tokens);
    let mut found = Vec::new();
    // The inline modules around the current token, each with its number of open braces.
    let mut inline: Vec<(String, usize)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = &tokens[..at];
        match token.as_str() {
            "{" if before.len() >= 2 && before[before.len() - 2] == "mod" => {
                inline.push((before[at - 1].clone(), 1))
            }
            "{" => inline.last_mut().into_iter().for_each(|(_, open)| *open += 1),
            "}" => {
                inline.last_mut().into_iter().for_each(|(_, open)| *open -= 1);
                if inline.last().is_some_and(|(_, open)| *open == 0) {
                    inline.pop();
                }
            }
            _ if before.last().is_some_and(|token| token == ":") => {}
            "crate" | "self" | "super" => {
                let inside = inline.iter().map(|(name, _)| name.clone());
                let around: Path = place.iter().cloned().chain(inside).collect();
                let Some((base, rest)) = base(&tokens[at..], &around) else { continue };
                found.extend(paths(rest, &base, is_imported(before)));
            }
            word if is_imported(before) && inline.is_empty() && is_child(word) => {
                found.extend(paths(&tokens[at..], place, true));
            }
            _ => {}
        }
    }
    found
}

/// Reports whether a path after these tokens is imported.
fn is_imported(before: &[String]) -> bool {
    before.last().is_some_and(|token| token == "use")
}

/// Returns the module with which a path begins, and the tokens behind it; `None` if it leads out of the crate or nowhere.
fn base<'a>(tokens: &'a [String], around: &[String]) -> Option<(Path, &'a [String])> {
    let mut base = if tokens[0] == "crate" { Path::new() } else { around.to_vec() };
    let mut rest = tokens;
    while let [word, first, second, behind @ ..] = rest {
        if first != ":" || second != ":" {
            return None;
        }
        match word.as_str() {
            "super" => drop(base.pop()?),
            "crate" | "self" => {}
            _ => break,
        }
        rest = behind;
        if behind.first().is_none_or(|next| next != "super") {
            break;
        }
    }
    Some((base, rest))
}

/// Returns the paths that begin with `base` and go on with these tokens, up to the end of the path or its group.
fn paths(tokens: &[String], base: &[String], is_imported: bool) -> Vec<Use> {
    let mut found = Vec::new();
    walk(tokens, base, is_imported, &mut found);
    found
}

/// Adds the paths of one branch; returns how many tokens it has.
fn walk(tokens: &[String], base: &[String], is_imported: bool, found: &mut Vec<Use>) -> usize {
    let mut path = base.to_vec();
    let mut at = 0;
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at += walk(&tokens[at..], &path, is_imported, found);
                    at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                }
                return at + 1;
            }
            // `use a::{self}` introduces `a`.
            Some("self") => at += 1,
            Some(word) if word == "*" || word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                path.push(word.to_owned());
                at += 1;
            }
            // Nothing that a path may have: the group ends here.
            _ => return at.max(1),
        }
        if tokens[at..].first().is_some_and(|token| token == "!") {
            // All macros are in the root, wherever they are defined.
            return at + 1;
        }
        let goes_on = tokens[at..].starts_with(&[":".to_owned(), ":".to_owned()]);
        if !goes_on || tokens.get(at + 2).is_some_and(|token| token == "<") {
            break;
        }
        at += 2;
    }
    let mut name = path.last().cloned();
    if let [keyword, renamed, ..] = &tokens[at..]
        && keyword == "as"
    {
        name = Some(renamed.clone());
        at += 2;
    }
    found.push(Use { path, name: name.filter(|_| is_imported) });
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, place: &[&str]) -> String {
        let place: Path = place.iter().map(ToString::to_string).collect();
        let all = uses(&crate::tokens::tokens(text), &place, &|name| name == "child");
        let shown = |one: &Use| match &one.name {
            Some(name) => format!("{}={name}", one.path.join(".")),
            None => one.path.join("."),
        };
        all.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn paths_are_from_the_root() {
        assert_eq!(found("use crate::a::b; fn f() { crate::c::g(); }", &["m"]), "a.b=b c.g");
        assert_eq!(found("use crate::{a::{b, c as d}, e::*, f::{self}};", &["m"]), "a.b=b a.c=d e.*=* f=f");
        assert_eq!(found("use super::a; fn f() { super::super::b::C::new() }", &["m", "n"]), "m.a=a b.C.new");
        assert_eq!(
            found("mod inner { use super::a; use super::super::b; } use super::c;", &["m"]),
            "m.a=a b=b c=c"
        );
        assert_eq!(found("pub use child::X; use std::fmt; fn f() { child::g() }", &["m"]), "m.child.X=X");
        assert_eq!(
            found("use self::child::{X, y::Z}; crate::mac!(); pub(super) fn f(&self) {}", &["m"]),
            "m.child.X=X m.child.y.Z=Z"
        );
        assert_eq!(found("type T = crate::a::Of<crate::b::C>;", &["m"]), "a.Of b.C");
    }
}
