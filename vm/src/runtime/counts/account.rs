//! What an engine spends on its adaptive profile, by purpose, and whether it may spend more.
//!
//! Input: processor time, measured where it is spent: by the compiler thread for each job, by the program's thread for
//! each burst and each look at what bursts have seen. Output: whether something may be done that will probably take so
//! long. What is ordered and not yet done counts as spent.
//!
//! * **Learning** (all but reoptimization) is kept to an [`Allowance`]; bursts to half of it, so that code for them can
//!   be made.
//! * **Reoptimization** is an investment: a version is made if it is expected to save [`REPAYS`] times what it takes, when
//!   the program runs as long again as it has run. Predictions can be wrong, so all versions together may take no more
//!   than a part of the program's time ([`Account::MOST_INVESTED`]).
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

/// What time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Running in bursts, with the way there and back.
    Bursts,
    /// Compiling code for bursts.
    BurstCode,
    /// Compiling what frames go on in when a burst is over.
    WaysBack,
    /// Reading what bursts have seen.
    Reading,
    /// Compiling better versions.
    Reoptimization,
}

impl Purpose {
    /// All, in the order of [`ProfilingCost`].
    pub const ALL: [Purpose; 5] =
        [Purpose::Bursts, Purpose::BurstCode, Purpose::WaysBack, Purpose::Reading, Purpose::Reoptimization];
}

/// The processor time that an engine has spent on its profile so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfilingCost {
    /// In bursts, with the way there and back. The program gets on in them, too.
    pub bursts: Duration,
    /// For code that counts in bursts.
    pub burst_code: Duration,
    /// For code in which frames go on when a burst is over.
    pub ways_back: Duration,
    /// For looks at what bursts have seen.
    pub reading: Duration,
    /// For better versions of functions.
    pub reoptimization: Duration,
    /// All processor time of the process since there is the engine.
    pub of: Duration,
}

impl ProfilingCost {
    /// All purposes together.
    pub fn sum(&self) -> Duration {
        self.bursts + self.burst_code + self.ways_back + self.reading + self.reoptimization
    }
}

/// A version is to save so many times what it takes.
const REPAYS: f64 = 2.0;

/// What the compiler is expected to take for a function of no size.
const LEAST: Duration = Duration::from_micros(20);

/// A job of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The module, by its address, and the function.
    pub func: (usize, u32),
    /// Why the version is wanted.
    pub purpose: Purpose,
    /// Where it is entered.
    pub block: u32,
}

/// The account of an engine.
#[derive(Debug)]
pub struct Account {
    allowance: Allowance,
    /// What the process has had.
    clock: fn() -> Duration,
    /// What the process had had when it was opened.
    opened: Duration,
    /// Nanoseconds, by purpose.
    spent: [AtomicU64; Purpose::ALL.len()],
    /// What is ordered and not done.
    promised: Mutex<HashMap<Order, Duration>>,
    speeds: [Speed; 2],
}

/// How fast the compiler is.
#[derive(Debug)]
struct Speed {
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Speed {
    /// One that was seen once, with a function of a thousand bytes.
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
    /// What reoptimization may take.
    const MOST_INVESTED: Overhead = Overhead { millionths: 20_000 };

    /// One of which nothing is spent.
    pub fn open(allowance: Allowance) -> Account {
        Account {
            allowance,
            clock: cpu_time::of_process,
            opened: cpu_time::of_process(),
            spent: Default::default(),
            promised: Mutex::default(),
            speeds: [Speed::new(200_000), Speed::new(1_000_000)],
        }
    }

    /// What has been spent.
    pub fn cost(&self) -> ProfilingCost {
        let [bursts, burst_code, ways_back, reading, reoptimization] = Purpose::ALL.map(|of| self.spent(of));
        ProfilingCost { bursts, burst_code, ways_back, reading, reoptimization, of: self.ran() }
    }

    /// Whether a burst may begin.
    pub fn affords_burst(&self) -> bool {
        let granted = self.allowance.granted(self.ran());
        self.spent(Purpose::Bursts) < granted / 2 && self.learning() < granted
    }

    /// Whether learning may take so long.
    pub fn affords(&self, cost: Duration) -> bool {
        self.learning() + cost <= self.allowance.granted(self.ran())
    }

    /// Whether a version that takes the compiler so long is worth it, if it is expected to save this part of the
    /// program's time.
    pub fn repays(&self, cost: Duration, saved: f64) -> bool {
        let ran = self.ran();
        let invested =
            self.spent(Purpose::Reoptimization) + self.promised(|of| of == Purpose::Reoptimization);
        ran.as_secs_f64() * saved >= REPAYS * cost.as_secs_f64()
            && invested + cost <= ran.mul_f64(Self::MOST_INVESTED.as_f64())
    }

    /// How long the compiler probably takes for a function of so many bytes of bytecode.
    pub fn estimate(&self, tier: Tier, bytes: usize) -> Duration {
        self.speed(tier).of_bytes(bytes)
    }

    /// The compiler has taken so long for a function of so many bytes of bytecode.
    pub fn learn(&self, tier: Tier, bytes: usize, took: Duration) {
        // What was there already says nothing.
        if took > LEAST {
            self.speed(tier).learn(bytes, took);
        }
    }

    /// Something has been done.
    pub fn spend(&self, purpose: Purpose, took: Duration) {
        self.spent[purpose as usize].fetch_add(nanoseconds(took), Ordering::Relaxed);
    }

    /// A job is ordered that will probably take so long.
    pub fn promise(&self, order: Order, cost: Duration) {
        self.promises().insert(order, cost);
    }

    /// A job is done or refused that may have been promised; gives whether it was.
    pub fn settle(&self, order: Order) -> bool {
        self.promises().remove(&order).is_some()
    }

    /// The time of the process since the account was opened.
    fn ran(&self) -> Duration {
        (self.clock)().saturating_sub(self.opened)
    }

    fn spent(&self, purpose: Purpose) -> Duration {
        Duration::from_nanos(self.spent[purpose as usize].load(Ordering::Relaxed))
    }

    /// What learning has taken and will take.
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

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn learning_and_reoptimization_have_limits_of_their_own() {
        let share = Allowance::of("1%".parse().expect("is a share"));
        let account = Account { clock: || SECOND, opened: Duration::ZERO, ..Account::open(share) };
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
