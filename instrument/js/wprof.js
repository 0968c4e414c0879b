// Hands over what WebAssembly modules that `wprof instrument` rewrote have counted.
//
// In a page: <script src="wprof.js"></script> before everything else. In Node: node --require ./wprof.js app.js.
// `globalThis.wprof`, if it is there before, says where counters go; afterwards it has functions to ask for them.
'use strict';
(() => {
  const W = globalThis.WebAssembly;
  const isNode = typeof process === 'object' && !!process.versions?.node;
  const env = isNode ? process.env : {};
  const settings = {
    url: env.WPROF_URL, // POST counters here: `wprof collect --listen` says where
    every: 2000, // milliseconds between two times, in a page
    rewrite: null, // POST modules here to have them rewritten: `wprof serve` says where
    script: null, // where this file is, for workers
    dir: env.WPROF_DIR || '.', // Node: a folder for files of counters
    exe: env.WPROF_EXE, // Node: rewrite modules as they are loaded, with this program
    args: (env.WPROF_ARGS || '').split('\n').filter(Boolean), // its arguments, one a line
    single: false, // whether counters are behind the program's memory in any host
    ...globalThis.wprof,
  };
  const SECTION = 'wprof.counters';
  const PAGE = 4096;
  const ROOT_SLOT = 48; // as in instrument/src/layout.rs
  const TAG = 'wprof-instance';
  const MAGIC = 0x66727077; // while another thread's head is filled in
  const found = [];
  const remote = new Map(); // by id, what workers share with this thread
  const workers = new Set(); // those that were started here and have not ended
  let isSettling = false;
  const threads = isNode && require('worker_threads');
  const isWorker = isNode ? !threads.isMainThread : typeof WorkerGlobalScope !== 'undefined';
  const run = isNode ? `${process.pid}-${threads.threadId}` : Math.random().toString(36).slice(2);

  function add(module, instance) {
    const [descriptor] = W.Module.customSections(module, SECTION);
    const { exports } = instance;
    if (descriptor && exports.wprof_flush) {
      growByMore(module, exports);
      const id = `${run}-${found.length}`;
      found.push({ id, exports, descriptor });
      if (isNode) hear();
      if (settings.exe) note('running', true);
      announce({ id, descriptor, memory: exports.wprof_counters });
      if (exports.wprof_slot && !isSettling) {
        isSettling = true;
        setInterval(settle, 100)?.unref?.();
      }
      // Glue that goes through all exports must not wonder.
      const own = Object.entries(exports).filter(([name]) => !name.startsWith('wprof_'));
      const value = Object.freeze(Object.assign(Object.create(null), Object.fromEntries(own)));
      Object.defineProperty(instance, 'exports', { value, enumerable: true, configurable: true });
    }
    return instance;
  }

  // Tells `wprof collect -- …` that this process has counters to come: it may end after the one that was started.
  function note(what, isSo) {
    const fs = require('fs');
    const name = require('path').join(settings.dir, `${process.pid}.${what}`);
    if (isSo) fs.writeFileSync(name, '');
    else if (!isWorker) fs.rmSync(name, { force: true });
  }

  // A signal that nobody else waits for ends the program, as it would without us. Where nothing counts, it is left alone.
  let hears = isWorker;
  function hear() {
    if (hears) return;
    hears = true;
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
      process.once(signal, () => {
        if (settings.exe) note('heard', true);
        saveAll();
        if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
      });
    }
  }

  // When a timer fires no wasm code runs, so the host outside is what calls next, whatever has thrown before.
  function settle() {
    for (const { exports } of found) {
      if (!exports.wprof_slot) continue;
      exports.wprof_slot.value = 0;
      exports.wprof_current.value = ROOT_SLOT;
    }
  }

  // A worker that waits in wasm runs no JavaScript, and is ended so. What it counts in memory that threads can share, its
  // parent can read.
  function announce(instance) {
    if (!isWorker || !isShared(instance.memory)) return;
    const { parentPort } = threads || { parentPort: globalThis };
    try {
      (parentPort ?? globalThis).postMessage({ [TAG]: instance });
    } catch {}
  }
  const isShared = ({ buffer }) => typeof SharedArrayBuffer === 'function' && buffer instanceof SharedArrayBuffer;

  // Takes a message of a worker, if it is for us.
  function take(message) {
    const instance = message?.[TAG];
    if (instance) remote.set(instance.id, instance);
    return !!instance;
  }

  // The file of another thread's instance, if that waits or has ended.
  function fileOf({ memory, descriptor }) {
    const bytes = new Uint8Array(memory.buffer);
    const all = isReady(memory) && file(bytes, descriptor);
    return isReady(memory) ? all : null;
  }
  const isReady = ({ buffer }) => new DataView(buffer).getUint32(0, true) === MAGIC;

  // The file of an instance: see instrument/src/counters.rs.
  function ownFile({ exports, descriptor }) {
    const base = exports.wprof_flush() >>> 0;
    return file(new Uint8Array(exports.wprof_counters.buffer, base), descriptor);
  }

  function file(memory, descriptor) {
    const length = new DataView(memory.buffer, memory.byteOffset).getUint32(4, true);
    const parts = ['wprofraw', 1, descriptor.byteLength, new Uint8Array(descriptor), length];
    for (let page = 0; page * PAGE < length; page++) {
      const bytes = memory.subarray(page * PAGE, Math.min(length, (page + 1) * PAGE));
      if (new BigUint64Array(bytes.buffer, bytes.byteOffset, bytes.length >> 3).some((word) => word)) {
        parts.push(page, bytes);
      }
    }
    const size = (part) => (typeof part === 'number' ? 4 : part.length);
    const all = new Uint8Array(parts.reduce((sum, part) => sum + size(part), 0));
    let at = 0;
    for (const part of parts) {
      if (typeof part === 'number') new DataView(all.buffer).setUint32(at, part, true);
      else all.set(typeof part === 'string' ? new TextEncoder().encode(part) : part, at);
      at += size(part);
    }
    return all;
  }

  function read() {
    const all = found.map((one) => ({ name: `${one.id}.counters`, bytes: ownFile(one) }));
    for (const [id, instance] of remote) {
      const bytes = fileOf(instance);
      if (bytes) all.push({ name: `${id}.counters`, bytes });
    }
    return all;
  }

  function save() {
    const { writeFileSync } = require('fs');
    for (const { name, bytes } of read()) writeFileSync(require('path').join(settings.dir, name), bytes);
  }

  function send(keepalive = false) {
    const post = ({ name, bytes }) =>
      fetch(`${settings.url}${name}`, { method: 'POST', body: bytes, mode: 'no-cors', keepalive });
    return Promise.all(read().map(post));
  }

  function download() {
    for (const { name, bytes } of read()) {
      const href = URL.createObjectURL(new Blob([bytes]));
      Object.assign(document.createElement('a'), { href, download: name }).click();
    }
  }

  // Rewriting on the way: by a server, or by a program in Node. What cannot be rewritten runs as it is.
  const target = () => settings.rewrite + (isSingle ? '?single-memory' : '');
  async function rewriteLater(source) {
    if (!settings.rewrite || !hasCode(source)) return rewrite(source);
    const answer = await fetch(target(), { method: 'POST', body: source });
    return answer.ok ? answer.arrayBuffer() : source;
  }
  function rewriteNow(source) {
    const request = new XMLHttpRequest();
    request.open('POST', target(), false);
    request.overrideMimeType('text/plain; charset=x-user-defined');
    request.send(source);
    return request.status === 200 ? Uint8Array.from(request.responseText, (byte) => byte.charCodeAt(0) & 255) : source;
  }

  const bytesOf = (source) =>
    ArrayBuffer.isView(source)
      ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
      : new Uint8Array(source);

  // Whether a module has a code section. Glue makes many small modules without one, to give a function of JavaScript a
  // type, and what is no module at all is for the engine to refuse.
  function hasCode(source) {
    // Of another realm a buffer is no instance of ours.
    const isBuffer = /ArrayBuffer\]/.test({}.toString.call(source));
    if (!isBuffer && !ArrayBuffer.isView(source)) return false;
    const bytes = bytesOf(source);
    for (let at = 8; at < bytes.length; ) {
      if (bytes[at++] === 10) return true;
      let length = 0;
      for (let scale = 1; ; scale *= 128) {
        length += (bytes[at] & 127) * scale;
        if (!(bytes[at++] & 128)) break;
      }
      at += length;
    }
    return false;
  }

  const rewritten = new Map();
  function rewrite(source) {
    if (!(settings.rewrite || settings.exe) || !hasCode(source)) return source;
    if (settings.rewrite) return rewriteNow(source);
    const bytes = Buffer.from(bytesOf(source));
    const key = require('crypto').createHash('sha1').update(bytes).digest('hex').slice(0, 16);
    if (!rewritten.has(key)) rewritten.set(key, instrument(bytes, key));
    return rewritten.get(key) || source;
  }

  function instrument(bytes, key) {
    const fs = require('fs');
    const [from, to] = ['wasm', 'rewritten'].map((kind) => require('path').join(settings.dir, `${key}.${kind}`));
    fs.writeFileSync(from, bytes);
    const args = ['instrument', from, '-o', to, ...settings.args];
    if (isSingle && !args.includes('--single-memory')) args.push('--single-memory');
    const ran = require('child_process').spawnSync(settings.exe, args, { stdio: ['ignore', 2, 'pipe'], encoding: 'utf8' });
    if (ran.status === 0) return fs.readFileSync(to);
    fs.rmSync(from);
    // What the engine refuses too, the program hears from it.
    if (W.validate(bytes)) console.error(`wprof: cannot count a module: ${reason(ran, from)}`);
    return null;
  }
  const reason = ({ stderr, error }, file) => stderr?.replace('error: ', '').replace(`${file}: `, '').trimEnd() || error;

  function hasManyMemories() {
    return W.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 5, 5, 2, 0, 0, 0, 0]));
  }

  // Where a module can have only one memory, counters are behind the program's. If JavaScript makes that memory, it is made
  // larger from the beginning: were it to grow when the module starts, the glue's views of it would be gone.
  const SPARE = 512; // pages; a module whose counters need more is not counted
  const NOTE = 0x65726170732d7077n; // as in instrument/src/layout.rs
  const spare = new WeakMap();
  const isSingle = settings.single || settings.args.includes('--single-memory') || !hasManyMemories();
  const shares = isSingle || !(settings.exe || settings.rewrite);
  function larger(type) {
    const { initial, maximum = 65536, shared } = type ?? {};
    if (!shares || shared || typeof initial !== 'number' || typeof maximum !== 'number') return [type, 0];
    const pages = Math.max(0, Math.min(SPARE, maximum - initial));
    return [{ ...type, initial: initial + pages }, pages];
  }

  // Tells a module that counts behind an imported memory of the spare pages there, if it has enough.
  function makeRoom(module, imports) {
    const [region] = Module.customSections(module, 'wprof.region');
    if (!region) return true;
    const { module: from, name } = Module.imports(module).find(({ kind }) => kind === 'memory');
    const memory = imports?.[from]?.[name];
    const pages = spare.get(memory);
    if (!(pages >= new DataView(region).getUint32(0, true))) return false;
    spare.delete(memory);
    const view = new DataView(memory.buffer);
    view.setUint32(view.byteLength - 16, pages, true);
    view.setBigUint64(view.byteLength - 8, NOTE, true);
    return true;
  }

  // The bytes of the original of a module, if that must run because there is no room for counters.
  const originals = new WeakMap();
  function original(module, imports) {
    if (makeRoom(module, imports) || !originals.has(module)) return null;
    console.error('wprof: cannot count a module: there is no room for counters after the memory that JavaScript provides');
    return originals.get(module);
  }
  function keep(module, bytes, made) {
    if (made !== bytes && Module.customSections(module, 'wprof.region').length > 0) originals.set(module, bytes);
    return module;
  }

  // Glue that grows the memory computes from the size of its buffer how much the program lacks; but part of that is ours.
  function growByMore(module, exports) {
    const memory = exports.wprof_counters;
    const isShared = Object.entries(exports).some(([name, value]) => value === memory && name !== 'wprof_counters');
    if (!isShared && Module.customSections(module, 'wprof.region').length === 0) return;
    const { grow } = Memory.prototype;
    const value = (by) => {
      const ours = (memory.buffer.byteLength - (exports.wprof_flush() >>> 0)) / 65536;
      try {
        if (by > 0) return grow.call(memory, by + ours);
      } catch {}
      return grow.call(memory, by);
    };
    Object.defineProperty(memory, 'grow', { value, configurable: true, writable: true });
  }

  // V8 12 ends the process when a module with several memories imports a function that has a fast way.
  if (settings.exe && process.versions.v8.startsWith('12.')) require('v8').setFlagsFromString('--no-turbo-fast-api-calls');

  const { compile, instantiate, compileStreaming, instantiateStreaming, Memory, Module, Instance } = W;
  W.Module = class extends Module {
    constructor(bytes, ...more) {
      const made = rewrite(bytes);
      super(made, ...more);
      keep(this, bytes, made);
    }
  };
  W.Memory = class extends Memory {
    constructor(type, ...more) {
      const [made, pages] = larger(type);
      super(made, ...more);
      if (pages > 0) spare.set(this, pages);
    }
  };
  W.Instance = class extends Instance {
    constructor(module, imports, ...more) {
      const bytes = module instanceof Module && original(module, imports);
      super(bytes ? new Module(bytes) : module, imports, ...more);
      if (!bytes) add(module, this);
    }
  };
  for (const [ours, theirs, name] of [[W.Module, Module, 'Module'], [W.Instance, Instance, 'Instance'], [W.Memory, Memory, 'Memory']]) {
    Object.defineProperty(ours, 'name', { value: name });
    Object.defineProperty(ours, Symbol.hasInstance, { value: (it) => it instanceof theirs });
  }
  W.compile = async (bytes, ...more) => {
    const made = await rewriteLater(bytes);
    return keep(await compile.call(W, made, ...more), bytes, made);
  };
  W.instantiate = async (source, imports, ...more) => {
    if (source instanceof Module) {
      const bytes = original(source, imports);
      if (bytes) return instantiate.call(W, await compile.call(W, bytes), imports, ...more);
      return add(source, await instantiate.call(W, source, imports, ...more));
    }
    const module = await W.compile(source, ...more);
    return { module, instance: await W.instantiate(module, imports, ...more) };
  };
  const body = async (response) => (await response).arrayBuffer();
  if (compileStreaming) {
    W.compileStreaming = async (response, ...more) =>
      settings.exe || settings.rewrite ? W.compile(await body(response), ...more) : compileStreaming.call(W, response, ...more);
  }
  if (instantiateStreaming) {
    W.instantiateStreaming = async (response, ...more) => {
      if (settings.exe || settings.rewrite) return W.instantiate(await body(response), ...more);
      const module = await compileStreaming.call(W, response, ...more.slice(1));
      return { module, instance: await W.instantiate(module, ...more) };
    };
  }

  // A worker that is to be ended hands over its counters before. It gets three moments to hear that, and then the time it takes,
  // up to half a minute. Both are counted in ticks, which are longer where the machine is busy, for the worker too.
  const MOMENT = 1000; // milliseconds
  const TICK = 5;
  const channel = typeof BroadcastChannel === 'function' ? new BroadcastChannel(`wprof-${isNode ? process.pid : 'page'}`) : null;
  if (channel && isWorker) {
    channel.onmessage = ({ data: { asked, done } }) => {
      if (!isNode) return void (settings.url && send().catch(() => {}));
      if (!asked.includes(run)) return;
      Atomics.add(done, 1, 1);
      save();
      Atomics.add(done, 0, 1);
      Atomics.notify(done, 0);
    };
  }
  channel?.unref?.();

  // Workers whose code is a blob do not come from the server, which would have put this file before it.
  const { Worker } = globalThis;
  if (!isNode && settings.url && Worker) {
    globalThis.Worker = class extends Worker {
      #hasEnded = false;
      constructor(url, options, ...more) {
        const isBlob = settings.script && String(url).startsWith('blob:');
        super(isBlob ? withScript(url, options?.type === 'module') : url, options, ...more);
        // This comes before the listeners of the page.
        this.addEventListener('message', (event) => {
          if (take(event.data) || this.#hasEnded) event.stopImmediatePropagation();
        });
      }
      terminate() {
        if (this.#hasEnded) return;
        this.#hasEnded = true;
        setTimeout(() => super.terminate(), MOMENT);
        channel?.postMessage({});
      }
    };
    Object.defineProperty(globalThis.Worker, 'name', { value: 'Worker' });
  }
  if (isNode) {
    threads.Worker = class extends threads.Worker {
      constructor(...args) {
        super(...args);
        workers.add(this);
        hear();
        this.once('exit', () => workers.delete(this));
      }
      emit(event, message, ...more) {
        return event === 'message' && take(message) ? true : super.emit(event, message, ...more);
      }
      async terminate() {
        const done = workers.has(this) ? ask([this]) : null;
        while (isAnswering(done)) await new Promise((resolve) => setTimeout(resolve, TICK));
        return super.terminate();
      }
    };
    Object.defineProperty(threads.Worker, 'name', { value: 'Worker' });
    require('module').syncBuiltinESMExports();
  }

  // Asks workers for their counters, except those that wait in wasm, whose memory can be read; returns how many have
  // answered, and heard.
  function ask(some) {
    const isKnown = (id) => [...remote].some(([known, { memory }]) => known.startsWith(`${id}-`) && isReady(memory));
    const asked = some.map(({ threadId }) => `${process.pid}-${threadId}`).filter((id) => !isKnown(id));
    if (!channel || asked.length === 0) return null;
    const done = new Int32Array(new SharedArrayBuffer(8));
    channel.postMessage({ asked, done });
    return Object.assign(done, { asked: asked.length, left: (3 * MOMENT) / TICK });
  }

  // Whether an answer of workers may still come.
  function isAnswering(done) {
    if (!done || done[0] >= done.asked) return false;
    return done.left-- > (done[1] > done[0] ? -6000 : 0);
  }

  // The process ends, and with it the workers that still are.
  function askAll() {
    const done = ask([...workers]);
    while (isAnswering(done)) Atomics.wait(done, 0, done[0], TICK);
  }
  function saveAll() {
    askAll();
    save();
    if (settings.exe) note('running', false);
  }
  function withScript(url, isModule) {
    const request = new XMLHttpRequest();
    request.open('GET', url, false);
    request.send();
    const load = isModule ? `import '${settings.script}';` : `importScripts('${settings.script}');`;
    return URL.createObjectURL(new Blob([load, request.responseText], { type: 'text/javascript' }));
  }

  // The page has done what it should be profiled for.
  async function done() {
    await send();
    if (settings.rewrite) await fetch(new URL('/wprof-done', settings.rewrite), { method: 'POST' });
  }

  if (isNode) {
    process.on('exit', saveAll);
  } else if (settings.url) {
    setInterval(send, settings.every);
    // What is sent from a page that goes away must be short; the rest was sent before.
    globalThis.addEventListener?.('pagehide', () => send(true).catch(() => {}));
  }
  globalThis.wprof = { ...settings, read, save, send, download, done };
})();
