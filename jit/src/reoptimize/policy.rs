//! The policy: all thresholds of the reoptimizer.
//!
//! Counts come from a profile, which may be sampled, so they are only compared with each other. Sizes are in wasm
//! instructions, without those that only mark structure.

/// The thresholds of the reoptimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The number of bursts before the first search for hot functions; the following searches come each time the number
    /// has doubled. A burst longer than the first counts as several. Earlier, the program still reaches new functions.
    pub first_round: u64,
    /// The maximum number of bursts between two searches: a new phase of the program goes unnoticed that long.
    pub longest_round: u64,
    /// The same maximum per function that bursts have seen, if that is larger: so that reading their counts takes
    /// little time in large programs, too.
    pub round_of_function: u64,
    /// A function is reoptimized if it executes at least this share of all instructions. Below it, even twice the speed
    /// is lost in the noise of a measurement.
    pub least_share: f64,
    /// And if the profile has seen at least this many of its instructions: before that its paths are guesses.
    pub least_seen: u64,
    /// A function is reoptimized again when the profile has seen this many times more instructions.
    pub seen_again: u64,
    /// But only if the new version is expected to save at least this much more of the function's work than the current
    /// one. A smaller saving is lost in the effects of code placement, and a large function takes long to compile.
    pub least_gain: f64,
    /// A better version is made from the bursts since the last round alone if that keeps at least this share more of
    /// the function's instructions on superblocks, or of the calls at one place inlined. Samples of one phase hardly
    /// ever differ so much.
    pub phase_change: f64,
    /// The maximum number of phase changes per function. Phases that come and go are not followed forever.
    pub most_phases: u32,
    /// A better version is timed against the previous one, over this many calls of each, and is withdrawn if it is
    /// slower; 0 disables trials. Trials require background compilation: otherwise the same input would not go through
    /// the same versions.
    pub trial_calls: u32,
    /// A version counts as slower if it takes longer by more than this share of a call.
    pub trial_margin: f64,
    /// Whether loops that follow pointers get prefetching code, if a trial shows that it pays. It takes up to two megabytes
    /// for each such loop, in each instance.
    pub prefetching: bool,
    /// The number of calls of each version in such a trial: fewer than in others, as much is at stake, and as loops over
    /// large structures take long. Fewer than seven show nothing beyond chance.
    pub prefetching_calls: u32,
    /// Prefetching code is kept if it saves at least this share of a call, beyond chance.
    pub prefetching_gain: f64,
    /// A loop stays vectorised if it makes at least so many rounds each time for each value in a vector: else it seldom
    /// passes the guard before it.
    pub least_windows: f64,
    /// The least share of its function's instructions that a loop executes for a decision about its vectorisation to be
    /// reported.
    pub least_vector_share: f64,
    /// Whether superblocks are formed.
    pub superblocks: bool,
    /// A path gets its own blocks if it executes at least this share of its function's instructions. Rarer ones would
    /// grow the code more than they can gain.
    pub least_path_share: f64,
    /// And if superblocks together are predicted to save at least this share of the function's work, not counting
    /// inlined code. Below it, programs of ours were as fast without any, hash 4% and fib a fifth faster.
    pub least_superblocks: f64,
    /// Copies for superblocks may have this many times the instructions of their function, and [`Policy::room`] at
    /// most.
    pub path_growth: u32,
    /// Whether calls are inlined.
    pub inlining: bool,
    /// Whether calls through tables are inlined where one function receives most of them.
    pub guesses: bool,
    /// A call that ever runs is inlined if its callee has at most this size: the call itself is as large.
    pub tiny_callee: u32,
    /// A call is also inlined if the callee has at most this size, and its share of calls is at least
    /// [`Policy::least_call_share`].
    pub small_callee: u32,
    /// Or at most this size, with a share of at least [`Policy::hot_call_share`].
    pub large_callee: u32,
    /// Callees that execute more instructions than this per call are not inlined: the call is negligible in comparison.
    pub longest_call: u64,
    /// Calls per executed instruction of the program, from which on a call's cost matters.
    pub least_call_share: f64,
    /// The same share for larger callees.
    pub hot_call_share: f64,
    /// A call through a table is inlined if at least this share of its calls reaches one function: a wrong guess costs
    /// as much as a right one gains.
    pub least_guess: f64,
    /// The maximum nesting depth of inlined calls.
    pub depth: u32,
    /// The maximum number of times that a function is inlined in itself.
    pub recursion: u32,
    /// The maximum number of instructions that inlining adds to a function.
    pub room: u32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            first_round: 8,
            longest_round: 512,
            round_of_function: 64,
            least_share: 0.002,
            least_seen: 2000,
            seen_again: 8,
            least_gain: 0.02,
            phase_change: 0.5,
            most_phases: 4,
            trial_calls: 200,
            trial_margin: 0.01,
            prefetching: false,
            prefetching_calls: 60,
            prefetching_gain: 0.02,
            least_vector_share: 0.02,
            least_windows: 5.0,
            superblocks: true,
            least_path_share: 0.02,
            least_superblocks: 0.03,
            path_growth: 2,
            inlining: true,
            guesses: true,
            tiny_callee: 12,
            small_callee: 80,
            large_callee: 300,
            longest_call: 400,
            least_call_share: 0.0005,
            hot_call_share: 0.004,
            least_guess: 0.75,
            depth: 6,
            recursion: 2,
            room: 2000,
        }
    }
}

impl Policy {
    /// Returns a policy that applies every optimisation at once, to all code that ran: for tests.
    pub fn eager() -> Policy {
        Policy {
            first_round: 1,
            longest_round: 64,
            round_of_function: 0,
            least_share: 0.0,
            least_seen: 1,
            seen_again: 2,
            least_gain: f64::NEG_INFINITY,
            least_vector_share: 0.0,
            least_windows: 0.0,
            least_path_share: 0.0,
            least_superblocks: f64::NEG_INFINITY,
            tiny_callee: 300,
            longest_call: u64::MAX,
            least_guess: 0.3,
            room: 600,
            ..Policy::default()
        }
    }

    /// Returns the number of bursts at which hot functions are next searched, given how many have begun, by length, and
    /// how many functions they have seen.
    pub fn next_round(&self, begun: u64, functions: usize) -> u64 {
        let longest = self.longest_round.max(self.round_of_function.saturating_mul(functions as u64));
        begun.saturating_add(begun.min(longest).max(1))
    }

    /// Reports whether a function that executes `ops` of all the instructions that a profile has seen is hot.
    pub fn is_hot(&self, ops: u64, all: u64) -> bool {
        ops >= self.least_seen && ops as f64 >= self.least_share * all as f64
    }

    /// Reports whether a function is to be reoptimized again, given how many of its instructions were seen by the last
    /// time, and by now.
    pub fn is_worth_another(&self, last: u64, seen: u64) -> bool {
        seen >= self.least_seen && seen / self.seen_again >= last
    }

    /// Reports whether a version with the expected saving `saved` is to replace one with the expected saving `before`.
    pub fn is_worth_making(&self, saved: f64, before: f64) -> bool {
        saved - before >= self.least_gain
    }

    /// Reports whether a call through a table is guessed to call the function with this share of its calls.
    pub fn is_guessed(&self, share: f64) -> bool {
        self.guesses && share >= self.least_guess
    }

    /// Returns the largest callee that is inlined at a call with this frequency, as a share of all executed
    /// instructions.
    pub fn most_callee(&self, call_share: f64) -> u32 {
        match call_share {
            share if share >= self.hot_call_share => self.large_callee,
            share if share >= self.least_call_share => self.small_callee,
            share if share > 0.0 => self.tiny_callee,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_get_longer_and_longest_where_many_functions_are_seen() {
        let policy = Policy { longest_round: 512, round_of_function: 64, ..Policy::default() };
        let rounds = [0, 8, 512, 4096].map(|begun| policy.next_round(begun, 2));
        assert_eq!(rounds, [1, 16, 1024, 4608]);
        assert_eq!([512, 4096].map(|begun| policy.next_round(begun, 20)), [1024, 4096 + 1280]);
    }
}
