// A function's graph: blocks as large and as warm as they are hot, edges as thick as they are frequent. Instructions are those of
// a block, but what is measured is known by path: a block is as hot as the paths through it.

// The blocks that are shown: all, those that ran, or those with at least this share of the function's instructions, and those on
// paths with at least that share.
const HOT_BLOCK = 0.005;
const HOT_PATH = 0.01;
const FEW_BLOCKS = 70;
const MANY_BLOCKS = 120;
// No more blocks are drawn: of an interpreter's loop with ten thousand a browser would draw for long, and nobody could read it.
const MOST_BLOCKS = 1000;

// The possible heats: the instructions of blocks, or a metric of the paths through them.
const HEATS = ["instructions", ...overview.path_metrics.map((metric) => `${metric} on paths`)];

// Below this zoom text is too small to read.
const READABLE = 0.6;
// So many letters of a block's first source line are shown in it.
const SOURCE_LETTERS = 36;

// The blocks that executed most, as many as are drawn, in their order; the entry is one of them.
function mostExecuted(blocks, ops) {
  if (blocks.length <= MOST_BLOCKS) return blocks;
  const [entry, ...others] = blocks;
  const most = others.sort((a, b) => ops[b] - ops[a] || a - b).slice(0, MOST_BLOCKS - 1);
  return [entry, ...most.sort((a, b) => a - b)];
}

class Graph {
  // `place` and `source` tell where in the source a block begins, and the text there; "" if that is not known.
  constructor(details, { place, source }, onblock) {
    Object.assign(this, { details, place, source, onblock });
    const { blocks } = details;
    this.ops = sum(blocks.ops);
    this.hottest = blocks.ops.indexOf(largest(blocks.ops));
    this.heat = HEATS[0];
    this.most = largest(details.edges.count ?? []);
    this.chords = new Set(details.chords ?? []);
    const ran = blocks.count.filter((count) => count > 0).length;
    this.shown = blocks.count.length <= FEW_BLOCKS ? "all" : ran <= MANY_BLOCKS ? "ran" : "hot";
    this.zoomBy = 1;
    // The number of edges that leave each block.
    this.ways = new Map();
    details.edges.from.forEach((from) => this.ways.set(from, (this.ways.get(from) ?? 0) + 1));
    this.canvas = element("div", { class: "graph", tabindex: 0, role: "group", "aria-label": "Control-flow graph",
      onpointerdown: (event) => this.drag(event), onwheel: (event) => this.wheel(event) });
    this.note = element("span", { class: "faint" });
    this.element = element("div", { class: "panel" }, this.toolbar(), this.canvas);
    this.build();
  }

  toolbar() {
    const blocks = choice("Blocks", [["all", "All blocks"], ["ran", "that ran"], ["hot", "hot"]], this.shown, (shown) => {
      this.shown = shown;
      this.build();
    });
    const heats = this.details.through.length > 0 && selection("Heat", HEATS, this.heat, (heat) => {
      this.heat = heat;
      this.build();
    });
    const counters = this.details.chords && element("button", { type: "button", "aria-pressed": false,
      title: "Edges that carry a counter when edges are counted: the chords of a spanning tree, here by the static estimate. The counts of all others follow.",
      onclick: () => counters.setAttribute("aria-pressed", this.canvas.classList.toggle("counters")) }, "Counters");
    const zoom = [[1.25, "+", "Larger"], [0.8, "−", "Smaller"], [0, "Fit", "Fit all of it"]].map(([factor, text, label]) =>
      element("button", { type: "button", "aria-label": label, title: label, onclick: () => this.zoom(factor) }, text));
    return element("div", { class: "toolbar" }, element("h2", {}, "Control flow"), blocks, heats || null, counters,
      element("span", { class: "choice" }, zoom), this.note);
  }

  visible() {
    const { blocks } = this.details;
    const all = blocks.count.map((_, block) => block);
    const hotPaths = this.details.paths.filter((path) => path.ops >= HOT_PATH * this.ops);
    const onHotPath = new Set(hotPaths.flatMap((path) => blocksOf(path, this.details.edges)));
    const isShown = { all: () => true, ran: (block) => blocks.count[block] > 0,
      hot: (block) => blocks.ops[block] >= HOT_BLOCK * this.ops || onHotPath.has(block) };
    return mostExecuted(all.filter((block) => block === 0 || isShown[this.shown](block)), blocks.ops);
  }

  build() {
    const { blocks, edges } = this.details;
    const visible = this.visible();
    const hidden = blocks.count.length - visible.length;
    const limit = visible.length === MOST_BLOCKS ? `, as at most ${grouped(MOST_BLOCKS)} are drawn` : "";
    this.note.textContent = hidden ? `${countOf(hidden, "block")} not shown${limit}` : "";
    const exit = blocks.count.length;
    const nodes = visible.map((block) => this.node(block));
    const seen = new Set(visible);
    if (edges.to.some((to, edge) => to === exit && seen.has(edges.from[edge]))) nodes.push({ block: exit, w: 44, h: 22 });
    const at = new Map(nodes.map((node, position) => [node.block, position]));
    const shown = edges.from.map((_, edge) => edge).filter((edge) => at.has(edges.from[edge]) && at.has(edges.to[edge]));
    const wires = shown.map((edge) => ({ edge, from: at.get(edges.from[edge]), to: at.get(edges.to[edge]) }));
    this.size = layOut(nodes, wires);
    this.blockElements = new Map(nodes.map((node) => [node.block, this.blockElement(node)]));
    this.edgeElements = new Map(wires.map((wire) => [wire.edge, this.edgeElement(wire, nodes)]));
    this.drawing = svg("svg", { viewBox: `0 0 ${this.size.width} ${this.size.height}` },
      [...this.edgeElements.values()], [...this.blockElements.values()]);
    this.canvas.replaceChildren(this.drawing);
    this.begin();
    requestAnimationFrame(() => this.begin());
  }

  // Hot blocks are larger, up to almost twice.
  node(block) {
    const { count, size } = this.details.blocks;
    const [amount, all, what] = this.amount(block);
    const heat = share(amount, all);
    const scale = 0.9 + 0.7 * Math.sqrt(heat);
    const texts = [`b${block}  ${grouped(count[block])} ×`, `${what ?? countOf(size[block], "instruction")}, ${percent(amount, all)}`];
    const source = this.source(block);
    if (source) texts.push(source.length > SOURCE_LETTERS ? `${source.slice(0, SOURCE_LETTERS - 1)}…` : source);
    const w = Math.max(...texts.map((text) => text.length)) * 6.6 + 22;
    return { block, texts, heat, scale, w: w * scale, h: (source ? 57 : 42) * scale };
  }

  // A block's amount of the present heat, the total, and the heat's name unless it is instructions.
  amount(block) {
    const found = this.details.through[HEATS.indexOf(this.heat) - 1];
    return found ? [found.blocks[block], found.total, `${grouped(found.blocks[block])} ${this.heat}`] : [this.details.blocks.ops[block], this.ops, null];
  }

  blockElement({ block, texts, heat, scale, x, y, w, h }) {
    if (!texts) {
      return svg("g", { class: "block exit", transform: `translate(${x},${y})` },
        svg("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: h / 2 }), svg("text", { "text-anchor": "middle", dy: "0.35em" }, "exit"));
    }
    const choose = () => this.onblock(block);
    return svg("g", { class: this.details.blocks.count[block] ? "block" : "block cold", tabindex: 0, role: "button",
      "aria-label": `block ${texts.join(", ")}`, transform: `translate(${x},${y})`, style: `--heat:${Math.sqrt(heat)}`,
      onclick: choose, onkeydown: (event) => event.key === "Enter" && choose() },
    svg("title", {}, `${texts.join("\n")}\n${this.place(block)}`),
    svg("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: 5 }),
    svg("g", { transform: `scale(${scale}) translate(0,${texts.length > 2 ? -8 : 0})`, "text-anchor": "middle" },
      svg("text", { dy: "-0.3em", class: "strong" }, texts[0]), svg("text", { dy: "1.05em", class: "small" }, texts[1]),
      texts.length > 2 ? svg("text", { y: 26, class: "small source" }, texts[2]) : null));
  }

  // A cut edge: a stub at each end, which says where the other is.
  cutElement(edge, from, to) {
    const times = this.details.edges.count?.[edge] ?? null;
    const name = ({ block, texts }) => (texts ? `b${block}` : "exit");
    const label = `to ${name(to)}${times === null ? "" : `, ${grouped(times)} ×`}`;
    const [below, above] = [from.y + from.h / 2, to.y - to.h / 2];
    return svg("g", { class: `edge cut${times === 0 ? " cold" : ""}${this.thrown(edge)}` }, svg("title", {}, `${name(from)} ${label}`),
      svg("path", { d: `M${from.x},${below}v${STUB}M${to.x},${above - STUB}v${STUB}` }),
      svg("text", { x: from.x + 4, y: below + STUB, class: "small" }, label));
  }

  // The class of edges to handlers of exceptions.
  thrown(edge) {
    return this.details.edges.way[edge].startsWith("catch") ? " thrown" : "";
  }

  edgeElement({ edge, from, to, points: corners, isBack, isCut }, nodes) {
    if (isCut) return this.cutElement(edge, nodes[from], nodes[to]);
    const { count, way } = this.details.edges;
    const times = count ? count[edge] : null;
    const line = corners.length ? curve(corners) : selfLoop(nodes[from]);
    const end = corners.length ? corners[corners.length - 1] : { x: nodes[to].x + nodes[to].w / 2, y: nodes[to].y - nodes[to].h / 4 };
    const tip = corners.length ? (isBack ? "-4,7 4,7" : "-4,-7 4,-7") : "7,-4 7,4";
    const label = corners.length ? labelPlace(corners) : { x: end.x + 6, y: end.y - 6 };
    const isChoice = this.ways.get(this.details.edges.from[edge]) > 1;
    return svg("g", { class: `edge${times === 0 ? " cold" : ""}${this.thrown(edge)}${this.chords.has(edge) ? " chord" : ""}`,
      style: `--width:${times ? 1 + 2.5 * Math.sqrt(times / this.most) : 1}` },
    svg("title", {}, `b${this.details.edges.from[edge]} ${way[edge]}${times === null ? "" : `: ${grouped(times)} ×`}`),
    svg("path", { d: line }), svg("polygon", { points: `0,0 ${tip}`, transform: `translate(${end.x},${end.y})` }),
    svg("rect", { class: "counter", x: label.x - 4, y: label.y - 18, width: 8, height: 8, rx: 1 }),
    isChoice && times !== null ? svg("text", { x: label.x, y: label.y, class: "small" }, grouped(times)) : null);
  }

  // The factor by which all of it is seen at once.
  fit() {
    const { clientWidth, clientHeight } = this.canvas;
    return Math.min(1, (clientWidth - 20) / this.size.width, (clientHeight - 10) / this.size.height);
  }

  // 0 shows all of it.
  zoom(factor) {
    this.zoomTo(factor ? this.zoomBy * factor : this.fit());
  }

  zoomTo(factor) {
    this.zoomBy = Math.max(factor, 0.02);
    this.drawing.setAttribute("width", this.size.width * this.zoomBy);
    this.drawing.setAttribute("height", this.size.height * this.zoomBy);
  }

  // At first the hottest block is in the middle, and nothing is too small to read.
  begin() {
    this.zoomTo(Math.max(READABLE, this.fit()));
    this.reveal(this.hottest);
  }

  // Brings a block into view.
  reveal(block) {
    const found = this.blockElements.get(block)?.getBoundingClientRect();
    if (!found) return;
    const { canvas } = this;
    const box = canvas.getBoundingClientRect();
    canvas.scrollLeft += found.left - box.left - (box.width - found.width) / 2;
    canvas.scrollTop += found.top - box.top - (box.height - found.height) / 2;
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  }

  drag(event) {
    if (event.pointerType !== "mouse" || event.target.closest(".block")) return;
    const { canvas } = this;
    const [x, y, left, top] = [event.clientX, event.clientY, canvas.scrollLeft, canvas.scrollTop];
    const move = (to) => { canvas.scrollLeft = left + x - to.clientX; canvas.scrollTop = top + y - to.clientY; };
    const stop = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", stop); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }

  // Shows one path among all; null shows none.
  highlight(path) {
    this.canvas.classList.toggle("path-shown", path !== null);
    const blocks = new Set(path ? blocksOf(path, this.details.edges) : []);
    const edges = new Set(path ? path.edges : []);
    this.blockElements.forEach((found, block) => found.classList.toggle("on-path", blocks.has(block)));
    this.edgeElements.forEach((found, edge) => found.classList.toggle("on-path", edges.has(edge)));
  }
}

// The blocks of a path; its last edge leads out of it.
function blocksOf(path, edges) {
  return [path.start, ...path.edges.slice(0, -1).map((edge) => edges.to[edge])];
}

function curve(corners) {
  return corners.map(({ x, y }, at) => {
    if (at === 0) return `M${x},${y}`;
    const before = corners[at - 1];
    const middle = (before.y + y) / 2;
    return `C${before.x},${middle} ${x},${middle} ${x},${y}`;
  }).join("");
}

function selfLoop({ x, y, w, h }) {
  const side = x + w / 2;
  return `M${side},${y + h / 4}C${side + 30},${y + h / 4} ${side + 30},${y - h / 4} ${side},${y - h / 4}`;
}

// Near where the edge leaves its block, where edges are apart already.
function labelPlace([first, second]) {
  return { x: first.x + (second.x - first.x) * 0.3 + 4, y: first.y + (second.y > first.y ? 18 : -10) };
}
