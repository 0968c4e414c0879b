//! SIMD instructions.

use wasmparser::Operator;

use super::Translator;

impl Translator<'_> {
    pub(super) fn simd(&mut self, _op: &Operator<'_>) -> bool {
        false
    }
}
