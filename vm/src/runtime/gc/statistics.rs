//! What a heap has had to do.

use std::time::Duration;

/// Allocations and collections of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Objects that were allocated.
    pub objects: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// The same by engine-wide id of the type: objects, bytes.
    pub by_type: Vec<(u64, u64)>,
    /// Collections.
    pub collections: u64,
    /// How long the program waited for them.
    pub paused: Duration,
    /// How long for the longest.
    pub longest_pause: Duration,
    /// Bytes in lines and large objects that the last one kept.
    pub live: u64,
}

impl Statistics {
    /// An object was found that is new.
    pub(super) fn add(&mut self, ty: u32, size: usize) {
        let index = ty as usize;
        if self.by_type.len() <= index {
            self.by_type.resize(index + 1, (0, 0));
        }
        let of_type = &mut self.by_type[index];
        *of_type = (of_type.0 + 1, of_type.1 + size as u64);
        self.objects += 1;
        self.bytes += size as u64;
    }

    /// A collection has taken so long and kept so much.
    pub(super) fn add_collection(&mut self, pause: Duration, live: usize) {
        self.collections += 1;
        self.paused += pause;
        self.longest_pause = self.longest_pause.max(pause);
        self.live = live as u64;
    }
}
