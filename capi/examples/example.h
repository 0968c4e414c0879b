// What the examples have in common.

#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "wasm.h"

// Ends the program if something is not so.
#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

// The bytes of a file.
static inline wasm_byte_vec_t read_file(const char* name) {
  FILE* file = fopen(name, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  long size = ftell(file);
  CHECK(size >= 0);
  rewind(file);
  wasm_byte_vec_t bytes;
  wasm_byte_vec_new_uninitialized(&bytes, (size_t)size);
  CHECK(fread(bytes.data, 1, bytes.size, file) == bytes.size);
  fclose(file);
  return bytes;
}

// The module in a file.
static inline wasm_module_t* load(wasm_store_t* store, const char* name) {
  wasm_byte_vec_t bytes = read_file(name);
  CHECK(wasm_module_validate(store, &bytes));
  wasm_module_t* module = wasm_module_new(store, &bytes);
  CHECK(module != NULL);
  wasm_byte_vec_delete(&bytes);
  return module;
}

// An instance of the module in a file.
static inline wasm_instance_t* instantiate(wasm_store_t* store, const char* name, wasm_extern_vec_t* imports) {
  wasm_module_t* module = load(store, name);
  wasm_trap_t* trap = NULL;
  wasm_instance_t* instance = wasm_instance_new(store, module, imports, &trap);
  CHECK(instance != NULL && trap == NULL);
  wasm_module_delete(module);
  return instance;
}

// Calls a function that takes so many numbers and gives one, or none.
static inline int32_t call(const wasm_func_t* func, size_t count, const int32_t* numbers) {
  wasm_val_vec_t args;
  wasm_val_vec_new_uninitialized(&args, count);
  for (size_t i = 0; i < count; ++i) {
    args.data[i] = (wasm_val_t)WASM_I32_VAL(numbers[i]);
  }
  wasm_val_t values[1] = {WASM_I32_VAL(0)};
  wasm_val_vec_t results = {wasm_func_result_arity(func), values};
  wasm_trap_t* trap = wasm_func_call(func, &args, &results);
  CHECK(trap == NULL);
  wasm_val_vec_delete(&args);
  return values[0].of.i32;
}

#define NUMBERS(...) sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (int32_t[]){__VA_ARGS__}

// Prints what a trap says, and where it came up.
static inline void print_trap(wasm_trap_t* trap) {
  wasm_message_t message;
  wasm_trap_message(trap, &message);
  printf("%s\n", message.data);
  wasm_name_delete(&message);
  wasm_frame_t* origin = wasm_trap_origin(trap);
  if (origin != NULL) {
    printf("from function %" PRIu32 "\n", wasm_frame_func_index(origin));
    wasm_frame_delete(origin);
  }
  wasm_frame_vec_t frames;
  wasm_trap_trace(trap, &frames);
  for (size_t i = 0; i < frames.size; ++i) {
    CHECK(wasm_frame_instance(frames.data[i]) != NULL);
    CHECK(wasm_frame_module_offset(frames.data[i]) > wasm_frame_func_offset(frames.data[i]));
    printf("frame %zu: function %" PRIu32 "\n", i, wasm_frame_func_index(frames.data[i]));
  }
  wasm_frame_vec_delete(&frames);
}

#endif
