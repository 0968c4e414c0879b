//! The definition of an executed instruction.

use wasmparser::{BinaryReader, BinaryReaderError, Operator, OperatorsReader};

use super::{Cfg, Group};
use crate::module::ModuleInfo;

/// Reports whether `op` only marks structure: the engine neither executes nor counts it.
pub fn is_structure(op: &Operator<'_>) -> bool {
    Group::new(op) == Group::Marks
}

/// The callee of an instruction that calls, tail calls included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// The function of this index.
    Direct(u32),
    /// A function from a table or a reference.
    Indirect,
}

impl Call {
    /// Returns the call that `op` makes, if any.
    pub(crate) fn new(op: &Operator<'_>) -> Option<Call> {
        match *op {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                Some(Call::Direct(function_index))
            }
            Operator::CallIndirect { .. } | Operator::ReturnCallIndirect { .. } => Some(Call::Indirect),
            Operator::CallRef { .. } | Operator::ReturnCallRef { .. } => Some(Call::Indirect),
            _ => None,
        }
    }
}

/// Reports whether `op` calls a function and returns.
pub(crate) fn is_call(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Call { .. } | Operator::CallIndirect { .. } | Operator::CallRef { .. })
}

/// Reports whether `op` throws an exception.
pub(crate) fn is_throw(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Throw { .. } | Operator::ThrowRef | Operator::Rethrow { .. })
}

/// Reports whether control leaves the frame at `op` and may return to it, perhaps with an exception.
pub(crate) fn is_left_at(op: &Operator<'_>) -> bool {
    is_call(op) || is_throw(op)
}

/// Reports whether a frame may stop at `op` or be inspected there, a conservative answer to whether `op` may trap or
/// call. False for marks, and for the most frequent instructions that only compute, move values or branch.
pub(crate) fn may_stop(op: &Operator<'_>) -> bool {
    match Group::new(op) {
        Group::Marks | Group::Branches | Group::Moves => false,
        Group::I32Values | Group::I64Values | Group::F32Values | Group::F64Values => !only_computes(op),
        Group::Vectors | Group::Objects | Group::References => true,
        Group::Calls | Group::Failures | Group::Globals | Group::Tables | Group::Memories => true,
        Group::I32Loads | Group::I64Loads | Group::F32Loads | Group::F64Loads | Group::VectorLoads => true,
        Group::Stores | Group::Atomics => true,
        Group::ByteRanges | Group::PageRanges | Group::ElementRanges | Group::Refused => true,
    }
}

/// Reports whether `op` computes a scalar, can never trap, and is frequent.
fn only_computes(op: &Operator<'_>) -> bool {
    is_constant(op) || is_integer_computation(op) || is_float_computation(op)
}

fn is_constant(op: &Operator<'_>) -> bool {
    use Operator::*;
    matches!(op, I32Const { .. } | I64Const { .. } | F32Const { .. } | F64Const { .. })
}

#[rustfmt::skip]
fn is_integer_computation(op: &Operator<'_>) -> bool {
    use Operator::*;
    matches!(
        op,
        I32Eqz | I32Eq | I32Ne | I32LtS | I32LtU | I32GtS | I32GtU | I32LeS | I32LeU | I32GeS | I32GeU
        | I64Eqz | I64Eq | I64Ne | I64LtS | I64LtU | I64GtS | I64GtU | I64LeS | I64LeU | I64GeS | I64GeU
        | I32Add | I32Sub | I32Mul | I32And | I32Or | I32Xor | I32Shl | I32ShrS | I32ShrU | I32Rotl | I32Rotr
        | I64Add | I64Sub | I64Mul | I64And | I64Or | I64Xor | I64Shl | I64ShrS | I64ShrU | I64Rotl | I64Rotr
        | I32Clz | I32Ctz | I32Popcnt | I64Clz | I64Ctz | I64Popcnt
        | I32WrapI64 | I64ExtendI32S | I64ExtendI32U | I32Extend8S | I32Extend16S
    )
}

#[rustfmt::skip]
fn is_float_computation(op: &Operator<'_>) -> bool {
    use Operator::*;
    matches!(
        op,
        F64Add | F64Sub | F64Mul | F64Div | F64Eq | F64Ne | F64Lt | F64Gt | F64Le | F64Ge
        | F32Add | F32Sub | F32Mul | F32Div | F32Eq | F32Ne | F32Lt | F32Gt | F32Le | F32Ge
    )
}

/// A reader of instructions from any position in a function body, where constructs end that began earlier.
pub(crate) struct Operators<'a> {
    bytes: &'a [u8],
    start: u32,
    /// Reads the bytes after the most recent such end.
    reader: OperatorsReader<'a>,
}

impl<'a> Operators<'a> {
    /// Creates a reader of bytes `start..limit` of the module.
    pub(crate) fn new(info: &'a ModuleInfo, start: u32, limit: u32) -> Operators<'a> {
        let bytes = &info.bytes[start as usize..limit as usize];
        let reader = BinaryReader::new_features(bytes, u64::from(start), info.features);
        Operators { bytes, start, reader: OperatorsReader::new(reader) }
    }

    /// Returns the next instruction and its byte offset in the module; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Operator<'a>, u32)>, BinaryReaderError> {
        let at = self.reader.original_position() as u32;
        let op = match self.bytes.get((at - self.start) as usize) {
            None => return Ok(None),
            // wasmparser's reader tracks the nesting of constructs, but does not know those that began before its
            // start.
            Some(&END) => self.leave(Operator::End)?,
            Some(&ELSE) => self.leave(Operator::Else)?,
            Some(_) => self.reader.read()?,
        };
        Ok(Some((op, at)))
    }

    fn leave(&mut self, op: Operator<'a>) -> Result<Operator<'a>, BinaryReaderError> {
        let mut rest = self.reader.get_binary_reader();
        rest.read_u8()?;
        self.reader = OperatorsReader::new(rest);
        Ok(op)
    }
}

/// Returns the byte offsets in the module of a function's executed instructions, without dead code, ascending.
///
/// # Errors
/// Fails if the bytes differ from the validated ones.
pub fn instruction_offsets(info: &ModuleInfo, cfg: &Cfg) -> Result<Vec<u32>, BinaryReaderError> {
    let mut offsets = Vec::new();
    for block in &cfg.blocks {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if !is_structure(&op) {
                offsets.push(at);
            }
        }
    }
    Ok(offsets)
}

/// Returns the direct calls of a function, including tail calls, without dead code: byte offset and callee, ascending.
///
/// # Errors
/// Fails if the bytes differ from the validated ones.
pub fn direct_calls(info: &ModuleInfo, cfg: &Cfg) -> Result<Vec<(u32, u32)>, BinaryReaderError> {
    let mut calls = Vec::new();
    for block in &cfg.blocks {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if let Some(Call::Direct(callee)) = Call::new(&op) {
                calls.push((at, callee));
            }
        }
    }
    Ok(calls)
}

const ELSE: u8 = 0x05;
const END: u8 = 0x0b;

/// Returns the number of instructions of `block` begun by a frame that stopped at byte `offset` of the module,
/// including the one at `offset`. A frame that stopped before the block's first instruction, at a probe or for lack of
/// stack, has an offset before the block and has begun none.
///
/// # Errors
/// Fails if the bytes differ from the validated ones.
pub fn ops_executed(info: &ModuleInfo, cfg: &Cfg, block: u32, offset: u32) -> Result<u32, BinaryReaderError> {
    let block = &cfg.blocks[block as usize];
    let mut operators = Operators::new(info, block.start, block.limit);
    let mut count = 0;
    while let Some((op, at)) = operators.next()? {
        if at > offset {
            break;
        }
        count += u32::from(!is_structure(&op));
    }
    Ok(count)
}
