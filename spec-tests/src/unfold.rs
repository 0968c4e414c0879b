//! Rewrites folded `try` expressions of scripts as sequences of instructions, because the `wast` crate parses only these.
//!
//! `(try $l (do A) (catch $e B))` becomes `try $l A catch $e B end`. An instruction with such an operand is unfolded too:
//! its operands come first. Everything else keeps its text, and each line keeps its number.
//! Source: the legacy exceptions proposal, whose scripts have this form.

/// A piece of a script.
#[derive(Debug)]
enum Node<'a> {
    /// White space and comments.
    Space(&'a str),
    /// A word or a string.
    Word(&'a str),
    /// What stands in parentheses.
    List(Vec<Node<'a>>),
}

/// Lists that remain lists although an instruction in them is unfolded.
const CONTAINERS: [&str; 7] =
    ["module", "func", "thread", "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_trap"];
/// Lists that belong to the instruction that they follow, and are no operands.
const IMMEDIATES: [&str; 4] = ["type", "param", "result", "ref"];

/// Returns a script without folded `try` expressions.
///
/// # Errors
/// Returns an error if parentheses do not match.
pub fn unfold(script: &str) -> Result<String, String> {
    let mut rest = script;
    let nodes = nodes(&mut rest)?;
    if !rest.is_empty() {
        return Err(format!("a parenthesis closes nothing before `{}`", &rest[..rest.len().min(20)]));
    }
    let mut text = String::with_capacity(script.len());
    nodes.iter().for_each(|node| write(node, &mut text));
    Ok(text)
}

/// Parses up to the end, or up to a closing parenthesis, which stays.
fn nodes<'a>(rest: &mut &'a str) -> Result<Vec<Node<'a>>, String> {
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        found.push(match first {
            ')' => break,
            '(' if !rest.starts_with("(;") => {
                *rest = &rest[1..];
                let inside = nodes(rest)?;
                *rest = rest.strip_prefix(')').ok_or("a parenthesis is not closed")?;
                Node::List(inside)
            }
            _ => {
                let is_space = first.is_whitespace() || first == ';' || first == '(';
                let (text, after) = rest.split_at(length(rest));
                *rest = after;
                if is_space { Node::Space(text) } else { Node::Word(text) }
            }
        });
    }
    Ok(found)
}

/// Returns the length in bytes of the word, string, space or comment with which a text begins.
fn length(text: &str) -> usize {
    if text.starts_with(";;") {
        return text.find('\n').map_or(text.len(), |end| end + 1);
    }
    if text.starts_with("(;") {
        return comment(text);
    }
    if let Some(inside) = text.strip_prefix('"') {
        let mut is_escaped = false;
        let ends = |c: char| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        };
        return inside.find(ends).map_or(text.len(), |end| end + 2);
    }
    let is_space = text.starts_with(char::is_whitespace);
    let ends = |c: char| c.is_whitespace() != is_space || "();\"".contains(c);
    text.find(ends).filter(|&end| end > 0).unwrap_or(text.len())
}

/// Returns the length of a block comment, in which others may stand.
fn comment(text: &str) -> usize {
    let mut depth = 0;
    for (at, pair) in text.as_bytes().windows(2).enumerate() {
        match pair {
            b"(;" => depth += 1,
            b";)" => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at + 2;
        }
    }
    text.len()
}

impl<'a> Node<'a> {
    /// Returns the first word of a list.
    fn head(&self) -> &'a str {
        let Node::List(inside) = self else { return "" };
        let words = inside.iter().filter(|node| !matches!(node, Node::Space(_)));
        match words.into_iter().next() {
            Some(Node::Word(word)) => word,
            _ => "",
        }
    }

    /// Reports whether the node is a folded `try`, or has one inside.
    fn has_try(&self) -> bool {
        let Node::List(inside) = self else { return false };
        self.head() == "try" || inside.iter().any(Node::has_try)
    }
}

fn write(node: &Node<'_>, text: &mut String) {
    match node {
        Node::Space(word) | Node::Word(word) => text.push_str(word),
        Node::List(inside) if !node.has_try() || CONTAINERS.contains(&node.head()) => {
            text.push('(');
            inside.iter().for_each(|node| write(node, text));
            text.push(')');
        }
        Node::List(inside) => match node.head() {
            "try" => tried(inside, text),
            "block" | "loop" | "try_table" => {
                inside.iter().for_each(|node| write(node, text));
                text.push_str(" end ");
            }
            "if" => condition(inside, text),
            _ => instruction(inside, text),
        },
    }
}

/// Writes the inside of a list after its first word.
fn contents(node: &Node<'_>, text: &mut String) {
    let Node::List(inside) = node else { return };
    let mut is_after = false;
    for node in inside {
        if is_after {
            write(node, text);
        }
        is_after |= matches!(node, Node::Word(_));
    }
}

fn tried(inside: &[Node<'_>], text: &mut String) {
    let delegates = inside.iter().any(|node| node.head() == "delegate");
    for node in inside {
        match node.head() {
            "do" => contents(node, text),
            clause @ ("catch" | "catch_all" | "delegate") => {
                text.push_str(clause);
                contents(node, text);
                text.push(' ');
            }
            _ => write(node, text),
        }
    }
    text.push_str(if delegates { "" } else { " end " });
}

fn condition(inside: &[Node<'_>], text: &mut String) {
    let is_operand = |node: &&Node<'_>| {
        matches!(node, Node::List(_))
            && !IMMEDIATES.contains(&node.head())
            && !["then", "else"].contains(&node.head())
    };
    inside.iter().filter(is_operand).for_each(|node| write(node, text));
    text.push(' ');
    for node in inside.iter().filter(|node| !is_operand(node)) {
        match node.head() {
            "then" => contents(node, text),
            "else" => {
                text.push_str(" else ");
                contents(node, text);
            }
            _ => write(node, text),
        }
    }
    text.push_str(" end ");
}

fn instruction(inside: &[Node<'_>], text: &mut String) {
    let is_operand = |node: &&Node<'_>| matches!(node, Node::List(_)) && !IMMEDIATES.contains(&node.head());
    inside.iter().filter(is_operand).for_each(|node| write(node, text));
    text.push(' ');
    inside.iter().filter(|node| !is_operand(node)).for_each(|node| write(node, text));
    text.push(' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_unfolded(folded: &str, expected: &str) {
        let found = unfold(folded).expect("parentheses match");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&found), words(expected));
        assert_eq!(found.lines().count(), folded.lines().count(), "lines keep their numbers");
    }

    #[test]
    fn tries_and_the_instructions_around_them_are_sequences() {
        is_unfolded(
            "(func (try $t (result i32)\n (do (call $f (i32.const 1)))\n (catch $e (drop)) (catch_all (rethrow 0))))",
            "(func try $t (result i32) (call $f (i32.const 1)) catch $e (drop) catch_all (rethrow 0) end )",
        );
        is_unfolded("(func (try (do (throw $e)) (delegate $t)))", "(func try (throw $e) delegate $t )");
        is_unfolded(
            "(func (i32.add (i32.const 1)\n(try (result i32) (do (local.get 0)) (catch_all))))",
            "(func (i32.const 1)try (result i32) (local.get 0) catch_all end i32.add )",
        );
        is_unfolded(
            "(func (if $l (local.get 0) (then (try (do (nop)) (catch_all)))\n(else (block $b (nop)))))",
            "(func (local.get 0) if $l try (nop) catch_all end else (block $b (nop)) end )",
        );
        is_unfolded("(func (loop $l (try (do) (delegate 0))))", "(func loop $l try delegate 0 end )");
    }

    #[test]
    fn everything_else_keeps_its_text() {
        for text in [
            "(module (func (block (result i32) (i32.const 1))) (data \"(try \\\"\"))\n",
            ";; (try\n(; (; (try ;) ;)(module)",
            "(assert_malformed (module quote \"(func (try))\") \"unexpected\")",
        ] {
            assert_eq!(unfold(text).as_deref(), Ok(text));
        }
        assert!(unfold("(module").is_err() && unfold("(module))").is_err());
    }
}
