// A module that is compiled ahead.

#include "example.h"
#include "wprof.h"

static wasm_trap_t* hello(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  (void)results;
  printf("hello %" PRIi32 "\n", args->data[0].of.i32);
  return NULL;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = load(store, "serialize.wasm");
  wasm_byte_vec_t compiled;
  wasm_module_serialize(module, &compiled);
  CHECK(compiled.size > 0);
  wasm_module_delete(module);
  module = wasm_module_deserialize(store, &compiled);
  CHECK(module != NULL);
  // What is damaged is refused, with a reason.
  compiled.data[compiled.size / 2] ^= 1;
  wasm_message_t error;
  CHECK(wprof_module_deserialize(store, &compiled, &error) == NULL && error.size > 1);
  wasm_name_delete(&error);
  wasm_byte_vec_delete(&compiled);

  wasm_functype_t* type = wasm_functype_new_1_0(wasm_valtype_new_i32());
  wasm_func_t* func = wasm_func_new(store, type, hello);
  wasm_functype_delete(type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported), exports;
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports, NULL);
  CHECK(instance != NULL);
  wasm_instance_exports(instance, &exports);
  call(wasm_extern_as_func(exports.data[0]), 0, NULL);
  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_func_delete(func);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
