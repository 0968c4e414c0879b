//! The account of an engine's adaptive profile: what it spends, by purpose, and whether it may spend more.
//!
//! Input: CPU time, measured where it is spent: by the compiler thread for each job, by the program's thread for
//! each burst and each reading of the counts. Output: whether an action that probably takes a given time may be
//! done. Actions that are ordered and not yet done count as spent.
//!
//! * **Learning** (everything except reoptimization) is limited by an [`Allowance`]; bursts by half of it, so
//!   that burst code can be compiled.
//! * **Reoptimization** is an investment: a version is compiled if it is expected to save [`REPAYS`] times its
//!   compilation time, if the program runs as long again as it has run. Predictions can be wrong, so all versions
//!   together may take no more than a share of the program's time ([`Account::MOST_INVESTED`]).
//!
//! Source: the guess that a program runs as long again is that of Kulkarni (*JIT compilation policy for modern
//! machines*, OOPSLA 2011, section 2) and others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;
use wprof_jit::compile::Tier;
use wprof_profiler::{Allowance, Overhead};

use super::cpu_time;
use super::running_time::{RunningTime, nanoseconds};
use crate::arch;

/// The purpose for which time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Running in bursts, including the transitions to burst code and back.
    Bursts,
    /// Compiling burst code.
    BurstCode,
    /// Compiling the code in which frames continue after a burst.
    WaysBack,
    /// Reading the counts of bursts.
    Reading,
    /// Compiling better versions.
    Reoptimization,
}

impl Purpose {
    /// All purposes, in the order of [`ProfilingCost`].
    pub const ALL: [Purpose; 5] =
        [Purpose::Bursts, Purpose::BurstCode, Purpose::WaysBack, Purpose::Reading, Purpose::Reoptimization];
}

/// The CPU time that an engine has spent on its profile so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfilingCost {
    /// Running in bursts, including the transitions to burst code and back. The program makes progress in them,
    /// too.
    pub bursts: Duration,
    /// Compiling burst code.
    pub burst_code: Duration,
    /// Compiling the code in which frames continue after a burst.
    pub ways_back: Duration,
    /// Reading the counts of bursts.
    pub reading: Duration,
    /// Compiling better versions of functions.
    pub reoptimization: Duration,
    /// The CPU time of the process since the engine was created.
    pub of: Duration,
}

impl ProfilingCost {
    /// Returns the sum of all purposes.
    pub fn sum(&self) -> Duration {
        self.bursts + self.burst_code + self.ways_back + self.reading + self.reoptimization
    }
}

/// The factor by which a version's savings must exceed its compilation time.
const REPAYS: f64 = 2.0;

/// The longest time that is believed of [`Account::took`]: others had the processor longer.
const LONGEST_TAKEN: Duration = Duration::from_micros(200);

/// The expected compilation time of an empty function.
const LEAST: Duration = Duration::from_micros(20);

/// A compilation job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The address of the module, and the function.
    pub func: (usize, u32),
    /// The purpose of the version.
    pub purpose: Purpose,
    /// The block at which it is entered.
    pub block: u32,
}

/// The account of an engine.
#[derive(Debug)]
pub struct Account {
    allowance: Allowance,
    /// The CPU time of the process since the account was opened.
    running: RunningTime,
    /// Nanoseconds spent, by purpose.
    spent: [AtomicU64; Purpose::ALL.len()],
    /// The expected cost of jobs that are ordered and not done.
    promised: Mutex<HashMap<Order, Duration>>,
    speeds: [Speed; 2],
}

/// The speed of the compiler.
#[derive(Debug)]
struct Speed {
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Speed {
    /// Starts with one assumed sample: a function of a thousand bytes took `nanoseconds`.
    fn new(nanoseconds: u64) -> Speed {
        Speed { bytes: 1000.into(), nanoseconds: nanoseconds.into() }
    }

    fn of_bytes(&self, bytes: usize) -> Duration {
        let known = [&self.nanoseconds, &self.bytes].map(|count| count.load(Ordering::Relaxed) as f64);
        LEAST + Duration::from_nanos((bytes as f64 * known[0] / known[1]) as u64)
    }

    fn learn(&self, bytes: usize, took: Duration) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds(took.saturating_sub(LEAST)), Ordering::Relaxed);
    }
}

impl Account {
    /// The share of the program's time that reoptimization may take.
    const MOST_INVESTED: Overhead = Overhead { millionths: 20_000 };

    /// Opens an account with nothing spent.
    pub fn open(allowance: Allowance) -> Account {
        Account {
            allowance,
            running: RunningTime::start(cpu_time::of_process),
            spent: Default::default(),
            promised: Mutex::default(),
            speeds: [Speed::new(200_000), Speed::new(1_000_000)],
        }
    }

    /// Returns what has been spent.
    pub fn cost(&self) -> ProfilingCost {
        let [bursts, burst_code, ways_back, reading, reoptimization] = Purpose::ALL.map(|of| self.spent(of));
        ProfilingCost { bursts, burst_code, ways_back, reading, reoptimization, of: self.running.now() }
    }

    /// Returns whether a burst may begin.
    pub fn affords_burst(&self) -> bool {
        let granted = self.allowance.granted(self.running.lately());
        self.spent(Purpose::Bursts) < granted / 2 && self.learning() < granted
    }

    /// Returns whether learning may spend `cost`.
    pub fn affords(&self, cost: Duration) -> bool {
        self.learning() + cost <= self.allowance.granted(self.running.lately())
    }

    /// Returns whether a version that costs the compiler `cost` is worth it, if it is expected to save the share
    /// `saved` of the program's time.
    pub fn repays(&self, cost: Duration, saved: f64) -> bool {
        let ran = self.running.lately();
        let invested =
            self.spent(Purpose::Reoptimization) + self.promised(|of| of == Purpose::Reoptimization);
        ran.as_secs_f64() * saved >= REPAYS * cost.as_secs_f64()
            && invested + cost <= ran.mul_f64(Self::MOST_INVESTED.as_f64())
    }

    /// Estimates the compilation time of a function of `bytes` bytes of bytecode.
    pub fn estimate(&self, tier: Tier, bytes: usize) -> Duration {
        self.speed(tier).of_bytes(bytes)
    }

    /// Records how long the compilation of a function of `bytes` bytes of bytecode took.
    pub fn learn(&self, tier: Tier, bytes: usize, took: Duration) {
        // Code that existed already says nothing about the compiler's speed.
        if took > LEAST {
            self.speed(tier).learn(bytes, took);
        }
    }

    /// Records the time that an action took.
    pub fn spend(&self, purpose: Purpose, took: Duration) {
        self.spent[purpose as usize].fetch_add(nanoseconds(took), Ordering::Relaxed);
    }

    /// Records that a job is ordered, with its expected cost.
    pub fn promise(&self, order: Order, cost: Duration) {
        self.promises().insert(order, cost);
    }

    /// Removes a job that is done or refused; returns whether it had been promised.
    pub fn settle(&self, order: Order) -> bool {
        self.promises().remove(&order).is_some()
    }

    /// Returns how long a thread took that began something at this reading of [`arch::cycles`], if it has had the processor
    /// since. It costs no system call, which take longer than what is done at most checks.
    pub fn took(&self, began: u64) -> Duration {
        self.running.of_cycles(arch::cycles().saturating_sub(began)).min(LONGEST_TAKEN)
    }

    fn spent(&self, purpose: Purpose) -> Duration {
        Duration::from_nanos(self.spent[purpose as usize].load(Ordering::Relaxed))
    }

    /// Returns what learning has spent and is going to spend on ordered jobs.
    fn learning(&self) -> Duration {
        let is_learning = |purpose| purpose != Purpose::Reoptimization;
        let spent = Purpose::ALL.into_iter().filter(|&purpose| is_learning(purpose));
        spent.map(|purpose| self.spent(purpose)).sum::<Duration>() + self.promised(is_learning)
    }

    fn promised(&self, of: impl Fn(Purpose) -> bool) -> Duration {
        self.promises().iter().filter(|(order, _)| of(order.purpose)).map(|(_, cost)| *cost).sum()
    }

    fn promises(&self) -> MutexGuard<'_, HashMap<Order, Duration>> {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn speed(&self, tier: Tier) -> &Speed {
        match tier {
            Tier::Baseline => &self.speeds[0],
            Tier::Optimized => &self.speeds[1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn learning_and_reoptimization_have_limits_of_their_own() {
        let share = Allowance::share_only("1%".parse().expect("is a share"));
        let account = Account { running: RunningTime::at(SECOND), ..Account::open(share) };
        assert!(account.affords_burst() && account.affords(SECOND / 101) && !account.affords(SECOND / 50));
        account.spend(Purpose::Bursts, SECOND / 150);
        assert!(!account.affords_burst() && account.affords(SECOND / 350));
        let order = Order { func: (0, 7), purpose: Purpose::BurstCode, block: 0 };
        account.promise(order, SECOND / 10);
        assert!(!account.affords(Duration::ZERO) && account.repays(SECOND / 100, 0.1));
        assert!(account.settle(order) && !account.settle(order));
        assert!(account.affords(SECOND / 350));
        assert!(!account.repays(SECOND / 100, 0.01), "it would save as much as it takes");
        assert!(!account.repays(SECOND / 10, 0.5), "it would take a tenth of the time");
        account.spend(Purpose::Reoptimization, SECOND);
        assert!(!account.repays(SECOND / 100, 0.1) && account.affords(SECOND / 350));
        assert_eq!((account.cost().sum(), account.cost().of), (SECOND + SECOND / 150, SECOND));
    }

    #[test]
    fn estimates_follow_what_the_compiler_takes() {
        let account = Account::open(Allowance::default());
        let before = account.estimate(Tier::Optimized, 2000);
        account.learn(Tier::Optimized, 1_000_000, SECOND / 4);
        let after = account.estimate(Tier::Optimized, 2000);
        assert!(after < before / 2 && after > LEAST, "{before:?} {after:?}");
        account.learn(Tier::Optimized, 1 << 30, Duration::ZERO);
        assert_eq!(account.estimate(Tier::Optimized, 2000), after);
    }
}
