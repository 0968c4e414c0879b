// One function: its figures, its graph, its loops and paths, its code.

function openFunction(index) {
  if (index !== null) location.hash = `function=${index}`;
}

class FunctionView {
  constructor(view, index, path) {
    this.row = rowOf.get(index);
    this.index = index;
    view.replaceChildren(this.head());
    const details = detailsOf(this.row);
    if (!details) {
      view.append(this.withoutDetails());
      return;
    }
    this.code = details.code && new Code(details);
    const { code } = this;
    const tell = { place: (block) => code?.place(block) ?? "", source: (block) => code?.source(block) ?? "" };
    this.graph = new Graph(details, tell, (block) => code?.show(block));
    // People read source: where there is some it comes first.
    const listing = code?.element ?? element("p", { class: "note" }, "The module was not at hand when the report was made, so there are no instructions here: give it with ",
      element("code", {}, "--module"), ".");
    const drawn = element("div", { class: "with-side" }, this.graph.element, element("div", { class: "side" }, this.paths(details, path), this.loops(details), this.tries(details), this.indirectCalls(details), ...this.around()));
    view.append(...(code?.sources.size > 0 ? [listing, drawn] : [drawn, listing]));
    code?.showHottest();
    this.graph.begin();
  }

  head() {
    const { row } = this;
    const one = ({ name, own, with_callees: inclusive, before, points, points_with_callees: margins }) => {
      const total = TOTALS.get(name);
      const within = (found) => (found ? ` ± ${margin(found[row])}` : "");
      const parts = [`${amount(name, own[row])} ${own[row] === 1 ? name.replace(/s$/, "") : name}`, `${percent(own[row], total)}${within(points)} of all`];
      if (inclusive) parts.push(`${amount(name, inclusive[row])} with callees${margins ? `, ${percent(inclusive[row], total)}${within(margins)}` : ""}`);
      if (before) parts.push(change(before[row], own[row], name));
      return element("li", {}, element("b", {}, parts[0]), `, ${parts.slice(1).join(", ")}`);
    };
    const sampled = functions.sampled[row];
    const marks = [
      ownerMark(functions.owner[row]),
      sampled === null ? null : element("span", { class: "badge" }, `a sample of ${rate(sampled)}`),
      element("span", { class: "faint" }, `function ${this.index}, ${functions.place[row]}`),
    ];
    return element("div", { class: "function-head" }, element("h2", { class: "name", title: fullName(row) }, functions.name[row]), marks,
      element("ul", {}, functions.figures.map(one)));
  }

  withoutDetails() {
    return element("p", { class: "note" }, overview.is_of_code
      ? "To keep this file small it has the details of the hottest functions only. The terminal shows all: "
      : "The profile does not say what happened within functions: collect edges or paths. ",
    overview.is_of_code ? element("code", {}, `wprof annotate PROFILE ${this.index}`) : null);
  }

  goTo(block) {
    this.graph.reveal(block);
    this.code?.show(block);
  }

  highlight(path) {
    this.graph.highlight(path);
    this.code?.highlight(path);
  }

  paths(details, asked) {
    if (details.paths_in_all === null) {
      return element("div", { class: "panel" }, element("h2", {}, "Paths"),
        element("p", { class: "faint" }, "Not counted: ", element("code", {}, "--collect paths"), " does."));
    }
    const all = sum(details.blocks.ops);
    let pinned = null;
    const items = details.paths.map((path) => {
      const metrics = path.metrics.map((amount, at) => `${grouped(amount)} ${overview.path_metrics[at]}`);
      const lines = [element("span", { class: "bar", style: `--share:${share(path.ops, all)}` }, percent(path.ops, all)),
        element("b", {}, `${grouped(path.count)} ×`), element("span", { class: "blocks" }, path.lines ?? pathText(path, details.edges, details.blocks)),
        metrics.length ? element("small", {}, metrics.join(", ")) : null];
      const item = element("button", { type: "button", class: "path", "aria-pressed": false, title: `path ${path.id}: ${pathText(path, details.edges, details.blocks)}`,
        onmouseenter: () => this.highlight(path), onfocus: () => this.highlight(path),
        onmouseleave: () => this.highlight(pinned), onblur: () => this.highlight(pinned), onclick: () => pin(path, item) }, lines);
      if (path.id === asked) queueMicrotask(() => pin(path, item));
      return item;
    });
    const pin = (path, item) => {
      pinned = pinned === path ? null : path;
      items.forEach((other) => other.setAttribute("aria-pressed", other === item && pinned !== null));
      this.highlight(pinned);
      if (pinned) this.graph.reveal(pinned.start);
    };
    const more = details.paths_in_all - details.paths.length;
    return element("div", { class: "panel" }, element("h2", {}, "Hottest paths"),
      element("p", { class: "faint" }, `${countOf(details.paths_in_all, "path")} ran to ${details.paths_in_all === 1 ? "its" : "their"} end${more > 0 ? `; the first ${details.paths.length}` : ""}. Click to keep one shown.`),
      element("div", { class: "paths" }, items));
  }

  // Callers and callees, by time while they are on the stack or, where that is not known, by calls.
  around() {
    const stacks = contexts && stacksOfProfile();
    const by = (wanted) => stacks?.weights.find(({ name }) => name === wanted);
    const weight = by("time") ?? by("calls");
    const callee = stacks?.callees.findIndex((found) => found.function === this.index) ?? -1;
    if (!weight || callee < 0) return [];
    const column = weight.name === "time" ? weight.with_callees : weight.own;
    const tables = stacks.around(callee, column).map((found) => found.filter(([, part]) => part > 0).slice(0, 12));
    const row = ([other, part]) => {
      const { name, function: index } = stacks.callees[other] ?? { name: "<the host>", function: null };
      return [amount(weight.name, part), [ownerMark(stacks.owners[other] ?? RUNTIME), index === null ? name : functionLink(index)]];
    };
    const titles = ["Called by", "Calls"];
    return tables.map((rows, at) => (rows.length ? panel(titles[at], smallTable([weight.name, "function"], "rl", rows.map(row))) : null));
  }

  indirectCalls({ indirect_calls: calls }) {
    if (calls.length === 0) return null;
    const rows = calls.map(({ place, callee: { name, function: index }, count }) =>
      [grouped(count), place, index === null ? name : functionLink(index)]);
    return panel("Indirect calls", smallTable(["calls", "at", "function"], "rll", rows));
  }

  // The `try`s: how often each was entered, and what its handlers caught.
  tries({ tries }) {
    if (tries.length === 0) return null;
    const what = ({ tags, caught }) => tags.map((tag, at) => [tag, caught[at]]).filter(([, count]) => count > 0)
      .map(([tag, count]) => `${grouped(count)} × ${tag}`).join(", ") || "nothing";
    const rows = tries.map((tried) => [grouped(tried.entered), what(tried), tried.block === null ? tried.place
      : element("button", { type: "button", class: "link", onclick: () => this.goTo(tried.block) }, tried.place)]);
    return panel("Exceptions", smallTable(["entered", "caught", "try at"], "rll", rows));
  }

  loops(details) {
    if (details.loops.length === 0) return null;
    const all = sum(details.blocks.ops);
    const rows = details.loops.slice(0, 20).map((found) => [
      element("button", { type: "button", class: "link", title: `b${found.header}`, onclick: () => this.goTo(found.header) }, this.code?.place(found.header) || `b${found.header}`),
      String(found.depth), grouped(found.iterations), found.entries ? average(found.iterations / found.entries) : "",
      element("span", { class: "bar", style: `--share:${share(found.ops, all)}` }, percent(found.ops, all))]);
    return panel("Loops", smallTable(["at", "depth", "rounds", "trips", ""], "lrrrr", rows));
  }
}

// Its blocks and where it goes; a long path without its middle.
function pathText(path, edges, blocks) {
  const names = blocksOf(path, edges).map((block) => `b${block}`);
  const last = edges.to[path.edges[path.edges.length - 1]];
  const to = last === blocks.count.length ? "exit" : `b${last}`;
  return `${withoutMiddle(names)} → ${to}`;
}

// In one line; of many names those in the middle are only counted.
function withoutMiddle(names) {
  const shown = names.length > 14 ? [...names.slice(0, 9), `… ${names.length - 12} more …`, ...names.slice(-3)] : names;
  return shown.join(" ");
}
