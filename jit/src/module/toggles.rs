//! Modules that use a supported proposal which the embedder has switched off.
//!
//! Input: a valid module, and the proposals that are off. Output: an error at the first place that needs any of them. A
//! proposal is the reason if validation comes further with it.

use wasmparser::{Validator, WasmFeatures};

use super::parse::{ModuleError, features};

/// A proposal that embedders can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proposal {
    /// Vectors of 128 bits. Switching them off includes relaxed ones.
    Simd,
    /// Vector instructions whose results depend on the machine.
    RelaxedSimd,
    /// Calls that take the place of their caller.
    TailCall,
    /// Memories and tables with 64-bit indices.
    Memory64,
    /// More than one memory.
    MultiMemory,
    /// Sums and products in constant expressions.
    ExtendedConst,
    /// `memory.copy`, passive segments and the like.
    BulkMemory,
    /// `externref`, more than one table, and instructions for tables.
    ReferenceTypes,
    /// More than one result, and parameters of blocks.
    MultiValue,
    /// `i32.extend8_s` and the like.
    SignExtension,
    /// Conversions of floats to integers that do not trap.
    SaturatingFloatToInt,
    /// Mutable globals that are imported or exported.
    MutableGlobal,
    /// Exceptions, the older ones included.
    Exceptions,
    /// Shared memories and atomic instructions.
    Threads,
    /// References to functions of one type, and calls by reference. Switching them off includes recursive types.
    FunctionReferences,
    /// Recursive types and subtypes.
    Gc,
}

impl Proposal {
    /// Returns the setting that switches the proposal off.
    pub fn setting(self) -> &'static str {
        match self {
            Proposal::Simd => "wasm_simd",
            Proposal::RelaxedSimd => "wasm_relaxed_simd",
            Proposal::TailCall => "wasm_tail_call",
            Proposal::Memory64 => "wasm_memory64",
            Proposal::MultiMemory => "wasm_multi_memory",
            Proposal::ExtendedConst => "wasm_extended_const",
            Proposal::BulkMemory => "wasm_bulk_memory",
            Proposal::ReferenceTypes => "wasm_reference_types",
            Proposal::MultiValue => "wasm_multi_value",
            Proposal::SignExtension => "wasm_sign_extension",
            Proposal::SaturatingFloatToInt => "wasm_saturating_float_to_int",
            Proposal::MutableGlobal => "wasm_mutable_global",
            Proposal::Exceptions => "wasm_exceptions",
            Proposal::Threads => "wasm_threads",
            Proposal::FunctionReferences => "wasm_function_references",
            Proposal::Gc => "wasm_gc",
        }
    }

    /// Returns the features that are not accepted without the proposal.
    fn features(self) -> WasmFeatures {
        match self {
            Proposal::Simd => WasmFeatures::SIMD | WasmFeatures::RELAXED_SIMD,
            Proposal::RelaxedSimd => WasmFeatures::RELAXED_SIMD,
            Proposal::TailCall => WasmFeatures::TAIL_CALL,
            Proposal::Memory64 => WasmFeatures::MEMORY64,
            Proposal::MultiMemory => WasmFeatures::MULTI_MEMORY,
            Proposal::ExtendedConst => WasmFeatures::EXTENDED_CONST,
            Proposal::BulkMemory => WasmFeatures::BULK_MEMORY,
            Proposal::ReferenceTypes => {
                WasmFeatures::REFERENCE_TYPES | WasmFeatures::FUNCTION_REFERENCES | WasmFeatures::GC
            }
            Proposal::MultiValue => WasmFeatures::MULTI_VALUE,
            Proposal::SignExtension => WasmFeatures::SIGN_EXTENSION,
            Proposal::SaturatingFloatToInt => WasmFeatures::SATURATING_FLOAT_TO_INT,
            Proposal::MutableGlobal => WasmFeatures::MUTABLE_GLOBAL,
            Proposal::Exceptions => WasmFeatures::EXCEPTIONS | WasmFeatures::LEGACY_EXCEPTIONS,
            Proposal::Threads => WasmFeatures::THREADS,
            Proposal::FunctionReferences => WasmFeatures::FUNCTION_REFERENCES | WasmFeatures::GC,
            Proposal::Gc => WasmFeatures::GC,
        }
    }
}

/// Checks that a valid module needs nothing that is `off`.
///
/// # Errors
/// Returns the first place that needs it, with the name of the setting.
pub fn check_allowed(bytes: &[u8], off: &[Proposal]) -> Result<(), ModuleError> {
    if off.is_empty() {
        return Ok(());
    }
    let Some(offset) = first_error(bytes, off.iter()) else { return Ok(()) };
    let is_reason = |proposal: &&Proposal| {
        let others = off.iter().filter(|other| other != proposal);
        first_error(bytes, others).is_none_or(|further| further > offset)
    };
    let all: Vec<&str> = off.iter().map(|proposal| proposal.setting()).collect();
    let settings = off.iter().find(is_reason).map_or_else(|| all.join(", "), |one| one.setting().to_owned());
    let message = format!("uses a proposal that is switched off: enable Config::{settings}");
    Err(ModuleError { offset, message })
}

/// Returns the offset of the first error if these proposals are off.
fn first_error<'a>(bytes: &[u8], off: impl Iterator<Item = &'a Proposal>) -> Option<usize> {
    let accepted = off.fold(features(), |accepted, proposal| accepted.difference(proposal.features()));
    let result = Validator::new_with_features(accepted).validate_all(bytes);
    result.err().map(|error| error.offset() as usize)
}
