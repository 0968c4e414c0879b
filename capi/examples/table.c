// Tables of functions: of wasm code's, and of C's.

#include "example.h"

static wasm_trap_t* negate(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  results->data[0] = (wasm_val_t)WASM_I32_VAL(-args->data[0].of.i32);
  return NULL;
}

static bool traps(const wasm_func_t* func, int32_t a, int32_t b) {
  wasm_val_t numbers[2] = {WASM_I32_VAL(a), WASM_I32_VAL(b)}, values[1];
  wasm_val_vec_t args = WASM_ARRAY_VEC(numbers), results = WASM_ARRAY_VEC(values);
  wasm_trap_t* trap = wasm_func_call(func, &args, &results);
  wasm_trap_delete(trap);
  return trap != NULL;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_extern_vec_t imports = WASM_EMPTY_VEC, exports;
  wasm_instance_t* instance = instantiate(store, "table.wasm", &imports);
  wasm_instance_exports(instance, &exports);
  wasm_table_t* table = wasm_extern_as_table(exports.data[0]);
  wasm_func_t* indirect = wasm_extern_as_func(exports.data[1]);
  wasm_func_t* f = wasm_extern_as_func(exports.data[2]);
  wasm_func_t* g = wasm_extern_as_func(exports.data[3]);
  wasm_functype_t* type = wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_i32());
  wasm_func_t* h = wasm_func_new(store, type, negate);
  wasm_functype_delete(type);

  CHECK(wasm_table_size(table) == 2);
  CHECK(wasm_table_get(table, 0) == NULL && wasm_table_get(table, 100) == NULL);
  wasm_ref_t* second = wasm_table_get(table, 1);
  CHECK(second != NULL && wasm_ref_same(second, wasm_func_as_ref(f)));
  CHECK(wasm_ref_as_func(second) != NULL && wasm_ref_as_table(second) == NULL);
  wasm_ref_delete(second);
  CHECK(traps(indirect, 0, 0) && call(indirect, NUMBERS(7, 1)) == 7 && traps(indirect, 0, 2));

  CHECK(wasm_table_set(table, 0, wasm_func_as_ref(g)) && wasm_table_set(table, 1, NULL));
  CHECK(!wasm_table_set(table, 2, wasm_func_as_ref(f)));
  CHECK(call(indirect, NUMBERS(7, 0)) == 666 && traps(indirect, 0, 1));

  CHECK(wasm_table_grow(table, 5, NULL) && wasm_table_size(table) == 7);
  CHECK(wasm_table_set(table, 3, wasm_func_as_ref(h)) && call(indirect, NUMBERS(9, 3)) == -9);
  CHECK(wasm_table_grow(table, 3, wasm_func_as_ref(f)) && call(indirect, NUMBERS(5, 9)) == 5);
  CHECK(!wasm_table_grow(table, 1, NULL) && wasm_table_size(table) == 10);

  wasm_limits_t limits = {5, 5};
  wasm_tabletype_t* own_type = wasm_tabletype_new(wasm_valtype_new_funcref(), &limits);
  wasm_table_t* own = wasm_table_new(store, own_type, NULL);
  CHECK(own != NULL && wasm_table_size(own) == 5 && !wasm_table_grow(own, 1, NULL));
  wasm_tabletype_delete(own_type);
  wasm_table_delete(own);
  wasm_func_delete(h);
  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  printf("tables are shared\n");
  return 0;
}
