// Globals that C and wasm code share.

#include "example.h"

static wasm_global_t* new_global(wasm_store_t* store, wasm_valtype_t* content, bool var, wasm_val_t value) {
  wasm_globaltype_t* type = wasm_globaltype_new(content, var ? WASM_VAR : WASM_CONST);
  wasm_global_t* global = wasm_global_new(store, type, &value);
  CHECK(global != NULL);
  wasm_globaltype_delete(type);
  return global;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_global_t* constant = new_global(store, wasm_valtype_new_f32(), false, (wasm_val_t)WASM_F32_VAL(1.5f));
  wasm_global_t* variable = new_global(store, wasm_valtype_new_i64(), true, (wasm_val_t)WASM_I64_VAL(2));
  wasm_extern_t* imported[] = {wasm_global_as_extern(constant), wasm_global_as_extern(variable)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported);
  wasm_instance_t* instance = instantiate(store, "global.wasm", &imports);
  wasm_extern_vec_t exports;
  wasm_instance_exports(instance, &exports);

  wasm_global_t* own = wasm_extern_as_global(exports.data[0]);
  CHECK(own != NULL && wasm_extern_as_func(exports.data[0]) == NULL);
  wasm_val_t value;
  wasm_global_get(own, &value);
  CHECK(value.kind == WASM_I32 && value.of.i32 == 5);
  wasm_val_t seven = WASM_I32_VAL(7), wrong = WASM_F64_VAL(7);
  wasm_global_set(own, &seven);
  wasm_global_set(own, &wrong);
  wasm_global_get(own, &value);
  CHECK(value.of.i32 == 7);
  wasm_global_t* copy = wasm_global_copy(own);
  CHECK(wasm_global_same(copy, own) && !wasm_global_same(own, variable));
  wasm_global_delete(copy);

  wasm_val_t results_of[1];
  wasm_val_vec_t args = WASM_EMPTY_VEC, results = WASM_ARRAY_VEC(results_of);
  CHECK(wasm_func_call(wasm_extern_as_func(exports.data[1]), &args, &results) == NULL);
  CHECK(results_of[0].kind == WASM_F32 && results_of[0].of.f32 == 1.5f);
  wasm_val_t number[1] = {WASM_I64_VAL(-3)};
  wasm_val_vec_t one = WASM_ARRAY_VEC(number), nothing = WASM_EMPTY_VEC;
  CHECK(wasm_func_call(wasm_extern_as_func(exports.data[3]), &one, &nothing) == NULL);
  wasm_global_get(variable, &value);
  CHECK(value.kind == WASM_I64 && value.of.i64 == -3);
  number[0].of.i64 = 4;
  wasm_global_set(variable, &number[0]);
  CHECK(wasm_func_call(wasm_extern_as_func(exports.data[2]), &args, &results) == NULL);
  CHECK(results_of[0].of.i64 == 4);

  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_global_delete(constant);
  wasm_global_delete(variable);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  printf("globals are shared\n");
  return 0;
}
