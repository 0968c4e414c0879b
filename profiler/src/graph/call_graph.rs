//! The call graph of a program, and the choice of functions that need a check at their entry.
//!
//! Input: the direct calls of each function, and the functions that may be called in other ways. Output: a set of
//! functions such that only a bounded number of calls can happen without a check at a function entry or a loop
//! header.
//! Invariant: every cycle of calls contains a function of the set, and every function entered from outside is in it
//! unless it is a leaf. Linear time.
//! Source: Hirzel & Chilimbi, *Bursty Tracing*, FDDO 2001, section 3.1: the set C. Ours: calls in loops already have
//! a check before them, so a recursion that passes through such a call needs no other. Oracle: all cycles of small
//! graphs, in `tests/it/call_graph.rs`.

/// A direct callee of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectCallee {
    /// Index of the callee.
    pub func: u32,
    /// Whether all direct calls of the callee are in loops.
    pub in_loops: bool,
}

/// The direct calls between functions.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// Callees of function f: `callees[starts[f]..starts[f + 1]]`.
    starts: Vec<u32>,
    callees: Vec<DirectCallee>,
}

/// The checks that bound a recursion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Checks at function entries: the paper's set C.
    ByEntries,
    /// Checks at function entries, and at the headers of loops that contain calls.
    ByLoops,
}

/// Distance of a function that no root reaches; also the component of a function that has none yet.
const FAR: u32 = u32::MAX;

impl CallGraph {
    /// Creates an empty graph. Functions are added by ascending index.
    pub fn new() -> CallGraph {
        CallGraph { starts: vec![0], callees: Vec::new() }
    }

    /// Adds the next function with its direct callees, which may be added to the graph later.
    pub fn add(&mut self, callees: impl IntoIterator<Item = DirectCallee>) {
        self.callees.extend(callees);
        self.starts.push(self.callees.len() as u32);
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Reports whether the graph has no functions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the direct callees of `func`.
    pub fn callees(&self, func: u32) -> &[DirectCallee] {
        &self.callees[self.starts[func as usize] as usize..self.starts[func as usize + 1] as usize]
    }

    /// Returns for each function whether it has a check at its entry. It has one unless it is a leaf, if it is a
    /// root, or if it is called from a function of its strongly connected component that is no closer to the roots.
    /// `roots` are the functions that are called from outside or whose address is taken. With [`Broken::ByLoops`],
    /// calls in loops do not count as recursion.
    ///
    /// # Panics
    /// Panics if a root or callee is not a function of the graph.
    pub fn entry_checks(&self, broken: Broken, roots: &[u32], is_leaf: impl Fn(u32) -> bool) -> Vec<bool> {
        let distances = self.distances(roots);
        let unbroken = match broken {
            Broken::ByEntries => self,
            Broken::ByLoops => &self.without_loops(),
        };
        let components = unbroken.components();
        let mut checked = vec![false; self.len()];
        roots.iter().for_each(|&root| checked[root as usize] = true);
        for caller in 0..self.len() {
            for callee in unbroken.callees(caller as u32).iter().map(|callee| callee.func as usize) {
                if components[caller] == components[callee] && distances[caller] >= distances[callee] {
                    checked[callee] = true;
                }
            }
        }
        (0..).zip(&mut checked).for_each(|(func, checked)| *checked &= !is_leaf(func));
        checked
    }

    /// Returns for each function the callees with which it forms a recursion that its loops break, if `checked` has
    /// the matching entry checks. The loops around these calls must have checks, or else the function's entry.
    pub fn broken_by_loops(&self, checked: &[bool]) -> Vec<Vec<u32>> {
        let components = self.components();
        let of = |caller: u32| {
            let callees = self.callees(caller).iter().filter(|callee| {
                let together = components[caller as usize] == components[callee.func as usize];
                callee.in_loops && together && !checked[caller as usize]
            });
            callees.map(|callee| callee.func).collect()
        };
        (0..self.len() as u32).map(of).collect()
    }

    fn without_loops(&self) -> CallGraph {
        let mut graph = CallGraph::new();
        for func in 0..self.len() as u32 {
            graph.add(self.callees(func).iter().copied().filter(|callee| !callee.in_loops));
        }
        graph
    }

    /// Returns the least number of calls from a root to each function.
    fn distances(&self, roots: &[u32]) -> Vec<u32> {
        let mut distances = vec![FAR; self.len()];
        let mut queue: Vec<u32> = Vec::new();
        for &root in roots {
            if std::mem::replace(&mut distances[root as usize], 0) == FAR {
                queue.push(root);
            }
        }
        let mut next = 0;
        while let Some(&caller) = queue.get(next) {
            next += 1;
            for callee in self.callees(caller).iter().map(|callee| callee.func) {
                if distances[callee as usize] == FAR {
                    distances[callee as usize] = distances[caller as usize] + 1;
                    queue.push(callee);
                }
            }
        }
        distances
    }

    /// Returns the strongly connected component of each function (Tarjan, SIAM J. Comput. 1972), without recursion.
    fn components(&self) -> Vec<u32> {
        let mut search = Components {
            graph: self,
            order: vec![0; self.len()],
            lowest: vec![0; self.len()],
            component: vec![FAR; self.len()],
            open: Vec::new(),
            found: 0,
            components: 0,
        };
        (0..self.len() as u32).for_each(|func| search.visit(func));
        search.component
    }
}

/// A search for strongly connected components in progress.
struct Components<'a> {
    graph: &'a CallGraph,
    /// The position of each function in the order of discovery, from 1 on; 0 if it is undiscovered.
    order: Vec<u32>,
    /// The earliest discovered function of its component that each function is known to reach.
    lowest: Vec<u32>,
    component: Vec<u32>,
    /// Discovered functions whose component is not complete.
    open: Vec<u32>,
    found: u32,
    components: u32,
}

impl Components<'_> {
    fn visit(&mut self, root: u32) {
        if self.order[root as usize] != 0 {
            return;
        }
        // The functions on the search path, each with the number of callees already visited.
        let mut path = vec![(root, 0)];
        self.find(root);
        while let Some((func, next)) = path.last_mut() {
            let func = *func;
            let Some(&DirectCallee { func: callee, .. }) = self.graph.callees(func).get(*next) else {
                path.pop();
                self.finish(func);
                if let Some(&(caller, _)) = path.last()
                    && self.component[func as usize] == FAR
                {
                    self.lower(caller, self.lowest[func as usize]);
                }
                continue;
            };
            *next += 1;
            if self.order[callee as usize] == 0 {
                self.find(callee);
                path.push((callee, 0));
            } else if self.component[callee as usize] == FAR {
                self.lower(func, self.order[callee as usize]);
            }
        }
    }

    fn find(&mut self, func: u32) {
        self.found += 1;
        (self.order[func as usize], self.lowest[func as usize]) = (self.found, self.found);
        self.open.push(func);
    }

    fn lower(&mut self, func: u32, to: u32) {
        let lowest = &mut self.lowest[func as usize];
        *lowest = (*lowest).min(to);
    }

    fn finish(&mut self, func: u32) {
        if self.lowest[func as usize] != self.order[func as usize] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member as usize] = self.components;
            if member == func {
                break;
            }
        }
        self.components += 1;
    }
}
