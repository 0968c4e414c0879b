//! Bursty tracing: when to run checking code, and when instrumented code.
//!
//! Input: the checks that a program comes to. Output: the version in which it goes on after each. Every so many checks
//! a *burst* of so many checks runs in instrumented code; with one check a burst this is Arnold & Ryder's sampling.
//! Invariant: the same sequence as the paper's machine, which counts at every check; here checking code only counts
//! down, and asks when it falls below zero.
//! Source: Hirzel & Chilimbi, *Bursty Tracing*, FDDO 2001, section 2.1. Oracle: that machine, in `tests/it/bursts.rs`.

use std::str::FromStr;

use crate::Rate;

/// How long the phases are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BurstLengths {
    /// Checks from the end of a burst until the next one begins: nCheck0.
    pub checking: u32,
    /// Checks in a burst: nInstr0. With [`BurstLengths::FOREVER`] the first one does not end.
    pub instrumented: u32,
    /// How many times as long both get while the program goes on; see [`BurstLengths::growing`].
    pub growth: u32,
}

impl BurstLengths {
    /// A burst that does not end, or a time without any.
    pub const FOREVER: u32 = u32::MAX;

    /// Lengths that stay the same.
    pub const fn new(checking: u32, instrumented: u32) -> BurstLengths {
        BurstLengths { checking, instrumented, growth: 1 }
    }

    /// Lengths that double after every 256 bursts, until they are `growth` times as long. Many short bursts cost more
    /// than few long ones that count as much; but short runs should have many.
    #[must_use]
    pub const fn growing(self, growth: u32) -> BurstLengths {
        BurstLengths { growth, ..self }
    }
}

/// `CHECKING:INSTRUMENTED`, of which each may be `inf`, or `CHECKING:INSTRUMENTEDxGROWTH`.
impl FromStr for BurstLengths {
    type Err = String;

    fn from_str(text: &str) -> Result<BurstLengths, String> {
        let length = |text: &str| match text {
            "inf" => Some(Self::FOREVER),
            _ => text.replace('_', "").parse().ok().filter(|&length| length > 0),
        };
        let lengths = text.split_once(':').and_then(|(checking, rest)| {
            let (instrumented, growth) = rest.split_once('x').unwrap_or((rest, "1"));
            let growth = growth.parse().ok().filter(|&growth| growth > 0)?;
            Some(BurstLengths::new(length(checking)?, length(instrumented)?).growing(growth))
        });
        lengths.ok_or_else(|| {
            "give CHECKS:CHECKS such as 100000:100, or inf for one of them; 100000:100x10 grows to 1000000:1000"
                .to_owned()
        })
    }
}

impl Default for BurstLengths {
    fn default() -> Self {
        BurstLengths::new(100_000, 100).growing(10)
    }
}

/// How many checks a frame waits in code for bursts before it asks for checking code again: soon at first, for there
/// may be such code at the next loop, then each time twice as many, for there may be none as long as a loop runs.
const FIRST_WAIT: i64 = 8;
const LONGEST_WAIT: i64 = 1024;
/// How many checks after a burst was lost it is tried again; after each further one that is lost, twice as many as
/// before.
const RETRY: i64 = 1000;
/// How many bursts of one length there are before they get longer.
const BEFORE_GROWTH: u32 = 256;

/// A version of each function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// Only comes to checks.
    Checking,
    /// Counts.
    Instrumented,
}

/// Where in its phases a program is. Machine code has the two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    lengths: BurstLengths,
    /// How many more checks checking code passes before it asks: nCheck less one.
    pub checking: i64,
    /// How many more checks the burst has, with the next; 0 if none runs: nInstr.
    pub instrumented: i64,
    /// How many checks it was when that is no burst, but waiting for checking code; else 0.
    waits: i64,
    /// How many checks a burst comes late that is lost now.
    retry: i64,
    /// How many times as long the phases are as at first, and how many bursts of that length have ended.
    scale: u32,
    ended: u32,
    /// Checks from the end of the last burst until the next one begins.
    between: u64,
    /// Checks that were in no burst, up to the last change, and checks in bursts that have ended.
    passed: u64,
    seen: u64,
    /// How many checks the burst that runs is to have, or the last one had.
    planned: i64,
    /// How many bursts have begun.
    pub begun: u64,
    /// The same, but one that is so many times as long as the first counts as that many.
    pub begun_by_length: u64,
    /// The same, of the squares of these.
    squares: u64,
    /// How many could not, since there was no instrumented code.
    pub lost: u64,
}

impl Bursts {
    /// A program that has come to no check yet.
    pub fn new(lengths: BurstLengths) -> Bursts {
        let mut bursts = Bursts {
            lengths,
            checking: 0,
            instrumented: 0,
            waits: 0,
            retry: RETRY,
            scale: 1,
            ended: 0,
            between: 0,
            passed: 0,
            seen: 0,
            planned: 0,
            begun: 0,
            begun_by_length: 0,
            squares: 0,
            lost: 0,
        };
        bursts.rest();
        bursts
    }

    /// How long the phases are, at first.
    pub fn lengths(&self) -> BurstLengths {
        self.lengths
    }

    /// Changes how long the phases are: a burst that runs ends at its next check, and the time until the next one
    /// begins anew.
    pub fn set_lengths(&mut self, lengths: BurstLengths) {
        (self.passed, self.seen) = self.passed_and_seen();
        (self.lengths, self.scale, self.ended) = (lengths, 1, 0);
        self.rest();
    }

    /// A check in checking code has counted below zero: the version to go on in.
    pub fn fired(&mut self) -> Version {
        if self.counts() {
            self.checking = 0;
            self.step()
        } else {
            self.begin()
        }
    }

    /// The burst that runs has some checks more.
    pub fn prolong(&mut self, checks: u32) {
        self.instrumented = self.instrumented.saturating_add(i64::from(checks));
        self.planned = self.planned.saturating_add(i64::from(checks));
    }

    /// A check in the burst that runs was in code for which there is no instrumented code: what follows it is not
    /// counted.
    pub fn miss(&mut self) {
        self.planned -= 1;
        self.passed = self.passed.saturating_add(1);
    }

    /// A check in instrumented code: the version to go on in.
    pub fn check_in_burst(&mut self) -> Version {
        if self.counts() {
            return self.step();
        }
        self.instrumented = (self.instrumented - 1).max(0);
        if self.instrumented > 0 {
            return Version::Instrumented;
        }
        // The burst ended in a callee. The check counts as any other.
        self.checking -= 1;
        if self.checking < 0 { self.begin() } else { Version::Checking }
    }

    /// The burst that was to begin, or has begun, cannot: there is no instrumented code where the program is. It is
    /// tried again soon, then less and less soon, for there may be such code elsewhere, or in a moment.
    pub fn lose(&mut self) {
        // The check that has come is in no burst.
        self.passed = self.passed.saturating_add(1);
        self.begun -= 1;
        self.begun_by_length -= u64::from(self.scale);
        self.squares -= u64::from(self.scale).pow(2);
        self.lost += 1;
        self.rest_for(self.scaled(self.lengths.checking).min(self.retry));
        self.retry = self.retry.saturating_mul(2);
    }

    /// The burst that is due is put off, by so many times as many checks as there usually are between two.
    pub fn put_off(&mut self, times: u32) {
        let more = self.scaled(self.lengths.checking).saturating_mul(times.into());
        self.checking = more - 1;
        self.between = self.between.saturating_add(more.cast_unsigned());
    }

    /// The burst that runs ends before its time: the program has come to where nothing counts.
    pub fn cut(&mut self) {
        self.end(self.planned - self.instrumented);
    }

    /// The burst has ended, but the frame cannot leave its code, as there is no checking code where it is. After some
    /// checks it tries again; what it counts meanwhile is none of the profile's.
    pub fn wait(&mut self) {
        self.waits = (2 * self.waits).clamp(FIRST_WAIT, LONGEST_WAIT);
        self.instrumented = self.waits;
    }

    /// Whether a frame has waited so long for checking code that it is in a long loop.
    pub fn is_stuck(&self) -> bool {
        self.waits == LONGEST_WAIT
    }

    /// How many checks there were before the burst that runs, since the one before it ended or was lost.
    pub fn checks_between(&self) -> u64 {
        self.between
    }

    /// How many checks there were before the burst that runs.
    pub fn checks_before(&self) -> u64 {
        self.passed.saturating_add(self.seen)
    }

    /// Whether a burst runs.
    pub fn counts(&self) -> bool {
        self.instrumented > 0 && self.waits == 0
    }

    fn begin(&mut self) -> Version {
        self.begun += 1;
        self.begun_by_length += u64::from(self.scale);
        self.squares = self.squares.saturating_add(u64::from(self.scale).pow(2));
        // The check that begins the burst is in it.
        self.passed = self.passed.saturating_add(self.between.saturating_sub(1));
        self.planned = self.length();
        (self.checking, self.instrumented, self.waits) = (0, self.planned, 0);
        Version::Instrumented
    }

    fn step(&mut self) -> Version {
        self.instrumented -= 1;
        if self.instrumented > 0 {
            return Version::Instrumented;
        }
        self.retry = RETRY;
        self.end(self.planned);
        Version::Checking
    }

    /// The burst has ended, which had so many checks; that at which it ends is in no burst.
    fn end(&mut self, checks: i64) {
        self.seen = self.seen.saturating_add(checks.max(0).cast_unsigned());
        self.passed = self.passed.saturating_add(1);
        self.grow();
        self.rest();
    }

    /// A burst has ended: the phases get longer when there were enough of this length.
    fn grow(&mut self) {
        self.ended += 1;
        if self.ended == BEFORE_GROWTH {
            self.ended = 0;
            self.scale = self.scale.saturating_mul(2).min(self.lengths.growth);
        }
    }

    fn rest(&mut self) {
        self.rest_for(self.scaled(self.lengths.checking));
    }

    fn rest_for(&mut self, between: i64) {
        (self.checking, self.instrumented, self.between) = (between - 1, 0, between.cast_unsigned());
    }

    fn length(&self) -> i64 {
        self.scaled(self.lengths.instrumented)
    }

    /// How many checks a length is now.
    fn scaled(&self, length: u32) -> i64 {
        checks_of(length).saturating_mul(i64::from(self.scale))
    }

    /// How many bursts of one length would be as good a sample as those that have begun, of which the longer ones weigh
    /// more: the effective sample size of Kish (*Survey Sampling*, 1965).
    pub fn independent(&self) -> u64 {
        let of_one_weight = u128::from(self.begun_by_length).pow(2).checked_div(self.squares.into());
        of_one_weight.map_or(0, |bursts| bursts.try_into().unwrap_or(self.begun))
    }

    /// The share of all checks that were in bursts, those that were lost or missed counted as others.
    pub fn rate(&self) -> Rate {
        let (passed, seen) = self.passed_and_seen();
        Rate { counted: seen, of: seen.saturating_add(passed) }
    }

    /// How many checks were in no burst, and how many in bursts, so far.
    fn passed_and_seen(&self) -> (u64, u64) {
        if self.counts() {
            let in_this = (self.planned - self.instrumented).saturating_add(1).max(0);
            return (self.passed, self.seen.saturating_add(in_this.cast_unsigned()));
        }
        let left = self.checking.saturating_add(1).max(0).cast_unsigned();
        (self.passed.saturating_add(self.between.saturating_sub(left)), self.seen)
    }
}

/// A length in checks.
fn checks_of(length: u32) -> i64 {
    match length {
        BurstLengths::FOREVER => i64::MAX,
        checks => i64::from(checks.max(1)),
    }
}
