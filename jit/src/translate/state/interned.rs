//! Signatures and alias regions, which the function declares once each.

use cranelift_codegen::ir::{Function, MemFlagsData, SigRef, Signature};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use hashbrown::HashMap;

use crate::abi::Builtin;
use crate::translate::region::{Region, Regions};

/// The declarations of the function.
///
/// **Invariant**: each signature and each region has one declaration.
#[derive(Default)]
pub struct Interned {
    /// Signatures of functions by type id.
    functions: HashMap<u32, SigRef>,
    builtins: HashMap<Builtin, SigRef>,
    regions: Regions,
}

impl Interned {
    /// Returns the signature of the functions whose type has this id; `make` makes it the first time.
    pub fn function(
        &mut self,
        id: u32,
        builder: &mut FunctionBuilder<'_>,
        make: impl FnOnce() -> Signature,
    ) -> SigRef {
        *self.functions.entry(id).or_insert_with(|| builder.import_signature(make()))
    }

    /// Returns the signature of a builtin.
    pub fn builtin(
        &mut self,
        builtin: Builtin,
        convention: CallConv,
        builder: &mut FunctionBuilder<'_>,
    ) -> SigRef {
        let new = || builder.import_signature(builtin.signature(convention));
        *self.builtins.entry(builtin).or_insert_with(new)
    }

    /// Returns `flags` for accesses to a region.
    pub fn flags(&mut self, flags: MemFlagsData, region: Region, func: &mut Function) -> MemFlagsData {
        flags.with_alias_region(Some(self.regions.get(region, func)))
    }
}
