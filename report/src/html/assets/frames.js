// The visible frames of a flame graph, and their colours.

// Canvases have a largest height.
const DEEPEST_FRAME = 400;
const NARROWEST_FRAME = 0.35;

// Row by row, when a stack (or with -1 everything) is as wide as there is room. Those that are too narrow are one frame together,
// without a stack.
function visibleFrames(stacks, zoomed, width) {
  const start = zoomed < 0 ? 0 : stacks.start[zoomed];
  const scale = width / ((zoomed < 0 ? stacks.total : stacks.widths[zoomed]) || 1);
  const rows = [];
  const add = (depth, frame) => (rows[depth] ??= []).push({ depth, ...frame });
  const above = zoomed < 0 ? [] : stacks.frames(zoomed).slice(0, -1);
  above.forEach((stack, depth) => add(depth, { stack, x: 0, w: width }));
  const pending = [[zoomed < 0 ? stacks.top : [zoomed], above.length]];
  while (pending.length > 0) {
    const [siblings, depth] = pending.pop();
    if (depth >= DEEPEST_FRAME) continue;
    // The heaviest comes first, so the first that is too narrow is followed by such only.
    for (const [at, stack] of siblings.entries()) {
      const x = (stacks.start[stack] - start) * scale;
      const w = stacks.widths[stack] * scale;
      if (w < NARROWEST_FRAME) {
        const all = sum(siblings.slice(at).map((narrow) => stacks.widths[narrow])) * scale;
        if (all >= NARROWEST_FRAME) add(depth, { stack: -1, x, w: all, rest: siblings.length - at });
        break;
      }
      add(depth, { stack, x, w });
      pending.push([stacks.below[stack], depth + 1]);
    }
  }
  return rows;
}

// By whose code it is, as the legend says: hue and saturation. Only lightness tells neighbours apart, by name, so that a function has
// one colour everywhere. By change if there is an earlier profile.
const FRAME_HUES = [[26, 84, 44], [208, 62, 40], [215, 11, 10]];

function frameColor(stacks, stack, isDark) {
  const { before, with_callees: inclusive } = stacks.weight;
  if (before) return changeColor(before[stack], inclusive[stack], isDark);
  let hash = 5381;
  for (const letter of stacks.name(stack)) hash = (Math.imul(hash, 33) ^ letter.codePointAt(0)) >>> 0;
  const [hue, inLight, inDark] = FRAME_HUES[stacks.owner(stack)];
  return `hsl(${hue} ${isDark ? inDark : inLight}% ${(isDark ? 30 : 72) + (hash >>> 8) % 9}%)`;
}

// Red for more, blue for less, stronger the more it changed.
function changeColor(before, after, isDark) {
  if (after === before) return `hsl(220 6% ${isDark ? 28 : 88}%)`;
  const strength = Math.sqrt(Math.abs(after - before) / Math.max(before, after));
  const [near, far] = isDark ? [24, 42] : [93, 62];
  return `hsl(${after > before ? 8 : 214} ${isDark ? 62 : 78}% ${near + (far - near) * strength}%)`;
}

// `fill` of `painter::<impl Pixmap>::fill`.
function lastPart(name) {
  let depth = 0;
  for (let at = name.length - 1; at > 0; at -= 1) {
    if (")>]}".includes(name[at])) depth += 1;
    if ("(<[{".includes(name[at])) depth -= 1;
    if (depth === 0 && name[at] === ":" && name[at - 1] === ":") return name.slice(at + 1);
  }
  return name;
}
