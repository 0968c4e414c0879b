//! Addresses that code has computed, for later accesses in the same node.

use std::collections::VecDeque;

use cranelift_codegen::ir::Value;

/// The number of a node's addresses that are kept for later accesses with the same index.
const MOST_ADDRESSES: usize = 8;

/// The addresses that may be used again.
///
/// **Invariant**: the code that computed an address has run wherever the address is still kept, and at most
/// [`MOST_ADDRESSES`] are kept, the most recent ones.
#[derive(Default)]
pub struct AddressCache {
    /// A memory and the address of its byte 0.
    base: Option<(u32, Value)>,
    /// Addresses with their memory and index.
    addresses: VecDeque<(u32, Value, Value)>,
}

impl AddressCache {
    /// Returns the address of a memory's byte 0, if it is kept.
    pub fn base(&self, memory: u32) -> Option<Value> {
        self.base.filter(|&(of, _)| of == memory).map(|(_, base)| base)
    }

    /// Keeps the address of a memory's byte 0, which must not move while the node runs.
    pub fn keep_base(&mut self, memory: u32, base: Value) {
        self.base = Some((memory, base));
    }

    /// Returns the address at an index of a memory, if it is kept.
    pub fn address(&self, memory: u32, index: Value) -> Option<Value> {
        let known = self.addresses.iter().find(|&&(of, at, _)| (of, at) == (memory, index));
        known.map(|&(_, _, address)| address)
    }

    /// Keeps the address at an index of a memory.
    pub fn keep_address(&mut self, memory: u32, index: Value, address: Value) {
        if self.addresses.len() == MOST_ADDRESSES {
            self.addresses.pop_front();
        }
        self.addresses.push_back((memory, index, address));
    }

    /// Forgets all addresses: other code may run next without the code that computed them.
    pub fn forget(&mut self) {
        self.base = None;
        self.addresses.clear();
    }
}
