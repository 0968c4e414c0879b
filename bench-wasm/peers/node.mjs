#!/usr/bin/env -S node --no-warnings
// Runs a WASI program in Node's V8, for comparison with `wprof run`: node.mjs run [--times] [--dir HOST[::GUEST]]… FILE [ARGS]
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { WASI } from 'node:wasi';

const words = process.argv.slice(3);
let times = false;
const preopens = {};
while (words[0]?.startsWith('--')) {
    const option = words.shift();
    if (option === '--times') {
        times = true;
    } else if (option === '--dir') {
        const [host, guest = host] = words.shift().split('::');
        preopens[guest] = host;
    } else {
        throw new Error(`unknown option ${option}`);
    }
}
const [file, ...args] = words;

const marks = [performance.now()];
const module = new WebAssembly.Module(readFileSync(file));
marks.push(performance.now());
const wasi = new WASI({ version: 'preview1', args: [basename(file), ...args], preopens, returnOnExit: true });
const instance = new WebAssembly.Instance(module, wasi.getImportObject());
marks.push(performance.now());
const before = process.cpuUsage();
let code = 134; // of a trap, as of the other runners
try {
    code = wasi.start(instance);
} catch (error) {
    process.stderr.write(`${error.stack}\n`);
}
marks.push(performance.now());
const { user, system } = process.cpuUsage(before);
if (times) {
    const [load, instantiate, run] = [0, 1, 2].map((i) => (marks[i + 1] - marks[i]).toFixed(3));
    const peak = (process.resourceUsage().maxRSS / 1024).toFixed(1);
    process.stderr.write(`load ${load} ms, instantiate ${instantiate} ms, run ${run} ms, thread ${((user + system) / 1000).toFixed(3)} ms, peak ${peak} MiB\n`);
}
process.exit(code);
