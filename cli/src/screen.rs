//! Properties of the output device: its width, and whether it shows colours.

use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::sync::OnceLock;

use clap::ValueEnum;
use wprof_report::page::Style;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    // On a terminal, unless NO_COLOR is set. Documented variants would spread `--help` over pages.
    #[default]
    Auto,
    // Also into pipes and files.
    Always,
    // Nowhere.
    Never,
}

/// The width from which on tables have additional columns on terminals.
const WIDE: usize = 110;

/// Whether names are shown in full, if the user has said so.
static FULL_NAMES: OnceLock<bool> = OnceLock::new();

/// Sets whether names are shown in full, on all threads of the process.
pub fn show_full_names(are_wanted: bool) {
    FULL_NAMES.get_or_init(|| are_wanted);
}

/// Reports whether names are shown in full.
pub fn are_names_full() -> bool {
    FULL_NAMES.get().copied().unwrap_or_default()
}

/// Returns how text is laid out on standard output or standard error.
pub fn screen(stream: impl AsFd + IsTerminal, choice: ColorChoice) -> Style {
    let is_terminal = stream.is_terminal();
    let measured = if is_terminal { terminal_size::terminal_size_of(stream) } else { None };
    let told = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&width| width > 0);
    let width = measured.map(|(width, _)| usize::from(width.0)).or_else(told);
    let color = match choice {
        ColorChoice::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()),
        ColorChoice::Always => true,
        ColorChoice::Never => false,
    };
    let mut style = Style::default();
    style.full_names = are_names_full();
    // Full names without a terminal are meant for another program.
    style.cut = width.is_some() || !style.full_names;
    style.is_wide = width.is_some_and(|width| width >= WIDE);
    style.width = width.unwrap_or(style.width);
    style.color = color;
    style
}
