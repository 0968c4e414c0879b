//! Sets of values, each of which one value stands for.
//!
//! Source: Tarjan & van Leeuwen, *Worst-Case Analysis of Set Union Algorithms*, JACM 31(2), 1984: path halving.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::Value;

/// By value: another one of its set, nearer to the one that stands for it.
#[derive(Default)]
pub(super) struct Merged(SecondaryMap<Value, Option<Value>>);

impl Merged {
    /// The value that stands for the set of a value; the way to it is half as long the next time.
    pub fn find(&mut self, mut value: Value) -> Value {
        while let Some(nearer) = self.0[value] {
            if let Some(next) = self.0[nearer] {
                self.0[value] = Some(next);
            }
            value = nearer;
        }
        value
    }

    /// Lets another value stand for a set, given the values that stand for both.
    pub fn merge(&mut self, value: Value, with: Value) {
        self.0[value] = Some(with);
    }

    /// Whether another value stands for this one.
    pub fn is_merged(&self, value: Value) -> bool {
        self.0[value].is_some()
    }
}
