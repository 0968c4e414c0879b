// Perfetto's trace processor, as the worker of its page has it, without the page: reads a trace and prints the rows of a query
// whose one column is text.
//
// Usage: node perfetto.js FOLDER TRACE QUERY, with the folder of the page's engine

const { readFileSync } = require("node:fs");
const { runInThisContext } = require("node:vm");

const [folder, trace, query] = process.argv.slice(2);

// Fields of TraceProcessorRpc and its parts in `protos/perfetto/trace_processor/trace_processor.proto`.
const STREAM = 1;
const [SEQUENCE, REQUEST, FATAL_ERROR, APPENDED_TRACE, QUERY_ARGS, APPEND_RESULT, QUERY_RESULT] = [1, 2, 5, 101, 103, 201, 203];
const [SQL, ERROR, BATCH, STRING_CELLS] = [1, 2, 3, 5];
const [APPEND_TRACE, FINALIZE_TRACE, QUERY_STREAMING] = [1, 2, 3];

// What the worker finds around itself in a browser.
process.type = "renderer";
globalThis.WorkerGlobalScope = Object;
globalThis.location = { href: "" };
globalThis.self = globalThis;
globalThis.XMLHttpRequest = class {
  open(method, name) { this.name = name; }
  send() { this.response = readFileSync(`${folder}/${this.name}`); }
};

const varint = (value) => value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
const number = (field, value) => Buffer.from([...varint(field * 8), ...varint(value)]);
const bytes = (field, value) => Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(value.length)]), value]);

// The values of a field of a message, all of which have a length.
function* values(message, wanted) {
  let at = 0;
  const read = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      value += (message[at] & 127) * scale;
      if (message[at++] < 128) return value;
    }
  };
  while (at < message.length) {
    const key = read();
    if (key % 8 === 0) read();
    else if (key % 8 === 1) at += 8;
    else {
      const end = read() + at;
      if (Math.floor(key / 8) === wanted) yield Buffer.from(message.subarray(at, end));
      at = end;
    }
  }
}

// What is inside of a message, by one field after the other.
const inside = (message, [field, ...others]) =>
  field === undefined ? [message] : [...values(message, field)].flatMap((value) => inside(value, others));

// The engine is one very long line: whoever threw must not be shown.
function fail(message) {
  console.error(message);
  process.exit(1);
}

function answered(reply) {
  for (const path of [[FATAL_ERROR], [APPEND_RESULT, ERROR], [QUERY_RESULT, ERROR]]) {
    for (const error of inside(reply, [STREAM, ...path])) fail(error.toString());
  }
  for (const rows of inside(reply, [STREAM, QUERY_RESULT, BATCH, STRING_CELLS])) {
    process.stdout.write(rows.toString().replaceAll("\0", "\n"));
  }
}

const port = { postMessage: answered };
let sequence = 0;
function ask(kind, args = Buffer.alloc(0)) {
  const message = Buffer.concat([number(SEQUENCE, ++sequence), number(REQUEST, kind), args]);
  port.onmessage({ data: new Uint8Array(bytes(STREAM, message)) });
}

runInThisContext(readFileSync(`${folder}/engine_bundle.js`, "utf8"));
globalThis.onmessage({ data: port });
process.on("uncaughtException", ({ message }) => fail(message));
setTimeout(() => {
  ask(APPEND_TRACE, bytes(APPENDED_TRACE, readFileSync(trace)));
  ask(FINALIZE_TRACE);
  ask(QUERY_STREAMING, bytes(QUERY_ARGS, bytes(SQL, Buffer.from(query))));
});
