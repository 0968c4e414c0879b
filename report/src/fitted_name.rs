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
    cut_at_end(&fitted(name, width), width)
}

/// Returns a place, such as `long_file.c:16`, in at most `width` columns: the file gives way, so that the line stays. What follows
/// the line is cut first, at its end, as is a place without a line.
pub fn place(text: &str, width: usize) -> String {
    let (file, line, rest) = parts(text);
    let without_rest = file.width() + line.width();
    if text.width() <= width || without_rest < width || line.width() + 2 > width {
        return cut_at_end(text, width);
    }
    let room = if rest.is_empty() { width } else { width - 1 };
    // There is room for the line, and for `…` behind it if more follows.
    let more = if rest.is_empty() { "" } else { "…" };
    format!("{}{line}{more}", cut_at_end(file, room.saturating_sub(line.width())))
}

/// Divides a place at its first line number: the file, the number with its colon, and what follows.
fn parts(text: &str) -> (&str, &str, &str) {
    let is_number = |&(at, _): &(usize, &str)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let Some((colon, _)) = text.match_indices(':').find(is_number) else { return (text, "", "") };
    let digits = text[colon + 1..].bytes().take_while(u8::is_ascii_digit).count();
    let end = colon + 1 + digits;
    (&text[..colon], &text[colon..end], &text[end..])
}

fn cut_at_end(text: &str, width: usize) -> String {
    let mut shown = text.to_owned();
    if shown.width() > width {
        while shown.width() >= width && shown.pop().is_some() {}
        shown.push('…');
    }
    shown
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
    fn the_line_of_a_place_stays() {
        let of = |text: &str, width| place(text, width);
        assert_eq!(of("words-fixed.c:45", 16), "words-fixed.c:45");
        assert_eq!(
            [15, 12, 5].map(|width| of("words-fixed.c:45", width)),
            ["words-fixed…:45", "words-fi…:45", "w…:45"]
        );
        // What follows the line gives way before the file does.
        let library = "words.c:16 (strlen)";
        assert_eq!(
            [18, 12, 11].map(|width| of(library, width)),
            ["words.c:16 (strle…", "words.c:16 …", "words.c:16…"]
        );
        assert_eq!([10, 8].map(|width| of(library, width)), ["words…:16…", "wor…:16…"]);
        assert_eq!(of("0x123456 and more", 9), "0x123456…");
        assert_eq!([4, 3, 1].map(|width| of("a_file.c:1234", width).chars().count()), [4, 3, 1]);
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
