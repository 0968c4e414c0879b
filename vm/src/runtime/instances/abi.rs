//! The structures that machine code reads and writes, as Rust sees them.
//!
//! Invariant: every field that machine code accesses lies where `wprof_jit::abi` says; the tests below compare them.
//! Fields are private to the runtime and are accessed through raw pointers only, since machine code (and the host
//! functions that it calls) may change them between any two statements.

use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

use wprof_jit::abi;

use super::store_opaque::StoreOpaque;
use crate::runtime::gc::Bump;
use crate::runtime::linear_memory::demand::DemandList;
use crate::runtime::samples::Ring;

/// An entry of the log for simulations: see `abi::simulation_log`.
pub type LogEntry = [u64; 2];

/// A wasm value in memory: little endian in the low bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct VmValue(pub [u8; abi::value::SIZE as usize]);

impl VmValue {
    /// Creates the value whose low bytes are those of `v`.
    pub fn from_u32(v: u32) -> VmValue {
        VmValue::from_u64(u64::from(v))
    }

    /// Creates the value whose low bytes are those of `v`.
    pub fn from_u64(v: u64) -> VmValue {
        VmValue::from_u128(u128::from(v))
    }

    /// Creates the value whose bytes are those of `v`.
    pub fn from_u128(v: u128) -> VmValue {
        VmValue(v.to_le_bytes())
    }

    /// Returns the low four bytes.
    pub fn u32(self) -> u32 {
        self.u128() as u32
    }

    /// Returns the low eight bytes.
    pub fn u64(self) -> u64 {
        self.u128() as u64
    }

    /// Returns all bytes.
    pub fn u128(self) -> u128 {
        u128::from_le_bytes(self.0)
    }
}

/// The fixed head of an instance's vmctx (`abi::vmctx`).
#[repr(C)]
pub struct VmContext {
    /// `abi::vmctx::MAGIC_INSTANCE`.
    pub magic: u32,
    pub store: *mut VmStoreContext,
    pub builtins: *const usize,
    pub poll: *const u8,
    /// Index of the instance in its store; machine code does not read it.
    pub instance: usize,
    /// Two bytes per segment index: data segment dropped, element segment dropped. Only the runtime's own assembly
    /// and builtins access it.
    pub dropped: *mut u8,
}

/// A host function's context (`abi::host_context`): the vmctx argument of its callers. The typed rest follows, see
/// `runtime::host`.
#[repr(C)]
pub struct VmHostContext {
    /// `abi::host_context::MAGIC`.
    pub magic: u32,
    pub func: HostShim,
    /// The host function's own row of code slots.
    pub slots: VmCodeSlots,
    pub func_ref: VmFuncRef,
}

/// The function by which machine code calls the host: `(context, caller, values) -> status`.
pub type HostShim = unsafe extern "C" fn(*mut VmHostContext, *mut VmContext, *mut VmValue) -> u32;

/// The function by which the host calls machine code:
/// `(callee vmctx, caller vmctx, code, values, activation) -> 1 if it trapped`.
pub type ArrayCall =
    unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut VmValue, *mut VmActivation) -> u32;

/// The state of a store that changes with every entry and exit (`abi::store_context`).
#[repr(C)]
pub struct VmStoreContext {
    pub stack_limit: usize,
    pub exit_fp: usize,
    pub osr_buffer: *mut VmValue,
    /// Event counters, by kind.
    pub events: [i64; abi::store_context::EVENT_KINDS as usize],
    /// See `abi::trace_word`.
    pub trace_word: u64,
    /// Address of the next trace word.
    pub trace_next: *mut u64,
    /// Address of the next data reference.
    pub reference_next: *mut u64,
    /// See `abi::call_record`.
    pub callee_slot: usize,
    /// Code with `abi::find_record_signature`.
    pub find_record: usize,
    /// The path register of a frame that moves to another version of its function by OSR.
    pub path: u64,
    /// The readings of metrics.
    pub metrics: [u64; abi::store_context::METRIC_KINDS as usize],
    /// The sums of a frame that moves to another version of its function by OSR, or the measurements along a path.
    pub measured: [i64; abi::store_context::METRIC_KINDS as usize],
    /// Code with `abi::read_metrics_signature`.
    pub read_metrics: usize,
    /// The next entry of the log for simulations: see `abi::simulation_log`.
    pub simulation_next: *mut LogEntry,
    /// Number of checks to pass before one fires.
    pub checks: i64,
    /// Number of checks left in the current burst; 0 outside bursts.
    pub burst: i64,
    /// 1 during a burst, 0 otherwise.
    pub counts: i64,
    /// The increment of burst code in a frame whose function has no check at its entry.
    pub passed: i64,
    /// Code with `abi::check_signature`.
    pub check: usize,
    /// Code with `abi::check_pinned_signature`.
    pub check_pinned: usize,
    /// Code with `abi::leave_signature`.
    pub leave: usize,
    /// The vmctx of the frame that leaves.
    pub leaving: *mut VmContext,
    /// The decision of the check: see `abi::check`.
    pub go_on: i64,
    /// The place of the next object.
    pub heap: Bump,
    /// Displays by type id of objects.
    pub displays: *const usize,
    /// Number of further function frames allowed, if frames are limited.
    pub frames_left: i64,
    /// The request of the allocator that was entered last.
    pub asked: Asked,
    /// The store, as lent to wasm by the innermost code that holds it exclusively. Not read by machine code.
    pub store: *mut StoreOpaque,
    /// Offset of the 8-byte field that machine code keeps in the pinned register; [`NOTHING`] if there is none.
    pub pinned: usize,
    /// Code that traps with `TrapCode::Host`; read by `entries::lazy_common`.
    pub raise: usize,
    /// The function that could not be compiled at its call: its vmctx or host context, and its index. Only
    /// valid at a trap of the code in `raise`.
    pub failed_callee: *mut c_void,
    pub failed_index: u32,
    /// End of the runtime's own stack, for runtime code that wasm code calls where its stack may be exhausted.
    pub own_stack: usize,
    /// Values that such code cannot push: wasm's stack pointer, and registers.
    pub saved: [u64; 2],
    /// The first entry of the log for simulations.
    pub simulation_log: *mut LogEntry,
    /// Cycles of simulated caches and predictors, which readings of cycles exclude.
    pub cycles_off: u64,
    /// The reading of cycles before the current one, while the log is emptied.
    pub cycles_before: u64,
    /// See [`RecentCalls`](crate::runtime::counts::call_records::RecentCalls); null if calling contexts are not counted.
    pub recent_calls: *const AtomicUsize,
    /// The store's demand-paged ranges, for the signal handler.
    pub demand: *const DemandList,
    /// For the timer handler, while machine code waits for a builtin or a stub: the return address, the frame pointer,
    /// and the purpose (`runtime::samples`); `left_pc` is 0 otherwise.
    pub left_pc: usize,
    pub left_fp: usize,
    pub left_for: usize,
    /// One more than the number of the host function that machine code waits for; 0 if it waits for none.
    pub host: usize,
    /// Ring into which the timer handler writes samples; null if there are none.
    pub samples: *const Ring,
}

/// The request of an allocator that has not returned (`abi::store_context::ASKED`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Asked {
    /// The address of its call record; 0 if it has returned.
    pub record: u64,
    pub size: u64,
    pub count: u64,
    /// The block to free, or the address that receives the new one.
    pub old: u64,
}

/// See [`VmStoreContext::pinned`].
pub const NOTHING: usize = usize::MAX;

/// The state to return from wasm into the host (`abi::activation`).
#[derive(Default)]
#[repr(C)]
pub struct VmActivation {
    pub sp: usize,
    pub fp: usize,
    pub handler: usize,
}

/// The code of one function (`abi::code_slots`). Machine code of every thread reads it with one load, so it is only
/// written with one atomic store.
#[repr(C)]
pub struct VmCodeSlots {
    pub entry: std::sync::atomic::AtomicUsize,
    pub instrumented_entry: std::sync::atomic::AtomicUsize,
}

/// The target of a funcref (`abi::func_ref`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct VmFuncRef {
    pub slots: *const VmCodeSlots,
    pub vmctx: *mut c_void,
    pub ty: u32,
    /// The function's index, or `HOST_CALLEE`, in the format of a trace word.
    pub trace_token: u32,
    /// The display of the type's entry.
    pub display: *const u32,
}

/// An imported function (`abi::func_import`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct VmFuncImport {
    pub slots: *const VmCodeSlots,
    pub vmctx: *mut c_void,
    pub func_ref: *mut VmFuncRef,
}

/// A linear memory's definition (`abi::memory`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct VmMemory {
    pub base: *mut u8,
    pub len: u64,
}

/// A table's definition (`abi::table`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct VmTable {
    pub base: *mut u64,
    pub len: u64,
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use super::*;

    macro_rules! check {
        ($ty:ty { $($field:ident = $offset:expr),* $(,)? }) => {
            $(assert_eq!(offset_of!($ty, $field), $offset as usize, stringify!($ty, $field));)*
        };
    }

    #[test]
    fn structures_lie_where_machine_code_expects_them() {
        check!(VmContext {
            magic = abi::vmctx::MAGIC,
            store = abi::vmctx::STORE,
            builtins = abi::vmctx::BUILTINS,
            poll = abi::vmctx::POLL,
            instance = abi::vmctx::INSTANCE,
        });
        check!(VmHostContext { magic = 0, func = abi::host_context::FUNC, slots = abi::host_context::HEAD });
        check!(VmStoreContext {
            stack_limit = abi::store_context::STACK_LIMIT,
            exit_fp = abi::store_context::EXIT_FP,
            osr_buffer = abi::store_context::OSR_BUFFER,
            events = abi::store_context::EVENTS,
            trace_word = abi::store_context::TRACE_WORD,
            trace_next = abi::store_context::TRACE_NEXT,
            reference_next = abi::store_context::REFERENCE_NEXT,
            callee_slot = abi::store_context::CALLEE_SLOT,
            find_record = abi::store_context::FIND_RECORD,
            path = abi::store_context::PATH,
            metrics = abi::store_context::METRICS,
            measured = abi::store_context::MEASURED,
            read_metrics = abi::store_context::READ_METRICS,
            simulation_next = abi::store_context::SIMULATION_NEXT,
            checks = abi::store_context::CHECKS,
            burst = abi::store_context::BURST,
            counts = abi::store_context::COUNTS,
            passed = abi::store_context::PASSED,
            check = abi::store_context::CHECK,
            check_pinned = abi::store_context::CHECK_PINNED,
            leave = abi::store_context::LEAVE,
            leaving = abi::store_context::LEAVING,
            go_on = abi::store_context::GO_ON,
            heap = abi::store_context::HEAP_CURSOR,
            displays = abi::store_context::DISPLAYS,
            frames_left = abi::store_context::FRAMES_LEFT,
            asked = abi::store_context::ASKED,
            store = abi::store_context::SIZE,
        });
        check!(VmActivation {
            sp = abi::activation::SP,
            fp = abi::activation::FP,
            handler = abi::activation::HANDLER,
        });
        check!(VmCodeSlots {
            entry = abi::code_slots::ENTRY,
            instrumented_entry = abi::code_slots::INSTRUMENTED_ENTRY,
        });
        check!(VmFuncRef {
            slots = abi::func_ref::SLOTS,
            vmctx = abi::func_ref::VMCTX,
            ty = abi::func_ref::TYPE,
            trace_token = abi::func_ref::TRACE_TOKEN,
            display = abi::func_ref::DISPLAY,
        });
        check!(VmFuncImport {
            slots = abi::func_import::SLOTS,
            vmctx = abi::func_import::VMCTX,
            func_ref = abi::func_import::FUNC_REF,
        });
        check!(VmMemory { base = abi::memory::BASE, len = abi::memory::LEN });
        check!(VmTable { base = abi::table::BASE, len = abi::table::LEN });
    }

    #[test]
    fn sizes_agree_with_machine_code() {
        let limit = abi::store_context::HEAP_LIMIT - abi::store_context::HEAP_CURSOR;
        assert_eq!((offset_of!(Bump, cursor), offset_of!(Bump, limit)), (0, limit as usize));
        assert_eq!(size_of::<VmContext>(), abi::vmctx::HEAD as usize);
        assert_eq!(size_of::<Asked>(), 8 * abi::store_context::ASKED_WORDS as usize);
        assert_eq!(size_of::<VmActivation>(), abi::activation::SIZE as usize);
        assert_eq!(size_of::<VmCodeSlots>(), abi::code_slots::SIZE as usize);
        assert_eq!(size_of::<VmFuncRef>(), abi::func_ref::SIZE as usize);
        assert_eq!(size_of::<VmFuncImport>(), abi::func_import::SIZE as usize);
        assert_eq!(size_of::<VmMemory>(), abi::memory::SIZE as usize);
        assert_eq!(size_of::<VmTable>(), abi::table::SIZE as usize);
        assert_eq!(size_of::<VmValue>(), abi::value::SIZE as usize);
        assert_eq!(align_of::<VmValue>(), abi::value::SIZE as usize);
    }
}
