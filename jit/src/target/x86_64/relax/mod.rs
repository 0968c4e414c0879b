//! Relaxes finished machine code: shortens it, and aligns small loops for the processor's instruction fetch.
//!
//! Cranelift gives each jump a distance of four bytes and most immediates four bytes, and does not align loops.
//! Processors fetch code, decoded or not, by lines of 64 bytes: a loop of 25 bytes takes twice as long (measured) if it
//! lies in two lines instead of one. So this module leaves out instructions that do nothing, writes jumps and
//! immediates as short as possible, and places the innermost loops in as few lines as possible. Cold code may lie
//! elsewhere, so that the hot code of many functions takes fewer lines and pages.
//!
//! Input: machine code for x86-64, its tables, the starts of its basic blocks, and the start of its cold part. Output:
//! the same code with other offsets; or nothing, if any of it is not understood.
//! Invariant: the same instructions with the same operands in the same order, except for no-ops, calls (`calls`),
//! bounds tests of jump-table indices (`tables`), addresses in the frame (`addresses`), and redundant moves
//! (`redundant_moves`); each jump leads to the code that runs after it in the original (`jump_threading`).
//! Source: branch relaxation as in Szymanski, CACM 21(4), 1978: all jumps are short at first, and grow where they have
//! to.

mod addresses;
mod calls;
mod cold_split;
mod conventions;
mod effects;
mod encoded;
#[cfg(debug_assertions)]
mod equal;
mod flow;
mod jump_threading;
mod landings;
mod place;
mod reach;
mod read;
mod redundant_moves;
mod search;
mod tables;

use super::super::Finished;
use super::pinned::nops;
use crate::code::{ColdPart, MachineCode};
use crate::options::{Pass, Passes};
use cold_split::ColdSplit;
pub(super) use effects::{Registers, returned};
use encoded::Encoded;
use place::Aligned;

/// The number of bytes of code that a processor fetches at a time.
const LINE: u32 = 64;

/// The properties of machine code that its bytes do not show.
#[derive(Clone, Copy)]
pub(super) struct Layout<'a> {
    /// The starts of the basic blocks, in ascending order.
    pub blocks: &'a [u32],
    /// The start of the cold blocks, which follow the hot ones.
    pub cold: u32,
    /// The ranges whose calls neither read nor change any register except the pinned one: start and end of each,
    /// ascending. A range has no other calls.
    pub transparent_calls: &'a [(u32, u32)],
    /// The registers that callers may read when the function returns.
    pub returned: Registers,
    /// The number of jump tables, if known.
    pub jump_tables: Option<usize>,
    /// The passes to run.
    pub passes: Passes,
}

impl<'a> Layout<'a> {
    pub(super) fn new(finished: &Finished<'a>) -> Layout<'a> {
        let Finished { blocks, cold, transparent_calls, results, jump_tables, passes, .. } = *finished;
        let jump_tables = Some(jump_tables);
        Layout { blocks, cold, transparent_calls, returned: returned(results), jump_tables, passes }
    }
}

#[cfg(test)]
impl Layout<'_> {
    /// The layout of code of which only the bytes are known.
    const UNKNOWN: Layout<'static> = Layout {
        blocks: &[],
        cold: u32::MAX,
        transparent_calls: &[],
        returned: effects::ALL,
        jump_tables: None,
        passes: Passes::ALL,
    };
}

/// Relaxes `code`, or leaves it unchanged if any of it is not understood. Returns the old and the new start of each
/// basic block.
pub(super) fn relax(code: &mut MachineCode, layout: &Layout<'_>) -> Vec<(u32, u32)> {
    relaxed(code, layout).unwrap_or_else(|| layout.blocks.iter().map(|&block| (block, block)).collect())
}

fn relaxed(code: &mut MachineCode, layout: &Layout<'_>) -> Option<Vec<(u32, u32)>> {
    let mut pieces = read::read(&code.bytes, layout)?;
    let mut landings = landings::read(&pieces, &code.landings, layout.blocks)?;
    let has = |pass| layout.passes.has(pass);
    if has(Pass::Calls) {
        calls::merge(&mut pieces, &code.bytes, layout.blocks);
    }
    if has(Pass::Tables) {
        tables::share(&mut pieces, &code.bytes, layout.blocks);
    }
    if has(Pass::Addresses) {
        addresses::name(&mut pieces, &code.bytes, layout.blocks);
    }
    let mut effects = effects::effects(&pieces, &code.bytes, layout);
    if has(Pass::RedundantMoves) {
        let blocks = flow::blocks(&pieces, &effects, (layout.blocks, &landings));
        redundant_moves::leave_out(&mut pieces, &mut effects, &blocks);
    }
    jump_threading::settle(&mut pieces, &mut landings);
    if has(Pass::JumpThreading) {
        jump_threading::thread(&mut pieces, &landings, layout.cold);
    }
    let aligned = if has(Pass::Align) { Aligned::new(&pieces, layout.cold) } else { Aligned::default() };
    let align = if aligned.is_empty() { code.align } else { code.align.max(LINE) };
    let begin = if has(Pass::ColdSplit) { cold_split::begin(&pieces, &effects, layout.cold) } else { None };
    let apart = begin.map(|begin| ColdSplit { begin, align });
    if let Err(lost) = reach::check(&pieces, &effects, (&landings, apart)) {
        debug_assert!(false, "{lost}");
        return None;
    }
    place::place(&mut pieces, &aligned, apart);
    let bytes = write(&pieces, &code.bytes)?;
    #[cfg(debug_assertions)]
    equal::assert_equal(&pieces, &code.bytes, &bytes);
    let places = Places { pieces: &pieces };
    code.bytes = bytes;
    code.align = align;
    code.cold = apart.map(|apart| ColdPart {
        start: places.begin(apart.begin),
        distances: pieces.iter().filter_map(|piece| apart.distance(piece)).collect(),
    });
    code.traps.iter_mut().for_each(|trap| trap.pc = places.begin(trap.pc));
    code.calls.iter_mut().for_each(|call| call.return_pc = places.end(call.return_pc));
    for (landing, &to) in code.landings.iter_mut().zip(&landings) {
        (landing.return_pc, landing.pc) = (places.end(landing.return_pc), places.begin(to));
    }
    code.relocs.iter_mut().for_each(|reloc| reloc.offset = places.inside(reloc.offset));
    code.positions = code.positions.moved(|at| places.begin(at));
    let data = pieces.iter().filter(|piece| matches!(piece.kind, Kind::Entry { .. } | Kind::Constants));
    code.data = data.map(|piece| (piece.new, piece.new + piece.len)).collect();
    Some(layout.blocks.iter().map(|&block| (block, places.begin(block))).collect())
}

/// An instruction, or data.
#[derive(Clone, Copy, Debug)]
struct CodeItem {
    /// The old place.
    old: u32,
    old_len: u32,
    kind: Kind,
    /// The new place and length; padding may precede it.
    new: u32,
    len: u32,
}

impl CodeItem {
    /// Replaces the piece by one that is no longer than its code.
    fn replace(&mut self, kind: Kind) {
        self.kind = kind;
        self.len = match kind {
            Kind::Encoded(code) | Kind::EncodedCall(code) => code.len(),
            _ => 0,
        };
    }
}

/// The kind of a piece, which says what may change when the piece moves. Places are old ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An instruction that never changes, except that `padding` bytes in front of it are left out.
    Plain {
        padding: u32,
    },
    /// A call that never changes.
    Call,
    /// A jump through a jump table, which never changes.
    TableJump,
    /// A new encoding, chosen by `calls`, `tables`, `addresses` or `redundant_moves`.
    Encoded(Encoded),
    EncodedCall(Encoded),
    /// A removed piece.
    Nothing,
    /// An instruction whose last four bytes are an immediate that fits in one; the opcode is `opcode` bytes from the
    /// beginning.
    ShortNumber {
        padding: u32,
        opcode: u32,
    },
    Jump {
        to: u32,
    },
    /// A conditional jump, with the low four bits of its opcode.
    Branch {
        condition: u8,
        to: u32,
    },
    /// An instruction with the four-byte distance to a place, `at` bytes from its beginning.
    Relative {
        at: u32,
        to: u32,
    },
    /// An instruction that takes the place of a jump table into a register.
    Table {
        register: u8,
        table: u32,
    },
    /// An entry of a jump table, relative to the table.
    Entry {
        table: u32,
        to: u32,
    },
    /// Constants, which keep their alignment.
    Constants,
}

impl Kind {
    /// Returns the kind that leaves no bytes of the piece out.
    fn as_it_is(self) -> Kind {
        match self {
            Kind::Plain { .. } | Kind::ShortNumber { .. } | Kind::Nothing => Kind::Plain { padding: 0 },
            other => other,
        }
    }
}

/// Pieces, looked up by their old places.
struct Places<'a> {
    pieces: &'a [CodeItem],
}

impl Places<'_> {
    /// Returns the piece that begins at or contains an old place; the number of pieces if there is none.
    fn index(&self, old: u32) -> usize {
        self.pieces.partition_point(|piece| piece.old + piece.old_len <= old)
    }

    fn is_begin(&self, old: u32) -> bool {
        self.pieces.get(self.index(old)).is_some_and(|piece| piece.old == old)
    }

    /// Returns the new start of the piece at an old place.
    fn begin(&self, old: u32) -> u32 {
        match self.pieces.get(self.index(old)) {
            Some(piece) if piece.kind == Kind::Constants => piece.new + (old - piece.old),
            Some(piece) => piece.new,
            None => self.pieces.last().map_or(0, |last| last.new + last.len),
        }
    }

    /// Returns the new end of the piece that ended at an old place.
    fn end(&self, old: u32) -> u32 {
        let Some(before) = old.checked_sub(1) else { return 0 };
        self.pieces.get(self.index(before)).map_or(0, |piece| piece.new + piece.len)
    }

    /// Returns the new place of a byte of an instruction that does not change.
    fn inside(&self, old: u32) -> u32 {
        let piece = &self.pieces[self.index(old)];
        piece.new + (old - piece.old)
    }
}

/// Writes the bytes of the pieces at their new places.
fn write(pieces: &[CodeItem], old: &[u8]) -> Option<Vec<u8>> {
    let places = Places { pieces };
    let mut bytes: Vec<u8> = Vec::with_capacity(old.len());
    for piece in pieces {
        bytes.extend(nops(piece.new as usize - bytes.len()));
        let own = || &old[piece.old as usize..(piece.old + piece.old_len) as usize];
        let distance = |to: u32| i64::from(places.begin(to)) - i64::from(piece.new + piece.len);
        let is_short = piece.len == 2;
        match piece.kind {
            Kind::Nothing => {}
            Kind::Plain { padding } => bytes.extend(&own()[padding as usize..]),
            Kind::ShortNumber { padding, opcode } => {
                let begin = bytes.len();
                bytes.extend(&own()[padding as usize..piece.old_len as usize - 3]);
                bytes[begin + (opcode - padding) as usize] = 0x83;
            }
            Kind::Jump { to } | Kind::Branch { to, .. } if is_short => {
                let opcode =
                    if let Kind::Branch { condition, .. } = piece.kind { 0x70 | condition } else { 0xeb };
                bytes.extend([opcode, i8::try_from(distance(to)).ok()? as u8]);
            }
            Kind::Jump { to } | Kind::Branch { to, .. } => {
                match piece.kind {
                    Kind::Branch { condition, .. } => bytes.extend([0x0f, 0x80 | condition]),
                    _ => bytes.push(0xe9),
                }
                bytes.extend(i32::try_from(distance(to)).ok()?.to_le_bytes());
            }
            Kind::Relative { at, to } => {
                let begin = bytes.len() + at as usize;
                bytes.extend(own());
                bytes[begin..begin + 4].copy_from_slice(&i32::try_from(distance(to)).ok()?.to_le_bytes());
            }
            Kind::Table { register, table } => {
                bytes.extend([0x48 | register >> 3 << 2, 0x8d, 0x05 | (register & 7) << 3]);
                bytes.extend(i32::try_from(distance(table)).ok()?.to_le_bytes());
            }
            Kind::Entry { table, to } => {
                let distance = i64::from(places.begin(to)) - i64::from(places.begin(table));
                bytes.extend(i32::try_from(distance).ok()?.to_le_bytes());
            }
            Kind::Encoded(code) | Kind::EncodedCall(code) => bytes.extend(code.bytes()),
            Kind::Call | Kind::TableJump | Kind::Constants => bytes.extend(own()),
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
