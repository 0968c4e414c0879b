// A memory that C and wasm code share.

#include "example.h"
#include "wprof.h"

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_extern_vec_t imports = WASM_EMPTY_VEC, exports;
  wasm_instance_t* instance = instantiate(store, "memory.wasm", &imports);
  wasm_instance_exports(instance, &exports);
  wasm_memory_t* memory = wasm_extern_as_memory(exports.data[0]);
  wasm_func_t* size = wasm_extern_as_func(exports.data[1]);
  wasm_func_t* load8 = wasm_extern_as_func(exports.data[2]);
  wasm_func_t* store8 = wasm_extern_as_func(exports.data[3]);

  CHECK(wasm_memory_size(memory) == 2 && wasm_memory_data_size(memory) == 2 * MEMORY_PAGE_SIZE);
  byte_t* data = wasm_memory_data(memory);
  CHECK(data[0] == 0 && data[0x1000] == 1 && data[0x1003] == 4);
  CHECK(call(size, 0, NULL) == 2 && call(load8, NUMBERS(0x1002)) == 3);
  data[0x1002] = 6;
  call(store8, NUMBERS(0x1003, 5));
  CHECK(call(load8, NUMBERS(0x1002)) == 6 && data[0x1003] == 5);

  wasm_val_t beyond[1] = {WASM_I32_VAL(0x20000)}, values[1];
  wasm_val_vec_t args = WASM_ARRAY_VEC(beyond), results = WASM_ARRAY_VEC(values);
  wasm_trap_t* trap = wasm_func_call(load8, &args, &results);
  CHECK(trap != NULL && wprof_trap_code(trap) == WPROF_TRAP_MEMORY_OUT_OF_BOUNDS);
  wasm_trap_delete(trap);
  CHECK(wasm_memory_grow(memory, 1) && wasm_memory_size(memory) == 3 && call(load8, NUMBERS(0x20000)) == 0);
  CHECK(!wasm_memory_grow(memory, 1) && wasm_memory_grow(memory, 0));

  wasm_limits_t limits = {5, 5};
  wasm_memorytype_t* type = wasm_memorytype_new(&limits);
  wasm_memory_t* own = wasm_memory_new(store, type);
  CHECK(own != NULL && wasm_memory_size(own) == 5 && !wasm_memory_grow(own, 1));
  wasm_memory_delete(own);
  // Beyond a limit there is none.
  wprof_store_limit(store, 4 * MEMORY_PAGE_SIZE, 10);
  CHECK(wasm_memory_new(store, type) == NULL);
  wasm_memorytype_delete(type);

  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  printf("memories are shared\n");
  return 0;
}
