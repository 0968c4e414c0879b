// The table of all functions: sorted by any column, searched, and drawn only as far as it is seen.

const ROW_HEIGHT = 30;
const SPARE_ROWS = 8;

// The columns: title, text of a row, what to sort by, whether small comes first, and how wide.
function columnsOfFunctions() {
  const columns = [];
  const texts = (title, values, kind) =>
    columns.push({ title, text: (row) => values[row], key: (row) => values[row], kind, isText: true });
  const numbers = (title, values, text = grouped) =>
    columns.push({ title, text: (row) => text(values[row]), key: (row) => values[row], kind: "number" });
  texts("function", functions.name, "name");
  columns[0].hover = fullName;
  functions.figures.forEach((found, at) => {
    const total = TOTALS.get(found.name);
    const shown = (number) => amount(found.name, number);
    numbers(found.name, found.own, shown);
    if (at === 0 || found.with_callees) {
      columns.push({ title: "share", of: found.name, text: (row) => percent(found.own[row], total), key: (row) => found.own[row],
        kind: "share", share: (row) => share(found.own[row], total) });
    }
    if (found.points) numbers("±", found.points, margin);
    if (found.with_callees) numbers(`${found.name} with callees`, found.with_callees, shown);
    if (found.points_with_callees) numbers("± with callees", found.points_with_callees, margin);
    if (found.before) {
      // Sorted by how much changed, whichever way.
      columns.push({ title: `change of ${found.name}`, of: found.name, isChange: true, text: (row) => change(found.before[row], found.own[row], found.name),
        key: (row) => Math.abs(found.own[row] - found.before[row]), kind: "number",
        class: (row) => (isNoise(found, row) ? "faint" : changeClass({ before: found.before[row], after: found.own[row] }).class) });
    }
  });
  if (functions.paths) numbers("paths", functions.paths);
  if (overview.is_of_code) {
    columns.push({ title: "blocks ran", text: (row) => `${functions.covered[row]} of ${functions.blocks[row]}`,
      key: (row) => functions.covered[row] / functions.blocks[row] || 0, kind: "number" });
  }
  if (overview.sampled !== null) {
    columns.push({ title: "sampled", text: (row) => functions.sampled[row] === null ? "" : rate(functions.sampled[row]),
      key: (row) => functions.sampled[row] ?? 0, kind: "number" });
  }
  texts("place", functions.place, "place");
  return columns;
}

class FunctionTable {
  constructor(view) {
    this.columns = columnsOfFunctions();
    this.sorted = { column: this.firstColumn(), down: true };
    this.selected = 0;
    this.rows = [];
    this.draw = oncePerFrame(() => this.drawRows());
    this.build(view);
    this.arrange();
  }

  // The first sort order. With an earlier profile it is by the change of the steadiest figure.
  firstColumn() {
    const isFirst = (column) => column.isChange && column.of === steadiest(functions.figures.map(({ name }) => name));
    return this.columns.find(isFirst) ?? this.columns.find((column) => !column.isText);
  }

  build(view) {
    this.search = element("input", { type: "search", placeholder: "name or index", "aria-label": "Search functions",
      oninput: () => this.arrange() });
    this.status = element("span", { class: "faint", role: "status" });
    this.head = element("div", { role: "row", class: "head" });
    this.body = element("div", { role: "rowgroup", class: "rows" });
    this.grid = element("div", { class: "grid", role: "grid", tabindex: 0, "aria-label": "Functions", "data-keys": true,
      onscroll: this.draw, onkeydown: (event) => this.key(event) }, this.head, this.body);
    this.grid.style.setProperty("--columns", this.columns.map(widthOf).join(" "));
    view.replaceChildren(element("div", { class: "toolbar" }, this.search, this.status, legend()), this.grid);
    new ResizeObserver(this.draw).observe(this.grid);
  }

  // The rows, in their order.
  arrange() {
    const asked = this.search.value.trim().toLowerCase();
    const all = Array.from({ length: ROWS }, (_, row) => row);
    const fits = (row) => functions.name[row].toLowerCase().includes(asked) || String(functions.index[row]) === asked
      || functions.place[row].toLowerCase().includes(asked);
    this.rows = asked ? all.filter(fits) : all;
    const { column: { key, isText }, down } = this.sorted;
    const sign = down ? -1 : 1;
    this.rows.sort(isText ? (a, b) => sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) : (a, b) => sign * (key(a) - key(b)));
    this.selected = 0;
    this.grid.scrollTop = 0;
    this.status.textContent = asked ? `${grouped(this.rows.length)} of ${countOf(ROWS, "function")}` : countOf(ROWS, "function");
    this.grid.setAttribute("aria-rowcount", this.rows.length + 1);
    this.drawHead();
    this.draw();
  }

  drawHead() {
    this.head.replaceChildren(...this.columns.map((column) => {
      const isSorted = column === this.sorted.column;
      const arrow = isSorted ? (this.sorted.down ? " ▾" : " ▴") : "";
      const order = isSorted ? (this.sorted.down ? "descending" : "ascending") : "none";
      return element("span", { role: "columnheader", class: column.kind, "aria-sort": order, title: column.title },
        element("button", { type: "button", onclick: () => this.sortBy(column) }, column.title + arrow));
    }));
  }

  sortBy(column) {
    const down = column === this.sorted.column ? !this.sorted.down : !column.isText;
    this.sorted = { column, down };
    this.arrange();
    this.head.children[this.columns.indexOf(column)].firstChild.focus();
  }

  drawRows() {
    const height = this.grid.clientHeight;
    const first = Math.max(0, Math.floor(this.grid.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const last = Math.min(this.rows.length, first + Math.ceil(height / ROW_HEIGHT) + 2 * SPARE_ROWS);
    this.body.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    this.body.replaceChildren(...this.rows.slice(first, last).map((row, at) => this.row(row, first + at)));
  }

  row(row, position) {
    const cell = (column) => element("span", { role: "gridcell", class: `${column.kind} ${column.class?.(row) ?? ""}`,
      title: column.hover?.(row) ?? (column.isText ? column.text(row) : null), style: column.share ? `--share:${column.share(row)}` : null },
    column.kind !== "name" ? column.text(row) : [ownerMark(functions.owner[row]), functions.index[row] === null ? column.text(row) : functionLink(functions.index[row])]);
    return element("div", { role: "row", "aria-rowindex": position + 2, "aria-selected": position === this.selected,
      style: `top:${position * ROW_HEIGHT}px`, onclick: () => this.select(position) }, this.columns.map(cell));
  }

  select(position) {
    this.selected = Math.max(0, Math.min(this.rows.length - 1, position));
    const top = this.selected * ROW_HEIGHT;
    const room = this.grid.clientHeight - this.head.offsetHeight - ROW_HEIGHT;
    this.grid.scrollTop = Math.max(top - room, Math.min(top, this.grid.scrollTop));
    this.draw();
  }

  key(event) {
    const page = Math.floor(this.grid.clientHeight / ROW_HEIGHT) - 2;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -ROWS, End: ROWS };
    if (event.target.closest("[role=columnheader]")) return;
    if (event.key === "Enter" && !event.target.closest("a")) openFunction(functions.index[this.rows[this.selected]]);
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.select(this.selected + steps[event.key]);
  }
}

// Instructions and calls are the same in each run of the same program; what was measured is not.
function steadiest(names) {
  return ["instructions", "calls"].find((name) => names.includes(name)) ?? names[0];
}

// Below this share of all, a change of what was measured tells nothing.
const NOISE = 0.005;

function isNoise({ name, own, before }, row) {
  const isSteady = (name === "instructions" || name === "calls") && overview.sampled === null;
  return !isSteady && Math.abs(own[row] - before[row]) < NOISE * Math.max(TOTALS.get(name), 1);
}

// Fixed, since each row is laid out by itself. No figure is cut, titles and names may be. On a narrow screen names keep
// half of the room, and figures scroll beside them.
function widthOf({ kind, title, text }) {
  if (kind === "name") return "minmax(min(16em,50vw),min(30em,50vw))";
  if (kind === "place") return "minmax(12em,1fr)";
  let longest = Math.min(title.length + 2, 16);
  for (let row = 0; row < ROWS; row += 1) longest = Math.max(longest, text(row).length);
  return `${longest * 0.6 + 1.4}em`;
}
