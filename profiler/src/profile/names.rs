//! Renames functions everywhere in a profile.

use crate::{Callee, ContextTree, Profile, TimeProfile};

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
        // Callees are ordered by index before name, so they stay in order.
        for callee in self.callees_mut() {
            if let Callee::Function { index, name } = callee {
                rename(*index, name);
            }
        }
        let versions = self.timeline.iter_mut().flat_map(|timeline| &mut timeline.versions);
        versions.for_each(|version| rename(version.function, &mut version.name));
    }

    /// Iterates over all that is named in calling contexts, sampled stacks, those of threads too, and call targets.
    pub fn callees_mut(&mut self) -> impl Iterator<Item = &mut Callee> {
        let of_threads = self.threads.iter_mut().map(|thread| (&mut thread.contexts, &mut thread.time));
        let of_all = std::iter::once((&mut self.contexts, &mut self.time)).chain(of_threads);
        let targets = self.call_targets.iter_mut().map(|target| &mut target.callee);
        of_all.flat_map(|(contexts, time)| callees(contexts, time)).chain(targets)
    }
}

fn callees<'a>(
    contexts: &'a mut Option<ContextTree>,
    time: &'a mut Option<TimeProfile>,
) -> impl Iterator<Item = &'a mut Callee> {
    let routines = contexts.iter_mut().flat_map(|tree| &mut tree.routines);
    routines.map(|routine| &mut routine.callee).chain(time.iter_mut().flat_map(|time| &mut time.callees))
}
