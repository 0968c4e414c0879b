// The data of the profile. The figures of all functions are read at once, a function's details when they are needed.

const { overview, functions, contexts, threads, timeline } = JSON.parse(byId("data").textContent);
const ROWS = functions.index.length;
const rowOf = new Map();
functions.index.forEach((index, row) => index !== null && rowOf.set(index, row));

const lines = (id) => {
  let found = null;
  return (at) => JSON.parse((found ??= byId(id).textContent.trim().split("\n"))[at]);
};
const readDetails = lines("details");
const readSource = lines("sources");
const knownSources = new Map();

const figure = (name) => functions.figures.find((found) => found.name === name);
const MAIN = functions.figures[0] ?? { name: "calls", own: [], with_callees: null, before: null };
const TOTALS = new Map(functions.figures.map((found) => [found.name, sum(found.own)]));
// Some time is the host's and the engine's, which are no functions of the module.
if (overview.time) TOTALS.set("time", overview.time.time_ns);

// Whose code is, by its number in the data, and what the legend says. Colours of frames, marks and bars tell it.
const OWNERS = [["yours", "yours"], ["library", "libraries"], ["runtime", "runtime: engine and host"]];
const [YOURS, , RUNTIME] = OWNERS.keys();

function ownerMark(owner) {
  const [name] = OWNERS[owner];
  return element("span", { class: `owner ${name}`, role: "img", "aria-label": name, title: name });
}

function legend() {
  return element("ul", { class: "legend", "aria-label": "Colours" },
    OWNERS.map(([name, text]) => element("li", {}, element("span", { class: `owner ${name}`, "aria-hidden": "true" }), text)));
}

function sum(numbers) {
  return numbers.reduce((all, one) => all + one, 0);
}

// The maximum of a list that may be too long for Math.max.
function largest(numbers) {
  return numbers.reduce((most, one) => Math.max(most, one), 0);
}

// The details of the function in a row, or null if there is no room for them in the file.
function detailsOf(row) {
  return functions.details[row] === null ? null : readDetails(functions.details[row]);
}

function sourceFile(file) {
  if (!knownSources.has(file)) knownSources.set(file, readSource(file));
  return knownSources.get(file);
}

const functionName = (index) => functions.name[rowOf.get(index)] ?? `wasm-function[${index}]`;

// A tooltip shows the full name.
const fullName = (row) => functions.full_name[row] ?? functions.name[row];

const ownerOf = (index) => functions.owner[rowOf.get(index)];

// With the mark of whose it is, for tables.
function ownedLink(index) {
  return rowOf.has(index) ? [ownerMark(ownerOf(index)), functionLink(index)] : functionLink(index);
}

function functionLink(index, text = functionName(index)) {
  return rowOf.has(index) ? element("a", { href: `#function=${index}`, class: "name", title: fullName(rowOf.get(index)) }, text) : text;
}
