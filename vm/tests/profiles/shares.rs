//! Shares of samples beside the exact ones of the same run.

use std::collections::BTreeMap;

use wprof::profiler::{Callee, ContextTree, FunctionProfile, Profile, Share, Shares};

/// Returns in how many phases of bursts a program is sampled: all, if the variable `WPROF_ALL_CASES` is set.
pub fn phases() -> u32 {
    if std::env::var_os("WPROF_ALL_CASES").is_some() { 20 } else { 3 }
}

/// Returns the record of each chain of callees from the host on.
pub fn chains(tree: &ContextTree) -> BTreeMap<Vec<Callee>, u32> {
    let mut chains: Vec<Vec<Callee>> = vec![Vec::new()];
    for (record, index) in tree.records.iter().zip(0..).skip(1) {
        let mut chain = chains[record.parent as usize].clone();
        chain.push(tree.callee(index).clone());
        chains.push(chain);
    }
    chains.into_iter().zip(0..).collect()
}

/// A compared function or context: its exact share, and the sampled one.
pub struct Case {
    pub what: String,
    pub exact: f64,
    pub sampled: Share,
}

impl Case {
    fn holds(&self) -> bool {
        (self.sampled.low..=self.sampled.high).contains(&self.exact)
    }
}

/// Returns the shares of functions and contexts above 2%.
pub fn cases(exact: &Profile, sampled: &Profile) -> Vec<Case> {
    let (expected, found) = (Shares::new(exact), Shares::new(sampled));
    let mut cases = Vec::new();
    for function in &exact.functions {
        let what = function.name.clone().unwrap_or_default();
        let exact = expected.function(function.index).share;
        cases.push(Case { what, exact, sampled: found.function(function.index) });
    }
    let tree = exact.contexts.as_ref().expect("counted");
    // A run without bursts has no contexts.
    let Some(seen) = sampled.contexts.as_ref().map(chains) else {
        cases.retain(|case| case.exact > 0.02);
        return cases;
    };
    for (chain, record) in chains(tree) {
        let exact = expected.records([record]).expect("instructions in contexts").share;
        let sampled = found.records(seen.get(&chain).copied()).expect("instructions in contexts");
        let what = chain.iter().map(|callee| format!("> {callee}")).collect();
        cases.push(Case { what, exact, sampled });
    }
    cases.retain(|case| case.exact > 0.02);
    cases
}

/// The number of shares that were compared, and of those outside their interval.
#[derive(Default)]
pub struct Judged {
    all: usize,
    wrong: Vec<String>,
    /// The same by program.
    by_program: BTreeMap<String, [usize; 2]>,
}

impl Judged {
    /// Compares the shares of a sample.
    pub fn add(&mut self, program: &str, phase: u32, exact: &Profile, sampled: &Profile) {
        let before = [self.all, self.wrong.len()];
        self.add_shares(program, phase, exact, sampled);
        let here = self.by_program.entry(program.to_owned()).or_default();
        here[0] += self.all - before[0];
        here[1] += self.wrong.len() - before[1];
    }

    fn add_shares(&mut self, program: &str, phase: u32, exact: &Profile, sampled: &Profile) {
        self.add_unseen(program, phase, exact, sampled);
        for case in cases(exact, sampled) {
            self.all += 1;
            let Share { share, low, high } = case.sampled;
            let percent = |share: f64| format!("{:.1}%", 100.0 * share);
            if !case.holds() {
                self.wrong.push(format!(
                    "{program}, phase {phase}: {} {}, sampled {} ({} to {}), {:?} bursts",
                    case.what,
                    percent(case.exact),
                    percent(share),
                    percent(low),
                    percent(high),
                    sampled.bursts
                ));
            }
        }
    }

    /// Compares the share of the functions that no burst saw with the most that the sample says of them.
    fn add_unseen(&mut self, program: &str, phase: u32, exact: &Profile, sampled: &Profile) {
        let ran = |of: &&FunctionProfile| of.calls() > 0 || of.ops() > 0;
        let seen: Vec<u32> = sampled.functions.iter().filter(ran).map(|of| of.index).collect();
        let (unseen, all) =
            (exact.functions.iter().filter(ran).filter(|of| !seen.contains(&of.index)), exact.ops());
        let shares: Vec<f64> = unseen.map(|of| of.ops() as f64 / all as f64).collect();
        if shares.is_empty() {
            return;
        }
        self.all += 1;
        let told = Shares::new(sampled).unseen();
        let (together, each) = (shares.iter().sum::<f64>(), shares.iter().copied().fold(0.0, f64::max));
        if !told.is_some_and(|told| {
            told.functions == shares.len() as u64 && together <= told.together && each <= told.each
        }) {
            let unseen = shares.len();
            self.wrong.push(format!(
                "{program}, phase {phase}: {unseen} unseen, {each:.4} at most, {together:.4} together, {told:?}"
            ));
        }
    }

    /// Checks that nineteen of twenty shares lie in their intervals, of `least` shares or more. Those of one program are few,
    /// and depend on each other: of them no more may be wrong than twentieths by chance, by three standard errors and one.
    ///
    /// # Errors
    /// Returns an error that lists those that do not.
    pub fn hold(self, least: usize) -> Result<(), Box<dyn std::error::Error>> {
        let (all, wrong) = (self.all, self.wrong.len());
        println!("{wrong} of {all} are wrong\n{}", self.wrong.join("\n"));
        if all < least || wrong * 20 > all {
            return Err(format!("{wrong} of {all} are wrong, of at least {least}").into());
        }
        for (program, [all, wrong]) in self.by_program {
            let expected = all as f64 / 20.0;
            let most = 1.0 + expected + 3.0 * (expected * 0.95).sqrt();
            println!("{program}: {wrong} of {all} are wrong, at most {most:.1} may be");
            if wrong as f64 > most {
                return Err(format!("{program}: {wrong} of {all} are wrong").into());
            }
        }
        Ok(())
    }
}
