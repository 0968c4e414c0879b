//! Renames functions everywhere in a profile.

use crate::{Callee, Profile};

impl Profile {
    /// Gives functions other names. `name` returns the new name of a function, by its index and present name; `None`
    /// keeps what there is.
    pub fn rename(&mut self, name: impl Fn(u32, Option<&str>) -> Option<String>) {
        let rename = |index: u32, known: &mut Option<String>| {
            if let Some(new) = name(index, known.as_deref()) {
                *known = Some(new);
            }
        };
        self.functions.iter_mut().for_each(|function| rename(function.index, &mut function.name));
        let routines = self.contexts.iter_mut().flat_map(|tree| &mut tree.routines);
        let sampled = self.time.iter_mut().flat_map(|time| &mut time.callees);
        let targets = self.call_targets.iter_mut().map(|target| &mut target.callee);
        // Callees are ordered by index before name, so they stay in order.
        for callee in routines.map(|routine| &mut routine.callee).chain(sampled).chain(targets) {
            if let Callee::Function { index, name } = callee {
                rename(*index, name);
            }
        }
        let versions = self.timeline.iter_mut().flat_map(|timeline| &mut timeline.versions);
        versions.for_each(|version| rename(version.function, &mut version.name));
    }
}
