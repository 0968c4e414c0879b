// Makes the image fit its window, zooms and searches. Without scripts the image stays as it was drawn.
const root = document.documentElement;
const [row, margin, letter] = [16, 24, 6.6];
const frames = [...root.querySelectorAll("g[data-x]")].map((g) => {
  const [x, w] = [Number(g.dataset.x), Number(g.dataset.w)];
  return { g, x, w, y: g.querySelector("rect").y.baseVal.value, name: g.dataset.name };
});
const title = root.querySelector("#title");
const info = root.querySelector("#info");
let zoomed = { x: 0, w: 1, y: Infinity };
let asked = "";

function draw() {
  const width = Math.max(320, innerWidth);
  root.setAttribute("viewBox", `0 0 ${width} ${root.dataset.height}`);
  root.setAttribute("height", root.dataset.height);
  title.setAttribute("x", width / 2);
  let found = 0;
  let until = 0;
  for (const frame of frames) {
    const left = Math.max(0, (frame.x - zoomed.x) / zoomed.w);
    const right = Math.min(1, (frame.x + frame.w - zoomed.x) / zoomed.w);
    const w = (right - left) * width;
    frame.g.style.display = w < 0.1 ? "none" : "";
    if (w < 0.1) continue;
    const matches = asked !== "" && frame.name.toLowerCase().includes(asked);
    // A match on top of another one counts once: frames are in the order of their stacks.
    if (matches && frame.x >= until - 1e-12) {
      found += right - left;
      until = frame.x + frame.w;
    }
    const rect = frame.g.querySelector("rect");
    rect.setAttribute("x", left * width);
    rect.setAttribute("width", w);
    frame.g.style.opacity = frame.y > zoomed.y || (asked !== "" && !matches) ? 0.4 : 1;
    rect.style.stroke = matches ? "#5a00a8" : "";
    write(frame, left * width, w);
  }
  info.textContent = asked === "" ? "click: zoom, Escape: all, /: search" : `${asked}: ${(found * 100).toFixed(1)}% of what is shown; Escape: all`;
}

function write(frame, x, w) {
  const letters = Math.floor((w - 4) / letter);
  let text = frame.g.querySelector("text");
  if (letters < 3) {
    text?.remove();
    return;
  }
  if (!text) {
    text = document.createElementNS(root.namespaceURI, "text");
    text.setAttribute("y", frame.y + 11);
    frame.g.append(text);
  }
  text.setAttribute("x", x + 2);
  const isWhole = frame.name.length <= letters;
  text.textContent = isWhole ? frame.name : `${frame.name.slice(0, letters - 1)}…`;
}

function zoom(frame) {
  zoomed = frame;
  draw();
}

frames.forEach((frame) => frame.g.addEventListener("click", () => zoom(frame)));
addEventListener("resize", draw);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    asked = "";
    zoom({ x: 0, w: 1, y: Infinity });
  } else if (event.key === "/") {
    event.preventDefault();
    asked = (prompt("Search for a part of a name") ?? "").trim().toLowerCase();
    draw();
  }
});
draw();
