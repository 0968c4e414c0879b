// Compiles tree.mbt with the compiler that runs in browsers, whose package is @moonbit/moonc-worker: it answers messages.
// Usage: node moonbit.cjs WORKER TARGET OUTPUT
const { readFileSync, writeFileSync } = require("node:fs");

const [worker, target, output] = process.argv.slice(2);
const listeners = [];
const waiting = new Map();
Object.assign(globalThis, {
  self: globalThis,
  require,
  addEventListener: (_, listener) => listeners.push(listener),
  postMessage: (answer) => waiting.get(answer.id)?.(answer.value),
});
require("node:vm").runInThisContext(readFileSync(worker, "utf8"));

function ask(name, argument) {
  return new Promise((resolve) => {
    const id = String(waiting.size);
    waiting.set(id, resolve);
    const data = { id, type: "APPLY", path: [name], argumentList: [{ type: "RAW", value: argument }] };
    listeners.forEach((listener) => listener({ data, origin: "*", ports: [] }));
  });
}

(async () => {
  const common = { target, pkgSources: ["main:/"], noOpt: false };
  const files = { miFiles: [], indirectImportMiFiles: [], stdMiFiles: [], errorFormat: "human" };
  const built = await ask("buildPackage", { ...common, ...files, mbtFiles: [["tree.mbt", readFileSync("tree.mbt", "utf8")]],
    pkg: "main", isMain: false, enableValueTracing: false });
  if (!built.core) {
    console.error(built.diagnostics.join("\n"));
    process.exit(1);
  }
  const linked = await ask("linkCore", { ...common, coreFiles: [built.core], main: "main", exportedFunctions: ["run"],
    outputFormat: "wasm", testMode: false, debug: false, sourceMap: false, sources: {}, stopOnMain: false });
  writeFileSync(output, linked.result);
})();
