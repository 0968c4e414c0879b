// For QuickJS: closures, classes, maps, regular expressions, sorting, typed arrays, big integers, exceptions.
// Usage: input.js [ROUNDS]

const rounds = Number(scriptArgs.at(-1)) || 1;

class Random {
    constructor(seed) {
        this.state = seed >>> 0;
    }
    next(limit) {
        this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
        return (this.state >>> 8) % limit;
    }
}

function wordCounts(text) {
    const counts = new Map();
    for (const [word] of text.toLowerCase().matchAll(/[a-z]+(?:-[a-z]+)?/g))
        counts.set(word, (counts.get(word) ?? 0) + 1);
    return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

function prose(random, words) {
    const vocabulary = ["path", "edge", "hot-loop", "Counter", "block", "tree", "trace", "call"];
    return Array.from({ length: words }, () => vocabulary[Math.min(random.next(8), random.next(8))]).join(" ");
}

function queens(n, row = 0, columns = 0, left = 0, right = 0) {
    if (row === n) return 1;
    let count = 0;
    for (let free = ((1 << n) - 1) & ~(columns | left | right); free; free &= free - 1) {
        const bit = free & -free;
        count += queens(n, row + 1, columns | bit, ((left | bit) << 1), (right | bit) >> 1);
    }
    return count;
}

function primes(limit) {
    const composite = new Uint8Array(limit + 1);
    let count = 0;
    for (let p = 2; p <= limit; p++) {
        if (composite[p]) continue;
        count++;
        for (let m = p * p; m <= limit; m += p) composite[m] = 1;
    }
    return count;
}

function* fibonacci() {
    for (let [a, b] = [0n, 1n]; ; [a, b] = [b, a + b]) yield a;
}

function thrown(depth) {
    try {
        if (depth === 0) throw new RangeError("bottom");
        return thrown(depth - 1);
    } catch (error) {
        if (depth < 5) throw error;
        return `${error.name}: ${error.message}`;
    }
}

const random = new Random(42);
let tree = { depth: 0 };
for (let round = 0; round < rounds; round++) {
    const counts = wordCounts(prose(random, 2000));
    let big = 0n;
    for (const value of fibonacci()) if ((big = value) > 10n ** 60n) break;
    tree = JSON.parse(JSON.stringify({ depth: tree.depth + 1, child: round % 50 ? tree : null }));
    if (round === rounds - 1) {
        console.log("words", counts.map(([word, n]) => `${word}=${n}`).join(" "));
        console.log("queens", queens(7), "primes", primes(20000), "fibonacci", String(big));
        console.log("depth", tree.depth, thrown(10), Math.hypot(3, 4).toFixed(3), (0.1 + 0.2).toString());
    } else {
        queens(7);
        primes(20000);
    }
}
