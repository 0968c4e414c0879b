//! Traps: the reasons why programs end, with their messages and places.

use std::mem::MaybeUninit;
use std::sync::Arc;

use wprof::{Error, FrameInfo, Instance, Result, Trap, WasmCoreDump};

use crate::error::{Message, report, wrong};
use crate::raised::{OTHER, Place, Raised, TrapData};
use crate::reference::{Reference, What};
use crate::store::StoreRef;
use crate::vector::{Bytes, Owned, Vector, give, message, text, vector};

/// The C type `wasm_frame_t`.
#[derive(Clone)]
pub struct Frame {
    instance: Option<Box<Reference>>,
    place: Place,
}

impl Frame {
    fn new(store: &StoreRef, place: Place) -> Frame {
        let reference = |instance| Box::new(Reference::new(store, What::Instance(instance)));
        Frame { instance: place.instance.map(reference), place }
    }
}

/// Converts an error into a trap for C.
pub fn of_error(store: &StoreRef, error: &Error) -> Reference {
    let found = error.backtrace().map(|backtrace| backtrace.frames()).unwrap_or_default();
    let place = |frame: &FrameInfo| Place {
        instance: store.with(|context| Instance::newest_of(context, frame.module())),
        func: frame.func_index(),
        func_offset: frame.func_offset(),
        module_offset: frame.module_offset(),
    };
    let frames: Vec<Place> = found.iter().map(place).collect();
    let code = error.trap().map_or(OTHER, code);
    let data = match error.downcast_ref::<Raised>() {
        // Keeps the same trap, unless its frames have become known since.
        Some(raised) if frames.is_empty() || !raised.0.frames.is_empty() => raised.0.clone(),
        Some(raised) => with_core(TrapData::new(raised.0.message.clone(), frames, OTHER, None), error),
        None => with_core(TrapData::new(error.to_string(), frames, code, error.i32_exit()), error),
    };
    Reference::new(store, What::Trap(data))
}

/// Adds what a core dump is made of.
fn with_core(data: TrapData, error: &Error) -> Arc<TrapData> {
    let core = error.downcast_ref::<WasmCoreDump>().cloned().or_else(|| WasmCoreDump::new(error));
    Arc::new(TrapData { core, ..data })
}

/// Returns the core dump of a trap.
fn core_dump(trap: &Reference, program: &str) -> Result<Vec<u8>> {
    let core = data(trap).and_then(|data| data.core.as_ref());
    let core = core.filter(|core| !core.frames().is_empty());
    let core = core.ok_or_else(|| wrong("the trap did not come up in wasm code"))?;
    Ok(trap.store.with(|context| core.serialize(context, program)))
}

/// Returns the error with which a host function fails when it has returned a trap.
pub fn raise(trap: &Reference) -> Error {
    match &trap.what {
        What::Trap(data) => Raised(data.clone()).into(),
        _ => Error::msg("a host function has returned a reference that is no trap"),
    }
}

/// Returns the number of a trap code in `wprof.h`.
fn code(trap: Trap) -> i32 {
    match trap {
        Trap::StackOverflow => 0,
        Trap::MemoryOutOfBounds => 1,
        Trap::TableOutOfBounds => 2,
        Trap::IndirectCallToNull => 3,
        Trap::BadSignature => 4,
        Trap::IntegerOverflow => 5,
        Trap::IntegerDivisionByZero => 6,
        Trap::BadConversionToInteger => 7,
        Trap::UnreachableCodeReached => 8,
        Trap::Interrupt => 9,
        Trap::Deadline => 10,
        Trap::OutOfBudget => 11,
        Trap::OutOfFuel => 12,
        Trap::NullReference => 13,
        Trap::UnalignedAtomic => 14,
        Trap::ExpectedSharedMemory => 15,
        Trap::CastFailure => 16,
        Trap::ArrayOutOfBounds => 17,
        Trap::GcOutOfMemory => 18,
        Trap::StringOutOfBounds => 19,
        Trap::BadCodePoint => 20,
        // One that this header does not know yet.
        _ => -1,
    }
}

fn data(trap: &Reference) -> Option<&TrapData> {
    if let What::Trap(data) = &trap.what { Some(data) } else { None }
}

vector!("frame", Owned<Frame>);

export! {
    ["wasm_trap_new"] fn(store: &StoreRef, message: Option<&Bytes>) -> Box<Reference> {
        let message = message.map(text).unwrap_or_default();
        Box::new(Reference::new(store, What::Trap(Arc::new(TrapData::new(message, Vec::new(), OTHER, None)))))
    }
    ["wasm_trap_message"] fn(trap: &Reference, out: &mut MaybeUninit<Bytes>) {
        out.write(message(data(trap).map_or("", |data| &data.message)));
    }
    ["wasm_trap_origin"] fn(trap: &Reference) -> Owned<Frame> {
        let place = *data(trap)?.frames.first()?;
        Some(Box::new(Frame::new(&trap.store, place)))
    }
    ["wasm_trap_trace"] fn(trap: &Reference, out: &mut MaybeUninit<Vector<Owned<Frame>>>) {
        let places = data(trap).into_iter().flat_map(|data| &data.frames);
        let frames = places.map(|&place| Some(Box::new(Frame::new(&trap.store, place))));
        out.write(Vector::new(frames.collect()));
    }
    ["wprof_trap_code"] fn(trap: &Reference) -> i32 {
        data(trap).map_or(OTHER, |data| data.code)
    }
    ["wprof_trap_exit_code"] fn(trap: &Reference, out: Option<&mut i32>) -> bool {
        let exit = data(trap).and_then(|data| data.exit);
        if let (Some(exit), Some(out)) = (exit, out) {
            *out = exit;
        }
        exit.is_some()
    }
    ["wprof_trap_core_dump"] fn(
        trap: &Reference,
        program: &Bytes,
        out: &mut MaybeUninit<Bytes>,
        error: Message<'_>,
    ) -> bool {
        give(report(core_dump(trap, &text(program)), error), out)
    }
    ["wasm_frame_delete"] fn(frame: Owned<Frame>) {
        drop(frame);
    }
    ["wasm_frame_copy"] fn(frame: &Frame) -> Box<Frame> {
        Box::new(frame.clone())
    }
    ["wasm_frame_instance"] fn(frame: &Frame) -> Option<&Reference> {
        frame.instance.as_deref()
    }
    ["wasm_frame_func_index"] fn(frame: &Frame) -> u32 {
        frame.place.func
    }
    ["wasm_frame_func_offset"] fn(frame: &Frame) -> usize {
        frame.place.func_offset
    }
    ["wasm_frame_module_offset"] fn(frame: &Frame) -> usize {
        frame.place.module_offset
    }
}
