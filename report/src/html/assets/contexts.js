// The flame graph: a canvas of frames, as wide as their weight. Zoomed by click or Enter, searched, walked by arrow keys.

const FRAME_HEIGHT = 20;

class FlameGraph {
  // In the overview it is one panel among others.
  constructor(view, { isPanel = false } = {}) {
    // Its own, since it arranges them.
    this.stacks = makeStacks();
    this.isPanel = isPanel;
    this.zoomed = -1;
    this.selected = -1;
    this.hovered = -1;
    this.isIcicle = true;
    this.isBefore = false;
    this.matches = null;
    this.draw = oncePerFrame(() => this.drawFrames());
    this.build(view);
    this.arrange(this.firstName());
  }

  build(view) {
    this.search = element("input", { type: "search", placeholder: "part of a name", "aria-label": "Search frames",
      oninput: () => this.find() });
    this.found = element("span", { class: "faint", role: "status" });
    this.unzoom = element("button", { type: "button", onclick: () => this.zoom(-1) }, "Show all");
    const hasBefore = this.stacks.weights.some((weight) => weight.before);
    const toolbar = element("div", { class: "toolbar" },
      this.measures = element("span", {}),
      this.isPanel ? null : choice("Direction", [[true, "Icicle"], [false, "Flame"]], true, (isIcicle) => { this.isIcicle = isIcicle; this.draw(); }),
      threads && !this.isPanel ? choice("Threads", [[false, "Threads: together"], [true, "apart"]], false, (areApart) => this.showThreads(areApart)) : null,
      hasBefore ? choice("Widths", [[false, "Widths: now"], [true, "before"]], false, (isBefore) => {
        this.isBefore = isBefore;
        this.arrange(this.stacks.weight.name);
      }) : null,
      this.search, this.unzoom, this.found, hasBefore ? null : legend());
    const told = this.isPanel ? "frame-in-overview" : "frame";
    this.canvas = element("canvas", { tabindex: 0, role: "application", "aria-describedby": told,
      "aria-label": "Flame graph: arrow keys choose a frame, Enter zooms, Escape zooms out, o opens the function",
      onkeydown: (event) => this.key(event), onclick: (event) => this.click(event), ondblclick: () => this.open(this.selected),
      onmousemove: (event) => this.hover(event), onmouseleave: () => this.hoverOver(-1), onfocus: this.draw, onblur: this.draw });
    this.tip = element("div", { class: "tip", hidden: true });
    this.status = element("p", { id: told, role: "status", class: "frame" });
    this.frame = element("div", { class: "flame" }, this.canvas);
    view.replaceChildren(...(this.isPanel ? [element("h2", {}, "Flame graph")] : []), this.notes(), toolbar, this.status, this.frame, this.tip);
    this.offerMeasures(this.firstName());
    new ResizeObserver(this.draw).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.draw);
  }

  // Lets one choose what the stacks are weighed by.
  offerMeasures(chosen) {
    const names = this.stacks.weights.map((weight) => weight.name);
    this.measures.replaceChildren(selection("by", names, chosen, (name) => this.arrange(name)));
  }

  // Each thread of the program by itself, or all together. There is no earlier profile's by thread.
  showThreads(areApart) {
    const { name } = this.stacks.weight;
    this.stacks = areApart ? stacksOf(threads) : makeStacks();
    [this.zoomed, this.selected] = [-1, -1];
    const chosen = this.stacks.weights.some((weight) => weight.name === name) ? name : this.firstName();
    this.offerMeasures(chosen);
    this.arrange(chosen);
  }

  // The weight that says most about time.
  firstName() {
    const names = this.stacks.weights.map((weight) => weight.name);
    if (this.stacks.weights.some((weight) => weight.before)) return steadiest(names);
    const isLeading = (name) => name !== "time" || MAIN.name === "time";
    return ["time", "cycles", "instructions", "calls"].filter(isLeading).find((name) => names.includes(name)) ?? names[0];
  }

  notes() {
    const notes = [];
    if (!contexts) {
      notes.push("The profile has no calling contexts, so this shows functions only, without who called them. ",
        element("code", {}, "wprof run --collect edges,cct"), " collects both.");
    } else {
      if (contexts.left_out > 0) notes.push(`The ${grouped(contexts.left_out)} lightest of all stacks are left out; they are part of their callers. `);
      if (contexts.cut) notes.push("The callers of some are not known: memory was short, or the stack too deep for bursts. ");
      if (overview.before && !contexts.weights[0].before) notes.push("The earlier profile has no calling contexts to compare with. ");
    }
    if (this.stacks.weights.some((weight) => weight.before)) {
      notes.push("Red has more than in the earlier profile, blue has less.");
    }
    return element("p", { class: "note", hidden: notes.length === 0 }, notes);
  }

  arrange(name) {
    if (name === undefined) return;
    this.stacks.arrange(name, this.isBefore && this.stacks.weights.some((weight) => weight.name === name && weight.before));
    this.hoverOver(-1);
    this.find();
    this.say(this.selected);
  }

  find() {
    const asked = this.search.value.trim().toLowerCase();
    const { stacks } = this;
    this.matches = asked ? stacks.callees.map(({ name }) => name.toLowerCase().includes(asked)) : null;
    this.found.textContent = this.matches
      ? `${percent(stacks.weightOf(this.matches), stacks.total)} of ${stacks.weight.name} in ${countOf(this.matches.filter(Boolean).length, "function")}`
      : `${amount(stacks.weight.name, stacks.total)}${stacks.weight.name === "time" ? "" : ` ${stacks.weight.name}`} in all`;
    this.draw();
  }

  zoom(stack) {
    this.zoomed = stack;
    this.draw();
  }

  open(stack) {
    const index = stack >= 0 ? this.stacks.function(stack) : null;
    if (index !== null) openFunction(index);
  }

  drawFrames() {
    this.width = this.frame.clientWidth;
    if (!this.width || !this.stacks.weight) return;
    this.rows = visibleFrames(this.stacks, this.zoomed, this.width);
    this.height = Math.max(1, this.rows.length) * FRAME_HEIGHT;
    const pixels = devicePixelRatio || 1;
    this.canvas.width = this.width * pixels;
    this.canvas.height = this.height * pixels;
    this.canvas.style.height = `${this.height}px`;
    const paint = this.canvas.getContext("2d");
    paint.scale(pixels, pixels);
    paint.font = "12px system-ui, sans-serif";
    paint.textBaseline = "middle";
    const style = getComputedStyle(this.canvas);
    const ink = (name) => style.getPropertyValue(name).trim();
    const inks = { text: ink("--frame-text"), rest: ink("--line"), match: ink("--match"), focus: ink("--accent"),
      isDark: matchMedia("(prefers-color-scheme: dark)").matches };
    this.rows.forEach((row) => row?.forEach((frame) => this.drawFrame(paint, frame, inks)));
    this.unzoom.disabled = this.zoomed < 0;
  }

  drawFrame(paint, { stack, x, w, depth, rest }, inks) {
    const y = (this.isIcicle ? depth : this.rows.length - 1 - depth) * FRAME_HEIGHT;
    const isMatch = this.matches?.[this.stacks.calleeOf[stack]];
    const isAbove = this.zoomed >= 0 && depth < this.stacks.depth[this.zoomed];
    paint.fillStyle = rest ? inks.rest : isMatch ? inks.match : frameColor(this.stacks, stack, inks.isDark);
    paint.globalAlpha = isAbove ? 0.45 : this.matches && !isMatch ? 0.5 : 1;
    paint.fillRect(x, y, Math.max(w - (w > 3 ? 1 : 0), NARROWEST_FRAME), FRAME_HEIGHT - 1);
    paint.globalAlpha = 1;
    if (w > 24) this.drawName(paint, rest ? `${amount(this.stacks.weight.name, rest)} more` : this.stacks.name(stack), x, y, w, inks);
    if (rest) return;
    if (stack === this.hovered || (stack === this.selected && document.activeElement === this.canvas)) {
      paint.strokeStyle = inks.focus;
      paint.lineWidth = 2;
      paint.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), FRAME_HEIGHT - 3);
    }
  }

  // If there is little room, the name matters more than the namespace.
  drawName(paint, whole, x, y, w, inks) {
    const letters = Math.floor((w - 8) / 6);
    const name = whole.length > letters * 1.2 ? lastPart(whole) : whole;
    paint.save();
    paint.beginPath();
    paint.rect(x, y, w - 3, FRAME_HEIGHT);
    paint.clip();
    paint.fillStyle = inks.text;
    paint.fillText(name.length > letters * 1.4 ? `${name.slice(0, Math.max(letters, 1))}…` : name, x + 4, y + FRAME_HEIGHT / 2);
    paint.restore();
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = Math.floor(y / FRAME_HEIGHT);
    const frames = this.rows?.[this.isIcicle ? row : this.rows.length - 1 - row] ?? [];
    return frames.find((frame) => frame.x <= x && x < frame.x + Math.max(frame.w, 1))?.stack ?? -1;
  }

  click(event) {
    const stack = this.at(event);
    if (stack < 0) return;
    this.choose(stack);
    this.zoom(stack);
  }

  choose(stack) {
    this.selected = stack;
    this.say(stack);
    this.draw();
  }

  hover(event) {
    this.hoverOver(this.at(event));
    if (this.hovered < 0) return;
    const { clientX: x, clientY: y } = event;
    this.tip.style.left = `${Math.min(x + 14, innerWidth - this.tip.offsetWidth - 8)}px`;
    this.tip.style.top = `${y + 18 + this.tip.offsetHeight > innerHeight ? y - this.tip.offsetHeight - 8 : y + 18}px`;
  }

  hoverOver(stack) {
    if (stack === this.hovered) return;
    this.hovered = stack;
    this.tip.hidden = stack < 0;
    if (stack >= 0) this.tip.replaceChildren(...this.figures(stack).map((line) => element("div", {}, line)));
    this.draw();
  }

  figures(stack) {
    const { stacks } = this;
    const { name, own, with_callees: inclusive, points, before } = stacks.weight;
    const within = points ? ` ± ${margin(points[stack])}` : "";
    const found = [element("b", {}, stacks.fullName(stack)),
      `${amount(name, inclusive[stack])} ${name}${contexts ? " with callees" : ""}, ${percent(inclusive[stack], sum(stacks.top.map((top) => inclusive[top])))}${within}`];
    if (contexts) found.push(`${amount(name, own[stack])} ${name === "calls" ? "calls of it" : "itself"}`);
    if (before) found.push(`${change(before[stack], inclusive[stack])} since the earlier profile`);
    return found;
  }

  say(stack) {
    if (stack < 0) {
      this.status.replaceChildren(element("span", { class: "faint" },
        "Click a frame to zoom in, double-click to open its function. With the keyboard: arrows, Enter, Escape, o."));
      return;
    }
    const [, ...figures] = this.figures(stack);
    const index = this.stacks.function(stack);
    this.status.replaceChildren(index === null ? this.stacks.name(stack) : functionLink(index), ": " + figures.join("; "));
  }

  key(event) {
    const moves = { ArrowDown: this.isIcicle ? "in" : "out", ArrowUp: this.isIcicle ? "out" : "in", ArrowLeft: "before", ArrowRight: "after" };
    if (event.key === "Enter") this.zoom(this.selected);
    else if (event.key === "Escape") this.zoom(-1);
    else if (event.key === "o") this.open(this.selected);
    else if (event.key in moves) this.choose(this.neighbour(moves[event.key]));
    else return;
    event.preventDefault();
    this.canvas.scrollIntoView({ block: "nearest" });
  }

  // The frame next to the selected one.
  neighbour(where) {
    const { stacks, selected } = this;
    if (selected < 0) return stacks.top[0] ?? -1;
    const caller = stacks.callerOf[selected];
    if (where === "in") return stacks.below[selected][0] ?? selected;
    if (where === "out") return caller < 0 ? selected : caller;
    const all = caller < 0 ? stacks.top : stacks.below[caller];
    return all[all.indexOf(selected) + (where === "after" ? 1 : -1)] ?? selected;
  }
}
