#!/usr/bin/env node
// Runs a package of npm that has WebAssembly with its own glue, on a small input, and prints what came out.
//
// Usage: packages.mjs FOLDER NAME     FOLDER has node_modules: see `download.sh --packages`
//        packages.mjs FOLDER          prints the names of those that are installed
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const folder = resolve(process.argv[2]);
const modules = join(folder, 'node_modules');
const require = createRequire(join(folder, 'package.json'));
const text = Array.from({ length: 300 }, (_, i) => `def f${i}(x):\n    return [x * ${i} for y in range(${i})]\n`).join('');

/** Each by the name of its package. */
const PACKAGES = {
    // Emscripten.
    async 'sql.js'() {
        const sql = await require('sql.js')();
        const db = new sql.Database();
        db.run('create table t(a integer primary key, b text)');
        for (let i = 0; i < 300; i++) db.run('insert into t values (?, ?)', [i, `row ${i % 7}`]);
        return db.exec('select b, count(*), sum(a) from t group by b order by b')[0].values;
    },
    // Emscripten, with a grammar as a side module that is linked while it runs.
    async 'web-tree-sitter'() {
        const { Language, Parser } = await import(join(modules, 'web-tree-sitter/web-tree-sitter.js'));
        await Parser.init();
        const parser = new Parser();
        parser.setLanguage(await Language.load(join(modules, 'tree-sitter-python/tree-sitter-python.wasm')));
        const tree = parser.parse(text);
        return [tree.rootNode.childCount, tree.rootNode.toString().length];
    },
    // Emscripten, with a memory that the glue makes.
    async 'quickjs-emscripten'() {
        const { getQuickJS } = require('quickjs-emscripten');
        const code = `let all = []; for (let i = 0; i < 20000; i++) all.push({ i, text: 'n' + i }); all.filter(({ i }) => i % 3).length`;
        return (await getQuickJS()).evalCode(code);
    },
    // napi-rs, with threads.
    async '@node-rs/argon2-wasm32-wasi'() {
        const { hash, hashSync, verify } = require('@node-rs/argon2-wasm32-wasi');
        const options = { salt: Buffer.alloc(16, 7), memoryCost: 1024, timeCost: 2 };
        const all = await Promise.all(['a', 'b', 'c', 'd'].map((word) => hash(word, options)));
        return [all[0] === hashSync('a', options), await verify(all[1], 'b'), all.length];
    },
    // wasm-bindgen.
    'brotli-wasm'() {
        const brotli = require('brotli-wasm');
        const small = brotli.compress(Buffer.from(text));
        return [small.length, Buffer.from(brotli.decompress(small)).toString() === text];
    },
    async '@resvg/resvg-wasm'() {
        const { initWasm, Resvg } = require('@resvg/resvg-wasm');
        await initWasm(readFileSync(join(modules, '@resvg/resvg-wasm/index_bg.wasm')));
        const circles = Array.from({ length: 40 }, (_, i) => `<circle cx="${i * 5}" cy="${i * 3}" r="${i}" fill="#0${i % 10}f"/>`);
        const picture = new Resvg(`<svg xmlns="http://www.w3.org/2000/svg" width="200" height="150">${circles.join('')}</svg>`).render();
        return [picture.width, picture.height, picture.asPng().length];
    },
    async '@rollup/wasm-node'() {
        const { parseAst } = await import(join(modules, '@rollup/wasm-node/dist/es/parseAst.js'));
        const code = Array.from({ length: 200 }, (_, i) => `export const f${i} = (x) => x * ${i} + [1, 2].map((y) => y);`);
        return parseAst(code.join('\n')).body.length;
    },
    // Emscripten, C alone.
    async '@bokuweb/zstd-wasm'() {
        const { init, compress, decompress } = require('@bokuweb/zstd-wasm');
        await init();
        const small = compress(Buffer.from(text), 10);
        return [small.length, Buffer.from(decompress(small)).toString() === text];
    },
    // Rust without glue of a generator.
    async 'source-map'() {
        const { SourceMapConsumer, SourceMapGenerator } = require('source-map');
        const map = new SourceMapGenerator({ file: 'out.js' });
        for (let line = 1; line < 500; line++) {
            const at = { line, column: line % 40 };
            map.addMapping({ generated: at, original: at, source: 'in.js', name: `n${line % 9}` });
        }
        const found = await SourceMapConsumer.with(map.toJSON(), null, (consumer) => {
            const ways = [];
            for (let line = 1; line < 500; line += 50) ways.push(consumer.originalPositionFor({ line, column: 39 }).column);
            return ways;
        });
        return found;
    },
    // Go.
    async 'esbuild-wasm'() {
        const esbuild = require('esbuild-wasm');
        const code = Array.from({ length: 20 }, (_, i) => `export const value${i}: number = ${i} + 1;`).join('\n');
        const { code: out } = await esbuild.transform(code, { loader: 'ts', minify: true });
        await esbuild.stop?.();
        return out.length;
    },
};

const name = process.argv[3];
const installed = Object.keys(PACKAGES).filter((known) => existsSync(join(modules, known)));
if (name === undefined) {
    console.log(installed.join('\n'));
} else {
    console.log(JSON.stringify(await PACKAGES[name]()));
}
