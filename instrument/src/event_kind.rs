//! Kinds of events: how many events each instruction is.

use wasmparser::Operator;

/// Events by kind.
pub type Sums = Vec<u64>;

/// A kind of event: how many of them an entry of a function, a back edge, and each instruction is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EventKind {
    /// The name of the kind.
    pub name: String,
    /// Events of each function entry.
    pub entry: u64,
    /// Events of each back edge.
    pub back_edge: u64,
    /// Events of each execution of an instruction, by the opcode's number in the order of `wasmparser`.
    pub costs: Vec<u64>,
}

impl EventKind {
    /// Returns the events of one execution of an instruction.
    pub fn cost(&self, op: &Operator<'_>) -> u64 {
        number(op).and_then(|number| self.costs.get(number)).copied().unwrap_or(0)
    }
}

macro_rules! define_numbers {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*))*) => {
        enum Number { $($op),* }

        /// Returns the number of an instruction's opcode.
        fn number(op: &Operator<'_>) -> Option<usize> {
            match op {
                $(Operator::$op { .. } => Some(Number::$op as usize),)*
                _ => None,
            }
        }
    };
}
wasmparser::for_each_operator!(define_numbers);
