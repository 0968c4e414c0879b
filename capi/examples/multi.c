// Functions with several results.

#include "example.h"

static wasm_trap_t* turn(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  CHECK(args->size == 4 && results->size == 4);
  for (size_t i = 0; i < 4; ++i) {
    wasm_val_copy(&results->data[i], &args->data[3 - i]);
  }
  return NULL;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_valtype_t* types[4] = {
    wasm_valtype_new_i32(), wasm_valtype_new_i64(), wasm_valtype_new_f32(), wasm_valtype_new_f64()
  };
  wasm_valtype_t* turned[4];
  for (size_t i = 0; i < 4; ++i) turned[i] = wasm_valtype_copy(types[3 - i]);
  wasm_valtype_vec_t params, returned;
  wasm_valtype_vec_new(&params, 4, types);
  wasm_valtype_vec_new(&returned, 4, turned);
  wasm_functype_t* type = wasm_functype_new(&params, &returned);
  wasm_func_t* func = wasm_func_new(store, type, turn);
  wasm_functype_delete(type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported), exports;
  wasm_instance_t* instance = instantiate(store, "multi.wasm", &imports);
  wasm_instance_exports(instance, &exports);
  wasm_func_t* run = wasm_extern_as_func(exports.data[0]);
  CHECK(wasm_func_param_arity(run) == 4 && wasm_func_result_arity(run) == 4);
  wasm_val_t given[4] = {WASM_I32_VAL(1), WASM_I64_VAL(2), WASM_F32_VAL(3), WASM_F64_VAL(4)}, values[4];
  wasm_val_vec_t args = WASM_ARRAY_VEC(given), results = WASM_ARRAY_VEC(values), few = {3, values};
  CHECK(wasm_func_call(run, &args, &results) == NULL);
  printf("%g %g %" PRIi64 " %" PRIi32 "\n", values[0].of.f64, values[1].of.f32, values[2].of.i64, values[3].of.i32);
  wasm_trap_t* trap = wasm_func_call(run, &args, &few);
  CHECK(trap != NULL);
  wasm_trap_delete(trap);
  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_func_delete(func);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
