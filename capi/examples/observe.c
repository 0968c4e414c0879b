// Bursts, events with a budget, sampled time, what an earlier profile is good for, core dumps, and profiles for other tools.

#include <string.h>

#include "example.h"
#include "wprof.h"

static wasm_trap_t* tick(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  (void)args, (void)results;
  return NULL;
}

static wasm_name_t name(const char* text) {
  wasm_name_t name;
  wasm_name_new_from_string(&name, text);
  return name;
}

// A store of an engine with these settings, and what an instance of the module exports in it.
typedef struct {
  wasm_engine_t* engine;
  wasm_store_t* store;
  wasm_module_t* module;
  wasm_instance_t* instance;
  wasm_extern_vec_t exports;
} program_t;

static program_t start(wasm_config_t* config) {
  program_t it;
  wasm_message_t error;
  it.engine = wprof_engine_new(config, &error);
  CHECK(it.engine != NULL);
  it.store = wasm_store_new(it.engine);
  it.module = load(it.store, "observe.wasm");
  wasm_functype_t* type = wasm_functype_new_0_0();
  wasm_func_t* func = wasm_func_new(it.store, type, tick);
  wasm_functype_delete(type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported);
  it.instance = wasm_instance_new(it.store, it.module, &imports, NULL);
  CHECK(it.instance != NULL);
  wasm_func_delete(func);
  wasm_instance_exports(it.instance, &it.exports);
  return it;
}

static void end(program_t* it) {
  wasm_extern_vec_delete(&it->exports);
  wasm_instance_delete(it->instance);
  wasm_module_delete(it->module);
  wasm_store_delete(it->store);
  wasm_engine_delete(it->engine);
}

static wasm_func_t* export(const program_t* it, size_t number) {
  return wasm_extern_as_func(it->exports.data[number]);
}

enum { WORK = 1, FAILS = 2, FOREVER = 3 };

// The profile of a program whose bursts never end.
static wprof_profile_t* seen_in_bursts(void) {
  wasm_config_t* config = wasm_config_new();
  wasm_message_t error;
  CHECK(!wprof_config_bursts(config, 0, 1, &error) && error.size > 1);
  wasm_name_delete(&error);
  CHECK(wprof_config_bursts(config, 1, UINT32_MAX, NULL));
  wprof_config_count_contexts(config, true);
  wprof_config_time_host_calls(config, true);
  program_t it = start(config);
  printf("in bursts %" PRIi32 "\n", call(export(&it, WORK), NUMBERS(1000)));
  wprof_profile_t* profile = wprof_instance_profile(it.instance, &error);
  CHECK(profile != NULL && wprof_profile_calls(profile) > 900 && wprof_profile_samples(profile) == 0);
  end(&it);
  return profile;
}

// Events, and the budget of a program that never ends by itself.
static void budget(void) {
  wasm_config_t* config = wasm_config_new();
  wasm_name_t kinds = name("instructions, stores"), unknown = name("instructions,nonsense");
  wasm_name_t stores = name("stores"), instructions = name("instructions");
  wasm_message_t error;
  CHECK(!wprof_config_count_events(config, &unknown, &error));
  CHECK(strncmp(error.data, "no kind of events is called `nonsense`", 38) == 0);
  wasm_name_delete(&error);
  CHECK(wprof_config_count_events(config, &kinds, NULL));
  wprof_config_budget(config, &instructions);
  program_t it = start(config);
  uint64_t count;
  CHECK(!wprof_store_event_count(it.store, &unknown, &count, &error));
  wasm_name_delete(&error);
  CHECK(!wprof_store_set_budget(it.store, &stores, 10, &error));
  wasm_name_delete(&error);
  CHECK(wprof_store_set_budget(it.store, &instructions, 100000, NULL));
  call(export(&it, WORK), NUMBERS(10));
  CHECK(wprof_store_event_count(it.store, &stores, &count, NULL));
  printf("%" PRIu64 " stores\n", count);
  wasm_val_vec_t none = WASM_EMPTY_VEC, nothing = WASM_EMPTY_VEC;
  wasm_trap_t* trap = wasm_func_call(export(&it, FOREVER), &none, &nothing);
  CHECK(trap != NULL && wprof_trap_code(trap) == WPROF_TRAP_OUT_OF_BUDGET);
  CHECK(wprof_store_event_count(it.store, &instructions, &count, NULL) && count >= 100000 && count < 101000);
  wasm_trap_delete(trap);
  end(&it);
  wasm_name_t* names[] = {&kinds, &unknown, &stores, &instructions};
  for (size_t i = 0; i < 4; ++i) wasm_name_delete(names[i]);
}

// The core dump of a trap: the state of the store is in it. And what programs of the store may have.
static void dump(void) {
  wasm_config_t* config = wasm_config_new();
  wprof_config_coredump_on_trap(config, true);
  program_t it = start(config);
  wasm_val_t address = WASM_I32_VAL(-1), values[1] = {WASM_INIT_VAL};
  wasm_val_vec_t args = {1, &address}, results = WASM_ARRAY_VEC(values);
  wasm_trap_t* trap = wasm_func_call(export(&it, FAILS), &args, &results);
  CHECK(trap != NULL && wprof_trap_code(trap) == WPROF_TRAP_MEMORY_OUT_OF_BOUNDS);
  wasm_name_t program = name("observe");
  wasm_byte_vec_t core;
  CHECK(wprof_trap_core_dump(trap, &program, &core, NULL) && memcmp(core.data, "\0asm", 4) == 0);
  bool has_stack = false, has_memory = false;
  for (size_t i = 0; i + 9 < core.size; ++i) {
    has_stack |= memcmp(core.data + i, "corestack", 9) == 0;
    has_memory |= memcmp(core.data + i, "eroc", 4) == 0;
  }
  CHECK(has_stack && has_memory);
  printf("a core dump\n");
  wasm_byte_vec_delete(&core);
  wasm_trap_delete(trap);
  // Programs of this store may use the network.
  wprof_wasi_t* wasi = wprof_wasi_new();
  wprof_wasi_inherit_network(wasi);
  wprof_store_set_wasi(it.store, wasi);
  wasm_name_t preview1 = name("wasi_snapshot_preview1"), accept = name("sock_accept");
  wasm_extern_t* import = wprof_wasi_import(it.store, &preview1, &accept, NULL);
  CHECK(import != NULL);
  wasm_extern_delete(import);
  wasm_name_delete(&preview1);
  wasm_name_delete(&accept);
  wasm_message_t message = name("of C"), error;
  trap = wasm_trap_new(it.store, &message);
  CHECK(!wprof_trap_core_dump(trap, &program, &core, &error) && core.size == 0);
  printf("%s\n", error.data);
  wasm_name_delete(&error);
  wasm_name_delete(&message);
  wasm_name_delete(&program);
  wasm_trap_delete(trap);
  end(&it);
}

// Every format that the command has. This module has no source lines, so there are none for lcov.
static void exported(const wprof_profile_t* profile, const wasm_module_t* module) {
  const char* formats[] = {"folded", "flamegraph", "speedscope", "pprof", "firefox", "chrome", "cpuprofile",
    "callgrind", "lcov", "cobertura", "csv", "json", "html"};
  for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); ++i) {
    wasm_name_t format = name(formats[i]);
    wasm_byte_vec_t bytes;
    wasm_message_t error;
    bool is_there = wprof_profile_export_as(profile, module, &format, &bytes, &error);
    printf("%s: %s\n", formats[i], is_there ? (bytes.size > 20 ? "written" : "empty") : error.data);
    if (!is_there) wasm_name_delete(&error);
    wasm_byte_vec_delete(&bytes);
    wasm_name_delete(&format);
  }
  wasm_name_t unknown = name("gif");
  wasm_byte_vec_t bytes;
  CHECK(!wprof_profile_export_as(profile, NULL, &unknown, &bytes, NULL) && bytes.size == 0);
  wasm_name_delete(&unknown);
}

int main(void) {
  wprof_profile_t* earlier = seen_in_bursts();
  budget();
  dump();

  // A run that an earlier one guides, all of whose branches and call targets are counted, and which is sampled.
  wasm_config_t* config = wasm_config_new();
  wasm_name_t folder = name("cache");
  CHECK(wprof_config_profiling(config, WPROF_EXACT_EDGES, NULL));
  wprof_config_count_call_targets(config, true);
  wprof_config_profile_use(config, earlier);
  wprof_config_sample_time(config, 10000);
  wprof_config_code_cache(config, &folder);
  wasm_name_delete(&folder);
  program_t it = start(config);
  wprof_profile_t* profile = NULL;
  // Processor time decides when there is a sample.
  do {
    wprof_profile_delete(profile);
    call(export(&it, WORK), NUMBERS(1000000));
    profile = wprof_instance_profile(it.instance, NULL);
    CHECK(profile != NULL);
  } while (wprof_profile_samples(profile) == 0);
  CHECK(wprof_profile_time(profile) > 0);
  uint64_t own = 0;
  for (size_t i = 0; i < wprof_profile_functions(profile); ++i) {
    CHECK(wprof_profile_function_own_time(profile, i) <= wprof_profile_function_time(profile, i));
    own += wprof_profile_function_own_time(profile, i);
  }
  CHECK(own <= wprof_profile_time(profile) && wprof_profile_function_time(profile, SIZE_MAX) == 0);
  exported(profile, it.module);
  wprof_profile_delete(profile);
  wprof_profile_delete(earlier);
  end(&it);
  return 0;
}
