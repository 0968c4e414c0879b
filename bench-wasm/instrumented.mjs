#!/usr/bin/env -S node --no-warnings
// What counting costs in Node: own programs, each as it is and instrumented in several ways, in turns.
//
// Usage: instrumented.mjs WPROF [ROUNDS] [PROGRAM…]
// Prints for each program and way the size over the original's, and the median over rounds of the thread's processor
// time over the original's in the same round.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [wprof, rounds = '5', ...only] = process.argv.slice(2);
if (!wprof) throw new Error('usage: instrumented.mjs WPROF [ROUNDS] [PROGRAM…]');
const folder = mkdtempSync(join(tmpdir(), 'wprof-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

const WAYS = {
    edges: ['--collect', 'edges'],
    blocks: ['--collect', 'blocks'],
    paths: ['--collect', 'paths'],
    'every block': ['--collect', 'blocks', '--plan', 'every-block'],
    cct: ['--collect', 'cct'],
    flow: ['--collect', 'flow'],
    instructions: ['--collect', 'events=instructions'],
};

function programs() {
    const rows = readFileSync(join(here, 'programs/manifest.tsv'), 'utf8').split('\n').slice(2);
    const cells = rows.map((row) => row.split('\t')).filter(([name, , , bench]) => name !== 'case' && bench && bench !== '-');
    const found = cells.map(([name, , , bench]) => [name, bench]);
    return found.filter(([name]) => only.length === 0 || only.includes(name));
}

function seconds(file, args) {
    const command = [join(here, 'peers/node.mjs'), 'run', '--times', file, ...args];
    const said = execFileSync('bash', ['-c', '"$@" 2>&1 >/dev/null', 'bash', 'node', '--no-warnings', ...command]);
    return Number(/thread ([0-9.]+) ms/.exec(said)[1]);
}

const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];
const mean = (all) => Math.exp(all.reduce((sum, one) => sum + Math.log(one), 0) / all.length);
const ratios = Object.fromEntries(Object.keys(WAYS).map((way) => [way, { size: [], time: [] }]));
console.log(['program', ...Object.keys(WAYS).flatMap((way) => [`${way} size`, `${way} time`])].join('\t'));
for (const [name, args] of programs()) {
    const original = join(here, 'programs', `${name}.wasm`);
    const files = {};
    for (const [way, options] of Object.entries(WAYS)) {
        files[way] = join(folder, `${name}-${way}.wasm`);
        execFileSync(wprof, ['instrument', '--single-memory', ...options, original, '-o', files[way]]);
    }
    const times = Object.fromEntries(Object.keys(WAYS).map((way) => [way, []]));
    const words = (args ?? '').split(' ').filter(Boolean);
    for (let round = 0; round < Number(rounds); round++) {
        const plain = seconds(original, words);
        for (const way of Object.keys(WAYS)) times[way].push(seconds(files[way], words) / plain);
    }
    const cells = Object.keys(WAYS).flatMap((way) => {
        const size = statSync(files[way]).size / statSync(original).size;
        const time = median(times[way]);
        ratios[way].size.push(size);
        ratios[way].time.push(time);
        return [size.toFixed(2), time.toFixed(3)];
    });
    console.log([name, ...cells].join('\t'));
}
console.log(['geometric mean', ...Object.values(ratios).flatMap(({ size, time }) => [mean(size).toFixed(2), mean(time).toFixed(3)])].join('\t'));
