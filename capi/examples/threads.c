// One module for many threads, each with a store of its own.

#include <pthread.h>

#include "example.h"

enum { THREADS = 8, ROUNDS = 20 };

static wasm_engine_t* engine;
static wasm_shared_module_t* shared;

static wasm_trap_t* hello(void* env, const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  (void)results;
  *(int32_t*)env += args->data[0].of.i32;
  return NULL;
}

static void* run(void* of) {
  int32_t* number = of;
  int32_t sum = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    wasm_store_t* store = wasm_store_new(engine);
    wasm_module_t* module = wasm_module_obtain(store, shared);
    CHECK(module != NULL);
    wasm_functype_t* type = wasm_functype_new_1_0(wasm_valtype_new_i32());
    wasm_func_t* func = wasm_func_new_with_env(store, type, hello, &sum, NULL);
    wasm_functype_delete(type);
    wasm_globaltype_t* global_type = wasm_globaltype_new(wasm_valtype_new_i32(), WASM_CONST);
    wasm_val_t value = WASM_I32_VAL(*number);
    wasm_global_t* global = wasm_global_new(store, global_type, &value);
    wasm_globaltype_delete(global_type);
    wasm_extern_t* imported[] = {wasm_func_as_extern(func), wasm_global_as_extern(global)};
    wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported), exports;
    wasm_instance_t* instance = wasm_instance_new(store, module, &imports, NULL);
    CHECK(instance != NULL);
    wasm_instance_exports(instance, &exports);
    call(wasm_extern_as_func(exports.data[0]), 0, NULL);
    wasm_extern_vec_delete(&exports);
    wasm_instance_delete(instance);
    wasm_func_delete(func);
    wasm_global_delete(global);
    wasm_module_delete(module);
    wasm_store_delete(store);
  }
  *number = sum;
  return NULL;
}

int main(void) {
  engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = load(store, "threads.wasm");
  shared = wasm_module_share(module);
  wasm_module_delete(module);
  wasm_store_delete(store);
  pthread_t threads[THREADS];
  int32_t numbers[THREADS];
  for (int32_t i = 0; i < THREADS; ++i) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0);
  }
  for (int32_t i = 0; i < THREADS; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    printf("thread %" PRIi32 ": %" PRIi32 "\n", i, numbers[i]);
  }
  wasm_shared_module_delete(shared);
  wasm_engine_delete(engine);
  return 0;
}
