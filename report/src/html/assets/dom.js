// Elements. Text goes in as text only: nothing here, or anywhere in this program, parses HTML.

const byId = (id) => document.getElementById(id);

// An element with attributes, listeners (onclick: …) and children: elements or text, in lists or not; null is nothing.
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(found, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) found.setAttribute(name, value);
    else if (value === true) found.setAttribute(name, "");
    else if (value !== false && value != null) found.setAttribute(name, value);
  }
  found.append(...children.flat(Infinity).filter((child) => child != null));
  return found;
}

// A row of buttons of which one is pressed; `choose` is told the value of it.
function choice(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) =>
    element("button", { type: "button", "aria-pressed": value === chosen, onclick: () => press(value) }, text));
  function press(value) {
    options.forEach(([other], at) => buttons[at].setAttribute("aria-pressed", other === value));
    choose(value);
  }
  return element("span", { class: "choice", role: "group", "aria-label": label }, buttons);
}

function selection(label, options, chosen, choose) {
  const items = options.map((option) => element("option", { value: option, selected: option === chosen }, option));
  const select = element("select", { onchange: () => choose(select.value) }, items);
  return element("label", {}, label + " ", select);
}

// A table of few rows; cells are text or elements, `sides` has an "r" for each column on the right.
function smallTable(titles, sides, rows) {
  const cell = (name) => (content, at) => element(name, { class: sides[at] === "r" ? "number" : null }, content);
  // A header without text would be announced as one.
  const head = (title, at) => cell(title === "" ? "td" : "th")(title, at);
  const table = element("table", {},
    element("thead", {}, element("tr", {}, titles.map(head))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell("td"))))));
  // Without a link or a button in it, it must be a stop itself to be scrolled with keys.
  const isStop = !table.querySelector("a, button, summary");
  return element("div", { class: "scroll", ...(isStop ? { tabindex: 0, role: "group", "aria-label": titles.filter(Boolean).join(", ") } : {}) }, table);
}

const problems = [];

// Whatever goes wrong is shown: a report that is silently incomplete would be worse.
function report(problem) {
  problems.push(problem);
  byId("error").hidden = false;
  byId("error").textContent = `This page has a problem: ${problems[0]}`;
}
addEventListener("error", (event) => report(event.message));
addEventListener("unhandledrejection", (event) => report(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => report(`blocked: ${event.blockedURI}`));

// The page tries itself: see test.js. It then draws at once, so that what is drawn can be looked at.
const IS_TEST = location.hash === "#test";

// Calls `draw` once before the next frame, however often it is asked.
function oncePerFrame(draw) {
  let asked = false;
  return IS_TEST ? draw : () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  };
}
