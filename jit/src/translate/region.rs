//! Alias regions: kinds of memory that cannot overlap, so that a store to one does not hide loads of another.

use cranelift_codegen::ir::{AliasRegion, AliasRegionData, Function};
use hashbrown::HashMap;

/// A kind of memory. An import may be shared with other instances under other indices, so all imports of a kind are one
/// region; an instance cannot also import what it defines itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Region {
    /// Sizes and bases of memories.
    MemoryDefinitions,
    /// Sizes and bases of tables.
    TableDefinitions,
    /// Bytes of a memory that the instance defines, by memory index.
    Memory(u32),
    /// Bytes of imported memories.
    ImportedMemories,
    /// Elements of tables.
    Tables,
    /// A global that the instance defines, by global index.
    Global(u32),
    /// Imported globals.
    ImportedGlobals,
    /// Code slots.
    Code,
    /// Counters of the profile.
    Counters,
    /// Fields and elements of objects.
    Objects,
    /// Headers of objects.
    Heads,
}

impl Region {
    fn id(self) -> u32 {
        match self {
            Region::MemoryDefinitions => 0,
            Region::TableDefinitions => 1,
            Region::ImportedMemories => 2,
            Region::Tables => 3,
            Region::ImportedGlobals => 4,
            Region::Code => 5,
            Region::Counters => 6,
            Region::Objects => 7,
            Region::Heads => 8,
            Region::Memory(index) => 10 + 2 * index,
            Region::Global(index) => 11 + 2 * index,
        }
    }
}

/// The number of alias regions that one function may name; memory flags are interned, and their number is bounded.
/// Further globals share the imported globals' region, which is always correct.
const MAX_REGIONS: usize = 512;

/// The regions that one function has named so far.
#[derive(Default)]
pub(super) struct Regions {
    known: HashMap<Region, AliasRegion>,
}

impl Regions {
    pub(super) fn get(&mut self, region: Region, func: &mut Function) -> AliasRegion {
        let region = match region {
            Region::Global(_) if self.known.len() >= MAX_REGIONS && !self.known.contains_key(&region) => {
                Region::ImportedGlobals
            }
            other => other,
        };
        *self.known.entry(region).or_insert_with(|| {
            let description = format!("{region:?}").into();
            func.dfg.alias_regions.insert(AliasRegionData { user_id: region.id(), description })
        })
    }
}
