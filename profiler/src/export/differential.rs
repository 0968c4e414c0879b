//! Merges the stacks of two profiles into one tree, for formats that show changes.
//!
//! Input: the stacks of one metric, before and after. Output: the stacks after, each with its weight before.
//! Stacks are identified by their names, so the same stack of two builds, or of two call sites, is one.
//! Invariant: the weights after add up to the later profile's total. The weights before of the outermost stacks,
//! including stacks that are gone, add up to the earlier profile's total.
//! Source: Gregg, *Differential Flame Graphs*, 2014.

use std::collections::HashMap;

use super::{Frame, Metric, Samples, StackNode};

/// The stacks after, with their weights before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differential {
    /// The stacks of both profiles; stacks that only the earlier profile has weigh 0.
    pub samples: Samples,
    /// By node of the only metric: its inclusive weight before.
    pub before: Vec<f64>,
}

impl Differential {
    /// Compares one metric. `scale` multiplies the weights of `before`, so that samples of different sizes can be
    /// compared.
    pub fn new(after: (&Samples, &Metric), before: (&Samples, &Metric), scale: f64) -> Self {
        let mut tree = Tree::default();
        for (stack, node) in tree.add(after).into_iter().zip(&after.1.nodes) {
            let sum = &mut tree.nodes[stack as usize].weight;
            *sum = sum.saturating_add(node.weight);
        }
        let stacks = tree.add(before);
        let mut weights = vec![0.0; tree.nodes.len()];
        for (stack, node) in stacks.into_iter().zip(&before.1.nodes) {
            weights[stack as usize] += node.weight as f64 * scale;
        }
        for index in (0..tree.nodes.len()).rev() {
            if let Some(caller) = tree.nodes[index].caller {
                weights[caller as usize] += weights[index];
            }
        }
        let metric = Metric { nodes: tree.nodes, ..after.1.emptied() };
        Self {
            samples: Samples { frames: tree.frames, metrics: vec![metric], threads: Vec::new() },
            before: weights,
        }
    }

    /// Returns the total weight before.
    pub fn total_before(&self) -> f64 {
        let nodes = self.samples.metrics.iter().flat_map(|metric| &metric.nodes);
        nodes.zip(&self.before).filter(|(node, _)| node.caller.is_none()).map(|(_, weight)| weight).sum()
    }
}

/// The merged tree under construction. Nodes come after their callers.
#[derive(Default)]
struct Tree {
    frames: Vec<Frame>,
    nodes: Vec<StackNode>,
    names: HashMap<String, u32>,
    known: HashMap<(Option<u32>, u32), u32>,
}

impl Tree {
    /// Adds the stacks of a metric and returns the node of each.
    fn add(&mut self, (samples, metric): (&Samples, &Metric)) -> Vec<u32> {
        let frames: Vec<u32> = samples.frames.iter().map(|frame| self.frame(frame)).collect();
        let mut found: Vec<u32> = Vec::with_capacity(metric.nodes.len());
        for node in &metric.nodes {
            let caller = node.caller.map(|caller| found[caller as usize]);
            found.push(self.node(caller, frames[node.frame as usize]));
        }
        found
    }

    fn frame(&mut self, frame: &Frame) -> u32 {
        *self.names.entry(frame.name.clone()).or_insert_with(|| {
            self.frames.push(frame.clone());
            self.frames.len() as u32 - 1
        })
    }

    fn node(&mut self, caller: Option<u32>, frame: u32) -> u32 {
        *self.known.entry((caller, frame)).or_insert_with(|| {
            self.nodes.push(StackNode { caller, frame, weight: 0, samples: 0, is_inlined: false });
            self.nodes.len() as u32 - 1
        })
    }
}
