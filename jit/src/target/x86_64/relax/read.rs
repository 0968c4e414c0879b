//! Reads machine code as pieces.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};

use super::super::pinned::PADDING;
use super::{CodeItem, Kind, Layout, Places};
use crate::options::Pass;

/// Bytes of an entry of a jump table.
pub(super) const ENTRY: u32 = 4;
/// Constants are aligned to fewer bytes than this.
const LARGEST_ALIGN: usize = 64;

/// Divides `bytes` into pieces; `None` if any of it is not understood. Data in the middle of code are recognised only
/// by the code before them, so the reader must have found all jump tables that the compiler has written.
pub(super) fn read(bytes: &[u8], layout: &Layout<'_>) -> Option<Vec<CodeItem>> {
    let pieces = Vec::with_capacity(bytes.len() / 4);
    let is_shortened = layout.passes.has(Pass::Short);
    let constants = bytes.len() as u32;
    let mut reader = Reader { bytes, layout, pieces, table: None, tables: 0, constants, is_shortened };
    let end = reader.read_code()?;
    if layout.jump_tables.is_some_and(|tables| tables != reader.tables) {
        return None;
    }
    if end < bytes.len() as u32 {
        reader.push(end, bytes.len() as u32 - end, Kind::Constants);
    }
    let places = Places { pieces: &reader.pieces };
    let are_known = reader.pieces.iter().all(|piece| match piece.kind {
        Kind::Jump { to } | Kind::Branch { to, .. } | Kind::Entry { to, .. } => places.is_begin(to),
        Kind::Relative { to, .. } => places.is_begin(to) || to >= end,
        _ => true,
    });
    are_known.then_some(reader.pieces)
}

struct Reader<'a> {
    bytes: &'a [u8],
    layout: &'a Layout<'a>,
    pieces: Vec<CodeItem>,
    /// The last jump table whose place an instruction has taken.
    table: Option<u32>,
    /// The number of jump tables read.
    tables: usize,
    /// The start of the constants, as far as known.
    constants: u32,
    /// Whether jumps and immediates are shortened and padding is left out.
    is_shortened: bool,
}

impl Reader<'_> {
    /// Reads instructions and jump tables; returns the end of the code.
    fn read_code(&mut self) -> Option<u32> {
        let mut decoder = Decoder::with_ip(64, self.bytes, 0, DecoderOptions::NONE);
        let mut inst = Instruction::default();
        loop {
            let at = decoder.ip() as u32;
            if self.table == Some(at) {
                let behind = self.read_table(at)?;
                self.tables += 1;
                decoder.set_position(behind as usize).ok()?;
                decoder.set_ip(behind.into());
            } else if self.is_end(at) {
                return Some(at);
            } else {
                decoder.decode_out(&mut inst);
                let kind = self.kind(&decoder, &inst)?;
                self.push(at, inst.len() as u32, kind);
            }
        }
    }

    fn push(&mut self, old: u32, old_len: u32, kind: Kind) {
        let kind = if self.is_shortened { kind } else { kind.as_it_is() };
        let len = match kind {
            Kind::Nothing => 0,
            Kind::Jump { .. } | Kind::Branch { .. } if !self.is_shortened => old_len,
            Kind::Jump { .. } | Kind::Branch { .. } => 2,
            Kind::Plain { padding } => old_len - padding,
            Kind::ShortNumber { padding, .. } => old_len - padding - 3,
            Kind::Encoded(code) | Kind::EncodedCall(code) => code.len(),
            Kind::Call
            | Kind::TableJump
            | Kind::Relative { .. }
            | Kind::Table { .. }
            | Kind::Entry { .. }
            | Kind::Constants => old_len,
        };
        self.pieces.push(CodeItem { old, old_len, kind, new: 0, len });
    }

    /// Reports whether the code ends at `at`: nothing follows, or constants with zeros before them.
    fn is_end(&self, at: u32) -> bool {
        let rest = &self.bytes[at as usize..self.constants.max(at) as usize];
        rest.len() < LARGEST_ALIGN && rest.iter().all(|&byte| byte == 0)
    }

    fn kind(&mut self, decoder: &Decoder<'_>, inst: &Instruction) -> Option<Kind> {
        if inst.is_invalid() {
            return None;
        }
        let bytes = &self.bytes[inst.ip() as usize..inst.next_ip() as usize];
        if inst.op0_kind() == OpKind::NearBranch64 {
            return jump(bytes, inst.near_branch64() as u32);
        }
        if inst.is_ip_rel_memory_operand() {
            return self.relative(decoder, inst);
        }
        let padding = bytes.iter().take_while(|&&byte| byte == PADDING).count() as u32;
        Some(match inst.mnemonic() {
            Mnemonic::Nop => Kind::Nothing,
            Mnemonic::Call => Kind::Call,
            Mnemonic::Jmp if self.table == u32::try_from(inst.next_ip()).ok() => Kind::TableJump,
            _ if has_short_form(inst) => {
                let opcode = bytes.iter().position(|&byte| byte == 0x81)? as u32;
                Kind::ShortNumber { padding, opcode }
            }
            _ => Kind::Plain { padding },
        })
    }

    /// Classifies an instruction with a relative address: that of a jump table, or of a constant.
    fn relative(&mut self, decoder: &Decoder<'_>, inst: &Instruction) -> Option<Kind> {
        let to = u32::try_from(inst.ip_rel_memory_address()).ok()?;
        match inst.mnemonic() {
            Mnemonic::Lea => self.table = Some(to),
            _ => self.constants = self.constants.min(to),
        }
        let at = decoder.get_constant_offsets(inst).displacement_offset() as u32;
        Some(Kind::Relative { at, to })
    }

    /// Reads a jump table, which ends where the next basic block begins; returns that place.
    fn read_table(&mut self, table: u32) -> Option<u32> {
        let blocks = self.layout.blocks;
        let next = blocks.get(blocks.partition_point(|&block| block < table)).copied();
        let mut at = table;
        while next.is_none_or(|next| at < next) {
            let Some(entry) = self.bytes.get(at as usize..(at + ENTRY) as usize) else { break };
            let to = table.wrapping_add_signed(i32::from_le_bytes(entry.try_into().ok()?));
            // Behind the last block only this is known of the end of the table: entries lead to blocks.
            if blocks.binary_search(&to).is_err() {
                break;
            }
            self.push(at, ENTRY, Kind::Entry { table, to });
            at += ENTRY;
        }
        (next.is_none_or(|next| next == at) && at > table).then_some(at)
    }
}

/// Classifies a jump with a four-byte distance; Cranelift emits no other.
fn jump(bytes: &[u8], to: u32) -> Option<Kind> {
    match *bytes {
        [0xe9, _, _, _, _] => Some(Kind::Jump { to }),
        [0x0f, opcode @ 0x80..=0x8f, _, _, _, _] => Some(Kind::Branch { condition: opcode & 0xf, to }),
        _ => None,
    }
}

/// Reports whether an instruction has a four-byte immediate that fits in one byte.
fn has_short_form(inst: &Instruction) -> bool {
    let is_long = matches!(
        inst.code(),
        Code::Add_rm32_imm32
            | Code::Add_rm64_imm32
            | Code::Or_rm32_imm32
            | Code::Or_rm64_imm32
            | Code::And_rm32_imm32
            | Code::And_rm64_imm32
            | Code::Sub_rm32_imm32
            | Code::Sub_rm64_imm32
            | Code::Xor_rm32_imm32
            | Code::Xor_rm64_imm32
            | Code::Cmp_rm32_imm32
            | Code::Cmp_rm64_imm32
    );
    is_long && i8::try_from(inst.immediate(1) as u32 as i32).is_ok()
}
