//! How large the parts of a function are that is not compiled as a whole.

/// How large parts are, in bytes of bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSizes {
    /// Larger functions are compiled in parts.
    pub split: usize,
    /// No part should be larger.
    pub most: usize,
    /// Nor smaller, but the first.
    pub least: usize,
}

impl PartSizes {
    /// Parts of functions of more than `split` bytes.
    pub fn above(split: usize) -> PartSizes {
        PartSizes { split, most: split / 2, least: (split / 8).max(1) }
    }

    /// How many parts besides the first a function of `bytes` bytes can have.
    pub fn limit(&self, bytes: usize) -> usize {
        if bytes > self.split { 2 * bytes / self.least } else { 0 }
    }

    pub(crate) fn doubled(self) -> PartSizes {
        PartSizes { most: 2 * self.most, least: 2 * self.least, ..self }
    }
}
