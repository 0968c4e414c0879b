//! Text under construction for one style.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::html_text;
use crate::{fitted_name, names};

pub use super::style::Style;
pub use super::table::{Side, Table};

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Ordinary text.
    #[default]
    Plain,
    /// A heading, or one of the most important figures.
    Strong,
    /// Supplementary text.
    Faint,
    /// A name.
    Name,
    /// Code that takes much of the time.
    Hot,
    /// Code that takes some of the time.
    Warm,
    /// An error.
    Bad,
}

impl Ink {
    fn code(self) -> Option<&'static str> {
        Some(match self {
            Ink::Plain => return None,
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Name => "36",
            Ink::Hot => "1;31",
            Ink::Warm => "33",
            Ink::Bad => "31",
        })
    }

    /// Returns the colour for a share of the whole.
    pub fn of_share(part: u64, whole: u64) -> Self {
        let share = part as f64 / whole.max(1) as f64;
        match share {
            _ if share >= 0.2 => Ink::Hot,
            _ if share >= 0.05 => Ink::Warm,
            _ if share < 0.001 => Ink::Faint,
            _ => Ink::Plain,
        }
    }
}

/// A piece of text with one role.
#[derive(Clone, Debug, Default)]
pub struct Span {
    text: String,
    ink: Ink,
}

/// Creates a piece of text.
pub fn span(text: impl Into<String>, ink: Ink) -> Span {
    Span { text: text.into(), ink }
}

/// Creates a piece of ordinary text.
pub fn plain(text: impl Into<String>) -> Span {
    span(text, Ink::Plain)
}

impl Span {
    /// Returns the width in columns.
    pub fn width(&self) -> usize {
        self.text.width()
    }

    /// Cuts the text to at most `width` columns: in names of functions arguments give way first.
    pub fn cut(&self, width: usize) -> Self {
        let shorter = (self.ink == Ink::Name).then(|| fitted_name::fitted(&self.text, width));
        span(fit(shorter.as_ref().unwrap_or(&self.text), width, true), self.ink)
    }

    /// Cuts a place to at most `width` columns: its line stays.
    pub(crate) fn cut_place(&self, width: usize) -> Self {
        span(fitted_name::place(&self.text, width), self.ink)
    }

    /// Reports whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Lines for a style.
#[derive(Debug)]
pub struct Page {
    style: Style,
    text: String,
    /// Whether it is for the browser.
    is_html: bool,
}

impl Page {
    /// Creates an empty page.
    pub fn new(style: Style) -> Self {
        Self { style, text: String::new(), is_html: false }
    }

    /// Creates an empty page for the browser, whose lines are never cut.
    pub fn for_browser() -> Self {
        let style = Style { width: usize::MAX, cut: false, is_wide: true, color: true, ..Style::default() };
        Self { style, text: String::new(), is_html: true }
    }

    /// Returns how the page is laid out.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Calls `write`, in which names are shown as the page's style says.
    pub(crate) fn with_names<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        names::shown_in_full(self.style.full_names, || write(self))
    }

    /// Returns the text so far.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns a self-contained file for the browser, without scripts; meant for a page made by [`Page::for_browser`].
    pub fn into_html(self, title: &str) -> String {
        html_text::whole(title, &self.text)
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Adds an empty line and a heading.
    pub fn heading(&mut self, text: &str) {
        self.gap();
        self.line(&[span(text, Ink::Strong)]);
    }

    /// Adds a table, indented by two columns.
    pub fn table(&mut self, table: &Table) {
        const MARGIN: usize = 2;
        let room = self.style.cut.then(|| self.style.width.saturating_sub(MARGIN));
        for line in table.lines(room) {
            let mut spans = vec![plain("  ")];
            spans.extend(line);
            self.line(&spans);
        }
    }

    /// Adds one line, cut if the style cuts lines.
    pub fn line(&mut self, spans: &[Span]) {
        let last = spans.iter().rposition(|span| !span.text.trim_end().is_empty());
        let mut room = if self.style.cut { self.style.width } else { usize::MAX };
        let spans = &spans[..last.map_or(0, |last| last + 1)];
        for (index, span) in spans.iter().enumerate() {
            let is_last = index + 1 == spans.len();
            let text = if is_last { span.text.trim_end() } else { &span.text };
            let shown = fit(text, room, is_last);
            room = room.saturating_sub(shown.width());
            self.paint(&shown, span.ink);
        }
        self.gap();
    }

    fn paint(&mut self, text: &str, ink: Ink) {
        if self.is_html {
            return html_text::push(&mut self.text, text, ink);
        }
        match ink.code().filter(|_| self.style.color && !text.trim().is_empty()) {
            Some(code) => write!(self.text, "\x1b[{code}m{text}\x1b[0m").expect("strings grow"),
            None => self.text.push_str(text),
        }
    }
}

/// Cuts `text` to the room; `…` marks an omission, or that `more` text does not fit.
fn fit(text: &str, room: usize, is_last: bool) -> String {
    let width = text.width();
    if width < room || (width == room && is_last) {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let mut shown: String = text.chars().take_while(fits).collect();
    if room > 0 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(style: Style) -> String {
        let mut page = Page::new(style);
        page.line(&[plain("12 "), span("a name that is long", Ink::Name), plain("   ")]);
        page.into_text()
    }

    #[test]
    fn long_lines_are_cut_only_where_asked() {
        let style = Style { width: 10, cut: true, ..Style::default() };
        assert_eq!(text(style), "12 a name…\n");
        assert_eq!(text(Style { cut: false, ..style }), "12 a name that is long\n");
        assert_eq!(text(Style { width: 22, ..style }), "12 a name that is long\n");
    }

    #[test]
    fn colours_stand_around_the_text_only() {
        let style = Style { width: 80, cut: true, color: true, ..Style::default() };
        assert_eq!(text(style), "12 \x1b[36ma name that is long\x1b[0m\n");
    }

    #[test]
    fn names_in_pages_for_the_browser_are_text() {
        let mut page = Page::for_browser();
        page.line(&[plain("a & b "), span("<script>", Ink::Hot)]);
        let html = page.into_html("f<g>");
        assert!(html.contains("<title>f&lt;g&gt;</title>"), "{html}");
        assert!(
            html.contains("<pre>\na &amp; b <span class=\"hot\">&lt;script&gt;</span>\n</pre>"),
            "{html}"
        );
    }
}
