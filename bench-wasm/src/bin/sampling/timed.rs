//! The time of a program in each configuration, all configurations interleaved.

use std::path::{Path, PathBuf};

use anyhow::Result;
use wprof_bench::programs::Program;
use wprof_bench::runner::{BURSTS, Engine, Measured, beside_this_program};
use wprof_bench::stats::{Spread, geometric_mean};

use super::Options;
use super::lengths::{IN_ONE_BURST, LENGTHS};

/// The places of checks, as in Hirzel & Chilimbi's table; the last one is the default of engines.
const CHECKS: [&str; 9] = ["orig", "EL", "EC", "EN", "L4", "L10", "LN", "EC+L4", "default"];

/// The cost that another engine pays to be interruptible in every loop.
const EPOCHS: &str = "Wasmtime, epochs";

/// The placement of functions, by round: see [`wprof::Config::padding`]. A program may take some percent longer in one
/// place than in another, which is more than the cost of checks.
const PLACES: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// The configurations under which programs run.
pub struct Engines {
    off: Engine,
    /// The places of checks without bursts.
    checks: &'static [&'static str],
    /// The burst lengths.
    pub lengths: &'static [&'static str],
    basic: Vec<Engine>,
    /// A single burst, then each burst length; empty if only checks are measured.
    bursts: Vec<Engine>,
    /// Wasmtime without and with interruption, if it is available.
    peer: Option<[Engine; 2]>,
}

/// The times of a program, relative to plain code.
pub struct Times {
    /// Time of plain code, in ms.
    pub off_ms: f64,
    /// Checks alone, as named by [`Engines::basic_names`].
    pub basic: Vec<f64>,
    /// Time of the default checks.
    pub checks: f64,
    /// Times with a single burst, then by burst length; empty if only checks are measured.
    pub bursts: Vec<f64>,
}

impl Engines {
    /// Creates the engines that `options` select. They keep machine code in the folder `scratch`, so that it is
    /// compiled once and then only relocated.
    ///
    /// # Errors
    /// Returns an error if our own runner has not been built.
    pub fn new(&Options { defaults, checks_alone, .. }: &Options, scratch: &Path) -> Result<Engines> {
        let last = |all: &'static [&'static str]| if defaults { &all[all.len() - 1..] } else { all };
        let (checks, lengths) = (last(&CHECKS), last(&LENGTHS));
        let own = beside_this_program("wprof-run")?;
        let with = |name: &'static str, options: &[&'static str]| {
            let engine = Engine::new(name, &own, &[&["--eager", "--cache"], options].concat());
            Engine { cache: Some(scratch.join(name)), ..engine }
        };
        // Reoptimized versions have fewer checks, and would make bursts appear to have a negative cost.
        let bursts = |name, lengths, checks| {
            with(name, &["--contexts", "--without", "all", "--burst", lengths, "--checks", checks])
        };
        let timed_lengths =
            [IN_ONE_BURST].into_iter().chain(lengths.iter().copied()).filter(|_| !checks_alone);
        let peer = beside_this_program("peer").ok().map(|runner: PathBuf| {
            let with = |name, options: &[&'static str]| Engine::new(name, &runner, options);
            [with("Wasmtime", &["--precompiled"]), with(EPOCHS, &["--precompiled", "--epochs"])]
        });
        Ok(Engines {
            off: with("off", &[]),
            checks,
            lengths,
            basic: checks.iter().map(|checks| bursts(checks, "inf:1", checks)).collect(),
            bursts: timed_lengths.map(|lengths| bursts(lengths, lengths, "default")).collect(),
            peer: peer.filter(|_| !defaults),
        })
    }

    /// Returns the names of the columns of [`Times::basic`].
    pub fn basic_names(&self) -> Vec<&'static str> {
        self.checks.iter().copied().chain(self.peer.iter().map(|_| EPOCHS)).collect()
    }

    /// Runs the program in each configuration, with the input and the number of rounds of `options`.
    ///
    /// # Errors
    /// Returns an error if the program cannot be run.
    pub fn time(&self, program: &Program, options: &Options, scratch: &Path) -> Result<Times> {
        let ours = std::iter::once(&self.off).chain(&self.basic).chain(&self.bursts);
        let all: Vec<&Engine> = ours.chain(self.peer.iter().flatten()).collect();
        let files = all.iter().map(|engine| engine.prepare(program, scratch)).collect::<Result<Vec<_>>>()?;
        let args = program.args_for(options.quick, options.long);
        let mut taken = vec![[const { Vec::new() }; PLACES.len()]; all.len()];
        for at in (0..PLACES.len()).cycle().take(options.rounds) {
            for ((engine, file), taken) in all.iter().zip(&files).zip(&mut taken) {
                let options = match engine.runner == self.off.runner {
                    true => [&engine.options[..], &["--padding", PLACES[at]]].concat(),
                    false => engine.options.clone(),
                };
                let engine = Engine { options, ..(*engine).clone() };
                taken[at].push(engine.run(program, file, args)?.run);
            }
        }
        let mean = |places: &[Vec<f64>; PLACES.len()]| {
            geometric_mean(
                places.iter().filter(|times| !times.is_empty()).map(|times| Spread::new(times).min),
            )
        };
        let times: Vec<f64> = taken.iter().map(mean).collect();
        let (off, ours) = times.split_first().expect("it is run");
        let (ours, theirs) = ours.split_at(self.basic.len() + self.bursts.len());
        let mut ratios: Vec<f64> = ours.iter().map(|time| time / off).collect();
        let bursts = ratios.split_off(self.basic.len());
        let checks = *ratios.last().expect("the default is the last");
        if let [without, with] = theirs {
            ratios.push(with / without);
        }
        Ok(Times { off_ms: *off, basic: ratios, checks, bursts })
    }

    /// Returns the minimum time of whole processes on the small inputs, from a cold start: plain and sampled, in ms.
    ///
    /// # Errors
    /// Returns an error if the program cannot be run.
    pub fn cold(&self, program: &Program) -> Result<[f64; 2]> {
        const ROUNDS: usize = 5;
        let way = |options: &[&'static str]| Engine { options: options.to_vec(), ..self.off.clone() };
        let ways = [way(&[]), way(&["--burst", BURSTS, "--contexts"])];
        let mut least = [f64::MAX; 2];
        for _ in 0..ROUNDS {
            for (way, least) in ways.iter().zip(&mut least) {
                let Measured { whole, .. } = way.run(program, &program.file, &program.quick_args)?;
                *least = least.min(whole);
            }
        }
        Ok(least)
    }
}
