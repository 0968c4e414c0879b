//! Names that fit into columns: the arguments of templates and functions give way before the name itself.
//!
//! Input: a display name and a width. Output: the name with `…` for the contents of some brackets: the innermost first,
//! of those the longest first, until it fits or none is left.
//! Example: `std::map<std::string, std::vector<int>>::insert(int)` in 36 columns is `std::map<…>::insert(int)`.

use unicode_width::UnicodeWidthStr;

/// The contents of a pair of brackets.
#[derive(Clone, Copy)]
struct Group {
    begin: usize,
    end: usize,
    depth: usize,
}

/// Returns the name, shortened as far as needed and possible.
pub fn fitted(name: &str, width: usize) -> String {
    let mut text = name.to_owned();
    while text.width() > width {
        let deepest_first = |group: &Group| (group.depth, group.end - group.begin);
        let Some(group) = groups(&text).into_iter().max_by_key(deepest_first) else { break };
        text.replace_range(group.begin..group.end, "…");
    }
    text
}

/// Returns the name in at most `width` columns, cut at its end if shortening it is not enough.
pub fn cut(name: &str, width: usize) -> String {
    let mut text = fitted(name, width);
    if text.width() > width {
        while text.width() >= width && text.pop().is_some() {}
        text.push('…');
    }
    text
}

/// Returns the contents of brackets behind names that are worth leaving out.
fn groups(text: &str) -> Vec<Group> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for (at, c) in text.char_indices() {
        let before = &text[..at];
        match c {
            // Operators and arrows have such characters too.
            '<' if !before.ends_with(is_part_of_name) => {}
            '>' if before.ends_with(['-', '=']) => {}
            '<' | '(' => open.push((c, at + 1, before.ends_with(is_part_of_name) || before.ends_with('>'))),
            '>' | ')' => {
                let Some((opened, begin, is_behind_name)) = open.pop() else { return Vec::new() };
                if (opened == '<') != (c == '>') {
                    return Vec::new();
                }
                let is_long = text[begin..at].width() > 1;
                if is_behind_name && is_long {
                    found.push(Group { begin, end: at, depth: open.len() });
                }
            }
            _ => {}
        }
    }
    found
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || "_$:=&]".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_templates_give_way_before_the_name() {
        let name = "std::map<std::string, std::vector<int>>::insert(int const&)";
        assert_eq!(fitted(name, 80), name);
        let shorter = [58, 57, 50, 30, 10].map(|width| fitted(name, width));
        assert_eq!(shorter[0], "std::map<std::string, std::vector<…>>::insert(int const&)");
        assert_eq!(shorter[1], shorter[0]);
        assert_eq!(shorter[2], "std::map<…>::insert(int const&)");
        assert_eq!(shorter[3], "std::map<…>::insert(…)");
        assert_eq!(shorter[4], shorter[3]);
    }

    #[test]
    fn what_has_no_brackets_is_cut_at_its_end() {
        let names = ["a::long::name", "f<int>(int)", "ééééé"];
        assert_eq!(names.map(|name| cut(name, 4)), ["a::…", "f<……", "ééé…"]);
        assert_eq!(cut("main", 4), "main");
    }

    #[test]
    fn functions_of_one_template_stay_different() {
        let members = ["find", "insert"].map(|member| {
            let name =
                format!("std::__tree<std::__value_type<std::string, int>, std::less<int>>::{member}(int)");
            fitted(&name, 40)
        });
        assert_eq!(members, ["std::__tree<…>::find(int)", "std::__tree<…>::insert(int)"]);
    }

    #[test]
    fn other_names_are_left_as_they_are() {
        for name in
            ["a_name_without_arguments", "operator<(", "a) b>", "<T as Into<U>", "x -> y", "(anonymous)"]
        {
            assert_eq!(fitted(name, 3), name);
        }
    }
}
