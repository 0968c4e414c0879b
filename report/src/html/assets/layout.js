// The layout of a graph: blocks in layers from the top down; back edges run up.
//
// Source: Sugiyama, Tagawa & Toda 1981. Cycles are broken at the edges that a depth-first search finds to go back; layers are
// longest paths; long edges get a bend in each layer that they cross; within layers neighbours are ordered by barycentres,
// and placed as near to them as their widths permit, by isotonic regression (pool adjacent violators).
// The work grows with the number of bends. The main loop of an interpreter would need millions, since each of a thousand blocks
// leads back over hundreds of layers: so the longest edges are cut, and drawn as a stub at each end.

const GAP = 26;
const LAYER_GAP = 46;
const SWEEPS = 8;
const MOST_BENDS = 6000;
// A stub leaves or enters a block by so much.
const STUB = 16;

// `nodes` are {w, h}, `edges` {from, to} by position; the first node is the entry. Gives nodes their x and y (of the centre), edges
// their `points` and whether they are cut (`isCut`), and the size of the whole.
function layOut(nodes, edges) {
  const vertices = nodes.map((node) => ({ ...node, node, up: [], down: [] }));
  const back = backEdges(nodes.length, edges);
  const forward = edges.map(({ from, to }, at) => (back.has(at) ? [to, from] : [from, to]));
  assignLayers(vertices, forward.filter(([from, to]) => from !== to));
  const longest = longestEdge(forward.map(([from, to]) => vertices[to].layer - vertices[from].layer));
  const isCut = ([from, to]) => vertices[to].layer - vertices[from].layer > longest;
  const chains = forward.map((pair) => (pair[0] === pair[1] || isCut(pair) ? [] : chain(vertices, ...pair)));
  const layers = layersOf(vertices);
  order(layers);
  placeAcross(layers);
  const height = placeDown(layers);
  vertices.slice(0, nodes.length).forEach((vertex) => Object.assign(vertex.node, { x: vertex.x, y: vertex.y }));
  const fans = new Map();
  edges.forEach((edge, at) => {
    edge.isBack = back.has(at);
    edge.isCut = isCut(forward[at]);
    edge.points = points(chains[at], edge.isBack, fans);
  });
  const right = largest(vertices.map((vertex) => vertex.x + vertex.w / 2));
  return { width: right + GAP, height };
}

function backEdges(count, edges) {
  const out = Array.from({ length: count }, () => []);
  edges.forEach(({ from }, at) => out[from].push(at));
  const state = new Uint8Array(count);
  const back = new Set();
  for (let root = 0; root < count; root += 1) {
    const pending = state[root] ? [] : [[root, 0]];
    while (pending.length > 0) {
      const top = pending[pending.length - 1];
      const [vertex, next] = top;
      state[vertex] = 1;
      if (next === out[vertex].length) {
        state[vertex] = 2;
        pending.pop();
        continue;
      }
      top[1] += 1;
      const edge = out[vertex][next];
      const { to } = edges[edge];
      if (state[to] === 1) back.add(edge);
      else if (state[to] === 0) pending.push([to, 0]);
    }
  }
  return back;
}

// The most layers that an edge may cross if all together are to have no more bends than there may be.
function longestEdge(spans) {
  let bends = 0;
  const sorted = [...spans].sort((a, b) => a - b);
  const first = sorted.findIndex((span) => (bends += Math.max(0, span - 1)) > MOST_BENDS);
  return first < 0 ? Infinity : Math.max(1, sorted[first] - 1);
}

function assignLayers(vertices, pairs) {
  const out = vertices.map(() => []);
  const waiting = new Int32Array(vertices.length);
  for (const [from, to] of pairs) {
    out[from].push(to);
    waiting[to] += 1;
  }
  vertices.forEach((vertex) => { vertex.layer = 0; });
  const ready = vertices.map((_, at) => at).filter((at) => waiting[at] === 0);
  while (ready.length > 0) {
    const at = ready.pop();
    for (const to of out[at]) {
      vertices[to].layer = Math.max(vertices[to].layer, vertices[at].layer + 1);
      waiting[to] -= 1;
      if (waiting[to] === 0) ready.push(to);
    }
  }
}

// The vertices along an edge, a bend in each layer between its ends.
function chain(vertices, from, to) {
  const found = [vertices[from]];
  for (let layer = vertices[from].layer + 1; layer < vertices[to].layer; layer += 1) {
    const bend = { w: 6, h: 0, layer, up: [], down: [], isBend: true };
    vertices.push(bend);
    found.push(bend);
  }
  found.push(vertices[to]);
  for (let at = 1; at < found.length; at += 1) {
    found[at - 1].down.push(found[at]);
    found[at].up.push(found[at - 1]);
  }
  return found;
}

function layersOf(vertices) {
  const layers = [];
  for (const vertex of vertices) (layers[vertex.layer] ??= []).push(vertex);
  layers.forEach((layer) => layer.forEach((vertex, at) => { vertex.order = at; }));
  return layers;
}

// The best order of several sweeps down and up, by crossings.
function order(layers) {
  let best = { crossings: Infinity };
  for (let sweep = 0; sweep <= SWEEPS; sweep += 1) {
    const crossings = sum(layers.map(crossingsBelow));
    if (crossings < best.crossings) best = { crossings, layers: layers.map((layer) => [...layer]) };
    if (crossings === 0) break;
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : [...layers].reverse()) sortLayer(layer, isDown ? "up" : "down");
  }
  best.layers.forEach((layer, at) => { layers[at] = layer; number(layer); });
}

function number(layer) {
  layer.forEach((vertex, at) => { vertex.order = at; });
}

function sortLayer(layer, side) {
  for (const vertex of layer) {
    const near = vertex[side];
    vertex.center = near.length ? sum(near.map((other) => other.order)) / near.length : vertex.order;
  }
  layer.sort((a, b) => a.center - b.center || a.order - b.order);
  number(layer);
}

// Crossings between a layer and the next: inversions, counted in a Fenwick tree.
function crossingsBelow(layer) {
  const ends = layer.flatMap((vertex) => vertex.down.map((other) => other.order).sort((a, b) => a - b));
  const tree = new Int32Array(largest(ends) + 2);
  let crossings = 0;
  ends.forEach((end, seen) => {
    let notAfter = 0;
    for (let at = end + 1; at > 0; at -= at & -at) notAfter += tree[at];
    crossings += seen - notAfter;
    for (let at = end + 1; at < tree.length; at += at & -at) tree[at] += 1;
  });
  return crossings;
}

// Each vertex goes near its neighbours above, then below, then both.
function placeAcross(layers) {
  for (const layer of layers) placeNear(layer, () => null);
  const mean = (others) => (others.length ? sum(others.map((other) => other.x)) / others.length : null);
  const near = (sides) => (vertex) => mean(sides.flatMap((side) => vertex[side]));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const layer of layers) placeNear(layer, near(["up"]));
    for (const layer of [...layers].reverse()) placeNear(layer, near(["down"]));
  }
  for (const layer of layers) placeNear(layer, near(["up", "down"]));
  const left = layers.flat().reduce((least, vertex) => Math.min(least, vertex.x - vertex.w / 2), Infinity) - GAP;
  for (const layer of layers) layer.forEach((vertex) => { vertex.x -= left; });
}

// The places in the layer's order that are nearest to the wanted ones, in squares, and far enough apart.
function placeNear(layer, wanted) {
  let offset = 0;
  const pools = [];
  layer.forEach((vertex, at) => {
    if (at > 0) offset += (layer[at - 1].w + vertex.w) / 2 + GAP;
    vertex.offset = offset;
    // Bends weigh more: long edges that are straight are easier to follow.
    const weight = vertex.isBend ? 4 : 1;
    pools.push({ sum: weight * ((wanted(vertex) ?? vertex.x ?? offset) - offset), weight, count: 1 });
    for (let last = pools.length - 1; last > 0 && mid(pools[last - 1]) > mid(pools[last]); last -= 1) {
      const { sum: more, weight: heavier, count } = pools.pop();
      pools[last - 1].sum += more;
      pools[last - 1].weight += heavier;
      pools[last - 1].count += count;
    }
  });
  let at = 0;
  for (const pool of pools) {
    for (let left = pool.count; left > 0; left -= 1, at += 1) layer[at].x = mid(pool) + layer[at].offset;
  }
}

const mid = (pool) => pool.sum / pool.weight;

function placeDown(layers) {
  let y = GAP;
  for (const layer of layers) {
    const height = largest(layer.map((vertex) => vertex.h));
    layer.forEach((vertex) => { vertex.y = y + height / 2; });
    y += height + LAYER_GAP;
  }
  return y - LAYER_GAP + GAP;
}

// The corners of an edge, from the block that it leaves to the one that it enters.
function points(vertices, isBack, fans) {
  if (vertices.length === 0) return [];
  const [first, last] = [vertices[0], vertices[vertices.length - 1]];
  const found = [
    { x: first.x + fan(fans, first, "down", vertices[1]), y: first.y + first.h / 2 },
    ...vertices.slice(1, -1).map(({ x, y }) => ({ x, y })),
    { x: last.x + fan(fans, last, "up", vertices[vertices.length - 2]), y: last.y - last.h / 2 },
  ];
  return isBack ? found.reverse() : found;
}

// The distance from a block's middle at which the edge to a neighbour meets it: edges spread over its width, in the
// order of their other ends.
function fan(fans, vertex, side, other) {
  if (!fans.has(vertex)) fans.set(vertex, {});
  const places = (fans.get(vertex)[side] ??= new Map([...new Set(vertex[side])].sort((a, b) => a.x - b.x).map((found, at) => [found, at])));
  return (places.get(other) + 1) / (places.size + 1) * vertex.w - vertex.w / 2;
}
