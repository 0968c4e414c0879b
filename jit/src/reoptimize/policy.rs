//! What is worth it: all thresholds of the reoptimizer.
//!
//! Counts are those of a profile, which may be sampled, so they are compared with each other only. Sizes are in wasm
//! instructions, without those that only mark structure.

/// When the reoptimizer does what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// After how many bursts hot functions are looked for the first time; then each time there were twice as many. One
    /// that is longer than the first counts as several. Before, the program still meets new functions.
    pub first_round: u64,
    /// But after so many more at the latest: so long a new phase of the program goes unnoticed.
    pub longest_round: u64,
    /// Or after so many for each function that bursts have seen, if those are more: so that reading what they have seen
    /// takes little of the time in large programs, too.
    pub round_of_function: u64,
    /// A function is reoptimized if it executes at least this share of all instructions. Below it, even twice the
    /// speed is less than the noise of a measurement.
    pub least_share: f64,
    /// And if the profile has seen so many of its instructions: its paths are guesses before.
    pub least_seen: u64,
    /// It is reoptimized again when the profile has seen so many times more.
    pub seen_again: u64,
    /// But only if the new version is expected to save at least this share more of the function's work than the one
    /// that there is. What is less is lost in where code happens to lie, and a large function takes the compiler
    /// long.
    pub least_gain: f64,
    /// A better version is made by the bursts since the last round alone if that keeps at least this share more of
    /// the function's instructions on superblocks, or of the calls at one place inlined. Samples of one phase hardly
    /// ever differ so much.
    pub phase_change: f64,
    /// So often for each function. Phases that come and go are not followed for ever.
    pub most_phases: u32,
    /// A better version is timed beside the one before it, in so many calls of each, and leaves its place if it is
    /// slower; 0: it never is. Only with background compilation: else the same input would not go through the same
    /// versions.
    pub trial_calls: u32,
    /// Slower by more than this part of a call.
    pub trial_margin: f64,
    /// Whether superblocks are formed.
    pub superblocks: bool,
    /// A path gets its own blocks if it executes at least this share of its function's instructions. Rarer ones would
    /// grow the code more than they can gain.
    pub least_path_share: f64,
    /// And if superblocks together are predicted to save at least this share of the function's work, without what is
    /// inlined. Where it is less, programs of ours were as fast without any, hash 4% and fib a fifth faster.
    pub least_superblocks: f64,
    /// Copies for superblocks may have so many times the instructions of their function, and [`Policy::room`] at most.
    pub path_growth: u32,
    /// Whether calls are inlined.
    pub inlining: bool,
    /// Whether calls through tables are inlined where one function gets most of them.
    pub guesses: bool,
    /// A call is inlined if a callee of up to this size is called there at all: the call itself is as large.
    pub tiny_callee: u32,
    /// Or if the callee has up to this size, and calls there are at least [`Policy::least_call_share`].
    pub small_callee: u32,
    /// Or this size, if they are [`Policy::hot_call_share`].
    pub large_callee: u32,
    /// Callees that execute more instructions than this each time are not inlined: the call is nothing beside them.
    pub longest_call: u64,
    /// Calls for each instruction of all that is executed, from which on a call takes time that counts.
    pub least_call_share: f64,
    /// The same for larger callees.
    pub hot_call_share: f64,
    /// A call through a table is inlined if at least this share of its calls goes to one function: a wrong guess
    /// costs as much as a right one gains.
    pub least_guess: f64,
    /// How many calls may be inlined one in the other.
    pub depth: u32,
    /// How many times a function may be inlined in itself, around itself.
    pub recursion: u32,
    /// What is added to a function by inlining has at most so many instructions.
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
    /// Whatever can be done is done at once, for all that ran: for tests.
    pub fn eager() -> Policy {
        Policy {
            first_round: 1,
            longest_round: 64,
            round_of_function: 0,
            least_share: 0.0,
            least_seen: 1,
            seen_again: 2,
            least_gain: f64::NEG_INFINITY,
            least_path_share: 0.0,
            least_superblocks: f64::NEG_INFINITY,
            tiny_callee: 300,
            longest_call: u64::MAX,
            least_guess: 0.3,
            room: 600,
            ..Policy::default()
        }
    }

    /// After how many bursts hot functions are looked for next, when so many have begun, by length, and have seen so
    /// many functions.
    pub fn next_round(&self, begun: u64, functions: usize) -> u64 {
        let longest = self.longest_round.max(self.round_of_function.saturating_mul(functions as u64));
        begun.saturating_add(begun.min(longest).max(1))
    }

    /// Whether a function is hot that executes so many of all the instructions that a profile has seen.
    pub fn is_hot(&self, ops: u64, all: u64) -> bool {
        ops >= self.least_seen && ops as f64 >= self.least_share * all as f64
    }

    /// Whether a function is to be reoptimized of which so many instructions were seen, and so many when it last was.
    pub fn is_worth_another(&self, last: u64, seen: u64) -> bool {
        seen >= self.least_seen && seen / self.seen_again >= last
    }

    /// Whether a version that is expected to save so much is to take the place of one that is expected to save as
    /// much as `before`.
    pub fn is_worth_making(&self, saved: f64, before: f64) -> bool {
        saved - before >= self.least_gain
    }

    /// Whether a call through a table is taken to call the function that has this share of its calls.
    pub fn is_guessed(&self, share: f64) -> bool {
        self.guesses && share >= self.least_guess
    }

    /// The largest callee that is inlined at a call that is made so often, as a share of all executed instructions.
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
