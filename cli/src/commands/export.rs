//! `wprof export`: writes a profile for other tools.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, ValueHint};
use wprof_profiler::{Profile, share_names};
use wprof_report::Program;
use wprof_report::export::{Changes, Export, Format, Options};

use crate::modules::ModuleOption;
use crate::ownership::OwnershipArgs;
use crate::screen::are_names_full;
use crate::{modules, output, progress};

/// A format, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct To(Format);

impl ValueEnum for To {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [To; Format::ALL.len()] = {
            let mut all = [To(Format::Json); Format::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = To(Format::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.purpose()))
    }
}

const EXAMPLES: &str = "\
Examples:
  wprof export --to flamegraph -o f.svg f.wprof
  wprof export --to pprof -o f.pb.gz f.wprof && go tool pprof -top f.pb.gz
  wprof export --to lcov -o f.info f.wprof && genhtml -o html f.info";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Stacks of time are the sampled ones. Other stacks are calling contexts, if the profile has them (`--collect cct`); \
figures that are known only by function get stacks of one function. lcov and cobertura need the module with debug \
information, and cover your own source files; `--mine '*'` adds the files of libraries. The book lists what each \
format keeps and loses (docs/src/how-to/exports.md).

{EXAMPLES}

More examples:
  wprof run --collect edges,cct -o f.wprof json.wasm 20 2    calling contexts for the stacks
  wprof export --to flamegraph --against before.wprof -o changes.svg after.wprof
  wprof export --to flamegraph --weight fuel -o fuel.svg f.wprof    of --collect cct,events=fuel
  wprof export --to folded --weight instructions f.wprof | sort -k2 -n
  wprof export --to callgrind -o callgrind.out f.wprof && callgrind_annotate callgrind.out
  wprof export --to json f.wprof | jq '.functions[] | [.name, .ops]'"))]
pub struct ExportArgs {
    /// Choose the format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: To,
    /// The profile
    #[arg(value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    profile: PathBuf,
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Folded stacks and flame graphs only: weigh stacks by time (in nanoseconds), instructions, calls or an event kind
    /// [default: time if sampled often enough, else instructions]
    #[arg(short, long, value_name = "METRIC")]
    weight: Option<String>,
    /// Folded stacks, flame graphs and cpuprofile only: begin each stack with its thread
    ///
    /// Other formats with stacks keep threads apart without it, or label each stack with the name of its thread.
    #[arg(long, conflicts_with = "against")]
    by_thread: bool,
    /// Flame graphs only: colour frames by what changed since an earlier profile
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::FilePath)]
    against: Option<PathBuf>,
    #[command(flatten)]
    ownership: OwnershipArgs,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &ExportArgs) -> Result<()> {
    let mut profile = super::read_profile(&args.profile)?;
    let To(format) = args.to;
    ensure!(
        args.weight.is_none() || format.is_of_one_metric(),
        "this format contains all metrics: leave out --weight"
    );
    ensure!(
        !args.by_thread || format.is_of_one_metric() || format.has_threads(),
        "this format cannot begin stacks with threads: leave out --by-thread"
    );
    ensure!(
        args.against.is_none() || format == Format::Flamegraph,
        "only flame graphs have --against: add --to flamegraph, or use `wprof diff`"
    );
    ensure!(
        format.is_of_lines() || !args.ownership.is_given(),
        "only lcov and cobertura leave out the files of libraries: leave out --library and --mine"
    );
    let mut before = args.against.as_deref().map(super::read_profile).transpose()?;
    if let Some(before) = &mut before {
        share_names(before, &mut profile);
    }
    export(args, profile, before)
}

fn export(args: &ExportArgs, mut profile: Profile, before: Option<Profile>) -> Result<()> {
    let To(format) = args.to;
    format.check(&profile)?;
    let module = match format.is_of_lines() {
        true => Some(args.module.needed(&mut profile, &args.profile)?),
        false => args.module.at_hand(&mut profile, &args.profile)?,
    };
    let mut options = Options::default();
    options.weight = args.weight.clone();
    options.by_thread = args.by_thread && !format.has_threads();
    options.full_names = are_names_full();
    if let Some(before) = before {
        let changes = Changes::new(before, profile, module.as_ref(), options)?;
        return write_to(&args.output, |out| changes.write(out));
    }
    if format.is_of_lines() || format == Format::Json {
        options.ownership = args.ownership.resolve(module.as_ref());
    }
    let path = args.module.path(&profile, &args.profile);
    let exported = Export::new(profile, module.as_ref(), format, options)?;
    if let Some(module) = module.as_ref().filter(|_| format.is_of_lines()) {
        check_lines(&exported, module, &path)?;
    }
    if let Some(remark) = exported.remark() {
        output::tell_line(format_args!("wprof: {remark}"));
    }
    let write = || write_to(&args.output, |out| exported.write(out));
    if is_output(&args.output) { write() } else { progress::during("exporting the profile", write) }
}

/// Checks that there are source lines, and that some are the program's own.
fn check_lines(exported: &Export, program: &Program, path: &Path) -> Result<()> {
    ensure!(
        exported.has_lines(),
        "{} has no source lines: {}",
        path.display(),
        program
            .modules()
            .find_map(modules::missing_debug_info)
            .unwrap_or_else(|| "build it with debug information".to_owned())
    );
    ensure!(exported.has_own_files(), "all source files belong to libraries: give your own with --mine GLOB");
    Ok(())
}

/// Writes a file, or standard output for the path `-`.
pub fn write_to(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_output(path) {
        return output::print_with(write);
    }
    output::write_file(path, write)
}

/// Reports whether a path stands for standard output.
fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}
