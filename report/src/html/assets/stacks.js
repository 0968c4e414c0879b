// The tree of stacks by one weight: which frame is where. Widths are weights with callees; the heaviest callee comes first.

class Stacks {
  constructor(callees, owners, callerOf, calleeOf, weights) {
    Object.assign(this, { callees, owners, callerOf, calleeOf, weights });
    this.below = callerOf.map(() => []);
    this.top = [];
    callerOf.forEach((caller, stack) => (caller < 0 ? this.top : this.below[caller]).push(stack));
  }

  // Places all frames by a weight, before or after.
  arrange(name, isBefore = false) {
    this.weight = this.weights.find((weight) => weight.name === name) ?? this.weights[0];
    this.widths = isBefore ? this.weight.before : this.weight.with_callees;
    const heaviestFirst = (a, b) => this.widths[b] - this.widths[a] || a - b;
    this.below.forEach((callees) => callees.sort(heaviestFirst));
    this.top.sort(heaviestFirst);
    this.start = new Float64Array(this.callerOf.length);
    this.depth = new Int32Array(this.callerOf.length);
    this.total = this.place(this.top, 0);
    // A caller comes before what it calls.
    for (let stack = 0; stack < this.callerOf.length; stack += 1) {
      const caller = this.callerOf[stack];
      this.depth[stack] = caller < 0 ? 0 : this.depth[caller] + 1;
      this.place(this.below[stack], this.start[stack]);
    }
  }

  place(stacks, start) {
    let at = start;
    for (const stack of stacks) {
      this.start[stack] = at;
      at += this.widths[stack];
    }
    return at - start;
  }

  name(stack) {
    return this.callees[this.calleeOf[stack]].name;
  }

  fullName(stack) {
    return this.callees[this.calleeOf[stack]].full_name ?? this.name(stack);
  }

  function(stack) {
    return this.callees[this.calleeOf[stack]].function;
  }

  // Whose its innermost frame is.
  owner(stack) {
    return this.owners[this.calleeOf[stack]];
  }

  // The frames of a stack, outermost first.
  frames(stack) {
    const frames = [];
    for (let at = stack; at >= 0; at = this.callerOf[at]) frames.push(at);
    return frames.reverse();
  }

  // The callers of a function (by position among the callees, -1 the host), and its callees, each with its weight, heaviest
  // first.
  // A recursive call counts where its function was first called.
  around(callee, weight) {
    const [callers, callees] = [new Map(), new Map()];
    const add = (sums, key, amount) => sums.set(key, (sums.get(key) ?? 0) + amount);
    const of = (stack) => (stack < 0 ? -1 : this.calleeOf[stack]);
    this.callerOf.forEach((caller, stack) => {
      if (of(stack) === callee) add(callers, of(caller), weight[stack]);
      if (of(caller) === callee) add(callees, of(stack), weight[stack]);
    });
    return [callers, callees].map((sums) => [...sums].sort((a, b) => b[1] - a[1]));
  }

  // The weight of stacks with a frame whose callee `is` accepts; each stack counts once.
  weightOf(is) {
    const found = new Uint8Array(this.callerOf.length);
    let all = 0;
    for (let stack = 0; stack < found.length; stack += 1) {
      const caller = this.callerOf[stack];
      if (caller >= 0 && found[caller]) found[stack] = 1;
      else if (is[this.calleeOf[stack]]) {
        found[stack] = 1;
        all += this.widths[stack];
      }
    }
    return all;
  }
}

let knownStacks = null;

// The stacks of the profile, made when they are first needed.
function stacksOfProfile() {
  return (knownStacks ??= makeStacks());
}

function stacksOf({ callees, owner, caller, callee, weights }) {
  return new Stacks(callees, owner, caller, callee, weights);
}

// Stacks of the profile that whoever asks may arrange. Without calling contexts each function by itself.
function makeStacks() {
  if (contexts) return stacksOf(contexts);
  const rows = functions.index.map((_, row) => row).filter((row) => functions.index[row] !== null);
  const callees = rows.map((row) => ({ name: functions.name[row], function: functions.index[row] }));
  const pick = (column) => column && rows.map((row) => column[row]);
  const weights = functions.figures.map(({ name, own, points, before }) =>
    ({ name, own: pick(own), with_callees: pick(own), points: pick(points), before: pick(before) }));
  return new Stacks(callees, pick(functions.owner), rows.map(() => -1), rows.map((_, at) => at), weights);
}
