//! A body with calls inlined, and where each of its instructions comes from.
//!
//! Input: the frames of a supergraph. Output: the bytes of a body, and its instructions.
//! Invariant: the body does what the original does. A marked call becomes a `block` with the callee's body, whose label
//! is that of the callee's function, so branches need no change; a `return` becomes a branch there. Parameters and
//! locals of the callee are locals of their own, set anew by each call.

use std::collections::HashMap;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Encode, Instruction as New, InstructionSink};
use wasmparser::{Operator, ValType};

use crate::Error;
use crate::cfg::is_structure;
use crate::module::Source;
use crate::offsets::leb;

/// A frame of a supergraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function.
    pub func: u32,
    /// The calling frame; frame 0 calls itself.
    pub caller: u32,
    /// Offset of the call in the original module.
    pub site: u32,
}

/// An instruction of the new body.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Its offset in the new body.
    pub at: u32,
    /// The frame that executes it.
    pub frame: u32,
    /// Offset of the original instruction; of the call, for instructions that replace one.
    pub original: u32,
    /// Offset behind the original instruction.
    pub next: u32,
    /// Number of original instructions that it stands for: 0 or 1.
    pub ops: u32,
    /// Whether it ends the frame's function.
    pub is_last: bool,
    /// The frame that begins behind it, if it is the last one that stands for a call; otherwise 0.
    pub enters: u32,
}

/// A body with calls inlined.
pub struct Expanded {
    /// The bytes, without their length.
    pub body: Vec<u8>,
    /// The instructions, in order.
    pub code: Vec<Instruction>,
}

/// Inlines the calls of `frames`, of which the first is the function itself.
///
/// # Errors
/// Returns an error if a frame does not call what a call of its caller calls.
pub fn expand(source: &Source<'_>, frames: &[Frame]) -> Result<Expanded, Error> {
    let (first_locals, head) = locals(source, frames)?;
    let calls = frames.iter().zip(0..).skip(1).map(|(frame, index)| ((frame.caller, frame.site), index));
    let inner = Vec::new();
    let mut writer =
        Writer { source, frames, first_locals, calls: calls.collect(), out: head, code: inner, inlined: 1 };
    writer.function(0)?;
    match writer.inlined == frames.len() {
        true => Ok(Expanded { body: writer.out, code: writer.code }),
        false => Err(Error::OtherCalls),
    }
}

/// Returns by frame the index of its first local, and the bytes that declare all locals.
fn locals(source: &Source<'_>, frames: &[Frame]) -> Result<(Vec<u32>, Vec<u8>), Error> {
    let (mut groups, mut firsts, mut next) = (Vec::new(), Vec::new(), 0);
    for (frame, index) in frames.iter().zip(0..) {
        firsts.push(if index == 0 { 0 } else { next });
        let params = source.func_type(frame.func).params();
        next += params.len() as u32;
        if index > 0 {
            groups.extend(params.iter().map(|&ty| (1, ty)));
        }
        for (count, ty) in declared(source, frame.func)? {
            next += count;
            groups.push((count, ty));
        }
    }
    let mut head = Vec::new();
    leb(&mut head, groups.len() as u32);
    for (count, ty) in groups {
        leb(&mut head, count);
        encoded(ty)?.encode(&mut head);
    }
    Ok((firsts, head))
}

/// Returns the groups of locals that a function declares.
pub fn declared(source: &Source<'_>, func: u32) -> Result<Vec<(u32, ValType)>, Error> {
    source.body(func).get_locals_reader()?.into_iter().map(|group| Ok(group?)).collect()
}

fn encoded(ty: ValType) -> Result<wasm_encoder::ValType, Error> {
    RoundtripReencoder.val_type(ty).map_err(|_| Error::Unsupported("a type of a local"))
}

struct Writer<'a> {
    source: &'a Source<'a>,
    frames: &'a [Frame],
    first_locals: Vec<u32>,
    /// By calling frame and offset of the call, the frame of the callee.
    calls: HashMap<(u32, u32), u32>,
    out: Vec<u8>,
    code: Vec<Instruction>,
    /// Number of frames that have begun.
    inlined: usize,
}

impl Writer<'_> {
    /// Writes the code of a frame's function.
    fn function(&mut self, frame: u32) -> Result<(), Error> {
        let source = self.source;
        let mut reader = source.body(self.frames[frame as usize].func).get_operators_reader()?;
        let mut depth = 0_u32;
        while !reader.eof() {
            let (op, at) = reader.read_with_offset()?;
            let (at, next) = (at as u32, reader.original_position() as u32);
            let callee = match op {
                Operator::Call { function_index } => self.callee(frame, at, function_index)?,
                _ => None,
            };
            match callee {
                Some(callee) => self.call((frame, at, next), callee)?,
                None => {
                    let is_last = reader.eof();
                    let ops = u32::from(!is_structure(&op));
                    self.note(Instruction { at: 0, frame, original: at, next, ops, is_last, enters: 0 });
                    self.copy(frame, &op, (at, next), depth);
                }
            }
            match op {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth += 1,
                Operator::TryTable { .. } | Operator::Try { .. } => depth += 1,
                Operator::End => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the frame of the callee, if the call is inlined.
    fn callee(&mut self, frame: u32, site: u32, func: u32) -> Result<Option<u32>, Error> {
        let Some(&callee) = self.calls.get(&(frame, site)) else { return Ok(None) };
        self.inlined += 1;
        match self.frames[callee as usize].func == func && func >= self.source.first_defined() {
            true => Ok(Some(callee)),
            false => Err(Error::OtherCalls),
        }
    }

    fn note(&mut self, instruction: Instruction) {
        self.code.push(Instruction { at: self.out.len() as u32, ..instruction });
    }

    /// Writes an instruction; locals are those of the frame, and a `return` leaves the callee's block.
    fn copy(&mut self, frame: u32, op: &Operator<'_>, (at, next): (u32, u32), depth: u32) {
        let first = self.first_locals[frame as usize];
        let changed = match *op {
            Operator::LocalGet { local_index } => Some(New::LocalGet(first + local_index)),
            Operator::LocalSet { local_index } => Some(New::LocalSet(first + local_index)),
            Operator::LocalTee { local_index } => Some(New::LocalTee(first + local_index)),
            Operator::Return if frame > 0 => Some(New::Br(depth)),
            _ => None,
        };
        match changed {
            Some(new) => new.encode(&mut self.out),
            None => self.out.extend(&self.source.bytes[at as usize..next as usize]),
        }
    }

    /// Writes what stands for a call: the arguments become locals, other locals zero, and the body stands in a block.
    fn call(&mut self, (frame, at, next): (u32, u32, u32), callee: u32) -> Result<(), Error> {
        let (source, func) = (self.source, self.frames[callee as usize].func);
        let (first, ty) = (self.first_locals[callee as usize], source.func_type(func));
        let mut ops = 1;
        let mut instruction = || Instruction {
            at: 0,
            frame,
            original: at,
            next,
            ops: std::mem::take(&mut ops),
            is_last: false,
            enters: 0,
        };
        let params = ty.params().len() as u32;
        for param in (0..params).rev() {
            self.note(instruction());
            InstructionSink::new(&mut self.out).local_set(first + param);
        }
        let declared = declared(source, func)?;
        let types = declared.into_iter().flat_map(|(count, ty)| (0..count).map(move |_| ty));
        for (ty, local) in types.zip(first + params..) {
            if has_zero(ty) {
                self.note(instruction());
                zero(&mut InstructionSink::new(&mut self.out), ty)?;
                self.note(instruction());
                InstructionSink::new(&mut self.out).local_set(local);
            }
        }
        let block = block_type(source, func).ok_or(Error::OtherCalls)?;
        self.note(Instruction { enters: callee, ..instruction() });
        InstructionSink::new(&mut self.out).block(block);
        self.function(callee)
    }
}

/// Reports whether a local of a type has a value from the beginning.
fn has_zero(ty: ValType) -> bool {
    !matches!(ty, ValType::Ref(ty) if !ty.is_nullable())
}

fn zero(sink: &mut InstructionSink<'_>, ty: ValType) -> Result<(), Error> {
    match ty {
        ValType::I32 => sink.i32_const(0),
        ValType::I64 => sink.i64_const(0),
        ValType::F32 => sink.f32_const(wasm_encoder::Ieee32::new(0)),
        ValType::F64 => sink.f64_const(wasm_encoder::Ieee64::new(0)),
        ValType::V128 => sink.v128_const(0),
        ValType::Ref(_) => {
            let wasm_encoder::ValType::Ref(ty) = encoded(ty)? else {
                return Err(Error::Unsupported("a type of a local"));
            };
            sink.ref_null(ty.heap_type)
        }
    };
    Ok(())
}

/// Returns the type of the block that stands for a call of `func`; `None` if the module has none.
pub fn block_type(source: &Source<'_>, func: u32) -> Option<BlockType> {
    match *source.func_type(func).results() {
        [] => Some(BlockType::Empty),
        [result] => encoded(result).ok().map(BlockType::Result),
        ref results => {
            let fits = |ty: &wasmparser::FuncType| ty.params().is_empty() && ty.results() == results;
            let found = source.types.iter().position(|ty| ty.as_ref().is_some_and(fits));
            found.map(|index| BlockType::FunctionType(index as u32))
        }
    }
}
