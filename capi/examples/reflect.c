// Types of what a module imports and exports, and of what an instance has.

#include "example.h"
#include "wprof.h"

static void print_valtype(const wasm_valtype_t* type) {
  static const char* const numbers[] = {"i32", "i64", "f32", "f64"};
  wasm_valkind_t kind = wasm_valtype_kind(type);
  CHECK(wasm_valtype_is_num(type) == (kind < 4));
  printf("%s", kind < 4 ? numbers[kind] : kind == WASM_EXTERNREF ? "externref" : "funcref");
}

static void print_limits(const wasm_limits_t* limits) {
  printf(" %" PRIu32, limits->min);
  if (limits->max != wasm_limits_max_default) printf(" %" PRIu32, limits->max);
}

static void print_type(const wasm_externtype_t* type) {
  switch (wasm_externtype_kind(type)) {
    case WASM_EXTERN_FUNC: {
      const wasm_functype_t* func = wasm_externtype_as_functype_const(type);
      const wasm_valtype_vec_t *params = wasm_functype_params(func), *results = wasm_functype_results(func);
      printf("func");
      for (size_t i = 0; i < params->size; ++i) printf(" "), print_valtype(params->data[i]);
      printf(" ->");
      for (size_t i = 0; i < results->size; ++i) printf(" "), print_valtype(results->data[i]);
      break;
    }
    case WASM_EXTERN_GLOBAL: {
      const wasm_globaltype_t* global = wasm_externtype_as_globaltype_const(type);
      printf("global %s ", wasm_globaltype_mutability(global) == WASM_VAR ? "var" : "const");
      print_valtype(wasm_globaltype_content(global));
      break;
    }
    case WASM_EXTERN_TABLE: {
      const wasm_tabletype_t* table = wasm_externtype_as_tabletype_const(type);
      printf("table");
      print_limits(wasm_tabletype_limits(table));
      printf(" ");
      print_valtype(wasm_tabletype_element(table));
      break;
    }
    case WASM_EXTERN_MEMORY:
      printf("memory");
      print_limits(wasm_memorytype_limits(wasm_externtype_as_memorytype_const(type)));
      break;
    default:
      CHECK(wasm_externtype_kind(type) == WPROF_EXTERN_OTHER);
      printf("other");
  }
  printf("\n");
}

static void print_name(const wasm_name_t* name) {
  printf("%.*s ", (int)name->size, name->data);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = load(store, "reflect.wasm");
  wasm_importtype_vec_t imports;
  wasm_module_imports(module, &imports);
  for (size_t i = 0; i < imports.size; ++i) {
    print_name(wasm_importtype_module(imports.data[i]));
    print_name(wasm_importtype_name(imports.data[i]));
    print_type(wasm_importtype_type(imports.data[i]));
  }
  wasm_exporttype_vec_t exports;
  wasm_module_exports(module, &exports);
  wasm_exporttype_vec_t copies;
  wasm_exporttype_vec_copy(&copies, &exports);
  wasm_exporttype_vec_delete(&exports);
  for (size_t i = 0; i < copies.size; ++i) {
    print_name(wasm_exporttype_name(copies.data[i]));
    print_type(wasm_exporttype_type(copies.data[i]));
  }
  // A function of the type that is imported; and one of a type that has more of it.
  const wasm_externtype_t* type = wasm_importtype_type(imports.data[0]);
  CHECK(wasm_externtype_as_globaltype_const(type) == NULL);
  wasm_trap_t* trap = NULL;
  wasm_extern_vec_t none = WASM_EMPTY_VEC;
  CHECK(wasm_instance_new(store, module, &none, &trap) == NULL && trap != NULL);
  print_trap(trap);
  wasm_trap_delete(trap);
  wasm_exporttype_vec_delete(&copies);
  wasm_importtype_vec_delete(&imports);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
