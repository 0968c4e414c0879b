//! WebAssembly 3.0: references, exceptions, garbage collection, threads.

mod atomics;
mod exceptions;
mod exnrefs;
mod externrefs;
mod function_references;
mod gc;
mod host_objects;
mod inlined_throws;
mod js_strings;
#[path = "../shared/memory_file.rs"]
mod memory_file;
mod shared_memory;
mod waits;
