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
    /// Events of each unit of the length of a bulk operation, in the order of [`bulk_operations`]; empty if lengths do
    /// not matter. Units are bytes, pages or elements.
    pub lengths: Vec<u64>,
}

/// Returns one of each of the instructions whose work depends on an operand, the length on top of the stack.
pub fn bulk_operations() -> Vec<Operator<'static>> {
    vec![
        Operator::MemoryCopy { dst_mem: 0, src_mem: 0 },
        Operator::MemoryFill { mem: 0 },
        Operator::MemoryInit { data_index: 0, mem: 0 },
        Operator::MemoryGrow { mem: 0 },
        Operator::TableCopy { dst_table: 0, src_table: 0 },
        Operator::TableFill { table: 0 },
        Operator::TableInit { elem_index: 0, table: 0 },
        Operator::TableGrow { table: 0 },
        Operator::ArrayNew { array_type_index: 0 },
        Operator::ArrayNewDefault { array_type_index: 0 },
        Operator::ArrayNewData { array_type_index: 0, array_data_index: 0 },
        Operator::ArrayNewElem { array_type_index: 0, array_elem_index: 0 },
        Operator::ArrayFill { array_type_index: 0 },
        Operator::ArrayCopy { array_type_index_dst: 0, array_type_index_src: 0 },
        Operator::ArrayInitData { array_type_index: 0, array_data_index: 0 },
        Operator::ArrayInitElem { array_type_index: 0, array_elem_index: 0 },
    ]
}

/// Returns the place of an instruction among [`bulk_operations`].
fn bulk_number(op: &Operator<'_>) -> Option<usize> {
    Some(match op {
        Operator::MemoryCopy { .. } => 0,
        Operator::MemoryFill { .. } => 1,
        Operator::MemoryInit { .. } => 2,
        Operator::MemoryGrow { .. } => 3,
        Operator::TableCopy { .. } => 4,
        Operator::TableFill { .. } => 5,
        Operator::TableInit { .. } => 6,
        Operator::TableGrow { .. } => 7,
        Operator::ArrayNew { .. } => 8,
        Operator::ArrayNewDefault { .. } => 9,
        Operator::ArrayNewData { .. } => 10,
        Operator::ArrayNewElem { .. } => 11,
        Operator::ArrayFill { .. } => 12,
        Operator::ArrayCopy { .. } => 13,
        Operator::ArrayInitData { .. } => 14,
        Operator::ArrayInitElem { .. } => 15,
        _ => return None,
    })
}

impl EventKind {
    /// Reports whether lengths of bulk operations are events.
    pub fn charges_lengths(&self) -> bool {
        self.lengths.iter().any(|cost| *cost != 0)
    }

    /// Returns the events of each unit of the length of an instruction; 0 if that has no length.
    pub fn per_unit(&self, op: &Operator<'_>) -> u64 {
        bulk_number(op).and_then(|number| self.lengths.get(number)).copied().unwrap_or(0)
    }

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

#[cfg(test)]
mod tests {
    use super::{bulk_number, bulk_operations};

    #[test]
    fn bulk_operations_are_in_the_order_of_their_numbers() {
        let numbers: Vec<Option<usize>> = bulk_operations().iter().map(bulk_number).collect();
        assert_eq!(numbers, (0..16).map(Some).collect::<Vec<_>>());
    }
}
