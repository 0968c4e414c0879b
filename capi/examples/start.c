// A start function that traps.

#include "example.h"

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = load(store, "start.wasm");
  wasm_extern_vec_t imports = WASM_EMPTY_VEC;
  wasm_trap_t* trap = NULL;
  CHECK(wasm_instance_new(store, module, &imports, &trap) == NULL && trap != NULL);
  print_trap(trap);
  wasm_trap_delete(trap);
  CHECK(wasm_instance_new(store, module, &imports, NULL) == NULL);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
