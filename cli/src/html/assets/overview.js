// The first view: what ran, when and how, how much of it there was, and where most of it went.

function showOverview(view) {
  view.replaceChildren(runs(), cards(), comparison() ?? "", element("div", { class: "columns" }, hottest()));
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
  if (overview.sampled !== null) return `seen in bursts: a sample of ${rate(overview.sampled)} of all checks`;
  if (overview.is_exact) return "counted exactly";
  return overview.is_selected ? "on paths that no test ran, nothing else" : "not all counted in the same way";
}

function cards() {
  const card = (value, label, note) =>
    element("div", { class: "card" }, element("b", {}, value), element("span", {}, label), element("small", {}, note));
  const found = [];
  if (overview.is_of_code) {
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
      found.push(card(grouped(TOTALS.get(name)), name, inclusive ? "measured in calling contexts" : "along paths"));
    }
  }
  return element("div", { class: "cards" }, found);
}

function comparison() {
  const before = overview.before;
  if (!before) return null;
  const rows = before.totals.map(({ name, total }) =>
    [name, grouped(total.before), grouped(total.after), element("span", changeClass(total), change(total.before, total.after))]);
  const note = before.is_of_one_module ? "" : ", another build: functions are matched by name and shape";
  return element("div", { class: "panel comparison" }, element("h2", {}, "Compared with an earlier profile"),
    element("p", { class: "faint" }, `${before.program}, ${before.date}${note}`),
    smallTable(["", "before", "after", "change"], "lrrr", rows));
}

function changeClass({ before, after }) {
  return { class: after > before ? "worse" : after < before ? "better" : null };
}

const panel = (title, ...content) => element("div", { class: "panel" }, element("h2", {}, title), content);

// Titles and tables, those that have rows.
function hottest() {
  const all = overview.instructions;
  const bar = (part, whole) => element("span", { class: "bar", style: `--share:${share(part, whole)}` }, percent(part, whole));
  const total = TOTALS.get(MAIN.name);
  const order = [...MAIN.own.keys()].sort((a, b) => MAIN.own[b] - MAIN.own[a]).slice(0, 12);
  const tables = [
    [`Functions by ${MAIN.name}`, [MAIN.name, "", "function"], "rrl",
      order.filter((row) => MAIN.own[row] > 0)
        .map((row) => [grouped(MAIN.own[row]), bar(MAIN.own[row], total), functionLink(functions.index[row])])],
    ["Hottest loops", ["instructions", "", "trips", "at", "function"], "rrrll", overview.loops.map((found) =>
      [grouped(found.ops), bar(found.ops, all), found.entries ? average(found.iterations / found.entries) : "", found.place,
        functionLink(found.function)])],
    ["Hottest paths", ["instructions", "", "times", "path in"], "rrrl", overview.paths.map((found) =>
      [grouped(found.ops), bar(found.ops, all), grouped(found.count),
        element("a", { href: `#function=${found.function}&path=${found.id}`, class: "name" }, functionName(found.function))])],
    ["Calls to the host", ["calls", "function"], "rl", overview.host_calls.slice(0, 12).map((found) =>
      [grouped(found.count), found.name])],
    ["Events", ["count", "kind"], "rl", overview.events.map((found) => [grouped(found.count), found.name])],
    ["What counting cost", ["counters", "placed", "increments"], "lrr", overview.costs.map((found) =>
      [found.placement, grouped(found.counters), grouped(found.increments)])],
  ];
  return tables.filter((table) => table[3].length > 0)
    .map(([title, titles, sides, rows]) => panel(title, smallTable(titles, sides, rows)));
}
