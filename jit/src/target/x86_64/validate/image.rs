//! The bytes and tables of one version of the code, at the places where they run.
//!
//! The cold part of the new version is put far behind the hot one, as may happen when it runs. So control that falls
//! out of the hot part, or that reaches the other part by a distance which nobody adjusts, leads to no code at all.

use iced_x86::{Decoder, DecoderOptions, Instruction};

use crate::abi::TrapCode;
use crate::code::{CallSite, Landing, MachineCode, Origin, Reloc, TrapSite};

/// The gap that is added before the cold part.
const GAP: u32 = 1 << 24;

/// The table entries of an instruction: why it may trap, and that it is a call, both with their origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub trap: Option<(TrapCode, Option<Origin>)>,
    pub call: Option<Option<Origin>>,
}

/// Instructions that are not encoded: each takes one place. Their jump tables lie behind them.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub instructions: Vec<Instruction>,
    /// The place of each jump table, ascending, and the distances in it.
    pub tables: Vec<(u32, Vec<i32>)>,
    pub traps: Vec<TrapSite>,
    pub calls: Vec<CallSite>,
    pub landings: Vec<Landing>,
}

pub(super) struct Image {
    bytes: Vec<u8>,
    /// The instructions, if they are not encoded.
    listing: Option<Listing>,
    /// The start of the cold part in the bytes; their end if there is none.
    cold: u32,
    traps: Vec<TrapSite>,
    calls: Vec<CallSite>,
    landings: Vec<Landing>,
    relocs: Vec<Reloc>,
}

impl Image {
    /// Creates the image of code; fails if the distances of its cold part are out of range.
    pub fn new(code: &MachineCode) -> Result<Image, String> {
        let mut bytes = code.bytes.clone();
        let cold = code.hot_len() as u32;
        if let Some(part) = &code.cold {
            let is_inside = |&at: &u32| at as usize + 4 <= bytes.len();
            if !part.distances.iter().all(is_inside) || cold as usize > bytes.len() {
                return Err("the cold part is not in the code".into());
            }
            part.shift(&mut bytes, GAP as i32);
        }
        let MachineCode { traps, calls, landings, relocs, .. } = code.clone();
        Ok(Image { bytes, listing: None, cold, traps, calls, landings, relocs })
    }

    /// Creates the image of a listing, whose tables are in the order of its code.
    pub fn of_listing(mut listing: Listing) -> Image {
        let (traps, calls) = (std::mem::take(&mut listing.traps), std::mem::take(&mut listing.calls));
        let landings = std::mem::take(&mut listing.landings);
        let cold = listing.instructions.len() as u32;
        Image { bytes: Vec::new(), listing: Some(listing), cold, traps, calls, landings, relocs: Vec::new() }
    }

    /// Reports whether this is a listing.
    pub fn is_listing(&self) -> bool {
        self.listing.is_some()
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> u32 {
        self.listing.as_ref().map_or(self.bytes.len(), |listing| listing.instructions.len()) as u32
    }

    /// Returns the place of a byte of the code.
    pub fn place(&self, at: u32) -> u32 {
        if at < self.cold { at } else { at + GAP }
    }

    /// Returns the offset of the byte at a place; none if no code lies there.
    pub fn offset(&self, place: u32) -> Option<u32> {
        let at = if place < self.cold { Some(place) } else { place.checked_sub(GAP) };
        at.filter(|&at| self.place(at) == place && at < self.len())
    }

    /// Returns the bytes from a place to the end of its part.
    pub fn rest(&self, place: u32) -> &[u8] {
        let Some(at) = self.offset(place) else { return &[] };
        let end = if at < self.cold { self.cold as usize } else { self.bytes.len() };
        &self.bytes[at as usize..end]
    }

    /// Decodes the instruction at a place.
    pub fn decode(&self, place: u32) -> Result<Instruction, String> {
        if let Some(listing) = &self.listing {
            let inst = listing.instructions.get(place as usize).copied();
            return inst.ok_or_else(|| format!("there is no instruction {place}"));
        }
        let inst = Decoder::with_ip(64, self.rest(place), place.into(), DecoderOptions::NONE).decode();
        if inst.is_invalid() { Err(format!("there is no code at {place:#x}")) } else { Ok(inst) }
    }

    pub fn mark(&self, inst: &Instruction) -> Mark {
        let offset = self.offset(inst.ip() as u32).expect("it was decoded");
        let trap = self.traps.binary_search_by_key(&offset, |trap| trap.pc).ok();
        let trap = trap.map(|at| (self.traps[at].code, self.traps[at].origin));
        Mark { trap, call: None }
    }

    /// Returns the entry of the call that returns behind an instruction.
    pub fn call(&self, inst: &Instruction) -> Option<Option<Origin>> {
        let back = self.offset(inst.ip() as u32)? + inst.len() as u32;
        let at = self.calls.binary_search_by_key(&back, |call| call.return_pc).ok()?;
        Some(self.calls[at].origin)
    }

    /// Returns the place where an exception lands that leaves a call, and the distance of the stack pointer below the
    /// frame pointer there.
    pub fn landing(&self, inst: &Instruction) -> Option<(u32, u32)> {
        let back = self.offset(inst.ip() as u32)? + inst.len() as u32;
        let at = self.landings.binary_search_by_key(&back, |landing| landing.return_pc).ok()?;
        Some((self.place(self.landings[at].pc), self.landings[at].frame))
    }

    /// Returns the relocation inside an instruction.
    pub fn reloc(&self, inst: &Instruction) -> Option<&Reloc> {
        let begin = self.offset(inst.ip() as u32)?;
        let range = begin..begin + inst.len() as u32;
        self.relocs.iter().find(|reloc| range.contains(&reloc.offset))
    }

    /// Reads four bytes at a place.
    pub fn number(&self, place: u32) -> Option<i32> {
        if let Some(Listing { tables, .. }) = &self.listing {
            let (start, table) =
                &tables[tables.partition_point(|&(start, _)| start <= place).checked_sub(1)?];
            return table.get(((place - start) / 4) as usize).copied();
        }
        Some(i32::from_le_bytes(self.rest(place).get(..4)?.try_into().ok()?))
    }
}
