//! The table of `try`s: how often each was entered, and the exceptions that it caught.

use std::cmp::Reverse;

use super::numbers::{grouped, percent};
use super::page::{Ink, plain, span};
use super::table::{Side, Table};
use super::view::View;
use crate::tries::{Caught, Tried};

/// Returns the `limit` `try`s that caught most often, then those that were entered most; empty without the module.
pub fn table(view: &View<'_>, limit: usize) -> Table {
    let mut table = Table::new(&[
        ("entered", Side::Right),
        ("caught", Side::Right),
        ("share", Side::Right),
        ("what", Side::Left),
        ("place", Side::Place),
        ("function", Side::Left),
    ]);
    let Some(program) = view.program else { return table };
    let functions = view.profile.functions.iter();
    let of_function = |function| program.tries(function).into_iter().map(move |tried| (function, tried));
    let mut all: Vec<_> = functions.flat_map(of_function).filter(|(_, tried)| tried.entered > 0).collect();
    all.sort_by_key(|(_, tried)| Reverse((tried.caught_in_all(), tried.entered)));
    for (function, tried) in all.into_iter().take(limit) {
        let caught = tried.caught_in_all();
        table.row(vec![
            plain(grouped(tried.entered)),
            plain(caught.map(grouped).unwrap_or_default()),
            plain(caught.map(|caught| percent(caught, tried.entered)).unwrap_or_default()),
            plain(what(&tried)),
            plain(view.place(tried.at)),
            span(view.name(function.index), Ink::Name),
        ]);
    }
    table
}

/// Describes what a `try` caught: "nothing", the tag, or each tag with its count.
pub fn what(tried: &Tried) -> String {
    let Some(caught) = &tried.caught else { return String::new() };
    let some: Vec<&Caught> = caught.iter().filter(|caught| caught.count > 0).collect();
    match some[..] {
        [] => "nothing".to_owned(),
        [only] => only.tag.clone(),
        _ => {
            let each = some.iter().map(|caught| format!("{} {}", grouped(caught.count), caught.tag));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}
