// The time line: how fast the program went and when bursts ran, when the compiler worked at which kind of code, which hot paths
// became superblocks, and what else the reoptimizer decided.

const LANE = 46;
const LANE_LABEL = 110;
const BAR = 3;

class TimelineView {
  constructor(view) {
    this.draw = oncePerFrame(() => this.drawLanes());
    this.frame = element("div", { class: "timeline" });
    view.replaceChildren(this.note(), element("div", { class: "panel" }, element("h2", {}, "Time line"), this.frame), this.decisions() ?? "");
    new ResizeObserver(this.draw).observe(this.frame);
  }

  note() {
    const { versions, bursts } = timeline;
    const parts = [`${countOf(versions.function.length, "version")} of functions compiled`];
    if (bursts.length > 0) {
      parts.push(`${countOf(bursts.length, "burst")} shown, evenly taken from all`);
      parts.push("speed is checks passed in a millisecond, and better code comes to fewer of them for the same work");
    }
    return element("p", { class: "note" }, `${parts.join("; ")}.`);
  }

  // The rows of each kind of code that there is.
  lanes() {
    const { tiers, versions } = timeline;
    const rows = tiers.map(() => []);
    versions.tier.forEach((tier, row) => rows[tier].push(row));
    return tiers.map((name, tier) => ({ name, tier, rows: rows[tier] })).filter((lane) => lane.rows.length > 0);
  }

  drawLanes() {
    const width = this.frame.clientWidth;
    if (!width) return;
    const lanes = this.lanes().map((lane) => (y) => this.lane(lane, y));
    if (timeline.speed.length > 0) lanes.unshift((y) => this.speed(y));
    if (this.superblocks().length > 0) lanes.push((y) => this.superblockLane(y));
    const height = lanes.length * LANE + 24;
    const scale = (width - LANE_LABEL - 8) / (timeline.end_ns || 1);
    this.at = (ns) => LANE_LABEL + ns * scale;
    const parts = lanes.map((draw, at) => draw(at * LANE));
    this.frame.replaceChildren(svg("svg", { width, height, role: "img", "aria-label": "Time line" }, parts, this.axis(width, height)));
  }

  label(text, note, y) {
    return [svg("text", { x: 0, y: y + 18, class: "strong" }, text), svg("text", { x: 0, y: y + 33, class: "small" }, note)];
  }

  speed(y) {
    const { speed, bursts } = timeline;
    // A burst that had to wait says nothing of the others.
    const sorted = speed.map(([, checks]) => checks).sort((a, b) => a - b);
    const most = sorted[Math.floor((sorted.length - 1) * 0.98)] || 1;
    const high = (checks) => y + LANE - 12 - Math.min(checks / most, 1) * (LANE - 18);
    const line = speed.map(([ns, checks], at) => `${at ? "L" : "M"}${this.at(ns).toFixed(1)},${high(checks).toFixed(1)}`).join("");
    const ticks = spread(bursts.map(([began]) => this.at(began)), BAR);
    return svg("g", { class: "lane" }, this.label("speed", `up to ${grouped(Math.round(most))}/ms`, y), svg("path", { d: line, class: "speed" }),
      ticks.map(([x, count]) => svg("rect", { x, y: y + LANE - 10, width: 1, height: 5, class: "burst" }, svg("title", {}, countOf(count, "burst")))));
  }

  // One bar for all that begin at about one time: the higher, the more.
  lane({ name, tier, rows }, y) {
    const { versions } = timeline;
    const bars = spread(rows.map((row) => this.at(versions.began[row])), BAR, rows);
    const most = largest(bars.map(([, count]) => count)) || 1;
    const bar = ([x, count, members]) => {
      const high = 6 + (LANE - 18) * Math.log1p(count) / Math.log1p(most);
      const names = members.slice(0, 8).map((row) => `${this.name(row)}: ${duration(versions.took[row])}, ${countOf(versions.bytes[row], "byte")}`);
      const rest = members.length > names.length ? `\n… ${members.length - names.length} more` : "";
      return svg("rect", { x, y: y + LANE - 6 - high, width: BAR - 0.5, height: high, class: `tier tier-${tier}` },
        svg("title", {}, `${duration(versions.began[members[0]])}\n${names.join("\n")}${rest}`));
    };
    const took = sum(rows.map((row) => versions.took[row]));
    return svg("g", { class: "lane" }, this.label(name, `${grouped(rows.length)}, ${duration(took)}`, y), bars.map(bar));
  }

  // The versions that have superblocks, and what was decided about each of those.
  superblocks() {
    const formed = timeline.versions.decisions.map((found, row) => [row, found.filter(({ kind }) => kind === "superblock")]);
    return formed.filter(([, found]) => found.length > 0);
  }

  // A mark for each version that has some, where it was there: as high as its function is hot. What they promise is the share of
  // the function that they were expected to run, and what the version was to save; what they keep is what it was timed at beside
  // the one before it.
  superblockLane(y) {
    const { versions } = timeline;
    const total = TOTALS.get(MAIN.name);
    const all = this.superblocks();
    const mark = ([row, found]) => {
      const rowOfFunction = rowOf.get(versions.function[row]);
      const part = rowOfFunction === undefined ? 0 : share(MAIN.own[rowOfFunction], total);
      const high = 6 + (LANE - 18) * Math.sqrt(part);
      const x = this.at(versions.began[row] + versions.took[row]);
      const benefit = versions.decisions[row].filter(({ kind }) => kind === "predicted" || kind === "tried");
      const texts = [...found, ...benefit].map(({ offset, text }) => `0x${offset.toString(16)}: ${text}`);
      return svg("rect", { x: x - BAR / 2, y: y + LANE - 6 - high, width: BAR, height: high, class: "superblock tier-4", "data-count": found.length },
        svg("title", {}, `${duration(versions.began[row])}\n${this.name(row)}, ${percent(part, 1)} of all ${MAIN.name}\n${texts.join("\n")}`));
    };
    const count = sum(all.map(([, found]) => found.length));
    return svg("g", { class: "lane" }, this.label("superblocks", `${grouped(count)} in ${countOf(all.length, "version")}`, y), all.map(mark));
  }

  axis(width, height) {
    const step = roundStep(timeline.end_ns / Math.max(2, Math.floor((width - LANE_LABEL) / 140)));
    const ticks = Array.from({ length: Math.floor(timeline.end_ns / step) + 1 }, (_, at) => at * step);
    const isAtEnd = (ns) => this.at(ns) > width - 40;
    return ticks.map((ns) => svg("g", { class: "axis" }, svg("line", { x1: this.at(ns), x2: this.at(ns), y1: 0, y2: height - 20 }),
      svg("text", { x: this.at(ns), y: height - 5, "text-anchor": isAtEnd(ns) ? "end" : "middle", class: "small" }, tickText(ns, step))));
  }

  name(row) {
    const index = timeline.versions.function[row];
    return timeline.names[index] ?? functionName(index);
  }

  // The decisions by a profile, function by function.
  decisions() {
    const { versions } = timeline;
    const rows = versions.decisions.map((_, row) => row).filter((row) => versions.decisions[row].length > 0);
    if (rows.length === 0) return null;
    const main = TOTALS.get(MAIN.name);
    const saved = (part) => part === null ? "" : `${(100 * part).toFixed(1)}%`;
    const cells = (row) => {
      const index = versions.function[row];
      const before = versions.before[row];
      const found = rowOf.get(index);
      const part = found === undefined ? "" : percent(MAIN.own[found], main);
      return [duration(versions.began[row]), duration(versions.took[row]), part, `${before === null ? "" : `${grouped(before)} → `}${grouped(versions.bytes[row])}`,
        saved(versions.predicted[row]), saved(versions.measured[row]), ...["superblock", "inlined", "declined"].map((kind) => grouped(versions.decisions[row].filter((found) => found.kind === kind).length)),
        element("details", {}, element("summary", {}, functionLink(index, this.name(row))), versions.decisions[row].map(({ kind, offset, text }) =>
          element("div", { class: kind === "declined" ? "faint" : null }, `0x${offset.toString(16)}: ${text}`)))];
    };
    const titles = ["at", "took", `of all ${MAIN.name}`, "bytes", "to save", "saves", "superblocks", "inlined", "declined", "function"];
    const note = element("p", { class: "note" }, "What a version was to save is estimated by the profile that led to it: a part of the work of plain code. " +
      "What it saves is timed, where it was: a part of a call's time in the version before it.");
    return panel("What the reoptimizer did", note, smallTable(titles, "rrrrrrrrrl", rows.map(cells)));
  }
}

// Places on the axis in groups of `width`, in order: where a group is, how many are in it, and which.
function spread(places, width, members = places) {
  const groups = new Map();
  places.forEach((x, at) => {
    const left = Math.floor(x / width) * width;
    if (!groups.has(left)) groups.set(left, []);
    groups.get(left).push(members[at]);
  });
  return [...groups].sort((a, b) => a[0] - b[0]).map(([left, found]) => [left, found.length, found]);
}

// The least of 1, 2, 5, 10, … that is no less.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least);
}

// As few digits as tell ticks apart.
function tickText(ns, step) {
  const [size, unit] = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  return ns === 0 ? "0" : `${format.format(ns / size)} ${unit}`;
}
