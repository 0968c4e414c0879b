//! Machine code as text.
//!
//! Input: machine code with [`MachineCode::positions`] and [`MachineCode::data`]. Output: a line for each instruction,
//! in the syntax of the GNU assembler, and a label at each jump target.

use std::collections::BTreeMap;
use std::fmt::Write;

use iced_x86::{
    Decoder, DecoderOptions, Formatter, GasFormatter, Instruction, OpKind, SymbolResolver, SymbolResult,
};

use super::super::plain::bytes;
use crate::code::MachineCode;

/// The numbers of the labels, by place.
#[derive(Clone)]
struct Labels(BTreeMap<u64, usize>);

impl SymbolResolver for Labels {
    fn symbol(
        &mut self,
        inst: &Instruction,
        _: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        let number = self.0.get(&address).filter(|_| inst.op0_kind() == OpKind::NearBranch64)?;
        Some(SymbolResult::with_string(address, format!("label{number}")))
    }
}

/// Returns the text of machine code.
pub(super) fn text(code: &MachineCode) -> String {
    let labels = labels(code);
    let mut formatter = GasFormatter::with_options(Some(Box::new(labels.clone())), None);
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_signed_immediate_operands(true);
    options.set_uppercase_hex(false);
    let positions: Vec<_> = code.positions.iter().collect();
    let (mut text, mut position) = (String::new(), None);
    for piece in pieces(code) {
        match piece {
            Item::Data(at, data) => text += &bytes(at, data),
            Item::Instruction(inst) => {
                if let Some(label) = labels.0.get(&inst.ip()) {
                    let _ = writeln!(text, "label{label}:");
                }
                let next = positions.partition_point(|position| u64::from(position.pc) <= inst.ip());
                let offset = next.checked_sub(1).map(|last| positions[last].offset);
                let shown = offset.filter(|_| offset != position).map(|offset| format!("{offset:#x}"));
                position = offset;
                let _ = write!(text, "{:>10}  {:>6x}  ", shown.unwrap_or_default(), inst.ip());
                formatter.format(&inst, &mut text);
                text.push('\n');
            }
        }
    }
    text
}

enum Item<'a> {
    Instruction(Instruction),
    Data(u32, &'a [u8]),
}

fn pieces(code: &MachineCode) -> Vec<Item<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let end = (code.bytes.len() as u32, code.bytes.len() as u32);
    for &(data, behind) in code.data.iter().chain([&end]) {
        let bytes = &code.bytes[at as usize..data as usize];
        let decoder = Decoder::with_ip(64, bytes, at.into(), DecoderOptions::NONE);
        pieces.extend(decoder.into_iter().map(Item::Instruction));
        if data < behind {
            pieces.push(Item::Data(data, &code.bytes[data as usize..behind as usize]));
        }
        at = behind;
    }
    pieces
}

/// Numbers the targets of jumps in ascending order.
fn labels(code: &MachineCode) -> Labels {
    let target = |piece: &Item<'_>| match piece {
        Item::Instruction(inst) if inst.op0_kind() == OpKind::NearBranch64 => Some(inst.near_branch64()),
        _ => None,
    };
    let mut targets: Vec<u64> = pieces(code).iter().filter_map(target).collect();
    targets.sort_unstable();
    targets.dedup();
    Labels(targets.into_iter().zip(1..).collect())
}
