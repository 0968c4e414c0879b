//! Bursty tracing: when to run checking code, and when instrumented code.
//!
//! Input: the checks that a program reaches. Output: the version in which it continues after each. At regular
//! intervals of checks a *burst* of checks runs in instrumented code; with one check per burst this is Arnold &
//! Ryder's sampling.
//! Invariant: the sequence of versions is that of the paper's machine, which counts at every check; here checking
//! code only counts down, and asks when the counter falls below zero.
//! Source: Hirzel & Chilimbi, *Bursty Tracing*, FDDO 2001, section 2.1. Oracle: that machine, in `tests/it/bursts.rs`.

use std::str::FromStr;

use crate::Rate;

/// The lengths of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BurstLengths {
    /// Checks from the end of a burst until the next one begins: nCheck0. With [`BurstLengths::FOREVER`] no burst begins.
    pub checking: u32,
    /// Checks in a burst: nInstr0. With [`BurstLengths::FOREVER`] the first burst begins at the first check, whatever
    /// `checking` says, and does not end: it sees everything.
    pub instrumented: u32,
    /// Factor up to which both lengths grow while the program runs; see [`BurstLengths::growing`].
    pub growth: u32,
}

impl BurstLengths {
    /// The length of a burst that does not end, or of a time without any.
    pub const FOREVER: u32 = u32::MAX;

    /// Creates lengths that stay the same.
    pub const fn new(checking: u32, instrumented: u32) -> BurstLengths {
        BurstLengths { checking, instrumented, growth: 1 }
    }

    /// Makes the lengths double after every 256 bursts, until they are `growth` times as long. Many short bursts cost
    /// more than a few long ones that count as much; but short runs should have many bursts.
    #[must_use]
    pub const fn growing(self, growth: u32) -> BurstLengths {
        BurstLengths { growth, ..self }
    }
}

/// Parses `CHECKING:INSTRUMENTED`, of which each may be `inf`, or `CHECKING:INSTRUMENTEDxGROWTH`.
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

/// Number of checks that a frame waits in code for bursts before it asks for checking code again. The wait is short
/// at first, because the next loop may have checking code, then doubles each time up to `LONGEST_WAIT`, because there
/// may be none as long as a loop runs.
const FIRST_WAIT: i64 = 8;
const LONGEST_WAIT: i64 = 1024;
/// Number of checks after which a lost burst is tried again; it doubles with each further lost burst.
const RETRY: i64 = 1000;
/// Number of bursts of one length before the bursts get longer.
const BEFORE_GROWTH: u32 = 256;

/// A version of each function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// Checking code, which only performs checks.
    Checking,
    /// Instrumented code, which counts.
    Instrumented,
}

/// The phase of a program. Machine code holds the two public counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    lengths: BurstLengths,
    /// Checks that checking code still passes before it asks: nCheck minus one.
    pub checking: i64,
    /// Checks that the burst still has, including the next; 0 if no burst runs: nInstr.
    pub instrumented: i64,
    /// Length in checks of the last wait for checking code; 0 if no frame has waited since the burst.
    waits: i64,
    /// Checks of that wait that are not counted yet; 0 if it is over.
    waiting: i64,
    /// Number of checks by which the next lost burst is delayed.
    retry: i64,
    /// Factor by which the phases have grown, and number of ended bursts of that length.
    scale: u32,
    ended: u32,
    /// Checks from the end of the last burst until the next one begins.
    between: u64,
    /// Checks outside of bursts, up to the last change, and checks in ended bursts.
    passed: u64,
    seen: u64,
    /// Planned checks of the running or last burst.
    planned: i64,
    /// Number of bursts that have begun.
    pub begun: u64,
    /// Weighted number of bursts that have begun: a burst k times as long as the first counts k.
    pub begun_by_length: u64,
    /// Sum of the squares of these weights.
    squares: u64,
    /// Number of bursts that could not run because there was no instrumented code.
    pub lost: u64,
    /// Checks that lost bursts, and all that were due, stand for: those since the one before was due.
    unseen: u64,
    due: u64,
}

impl Bursts {
    /// Creates the state of a program that has not reached a check.
    pub fn new(lengths: BurstLengths) -> Bursts {
        let mut bursts = Bursts {
            lengths,
            checking: 0,
            instrumented: 0,
            waits: 0,
            waiting: 0,
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
            unseen: 0,
            due: 0,
        };
        bursts.rest();
        bursts
    }

    /// Continues where an earlier program was between two bursts, of which `passed` checks are over, rather than at the
    /// end of a burst. Only before the first check. Returns how many of these checks count: the next one may begin a
    /// burst. A time without bursts has no end that comes nearer.
    pub fn go_on_from(&mut self, passed: u64) -> u64 {
        if self.lengths.checking == BurstLengths::FOREVER {
            return 0;
        }
        let length = self.time_between();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX).clamp(0, length - 1);
        self.rest_for(length - passed);
        passed.cast_unsigned()
    }

    /// Returns how many checks of the time between two bursts are over, of its initial length: for the next program's
    /// [`go_on_from`](Self::go_on_from).
    pub fn passed_since_burst(&self) -> u64 {
        if self.lengths.checking == BurstLengths::FOREVER || self.counts() {
            return 0;
        }
        let length = self.time_between();
        let left = self.checking.saturating_add(1).clamp(0, length);
        (length - left).cast_unsigned() / u64::from(self.scale)
    }

    /// Returns the initial lengths of the phases.
    pub fn lengths(&self) -> BurstLengths {
        self.lengths
    }

    /// Changes the lengths of the phases: a running burst ends at its next check, and the time until the next burst
    /// starts anew.
    pub fn set_lengths(&mut self, lengths: BurstLengths) {
        (self.passed, self.seen) = self.passed_and_seen();
        (self.lengths, self.scale, self.ended) = (lengths, 1, 0);
        self.rest();
    }

    /// Handles a check in checking code that has counted below zero; returns the version to continue in.
    pub fn fired(&mut self) -> Version {
        if self.counts() {
            self.checking = 0;
            self.step()
        } else {
            self.begin()
        }
    }

    /// Extends the running burst by some checks.
    pub fn prolong(&mut self, checks: u32) {
        self.instrumented = self.instrumented.saturating_add(i64::from(checks));
        self.planned = self.planned.saturating_add(i64::from(checks));
    }

    /// Excludes a check of the running burst that was in code without an instrumented version: what follows it is not
    /// counted.
    pub fn miss(&mut self) {
        self.planned -= 1;
        self.passed = self.passed.saturating_add(1);
    }

    /// Handles a check in instrumented code; returns the version to continue in.
    pub fn check_in_burst(&mut self) -> Version {
        if self.counts() {
            return self.step();
        }
        self.instrumented = (self.instrumented - 1).max(0);
        if self.instrumented > 0 {
            return Version::Instrumented;
        }
        // The burst ended in a callee, or the frame has waited since: these checks count as some in checking code.
        self.checking -= std::mem::take(&mut self.waiting).max(1);
        if self.checking < 0 { self.begin() } else { Version::Checking }
    }

    /// Cancels the burst that was to begin, or has begun, because the program is in code without an instrumented
    /// version. It is tried again soon, then at growing intervals, since there may be instrumented code elsewhere, or
    /// later. Returns the number of checks that it stands for: see [`unseen`](Self::unseen).
    pub fn lose(&mut self) -> u64 {
        self.lost += 1;
        let stands_for = self.give_up();
        self.rest_for(self.time_between().min(self.retry));
        self.retry = self.retry.saturating_mul(2);
        stands_for
    }

    /// Leaves out the burst that has begun, because it is not wanted; the next one is due as usual. Returns the number
    /// of checks that it stands for: see [`unseen`](Self::unseen).
    pub fn leave_out(&mut self) -> u64 {
        let stands_for = self.give_up();
        self.rest();
        stands_for
    }

    /// Uncounts the burst that has begun; returns the number of checks that it stands for.
    fn give_up(&mut self) -> u64 {
        let stands_for = self.between;
        self.unseen = self.unseen.saturating_add(stands_for);
        // The current check is in no burst.
        self.passed = self.passed.saturating_add(1);
        self.begun -= 1;
        self.begun_by_length -= u64::from(self.scale);
        self.squares -= u64::from(self.scale).pow(2);
        stands_for
    }

    /// Postpones the due burst by `times` the usual number of checks between two bursts.
    pub fn put_off(&mut self, times: u32) {
        let more = self.time_between().saturating_mul(times.into());
        self.checking = more - 1;
        self.between = self.between.saturating_add(more.cast_unsigned());
    }

    /// Ends the running burst early: the program has reached code in which nothing counts.
    pub fn cut(&mut self) {
        self.end(self.planned - self.instrumented);
    }

    /// Makes a frame wait that cannot leave its code after a burst, as there is no checking code where it is. After
    /// some checks it tries again; its counts meanwhile are not part of the profile.
    pub fn wait(&mut self) {
        self.waits = (2 * self.waits).clamp(FIRST_WAIT, LONGEST_WAIT);
        (self.instrumented, self.waiting) = (self.waits, self.waits);
    }

    /// Reports whether a frame has waited for checking code so long that it must be in a long loop.
    pub fn is_stuck(&self) -> bool {
        self.waits == LONGEST_WAIT
    }

    /// Returns the number of checks that the running or last burst is to have.
    pub fn planned_checks(&self) -> u64 {
        self.planned.max(0).cast_unsigned()
    }

    /// Returns the number of checks before the running burst, since the previous one ended or was lost.
    pub fn checks_between(&self) -> u64 {
        self.between
    }

    /// Returns the number of all checks before the running burst.
    pub fn checks_before(&self) -> u64 {
        self.passed.saturating_add(self.seen)
    }

    /// Reports whether a burst runs.
    pub fn counts(&self) -> bool {
        self.instrumented > 0 && self.waits == 0
    }

    fn begin(&mut self) -> Version {
        self.begun += 1;
        self.begun_by_length += u64::from(self.scale);
        self.squares = self.squares.saturating_add(u64::from(self.scale).pow(2));
        // Frames that waited for checking code may have passed the check where the burst was due.
        let more = self.waited().saturating_add((-1 - self.checking).max(0).cast_unsigned());
        self.between = self.between.saturating_add(more);
        self.due = self.due.saturating_add(self.between);
        // The check that begins the burst is part of it.
        self.passed = self.passed.saturating_add(self.between.saturating_sub(1));
        self.planned = self.length();
        (self.checking, self.instrumented, self.waits, self.waiting) = (0, self.planned, 0, 0);
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

    /// Ends a burst that had `checks` checks; the check at which it ends is in no burst.
    fn end(&mut self, checks: i64) {
        self.seen = self.seen.saturating_add(checks.max(0).cast_unsigned());
        self.passed = self.passed.saturating_add(1);
        self.grow();
        self.rest();
    }

    /// Records that a burst has ended, and lengthens the phases after enough bursts of this length.
    fn grow(&mut self) {
        self.ended += 1;
        if self.ended == BEFORE_GROWTH {
            self.ended = 0;
            self.scale = self.scale.saturating_mul(2).min(self.lengths.growth);
        }
    }

    fn rest(&mut self) {
        self.rest_for(self.time_between());
    }

    fn rest_for(&mut self, between: i64) {
        (self.checking, self.instrumented, self.waiting) = (between - 1, 0, 0);
        self.between = between.cast_unsigned();
    }

    /// Returns the checks between two bursts. Before a burst that does not end there is nothing to wait for, and what came
    /// before it would be missing.
    fn time_between(&self) -> i64 {
        match (self.lengths.checking, self.lengths.instrumented) {
            (checking, BurstLengths::FOREVER) if checking != BurstLengths::FOREVER => 1,
            (checking, _) => self.scaled(checking),
        }
    }

    fn length(&self) -> i64 {
        self.scaled(self.lengths.instrumented)
    }

    /// Scales an initial length by the current growth, in checks.
    fn scaled(&self, length: u32) -> i64 {
        checks_of(length).saturating_mul(i64::from(self.scale))
    }

    /// Returns the effective sample size of the bursts that have begun (Kish, *Survey Sampling*, 1965): the number of
    /// equally long bursts that would be as good a sample, as longer bursts weigh more.
    pub fn independent(&self) -> u64 {
        let of_one_weight = u128::from(self.begun_by_length).pow(2).checked_div(self.squares.into());
        of_one_weight.map_or(0, |bursts| bursts.try_into().unwrap_or(self.begun))
    }

    /// Returns the share of all checks that were in bursts; lost and missed checks count as outside.
    pub fn rate(&self) -> Rate {
        let (passed, seen) = self.passed_and_seen();
        Rate { counted: seen, of: seen.saturating_add(passed) }
    }

    /// Returns the share of checks that are in no burst because there is no instrumented code for them. Where a burst
    /// is due is a sample of all checks, in which each stands for the checks since the one before: lost bursts are
    /// tried again soon, and those then due would count too much otherwise.
    pub fn unseen(&self) -> Rate {
        Rate { counted: self.unseen, of: self.due }
    }

    /// Returns the number of checks outside of bursts, and in bursts, so far.
    fn passed_and_seen(&self) -> (u64, u64) {
        if self.counts() {
            let in_this = (self.planned - self.instrumented).saturating_add(1).max(0);
            return (self.passed, self.seen.saturating_add(in_this.cast_unsigned()));
        }
        let left = self.checking.saturating_add(1).max(0).cast_unsigned();
        let between = self.between.saturating_sub(left).saturating_add(self.waited());
        (self.passed.saturating_add(between), self.seen)
    }

    /// Returns the checks that a waiting frame has passed and that are not counted yet.
    fn waited(&self) -> u64 {
        if self.waiting == 0 { 0 } else { (self.waiting - self.instrumented).max(0).cast_unsigned() }
    }
}

/// Converts a length to a number of checks.
fn checks_of(length: u32) -> i64 {
    match length {
        BurstLengths::FOREVER => i64::MAX,
        checks => i64::from(checks.max(1)),
    }
}
