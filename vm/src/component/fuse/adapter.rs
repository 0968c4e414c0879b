//! One adapter: the steps of a call (see `fuse`).

use wasm_encoder::{BlockType, Catch, ValType};

use super::body::{Body, Figure, Side};
use super::check::check;
use super::copy::{Way, copy};
use super::encode::Adapter;
use super::fitness::{needs_room, parts};
use super::imports::{Imports, core};
use super::place::{Place, Slot};
use crate::FuncType as CoreType;
use crate::component::faults::Fault;
use crate::component::plan::{CoreItem, Encoding, Options};
use crate::component::types::{FuncType, MAX_FLAT_PARAMS, MAX_FLAT_RESULTS, Type, TypeKind};
use crate::runtime::values::handles::{ENTERED, STAYS};

/// A call between two instances.
pub struct Call<'p> {
    /// The name of the callee.
    pub name: String,
    pub ty: &'p FuncType,
    pub from: &'p Options,
    pub to: &'p Options,
    /// The callee.
    pub func: &'p CoreItem,
    /// The instances that the call enters, the callee's first.
    pub entered: Vec<u32>,
}

/// What an adapter uses, by index.
struct Used {
    caller: Side,
    callee: Side,
    caller_flags: u32,
    callee_flags: u32,
    entered: Vec<u32>,
    func: u32,
    post_return: Option<u32>,
}

/// Writes the function for a call; `None` if what it needs is not as it should be.
pub fn function(imports: &mut Imports<'_>, call: &Call<'_>) -> Option<Adapter> {
    let ty = call.ty.lowered();
    let used = used(imports, call)?;
    let mut body = Body::new(ty.params().len(), imports.fail());
    body.sink().block(BlockType::Empty).try_table(BlockType::Empty, [Catch::All { label: 0 }]);
    enter(&mut body, &used);
    let args = pass_params(&mut body, &used, call.ty)?;
    args.iter().for_each(|slot| _ = body.sink().local_get(slot.local));
    body.sink().call(used.func);
    let returned = core_result(call.ty).as_ref().and_then(core).map(|ty| Slot { local: body.keep(ty), ty });
    let result = pass_result(&mut body, &used, call.ty, returned)?;
    if let Some(post_return) = used.post_return {
        body.set_flag(used.callee_flags, STAYS, true);
        returned.iter().for_each(|slot| _ = body.sink().local_get(slot.local));
        body.sink().call(post_return);
        body.set_flag(used.callee_flags, STAYS, false);
    }
    used.entered.iter().for_each(|&flags| body.set_flag(flags, ENTERED, false));
    result.iter().for_each(|slot| _ = body.sink().local_get(slot.local));
    body.sink().return_().end().end();
    body.fail(Fault::Thrown, [Figure::Constant(0); 2]);
    Some(Adapter { name: call.name.clone(), ty, code: body.finish() })
}

fn used(imports: &mut Imports<'_>, call: &Call<'_>) -> Option<Used> {
    let params = if call.ty.flat_params().len() > MAX_FLAT_PARAMS {
        vec![crate::ValType::I32]
    } else {
        call.ty.flat_params().to_vec()
    };
    let result = core_result(call.ty);
    let func = imports.func(call.func, CoreType::new(params, result.clone()))?;
    let post_return = match &call.to.post_return {
        Some(item) => Some(imports.func(item, CoreType::new(result, []))?),
        None => None,
    };
    let has_text = [Some(&call.ty.tuple), call.ty.result.as_ref()].into_iter().flatten().any(has_text);
    Some(Used {
        caller: side(imports, call.from, has_text)?,
        callee: side(imports, call.to, has_text)?,
        caller_flags: imports.flags(call.from.instance),
        callee_flags: imports.flags(call.to.instance),
        entered: call.entered.iter().map(|&instance| imports.flags(instance)).collect(),
        func,
        post_return,
    })
}

/// Returns the type of the callee's core result: one that is passed in memory is an address.
fn core_result(ty: &FuncType) -> Option<crate::ValType> {
    match ty.flat_results().as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(crate::ValType::I32),
    }
}

fn has_text(ty: &Type) -> bool {
    match ty.kind() {
        TypeKind::String => true,
        TypeKind::List(element) => has_text(element),
        _ => parts(ty).any(has_text),
    }
}

fn side(imports: &mut Imports<'_>, options: &Options, has_text: bool) -> Option<Side> {
    if has_text && options.encoding != Encoding::Utf8 {
        return None;
    }
    let Some(item) = &options.memory else { return Some(Side::default()) };
    let realloc_type = || CoreType::new(vec![crate::ValType::I32; 4], [crate::ValType::I32]);
    let realloc = match &options.realloc {
        Some(item) => Some(imports.func(item, realloc_type())?),
        None => None,
    };
    let memory = Some(imports.memory(item)?);
    let check_text = has_text.then(|| imports.check_text(item));
    Some(Side { memory, realloc, check_text })
}

fn enter(body: &mut Body, used: &Used) {
    body.check_flag(used.caller_flags, STAYS, Fault::CannotLeave);
    used.entered.iter().for_each(|&flags| body.check_flag(flags, ENTERED, Fault::CannotEnter));
    used.entered.iter().for_each(|&flags| body.set_flag(flags, ENTERED, true));
}

/// Passes the parameters; returns the core values for the callee.
fn pass_params(body: &mut Body, used: &Used, ty: &FuncType) -> Option<Vec<Slot>> {
    let (tuple, is_flat) = (&ty.tuple, ty.flat_params().len() <= MAX_FLAT_PARAMS);
    let given = slots((0..).zip(ty.flat_params()))?;
    let from = match is_flat {
        true => Place::Flat(&given),
        false => {
            body.check_place(used.caller.memory?, 0, (tuple.size(), tuple.align()));
            Place::at(used.caller.memory?, 0)
        }
    };
    check(body, used.caller, tuple, from)?;
    let (way, calls_out) = (Way { from: used.caller, to: used.callee }, !is_flat || needs_room(tuple));
    if calls_out {
        body.set_flag(used.callee_flags, STAYS, true);
    }
    let args = match is_flat {
        true => {
            let new = |slot: &Slot| Slot { local: body.local(slot.ty), ty: slot.ty };
            let args: Vec<Slot> = given.iter().map(new).collect();
            copy(body, way, tuple, from, Place::Flat(&args))?;
            args
        }
        false => {
            let local = body.reserve(used.callee, tuple.align(), Figure::Constant(tuple.size()))?;
            copy(body, way, tuple, from, Place::at(used.callee.memory?, local))?;
            vec![Slot { local, ty: ValType::I32 }]
        }
    };
    if calls_out {
        body.set_flag(used.callee_flags, STAYS, false);
    }
    Some(args)
}

fn slots<'t>(types: impl Iterator<Item = (u32, &'t crate::ValType)>) -> Option<Vec<Slot>> {
    types.map(|(local, ty)| Some(Slot { local, ty: core(ty)? })).collect()
}

/// Passes the result, of which the callee has returned the core value or the address; returns the caller's core value, if
/// the result is one.
fn pass_result(body: &mut Body, used: &Used, ty: &FuncType, returned: Option<Slot>) -> Option<Option<Slot>> {
    let Some(result) = &ty.result else { return Some(None) };
    let way = Way { from: used.callee, to: used.caller };
    if result.flat().len() <= MAX_FLAT_RESULTS {
        let given = returned?;
        check(body, used.callee, result, Place::Flat(&[given]))?;
        let passed = Slot { local: body.local(given.ty), ty: given.ty };
        copy(body, way, result, Place::Flat(&[given]), Place::Flat(&[passed]))?;
        return Some(Some(passed));
    }
    let (from, layout) = (returned?.local, (result.size(), result.align()));
    // The last parameter says where the caller wants it.
    let to = ty.lowered().params().len() as u32 - 1;
    let (memory, place) = (used.callee.memory?, Place::at(used.callee.memory?, from));
    body.check_place(memory, from, layout);
    check(body, used.callee, result, place)?;
    body.check_place(used.caller.memory?, to, layout);
    let calls_out = needs_room(result);
    if calls_out {
        body.set_flag(used.caller_flags, STAYS, true);
    }
    copy(body, way, result, place, Place::at(used.caller.memory?, to))?;
    if calls_out {
        body.set_flag(used.caller_flags, STAYS, false);
    }
    Some(None)
}
