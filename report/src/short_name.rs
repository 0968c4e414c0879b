//! Short names: without the parts that no programmer wrote, which are return types, default template arguments, inline
//! namespaces, hashes, and compilers' names of closures.
//!
//! Input: a demangled name, by any demangler. Output: a readable name of the same function, with its parameters, since
//! overloads differ in nothing else. Unrecognized names stay unchanged.
//! Example: `void std::__2::vector<int, std::__2::allocator<int> >::f<char>(int)` is `std::vector<int>::f<char>(int)`.

/// The maximum nesting of a name that is shortened: the parser recurses.
const DEEPEST: usize = 100;

/// Templates of the standard library that are default arguments.
const DEFAULTS: [&str; 6] = [
    "std::allocator<",
    "std::char_traits<",
    "std::default_delete<",
    "std::less<",
    "std::hash<",
    "std::equal_to<",
];

/// Returns the short form of a demangled name.
pub fn short(name: &str) -> String {
    parsed(name, false)
}

/// Returns the short form without parameters and template arguments: `std::vector::push_back`.
pub fn bare(name: &str) -> String {
    parsed(name, true)
}

fn parsed(name: &str, is_bare: bool) -> String {
    if depth(name) > DEEPEST {
        return name.to_owned();
    }
    let unhashed = without_hash(name);
    let mut parser = Parser { rest: unhashed.as_deref().unwrap_or(name), is_bare, is_cut: false };
    let text = parser.item();
    // Unbalanced brackets, or a comma outside of brackets: not the output of a demangler.
    if parser.is_cut || !parser.rest.is_empty() {
        return name.to_owned();
    }
    let Some(parameters) = parameters(&text) else { return text };
    let name = &text[start_of_name(&text[..parameters])..];
    let end = if is_bare { parameters - (text.len() - name.len()) } else { name.len() };
    name[..end].to_owned()
}

/// Returns the maximum nesting of brackets.
fn depth(name: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in name.bytes() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Converts legacy names of Rust from the form that C++ demanglers leave, `core::fmt::write::h0123456789abcdef`.
fn without_hash(name: &str) -> Option<String> {
    let (_, hash) = name.rsplit_once("::h")?;
    if hash.len() != 16 || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let parts: String = name.split("::").map(|part| format!("{}{part}", part.len())).collect();
    let mangled = format!("_ZN{parts}E");
    Some(wprof::demangle(&mangled)).filter(|demangled| *demangled != mangled)
}

/// A parser of names, by brackets.
struct Parser<'a> {
    rest: &'a str,
    is_bare: bool,
    /// Whether a bracket was not closed.
    is_cut: bool,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let first = self.rest.chars().next()?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Parses up to the next comma, or the bracket that closes the enclosing list.
    fn item(&mut self) -> String {
        let mut text = String::new();
        while let Some(first) = self.rest.chars().next() {
            match first {
                ',' | ')' | ']' | '}' => break,
                // Arrows of Rust are not brackets.
                '>' if !text.ends_with(['-', '=']) => break,
                '<' | '(' | '[' | '{' => self.bracket(&mut text),
                '\'' => self.quoted(&mut text),
                _ if is_letter(first) => self.word(&mut text),
                _ => text.extend(self.next()),
            }
        }
        text
    }

    fn bracket(&mut self, text: &mut String) {
        if self.skip("{{closure}}") {
            text.push_str("{closure}");
            return;
        }
        let Some(open) = self.next() else { return };
        match open {
            '[' if self.rest.starts_with("abi:") => {
                self.items();
                return;
            }
            '{' if self.skip("lambda(") => {
                self.items();
                text.push_str("{lambda");
                *text += &self.item();
            }
            _ => {
                let items = self.items();
                self.write(open, items, text);
                return;
            }
        }
        text.extend(self.next());
    }

    /// Parses the contents of brackets, up to and including the closing one.
    fn items(&mut self) -> Vec<String> {
        let mut items = Vec::new();
        loop {
            items.push(self.item().trim().to_owned());
            match self.next() {
                Some(',') => {}
                Some(_) => return items,
                None => {
                    self.is_cut = true;
                    return items;
                }
            }
        }
    }

    fn write(&self, open: char, mut items: Vec<String>, text: &mut String) {
        let of_template =
            open == '<' && (text.ends_with(|last| is_letter(last) || last == ':') || is_operator(text));
        if of_template && self.is_bare {
            text.truncate(text.trim_end().trim_end_matches("::").len());
            return;
        }
        if of_template {
            remove_conditions(&mut items);
        }
        let template = text[start_of_path(text)..].to_owned();
        if of_template && template.starts_with("std::") {
            let is_default = |item: &String| DEFAULTS.iter().any(|default| item.starts_with(default));
            let first = items.remove(0);
            items.retain(|item| !is_default(item));
            items.insert(0, first);
            // The names `std::string`, `std::ostream` and so on.
            if let ([only], Some(kind)) = (&items[..], template.strip_prefix("std::basic_"))
                && only == "char"
            {
                text.truncate(text.len() - template.len());
                *text += &format!("std::{kind}");
                return;
            }
        }
        let close = match open {
            '<' => '>',
            '(' => ')',
            '[' => ']',
            _ => '}',
        };
        text.push(open);
        *text += &items.join(", ");
        text.push(close);
    }

    /// Parses `'lambda0'(int)`, LLVM's name of a function's second closure.
    fn quoted(&mut self, text: &mut String) {
        if !self.skip("'lambda") {
            text.extend(self.next());
            return;
        }
        let digits = self.rest.find('\'').unwrap_or(0);
        let number = self.rest[..digits].parse().map_or(1, |number: u32| number.saturating_add(2));
        self.rest = &self.rest[digits..];
        self.next();
        if self.skip("(") {
            self.items();
        }
        *text += &format!("{{lambda#{number}}}");
    }

    fn word(&mut self, text: &mut String) {
        let end = self.rest.find(|c| !is_letter(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "operator" => self.operator(text),
            _ if is_inline_namespace(word) && self.skip("::") => {}
            _ => match word.strip_prefix("$_").and_then(|number| number.parse::<u32>().ok()) {
                Some(number) => *text += &format!("{{lambda#{}}}", number.saturating_add(1)),
                None => text.push_str(word),
            },
        }
    }

    /// Parses the symbol of an operator, which may look like brackets. The call operator of a closure is named by the
    /// closure.
    fn operator(&mut self, text: &mut String) {
        let is_of_lambda =
            text.ends_with("}::") && text.rfind('{').is_some_and(|at| text[at..].starts_with("{lambda"));
        if is_of_lambda && self.skip("()") {
            text.truncate(text.len() - 2);
            return;
        }
        text.push_str("operator");
        if let Some(pair) = ["()", "[]"].into_iter().find(|pair| self.skip(pair)) {
            text.push_str(pair);
            return;
        }
        if let Some(symbol) = OPERATORS.into_iter().find(|symbol| self.skip(symbol)) {
            text.push_str(symbol);
        }
    }
}

/// The symbols of operators that are no brackets, a symbol before what it begins with.
const OPERATORS: [&str; 37] = [
    "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=",
    "/=", "%=", "^=", "&=", "|=", "->", "<", ">", "=", "!", "+", "-", "*", "/", "%", "^", "&", "|", "~", ",",
];

/// Reports whether a name ends with the symbol of an operator, perhaps with a space behind.
fn is_operator(text: &str) -> bool {
    let path = text.trim_end().trim_end_matches(|c: char| "<>=!+-*/%^&|~,()[]".contains(c));
    path.ends_with("operator") && path.len() < text.trim_end().len()
}

/// Removes the template arguments that only say on which condition there is a function, with their values, and what an
/// empty list of arguments leaves.
fn remove_conditions(items: &mut Vec<String>) {
    let has_arguments = items.iter().any(|item| !item.is_empty());
    items.retain(|item| !has_arguments || !item.is_empty());
    let is_condition =
        |item: &String| item.starts_with("std::enable_if<") || item.starts_with("std::__enable_if_t<");
    while let Some(at) = items.iter().skip(1).position(is_condition).map(|at| at + 1) {
        items.remove(at);
        // The demangler takes the type of a value for an argument of its own.
        let is_value = items.get(at).is_some_and(|item| item.parse::<i64>().is_ok());
        if is_value {
            items.remove(at);
        }
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Reports whether a word is an inline namespace: `__2` of libc++, `__cxx11` of libstdc++, `__ndk1` of Android.
fn is_inline_namespace(word: &str) -> bool {
    let Some(version) = word.strip_prefix("__") else { return false };
    let digits = version.strip_prefix("ndk").or_else(|| version.strip_prefix("cxx")).unwrap_or(version);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Returns the start of the last word, including its scopes.
fn start_of_path(text: &str) -> usize {
    text.trim_end_matches(|c| is_letter(c) || c == ':').len()
}

/// Returns the start of the parameter list: the last list in parentheses.
fn parameters(text: &str) -> Option<usize> {
    let close = text.rfind(')')?;
    // `const` may follow the list, but no other part of the name.
    if text[close + 1..].contains(|c| !(is_letter(c) || " &[].".contains(c))) {
        return None;
    }
    let mut depth = 0_usize;
    for (at, c) in text[..=close].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let before = &text[..at];
            // `f (body)` occurs in other languages.
            let is_list =
                !before.is_empty() && !before.ends_with([' ', ':']) && !before.ends_with("operator");
            return is_list.then_some(at);
        }
    }
    None
}

/// Returns the start of the name before a parameter list, behind the return type.
fn start_of_name(text: &str) -> usize {
    let is_whole = |&(at, _): &(usize, &str)| {
        !text[..at].ends_with(is_letter) && !text[at + "operator".len()..].starts_with(is_letter)
    };
    let end = text.rmatch_indices("operator").find(is_whole).map_or(text.len(), |(at, _)| at);
    let mut depth = 0_usize;
    for (at, c) in text[..end].char_indices().rev() {
        match c {
            '>' if text[..at].ends_with(['-', '=']) => {}
            ')' | '>' | ']' | '}' => depth += 1,
            '(' | '<' | '[' | '{' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cases: &[(&str, &str)]) {
        for (name, expected) in cases {
            assert_eq!(short(name), *expected);
            assert_eq!(short(expected), *expected, "what is short stays");
        }
    }

    #[test]
    fn names_of_cpp_have_no_return_types_default_arguments_and_inline_namespaces() {
        check(&[
            ("add(int, int)", "add(int, int)"),
            ("void f<int>(int)", "f<int>(int)"),
            (
                "std::__2::vector<int, std::__2::allocator<int> >::push_back[abi:nn190107](int const&)",
                "std::vector<int>::push_back(int const&)",
            ),
            (
                "std::__2::basic_string<char, std::__2::char_traits<char>, std::__2::allocator<char> >::erase(unsigned long)",
                "std::string::erase(unsigned long)",
            ),
            (
                "std::__1::unordered_map<A, B, std::__1::hash<A>, std::__1::equal_to<A>, std::__1::allocator<std::__1::pair<A const, B> > >::at(A const&) const",
                "std::unordered_map<A, B>::at(A const&) const",
            ),
            ("decltype(std::declval<F>()(1)) std::__2::__invoke<F>(F&&)", "std::__invoke<F>(F&&)"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f(int)"),
            ("std::shared_ptr<T> const& (anonymous namespace)::f(int)", "(anonymous namespace)::f(int)"),
        ]);
    }

    #[test]
    fn operators_are_no_brackets_and_no_return_types() {
        check(&[
            ("bool operator< <int>(A<int>, A<int>)", "operator< <int>(A<int>, A<int>)"),
            ("A::operator()(int) const", "A::operator()(int) const"),
            ("A::operator bool() const", "A::operator bool() const"),
            ("A::operator->() const", "A::operator->() const"),
            ("operator new[](unsigned long)", "operator new[](unsigned long)"),
            ("operator delete(void*)", "operator delete(void*)"),
            ("std::ostream& std::operator<< <char>(int)", "std::operator<< <char>(int)"),
            (
                "bool std::__2::operator==<std::__2::allocator<char> >(std::__2::string const&, char const*)",
                "std::operator==<std::allocator<char>>(std::string const&, char const*)",
            ),
        ]);
    }

    #[test]
    fn conditions_of_templates_are_left_out() {
        check(&[
            ("void f<int, std::__2::enable_if<true, int>::type, 0>(int)", "f<int>(int)"),
            ("void f<std::__2::enable_if<true, int>::type>(int)", "f<std::enable_if<true, int>::type>(int)"),
        ]);
    }

    #[test]
    fn closures_have_a_number() {
        check(&[
            ("main::{lambda(int, std::vector<int>)#2}::operator()(int) const", "main::{lambda#2}(int) const"),
            ("main::$_0::operator()(int) const", "main::{lambda#1}(int) const"),
            ("auto f(int)::'lambda0'(int)::operator()<int>(int) const", "f(int)::{lambda#2}<int>(int) const"),
            ("words::main::{{closure}}", "words::main::{closure}"),
            ("words::main::{closure#1}", "words::main::{closure#1}"),
        ]);
    }

    #[test]
    fn names_of_rust_have_no_hashes() {
        check(&[
            ("core::fmt::write::h0123456789abcdef", "core::fmt::write"),
            (
                "_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$::write_str::h0123456789abcdef",
                "<alloc::string::String as core::fmt::Write>::write_str",
            ),
            ("<dyn Fn(i32) -> u8 as T>::f", "<dyn Fn(i32) -> u8 as T>::f"),
            (
                "core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
                "core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
            ),
        ]);
    }

    #[test]
    fn names_of_others_stay() {
        for name in
            ["memcpy", "~lib/array/Array<i32>#push", "Foo.bar (body)", "a) b, c>(", "(*main.T).f", "", ">>,"]
        {
            assert_eq!(short(name), name);
        }
        let deep = "<".repeat(5000);
        assert_eq!(short(&deep), deep);
    }

    #[test]
    fn a_bare_name_has_no_arguments() {
        let names = [
            "std::vector<int, A>::operator[](unsigned long) const",
            "<alloc::vec::Vec<T> as core::ops::Index<I>>::index",
            "core::slice::sort::<u8>::merge",
            "bool std::operator==<std::allocator<char>>(std::string const&, char const*)",
            "std::operator<< <char>(int)",
            "std::__tree<std::__value_type<std::string, int>, std::less<int>>::insert<int&>(int&)",
        ];
        let expected = [
            "std::vector::operator[]",
            "<alloc::vec::Vec as core::ops::Index>::index",
            "core::slice::sort::merge",
            "std::operator==",
            "std::operator<<",
            "std::__tree::insert",
        ];
        assert_eq!(names.map(bare), expected);
    }
}
