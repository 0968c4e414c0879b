//! Checks of a module and of options before the module is rewritten.

use crate::layout::RESERVED;
use crate::module::Source;
use crate::plan::Collected;
use crate::{Error, descriptor};

/// The most and the fewest bytes of a trace.
const TRACE_MEMORIES: std::ops::RangeInclusive<u32> = 1 << 10..=128 << 20;

/// Checks that interesting paths are among those that are counted.
pub fn interesting(collected: Collected, is_any: bool) -> Result<(), Error> {
    if is_any && collected != Collected::Paths {
        return Err(Error::InterestingWithoutPaths);
    }
    Ok(())
}

/// Checks that nothing is to be counted beside a trace, and that there can be so much memory for it.
pub fn trace(collected: Collected, has_more: bool, memory: u32) -> Result<(), Error> {
    match memory {
        _ if collected != Collected::Trace => Ok(()),
        _ if has_more => Err(Error::TraceAndCounts),
        0 => Ok(()),
        bytes if TRACE_MEMORIES.contains(&bytes) => Ok(()),
        _ => Err(Error::TraceMemory),
    }
}

/// Checks that a module has code, and exports none of the reserved names.
pub fn module(source: &Source<'_>) -> Result<(), Error> {
    if source.custom_section(descriptor::SECTION).is_some() {
        return Err(Error::Instrumented);
    }
    if source.bodies.is_empty() {
        return Err(Error::NoCode);
    }
    let taken = source.exported().find(|name| RESERVED.contains(name));
    taken.map_or(Ok(()), |name| Err(Error::NameTaken(name.to_owned())))
}

/// Sections that mark a module as a dynamic library, which another module loads.
const DYLINK: [&str; 2] = ["dylink.0", "dylink"];

/// Checks that the region can lie behind the program's memory.
pub fn memory(source: &Source<'_>) -> Result<(), Error> {
    let memory = &source.memories[0];
    let no = |why: &'static str| Err(Error::NoRoom(why.into()));
    if source.memories.len() > 1 {
        return no("the module has several memories already, so its host can have one more");
    }
    if memory.shared {
        return no("threads share the memory, and each must have counters of its own");
    }
    if memory.memory64 {
        return no("counters cannot lie in a memory with 64-bit addresses");
    }
    if memory.page_size_log2.is_some_and(|size| size != 16) {
        return no("counters need a memory with pages of 64 KiB");
    }
    if source.imported_memories > 0 && DYLINK.iter().any(|name| source.custom_section(name).is_some()) {
        return no("the module is loaded into the memory of another one, which may have counters there, too");
    }
    if source.imported_memories > 0 && memory.maximum == Some(memory.initial) {
        return no(
            "the memory that the host makes has its maximum from the beginning, so there is no room for counters",
        );
    }
    Ok(())
}
