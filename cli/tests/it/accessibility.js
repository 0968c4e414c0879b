// What tests of accessibility put in front of a page's own script: it goes through the views, looks at each, and leaves what it
// found in `data-found` of the document, one text for each fault.
"use strict";
(() => {
  const FOCUSABLE = "a[href], button:not([disabled]), input, select, summary, [tabindex='0']";
  // Elements that react to clicks, as they are made.
  const clickable = new Set();
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (kind, ...rest) {
    if (kind === "click" && this instanceof Element) clickable.add(this);
    return listen.call(this, kind, ...rest);
  };

  // A browser without a screen draws no frames while nobody takes a picture.
  window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
  const drawn = () => new Promise((resolve) => setTimeout(resolve, 100));
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const name = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} ${element.textContent.trim().slice(0, 30)}`;

  async function axeFaults() {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join(" | ")}`);
  }

  // What can be clicked can be reached: it is a stop of Tab, or part of one that arrow keys walk in.
  function unreachable() {
    const isReached = (element) => element.matches(`${FOCUSABLE}, :disabled`) || element.closest("[data-keys], summary, label");
    return [...clickable].filter((element) => element.isConnected && isSeen(element) && !isReached(element))
      .map((element) => `cannot be reached by keyboard: ${name(element)}`);
  }

  // Focus is seen: by an outline, or by another drawing of what has it.
  function invisibleFocus() {
    const faults = [];
    const look = (element) => {
      const inner = element.querySelector("rect") ?? element;
      const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
      const { stroke, strokeWidth } = getComputedStyle(inner);
      return { hasOutline: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2, drawing: `${outlineColor} ${stroke} ${strokeWidth}` };
    };
    for (const element of [...document.querySelectorAll(FOCUSABLE)].filter(isSeen).slice(0, 300)) {
      document.activeElement.blur();
      const before = look(element);
      element.focus({ focusVisible: true });
      const after = look(element);
      if (document.activeElement !== element) faults.push(`takes no focus: ${name(element)}`);
      else if (!after.hasOutline && before.drawing === after.drawing) faults.push(`has no visible focus: ${name(element)}`);
    }
    document.activeElement.blur();
    return faults;
  }

  // Nothing is wider than the page; tables scroll by themselves, and names keep half of their room.
  function overflowing() {
    const faults = [];
    const page = [document.documentElement, document.querySelector("main")];
    page.filter((found) => found.scrollWidth > found.clientWidth)
      .forEach((found) => faults.push(`${name(found).slice(0, 20)} is ${found.scrollWidth} wide, not ${found.clientWidth}`));
    const scrolls = (element) => element.closest(".scroll, .grid, .listing, .graph, [data-scrolls]");
    const wide = [...document.querySelectorAll("section:not([hidden]) *, header *")].filter((element) => isSeen(element)
      && element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element));
    faults.push(...wide.slice(0, 5).map((element) => `lies outside of the page: ${name(element)}`));
    if (innerWidth > 600) return faults;
    const cells = [...document.querySelectorAll(".scroll tbody tr:first-child td:last-child:not(.number), .grid .rows .name")].filter(isSeen);
    for (const cell of cells.filter((found) => found.matches("td, [role=gridcell]"))) {
      const room = cell.closest(".scroll, .grid");
      const { width, left, right } = cell.getBoundingClientRect();
      const box = room.getBoundingClientRect();
      if (width < room.clientWidth / 2 - 1) faults.push(`a name has ${width} of ${room.clientWidth}: ${name(cell)}`);
      if (left < box.left - 1 || right > box.right + 1) faults.push(`a name is out of view: ${name(cell)}`);
    }
    return faults;
  }

  const LOOKS = { axe: axeFaults, keys: () => [...unreachable(), ...invisibleFocus()], room: overflowing };

  listen.call(window, "load", async () => {
    const found = [];
    try {
      await drawn();
      const hottest = document.querySelector("#overview a[href^='#function=']")?.getAttribute("href");
      const links = [...document.querySelectorAll("nav a:not([hidden])")].map((link) => link.getAttribute("href"));
      for (const view of [...links, hottest].filter(Boolean)) {
        location.hash = view;
        await drawn();
        for (const look of window.looks) found.push(...(await LOOKS[look]()).map((fault) => `${view} ${fault}`));
      }
    } catch (error) {
      found.push(String(error.stack ?? error));
    }
    document.documentElement.dataset.found = JSON.stringify(found);
  });
})();
