#!/usr/bin/env -S node --no-warnings
// What counting costs in packages of npm: each as it is and with its modules rewritten as they are loaded, in turns.
//
// Usage: instrumented-packages.mjs WPROF [ROUNDS] [PACKAGE…]     after `download.sh --packages`
// Prints for each package and way the median over rounds of the main thread's processor time over the plain package's in
// the same round, and the size of its modules over the originals'. Only work is timed, after a second that compiles.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, 'downloads/npm');
const modules = join(folder, 'node_modules');
const require = createRequire(join(folder, 'package.json'));
const text = Buffer.from(Array.from({ length: 3000 }, (_, i) => `def f${i}(x):\n    return [x * ${i} for y in range(${i})]\n`).join(''));

/** Each gives a function that works for some tenths of a second. */
const PACKAGES = {
    // Emscripten.
    async 'sql.js'() {
        const sql = await require('sql.js')();
        const db = new sql.Database();
        db.run('create table t(a integer primary key, b text)');
        for (let i = 0; i < 3000; i++) db.run('insert into t values (?, ?)', [i, `row ${i % 7}`]);
        return () => {
            for (let i = 0; i < 20; i++) db.exec('select b, count(*), sum(length(b) * a) from t group by b order by b');
        };
    },
    async '@bokuweb/zstd-wasm'() {
        const { init, compress, decompress } = require('@bokuweb/zstd-wasm');
        await init();
        return () => decompress(compress(text, 12));
    },
    // wasm-bindgen.
    async 'brotli-wasm'() {
        const brotli = require('brotli-wasm');
        return () => brotli.decompress(brotli.compress(text, { quality: 7 }));
    },
    async '@resvg/resvg-wasm'() {
        const { initWasm, Resvg } = require('@resvg/resvg-wasm');
        await initWasm(readFileSync(join(modules, '@resvg/resvg-wasm/index_bg.wasm')));
        const circles = Array.from({ length: 100 }, (_, i) => `<circle cx="${i * 5}" cy="${i * 3}" r="${i}" fill="#0${i % 10}f"/>`);
        const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="600" height="450">${circles.join('')}</svg>`;
        return () => new Resvg(picture).render().asPng();
    },
};

const WAYS = {
    plain: null,
    edges: '--collect=edges',
    blocks: '--collect=blocks',
    'every block': '--collect=blocks\n--plan=every-block',
    paths: '--collect=paths',
    cct: '--collect=cct',
    flow: '--collect=flow',
};

/** The nanoseconds that the main thread has had of a processor; V8 compiles in others. */
const spent = () => Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]);

/** Works as one of the packages, and prints the milliseconds of processor time that five times took. */
async function work(name) {
    const once = await PACKAGES[name]();
    for (const end = Date.now() + 1000; Date.now() < end; ) once();
    const before = spent();
    for (let round = 0; round < 5; round++) once();
    console.log((spent() - before) / 1e6);
}

function compare(wprof, rounds, names) {
    const out = mkdtempSync(join(tmpdir(), 'wprof-'));
    process.on('exit', () => rmSync(out, { recursive: true }));
    const script = join(out, 'wprof.cjs');
    writeFileSync(script, readFileSync(join(here, '../instrument/js/wprof.js')));
    const time = (name, args) => {
        const env = { ...process.env, WPROF_DIR: out, ...(args && { WPROF_EXE: wprof, WPROF_ARGS: args }) };
        const node = ['--no-warnings', ...(args ? ['--require', script] : []), fileURLToPath(import.meta.url), '--work', name];
        return Number(execFileSync(process.execPath, node, { env, encoding: 'utf8' }));
    };
    const bytes = (kind) => {
        const files = readdirSync(out).filter((file) => file.endsWith(kind));
        return files.reduce((sum, file) => sum + statSync(join(out, file)).size, 0);
    };
    const size = () => {
        const ratio = bytes('.rewritten') / bytes('.wasm');
        for (const file of readdirSync(out)) if (!file.endsWith('.cjs')) rmSync(join(out, file));
        return ratio;
    };
    const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];
    const mean = (all) => Math.exp(all.reduce((sum, one) => sum + Math.log(one), 0) / all.length);
    const counting = Object.keys(WAYS).filter((way) => WAYS[way]);
    const ratios = Object.fromEntries(counting.map((way) => [way, { size: [], time: [] }]));
    const cells = (of) => counting.flatMap((way) => [of(ratios[way].size).toFixed(2), of(ratios[way].time).toFixed(2)]);
    console.log(['package', 'plain ms', ...counting.flatMap((way) => [`${way} size`, `${way} time`])].join('\t'));
    for (const name of names) {
        const times = Object.fromEntries(Object.keys(WAYS).map((way) => [way, []]));
        const sizes = {};
        for (let round = 0; round < rounds; round++) {
            const plain = time(name, null);
            times.plain.push(plain);
            for (const way of counting) {
                times[way].push(time(name, WAYS[way]) / plain);
                sizes[way] = size();
            }
        }
        for (const way of counting) {
            ratios[way].size.push(sizes[way]);
            ratios[way].time.push(median(times[way]));
        }
        console.log([name, median(times.plain).toFixed(0), ...cells((all) => all.at(-1))].join('\t'));
    }
    console.log(['geometric mean', '', ...cells(mean)].join('\t'));
}

const [first, second, ...names] = process.argv.slice(2);
if (first === undefined) throw new Error('usage: instrumented-packages.mjs WPROF [ROUNDS] [PACKAGE…]');
if (first === '--work') await work(second);
else compare(first, Number(second ?? 5), names.length > 0 ? names : Object.keys(PACKAGES));
