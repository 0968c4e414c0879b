//! Core dumps: the state of a store after a trap, as a file that debuggers read.
//!
//! Input: a store and the frames of an error. Output: a binary module with the memories and globals of the store, and
//! custom sections with modules, instances and the stack.
//! Source: the tool conventions of WebAssembly, `Coredump.md`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::dump::{self, WasmCoreDump};
use crate::events::{self, Stop, StoppedValue};
use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::linear_memory::store_memory::StoreMemory;
use crate::{AsContext, FrameInfo, Global, HeapType, Instance, Memory, MemoryType, Module, RefType, ValType};

impl WasmCoreDump {
    /// Returns the instances of the store when the error occurred, if the engine dumps core.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = Instance> + '_ {
        self.instances.iter().map(|&instance| Instance(instance))
    }

    /// Returns the memories of the store when the error occurred, in the order of the dump, if the engine dumps core.
    pub fn memories(&self) -> impl ExactSizeIterator<Item = Memory> + '_ {
        self.memories.iter().map(|&memory| Memory(memory))
    }

    /// Returns the globals of the store when the error occurred, in the order of the dump, if the engine dumps core.
    pub fn globals(&self) -> impl ExactSizeIterator<Item = Global> + '_ {
        self.globals.iter().map(|&global| Global(global))
    }

    /// Serializes the core dump with the current state of the store; call it before more code of the store runs.
    /// `name` is the name of the program.
    ///
    /// The dump has the numbers of locals and operands of each frame. Their values are known, and not marked as missing,
    /// for the innermost frame of a program whose budget was exhausted at an instruction
    /// ([`Store::stop`](crate::Store::stop)), unless they are vectors or references. Other code keeps no record of where
    /// its values are, baseline code neither: there a local is one value after another, each in a register, or in a slot of the frame
    /// that later serves others. The compiler would have to keep tables of places for each instruction that can trap.
    ///
    /// The dump leaves out frames of other stores, and pages of memories that hold only zeros. Code does not tell which
    /// instance it runs for, so a frame is attributed to the newest instance of its module.
    pub fn serialize(&self, store: impl AsContext, name: &str) -> Vec<u8> {
        let store = &store.as_context().0.opaque;
        let (items, (modules, module_of)) = (&store.items, dump::modules(&store.items));
        let mut dump = b"\0asm\x01\0\0\0".to_vec();
        let mut core = vec![0];
        put_name(&mut core, name);
        custom(&mut dump, "core", &core);
        custom(&mut dump, "coremodules", &module_names(&modules));
        custom(&mut dump, "coreinstances", &instances(items, &module_of));
        section(&mut dump, MEMORIES, &memories(items));
        section(&mut dump, GLOBALS, &globals(items));
        section(&mut dump, DATA, &data(items));
        custom(&mut dump, "corestack", &self.stack(store));
        dump
    }

    fn stack(&self, store: &StoreOpaque) -> Vec<u8> {
        let mut frames = Vec::new();
        let mut counts = HashMap::new();
        let stop = if self.is_out_of_budget { events::stop(store).ok().flatten() } else { None };
        for (depth, frame) in self.frames.iter().enumerate() {
            let module = frame.module().loaded();
            let instance = store.items.instances().iter().rposition(|i| loaded::same(&i.module, &module));
            let Some(instance) = instance else { continue };
            let mut bytes = vec![0];
            let numbers = [instance, frame.func_index() as usize, frame.func_offset()];
            numbers.iter().for_each(|&number| put(&mut bytes, number as u64));
            let is_there = |of: &Arc<dyn LoadedModule>, stop: &Stop| {
                let place = (stop.func, stop.offset as usize);
                loaded::same(of, &module) && place == (frame.func_index(), frame.module_offset())
            };
            match &stop {
                Some((of, stop)) if depth == 0 && is_there(of, stop) => {
                    bytes.extend(values(&stop.locals));
                    bytes.extend(values(&stop.operands));
                }
                _ => {
                    let locals =
                        *counts.entry((instance, frame.func_index())).or_insert_with(|| count_locals(frame));
                    bytes.extend(missing(locals));
                    bytes.extend(missing(count_operands(frame)));
                }
            }
            frames.push(bytes);
        }
        let mut stack = vec![0];
        put_name(&mut stack, "main");
        stack.extend(all(frames.into_iter()));
        stack
    }
}

/// Returns the number of locals of a frame; 0 if the function cannot be read.
fn count_locals(frame: &FrameInfo) -> usize {
    wprof_jit::cfg::build(frame.module().info(), frame.func_index()).map_or(0, |cfg| cfg.locals.len())
}

/// Returns the number of operands of a frame; 0 if the function cannot be read.
fn count_operands(frame: &FrameInfo) -> usize {
    let (info, offset) = (frame.module().info(), frame.module_offset() as u32);
    wprof_jit::cfg::operand_types(info, frame.func_index(), offset).map_or(0, |types| types.len())
}

/// Encodes values that are not known.
fn missing(count: usize) -> Vec<u8> {
    all((0..count).map(|_| vec![MISSING]))
}

/// Encodes values; the format has none for vectors and references.
fn values(values: &[StoppedValue]) -> Vec<u8> {
    all(values.iter().map(|value| match value {
        StoppedValue::I32(value) => signed(0x7f, i64::from(*value)),
        StoppedValue::I64(value) => signed(0x7e, *value),
        StoppedValue::F32(bits) => [&[0x7d][..], &bits.to_le_bytes()].concat(),
        StoppedValue::F64(bits) => [&[0x7c][..], &bits.to_le_bytes()].concat(),
        StoppedValue::V128(_) | StoppedValue::Ref { .. } | StoppedValue::Lost => vec![MISSING],
    }))
}

/// The value that is not known.
const MISSING: u8 = 1;
const MEMORIES: u8 = 5;
const GLOBALS: u8 = 6;
const DATA: u8 = 11;
const I32_CONST: u8 = 0x41;
const I64_CONST: u8 = 0x42;
const F32_CONST: u8 = 0x43;
const F64_CONST: u8 = 0x44;
const REF_NULL: u8 = 0xd0;
const V128_CONST: [u8; 2] = [0xfd, 12];
const END: u8 = 0x0b;
/// Pieces of memory with at least one byte that is not zero are written whole.
const PIECE: usize = 4096;

fn module_names(modules: &[&Module]) -> Vec<u8> {
    let name = |module: &&Module| {
        let mut bytes = vec![0];
        put_name(&mut bytes, module.name().unwrap_or("<module>"));
        bytes
    };
    all(modules.iter().map(name))
}

/// Memories and globals are numbered as in the store.
fn instances(items: &Items, module_of: &[usize]) -> Vec<u8> {
    all(items.instances().iter().zip(module_of).map(|(instance, &module)| {
        let mut bytes = vec![0];
        put(&mut bytes, module as u64);
        for numbers in [&instance.memories, &instance.globals] {
            put(&mut bytes, numbers.len() as u64);
            numbers.iter().for_each(|&number| put(&mut bytes, number.into()));
        }
        bytes
    }))
}

fn memories(items: &Items) -> Vec<u8> {
    all(items.memories().iter().map(|memory| {
        let MemoryType { maximum, is_64, is_shared, .. } = memory.ty();
        let flags = [maximum.is_some(), is_shared, is_64].map(u8::from);
        let mut bytes = vec![flags[0] | flags[1] << 1 | flags[2] << 2];
        put(&mut bytes, memory.pages());
        maximum.iter().for_each(|&maximum| put(&mut bytes, maximum));
        bytes
    }))
}

/// Returns the code of the top type of a hierarchy: a dump defines no types, and all its references are null.
fn top(ty: &RefType) -> u8 {
    match ty.heap_type().top() {
        HeapType::Extern => 0x6f,
        HeapType::Exn => 0x69,
        HeapType::Any => 0x6e,
        _ => 0x70,
    }
}

fn globals(items: &Items) -> Vec<u8> {
    all(items.globals().iter().map(|global| {
        let (ty, value) = (global.ty(), global.get());
        let (code, mut init) = match &ty.content {
            ValType::I32 => (0x7f, signed(I32_CONST, i64::from(value.u32() as i32))),
            ValType::I64 => (0x7e, signed(I64_CONST, value.u64() as i64)),
            ValType::F32 => (0x7d, [&[F32_CONST][..], &value.u32().to_le_bytes()].concat()),
            ValType::F64 => (0x7c, [&[F64_CONST][..], &value.u64().to_le_bytes()].concat()),
            ValType::V128 => (0x7b, [&V128_CONST[..], &value.u128().to_le_bytes()].concat()),
            // A dump does not contain the referents of references.
            ValType::Ref(ty) => {
                let code = top(ty);
                (code, vec![REF_NULL, code])
            }
        };
        init.push(END);
        [vec![code, u8::from(ty.mutable)], init].concat()
    }))
}

fn data(items: &Items) -> Vec<u8> {
    let mut segments = Vec::new();
    for (index, memory) in (0_u32..).zip(items.memories()) {
        let constant = if memory.ty().is_64 { I64_CONST } else { I32_CONST };
        let data = contents(memory);
        for range in written(&data) {
            let mut bytes = vec![2];
            put(&mut bytes, index.into());
            // A 32-bit constant is signed, so addresses in the upper half are negative.
            let start = range.start as i64;
            let start = if memory.ty().is_64 { start } else { i64::from(start as i32) };
            bytes.extend(signed(constant, start));
            bytes.push(END);
            put(&mut bytes, range.len() as u64);
            bytes.extend_from_slice(&data[range]);
            segments.push(bytes);
        }
    }
    all(segments.into_iter())
}

/// Returns the contents of a memory. A shared memory may change while it is copied.
fn contents(memory: &StoreMemory) -> Cow<'_, [u8]> {
    if let Some(own) = memory.own() {
        return Cow::Borrowed(own.data());
    }
    let mut bytes = vec![0; memory.len() as usize];
    memory.read(0, &mut bytes);
    Cow::Owned(bytes)
}

/// Returns the ranges of a memory that are not all zeros.
fn written(data: &[u8]) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (index, piece) in data.chunks(PIECE).enumerate() {
        if piece.iter().all(|&byte| byte == 0) {
            continue;
        }
        let (start, end) = (index * PIECE, index * PIECE + piece.len());
        match parts.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => parts.push(start..end),
        }
    }
    parts
}

fn section(dump: &mut Vec<u8>, id: u8, content: &[u8]) {
    dump.push(id);
    put(dump, content.len() as u64);
    dump.extend_from_slice(content);
}

fn custom(dump: &mut Vec<u8>, name: &str, content: &[u8]) {
    let mut whole = Vec::new();
    put_name(&mut whole, name);
    whole.extend_from_slice(content);
    section(dump, 0, &whole);
}

/// Encodes a vector of things that are already encoded.
fn all(things: impl ExactSizeIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, things.len() as u64);
    things.for_each(|thing| bytes.extend(thing));
    bytes
}

fn put_name(to: &mut Vec<u8>, name: &str) {
    put(to, name.len() as u64);
    to.extend_from_slice(name.as_bytes());
}

/// Appends a number in unsigned LEB128.
fn put(to: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Encodes a constant instruction with an operand in signed LEB128.
fn signed(instruction: u8, mut number: i64) -> Vec<u8> {
    let mut bytes = vec![instruction];
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == -i64::from(low >> 6 & 1) {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
