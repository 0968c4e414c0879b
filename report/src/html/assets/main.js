// The choice of the view by the part of the address behind `#`, such as `function=17&path=3`.

const VIEWS = ["overview", "functions", "contexts", "timeline", "function"];
const built = new Map();

// Each view is made when it is first shown.
function build(name, make) {
  if (!built.has(name)) built.set(name, make(byId(name)));
  return built.get(name);
}

function go() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const name = VIEWS.find((view) => asked.has(view)) ?? "overview";
  const index = Number(asked.get("function"));
  if (name === "timeline" && !timeline) {
    location.replace("#overview");
    return;
  }
  if (name === "function" && !rowOf.has(index)) {
    location.replace("#functions");
    return;
  }
  show(name);
  if (name === "overview") build(name, showOverview)?.draw();
  if (name === "functions") build(name, (view) => new FunctionTable(view)).draw();
  if (name === "contexts") build(name, (view) => new FlameGraph(view)).draw();
  if (name === "timeline") build(name, (view) => new TimelineView(view)).draw();
  if (name === "function") {
    const path = asked.has("path") ? Number(asked.get("path")) : null;
    built.set(name, new FunctionView(byId(name), index, path));
    byId("function-tab").hidden = false;
    byId("function-tab").href = location.hash;
    byId("function-tab").textContent = functions.name[rowOf.get(index)];
  }
}

function show(name) {
  for (const view of VIEWS) {
    byId(view).hidden = view !== name;
    const link = view === "function" ? byId("function-tab") : document.querySelector(`nav a[href="#${view}"]`);
    if (view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function showHead() {
  byId("timeline-tab").hidden = !timeline;
  const program = overview.program.split("/").pop();
  document.title = `${program}: wprof report`;
  byId("program").textContent = program;
  byId("program").title = overview.program;
  if (overview.sampled !== null) {
    byId("sampled").hidden = false;
    byId("sampled").textContent = `sampled: ${rate(overview.sampled)} of all checks`;
    byId("sampled").title = overview.unseen ?? "";
  }
}

// `/` goes to the search of the view that is shown.
function goToSearch(event) {
  const search = document.querySelector("section:not([hidden]) input[type=search]");
  if (event.key !== "/" || !search || event.target.matches("input, select")) return;
  event.preventDefault();
  search.focus();
}

showHead();
addEventListener("keydown", goToSearch);
addEventListener("hashchange", go);
go();
