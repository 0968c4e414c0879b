//! The sizes of the parts of a function that is not compiled as a whole.

/// The sizes of parts, in bytes of bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSizes {
    /// Larger functions are compiled in parts.
    pub split: usize,
    /// The maximum size of a part, if possible.
    pub most: usize,
    /// The minimum size of a part, except the first.
    pub least: usize,
}

impl PartSizes {
    /// Divides functions of more than `split` bytes into parts.
    pub fn above(split: usize) -> PartSizes {
        PartSizes { split, most: split / 2, least: (split / 8).max(1) }
    }

    /// Returns how many parts besides the first a function of `bytes` bytes can have.
    pub fn limit(&self, bytes: usize) -> usize {
        if bytes > self.split { 2 * bytes / self.least } else { 0 }
    }

    pub(crate) fn doubled(self) -> PartSizes {
        PartSizes { most: 2 * self.most, least: 2 * self.least, ..self }
    }
}
