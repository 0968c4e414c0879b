// What wprof adds to the WebAssembly C API: errors as text, profiles, fuel, deadlines, limits.
//
// Everything that holds in wasm.h holds here: a store, and all that is in it, may be used by one thread at a time; engines,
// shared modules, profiles and interrupt handles by any. A module of one engine may be used in stores of that engine only. Who
// uses what was deleted, gives away what it does not own, or jumps out of a host function (longjmp) has undefined behaviour;
// a thing of one store that is used with another ends the process. References keep their store alive.
//
// Functions with a parameter `error` leave a message there when they fail, which the caller owns (wasm_name_delete), and
// write nothing else there; NULL if it is not wanted.

#ifndef WPROF_H
#define WPROF_H

#include "wasm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define own

// Kinds in wasm.h end where this API has no name for a type: vectors, exceptions, objects of garbage collection, tags. Modules
// that import or export such load and run; those values are passed as null references of this kind.
enum { WPROF_OTHER = 255, WPROF_EXTERN_OTHER = 255 };

// A profile: numbers that have nothing to do with the store any more.
typedef struct wprof_profile_t wprof_profile_t;

// What is profiled: see the book.
typedef uint8_t wprof_profiling_t;
enum wprof_profiling_enum {
  WPROF_OFF,
  WPROF_ADAPTIVE,      // paths in bursts, at hardly any cost
  WPROF_EXACT_EDGES,   // every branch
  WPROF_EXACT_PATHS,   // every path
  WPROF_EXACT_BLOCKS,  // every block
};

// How functions come by their code.
typedef uint8_t wprof_strategy_t;
enum wprof_strategy_enum { WPROF_TIERED, WPROF_OPTIMIZED, WPROF_BASELINE };

// Settings. False: there is no such number.
WASM_API_EXTERN bool wprof_config_profiling(wasm_config_t*, wprof_profiling_t, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_config_strategy(wasm_config_t*, wprof_strategy_t, own wasm_message_t* error);
WASM_API_EXTERN void wprof_config_count_contexts(wasm_config_t*, bool);
// An adaptive profile with bursts of so many checks, and so many checks from one burst to the next; UINT32_MAX: for ever.
WASM_API_EXTERN bool wprof_config_bursts(
  wasm_config_t*, uint32_t between, uint32_t in_burst, own wasm_message_t* error);
// Which functions indirect calls call, in exact profiles; adaptive ones have it.
WASM_API_EXTERN void wprof_config_count_call_targets(wasm_config_t*, bool);
// The time of host functions, by the functions that call them.
WASM_API_EXTERN void wprof_config_time_host_calls(wasm_config_t*, bool);
// Counts kinds of events by their names, with commas between them, in place of any before: instructions, loads, stores, and the
// others that `wprof run --help` names.
WASM_API_EXTERN bool wprof_config_count_events(wasm_config_t*, const wasm_name_t* kinds, own wasm_message_t* error);
// The kind of counted events of which stores have a budget.
WASM_API_EXTERN void wprof_config_budget(wasm_config_t*, const wasm_name_t* kind);
// An earlier profile of the module, which guides the optimization of hot functions from the start.
WASM_API_EXTERN void wprof_config_profile_use(wasm_config_t*, const wprof_profile_t*);
// A folder for machine code that later processes use again. It must be one where nobody else can write.
WASM_API_EXTERN void wprof_config_code_cache(wasm_config_t*, const wasm_name_t* folder);
// Whether traps list the memories, globals and instances of their store for core dumps.
WASM_API_EXTERN void wprof_config_coredump_on_trap(wasm_config_t*, bool);
WASM_API_EXTERN void wprof_config_sample_time(wasm_config_t*, uint32_t times_a_second);
WASM_API_EXTERN void wprof_config_interruptible(wasm_config_t*, bool);
WASM_API_EXTERN void wprof_config_consume_fuel(wasm_config_t*, bool);
WASM_API_EXTERN void wprof_config_canonical_nans(wasm_config_t*, bool);
// The stack of wasm code in bytes, and the number of its frames, beyond which it traps; 0: only the thread's stack is a limit.
WASM_API_EXTERN void wprof_config_max_wasm_stack(wasm_config_t*, size_t bytes);
WASM_API_EXTERN void wprof_config_max_call_depth(wasm_config_t*, uint32_t frames);
// Whether modules may use a proposal, by its name: simd, relaxed_simd, tail_call, memory64, multi_memory, extended_const,
// bulk_memory, reference_types, multi_value, sign_extension, saturating_float_to_int, mutable_global, exceptions, threads,
// function_references, gc.
WASM_API_EXTERN bool wprof_config_proposal(wasm_config_t*, const wasm_name_t*, bool, own wasm_message_t* error);
// Settings for those who want to trust as little code as possible.
WASM_API_EXTERN own wasm_config_t* wprof_config_conservative(void);

// As wasm_engine_new_with_config, wasm_module_new and wasm_module_deserialize, with the reason of a failure. What is deserialized
// is machine code that runs with all rights of the process: it must be what wasm_module_serialize gave.
WASM_API_EXTERN own wasm_engine_t* wprof_engine_new(own wasm_config_t*, own wasm_message_t* error);
WASM_API_EXTERN own wasm_module_t* wprof_module_new(
  wasm_store_t*, const wasm_byte_vec_t* bytes, own wasm_message_t* error);
WASM_API_EXTERN own wasm_module_t* wprof_module_deserialize(
  wasm_store_t*, const wasm_byte_vec_t* bytes, own wasm_message_t* error);

// As the functions of wasm.h with these names, with the reason of a failure.
WASM_API_EXTERN own wasm_global_t* wprof_global_new(
  wasm_store_t*, const wasm_globaltype_t*, const wasm_val_t*, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_global_set(wasm_global_t*, const wasm_val_t*, own wasm_message_t* error);
WASM_API_EXTERN own wasm_table_t* wprof_table_new(
  wasm_store_t*, const wasm_tabletype_t*, wasm_ref_t* init, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_table_set(wasm_table_t*, wasm_table_size_t index, wasm_ref_t*, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_table_grow(wasm_table_t*, wasm_table_size_t delta, wasm_ref_t* init, own wasm_message_t* error);
WASM_API_EXTERN own wasm_memory_t* wprof_memory_new(wasm_store_t*, const wasm_memorytype_t*, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_memory_grow(wasm_memory_t*, wasm_memory_pages_t delta, own wasm_message_t* error);

// In a host function: an export of the instance that called it. NULL: there is none of this name, or the host has called.
WASM_API_EXTERN own wasm_extern_t* wprof_caller_export(wasm_store_t*, const wasm_name_t* name);

// WASI preview 1: what a program is given. At first it has no arguments, environment, files, input or output.
typedef struct wprof_wasi_t wprof_wasi_t;
WASM_API_EXTERN own wprof_wasi_t* wprof_wasi_new(void);
WASM_API_EXTERN void wprof_wasi_delete(own wprof_wasi_t*);
// Adds an argument; the first is the program's name.
WASM_API_EXTERN bool wprof_wasi_arg(wprof_wasi_t*, const wasm_name_t*, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_wasi_env(
  wprof_wasi_t*, const wasm_name_t* name, const wasm_name_t* value, own wasm_message_t* error);
// Which of the standard input, output and error of the process it gets.
WASM_API_EXTERN void wprof_wasi_inherit_stdio(wprof_wasi_t*, bool in, bool out, bool err);
// All of the standard input.
WASM_API_EXTERN void wprof_wasi_stdin(wprof_wasi_t*, const wasm_byte_vec_t*);
// A folder of the host's, under a name of its own.
WASM_API_EXTERN bool wprof_wasi_preopen_dir(
  wprof_wasi_t*, const wasm_name_t* host, const wasm_name_t* guest, bool may_write, own wasm_message_t* error);
WASM_API_EXTERN void wprof_wasi_random_seed(wprof_wasi_t*, uint64_t);
// The network of the process, and names in it.
WASM_API_EXTERN void wprof_wasi_inherit_network(wprof_wasi_t*);
// Collects an output, at most so many bytes: writes of more fail.
typedef struct wprof_pipe_t wprof_pipe_t;
WASM_API_EXTERN own wprof_pipe_t* wprof_wasi_stdout(wprof_wasi_t*, size_t limit);
WASM_API_EXTERN own wprof_pipe_t* wprof_wasi_stderr(wprof_wasi_t*, size_t limit);
WASM_API_EXTERN void wprof_pipe_contents(const wprof_pipe_t*, own wasm_byte_vec_t* out);
WASM_API_EXTERN void wprof_pipe_delete(own wprof_pipe_t*);
// Gives the programs of a store their system interface, in place of any before.
WASM_API_EXTERN void wprof_store_set_wasi(wasm_store_t*, own wprof_wasi_t*);
// A function of WASI as an import, by the names of module and function. NULL: WASI has no such function, or the store has
// no interface yet.
WASM_API_EXTERN own wasm_extern_t* wprof_wasi_import(
  wasm_store_t*, const wasm_name_t* module, const wasm_name_t* name, own wasm_message_t* error);

// What a trap is; WPROF_TRAP_OTHER for what the host has made one of.
enum wprof_trap_enum {
  WPROF_TRAP_OTHER = -1,
  WPROF_TRAP_STACK_OVERFLOW,
  WPROF_TRAP_MEMORY_OUT_OF_BOUNDS,
  WPROF_TRAP_TABLE_OUT_OF_BOUNDS,
  WPROF_TRAP_INDIRECT_CALL_TO_NULL,
  WPROF_TRAP_BAD_SIGNATURE,
  WPROF_TRAP_INTEGER_OVERFLOW,
  WPROF_TRAP_INTEGER_DIVISION_BY_ZERO,
  WPROF_TRAP_BAD_CONVERSION_TO_INTEGER,
  WPROF_TRAP_UNREACHABLE_CODE_REACHED,
  WPROF_TRAP_INTERRUPT,
  WPROF_TRAP_DEADLINE,
  WPROF_TRAP_OUT_OF_BUDGET,
  WPROF_TRAP_OUT_OF_FUEL,
  WPROF_TRAP_NULL_REFERENCE,
  WPROF_TRAP_UNALIGNED_ATOMIC,
  WPROF_TRAP_EXPECTED_SHARED_MEMORY,
  WPROF_TRAP_CAST_FAILURE,
  WPROF_TRAP_ARRAY_OUT_OF_BOUNDS,
  WPROF_TRAP_GC_OUT_OF_MEMORY,
  WPROF_TRAP_STRING_OUT_OF_BOUNDS,
  WPROF_TRAP_BAD_CODE_POINT,
};
WASM_API_EXTERN int32_t wprof_trap_code(const wasm_trap_t*);
// Whether the program has ended itself; with what code then.
WASM_API_EXTERN bool wprof_trap_exit_code(const wasm_trap_t*, int32_t* out);

// A core dump of a trap in wasm code, a file for debuggers: its frames, and the state that its store has now. False: the trap did
// not come up in wasm code.
WASM_API_EXTERN bool wprof_trap_core_dump(
  const wasm_trap_t*, const wasm_name_t* program, own wasm_byte_vec_t* out, own wasm_message_t* error);

// Fuel, where it is consumed. A store begins with none.
WASM_API_EXTERN bool wprof_store_set_fuel(wasm_store_t*, uint64_t, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_store_get_fuel(wasm_store_t*, uint64_t* out, own wasm_message_t* error);
// Events of a counted kind in all wasm code of the store so far. The budget is for so many more of them.
WASM_API_EXTERN bool wprof_store_event_count(
  wasm_store_t*, const wasm_name_t* kind, uint64_t* out, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_store_set_budget(
  wasm_store_t*, const wasm_name_t* kind, uint64_t more, own wasm_message_t* error);
// Wasm code of the store ends soon after so many milliseconds from now; 0: it does not any more.
WASM_API_EXTERN bool wprof_store_set_deadline(wasm_store_t*, uint64_t milliseconds, own wasm_message_t* error);
// Limits of each memory and table that is made from now on.
WASM_API_EXTERN void wprof_store_limit(wasm_store_t*, uint64_t memory_bytes, uint64_t table_elements);
// How many of these there may be in the store. At first there is no such limit.
WASM_API_EXTERN void wprof_store_limit_counts(wasm_store_t*, size_t instances, size_t memories, size_t tables);
// Frees objects and foreign references that nothing refers to. Happens by itself from time to time.
WASM_API_EXTERN void wprof_store_gc(wasm_store_t*);

// Ends wasm code of a store from another thread, or from a signal handler.
typedef struct wprof_interrupt_handle_t wprof_interrupt_handle_t;
WASM_API_EXTERN own wprof_interrupt_handle_t* wprof_store_interrupt_handle(wasm_store_t*);
WASM_API_EXTERN void wprof_interrupt_handle_interrupt(const wprof_interrupt_handle_t*);
WASM_API_EXTERN void wprof_interrupt_handle_delete(own wprof_interrupt_handle_t*);

// Profiles. Of what an instance has executed so far.
WASM_API_EXTERN own wprof_profile_t* wprof_instance_profile(const wasm_instance_t*, own wasm_message_t* error);
WASM_API_EXTERN void wprof_profile_delete(own wprof_profile_t*);
// Adds another profile of the same module and kind. False: it is of another one, and nothing is added.
WASM_API_EXTERN bool wprof_profile_merge(wprof_profile_t*, const wprof_profile_t*, own wasm_message_t* error);
// Files of profiles, as the command `wprof` reads and writes them.
WASM_API_EXTERN own wprof_profile_t* wprof_profile_read(const wasm_name_t* file, own wasm_message_t* error);
WASM_API_EXTERN bool wprof_profile_write(const wprof_profile_t*, const wasm_name_t* file, own wasm_message_t* error);
WASM_API_EXTERN own wprof_profile_t* wprof_profile_from_bytes(const wasm_byte_vec_t*, own wasm_message_t* error);

// The formats of other tools.
typedef uint8_t wprof_format_t;
enum wprof_format_enum {
  WPROF_FORMAT_FILE,        // what wprof_profile_write writes
  WPROF_FORMAT_FOLDED,      // stacks as lines of text
  WPROF_FORMAT_PPROF,       // for pprof
  WPROF_FORMAT_FLAMEGRAPH,  // an image, SVG
  WPROF_FORMAT_JSON,        // everything, for programs
};
WASM_API_EXTERN bool wprof_profile_export(
  const wprof_profile_t*, wprof_format_t, own wasm_byte_vec_t* out, own wasm_message_t* error);

// As `wprof export --to`, by the names of its formats: folded, flamegraph, speedscope, pprof, firefox, chrome, cpuprofile,
// callgrind, lcov, cobertura, csv, json; and html, the page that `wprof report --html` writes. With the profile's module there are
// source lines and inlined functions; lcov and cobertura need it, and a profile that counts everything. NULL: without a module.
WASM_API_EXTERN bool wprof_profile_export_as(
  const wprof_profile_t*, const wasm_module_t*, const wasm_name_t* format, own wasm_byte_vec_t* out,
  own wasm_message_t* error);

// Totals, and functions by their number in the profile, from 0.
WASM_API_EXTERN uint64_t wprof_profile_instructions(const wprof_profile_t*);
WASM_API_EXTERN uint64_t wprof_profile_calls(const wprof_profile_t*);
// Sampled processor time in nanoseconds, and the number of samples; 0 without wprof_config_sample_time.
WASM_API_EXTERN uint64_t wprof_profile_time(const wprof_profile_t*);
WASM_API_EXTERN uint64_t wprof_profile_samples(const wprof_profile_t*);
WASM_API_EXTERN size_t wprof_profile_functions(const wprof_profile_t*);
WASM_API_EXTERN uint32_t wprof_profile_function_index(const wprof_profile_t*, size_t number);
WASM_API_EXTERN void wprof_profile_function_name(
  const wprof_profile_t*, size_t number, own wasm_message_t* out);
WASM_API_EXTERN uint64_t wprof_profile_function_calls(const wprof_profile_t*, size_t number);
WASM_API_EXTERN uint64_t wprof_profile_function_instructions(const wprof_profile_t*, size_t number);
// In the function itself, and with all that it calls.
WASM_API_EXTERN uint64_t wprof_profile_function_own_time(const wprof_profile_t*, size_t number);
WASM_API_EXTERN uint64_t wprof_profile_function_time(const wprof_profile_t*, size_t number);

#undef own

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WPROF_H
