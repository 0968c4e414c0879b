// The page tries itself if its address ends in `#test`, and says how that went in `data-test` of the whole document. All of it is
// done before the document counts as loaded, so that whoever waits for that sees it.

class Check {
  constructor() {
    this.passed = 0;
  }

  is(what, found, expected = true) {
    if (found !== expected) throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    this.passed += 1;
  }
}

function goTo(hash) {
  history.replaceState(null, "", `#${hash}`);
  go();
}

const press = (found, key) => found.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

function tryTable(check) {
  goTo("functions");
  const table = built.get("functions");
  const drawn = () => byId("functions").querySelectorAll(".rows [role=row]");
  check.is("rows are drawn", drawn().length > 0);
  check.is("only what is seen is drawn", drawn().length < 120);
  check.is("the hottest comes first", largest(MAIN.own), MAIN.own[table.rows[0]]);
  const name = functions.name[table.rows[ROWS - 1]];
  table.search.value = name;
  table.search.dispatchEvent(new Event("input"));
  check.is("a search finds a function", [...drawn()].some((row) => row.textContent.includes(name)));
  check.is("a search finds no others", table.rows.every((row) => `${functions.name[row]} ${functions.place[row]}`.toLowerCase().includes(name.toLowerCase())));
  table.search.value = "";
  table.search.dispatchEvent(new Event("input"));
  press(document.body, "/");
  check.is("a slash goes to the search", document.activeElement, table.search);
  table.head.firstChild.firstChild.click();
  check.is("a click sorts", functions.name[table.rows[0]] <= functions.name[table.rows[ROWS - 1]]);
  press(table.grid, "End");
  check.is("keys move", table.selected, ROWS - 1);
  check.is("what is selected is in view", drawn()[drawn().length - 1].getAttribute("aria-selected"), "true");
}

function tryContexts(check) {
  goTo("contexts");
  const flame = built.get("contexts");
  const { stacks } = flame;
  check.is("frames are drawn", flame.rows.length > 0);
  const above = (stack) => (stacks.callerOf[stack] < 0 ? stacks.total : stacks.widths[stacks.callerOf[stack]]);
  for (const weight of stacks.weights) {
    flame.arrange(weight.name);
    check.is(`${weight.name} fit in their callers`, stacks.callerOf.every((_, stack) => stacks.widths[stack] <= above(stack)));
    check.is(`${weight.name} are all there`, contexts?.left_out > 0 || sum(weight.own) === stacks.total);
  }
  // Of the last one there may be nothing.
  flame.arrange(flame.firstName());
  const stack = flame.rows.flat().filter((frame) => frame.stack >= 0).pop()?.stack ?? stacks.top[0];
  press(flame.canvas, "ArrowDown");
  check.is("keys choose a frame", flame.selected, stacks.top[0]);
  flame.choose(stack);
  press(flame.canvas, "Enter");
  check.is("Enter zooms", Math.round(flame.rows[stacks.depth[stack]][0].w), flame.width);
  press(flame.canvas, "Escape");
  flame.search.value = stacks.name(stack);
  flame.search.dispatchEvent(new Event("input"));
  check.is("a search finds frames", flame.matches[stacks.calleeOf[stack]]);
  check.is("short names are last parts", ["a::<impl b::C>::d", "<x::Y as z::W>::v", "e"].map(lastPart).join(), "d,v,e");
  check.is("found weight is a part", stacks.weightOf(flame.matches) <= stacks.total);
}

// Threads are the outermost frames; together they have what the program has.
function tryThreads(check) {
  if (!threads) return;
  goTo("contexts");
  const flame = built.get("contexts");
  const { total, weight } = flame.stacks;
  const [together, apart] = built.get("contexts").canvas.closest("section").querySelectorAll("[aria-label=Threads] button");
  apart.click();
  const { stacks } = flame;
  const tops = stacks.top.map((stack) => stacks.name(stack));
  check.is("threads are outermost", tops.some((name) => name === "<main thread>") && tops.some((name) => name.startsWith("<thread")));
  check.is("frames of threads are drawn", flame.rows.length > 1);
  check.is("threads have it all", [stacks.weight.name, stacks.total].join(), [weight.name, total].join());
  together.click();
  check.is("they come together again", [flame.stacks.total, flame.stacks.weight.name].join(), [total, weight.name].join());
}

// Behind what stands out, with the time if the timer looked; colours tell whose code is.
function tryFlameOfOverview(check) {
  goTo("overview");
  const flame = built.get("overview");
  const view = byId("overview");
  const order = [".findings", ".flame-panel", ".columns", ".cards", ".runs"].map((name) => [...view.children].indexOf(view.querySelector(`:scope > ${name}`)));
  check.is("the flame graph comes after the findings", order.slice(1).every((at, before) => order[before] < at), true);
  check.is("it begins with what leads", flame.stacks.weight.name, flame.firstName());
  check.is("frames are drawn in the overview", flame.rows.length > 0);
  const isLed = overview.before === null && MAIN.name === "time";
  check.is("time leads", !isLed || flame.stacks.weight.name === "time");
  const titles = [...view.querySelectorAll(".columns h2")].map((found) => found.textContent);
  const at = (name) => titles.findIndex((title) => title.startsWith(name));
  check.is("lines come before functions", at("Lines") <= at("Functions"));
  check.is("loops have their time", at("Loops by time") >= 0, overview.loops_by_time.length > 0);
  const byTime = [...view.querySelectorAll(".columns .panel")].filter((found) => found.firstChild.textContent === "Functions by time");
  check.is("what runs by time is all there", sum(byTime.map((found) => found.querySelectorAll("tbody tr").length)), figure("time") ? overview.routines.length : 0);
  check.is("a legend says whose", overview.before !== null || view.querySelectorAll(".legend li").length === OWNERS.length);
  check.is("each frame is somebody's", flame.stacks.owners.every((owner) => owner in OWNERS));
  const fake = (owner) => ({ weight: { with_callees: [1] }, name: () => "f", owner: () => owner });
  check.is("colours differ by owner", new Set([...OWNERS.keys()].map((owner) => frameColor(fake(owner), 0, false))).size, OWNERS.length);
  const other = built.get("contexts").stacks;
  other.arrange(other.weights[other.weights.length - 1].name);
  check.is("each graph has its own order", flame.stacks.weight.name, flame.firstName());
  other.arrange(built.get("contexts").firstName());
}

function tryTimeline(check) {
  goTo("timeline");
  const { versions, tiers, speed } = timeline;
  const lanes = byId("timeline").querySelectorAll(".lane");
  check.is("there is a lane for each kind of code, one for speed, and one for superblocks", lanes.length, new Set(versions.tier).size + (speed.length > 0 ? 1 : 0) + (built.get("timeline").superblocks().length > 0 ? 1 : 0));
  check.is("kinds are known", versions.tier.every((tier) => tier < tiers.length));
  check.is("nothing is beyond the end", versions.began.every((ns, row) => ns + versions.took[row] <= timeline.end_ns));
  const bars = built.get("timeline").lanes().flatMap(({ rows }) => spread(rows.map((row) => versions.began[row]), 1000));
  check.is("all versions are in a bar", sum(bars.map(([, count]) => count)), versions.function.length);
  const decided = versions.decisions.filter((found) => found.length > 0).length;
  const formed = sum(built.get("timeline").superblocks().map(([, decisions]) => decisions.length));
  const all = sum([...byId("timeline").querySelectorAll(".superblock")].map((found) => Number(found.dataset.count)));
  check.is("superblocks are on it", all, formed);
  const known = [...versions.predicted, ...versions.measured].filter((part) => part !== null).length;
  const numbers = [...byId("timeline").querySelectorAll("tbody tr")].flatMap(({ cells }) => [cells[4], cells[5]]);
  check.is("what it saves is told", numbers.filter((cell) => cell.textContent.endsWith("%")).length, known);
  check.is("what was decided is listed", byId("timeline").querySelectorAll("details").length, decided);
}

function tryFunction(check, row) {
  goTo(`function=${functions.index[row]}`);
  const { graph, code } = built.get("function");
  const details = detailsOf(row);
  graph.shown = "all";
  graph.build();
  const exits = details.edges.to.includes(details.blocks.count.length) ? 1 : 0;
  check.is("all blocks are drawn", graph.drawing.querySelectorAll(".block").length, details.blocks.count.length + exits);
  check.is("all edges are drawn", graph.drawing.querySelectorAll(".edge").length, details.edges.from.length);
  const thrown = details.edges.way.filter((way) => way.startsWith("catch")).length;
  check.is("edges to handlers are marked", graph.drawing.querySelectorAll(".edge.thrown").length, thrown);
  check.is("no try catches more often than it is entered", details.tries.every(({ entered, caught }) => sum(caught) <= entered));
  check.is("blocks do not overlap", overlapping(graph), 0);
  graph.zoom(0);
  const { canvas } = graph;
  check.is("all of it fits", canvas.scrollWidth <= canvas.clientWidth + 1 && canvas.scrollHeight <= canvas.clientHeight + 1);
  const ops = details.code && sum(countLines(details).map((count) => count ?? 0));
  if (details.code) {
    check.is("the counts of lines are those of the function", ops, figure("instructions")?.own[row] ?? 0);
    const ofLines = sum([...code.element.querySelectorAll(".listing")].pop().querySelectorAll(".time").length > 0 ? code.times : []);
    check.is("the time of lines is that of the function", ofLines, details.time ? figure("time").own[row] : 0);
    // A burst cuts paths before the first instruction of a block: no call ended there.
    const ended = details.unfinished.filter((found) => details.code.offset.includes(found.offset));
    const places = new Set(ended.map((found) => found.offset));
    const listing = code.element.querySelector(".listing");
    press(listing, "ArrowDown");
    press(listing, "ArrowDown");
    press(listing, "Enter");
    check.is("keys choose a line", listing.querySelectorAll(".line")[1].classList.contains("current"));
    check.is("ended calls are marked", code.element.querySelectorAll(".line.bad").length, places.size);
  }
  tryHeats(check, graph);
  tryNeighbours(check, functions.index[row]);
  const path = byId("function").querySelector(".path");
  if (!path) return;
  path.dispatchEvent(new Event("mouseenter"));
  const blocks = blocksOf(details.paths[0], details.edges).length;
  check.is("a path is highlighted", graph.drawing.querySelectorAll(".block.on-path").length, blocks);
  path.dispatchEvent(new Event("mouseleave"));
  check.is("and no longer", graph.drawing.querySelectorAll(".on-path").length, 0);
  path.click();
  check.is("a click keeps it", graph.drawing.querySelectorAll(".block.on-path").length, blocks);
  check.is("in the code too", !code || code.element.querySelectorAll(".on-path").length > 0);
}

// A graph such as an interpreter's: a thousand blocks in a row, each of which leads on, back to the first, and far ahead.
function tryLargeGraph(check) {
  const count = 1000;
  const nodes = Array.from({ length: count }, () => ({ w: 100, h: 40 }));
  const edges = nodes.flatMap((_, at) => [{ from: at, to: 0 }, { from: at, to: Math.min(at + 1, count - 1) }, { from: at, to: count - 1 }]);
  layOut(nodes, edges);
  check.is("bends are bounded", sum(edges.map(({ points: corners }) => Math.max(0, corners.length - 2))) <= MOST_BENDS);
  check.is("long edges are cut", edges.some(({ isCut }) => isCut));
  check.is("neighbours stay joined", edges.every(({ from, to, isCut }) => to !== from + 1 || !isCut));
  const ops = Array.from({ length: 10 * MOST_BLOCKS }, (_, block) => (block * 7919) % 10007);
  const drawn = mostExecuted([...ops.keys()], ops);
  check.is("few of very many blocks are drawn", drawn.length, MOST_BLOCKS);
  check.is("in their order", drawn[0] === 0 && drawn.every((block, at) => at === 0 || drawn[at - 1] < block));
}

function tryTicks(check) {
  check.is("ticks are round", [130e6, 248.6e6, 0.7, 5e9].map(roundStep).join(), "200000000,500000000,1,5000000000");
  check.is("ticks have few digits", tickText(4e8, 2e8), "400 ms");
}

function tryHeats(check, graph) {
  const select = graph.element.querySelector("select");
  check.is("heat has a choice where something was measured", select !== null, overview.path_metrics.length > 0 && graph.details.paths.length > 0);
  for (const [metric, heat] of select ? HEATS.slice(1).entries() : []) {
    select.value = heat;
    select.dispatchEvent(new Event("change"));
    const { total, blocks } = graph.details.through[metric];
    check.is(`no block has more ${heat} than there are`, blocks.every((amount) => amount <= total));
    const shown = [...graph.drawing.querySelectorAll(".block:not(.exit) .small:not(.source)")].map((found) => found.textContent);
    check.is(`blocks tell ${heat}`, shown.every((text) => text.includes(heat)));
  }
  if (select) {
    select.value = HEATS[0];
    select.dispatchEvent(new Event("change"));
  }
}

// Who calls a function made all of its calls.
function tryNeighbours(check, index) {
  if (!contexts || contexts.left_out > 0 || overview.sampled !== null || !figure("calls")) return;
  const stacks = stacksOfProfile();
  // Stacks may be those of time alone.
  const calls = stacks.weights.find(({ name }) => name === "calls");
  if (!calls) return;
  const callee = stacks.callees.findIndex((found) => found.function === index);
  const [callers] = stacks.around(callee, calls.own);
  check.is("callers have all calls", sum(callers.map(([, calls]) => calls)), figure("calls").own[rowOf.get(index)]);
}

function overlapping(graph) {
  const boxes = [...graph.drawing.querySelectorAll(".block > rect")].map((found) => found.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.filter((box, at) => boxes.slice(at + 1, at + 300).some((other) => meet(box, other))).length;
}

function tryAll() {
  const check = new Check();
  try {
    goTo("overview");
    check.is("the overview has figures", byId("overview").querySelectorAll(".card, table").length > 0);
    if (ROWS > 0) tryTable(check);
    if (functions.figures.length > 0) tryContexts(check);
    tryThreads(check);
    if (built.get("overview")) tryFlameOfOverview(check);
    if (timeline) tryTimeline(check);
    tryTicks(check);
    tryLargeGraph(check);
    const detailed = MAIN.own.map((_, row) => row).filter((row) => functions.details[row] !== null && functions.details[row] < 5);
    for (const row of detailed) tryFunction(check, row);
    check.is("nothing went wrong", problems.length, 0);
    return `passed ${check.passed} checks`;
  } catch (error) {
    return `failed ${error.message} ${problems.join(" ")}`;
  }
}

if (IS_TEST) {
  document.documentElement.dataset.ready = Math.round(performance.now());
  document.documentElement.dataset.test = tryAll();
}
