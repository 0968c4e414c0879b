//! Pages of what was found in traces, for the terminal or the browser.

use std::io;
use std::path::Path;

use anyhow::Result;
use wprof_report::page::Page;

use super::super::export;
use crate::output;
use crate::screen::{ColorChoice, screen};

/// Creates an empty page: for the browser if it goes to a file of HTML.
pub fn new(html: Option<&Path>, color: ColorChoice) -> Page {
    match html {
        Some(_) => Page::for_browser(),
        None => Page::new(screen(io::stdout(), color)),
    }
}

/// Prints a page, or writes it to a file of HTML.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn write(page: Page, html: Option<&Path>, title: &str) -> Result<()> {
    let Some(file) = html else { return output::print(&page.into_text()) };
    let html = page.into_html(title);
    export::write_to(file, |out| out.write_all(html.as_bytes()))
}
