//! Measures the size and shape of a calling context tree.
//!
//! Source: Ammons, Ball & Larus 1997, table 3. The paper's column *one path* needs the functions' graphs too:
//! [`Profile::one_path_sites`](crate::Profile::one_path_sites).

use super::{Callee, ContextTree};

/// Bytes of a call record in memory, without its callee slots.
pub const RECORD_HEAD_BYTES: u64 = 16;
/// Bytes of a callee slot.
pub const CALLEE_SLOT_BYTES: u64 = 8;

/// The figures of one tree. An average over nothing is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextStats {
    /// Number of call records, without the root.
    pub records: u64,
    /// Bytes of the records while the program runs, without their metrics and path counts.
    pub bytes: u64,
    /// Average number of children of a record that has any.
    pub out_degree: f64,
    /// Average number of calls between the root and a leaf.
    pub average_height: f64,
    /// Number of calls between the root and the deepest leaf.
    pub height: u64,
    /// Records of the routine that has the most.
    pub most_replicated: u64,
    /// Number of that routine.
    pub replicated_routine: u32,
    /// Number of call sites of all records; where call sites are merged, of callee slots.
    pub sites: u64,
    /// Number of call sites at which a call was made; where they are merged, of records that made any.
    pub used_sites: u64,
    /// Number of recursive calls, distinguished by caller's record, call site and callee.
    pub back_edges: u64,
}

impl ContextStats {
    /// Returns the average bytes per record.
    pub fn record_bytes(&self) -> f64 {
        ratio(self.bytes, self.records)
    }
}

impl ContextTree {
    /// Measures the tree, which must be valid.
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

    /// Returns the callee slots of a record. A host record has one, for the host's calls back into the program.
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

    /// Returns by record the number of calls between it and the root.
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

    /// Returns the routine with the most records (the first of several) and their number.
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
