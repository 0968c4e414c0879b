// The first view: what stands out, where most of it went, and then what ran, when and how, and how much of it there was.

// Returns the flame graph; null if there is nothing to draw.
function showOverview(view) {
  const place = element("div", { class: "panel flame-panel" });
  view.replaceChildren(findings() ?? "", comparison() ?? "", place, element("div", { class: "columns" }, hottest()), cards(), runs());
  const flame = functions.figures.length > 0 ? new FlameGraph(place, { isPanel: true }) : null;
  if (!(flame?.stacks.total > 0)) {
    place.remove();
    return null;
  }
  flame.draw();
  return flame;
}

// The findings, in a sentence each.
function findings() {
  const found = [trapped(), heaviestLine(), heaviestFunction(), heaviestCaller(), hottestLoop(), mostCalledHost(), overview.collector, largestChange()].filter(Boolean);
  return found.length === 0 ? null : element("ul", { class: "findings panel", "aria-label": "Findings" },
    found.map((sentence) => element("li", {}, sentence)));
}

const NOTABLE = 0.05;

// How far a share may be wrong; empty where it is counted.
const margin = (points) => (points == null ? "" : points.toFixed(1));

const portion = (name) => `${name} ${name === "time" ? "is" : "are"}`;

function trapped() {
  const found = overview.runs.find((run) => run.trap);
  return found ? [element("b", { class: "bad" }, "The program trapped"), `: ${found.trap}.`] : null;
}

// Whose line it is matters more than in whose function the processor was: so it comes first.
function heaviestLine() {
  const [found] = overview.lines;
  if (!found || MAIN.name !== "time" || share(found.own_ns, overview.time.time_ns) < NOTABLE) return null;
  return [element("b", {}, percent(found.own_ns, overview.time.time_ns)), " of the time is at ", element("code", {}, found.place), "."];
}

function heaviestFunction() {
  const total = TOTALS.get(MAIN.name);
  const row = MAIN.own.indexOf(largest(MAIN.own));
  if (row < 0 || share(MAIN.own[row], total) < NOTABLE) return null;
  const place = functions.place[row];
  return [element("b", {}, percent(MAIN.own[row], total)), ` of the ${portion(MAIN.name)} in `, functionLink(functions.index[row]),
    place ? ` (${place})` : "", "."];
}

// The innermost function under which most of the program runs, unless the program is that.
function heaviestCaller() {
  const stacks = contexts && stacksOfProfile();
  const weight = stacks?.weights.find(({ name }) => name !== "calls");
  if (!weight) return null;
  stacks.arrange(weight.name);
  let stack = stacks.top[0];
  const isMost = (below) => below !== undefined && stacks.widths[below] >= 0.75 * stacks.total;
  while (stack !== undefined && isMost(stacks.below[stack][0])) stack = stacks.below[stack][0];
  const index = stack === undefined ? null : stacks.function(stack);
  if (index === null || !isMost(stack) || stacks.below[stack].length === 0) return null;
  return [element("b", {}, percent(stacks.widths[stack], stacks.total)), ` of the ${portion(weight.name)} under `, functionLink(index), ", with what it calls."];
}

function hottestLoop() {
  const [timed] = overview.loops_by_time;
  if (timed && MAIN.name === "time" && share(timed.own_ns, overview.time.time_ns) >= NOTABLE) {
    return [element("b", {}, percent(timed.own_ns, overview.time.time_ns)), " of the time is in the loop at ", element("code", {}, timed.place),
      " in ", functionLink(timed.function), "."];
  }
  const [found] = overview.loops;
  if (!found || share(found.ops, overview.instructions) < NOTABLE) return null;
  const trips = found.entries ? `, ${average(found.iterations / found.entries)} each time it is entered` : "";
  return ["The loop at ", element("code", {}, found.place), " in ", functionLink(found.function), ` went round ${grouped(found.iterations)} times${trips}: `,
    element("b", {}, percent(found.ops, overview.instructions)), " of the instructions."];
}

function mostCalledHost() {
  const all = sum(overview.host_calls.map(({ count }) => count));
  if (all < 1000) return null;
  const most = largest(overview.host_calls.map(({ count }) => count));
  const found = overview.host_calls.find(({ count }) => count === most);
  return ["The host was called ", element("b", {}, grouped(all)), " times, most often ", element("code", {}, found.name), ` (${grouped(found.count)}).`];
}

function largestChange() {
  const figure = functions.figures.find(({ name }) => name === steadiest(functions.figures.map((found) => found.name)));
  if (!figure?.before) return null;
  const changes = figure.own.map((after, row) => Math.abs(after - figure.before[row]));
  const row = changes.indexOf(largest(changes));
  if (row < 0 || changes[row] === 0) return ["No function's ", figure.name, " changed."];
  const index = functions.index[row];
  return ["The largest change is in ", index === null ? functions.name[row] : functionLink(index), ": ",
    element("b", changeClass({ before: figure.before[row], after: figure.own[row] }),
      change(figure.before[row], figure.own[row], figure.name)), ` ${figure.name}.`];
}

function runs() {
  const one = (run) => {
    const after = run.wall_ns === null ? "" : ` after ${duration(run.wall_ns)}`;
    return [
      element("p", {}, element("code", {}, run.args)),
      element("p", { class: run.trap ? "bad" : null }, `${run.ending}${after}`, run.trap ? `: ${run.trap}` : null),
      element("p", { class: "faint" }, `${run.date}, ${run.machine}`),
    ];
  };
  const shown = overview.runs.slice(0, 5).map(one);
  const more = overview.runs.length - 5;
  const hash = `module ${overview.module_hash.slice(0, 16)}…`;
  return element("div", { class: "runs" }, shown, more > 0 ? element("p", {}, `and ${countOf(more, "more run")}`) : null,
    element("p", { class: "faint" }, hash));
}

// Rates have as many digits as it takes to be not 0.
function rate(found) {
  return `${(found * 100).toPrecision(2)}%`;
}

function kindOfFigures() {
  if (overview.sampled !== null) {
    const overlap = overview.expected_overlap;
    const agrees = overlap === null ? "" : `; functions should overlap by ${(overlap * 100).toFixed(1)}% with the complete profile`;
    const size = `seen in bursts: a sample of ${rate(overview.sampled)} of all checks${agrees}`;
    return overview.unseen ? `${size}; ${overview.unseen}` : size;
  }
  if (overview.is_exact) return "counted exactly";
  return overview.is_selected ? "on paths that no test ran, nothing else" : "not all counted in the same way";
}

// How well time is known.
function timeOfSamples() {
  return `of the processor, in ${countOf(overview.time.samples, "sample")}`;
}

function cards() {
  const card = (value, label, note) =>
    element("div", { class: "card" }, element("b", {}, value), element("span", {}, label), element("small", {}, note));
  const found = [];
  // A sample that saw nothing has nothing to tell of code.
  if (overview.is_of_code && (overview.sampled === null || overview.instructions > 0)) {
    found.push(card(grouped(overview.instructions), "instructions", kindOfFigures()));
    found.push(card(grouped(overview.calls), "calls", `${grouped(overview.ran)} of ${countOf(overview.functions, "function")} ran`));
  }
  if (overview.contexts) {
    const { records, height } = overview.contexts;
    found.push(card(grouped(records), "calling contexts", `at most ${grouped(height)} deep`));
  }
  if (functions.paths) found.push(card(grouped(overview.paths_in_all), "paths", "ran to their end"));
  for (const { name, own, with_callees: inclusive } of functions.figures) {
    if (name !== "instructions" && name !== "calls") {
      const how = inclusive ? "measured in calling contexts" : "along paths";
      found.push(card(amount(name, TOTALS.get(name)), name, name === "time" ? timeOfSamples() : how));
    }
  }
  return element("div", { class: "cards" }, found);
}

function comparison() {
  const before = overview.before;
  if (!before) return null;
  const rows = before.totals.map(({ name, total }) =>
    [name, amount(name, total.before), amount(name, total.after), element("span", changeClass(total), change(total.before, total.after, name))]);
  const note = before.is_of_one_module ? "" : ", another build: functions are matched by name and shape";
  return element("div", { class: "panel comparison" }, element("h2", {}, "Compared with an earlier profile"),
    element("p", { class: "faint" }, `${before.program}, ${before.date}${note}`),
    smallTable(["", "before", "after", "change"], "lrrr", rows));
}

function changeClass({ before, after }) {
  return { class: after > before ? "worse" : after < before ? "better" : null };
}

// Shows the path in its function: by its source lines or, without debug information, by its number.
function pathLink({ function: index, id, lines }) {
  return element("a", { href: `#function=${index}&path=${id}`, class: "name", title: lines }, lines ?? `path ${id}`);
}

const panel = (title, ...content) => element("div", { class: "panel" }, element("h2", {}, title), content);

// Titles and tables, those that have rows.
function hottest() {
  const all = overview.instructions;
  // In the colour of the code's owner, if that is given.
  const bar = (part, whole, owner) => element("span", { class: `bar ${owner === undefined ? "" : OWNERS[owner][0]}`, style: `--share:${share(part, whole)}` }, percent(part, whole));
  const heaviest = ({ name, own, points }) => {
    const order = [...own.keys()].sort((a, b) => own[b] - own[a]).slice(0, 12).filter((row) => own[row] > 0);
    return [`Functions by ${name}`, [name, "", points ? "±" : "", "function"], "rrrl",
      order.map((row) => [amount(name, own[row]), bar(own[row], TOTALS.get(name), functions.owner[row]), margin(points?.[row]),
        functions.index[row] === null ? functions.name[row] : ownedLink(functions.index[row])])];
  };
  // Time is also that of the host and of the engine.
  const byTime = (title, what, found) => [title, ["time", "", "±", "with callees", "±", "samples", ...what.titles], `rrrrrr${what.sides}`, found.map((timed) =>
    [duration(timed.own_ns), bar(timed.own_ns, overview.time.time_ns, what.owner(timed)), margin(timed.points),
      percent(timed.total_ns, overview.time.time_ns), margin(timed.total_points), grouped(timed.samples), ...what.cells(timed)])];
  const line = ({ owner, place, text }) => [[ownerMark(owner), place], element("code", { class: "faint" }, text ?? "")];
  const ofFunctions = (found) => (found.name === "time" ? byTime("Functions by time", { titles: ["function"], sides: "l", owner: ({ owner }) => owner,
    cells: ({ name, full_name: full, function: index, owner }) =>
      [index === null ? [ownerMark(owner), element("span", { title: full }, name)] : ownedLink(index)] }, overview.routines) : heaviest(found));
  const measured = functions.figures.filter(({ name }) => name !== MAIN.name && name !== "calls");
  const tables = [
    ["Lines by instructions", ["instructions", "", "line", ""], "rrll", overview.lines_by_instructions.map((found) =>
      [grouped(found.ops), bar(found.ops, all, found.owner), ...line(found)])],
    byTime("Lines by time", { titles: ["line", ""], sides: "ll", owner: ({ owner }) => owner, cells: line }, overview.lines),
    ofFunctions(MAIN),
    byTime("Loops by time", { titles: ["at", "function"], sides: "ll", owner: (timed) => ownerOf(timed.function),
      cells: (timed) => [timed.place, ownedLink(timed.function)] }, overview.loops_by_time),
    ...measured.map(ofFunctions),
    ["Hottest loops", ["instructions", "", "trips", "at", "function"], "rrrll", overview.loops.map((found) =>
      [grouped(found.ops), bar(found.ops, all, ownerOf(found.function)), found.entries ? average(found.iterations / found.entries) : "", found.place,
        ownedLink(found.function)])],
    ["Hottest paths", ["instructions", "", "times", "in", "path"], "rrrll", overview.paths.map((found) =>
      [grouped(found.ops), bar(found.ops, all, ownerOf(found.function)), grouped(found.count), ownedLink(found.function), pathLink(found)])],
    ["Threads", ["time", "share", "instructions", "thread"], "rrrl", overview.threads.map(({ name, cpu_ns: time, ops }) =>
      [duration(time), bar(time, sum(overview.threads.map((thread) => thread.cpu_ns))), ops === null ? "" : grouped(ops), name])],
    ["Calls to the host", [overview.host_calls.some(({ time_ns: time }) => time !== null) ? "time" : "", "calls", "function"], "rrl",
      overview.host_calls.slice(0, 12).map((found) =>
        [found.time_ns === null ? "" : duration(found.time_ns), grouped(found.count), [ownerMark(RUNTIME), found.name]])],
    ["Events", ["count", "kind"], "rl", overview.events.map((found) => [grouped(found.count), found.name])],
    ["What counting cost", ["counters", "placed", "increments"], "lrr", overview.costs.map((found) =>
      [found.placement, grouped(found.counters), grouped(found.increments)])],
  ];
  return tables.filter((table) => table[3].length > 0)
    .map(([title, titles, sides, rows]) => panel(title, smallTable(titles, sides, rows)));
}
