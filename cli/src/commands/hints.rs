//! `wprof hints`: turns a profile into hints for compilers, in the module itself or in files beside it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueHint};
use wprof::Module;
use wprof::component::Component;
use wprof_profiler::Profile;
use wprof_report::hints::{self, Hinted, Options};
use wprof_report::names;

use crate::{modules, output};

const EXAMPLES: &str = "\
Examples:
  wprof run -q --collect edges,cct -o f.wprof in.wasm
  wprof hints in.wasm f.wprof -o out.wasm";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Hints are custom sections. The code and all other sections stay the same, byte for byte.
  metadata.code.branch_hint            which way `if` and `br_if` likely go; always written
  metadata.code.instr_freq             how often calls are executed; with --all
  metadata.code.call_targets           what indirect calls call; with --all, from calling contexts or
                                       bursts
  metadata.code.compilation_priority   hot functions first; with --all

wprof prints how often branches went the hinted way: in the profile that the hints come from, or, with --check, in \
another run of the hinted module.

{EXAMPLES}

More examples:
  wprof hints in.wasm f.wprof --all --likely 80 -o out.wasm
  wprof run -q --exact -o g.wprof out.wasm && wprof hints --check out.wasm g.wprof
  wprof hints in.wasm f.wprof --order functions.txt
  wprof hints in.wasm f.wprof --autofdo f.prof && clang -fprofile-sample-use=f.prof …
  wprof hints in.wasm f.wprof --split f.split && wasm-split in.wasm --profile=f.split …"))]
pub struct HintsArgs {
    /// The module or component that ran
    #[arg(value_name = "MODULE", value_hint = ValueHint::FilePath)]
    module: PathBuf,
    /// A profile of it
    #[arg(value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    profile: PathBuf,
    /// Write the module or component with hints to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present_any = ["check", "order", "autofdo", "split"])]
    output: Option<PathBuf>,
    /// Write all kinds of hints, not only branch hints
    #[arg(long, requires = "output")]
    all: bool,
    /// Hint only branches that go one way at least PERCENT of the time
    #[arg(long, value_name = "PERCENT", default_value_t = 90.0, value_parser = likely)]
    likely: f64,
    /// Hint only branches that ran at least TIMES times
    #[arg(long, value_name = "TIMES", default_value_t = 10)]
    reached: u64,
    /// Write the names of the functions that ran, one per line, most instructions first
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    order: Option<PathBuf>,
    /// Write an AutoFDO profile, execution counts by source line for LLVM's compilers; needs DWARF
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    autofdo: Option<PathBuf>,
    /// Write which functions ran, for Binaryen's wasm-split
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    split: Option<PathBuf>,
    /// Only print how often branches went the way that the module's own hints predict
    #[arg(long, conflicts_with_all = ["output", "order", "autofdo", "split"])]
    check: bool,
}

pub fn execute(args: &HintsArgs) -> Result<()> {
    let profile = super::read_profile(&args.profile)?;
    let found = modules::within(&profile, &args.module)?;
    let profiled = found.profiled(&profile);
    if args.check {
        return check(&profiled);
    }
    let (module, own) =
        profiled.first().context("the profile has no functions of the component's own modules")?;
    if let Some(path) = &args.order {
        let order: String = profiled.iter().map(|(_, own)| hints::order(own)).collect();
        output::write_file(path, |out| out.write_all(order.as_bytes()))?;
    }
    if let Some(path) = &args.autofdo {
        let samples = hints::autofdo(module, own)?;
        output::write_file(path, |out| samples.write(out))?;
    }
    if let Some(path) = &args.split {
        ensure!(found.component.is_none(), "wasm-split takes no components: leave out --split");
        let file = fs::read(&args.module).with_context(|| args.module.display().to_string())?;
        let bytes = hints::split(module, &file, own)?;
        output::write_file(path, |out| out.write_all(&bytes))?;
    }
    args.output.as_ref().map_or(Ok(()), |path| write_hinted(args, found.component.as_ref(), &profiled, path))
}

/// Prints how often branches went as hinted, in each module that has hints.
fn check(profiled: &[(Module, Profile)]) -> Result<()> {
    let of_each = profiled.iter().map(|(module, own)| (module, hints::accuracy(module, own)));
    let (hinted, plain): (Vec<_>, Vec<_>) = of_each.partition(|(_, accuracy)| accuracy.is_ok());
    if let (true, Some((_, Err(error)))) = (hinted.is_empty(), plain.into_iter().next()) {
        return Err(error.into());
    }
    for (module, accuracy) in hinted {
        output::tell_line(format_args!("{}{}", told(module), accuracy?));
    }
    Ok(())
}

/// Writes the module with hints, or the component, in which each module that ran has its own.
fn write_hinted(
    args: &HintsArgs,
    component: Option<&Component>,
    profiled: &[(Module, Profile)],
    path: &Path,
) -> Result<()> {
    let mut options = Options::default();
    (options.all, options.likely, options.reached) = (args.all, args.likely / 100.0, args.reached);
    let mut whole = component.map(|component| component.bytes().to_vec());
    let mut lines = Vec::new();
    for (module, own) in profiled {
        let hinted = hints::write(module, own, &options)?;
        lines.extend(hinted.sections.iter().map(|section| format!("{}{section}", told(module))));
        lines.push(format!("{}{}", told(module), hinted.accuracy));
        whole = Some(match (whole, component) {
            (Some(whole), Some(component)) => {
                with_hints(whole, component, module, |alike| Ok(hints::write(alike, own, &options)?))?
            }
            _ => hinted.bytes,
        });
    }
    let whole = whole.unwrap_or_default();
    output::write_file(path, |out| out.write_all(&whole))?;
    lines.iter().for_each(|line| output::tell_line(format_args!("{line}")));
    Ok(())
}

/// Returns a component in which hints are in a core module, and in those that have the same code.
fn with_hints(
    whole: Vec<u8>,
    component: &Component,
    module: &Module,
    hinted: impl Fn(&Module) -> Result<Hinted>,
) -> Result<Vec<u8>> {
    let alike = component.modules().iter().filter(|other| module.hash() == other.hash());
    alike.clone().try_fold(whole, |whole, alike| {
        let plain = alike.bytes().map_err(modules::failure)?;
        Ok(wprof_instrument::with_module(&whole, &plain, &hinted(alike)?.bytes)?)
    })
}

/// Returns what lines about a module begin with: its name, if it is one of several of a component.
fn told(module: &Module) -> String {
    module.name_in_component().map(|name| format!("{}: ", names::harmless(name))).unwrap_or_default()
}

fn likely(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse().ok();
    percent
        .filter(|percent| *percent > 50.0 && *percent <= 100.0)
        .ok_or_else(|| "give a percentage above 50, up to 100".to_owned())
}
