//! Validates calling context trees.
//!
//! Input: a [`ContextTree`], perhaps read from a file. Output: the first defect.
//! Invariant: linear time. All other code may rely on what is checked here.

use super::{CallRecord, Callee, ContextTree};
use crate::counts::path_counts::is_normal_unfinished;

/// A defect of a calling context tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidContexts {
    /// The routines are not in ascending order starting with the root, or a routine's call sites are not ascending.
    #[error("the routines of the calling contexts are not in order")]
    Routines,
    /// The first record is not a root without calls.
    #[error("the calling contexts have no root")]
    Root,
    /// A record is out of depth-first order.
    #[error("call record {0} is out of order")]
    Order(u32),
    /// A record's routine does not exist, or is already on the path from the root.
    #[error("call record {0} is of no function, or of one that called it")]
    Routine(u32),
    /// A record was called, or makes a recursive call, at an offset where its caller has no call site.
    #[error("call record {0} is of a call that its caller does not make")]
    Site(u32),
    /// A recursive call leads to a record that is not on the path from the root.
    #[error("a recursive call of call record {0} leads elsewhere than up")]
    BackEdge(u32),
    /// The metrics are not ascending, a record does not have one figure per metric, or its paths are out of order.
    #[error("the calling contexts have not one figure for each of their metrics, or paths out of order")]
    Figures,
}

impl ContextTree {
    /// Checks the order, the routines, the call sites, and that recursive calls lead up.
    ///
    /// # Errors
    /// Returns the first defect found.
    pub fn verify(&self) -> Result<(), InvalidContexts> {
        self.verify_routines()?;
        self.verify_figures()?;
        let is_root = |root: &CallRecord| (root.routine, root.parent, root.site, root.calls) == (0, 0, 0, 0);
        if !self.records.first().is_some_and(is_root) || u32::try_from(self.records.len()).is_err() {
            return Err(InvalidContexts::Root);
        }
        let mut way = Way { record_of: vec![None; self.routines.len()], records: Vec::new() };
        for (record, index) in self.records.iter().zip(0..) {
            if index > 0 {
                self.verify_place(&mut way, record, index)?;
            }
            way.enter(record.routine, index).ok_or(InvalidContexts::Routine(index))?;
            self.verify_back_edges(&way, record, index)?;
        }
        Ok(())
    }

    fn verify_figures(&self) -> Result<(), InvalidContexts> {
        let is_sorted = self.metrics.is_sorted_by(|a, b| a.name < b.name);
        let is_normal = |record: &CallRecord| {
            record.paths.is_sorted_by(|a, b| a.id < b.id) && is_normal_unfinished(&record.unfinished)
        };
        let has_none = |record: &CallRecord| record.paths.is_empty() && record.unfinished.is_empty();
        let have_paths = self.has_paths || self.records.iter().all(has_none);
        let are_all = have_paths
            && self.records.iter().all(is_normal)
            && self.records.iter().all(|record| record.metrics.len() == self.metrics.len());
        if is_sorted && are_all { Ok(()) } else { Err(InvalidContexts::Figures) }
    }

    fn verify_routines(&self) -> Result<(), InvalidContexts> {
        let is_rooted = self.routines.first().is_some_and(|first| first.callee == Callee::Root);
        let is_sorted = self.routines.is_sorted_by(|a, b| a.callee < b.callee);
        let mut sites = self.routines.iter().map(|routine| &routine.sites);
        match is_rooted && is_sorted && sites.all(|sites| sites.is_sorted_by(|a, b| a < b)) {
            true => Ok(()),
            false => Err(InvalidContexts::Routines),
        }
    }

    /// Goes up to the record's parent, which must be on the path from the root to the previous record.
    fn verify_place(&self, way: &mut Way, record: &CallRecord, index: u32) -> Result<(), InvalidContexts> {
        let key = |index: u32| (self.records[index as usize].site, self.records[index as usize].routine);
        let before = way.leave_to(record.parent).ok_or(InvalidContexts::Order(index))?;
        if before.is_some_and(|before| key(before) >= key(index)) {
            return Err(InvalidContexts::Order(index));
        }
        // An inlined function has no call site.
        match if self.is_inlined(index) {
            record.site == 0
        } else {
            self.has_site(record.parent, record.site)
        } {
            true => Ok(()),
            false => Err(InvalidContexts::Site(index)),
        }
    }

    fn verify_back_edges(&self, way: &Way, record: &CallRecord, index: u32) -> Result<(), InvalidContexts> {
        if !record.back_edges.is_sorted_by(|a, b| a < b) {
            return Err(InvalidContexts::BackEdge(index));
        }
        for edge in &record.back_edges {
            let to = self.records.get(edge.to as usize).map(|to| to.routine as usize);
            if edge.to == Self::ROOT || to.is_none_or(|to| way.record_of[to] != Some(edge.to)) {
                return Err(InvalidContexts::BackEdge(index));
            }
            if !(self.is_inlined(edge.to) && edge.site == 0 || self.has_site(index, edge.site)) {
                return Err(InvalidContexts::Site(index));
            }
        }
        Ok(())
    }

    /// Reports whether the record exists and its routine is an inlined function.
    fn is_inlined(&self, record: u32) -> bool {
        let routine = self.records.get(record as usize).map(|record| record.routine as usize);
        let routine = routine.and_then(|routine| self.routines.get(routine));
        routine.is_some_and(|routine| matches!(routine.callee, Callee::Inlined { .. }))
    }

    /// Reports whether a record's routine may make a call at `site`.
    fn has_site(&self, record: u32, site: u32) -> bool {
        if self.merges_sites {
            return site == 0;
        }
        let routine = &self.routines[self.records[record as usize].routine as usize];
        match routine.callee {
            Callee::Function { .. } | Callee::Elsewhere { .. } | Callee::Inlined { .. } => {
                routine.sites.binary_search(&site).is_ok()
            }
            _ => site == 0,
        }
    }
}

/// The path from the root to a record.
struct Way {
    /// By routine: its record on the path.
    record_of: Vec<Option<u32>>,
    /// Routine and number of each record on the path.
    records: Vec<(u32, u32)>,
}

impl Way {
    /// Appends a record to the path; returns `None` if its routine does not exist or is already on the path.
    fn enter(&mut self, routine: u32, record: u32) -> Option<()> {
        let place = self.record_of.get_mut(routine as usize)?;
        if place.replace(record).is_some() {
            return None;
        }
        self.records.push((routine, record));
        Some(())
    }

    /// Shortens the path to `record` and returns the child of it that was left; `None` if `record` is not on the
    /// path.
    fn leave_to(&mut self, record: u32) -> Option<Option<u32>> {
        let mut left = None;
        while let Some(&(routine, last)) = self.records.last() {
            if last == record {
                return Some(left);
            }
            left = Some(last);
            self.record_of[routine as usize] = None;
            self.records.pop();
        }
        None
    }
}
