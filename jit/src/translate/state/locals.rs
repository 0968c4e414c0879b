//! The locals of the frames.
//!
//! A local is read from its [home](Home) once in a node that uses it. In baseline code it is written there once, at the
//! end of a node that changed it.
//!
//! A call takes all registers. So locals that other blocks may read are not known across calls: they are stored to
//! their homes before a call, and read from there after it.

use cranelift_codegen::ir::{Type, Value};
use cranelift_frontend::FunctionBuilder;
use wasmparser::ValType;

use super::homes::{Home, HomeKind};
use crate::abi::clif_type;

/// A local, and its state in the node being translated.
#[derive(Clone, Copy, Debug)]
struct Local {
    ty: Type,
    /// The home, made when it is first needed.
    home: Option<Home>,
    /// The value, in baseline code, once the node has read or written it.
    value: Option<Value>,
    /// Whether the home does not hold that value yet.
    is_new: bool,
}

impl Local {
    fn new(ty: ValType) -> Local {
        Local { ty: clif_type(ty), home: None, value: None, is_new: false }
    }
}

/// The locals of each frame.
///
/// **Invariant**: where a node begins, the home of each live local holds its value, and no local is known. Within the
/// node, locals that were read or written are known as values, which may be used wherever the code that made them has
/// run. The first `settled` of the known locals stay known across calls, because only the node itself reads them.
pub struct Locals {
    /// Empty for a frame that has not been entered.
    frames: Vec<Vec<Local>>,
    /// The locals of the current frame with known values.
    known: Vec<u32>,
    settled: usize,
    homes: HomeKind,
}

impl Locals {
    /// Creates the locals of the function itself, which has `inlined` inlined frames.
    pub fn new(types: &[ValType], inlined: usize, homes: HomeKind) -> Locals {
        let mut locals =
            Locals { frames: vec![Vec::new(); inlined + 1], known: Vec::new(), settled: 0, homes };
        locals.enter_frame(0, types);
        locals
    }

    /// Creates the locals of a frame, unless the frame was entered before.
    pub fn enter_frame(&mut self, frame: u32, types: &[ValType]) {
        let locals = &mut self.frames[frame as usize];
        if locals.is_empty() {
            *locals = types.iter().map(|&ty| Local::new(ty)).collect();
        }
    }

    fn local(&mut self, frame: u32, index: u32) -> &mut Local {
        &mut self.frames[frame as usize][index as usize]
    }

    fn home(&mut self, frame: u32, index: u32, builder: &mut FunctionBuilder<'_>) -> Home {
        let homes = self.homes;
        let local = self.local(frame, index);
        *local.home.get_or_insert_with(|| homes.make(builder, local.ty))
    }

    /// Returns the value of a local, which is read from its home if it is not known.
    pub fn read(&mut self, frame: u32, index: u32, builder: &mut FunctionBuilder<'_>) -> Value {
        if let Some(value) = self.local(frame, index).value {
            return value;
        }
        let home = self.home(frame, index, builder);
        let value = home.read(builder, self.local(frame, index).ty);
        self.know(frame, index, value, false);
        value
    }

    /// Changes a local.
    pub fn write(&mut self, frame: u32, index: u32, value: Value, builder: &mut FunctionBuilder<'_>) {
        match self.homes {
            HomeKind::Variables => self.home(frame, index, builder).write(builder, value),
            HomeKind::Frame => self.know(frame, index, value, true),
        }
    }

    fn know(&mut self, frame: u32, index: u32, value: Value, is_new: bool) {
        if self.homes == HomeKind::Frame {
            if self.local(frame, index).value.is_none() {
                self.known.push(index);
            }
            let local = self.local(frame, index);
            (local.value, local.is_new) = (Some(value), is_new);
        }
    }

    /// Returns the number of known locals.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// Forgets all locals except the first `known` that became known; none are known where a node begins.
    pub fn forget(&mut self, frame: u32, known: usize) {
        self.settled = self.settled.min(known);
        for index in self.known.split_off(known) {
            let local = self.local(frame, index);
            (local.value, local.is_new) = (None, false);
        }
    }

    /// Stores the changed locals that are wanted in their homes.
    pub fn send_home(
        &mut self,
        frame: u32,
        builder: &mut FunctionBuilder<'_>,
        is_wanted: impl Fn(usize) -> bool,
    ) {
        for place in 0..self.known.len() {
            let index = self.known[place];
            let Local { value: Some(value), is_new: true, .. } = *self.local(frame, index) else { continue };
            if is_wanted(index as usize) {
                self.home(frame, index, builder).write(builder, value);
            }
        }
    }

    /// Stores the known locals, which still have their first values, in their homes before the probes of a node in
    /// baseline code, which may call.
    pub fn send_parameters_home(
        &mut self,
        frame: u32,
        builder: &mut FunctionBuilder<'_>,
        is_wanted: impl Fn(usize) -> bool,
    ) {
        if self.homes == HomeKind::Frame {
            self.send_home(frame, builder, is_wanted);
            self.forget(frame, 0);
        }
    }

    /// Prepares for a call in baseline code: afterwards only those locals are known whose values need no home, because
    /// no other node reads them. Each of these is examined once.
    pub fn settle(
        &mut self,
        frame: u32,
        builder: &mut FunctionBuilder<'_>,
        is_read_behind: impl Fn(usize) -> bool,
    ) {
        let mut kept = self.settled;
        for place in self.settled..self.known.len() {
            let index = self.known[place];
            let Local { value: Some(value), is_new, .. } = *self.local(frame, index) else { continue };
            if is_new && !is_read_behind(index as usize) {
                self.known.swap(kept, place);
                kept += 1;
                continue;
            }
            if is_new {
                self.home(frame, index, builder).write(builder, value);
            }
        }
        self.settled = kept;
        self.forget(frame, kept);
    }
}
