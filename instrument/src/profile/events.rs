//! Totals of events, and the events of each call record.

use std::collections::BTreeMap;

use wprof_profiler::{EventTotal, FigureKind};

use super::{AllRecords, FIRST_COUNTER, Reader};
use crate::Error;
use crate::counters::double;
use crate::event_kind::Sums;
use crate::layout::FIGURES;

/// By call record, or 0 if contexts are not counted, the events of each kind.
pub type EventsOfRecords = BTreeMap<u32, Sums>;

impl Reader<'_> {
    /// Reads the sums, and adds what they lack of the frames that have stopped.
    pub(super) fn events(&self, records: &AllRecords) -> Result<EventsOfRecords, Error> {
        let mut all = EventsOfRecords::new();
        if self.kinds.is_empty() {
            return Ok(all);
        }
        let cells = |first: u32| (0..self.kinds.len() as u32).map(move |kind| first + 8 * kind);
        let sums = |first| cells(first).map(|at| double(self.region, at)).collect::<Result<Sums, Error>>();
        if self.layout.records.is_none() {
            all.insert(0, sums(FIRST_COUNTER + 8 * self.layout.first_sum())?);
        }
        for record in records.offsets() {
            all.insert(record, sums(record + FIGURES)?);
        }
        for ((cfg, _), events) in self.plans.functions.iter().zip(&self.plans.events) {
            for stop in self.stopped(cfg.func) {
                let body = self.source.body(cfg.func);
                let owed = events.owed((cfg, &body), &stop.site, self.kinds)?;
                let sums = all.get_mut(&stop.record).ok_or(Error::BadCounters("events of no call record"))?;
                for (sum, owed) in sums.iter_mut().zip(owed) {
                    *sum = sum.wrapping_add(owed.wrapping_mul(stop.count));
                }
            }
        }
        Ok(all)
    }

    /// Returns the totals, ascending by name.
    pub(super) fn totals(&self, events: &EventsOfRecords) -> Vec<EventTotal> {
        let total = |(number, name): (usize, &String)| {
            let sums = events.values().map(|sums| sums[number]);
            EventTotal { name: name.clone(), count: sums.fold(0, u64::wrapping_add), kind: FigureKind::Exact }
        };
        let names = self.kinds.iter().map(|kind| &kind.name);
        let mut totals: Vec<EventTotal> = names.enumerate().map(total).collect();
        totals.sort_by(|a, b| a.name.cmp(&b.name));
        totals
    }
}
