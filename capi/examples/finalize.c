// What C attaches to things is finalized with their store, or when something else is attached.

#include "example.h"

enum { INSTANCES = 1000 };

static int alive = 0;

static void finalize(void* info) {
  CHECK(info != NULL);
  --alive;
}

static void run_in(wasm_store_t* store) {
  wasm_module_t* module = load(store, "finalize.wasm");
  wasm_module_set_host_info_with_finalizer(module, module, finalize);
  ++alive;
  for (int i = 0; i < INSTANCES; ++i) {
    wasm_extern_vec_t imports = WASM_EMPTY_VEC;
    wasm_instance_t* instance = wasm_instance_new(store, module, &imports, NULL);
    CHECK(instance != NULL && wasm_instance_get_host_info(instance) == NULL);
    wasm_instance_set_host_info_with_finalizer(instance, &alive, finalize);
    CHECK(wasm_instance_get_host_info(instance) == &alive);
    wasm_instance_delete(instance);
    ++alive;
  }
  wasm_module_delete(module);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t *one = wasm_store_new(engine), *two = wasm_store_new(engine);
  run_in(one);
  run_in(two);
  printf("%d alive\n", alive);
  wasm_store_delete(two);
  printf("%d alive\n", alive);
  run_in(one);
  wasm_store_delete(one);
  printf("%d alive\n", alive);
  wasm_engine_delete(engine);
  return 0;
}
