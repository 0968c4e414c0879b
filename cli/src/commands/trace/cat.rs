//! `wprof trace cat`: prints the contents of a trace file.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use wprof_profiler::{BitStream, Frame, FunctionTable, Reference, References, Segment};
use wprof_report::names::harmless;
use wprof_report::numbers::count_of;

use super::stats::name;
use super::{Reader, names::Names};
use crate::modules::ModuleOption;
use crate::output;

/// The number of bits per line.
const BITS: u64 = 64;

const EXAMPLES: &str = "\
Examples:
  wprof trace cat json.wtrace
  wprof trace cat --bits small.wtrace";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
For each function this prints its method and the bits that its edges write, first bit first. For \
each chunk it prints where the chunk begins in the stream, the frames that are live at its end, and \
the traps in it; with --bits also the bits, and with --addresses the operands of loads and stores: \
the byte in the module, the index, and the length if it varies. `wprof trace replay` decodes them.

{EXAMPLES}"))]
pub struct CatArgs {
    /// The trace, a file from `wprof trace record`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// Print the bits
    #[arg(long)]
    bits: bool,
    /// Print the data references
    #[arg(long)]
    addresses: bool,
    #[command(flatten)]
    module: ModuleOption,
}

pub fn execute(args: &CatArgs) -> Result<()> {
    let (mut reader, _) = super::open(&args.trace)?;
    let mut names = Names::new(reader.head(), &args.trace, &args.module)?;
    let mut failed = None;
    output::print_with(|out| {
        head(&reader, &mut names, out)?;
        for number in 0..reader.chunk_count() {
            let parts = reader.segment(number).and_then(|segment| Ok((segment, reader.references(number)?)));
            match parts {
                Ok((segment, found)) => {
                    chunk(number, &segment, args.bits, &mut names, out)?;
                    references(found.as_ref(), args.addresses, out)?;
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        Ok(())
    })?;
    if let Some(error) = failed {
        return Err(super::with_path(&args.trace, &error));
    }
    super::note_ending(&reader);
    Ok(())
}

fn head(reader: &Reader, names: &mut Names, out: &mut dyn Write) -> io::Result<()> {
    let hash: String = reader.head().module_hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "program {}, hash {hash}…", harmless(&reader.head().program))?;
    reader.tables().iter().try_for_each(|table| function(table, names, out))
}

fn function(table: &FunctionTable, names: &mut Names, out: &mut dyn Write) -> io::Result<()> {
    let (blocks, method) = (table.calls.len(), name(table.method));
    writeln!(
        out,
        "function {} {}: {blocks} blocks, {method}",
        table.function,
        names.function(table.function)
    )?;
    for emit in &table.emits {
        let Some((from, to)) = table.edges.get(emit.edge.index()) else { continue };
        let bits: String =
            (0..emit.bits).map(|bit| if emit.value >> bit & 1 == 1 { '1' } else { '0' }).collect();
        let (from, to) = (names.block(table.function, *from), names.block(table.function, *to));
        writeln!(out, "  {from} -> {to}  {bits}")?;
    }
    Ok(())
}

fn chunk(
    number: usize,
    segment: &Segment,
    with_bits: bool,
    names: &mut Names,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "chunk {number}: {} bits from bit {}", segment.bits.len(), segment.first_bit)?;
    if with_bits {
        bits(&segment.bits, segment.first_bit, out)?;
    }
    for unwind in &segment.unwinds {
        writeln!(out, "  trap at bit {}, {} frames stay", segment.first_bit + unwind.position, unwind.keep)?;
        frames(&unwind.frames, names, out)?;
    }
    writeln!(out, "  end")?;
    frames(&segment.end, names, out)
}

fn references(found: Option<&References>, each: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(References { all, .. }) = found else { return Ok(()) };
    writeln!(out, "  {}", count_of(all.len() as u64, "data reference"))?;
    for Reference { site, index, length } in all.iter().filter(|_| each) {
        let length = length.map(|length| format!(" {length}")).unwrap_or_default();
        writeln!(out, "    {site:#x} {index:#x}{length}")?;
    }
    Ok(())
}

fn frames(frames: &[Frame], names: &mut Names, out: &mut dyn Write) -> io::Result<()> {
    for &Frame { function, block, stage } in frames {
        let place = names.block(function, block);
        writeln!(out, "    {} {place} {stage:?}", names.function(function))?;
    }
    Ok(())
}

fn bits(bits: &BitStream, first: u64, out: &mut dyn Write) -> io::Result<()> {
    for start in (0..bits.len()).step_by(BITS as usize) {
        let line = (start..bits.len().min(start + BITS)).map_while(|at| bits.bit(at));
        let line: String = line.map(|bit| if bit { '1' } else { '0' }).collect();
        writeln!(out, "  {:>10}  {line}", first + start)?;
    }
    Ok(())
}
