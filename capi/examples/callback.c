// Functions with arguments, with what C gives to them, and that call wasm code again.

#include "example.h"

static wasm_trap_t* print(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  printf("got %" PRIi32 "\n", args->data[0].of.i32);
  wasm_val_copy(&results->data[0], &args->data[0]);
  return NULL;
}

struct env {
  int32_t number;
  wasm_func_t* twice;
};

static wasm_trap_t* closure(void* data, const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  struct env* env = data;
  CHECK(args->size == 0);
  int32_t doubled = call(env->twice, NUMBERS(env->number));
  results->data[0] = (wasm_val_t)WASM_I32_VAL(doubled);
  return NULL;
}

static void finalize(void* data) {
  printf("finalized with %" PRIi32 "\n", ((struct env*)data)->number);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  struct env env = {21, NULL};
  wasm_functype_t* print_type = wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_i32());
  wasm_functype_t* closure_type = wasm_functype_new_0_1(wasm_valtype_new_i32());
  wasm_func_t* print_func = wasm_func_new(store, print_type, print);
  wasm_func_t* closure_func = wasm_func_new_with_env(store, closure_type, closure, &env, finalize);
  wasm_functype_delete(print_type);
  wasm_functype_delete(closure_type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(print_func), wasm_func_as_extern(closure_func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported);
  wasm_instance_t* instance = instantiate(store, "callback.wasm", &imports);
  wasm_extern_vec_t exports;
  wasm_instance_exports(instance, &exports);
  env.twice = wasm_extern_as_func(exports.data[1]);
  printf("result %" PRIi32 "\n", call(wasm_extern_as_func(exports.data[0]), NUMBERS(3, 4)));
  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_func_delete(print_func);
  wasm_func_delete(closure_func);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
