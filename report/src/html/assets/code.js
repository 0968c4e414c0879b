// A function's instructions and source lines side by side, each with its time and how often it ran.

const CHUNK = 100;
const MARGIN = 2;
const STRUCTURE = /^\s*(block|loop|else|end|try|catch|delegate|\)|\(func|\(local)/;

class Code {
  constructor(details) {
    this.details = details;
    this.listing = details.code;
    this.lines = countLines(details);
    [this.times, this.totals] = timeLines(details);
    this.hasTime = details.time !== null;
    this.instructions = new Map();
    this.sources = new Map();
    this.firstOfBlock = new Map();
    this.most = largest(this.lines.map((count) => count ?? 0)) || 1;
    this.mostTime = largest(this.times);
    this.element = element("div", { class: "code" }, this.sourcePanel(), this.instructionPanel());
  }

  place(block) {
    const at = this.firstPlace().get(block);
    return at === undefined ? "" : `${baseName(sourceFile(this.listing.file[at]).path)}:${this.listing.line[at]}`;
  }

  // The text of the source line that a block begins with.
  source(block) {
    const at = this.firstPlace().get(block);
    return at === undefined ? "" : sourceFile(this.listing.file[at]).lines?.[this.listing.line[at] - 1]?.trim() ?? "";
  }

  // By block, its first line of code that comes from a line of source.
  firstPlace() {
    if (!this.places) {
      this.places = new Map();
      this.listing.block.forEach((block, at) => {
        if (block >= 0 && this.listing.file[at] >= 0 && !this.places.has(block)) this.places.set(block, at);
      });
    }
    return this.places;
  }

  // Brings the line that takes most time into view or, without time, that ran most often, on both sides.
  showHottest() {
    const at = this.mostTime > 0 ? this.times.indexOf(this.mostTime) : this.lines.indexOf(this.most);
    if (at < 0) return;
    const { file, line, block } = this.listing;
    const source = this.sources.get(`${file[at]}:${line[at]}`)?.[0];
    [source, this.firstOfBlock.get(block[at])].filter(Boolean).forEach((row) => scrollTo(row, false));
  }

  instructionPanel() {
    const { text, offset, block, file, line } = this.listing;
    let open = -1;
    const rows = text.flatMap((shown, at) => {
      const begins = block[at] >= 0 && block[at] !== open;
      if (block[at] >= 0) open = block[at];
      const row = this.row(begins ? `b${block[at]}` : "", [this.lines[at], this.times[at]], shown,
        { title: offset[at] === null ? null : `offset 0x${offset[at].toString(16)}${this.withCallees(at)}`, class: block[at] < 0 ? "dead" : null });
      if (begins && !this.firstOfBlock.has(block[at])) this.firstOfBlock.set(block[at], row);
      row.block = block[at];
      if (file[at] >= 0) this.link(row, `${file[at]}:${line[at]}`, this.instructions, this.sources);
      return [row, this.ended(offset[at])].filter(Boolean);
    });
    return this.panel("Instructions", rows);
  }

  // The time of a call with what it calls.
  withCallees(at) {
    return this.totals[at] > this.times[at] ? `, ${duration(this.totals[at])} with callees` : "";
  }

  // The calls that ended, or stood, at an instruction; null if none did.
  ended(offset) {
    const count = sum(this.details.unfinished.filter((found) => found.offset === offset).map((found) => found.count));
    return count > 0 ? this.row("✗", [count, 0], `${count === 1 ? "call" : "calls"} ended here`, { class: "bad" }) : null;
  }

  // The lines that the code comes from, and a few around them, file by file.
  sourcePanel() {
    const files = new Map();
    this.listing.file.forEach((file, at) => {
      if (file < 0) return;
      if (!files.has(file)) files.set(file, new Map());
      const counts = files.get(file);
      const line = this.listing.line[at];
      const [count, time] = counts.get(line) ?? [0, 0];
      counts.set(line, [Math.max(count, this.lines[at] ?? 0), time + this.times[at]]);
    });
    if (files.size === 0) return null;
    return this.panel("Source", [...files].flatMap(([file, counts]) => this.fileRows(file, counts)));
  }

  fileRows(file, counts) {
    const { path, lines: text } = sourceFile(file);
    const numbers = [...counts.keys()].sort((a, b) => a - b);
    const rows = [element("div", { class: "file", title: path }, baseName(path), text ? null : " (not found when the report was made)")];
    let next = 0;
    for (const line of numbers) {
      const from = text ? Math.max(1, line - MARGIN, next) : line;
      if (next > 0 && from > next) rows.push(element("div", { class: "gap" }, "⋯"));
      for (let shown = Math.max(from, next); shown < line; shown += 1) rows.push(this.row(shown, [null, 0], text[shown - 1]));
      if (line >= next) rows.push(this.sourceRow(file, line, counts, text));
      next = Math.max(next, line + 1);
    }
    return rows;
  }

  sourceRow(file, line, counts, text) {
    const row = this.row(line, counts.get(line), text?.[line - 1] ?? "");
    this.link(row, `${file}:${line}`, this.sources, this.instructions);
    return row;
  }

  // The heat is that of the time, if there is any.
  row(label, [count, time], text, attributes = {}) {
    const part = this.mostTime > 0 ? time / this.mostTime : (count ?? 0) / this.most;
    return element("div", { ...attributes, class: `line ${attributes.class ?? ""} ${count === 0 && time === 0 ? "cold" : ""}`, style: part > 0 ? `--heat:${Math.sqrt(part)}` : null },
      this.hasTime ? element("span", { class: "count time" }, time > 0 ? duration(time) : "") : null,
      element("span", { class: "count" }, count === null ? "" : grouped(count)), element("span", { class: "label" }, String(label)),
      element("span", { class: "text" }, text));
  }

  // A row of one side, and the rows of the other that have the same key.
  link(row, key, side, other) {
    if (!side.has(key)) side.set(key, []);
    side.get(key).push(row);
    const partners = () => other.get(key) ?? [];
    const mark = (is) => [...side.get(key), ...partners()].forEach((found) => found.classList.toggle("linked", is));
    row.mark = mark;
    row.follow = () => partners()[0] && scrollTo(partners()[0]);
    row.addEventListener("mouseenter", () => mark(true));
    row.addEventListener("mouseleave", () => mark(false));
    row.addEventListener("click", row.follow);
  }

  panel(title, rows) {
    // Lines out of sight cost little: the browser lays out a chunk when it comes near.
    const chunks = [];
    for (let at = 0; at < rows.length; at += CHUNK) {
      const part = rows.slice(at, at + CHUNK);
      chunks.push(element("div", { class: "chunk", style: `contain-intrinsic-size:auto ${part.length * 19}px` }, part));
    }
    return element("div", { class: "panel" }, element("h2", {}, title),
      element("div", { class: this.hasTime ? "listing timed" : "listing", tabindex: 0, role: "region", "aria-label": title, "data-keys": true,
        "aria-description": "Arrow keys choose a line, Enter shows where it is on the other side", onkeydown: walker(rows) }, chunks));
  }

  show(block) {
    const row = this.firstOfBlock.get(block);
    if (row) scrollTo(row);
  }

  highlight(path) {
    const blocks = new Set(path ? blocksOf(path, this.details.edges) : []);
    this.element.classList.toggle("path-shown", path !== null);
    for (const row of this.element.querySelectorAll(".line")) row.classList.toggle("on-path", blocks.has(row.block));
  }
}

// Handles keys in a listing as the pointer does: what is chosen is marked, and Enter is a click.
function walker(rows) {
  const lines = rows.filter((row) => row.classList.contains("line"));
  let at = -1;
  const choose = (step) => {
    lines[at]?.classList.remove("current");
    lines[at]?.mark?.(false);
    at = Math.max(0, Math.min(lines.length - 1, at + step));
    lines[at]?.classList.add("current");
    lines[at]?.mark?.(true);
    lines[at]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const actions = { ArrowDown: () => choose(1), ArrowUp: () => choose(-1), Enter: () => lines[at]?.follow?.() };
  return (event) => {
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  };
}

// Within its own panel only.
function scrollTo(row, flashes = true) {
  const panel = row.closest(".listing");
  const offset = row.getBoundingClientRect().top - panel.getBoundingClientRect().top;
  panel.scrollTop += offset - panel.clientHeight / 3;
  if (!flashes) return;
  row.classList.add("flash");
  setTimeout(() => row.classList.remove("flash"), 900);
}

// The number of times each line ran: the times its block began, less the calls that ended before it. Null for mere syntax.
function countLines({ blocks, unfinished, code: { text, block } }) {
  const position = new Map();
  return text.map((shown, at) => {
    const here = block[at];
    if (here < 0 || STRUCTURE.test(shown)) return null;
    const before = position.get(here) ?? 0;
    position.set(here, before + 1);
    const ended = unfinished.filter((found) => found.block === here && found.ops <= before);
    return blocks.count[here] - sum(ended.map((found) => found.count));
  });
}

// The nanoseconds in which each line was executed, and those with what it called. A sample is at an instruction: the last line that
// begins at or before it.
function timeLines({ time, code: { offset } }) {
  const found = [offset.map(() => 0), offset.map(() => 0)];
  const lines = [...offset.keys()].filter((at) => offset[at] !== null).sort((a, b) => offset[a] - offset[b] || a - b);
  let next = 0;
  time?.offset.forEach((place, at) => {
    while (next < lines.length && offset[lines[next]] <= place) next += 1;
    const line = lines[Math.max(next - 1, 0)];
    found[0][line] += time.own_ns[at];
    found[1][line] += time.total_ns[at];
  });
  return found;
}

function baseName(path) {
  return path.split("/").pop();
}
