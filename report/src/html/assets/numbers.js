// Figures as people read them, as in the terminal's reports.

const format = new Intl.NumberFormat("en-US");
const formatAverage = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

// JSON's numbers are exact up to 2^53 here; what is more says so.
function grouped(number) {
  return Number.isSafeInteger(number) ? format.format(number) : `≈${number.toPrecision(4)}`;
}

function share(part, whole) {
  return whole > 0 ? part / whole : 0;
}

// 65.8%; <0.1% for what is little but not nothing, >99.9% for what is not quite all.
function percent(part, whole) {
  const found = share(part, whole) * 100;
  if (found <= 0) return "0%";
  if (found < 0.05) return "<0.1%";
  if (found === 100) return "100%";
  return found >= 99.95 && found < 100 ? ">99.9%" : `${found.toFixed(1)}%`;
}

function average(number) {
  return number < 1000 ? formatAverage.format(number) : grouped(Math.round(number));
}

function countOf(count, noun) {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function duration(ns) {
  if (ns < 1e6) return `${Math.round(ns / 1e3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(1)} ms`;
  if (ns < 6e10) return `${(ns / 1e9).toFixed(2)} s`;
  return `${Math.floor(ns / 6e10)} min ${Math.floor(ns / 1e9) % 60} s`;
}

// So much of a figure, which has a unit of its own if it is time.
function amount(name, number) {
  return name === "time" ? duration(number) : grouped(number);
}

// +12 (+3.4%)
function change(before, after, name) {
  const sign = after > before ? "+" : after < before ? "−" : "±";
  return sign + amount(name, Math.abs(after - before)) + (before > 0 && after !== before ? ` (${growth(before, after)})` : "");
}

function growth(before, after) {
  if (before === 0) return after === 0 ? "" : "new";
  if (after === 0) return "gone";
  const found = 100 * (after - before) / before;
  return `${found > 0 ? "+" : found < 0 ? "−" : ""}${Math.abs(found).toFixed(Math.abs(found) < 10 ? 2 : 0)}%`;
}
