// Traps of C's and of wasm code's, with where they came up.

#include "example.h"
#include "wprof.h"

static wasm_trap_t* fail(void* store, const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  (void)args, (void)results;
  wasm_message_t message;
  wasm_name_new_from_string_nt(&message, "C has had enough");
  wasm_trap_t* trap = wasm_trap_new(store, &message);
  wasm_name_delete(&message);
  return trap;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_functype_t* type = wasm_functype_new_0_1(wasm_valtype_new_i32());
  wasm_func_t* func = wasm_func_new_with_env(store, type, fail, store, NULL);
  wasm_functype_delete(type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported);
  wasm_instance_t* instance = instantiate(store, "trap.wasm", &imports);
  wasm_extern_vec_t exports;
  wasm_instance_exports(instance, &exports);
  const int32_t codes[] = {WPROF_TRAP_OTHER, WPROF_TRAP_UNREACHABLE_CODE_REACHED};
  for (size_t i = 0; i < exports.size; ++i) {
    wasm_val_t values[1] = {WASM_INIT_VAL};
    wasm_val_vec_t args = WASM_EMPTY_VEC, results = WASM_ARRAY_VEC(values);
    wasm_trap_t* trap = wasm_func_call(wasm_extern_as_func(exports.data[i]), &args, &results);
    CHECK(trap != NULL && wprof_trap_code(trap) == codes[i] && !wprof_trap_exit_code(trap, NULL));
    print_trap(trap);
    wasm_trap_delete(trap);
  }
  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_func_delete(func);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
