//! The WebAssembly proposals that an engine accepts.

use wprof_jit::module::Proposal;

use super::Config;

/// Defines a setting for each proposal.
macro_rules! toggles {
    ($($(#[doc = $doc:literal])* $name:ident = $proposal:ident;)*) => {
        impl Config {
            $(
                $(#[doc = $doc])*
                /// (default: they are accepted). A module that needs them is else refused with an error that names this
                /// setting.
                pub fn $name(&mut self, enable: bool) -> &mut Self {
                    self.toggle(Proposal::$proposal, enable)
                }
            )*
        }
    };
}

toggles! {
    /// Whether modules may use vectors of 128 bits; without these also no relaxed ones
    wasm_simd = Simd;
    /// Whether modules may use vector instructions whose results machines may choose
    wasm_relaxed_simd = RelaxedSimd;
    /// Whether modules may use tail calls
    wasm_tail_call = TailCall;
    /// Whether modules may have memories and tables with 64-bit indices
    wasm_memory64 = Memory64;
    /// Whether modules may have more than one memory
    wasm_multi_memory = MultiMemory;
    /// Whether modules may use sums and products in constant expressions
    wasm_extended_const = ExtendedConst;
    /// Whether modules may use bulk operations on memories and tables, and passive segments
    wasm_bulk_memory = BulkMemory;
    /// Whether modules may use `externref`, more than one table, and instructions for tables
    wasm_reference_types = ReferenceTypes;
    /// Whether functions of modules may have more than one result, and blocks parameters
    wasm_multi_value = MultiValue;
    /// Whether modules may use the instructions that extend the sign of a part of an integer
    wasm_sign_extension = SignExtension;
    /// Whether modules may use conversions of floats to integers that do not trap
    wasm_saturating_float_to_int = SaturatingFloatToInt;
    /// Whether modules may import and export mutable globals
    wasm_mutable_global = MutableGlobal;
    /// Whether modules may throw and catch exceptions, also in the older way
    wasm_exceptions = Exceptions;
    /// Whether modules may have shared memories and use atomic instructions
    wasm_threads = Threads;
    /// Whether modules may have references to functions of one type, and call by reference; without these also no
    /// recursive types
    wasm_function_references = FunctionReferences;
    /// Whether modules may have recursive types and subtypes
    wasm_gc = Gc;
}

impl Config {
    fn toggle(&mut self, proposal: Proposal, enable: bool) -> &mut Self {
        self.off.retain(|&other| other != proposal);
        if !enable {
            self.off.push(proposal);
        }
        self
    }

    /// Returns the proposals that are not accepted.
    pub(crate) fn switched_off(&self) -> &[Proposal] {
        &self.off
    }
}
