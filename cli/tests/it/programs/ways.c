// Several ways through one line, and indirect calls. Built by
//   clang-19 --target=wasm32 -g -O1 -fdebug-info-for-profiling -fdebug-compilation-dir=. -c ways.c -o ways.o
//   wasm-ld-19 --no-entry --export=run ways.o -o ways.wasm
// What clang leaves if it finds wasm-opt on its path as it links, debug information full of zeros:
//   wasm-opt -O1 ways.wasm -o ways-zeros.wasm
typedef int (*step)(int);
__attribute__((noinline)) static int twice(int x) { return 2 * x; }
__attribute__((noinline)) static int next(int x) { return x + 1; }
static step volatile steps[2] = {twice, next};

int run(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) { if (i % 4 == 0) sum += steps[0](i); else sum ^= steps[1](sum); }
  return sum;
}
