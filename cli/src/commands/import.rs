//! `wprof import`: converts samples of V8 into the time of a profile.
//!
//! For each sample, V8 tells the function, by the byte where its code begins in the module, but not the instruction: its
//! ticks by position are all of line 1. So no place in the function is noted.
//! JavaScript frames between WebAssembly frames are left out, and so is their own time.

mod samples;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, ValueHint};
use wprof_instrument::{OffsetMap, Source};
use wprof_profiler::{Callee, CodeStats, Profile, TimeLog, TimeProfile, Timed};

use self::samples::{CallFrame, Samples};
use super::instrument::binary;
use crate::help;

const EXAMPLES: &str = "\
Examples:
  wprof import --cpuprofile x.cpuprofile -m app.wasm -o time.wprof
  wprof import --cpuprofile x.cpuprofile -m app.wasm --into f.wprof -o both.wprof
  node --cpu-prof --cpu-prof-name=x.cpuprofile app.js   writes x.cpuprofile";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Node (--cpu-prof) and the performance panel of Chromium write the samples of V8's profiler: .cpuprofile files, and \
traces, of which wprof reads all threads. Samples in functions of the module become the time of a profile, by function \
and by stack. V8 does not record the place within a function, so lines have no time. Time in JavaScript is left out.

With --into, the time is added to a profile of the module that has counts, such as one of `wprof collect`. Take the \
samples in another run, without counters: counters cost time.

{EXAMPLES}"))]
pub struct ImportArgs {
    /// A file of V8's profiler: a .cpuprofile, or a trace of Chromium (.json)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    cpuprofile: PathBuf,
    /// The module that ran, or the one that was instrumented
    #[arg(short, long, value_name = "MODULE", value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    module: PathBuf,
    /// The instrumented module, if that ran
    #[arg(long, value_name = "MODULE", value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    instrumented: Option<PathBuf>,
    /// Add the time to this profile's counts
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    into: Option<PathBuf>,
    /// Write the profile to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: PathBuf,
}

pub fn execute(args: &ImportArgs) -> Result<()> {
    let shown = args.cpuprofile.display();
    let text = fs::read(&args.cpuprofile).with_context(|| format!("cannot read {shown}"))?;
    let sampled =
        samples::read(&text).map_err(|error| anyhow!("{shown}: not a file of V8's profiler: {error}"))?;
    ensure!(
        !sampled.is_empty(),
        "{shown}: the trace has no samples of V8: record it with JavaScript samples"
    );
    let bytes = binary(&args.module)?;
    let failed = |path: &Path, error| anyhow!("{}: {error}", path.display());
    let source = Source::new(&bytes).map_err(|error| failed(&args.module, error))?;
    let map = args.instrumented.as_ref().map(|path| -> Result<OffsetMap> {
        OffsetMap::new(&binary(path)?).map_err(|error| failed(path, error))
    });
    let functions = Functions { names: source.names(), source, map: map.transpose()? };
    let threads = sampled.iter().map(|thread| functions.time(thread));
    let time = threads.reduce(|sum, time| sum.merged(&time)).unwrap_or_default();
    ensure!(
        time.total().samples > 0,
        "{shown}: no sample is in a function of {}: give the module that ran",
        args.module.display()
    );
    let mut profile = match &args.into {
        Some(path) => super::read_profile(path)?,
        None => Profile {
            program: args.module.display().to_string(),
            module_hash: functions.source.hash(),
            code: CodeStats { functions: functions.source.bodies.len() as u64, ..CodeStats::default() },
            ..Profile::default()
        },
    };
    ensure!(
        functions.source.has_hash(&profile.module_hash),
        "the profile belongs to another module than {}: give the module that ran",
        args.module.display()
    );
    profile.time = Some(match &profile.time {
        Some(known) => known.merged(&time),
        None => time,
    });
    super::write_profile(&profile, &args.output)
}

/// The offset of a place that is known by its function only.
const NOWHERE: u32 = 0;

/// The functions of a module, as V8 identifies them.
struct Functions<'a> {
    source: Source<'a>,
    names: HashMap<u32, String>,
    map: Option<OffsetMap>,
}

impl Functions<'_> {
    /// Returns the function of a frame.
    fn of_frame(&self, frame: &CallFrame) -> Option<u32> {
        let column = u32::try_from(frame.column_number).ok().filter(|_| frame.url.starts_with("wasm:"))?;
        let offset = self.map.as_ref().map_or(Some(column), |map| map.original(column))? as usize;
        let index = self.source.bodies.partition_point(|body| body.end <= offset);
        self.source.bodies.get(index).filter(|body| body.start <= offset)?;
        let func = self.source.first_defined() + index as u32;
        // If a page has several modules, the frame must be of this one: the names must agree, if there are any.
        let is_numbered = frame.function_name == format!("wasm-function[{func}]");
        let name = self.names.get(&func);
        let is_it = is_numbered || name.is_none_or(|name| *name == frame.function_name);
        is_it.then_some(func)
    }

    /// Returns the time of all samples in functions of the module, by stack.
    fn time(&self, sampled: &Samples) -> TimeProfile {
        let by_id: HashMap<u64, usize> = sampled.nodes.iter().map(|node| node.id).zip(0..).collect();
        let mut own: HashMap<u64, Timed> = HashMap::new();
        for &(node, delta) in &sampled.taken {
            let time_ns = u64::try_from(delta).unwrap_or(0).saturating_mul(1000);
            let sum = own.entry(node).or_default();
            *sum = sum.plus(Timed { time_ns, samples: 1 });
        }
        let called: HashSet<u64> =
            sampled.nodes.iter().flat_map(|node| node.children.iter().copied()).collect();
        let roots = sampled.nodes.iter().filter(|node| !called.contains(&node.id));
        let mut pending: Vec<(u64, Option<u32>)> = roots.map(|node| (node.id, None)).collect();
        let mut log = TimeLog::new(0);
        let mut seen = vec![false; sampled.nodes.len()];
        while let Some((id, caller)) = pending.pop() {
            // V8 never writes a node that is missing, or a child of two nodes.
            let Some(&at) = by_id.get(&id).filter(|at| !std::mem::replace(&mut seen[**at], true)) else {
                continue;
            };
            let node = &sampled.nodes[at];
            let here = self.of_frame(&node.call_frame).map(|index| {
                let callee = Callee::Function { index, name: self.names.get(&index).cloned() };
                log.add(caller, (&callee, NOWHERE, false), own.get(&id).copied().unwrap_or_default())
            });
            pending.extend(node.children.iter().map(|&child| (child, here.or(caller))));
        }
        log.tree()
    }
}
