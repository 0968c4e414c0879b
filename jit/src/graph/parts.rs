//! Parts: a large function's baseline code in several pieces, each compiled when control first reaches it.
//!
//! Most code of large functions never runs: in the functions with more than 5,000 bytes that GCC's cc1 calls, four
//! fifths of the blocks. So start-up time proportional to what runs requires looking into functions.
//!
//! Input: a graph with one node per block. Output: its nodes in parts, each of which is entered only at its first node,
//! the *head*; a wire to another part leads to a node that continues there, through a row of the code slots, as by OSR.
//! Algorithm: the nodes that a node dominates can only be entered there, so a subtree of the dominator tree can be cut
//! off as a part. From the leaves up, a subtree that is larger than a part should be loses its largest subtrees. Where
//! control returns from these into the middle of the rest, the subtree there is cut off as well.

use std::sync::OnceLock;

use hashbrown::HashMap;
use wprof_profiler::{BlockId, DepthFirst, Dominators};

use super::{BlockGraph, Elsewhere, Node};
use crate::cfg::{Cfg, Division};
use crate::options::PartSizes;

/// A cut may make another one necessary. A function that needs more rounds of this is divided more coarsely.
const MOST_ROUNDS: usize = 32;

/// The parts of a function.
#[derive(Clone, Debug)]
pub struct Parts {
    graph: BlockGraph,
    /// The part of each node.
    part_of: Vec<u32>,
    /// The first node of each part.
    heads: Vec<u32>,
    /// The nodes of each part, the head first.
    nodes: Vec<Vec<u32>>,
    /// The row of code slots of part 1; the rows of the other parts follow it.
    first_row: u32,
    /// The rows that control likely reaches from each part; computed once.
    next: OnceLock<Vec<Vec<u32>>>,
}

impl Parts {
    /// Divides a function with this graph into parts; `None` if it is better compiled as a whole.
    pub fn new(graph: BlockGraph, cfg: &Cfg, sizes: PartSizes, first_row: u32) -> Option<Parts> {
        let size = |block: &crate::cfg::Block| (block.limit - block.start) as usize;
        let is_plain = graph.nodes.len() == cfg.blocks.len() && !graph.resumes;
        if !is_plain || cfg.bytes() <= sizes.split {
            return None;
        }
        let shape = cfg.shape();
        let dominators = Dominators::new(shape, &DepthFirst::new(shape));
        let above = |node: usize| dominators.immediate(BlockId(node as u32)).map(BlockId::index);
        let bytes: Vec<usize> = cfg.blocks.iter().map(size).collect();
        let limit = sizes.limit(cfg.bytes());
        let ever_larger = std::iter::successors(Some(sizes), |sizes| Some(sizes.doubled()));
        let mut ways = ever_larger.map(|sizes| divide(&graph, cut(&bytes, above, sizes), above));
        let fits = |(part_of, heads): &(Vec<u32>, Vec<u32>)| {
            heads.len() <= limit + 1 && handed_over(&graph, cfg, part_of, heads) <= cfg.most_handed_over()
        };
        let (part_of, heads) = ways.find_map(|way| way.filter(fits))?;
        let can_enter = |&head: &u32| cfg.has_room(head);
        let is_divided = heads.len() > 1 && heads[1..].iter().all(can_enter);
        let mut nodes = vec![Vec::new(); heads.len()];
        (0..).zip(&part_of).for_each(|(node, &part)| nodes[part as usize].push(node));
        is_divided.then(|| Parts { graph, part_of, heads, nodes, first_row, next: OnceLock::new() })
    }

    /// Returns the rows of code slots that control likely reaches from part `number`: of functions, including imports,
    /// and of other parts.
    pub fn likely_next(&self, cfg: &Cfg, number: u32) -> &[u32] {
        let Parts { part_of, heads, first_row, .. } = self;
        let all = || cfg.likely_next(Division { part_of, heads, first_row: *first_row });
        &self.next.get_or_init(all)[number as usize]
    }

    /// Returns the number of parts.
    pub fn count(&self) -> u32 {
        self.heads.len() as u32
    }

    /// Returns the graph of part `number`: 0 is entered by calls, the others with their state from the OSR buffer.
    pub fn graph(&self, number: u32) -> BlockGraph {
        let mut order = self.nodes[number as usize].clone();
        let mut index_of: HashMap<u32, u32> = order.iter().copied().zip(0..).collect();
        let inside = order.len();
        let mut nodes: Vec<Node> = Vec::with_capacity(inside);
        for place in 0..inside {
            let mut node = self.graph.nodes[order[place] as usize].clone();
            for to in node.targets_mut() {
                *to = *index_of.entry(*to).or_insert_with_key(|&head| {
                    order.push(head);
                    order.len() as u32 - 1
                });
            }
            nodes.push(node);
        }
        nodes.extend(order[inside..].iter().map(|&head| self.elsewhere(head)));
        BlockGraph {
            nodes,
            inlined: Vec::new(),
            resumes: number > 0,
            is_continued: number > 0,
            ..self.graph.clone_without_nodes()
        }
    }

    /// Returns a node that continues in the part whose head is `head`.
    fn elsewhere(&self, head: u32) -> Node {
        let part = self.part_of[head as usize];
        self.graph.nodes[head as usize].placed(Elsewhere::Part(self.first_row + part - 1))
    }
}

/// Returns the part of each node, and the head of each part, where at least the given nodes are heads; `None` if that
/// takes too many rounds.
fn divide(
    graph: &BlockGraph,
    mut is_head: Vec<bool>,
    above: impl Fn(usize) -> Option<usize>,
) -> Option<(Vec<u32>, Vec<u32>)> {
    for _ in 0..MOST_ROUNDS {
        let (mut part_of, mut heads) = (vec![0; is_head.len()], vec![0]);
        for node in 1..is_head.len() {
            part_of[node] = match above(node).filter(|_| !is_head[node]) {
                Some(above) => part_of[above],
                None => {
                    heads.push(node as u32);
                    heads.len() as u32 - 1
                }
            };
        }
        let mut is_done = true;
        for (node, from) in graph.nodes.iter().zip(&part_of) {
            for to in node.targets().map(|to| to as usize) {
                is_done &= part_of[to] == *from || is_head[to];
                is_head[to] |= part_of[to] != *from;
            }
        }
        if is_done {
            return Some((part_of, heads));
        }
    }
    None
}

/// Returns the number of values that frames store and load between parts, in the code of all parts.
fn handed_over(graph: &BlockGraph, cfg: &Cfg, part_of: &[u32], heads: &[u32]) -> usize {
    let state = |head: u32| cfg.state_size(graph.nodes[head as usize].block);
    let mut ways: Vec<(u32, u32)> = Vec::new();
    for (node, &from) in graph.nodes.iter().zip(part_of) {
        ways.extend(node.targets().filter(|&to| part_of[to as usize] != from).map(|to| (from, to)));
    }
    ways.sort_unstable();
    ways.dedup();
    let stored = ways.iter().map(|&(_, head)| state(head));
    stored.chain(heads.iter().skip(1).map(|&head| state(head))).sum()
}

/// Returns which nodes of a tree are cut off, given their sizes and their parents, which have smaller numbers.
fn cut(sizes: &[usize], above: impl Fn(usize) -> Option<usize>, wanted: PartSizes) -> Vec<bool> {
    let mut below: Vec<Vec<(usize, usize)>> = vec![Vec::new(); sizes.len()];
    let mut is_cut = vec![false; sizes.len()];
    for node in (0..sizes.len()).rev() {
        let mut children = std::mem::take(&mut below[node]);
        let mut size = sizes[node] + children.iter().map(|&(size, _)| size).sum::<usize>();
        children.sort_unstable_by(|a, b| b.cmp(a));
        for (child_size, child) in children {
            if size <= wanted.most || child_size < wanted.least {
                break;
            }
            is_cut[child] = true;
            size -= child_size;
        }
        if let Some(above) = above(node) {
            below[above].push((size, node));
        }
    }
    is_cut
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: PartSizes = PartSizes { split: 0, most: 10, least: 3 };

    #[test]
    fn the_largest_subtrees_are_cut_until_the_rest_is_small_enough() {
        // 0 has the children 1, 2, 5; 2 has 3 and 4.
        let above = [None, Some(0), Some(0), Some(2), Some(2), Some(0)];
        let cut = cut(&[4, 5, 1, 2, 2, 6], |node| above[node], SIZES);
        // 20 bytes in all: without 5 there are 14, without 2, as large as 1 and behind it, 9.
        assert_eq!(cut, [false, false, true, false, false, true]);
    }

    #[test]
    fn what_is_too_small_stays_however_much_it_is() {
        let sizes = [[2].repeat(100), vec![3, 4]].concat();
        let cut = cut(&sizes, |node| (node > 0).then_some(0), SIZES);
        assert_eq!(cut.iter().filter(|cut| **cut).count(), 2);
        assert!(cut[100] && cut[101]);
    }

    #[test]
    fn there_are_no_more_parts_than_the_limit_says() {
        let sizes = PartSizes::above(40);
        for count in 1..200 {
            let bytes = vec![7; count];
            let cut = cut(&bytes, |node| node.checked_sub(1), sizes);
            let limit = sizes.limit(bytes.iter().sum());
            let parts = cut.iter().filter(|cut| **cut).count();
            assert!(parts <= limit || count * 7 <= 40, "{parts} of {limit}");
        }
    }
}
