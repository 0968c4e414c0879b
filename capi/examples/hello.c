// Wasm code calls C.

#include "example.h"

static wasm_trap_t* hello(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  CHECK(args->size == 0 && results->size == 0);
  printf("hello\n");
  return NULL;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_functype_t* type = wasm_functype_new_0_0();
  wasm_func_t* func = wasm_func_new(store, type, hello);
  wasm_functype_delete(type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported);
  wasm_instance_t* instance = instantiate(store, "hello.wasm", &imports);
  wasm_func_delete(func);
  wasm_extern_vec_t exports;
  wasm_instance_exports(instance, &exports);
  wasm_instance_delete(instance);
  CHECK(exports.size == 1);
  call(wasm_extern_as_func(exports.data[0]), 0, NULL);
  wasm_extern_vec_delete(&exports);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
