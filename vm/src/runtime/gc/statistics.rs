//! Statistics of a heap.

use std::time::Duration;

/// Allocations and collections of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of allocated objects.
    pub objects: u64,
    /// Bytes of allocated objects.
    pub bytes: u64,
    /// Objects and bytes, by the engine-wide id of the type.
    pub by_type: Vec<(u64, u64)>,
    /// Number of collections.
    pub collections: u64,
    /// How long the program waited for collections.
    pub paused: Duration,
    /// The longest wait for a collection.
    pub longest_pause: Duration,
    /// Bytes in lines and large objects that the last collection kept.
    pub live: u64,
}

impl Statistics {
    /// Counts a new object.
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

    /// Counts a collection, with its pause and the bytes that it kept.
    pub(super) fn add_collection(&mut self, pause: Duration, live: usize) {
        self.collections += 1;
        self.paused += pause;
        self.longest_pause = self.longest_pause.max(pause);
        self.live = live as u64;
    }
}
