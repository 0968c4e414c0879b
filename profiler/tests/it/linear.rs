//! What counters determine, by linear algebra: knows nothing of trees, cycles, pipes and classes.

use wprof_profiler::{BlockId, Cfg, EdgeId};

/// A prime, to calculate exactly by. Ranks of such small matrices of 0 and 1 are those of the rationals.
const PRIME: u64 = 2_147_483_647;

/// Linearly independent rows, each with its leading column, where no other has an entry above it.
#[derive(Clone, Default)]
struct Span {
    rows: Vec<(usize, Vec<u64>)>,
}

impl Span {
    /// What remains of a row after taking off what the span explains.
    fn rest(&self, mut row: Vec<u64>) -> Vec<u64> {
        for (lead, known) in &self.rows {
            let factor = PRIME - row[*lead];
            row.iter_mut().zip(known).for_each(|(entry, known)| *entry = (*entry + factor * known) % PRIME);
        }
        row
    }

    fn contains(&self, row: Vec<u64>) -> bool {
        self.rest(row).iter().all(|&entry| entry == 0)
    }

    fn insert(&mut self, row: Vec<u64>) {
        let mut row = self.rest(row);
        if let Some(lead) = row.iter().position(|&entry| entry != 0) {
            let scale = power(row[lead], PRIME - 2);
            row.iter_mut().for_each(|entry| *entry = *entry * scale % PRIME);
            self.rows.push((lead, row));
        }
    }
}

fn power(base: u64, exponent: u64) -> u64 {
    let square = |half: u64| half * half % PRIME;
    match exponent {
        0 => 1,
        odd if odd % 2 == 1 => base * power(base, odd - 1) % PRIME,
        even => square(power(base, even / 2)),
    }
}

/// By edge, the closing edge last: whether it enters (or leaves) the vertex.
fn incidence(cfg: &Cfg, vertex: BlockId, enters: bool) -> Vec<u64> {
    let touches = |edge| {
        let ends = cfg.edge(edge);
        if enters { ends.to == vertex } else { ends.from == vertex }
    };
    cfg.closed_edges().map(|edge| u64::from(touches(edge))).collect()
}

/// Whether the counts of these edges and vertices determine those of all vertices, EXIT included, given
/// that what enters a vertex leaves it.
pub fn determine_vertices(cfg: &Cfg, edges: &[EdgeId], vertices: &[BlockId]) -> bool {
    determine_vertices_but(cfg, &[], edges, vertices)
}

/// The same of all vertices but the `unwanted` ones.
pub fn determine_vertices_but(
    cfg: &Cfg,
    unwanted: &[BlockId],
    edges: &[EdgeId],
    vertices: &[BlockId],
) -> bool {
    let all = || cfg.blocks().chain([cfg.exit()]);
    let mut known = Span::default();
    for vertex in all() {
        let (into, out) = (incidence(cfg, vertex, true), incidence(cfg, vertex, false));
        known.insert(into.iter().zip(out).map(|(into, out)| (into + PRIME - out) % PRIME).collect());
    }
    for &counted in edges {
        known.insert(cfg.closed_edges().map(|edge| u64::from(edge == counted)).collect());
    }
    vertices.iter().for_each(|&vertex| known.insert(incidence(cfg, vertex, true)));
    let mut wanted = all().filter(|vertex| !unwanted.contains(vertex));
    wanted.all(|vertex| known.contains(incidence(cfg, vertex, true)))
}

#[test]
fn a_diamond_needs_the_calls_and_one_arm() {
    let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
    assert!(determine_vertices(&cfg, &[EdgeId(0), EdgeId(3)], &[]));
    assert!(determine_vertices(&cfg, &[EdgeId(0)], &[BlockId(0)]));
    assert!(!determine_vertices(&cfg, &[EdgeId(0), EdgeId(2)], &[BlockId(1)]));
    assert!(!determine_vertices(&cfg, &[], &[BlockId(0), BlockId(3)]));
}
