// What wasm code holds for C, and cannot look into.

#include "example.h"
#include "wprof.h"

static int finalized = 0;

static void finalize(void* info) {
  CHECK(info != NULL);
  ++finalized;
}

static wasm_trap_t* identity(const wasm_val_vec_t* args, wasm_val_vec_t* results) {
  wasm_val_copy(&results->data[0], &args->data[0]);
  return NULL;
}

// Calls a function with up to two arguments, and gives the reference that it returns.
static wasm_ref_t* call_for_ref(const wasm_extern_t* func, size_t count, wasm_val_t a, wasm_val_t b) {
  wasm_val_t given[2] = {a, b}, values[1] = {WASM_INIT_VAL};
  wasm_val_vec_t args = {count, given}, results = {1, values};
  results.size = wasm_func_result_arity(wasm_extern_as_func_const(func));
  CHECK(wasm_func_call(wasm_extern_as_func_const(func), &args, &results) == NULL);
  return values[0].of.ref;
}

static void check(wasm_ref_t* actual, const wasm_ref_t* expected) {
  CHECK((actual == NULL) == (expected == NULL));
  CHECK(actual == NULL || wasm_ref_same(actual, expected));
  CHECK(actual == NULL || wasm_ref_get_host_info(actual) == wasm_ref_get_host_info(expected));
  wasm_ref_delete(actual);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_functype_t* type = wasm_functype_new_1_1(wasm_valtype_new_externref(), wasm_valtype_new_externref());
  wasm_func_t* func = wasm_func_new(store, type, identity);
  wasm_functype_delete(type);
  wasm_extern_t* imported[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t imports = WASM_ARRAY_VEC(imported), exports;
  wasm_instance_t* instance = instantiate(store, "hostref.wasm", &imports);
  wasm_instance_exports(instance, &exports);
  wasm_extern_t **of = exports.data;

  wasm_foreign_t *one = wasm_foreign_new(store), *two = wasm_foreign_new(store);
  wasm_foreign_set_host_info_with_finalizer(one, &one, finalize);
  wasm_foreign_set_host_info_with_finalizer(two, &two, finalize);
  CHECK(!wasm_foreign_same(one, two) && wasm_foreign_get_host_info(one) == &one);
  const wasm_val_t none = WASM_I32_VAL(0), null = WASM_REF_VAL(NULL);
  wasm_ref_t* refs[] = {wasm_foreign_as_ref(one), wasm_foreign_as_ref(two), NULL};
  for (size_t i = 0; i < 3; ++i) {
    wasm_val_t ref = WASM_REF_VAL(refs[i]), index = WASM_I32_VAL((int32_t)i);
    call_for_ref(of[2], 1, ref, none);
    check(call_for_ref(of[3], 0, none, none), refs[i]);
    wasm_val_t value;
    wasm_global_get(wasm_extern_as_global(of[0]), &value);
    check(value.of.ref, refs[i]);
    call_for_ref(of[4], 2, index, ref);
    check(call_for_ref(of[5], 1, index, none), refs[i]);
    check(wasm_table_get(wasm_extern_as_table(of[1]), (wasm_table_size_t)i), refs[i]);
    check(call_for_ref(of[6], 1, ref, none), refs[i]);
  }
  // A function is a reference of another kind.
  wasm_val_t a_func = {.kind = WASM_FUNCREF, .of = {.ref = wasm_func_as_ref(func)}};
  check(call_for_ref(of[7], 1, a_func, none), wasm_func_as_ref(func));
  wasm_val_t wrong[1] = {WASM_REF_VAL(wasm_func_as_ref(func))};
  wasm_val_vec_t args = WASM_ARRAY_VEC(wrong), results = WASM_EMPTY_VEC;
  wasm_trap_t* trap = wasm_func_call(wasm_extern_as_func(of[2]), &args, &results);
  CHECK(trap != NULL);
  print_trap(trap);
  wasm_trap_delete(trap);

  // What nobody holds goes.
  wasm_foreign_delete(one);
  wasm_foreign_delete(two);
  wprof_store_gc(store);
  CHECK(finalized == 0);
  for (int32_t i = 0; i < 2; ++i) {
    wasm_val_t index = WASM_I32_VAL(i);
    call_for_ref(of[4], 2, index, null);
  }
  wprof_store_gc(store);
  printf("%d finalized\n", finalized);

  wasm_extern_vec_delete(&exports);
  wasm_instance_delete(instance);
  wasm_func_delete(func);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  CHECK(finalized == 2);
  return 0;
}
