//! Events counted by the operating system: with the processor's counters, where it has any, or in software.

/// A kind of event, as defined by Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemEvent(usize);

/// The name of each kind, and its type and number in `perf_event_attr`.
const ALL: [(&str, u32, u64); 11] = [
    ("cpu-cycles", 0, 0),
    ("instructions", 0, 1),
    ("cache-references", 0, 2),
    ("cache-misses", 0, 3),
    ("branches", 0, 4),
    ("branch-misses", 0, 5),
    ("task-clock", 1, 1),
    ("page-faults", 1, 2),
    ("context-switches", 1, 3),
    ("cpu-migrations", 1, 4),
    ("minor-faults", 1, 5),
];

/// The prefix that distinguishes these metrics from others of the same name, which do not come from the processor.
const PREFIX: &str = "perf-";

/// The names of the metrics, with the prefix.
const METRICS: [&str; ALL.len()] = [
    "perf-cpu-cycles",
    "perf-instructions",
    "perf-cache-references",
    "perf-cache-misses",
    "perf-branches",
    "perf-branch-misses",
    "perf-task-clock",
    "perf-page-faults",
    "perf-context-switches",
    "perf-cpu-migrations",
    "perf-minor-faults",
];

impl SystemEvent {
    /// Returns the kind with a name; the system's software events are counted on every machine.
    pub fn named(name: &str) -> Option<SystemEvent> {
        ALL.iter().position(|(known, ..)| *known == name).map(SystemEvent)
    }

    /// Returns all names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(name, ..)| *name)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        &self.metric()[PREFIX.len()..]
    }

    /// Returns the name of the metric.
    pub(super) fn metric(self) -> &'static str {
        METRICS[self.0]
    }

    /// Returns the type and number in `perf_event_attr`.
    pub fn numbers(self) -> (u32, u64) {
        (ALL[self.0].1, ALL[self.0].2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_named_after_events() {
        for name in SystemEvent::names() {
            let event = SystemEvent::named(name).expect("one of them");
            assert_eq!((event.name(), event.metric()), (name, format!("{PREFIX}{name}").as_str()));
        }
        assert_eq!(SystemEvent::named("perf-instructions"), None);
    }
}
