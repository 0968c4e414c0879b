//! Host functions, as machine code calls them.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;
use wprof_jit::abi::host_context;
use wprof_profiler::HOST_CALLEE;

use super::call_hooks::{self, CallHook};
use super::store_control::Pending;
use crate::Result;
use crate::runtime::code::no_code_memory;
use crate::runtime::counts::host_clock::Span;
use crate::runtime::instances::abi::{
    VmCodeSlots, VmContext, VmFuncRef, VmHostContext, VmStoreContext, VmValue,
};
use crate::runtime::instances::items::Items;
use crate::runtime::instances::store_opaque::{StoreOpaque, StoreWith};
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::instances::stored::FuncPtr;
use crate::runtime::interruption::deadline;
use crate::runtime::values::type_ids::TypeEntry;

/// The code of a host function. It is passed the store, the index of the calling instance, if an instance calls
/// it, and the array of arguments, which also receives the results.
pub type HostCode<D> = dyn Fn(&mut StoreWith<D>, Option<u32>, &mut [VmValue]) -> Result<()> + Send + Sync;

/// A host function that belongs to no store yet.
pub struct HostFunc<D: 'static> {
    /// Its type.
    pub ty: crate::FuncType,
    /// Its code.
    pub code: Box<HostCode<D>>,
}

/// The part of a host function's context that does not depend on the store's data type.
#[repr(C)]
pub struct HostHead {
    vm: VmHostContext,
    context: StorePtr<VmStoreContext>,
    /// Its type.
    pub entry: Arc<TypeEntry>,
    /// Module and name under which it was defined, if any.
    pub name: Option<(String, String)>,
    /// Number of calls; counted only when profiling.
    calls: AtomicU64,
    /// Its own time in ticks; measured only with a clock.
    ticks: AtomicU64,
    counted: bool,
    /// Its routine number in call records.
    routine: u32,
    /// Its number among the host functions of its store.
    number: usize,
    /// Length of the array of its arguments and results.
    len: usize,
}

/// A host function in a store.
#[repr(C)]
struct HostContext<D: 'static> {
    head: HostHead,
    func: Arc<HostFunc<D>>,
}

/// The owner of a `HostContext<D>` of any `D`.
pub struct AnyHostContext {
    pointer: NonNull<HostHead>,
    free: unsafe fn(NonNull<HostHead>),
}

// SAFETY: it owns the context, whose pointers lead to itself and to the context of the store that it is a part of.
// The user's data is `Send` and `Sync`: `add` makes the compiler check that.
unsafe impl Send for AnyHostContext {}
// SAFETY: as above.
unsafe impl Sync for AnyHostContext {}

impl AnyHostContext {
    /// Returns the head of the context.
    pub fn head(&self) -> &HostHead {
        // SAFETY: `add` allocates the context, and only `drop` frees it.
        unsafe { self.pointer.as_ref() }
    }
}

impl HostHead {
    /// Returns how often it was called so far; counted only when profiling.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns its own time so far, in ticks of the store's clock, without calls that still run.
    pub fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }
}

impl Drop for AnyHostContext {
    fn drop(&mut self) {
        // SAFETY: `free` was instantiated for this context's type.
        unsafe { (self.free)(self.pointer) };
    }
}

/// Adds `func` to a store.
///
/// # Errors
/// Returns an error if there is no memory for its lazy stub.
pub fn add<D: 'static>(
    store: &mut StoreWith<D>,
    func: &Arc<HostFunc<D>>,
    name: Option<(String, String)>,
) -> Result<FuncPtr> {
    const fn may_be_shared<T: Send + Sync>() {}
    const { may_be_shared::<(Arc<HostFunc<D>>, Arc<TypeEntry>)>() };
    let opaque = &mut store.opaque;
    let entry = opaque.engine().types().entry(&func.ty.0);
    let code = match entry.wasm_to_host.get() {
        Some(&address) => address,
        None => {
            let in_memory = opaque.engine().compiler().returns_in_memory(func.ty.signature());
            let stubs = opaque.engine().stubs().up_to(1, in_memory);
            stubs.map_err(no_code_memory)?(0)
        }
    };
    let slots = VmCodeSlots { entry: code.into(), instrumented_entry: code.into() };
    let func_ref = VmFuncRef {
        slots: ptr::null(),
        vmctx: ptr::null_mut(),
        ty: entry.id,
        trace_token: HOST_CALLEE,
        display: entry.display(),
    };
    let counted = opaque.engine().config().profiling != crate::ProfilingConfig::Off;
    let vm = VmHostContext { magic: host_context::MAGIC, func: shim::<D>, slots, func_ref };
    let routine = opaque.observed.host_routine(name.as_ref());
    // SAFETY: the pointer leads to the store's own context, and becomes a part of the store.
    let context = unsafe { StorePtr::new(opaque.context()) };
    let (calls, ticks) = (AtomicU64::new(0), AtomicU64::new(0));
    let number = opaque.items.hosts().len();
    let len = func.ty.array_len();
    let head = HostHead { vm, context, entry, name, calls, ticks, counted, routine, number, len };
    let pointer = NonNull::from(Box::leak(Box::new(HostContext { head, func: func.clone() })));
    let head: NonNull<HostHead> = pointer.cast();
    // SAFETY: the context is freshly allocated and does not move; the funcref refers to the context that contains
    // it.
    let func_ref = unsafe {
        let vm = &raw mut (*head.as_ptr()).vm;
        (*vm).func_ref.slots = &raw const (*vm).slots;
        (*vm).func_ref.vmctx = vm.cast::<c_void>();
        NonNull::new_unchecked(&raw mut (*vm).func_ref)
    };
    opaque.items.add_host(AnyHostContext { pointer: head, free: free::<D> });
    // SAFETY: the funcref lies in a host context of this store.
    Ok(unsafe { opaque.items.func_handle(func_ref) })
}

/// # Safety
/// The caller guarantees that `head` belongs to a `HostContext<D>` leaked by `add`.
unsafe fn free<D: 'static>(head: NonNull<HostHead>) {
    // SAFETY: the caller guarantees it; the head is the context's first field.
    drop(unsafe { Box::from_raw(head.cast::<HostContext<D>>().as_ptr()) });
}

/// Calls a host function, for the wasm-to-host trampoline. When it reports failure the trampoline traps, so it must
/// leave nothing to be dropped.
unsafe extern "C" fn shim<D: 'static>(
    context: *mut VmHostContext,
    caller: *mut VmContext,
    values: *mut VmValue,
) -> u32 {
    // SAFETY: `add` made the context for a store of type `StoreWith<D>`, which `enter::call` has lent, by the
    // pointer in its store context, to this function or to the wasm code that waits for it. `values` has room for
    // all arguments and results. `caller` is an instance of the same store, or null.
    let (host, store, instance, values) = unsafe {
        let host = &*context.cast::<HostContext<D>>();
        let instance = caller.as_ref().map(|c| c.instance as u32);
        let values = std::slice::from_raw_parts_mut(values, host.head.len);
        (host, NonNull::new_unchecked(host.head.context.as_ref().store), instance, values)
    };
    // SAFETY: the store is whole, and lent to this function. The host function gets it, and the hook before and after.
    unsafe {
        let around = begin(&host.head, store, instance.is_some(), values);
        let result = catch_unwind(AssertUnwindSafe(|| {
            call_hooks::tell(store, CallHook::CallingHost)?;
            let result = (host.func.code)(store.cast::<StoreWith<D>>().as_mut(), instance, values);
            let told = call_hooks::tell(store, CallHook::ReturningFromHost);
            result.and(told)
        }));
        if around.is_none() && matches!(result, Ok(Ok(()))) && !store.as_ref().has_news() {
            return 0;
        }
        end(&host.head, store, around, result)
    }
}

/// The records of a call of the host that runs, if its store keeps any.
struct Around {
    outer: u32,
    span: Option<Span>,
    host: usize,
}

/// Begins a host function.
///
/// # Safety
/// The caller guarantees that it has the whole store.
#[inline]
unsafe fn begin(
    head: &HostHead,
    store: NonNull<StoreOpaque>,
    is_called_by_wasm: bool,
    values: &[VmValue],
) -> Option<Around> {
    // SAFETY: the caller guarantees it.
    let store = unsafe { &mut *store.as_ptr() };
    if head.counted {
        // Who calls a store's host functions has the store, so nobody else writes.
        head.calls.store(head.calls() + 1, Ordering::Relaxed);
    }
    if store.collected.is_due() {
        store.collect(&collected_in(&head.entry.func_type(), values));
    }
    let StoreOpaque { observed, control, .. } = store;
    observed.record_calls().then(|| Around {
        outer: observed.enter_host_context(head.routine, is_called_by_wasm, control.depth()),
        span: observed.begin_span(),
        host: observed.samples.note_host(1 + head.number),
    })
}

/// Ends a host function: returns 0, or 1 if it failed or the program is to end, for which it leaves the reason.
///
/// # Safety
/// The caller guarantees that it has the whole store.
unsafe fn end(
    head: &HostHead,
    store: NonNull<StoreOpaque>,
    around: Option<Around>,
    result: std::thread::Result<Result<()>>,
) -> u32 {
    // SAFETY: the caller guarantees it; the reference ends before the embedder is asked.
    let opaque = unsafe { &mut *store.as_ptr() };
    if let Some(around) = around {
        let observed = &mut opaque.observed;
        observed.samples.note_host(around.host);
        head.ticks.fetch_add(observed.end_span(around.span), Ordering::Relaxed);
        observed.leave_host_context(around.outer);
        observed.metrics.read_all();
    }
    let pending = match result.map(|done| done.and_then(|()| opaque.items.check_data())) {
        // SAFETY: the caller guarantees it.
        Ok(Ok(())) => match unsafe { deadline::act(store) } {
            None => {
                // SAFETY: as above.
                unsafe { (*store.as_ptr()).heed_tick() };
                return 0;
            }
            Some(pending) => pending,
        },
        Ok(Err(error)) => Pending::Error(error),
        Err(panic) => Pending::Panic(panic),
    };
    // SAFETY: as above.
    unsafe { (*store.as_ptr()).control.fail(pending) };
    1
}

/// Returns the arguments that are references to collected objects.
fn collected_in(ty: &crate::FuncType, values: &[VmValue]) -> SmallVec<[u64; 4]> {
    let is_collected =
        |(ty, _): &(crate::ValType, &VmValue)| matches!(ty, crate::ValType::Ref(ty) if ty.is_collected());
    ty.params().zip(values).filter(is_collected).map(|(_, value)| value.u64()).collect()
}

/// Returns the context of `func`, if it is a host function.
#[inline]
pub fn context_of(items: &Items, func: FuncPtr) -> Option<NonNull<VmHostContext>> {
    let vmctx = NonNull::new(items.func_ref(func).vmctx)?;
    // SAFETY: every vmctx starts with its magic number.
    let magic = unsafe { vmctx.cast::<u32>().read() };
    (magic == host_context::MAGIC).then(|| vmctx.cast())
}

/// Calls a host function from the host, without machine code in between.
///
/// # Safety
/// The caller guarantees that `context` belongs to this store, and that `values` has room for all arguments and
/// results and holds arguments of the right types.
pub unsafe fn call(context: NonNull<VmHostContext>, values: *mut VmValue) -> u32 {
    // SAFETY: the caller guarantees it; there is no calling instance.
    unsafe { (context.as_ref().func)(context.as_ptr(), ptr::null_mut(), values) }
}

/// Returns the head of a host function's context.
///
/// # Safety
/// The caller guarantees that `context` is a live host context.
pub unsafe fn head<'a>(context: NonNull<VmHostContext>) -> &'a HostHead {
    // SAFETY: every host context is the first field of a `HostHead`.
    unsafe { context.cast::<HostHead>().as_ref() }
}

/// Publishes the trampoline of a host function.
///
/// # Safety
/// The caller guarantees the same as for [`head`], and that `code` is the wasm-to-host trampoline of its type.
pub unsafe fn publish(context: NonNull<VmHostContext>, code: usize) {
    // SAFETY: the caller guarantees it.
    let slots = unsafe { &context.as_ref().slots };
    slots.instrumented_entry.store(code, Ordering::Release);
    slots.entry.store(code, Ordering::Release);
}
