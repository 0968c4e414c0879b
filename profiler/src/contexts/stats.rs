//! How large a calling context tree is, and of what shape.
//!
//! Source: Ammons, Ball & Larus 1997, table 3. Its column *one path*, call sites that one path of their function
//! reaches, needs the paths of each record, which are not counted.

use super::{Callee, ContextTree};

/// Bytes of a call record in memory besides its callee slots.
pub const RECORD_HEAD_BYTES: u64 = 16;
/// Bytes of a callee slot.
pub const CALLEE_SLOT_BYTES: u64 = 8;

/// The figures of one tree. Averages of nothing are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextStats {
    /// Call records, the root not included.
    pub records: u64,
    /// Bytes that they take while the program runs, without what is measured in them and counted of paths.
    pub bytes: u64,
    /// Children of a record that has any, on average.
    pub out_degree: f64,
    /// Calls between the root and a leaf, on average.
    pub average_height: f64,
    /// Calls between the root and the deepest leaf.
    pub height: u64,
    /// Records of the routine that has most.
    pub most_replicated: u64,
    /// Its number.
    pub replicated_routine: u32,
    /// Call sites of all records.
    pub sites: u64,
    /// Those at which a call was made.
    pub used_sites: u64,
    /// Recursive calls, by caller's record, call site and callee.
    pub back_edges: u64,
}

impl ContextStats {
    /// Bytes of a record, on average.
    pub fn record_bytes(&self) -> f64 {
        ratio(self.bytes, self.records)
    }
}

impl ContextTree {
    /// Measures the tree. It must be valid.
    pub fn stats(&self) -> ContextStats {
        let records = self.records.len().saturating_sub(1) as u64;
        let sites = self.records.iter().map(|record| self.sites_of(record.routine)).sum();
        let (depths, children) = (self.depths(), self.child_counts());
        let leaves = || depths.iter().zip(&children).skip(1).filter(|(_, n)| **n == 0).map(|(d, _)| *d);
        let interior = children.iter().filter(|&&count| count > 0).count() as u64;
        let (replicated_routine, most_replicated) = self.replication();
        let slots: u64 = self.records.iter().skip(1).map(|record| self.slots_of(record.routine)).sum();
        ContextStats {
            records,
            bytes: records * RECORD_HEAD_BYTES + slots * CALLEE_SLOT_BYTES,
            out_degree: ratio(records, interior),
            average_height: ratio(leaves().sum(), leaves().count() as u64),
            height: depths.iter().copied().max().unwrap_or(0),
            most_replicated,
            replicated_routine,
            sites,
            used_sites: self.used_sites(),
            back_edges: self.records.iter().map(|record| record.back_edges.len() as u64).sum(),
        }
    }

    fn sites_of(&self, routine: u32) -> u64 {
        self.routines[routine as usize].sites.len() as u64
    }

    /// The host's records, too, have a slot, for the calls that it makes back.
    fn slots_of(&self, routine: u32) -> u64 {
        match self.has_sites(routine) {
            true => self.sites_of(routine),
            false => 1,
        }
    }

    fn has_sites(&self, routine: u32) -> bool {
        let callee = &self.routines[routine as usize].callee;
        matches!(callee, Callee::Function { .. } | Callee::Elsewhere { .. })
    }

    /// By record: calls between it and the root.
    fn depths(&self) -> Vec<u64> {
        let mut depths: Vec<u64> = Vec::with_capacity(self.records.len());
        for record in &self.records {
            depths.push(depths.get(record.parent as usize).map_or(0, |above| above + 1));
        }
        depths
    }

    fn child_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.records.len()];
        for record in self.records.iter().skip(1) {
            counts[record.parent as usize] += 1;
        }
        counts
    }

    /// The routine with most records, the first of several, and how many.
    fn replication(&self) -> (u32, u64) {
        let mut counts = vec![0; self.routines.len()];
        for record in self.records.iter().skip(1) {
            counts[record.routine as usize] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let routine = counts.iter().position(|&count| count == most).unwrap_or(0);
        (routine as u32, most)
    }

    fn used_sites(&self) -> u64 {
        let has_sites =
            |record: u32| matches!(self.callee(record), Callee::Function { .. } | Callee::Elsewhere { .. });
        let children = self.records.iter().skip(1).map(|record| (record.parent, record.site));
        let back = self
            .records
            .iter()
            .zip(0..)
            .flat_map(|(record, from)| record.back_edges.iter().map(move |edge| (from, edge.site)));
        let mut used: Vec<(u32, u32)> = children.chain(back).filter(|&(from, _)| has_sites(from)).collect();
        used.sort_unstable();
        used.dedup();
        used.len() as u64
    }
}

fn ratio(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}
