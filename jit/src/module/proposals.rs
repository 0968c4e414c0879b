//! Errors for modules that are refused because they use an unsupported proposal.
//!
//! Input: the module, and the validation error. Output: the same error, in terms of proposals if one is the reason. A
//! proposal is the reason if validation comes further once it is accepted.

use wasmparser::{Validator, WasmFeatures};

use super::parse::{ModuleError, features};

/// The unsupported proposals, each with those that it builds on.
const PROPOSALS: [(&str, WasmFeatures); 7] = [
    ("wide arithmetic", WasmFeatures::WIDE_ARITHMETIC),
    ("custom page sizes", WasmFeatures::CUSTOM_PAGE_SIZES),
    ("memory control", WasmFeatures::MEMORY_CONTROL),
    ("stack switching", WasmFeatures::STACK_SWITCHING),
    ("shared-everything threads", WasmFeatures::SHARED_EVERYTHING_THREADS.union(WasmFeatures::THREADS)),
    ("custom descriptors", WasmFeatures::CUSTOM_DESCRIPTORS),
    ("compact import section", WasmFeatures::COMPACT_IMPORTS),
];

/// The version and layer in the header of a component.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];

/// Returns an error that names the unsupported proposal that a module uses, or the same error if the module is simply
/// invalid.
pub(super) fn explained(bytes: &[u8], error: ModuleError) -> ModuleError {
    if bytes.get(4..8) == Some(&COMPONENT) {
        let message = "a component rather than a module: load it as one, or give the core module inside";
        return ModuleError { offset: 4, message: message.into() };
    }
    if first_error(bytes, features()).is_none_or(|offset| offset != error.offset) {
        return error;
    }
    let comes_further =
        |with: WasmFeatures| first_error(bytes, features() | with).is_none_or(|offset| offset > error.offset);
    let all = PROPOSALS.iter().fold(WasmFeatures::empty(), |all, &(_, proposal)| all | proposal);
    if !comes_further(all) {
        return error;
    }
    let message = match PROPOSALS.iter().find(|(_, proposal)| comes_further(*proposal)) {
        Some((name, _)) => format!("uses the {name} proposal, which wprof does not run yet"),
        None => "uses several proposals at once that wprof does not run yet".into(),
    };
    ModuleError { message, ..error }
}

/// Returns the offset of the first error in a module, if these features are accepted.
fn first_error(bytes: &[u8], features: WasmFeatures) -> Option<usize> {
    let result = Validator::new_with_features(features).validate_all(bytes);
    result.err().map(|error| error.offset() as usize)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn refused(wat: &str) -> ModuleError {
        let bytes = wat::parse_str(wat).expect("text that the assembler knows");
        parse(bytes).expect_err("not run yet")
    }

    #[test]
    fn what_is_not_run_yet_is_named() {
        let cases = [
            (
                "wide arithmetic",
                "(module (func (param i64) (result i64 i64) (i64.mul_wide_u (local.get 0) (local.get 0))))",
            ),
            ("custom page sizes", "(module (memory 1 (pagesize 1)))"),
            ("compact import section", r#"(module (import "a" (item "b" (func)) (item "c" (func))))"#),
        ];
        for (proposal, wat) in cases {
            let error = refused(wat);
            let expected = format!("uses the {proposal} proposal, which wprof does not run yet");
            assert_eq!(error.message, expected, "{wat}");
            assert!(error.offset > 0, "{wat}");
        }
    }

    #[test]
    fn components_are_named() {
        assert!(refused("(component)").message.starts_with("a component rather than a module"));
    }

    #[test]
    fn no_message_advises_to_enable_anything() {
        let not_valid = "(module (func (result i32)) (func (throw 0)))";
        for wat in [not_valid, "(component (import \"f\" (func)))"] {
            let text = refused(wat).to_string();
            assert!(!text.contains("enable"), "{text}");
        }
    }

    #[test]
    fn what_is_not_valid_in_any_case_is_said_as_before() {
        let error = refused("(module (func (result i32) (i64.const 1)))");
        assert!(error.message.starts_with("type mismatch"), "{error}");
    }
}
