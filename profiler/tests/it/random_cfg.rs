//! Control-flow graphs to test with.

use wprof_profiler::Cfg;

use crate::rng::Rng;

/// Runs a property on random graphs of both sorts, for about a second, growing to some 40 blocks.
pub fn for_random_cfgs(property: impl Fn(&Cfg, &mut Rng)) {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=40)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let cfg = if u.arbitrary()? { structured(&mut rng, size) } else { unstructured(&mut rng, size) };
        property(&cfg, &mut rng);
        Ok(())
    })
    .budget_ms(1000);
}

/// Runs a property on random reducible graphs.
pub fn for_structured_cfgs(property: impl Fn(&Cfg, &mut Rng)) {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=40)?;
        let mut rng = Rng::new(u.arbitrary()?);
        property(&structured(&mut rng, size), &mut rng);
        Ok(())
    })
    .budget_ms(1000);
}

/// Any graph: irreducible, with parallel edges, self loops, unreached blocks and traps.
pub fn unstructured(rng: &mut Rng, blocks: u32) -> Cfg {
    let mut edges = Vec::new();
    for from in 0..blocks {
        let degree = [0, 1, 1, 2, 2, 2, 3, 5][rng.below(8)];
        for _ in 0..degree {
            // Mostly near, so that long chains and loops arise.
            let near = (u64::from(from) + rng.next() % 5).saturating_sub(1).min(u64::from(blocks)) as u32;
            let far = rng.below(blocks as usize + 1) as u32;
            edges.push((from, if rng.once_in(3) { far } else { near }));
        }
    }
    Cfg::from_pairs(blocks, &edges).unwrap()
}

/// A graph as structured code makes it: blocks, loops, ifs, branches to enclosing labels, switches,
/// returns and traps. Reducible; some blocks may be unreached.
pub fn structured(rng: &mut Rng, statements: u32) -> Cfg {
    let mut code = Structured { rng, edges: Vec::new(), blocks: 1, labels: vec![RETURN], budget: statements };
    if let Some(end) = code.sequence(0) {
        code.edges.push((end, RETURN));
    }
    let (blocks, mut edges) = (code.blocks, code.edges);
    edges.iter_mut().filter(|edge| edge.1 == RETURN).for_each(|edge| edge.1 = blocks);
    Cfg::from_pairs(blocks, &edges).unwrap()
}

/// Stands for EXIT until the number of blocks is known.
const RETURN: u32 = u32::MAX;

struct Structured<'a> {
    rng: &'a mut Rng,
    edges: Vec<(u32, u32)>,
    blocks: u32,
    labels: Vec<u32>,
    budget: u32,
}

impl Structured<'_> {
    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks - 1
    }

    fn label(&mut self) -> u32 {
        self.labels[self.rng.below(self.labels.len())]
    }

    /// Emits statements from block `at` on; the block where control goes on, if it does.
    fn sequence(&mut self, mut at: u32) -> Option<u32> {
        while self.budget > 0 && !self.rng.once_in(6) {
            self.budget -= 1;
            at = self.statement(at)?;
        }
        Some(at)
    }

    fn statement(&mut self, at: u32) -> Option<u32> {
        match self.rng.below(12) {
            0..2 => self.labelled_block(at),
            2..5 => self.labelled_loop(at),
            5..7 => self.conditional(at),
            7..10 => self.branch_if(at),
            10 => self.switch(at),
            _ => self.leave(at),
        }
    }

    fn labelled_block(&mut self, at: u32) -> Option<u32> {
        let end = self.block();
        self.labelled(end, at).into_iter().for_each(|last| self.edges.push((last, end)));
        Some(end)
    }

    fn labelled_loop(&mut self, at: u32) -> Option<u32> {
        let header = self.block();
        self.edges.push((at, header));
        self.labelled(header, header)
    }

    fn labelled(&mut self, label: u32, at: u32) -> Option<u32> {
        self.labels.push(label);
        let last = self.sequence(at);
        self.labels.pop();
        last
    }

    fn conditional(&mut self, at: u32) -> Option<u32> {
        let (then, otherwise, end) = (self.block(), self.block(), self.block());
        self.edges.extend([(at, then), (at, otherwise)]);
        for arm in [then, otherwise] {
            self.labelled(end, arm).into_iter().for_each(|last| self.edges.push((last, end)));
        }
        Some(end)
    }

    fn branch_if(&mut self, at: u32) -> Option<u32> {
        let (label, next) = (self.label(), self.block());
        self.edges.extend([(at, label), (at, next)]);
        Some(next)
    }

    fn switch(&mut self, at: u32) -> Option<u32> {
        for _ in 0..=self.rng.below(4) {
            let label = self.label();
            self.edges.push((at, label));
        }
        None
    }

    /// A branch out, a return, or a trap.
    fn leave(&mut self, at: u32) -> Option<u32> {
        if !self.rng.once_in(3) {
            let label = self.label();
            self.edges.push((at, label));
        }
        None
    }
}

/// Every graph of up to three blocks with at most two successors each, parallel edges and traps included.
pub fn small_cfgs() -> impl Iterator<Item = Cfg> {
    (1..=3).flat_map(|blocks: u32| {
        let rows = successor_lists(blocks);
        let graphs = rows.len().pow(blocks);
        (0..graphs).map(move |mut code| {
            let mut edges = Vec::new();
            for from in 0..blocks {
                edges.extend(rows[code % rows.len()].iter().map(|&to| (from, to)));
                code /= rows.len();
            }
            Cfg::from_pairs(blocks, &edges).unwrap()
        })
    })
}

fn successor_lists(blocks: u32) -> Vec<Vec<u32>> {
    let singles = (0..=blocks).map(|to| vec![to]);
    let pairs = (0..=blocks).flat_map(|a| (0..=blocks).map(move |b| vec![a, b]));
    [Vec::new()].into_iter().chain(singles).chain(pairs).collect()
}

#[test]
fn generators_make_what_they_promise() {
    assert_eq!(small_cfgs().count(), 7 + 13 * 13 + 21 * 21 * 21);
    let mut rng = Rng::new(1);
    let graphs: Vec<Cfg> = (0..300).map(|_| unstructured(&mut rng, 12)).collect();
    assert!(graphs.iter().any(|cfg| cfg.edges().any(|edge| cfg.edge(edge).from == cfg.edge(edge).to)));
    assert!(graphs.iter().any(|cfg| cfg.blocks().any(|block| cfg.out_edges(block).is_empty())));
    let sizes = (0..300).map(|_| structured(&mut rng, 40).block_count());
    assert!(sizes.max().unwrap() > 30);
}
