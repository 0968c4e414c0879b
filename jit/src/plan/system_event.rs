//! Events that the operating system counts: in the processor's counters, where it has any, or by itself.

/// A kind of event, as Linux has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemEvent(usize);

/// Name, and type and number in `perf_event_attr`.
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

/// What tells these metrics from others of the same name, which are not the processor's.
const PREFIX: &str = "perf-";

/// The names with the prefix.
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
    /// The kind that is called so; those of the system's software are counted on every machine.
    pub fn named(name: &str) -> Option<SystemEvent> {
        ALL.iter().position(|(known, ..)| *known == name).map(SystemEvent)
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(name, ..)| *name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.metric()[PREFIX.len()..]
    }

    /// The name of the metric.
    pub(super) fn metric(self) -> &'static str {
        METRICS[self.0]
    }

    /// Its type and number in `perf_event_attr`.
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
