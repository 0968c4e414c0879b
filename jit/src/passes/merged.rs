//! Sets of values, each with a representative.
//!
//! Source: Tarjan & van Leeuwen, *Worst-Case Analysis of Set Union Algorithms*, JACM 31(2), 1984: path halving.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::Value;

/// For each value: another one of its set, nearer to the representative.
#[derive(Default)]
pub(super) struct Merged(SecondaryMap<Value, Option<Value>>);

impl Merged {
    /// Returns the representative of a value's set, and halves the path to it.
    pub fn find(&mut self, mut value: Value) -> Value {
        while let Some(nearer) = self.0[value] {
            if let Some(next) = self.0[nearer] {
                self.0[value] = Some(next);
            }
            value = nearer;
        }
        value
    }

    /// Merges two sets, given their representatives; `with` represents the result.
    pub fn merge(&mut self, value: Value, with: Value) {
        self.0[value] = Some(with);
    }

    /// Reports whether another value represents this one.
    pub fn is_merged(&self, value: Value) -> bool {
        self.0[value].is_some()
    }
}
