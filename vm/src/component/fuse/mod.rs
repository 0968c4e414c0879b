//! Fused adapters: calls from one component of a file to another, as machine code.
//!
//! # Theory
//!
//! A function that one component lifts and another one lowers is, by *CanonicalABI.md*, a core function for the caller:
//! `canon lower` takes values out of the caller's core values and memory, `canon lift` puts them into the callee's, and
//! the result goes the other way. The values in between are nobody's: both types are known, so lifting and lowering can be
//! *fused* to a copy from one memory to the other, as list fusion does without the list in between. What is left is a core
//! function over two memories (multi-memory), which is written here as wasm, and compiled and profiled as any other.
//! Wasmtime does likewise (its *FACT*, fused adapter compiler of trampolines); this generator is our own.
//!
//! An adapter does, in this order, what the specification's Python does:
//!
//! 1. Trap if the caller may not leave, or the callee, or an instance around it that the caller is not in, is entered.
//!    Mark these as entered.
//! 2. *Check* the arguments: alignment, bounds, discriminants, characters, text. `lift_flat_values` has read all of them
//!    before `lower_flat_values` writes, so no allocator runs if one is no value. What has been checked stays as it is, as
//!    the caller does not run until the call ends: its memory is not shared, and the callee's allocator may call nobody.
//! 3. *Copy* them: an allocation of the callee's `realloc` for each string, list, and for parameters that are passed in
//!    memory, in the order of the values; while that runs, the callee must not call out. Small integers, flags and
//!    booleans are made canonical. Elements without anything to change are copied in bulk.
//! 4. Call, then check and copy the result in the other direction; while the caller's `realloc` runs, it must not call out.
//! 5. Call `post-return`, during which the callee must not call out. Mark the instances as left.
//!
//! An exception that leaves the callee or an allocator is a trap. After a trap the flags stay as they are.
//!
//! Since checks are apart from copies, each is a walk over the type with no other state than the place of a value: core
//! values of a joined type, or an address (`place`).
//!
//! # What is not fused
//!
//! Resources, whose handles the store has; strings that are not UTF-8 on both sides; functions of related instances, whose
//! calls always trap; functions whose types are so large that code for them would be (`fitness`); whatever cannot be
//! imported as it should be. These calls go through the host (`call::between`), and do the same, but that the host's memory
//! for their values is limited: adapters need none.
//!
//! Input: a plan. Output: the same plan, in which [`Step::Adapters`] replaces trampolines. Modules are made for all
//! adapters between two instantiations together.

mod adapter;
mod body;
mod check;
mod copy;
mod encode;
mod fitness;
mod imports;
mod place;

use adapter::Call;
use encode::encode;
use imports::Imports;

use hashbrown::HashSet;

use super::plan::{Adapters, Options, Plan, Step, Target, Trampoline};
use crate::artifact::CodeSource;
use crate::{Engine, Module};

/// Replaces trampolines by adapters where that is possible.
pub fn fuse(engine: &Engine, plan: &mut Plan, source: &mut CodeSource) {
    let steps = std::mem::take(&mut plan.steps);
    let (mut all, mut left) = (Vec::new(), fitness::ALL);
    let is_new_instance =
        |step: &Step| matches!(step, Step::Instantiate { .. } | Step::InstantiateImported { .. });
    let mut run = Vec::new();
    for step in steps {
        if is_new_instance(&step) {
            end_run((engine, source), plan, &mut run, (&mut all, &mut left));
            all.push(step);
        } else {
            run.push(step);
        }
    }
    end_run((engine, source), plan, &mut run, (&mut all, &mut left));
    plan.steps = all;
}

/// Adds the steps between two instantiations to `all`: first the adapters, which only need what is there by then.
fn end_run(
    maker: (&Engine, &mut CodeSource),
    plan: &mut Plan,
    run: &mut Vec<Step>,
    (all, left): (&mut Vec<Step>, &mut usize),
) {
    let adapters = adapters(maker, plan, run, left);
    let replaced: HashSet<u32> = adapters.iter().flat_map(|adapters| adapters.trampolines.clone()).collect();
    let is_left = |step: &Step| !matches!(step, Step::Trampoline(index) if replaced.contains(index));
    run.retain(is_left);
    if let Some(adapters) = adapters {
        all.push(Step::Adapters(plan.adapters.len() as u32));
        plan.adapters.push(adapters);
    }
    all.append(run);
}

/// Returns the adapters for what trampolines of these steps do, if there are any.
fn adapters(
    (engine, source): (&Engine, &mut CodeSource),
    plan: &Plan,
    steps: &[Step],
    left: &mut usize,
) -> Option<Adapters> {
    let mut imports = Imports::new(plan);
    let (mut functions, mut trampolines) = (Vec::new(), Vec::new());
    for step in steps {
        let Step::Trampoline(index) = step else { continue };
        let Some(call) = call(plan, *index) else { continue };
        let known = imports.len();
        match fitness::charge(call.ty, left).and_then(|()| adapter::function(&mut imports, &call)) {
            Some(function) => {
                functions.push(function);
                trampolines.push(*index);
            }
            None => imports.truncate(known),
        }
    }
    if functions.is_empty() {
        return None;
    }
    // A configuration may forbid what adapters need: several memories, for instance.
    let module = Module::of_component(engine, encode(&imports, &functions).into(), source).ok()?;
    Some(Adapters { module, imports: imports.list(), trampolines })
}

/// Returns the call that a trampoline makes, if it is one between components.
fn call(plan: &Plan, index: u32) -> Option<Call<'_>> {
    let Trampoline::Lower { func: Target::Lifted(lifted), ty, options } = &plan.trampolines[index as usize]
    else {
        return None;
    };
    let callee = &plan.lifted[*lifted as usize];
    let (from, to): (&Options, &Options) = (options, &callee.options);
    if !plan.are_apart(from.instance, to.instance) {
        return None;
    }
    let entered = plan.entered(to.instance, Some(from.instance)).collect();
    let name = callee.shown(*lifted);
    Some(Call { name, ty, from, to, func: &callee.func, entered })
}
