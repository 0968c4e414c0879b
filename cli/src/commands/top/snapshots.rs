//! Display of successive snapshots of a running program.

use std::io::{self, IsTerminal};
use std::time::Duration;

use anyhow::Result;
use terminal_size::terminal_size_of;
use wprof_profiler::Profile;
use wprof_report::page::{Page, Style};
use wprof_report::text;

use crate::output;
use crate::screen::{ColorChoice, screen};

/// The number of functions that are shown without a terminal.
const FUNCTIONS: usize = 10;

/// The lines of a snapshot that are not functions, including the one behind it.
const OTHER_LINES: usize = 6;

/// The destination of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard output.
    Output,
    /// Standard error, since the program uses standard output.
    Messages,
}

/// A display with the latest snapshot.
pub struct Snapshots {
    place: Place,
    top: Option<usize>,
    color: ColorChoice,
    last: Option<Profile>,
    /// The text of the snapshot, and whether it is still on the screen, to be replaced.
    text: String,
    count: u64,
    /// The seconds of silence that were reported last.
    silence: u64,
}

impl Snapshots {
    /// Creates a display without a snapshot.
    pub fn new(place: Place, top: Option<usize>, color: ColorChoice) -> Self {
        Self { place, top, color, last: None, text: String::new(), count: 0, silence: 0 }
    }

    /// Returns the number of snapshots.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Shows a profile; reports whether anybody still reads the output.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn show(&mut self, profile: Profile) -> Result<bool> {
        let mut page = Page::new(self.screen());
        text::live(&mut page, &profile, self.last.as_ref(), self.functions());
        self.last = Some(profile);
        self.count += 1;
        self.silence = 0;
        self.draw(page.into_text())
    }

    /// Says how long no profile has arrived, once a second on a terminal and once elsewhere; reports whether anybody
    /// still reads the output.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn say_silence(&mut self, time: Duration) -> Result<bool> {
        let told = std::mem::replace(&mut self.silence, time.as_secs());
        if told == time.as_secs() || told > 0 && !self.is_terminal() {
            return Ok(true);
        }
        let mut page = Page::new(self.screen());
        if let Some(last) = self.last.as_ref().filter(|_| self.is_terminal()) {
            text::live(&mut page, last, None, self.functions());
        }
        let seconds = time.as_secs();
        text::detail(
            &mut page,
            &format!("no news for {seconds} s: the program waits, or runs code in which no burst begins"),
        );
        self.draw(page.into_text())
    }

    /// Replaces the text on a terminal; elsewhere an empty line separates two snapshots.
    fn draw(&mut self, text: String) -> Result<bool> {
        let lines = self.text.lines().count();
        let between = match (lines, self.is_terminal()) {
            (0, _) => String::new(),
            // Move to the first column `lines` lines up, and clear everything from there.
            (lines, true) => format!("\x1b[{lines}F\x1b[J"),
            (_, false) => "\n".to_owned(),
        };
        let shown = between + &text;
        self.text = text;
        match self.place {
            Place::Output => output::print_if_read(&shown),
            Place::Messages => {
                output::tell(format_args!("{shown}"));
                Ok(true)
            }
        }
    }

    fn functions(&self) -> usize {
        let height = match self.place {
            Place::Output => terminal_size_of(io::stdout()),
            Place::Messages => terminal_size_of(io::stderr()),
        };
        let room = height.map_or(FUNCTIONS, |(_, height)| usize::from(height.0).saturating_sub(OTHER_LINES));
        self.top.map_or(room, |top| if self.is_terminal() { top.min(room) } else { top })
    }

    fn is_terminal(&self) -> bool {
        match self.place {
            Place::Output => io::stdout().is_terminal(),
            Place::Messages => io::stderr().is_terminal(),
        }
    }

    fn screen(&self) -> Style {
        match self.place {
            Place::Output => screen(io::stdout(), self.color),
            Place::Messages => screen(io::stderr(), self.color),
        }
    }
}
