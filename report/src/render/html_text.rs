//! Lines of text as a page for the browser.
//!
//! Input: a title, and text in which roles are marked. Output: one self-contained file, without scripts.
//! Invariant: text from modules and profiles is escaped, so it cannot begin an element.

use super::page::Ink;

/// The style sheet of the page.
const STYLE: &str = "\
:root { color-scheme: light dark; }
body { margin: 0; padding: 16px 20px; background: light-dark(#f6f6f4, #15171a); color: light-dark(#1f2328, #e4e6e9); }
pre { margin: 0; font: 13px/1.5 ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.strong { font-weight: 600; }
.faint { color: light-dark(#68707a, #98a1ac); }
.name { color: light-dark(#2f5fd0, #84a9ff); }
.hot { color: light-dark(#b3361b, #ff8b70); font-weight: 600; }
.warm { color: light-dark(#6b4e00, #ffe29a); }
.bad { color: light-dark(#b3361b, #ff8b70); }
";

/// Appends a text in its role.
pub fn push(page: &mut String, text: &str, ink: Ink) {
    let class = match ink {
        Ink::Plain => None,
        Ink::Strong => Some("strong"),
        Ink::Faint => Some("faint"),
        Ink::Name => Some("name"),
        Ink::Hot => Some("hot"),
        Ink::Warm => Some("warm"),
        Ink::Bad => Some("bad"),
    };
    let text = escaped(text);
    match class {
        Some(class) => page.push_str(&format!("<span class=\"{class}\">{text}</span>")),
        None => page.push_str(&text),
    }
}

/// Returns the whole page.
pub fn whole(title: &str, lines: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n<pre>\n{lines}</pre>\n</html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
