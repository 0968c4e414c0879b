// What wasm code has executed, exactly; fuel, and a deadline.

#include "example.h"
#include "wprof.h"

static wasm_trap_t* nothing(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  (void)args, (void)results;
  return NULL;
}

// The trap that a function without arguments ends by.
static int32_t ends(const wasm_func_t* func) {
  wasm_val_vec_t none = WASM_EMPTY_VEC, nothing_else = WASM_EMPTY_VEC;
  wasm_trap_t* trap = wasm_func_call(func, &none, &nothing_else);
  CHECK(trap != NULL);
  int32_t code = wprof_trap_code(trap);
  wasm_trap_delete(trap);
  return code;
}

int main(void) {
  wasm_message_t error;
  wasm_config_t* config = wasm_config_new();
  CHECK(!wprof_config_profiling(config, 77, &error));
  printf("%s\n", error.data);
  wasm_name_delete(&error);
  CHECK(wprof_config_profiling(config, WPROF_EXACT_PATHS, NULL));
  CHECK(wprof_config_strategy(config, WPROF_BASELINE, NULL));
  wprof_config_count_contexts(config, true);
  wprof_config_interruptible(config, true);
  wprof_config_consume_fuel(config, true);
  wasm_engine_t* engine = wprof_engine_new(config, &error);
  CHECK(engine != NULL);
  wasm_store_t* store = wasm_store_new(engine);
  CHECK(wprof_store_set_fuel(store, 100000, NULL));
  wasm_functype_t* type = wasm_functype_new_0_0();
  wasm_func_t* func = wasm_func_new(store, type, nothing);
  wasm_functype_delete(type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported), exports;
  wasm_instance_t* instance = instantiate(store, "profile.wasm", &imports);
  wasm_instance_exports(instance, &exports);
  printf("sum %" PRIi32 "\n", call(wasm_extern_as_func(exports.data[0]), NUMBERS(10)));

  uint64_t fuel;
  CHECK(wprof_store_get_fuel(store, &fuel, NULL));
  printf("%" PRIu64 " units of fuel\n", 100000 - fuel);
  wprof_profile_t* profile = wprof_instance_profile(instance, &error);
  CHECK(profile != NULL);
  for (size_t i = 0; i < wprof_profile_functions(profile); ++i) {
    wasm_message_t name;
    wprof_profile_function_name(profile, i, &name);
    printf("%s: %" PRIu64 " calls, %" PRIu64 " instructions\n", name.data,
      wprof_profile_function_calls(profile, i), wprof_profile_function_instructions(profile, i));
    wasm_name_delete(&name);
  }
  wasm_byte_vec_t folded;
  CHECK(wprof_profile_export(profile, WPROF_FORMAT_FOLDED, &folded, NULL));
  printf("%.*s", (int)folded.size, folded.data);
  wasm_byte_vec_delete(&folded);

  // A file holds the same, and so do bytes.
  wasm_name_t file;
  wasm_name_new_from_string(&file, "c.wprof");
  CHECK(wprof_profile_write(profile, &file, NULL));
  wprof_profile_t* read = wprof_profile_read(&file, NULL);
  CHECK(read != NULL && wprof_profile_instructions(read) == wprof_profile_instructions(profile));
  wprof_profile_delete(read);
  wasm_name_delete(&file);
  wasm_byte_vec_t bytes;
  CHECK(wprof_profile_export(profile, WPROF_FORMAT_FILE, &bytes, NULL));
  read = wprof_profile_from_bytes(&bytes, NULL);
  CHECK(read != NULL && wprof_profile_calls(read) == wprof_profile_calls(profile));
  wprof_profile_delete(read);
  wasm_byte_vec_t cut = {10, bytes.data};
  CHECK(wprof_profile_from_bytes(&cut, &error) == NULL && error.size > 1);
  wasm_name_delete(&error);
  wasm_byte_vec_delete(&bytes);
  for (wprof_format_t format = WPROF_FORMAT_PPROF; format <= WPROF_FORMAT_FLAMEGRAPH; ++format) {
    wasm_byte_vec_t exported;
    CHECK(wprof_profile_export(profile, format, &exported, NULL) && exported.size > 100);
    wasm_byte_vec_delete(&exported);
  }
  wprof_profile_delete(profile);

  const wasm_func_t* forever = wasm_extern_as_func(exports.data[1]);
  CHECK(wprof_store_set_fuel(store, 1000, NULL) && ends(forever) == WPROF_TRAP_OUT_OF_FUEL);
  CHECK(wprof_store_set_fuel(store, UINT64_MAX, NULL) && wprof_store_set_deadline(store, 10, NULL));
  CHECK(ends(forever) == WPROF_TRAP_DEADLINE);
  wprof_interrupt_handle_t* handle = wprof_store_interrupt_handle(store);
  wprof_interrupt_handle_interrupt(handle);
  CHECK(ends(forever) == WPROF_TRAP_INTERRUPT);
  wprof_interrupt_handle_delete(handle);

  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_func_delete(func);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
