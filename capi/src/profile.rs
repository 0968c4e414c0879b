//! The additions of `wprof.h`: profiles, fuel, events, deadlines, limits.

use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wprof::{AsContextMut, Error, Instance, InterruptHandle, Module, Result};
use wprof_profiler::export::{CodeMap, Samples, write_flamegraph, write_folded, write_pprof};
use wprof_profiler::{FunctionProfile, Profile, TimeProfile, Timed};
use wprof_report::export::{Export, Format, Options};
use wprof_report::html::{self, HtmlPage};
use wprof_report::{Program, View};

use crate::error::{Message, report, wrong};
use crate::module::module;
use crate::reference::{Reference, What};
use crate::store::StoreRef;
use crate::vector::{Bytes, Owned, give, message, text};

/// Returns the profile of an instance's execution.
fn profile(reference: &Reference) -> Result<Box<Profile>> {
    let What::Instance(instance) = reference.what else { return Err(wrong("it is no instance")) };
    let of = |instance: Instance| reference.store.with(|context| instance.profile(context));
    of(instance).map(Box::new)
}

fn path(bytes: &Bytes) -> PathBuf {
    Path::new(&text(bytes)).to_owned()
}

/// Writes a profile in the format of another tool, by the format's number in `wprof.h`.
fn export(profile: &Profile, format: u8) -> Result<Vec<u8>> {
    let samples = Samples::new(profile, &CodeMap::default());
    let metric = || samples.metric(None).ok_or_else(|| wrong("the profile has nothing that stacks have"));
    let mut bytes = Vec::new();
    let written = match format {
        0 => return profile.to_bytes().map_err(Error::from),
        1 => write_folded(&samples, metric()?, &mut bytes),
        2 => write_pprof(&samples, profile, &mut bytes),
        3 => write_flamegraph(&samples, metric()?, "wprof", &mut bytes),
        4 => profile.write_json(&mut bytes),
        _ => return Err(wrong(format_args!("no format has number {format}"))),
    };
    written?;
    Ok(bytes)
}

/// Writes a profile as the commands do, with the source lines of its module.
fn export_as(profile: &Profile, module: Option<&Module>, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let program = module.map(Program::from);
    if name == "html" {
        let view = View::new(profile, program.as_ref());
        let page = HtmlPage::new(&view, html::Options::default()).map_err(wrong)?;
        page.write(&mut bytes).map_err(wrong)?;
        return Ok(bytes);
    }
    let format = Format::ALL.into_iter().find(|format| format.name() == name);
    let format = format.ok_or_else(|| {
        let known = Format::ALL.map(Format::name).join(", ");
        wrong(format_args!("no format is called `{name}`: there are {known}, html"))
    })?;
    let export = Export::new(profile.clone(), program.as_ref(), format, Options::default()).map_err(wrong)?;
    export.write(&mut bytes)?;
    Ok(bytes)
}

/// Returns the time that was sampled; nothing if no timer has.
fn sampled(profile: &Profile) -> Timed {
    profile.time.as_ref().map(TimeProfile::total).unwrap_or_default()
}

/// Returns the time of a function by itself, and with all that it calls.
fn time_of(profile: &Profile, number: usize) -> (Timed, Timed) {
    let found = profile.time.as_ref().zip(numbered(profile, number));
    found.map(|(time, function)| time.of_function(function.index)).unwrap_or_default()
}

fn event_count(store: &StoreRef, kind: &str) -> Result<u64> {
    store.with(|context| wprof::event_count(context, kind))
}

fn set_fuel(store: &StoreRef, fuel: u64) -> Result<()> {
    store.with(|mut context| context.set_fuel(fuel))
}

fn set_deadline(store: &StoreRef, milliseconds: u64) -> Result<()> {
    let at = (milliseconds > 0).then(|| Instant::now().checked_add(Duration::from_millis(milliseconds)));
    store.with(|mut context| context.set_deadline(at.flatten()))
}

fn numbered(profile: &Profile, index: usize) -> Option<&FunctionProfile> {
    profile.functions.get(index)
}

export! {
    ["wprof_instance_profile"] fn(instance: &Reference, error: Message<'_>) -> Owned<Profile> {
        report(profile(instance), error)
    }
    ["wprof_profile_delete"] fn(profile: Owned<Profile>) {
        drop(profile);
    }
    ["wprof_profile_read"] fn(file: &Bytes, error: Message<'_>) -> Owned<Profile> {
        report(Profile::read(path(file)).map(Box::new), error)
    }
    ["wprof_profile_merge"] fn(profile: &mut Profile, other: &Profile, error: Message<'_>) -> bool {
        report(profile.merge(other), error).is_some()
    }
    ["wprof_profile_write"] fn(profile: &Profile, file: &Bytes, error: Message<'_>) -> bool {
        report(profile.write(path(file)), error).is_some()
    }
    ["wprof_profile_from_bytes"] fn(bytes: &Bytes, error: Message<'_>) -> Owned<Profile> {
        report(Profile::from_bytes(bytes.as_slice()).map(Box::new), error)
    }
    ["wprof_profile_export"] fn(
        profile: &Profile,
        format: u8,
        out: &mut MaybeUninit<Bytes>,
        error: Message<'_>,
    ) -> bool {
        give(report(export(profile, format), error), out)
    }
    ["wprof_profile_export_as"] fn(
        profile: &Profile,
        of: Option<&Reference>,
        format: &Bytes,
        out: &mut MaybeUninit<Bytes>,
        error: Message<'_>,
    ) -> bool {
        give(report(export_as(profile, of.and_then(module), &text(format)), error), out)
    }
    ["wprof_profile_time"] fn(profile: &Profile) -> u64 {
        sampled(profile).time_ns
    }
    ["wprof_profile_samples"] fn(profile: &Profile) -> u64 {
        sampled(profile).samples
    }
    ["wprof_profile_function_own_time"] fn(profile: &Profile, number: usize) -> u64 {
        time_of(profile, number).0.time_ns
    }
    ["wprof_profile_function_time"] fn(profile: &Profile, number: usize) -> u64 {
        time_of(profile, number).1.time_ns
    }
    ["wprof_profile_instructions"] fn(profile: &Profile) -> u64 {
        profile.ops()
    }
    ["wprof_profile_calls"] fn(profile: &Profile) -> u64 {
        profile.calls()
    }
    ["wprof_profile_functions"] fn(profile: &Profile) -> usize {
        profile.functions.len()
    }
    ["wprof_profile_function_index"] fn(profile: &Profile, number: usize) -> u32 {
        numbered(profile, number).map_or(u32::MAX, |function| function.index)
    }
    ["wprof_profile_function_name"] fn(profile: &Profile, number: usize, out: &mut MaybeUninit<Bytes>) {
        let name = numbered(profile, number).and_then(|function| function.name.as_deref());
        out.write(message(name.unwrap_or_default()));
    }
    ["wprof_profile_function_calls"] fn(profile: &Profile, number: usize) -> u64 {
        numbered(profile, number).map_or(0, FunctionProfile::calls)
    }
    ["wprof_profile_function_instructions"] fn(profile: &Profile, number: usize) -> u64 {
        numbered(profile, number).map_or(0, FunctionProfile::ops)
    }

    ["wprof_store_set_fuel"] fn(store: &StoreRef, fuel: u64, error: Message<'_>) -> bool {
        report(set_fuel(store, fuel), error).is_some()
    }
    ["wprof_store_get_fuel"] fn(store: &StoreRef, out: &mut MaybeUninit<u64>, error: Message<'_>) -> bool {
        let fuel = report(store.with(|context| context.get_fuel()), error);
        fuel.map(|fuel| out.write(fuel)).is_some()
    }
    ["wprof_store_event_count"] fn(
        store: &StoreRef,
        kind: &Bytes,
        out: &mut MaybeUninit<u64>,
        error: Message<'_>,
    ) -> bool {
        report(event_count(store, &text(kind)), error).map(|count| out.write(count)).is_some()
    }
    ["wprof_store_set_budget"] fn(store: &StoreRef, kind: &Bytes, more: u64, error: Message<'_>) -> bool {
        let set = store.with(|mut context| context.set_budget(&text(kind), more));
        report(set, error).is_some()
    }
    ["wprof_store_set_deadline"] fn(store: &StoreRef, milliseconds: u64, error: Message<'_>) -> bool {
        report(set_deadline(store, milliseconds), error).is_some()
    }
    ["wprof_store_limit"] fn(store: &StoreRef, memory_bytes: u64, table_elements: u64) {
        store.with(|mut context| {
            let limits = context.limits();
            context.set_limits(wprof::StoreLimits {
                memory_size: memory_bytes,
                memory64_size: memory_bytes,
                table_elements,
                ..limits
            });
        });
    }
    ["wprof_store_limit_counts"] fn(store: &StoreRef, instances: usize, memories: usize, tables: usize) {
        store.with(|mut context| {
            let limits = context.limits();
            context.set_limits(wprof::StoreLimits { instances, memories, tables, ..limits });
        });
    }
    ["wprof_store_gc"] fn(store: &StoreRef) {
        store.with(|mut context| context.as_context_mut().gc());
    }
    ["wprof_store_interrupt_handle"] fn(store: &StoreRef) -> Box<InterruptHandle> {
        Box::new(store.with(|context| context.interrupt_handle()))
    }
    ["wprof_interrupt_handle_interrupt"] fn(handle: &InterruptHandle) {
        handle.interrupt();
    }
    ["wprof_interrupt_handle_delete"] fn(handle: Owned<InterruptHandle>) {
        drop(handle);
    }
}
