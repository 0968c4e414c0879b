//! Programs as trees from which any part can be left out; generator, writer and reducer share them.
//!
//! Invariant: a tree that has lost statements, labels or function bodies can still be written as a valid module.
//! Labels are numbers, not depths; the writer omits a branch to a label that no longer exists.

use wasm_encoder::{HeapType, Instruction, ValType};

use super::atomics::Sharing;

/// A construct that branches can leave; labels are unique within a function.
pub type Label = u32;

/// Parameters and results of a function.
pub type Signature = (&'static [ValType], &'static [ValType]);

/// A module.
#[derive(Clone, Debug)]
pub struct Program {
    /// The defined functions.
    pub functions: Vec<Function>,
    /// Elements of the table that the program changes, as indices of defined functions.
    pub table: Vec<Option<u32>>,
    /// Elements of the constant table.
    pub constant: Vec<u32>,
    /// How exceptions are encoded, if the program has objects, exceptions and typed references.
    pub managed: Option<Exceptions>,
    /// Who may use the memories, if the program has atomic instructions.
    pub atomics: Option<Sharing>,
}

/// The encoding of exception handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceptions {
    /// `try_table`.
    Standard,
    /// `try`, `catch` and `rethrow`, the legacy instructions.
    Legacy,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its type, as an index in [`SIGNATURES`](super::SIGNATURES).
    pub signature: u32,
    /// Its locals after the parameters.
    pub locals: Vec<ValType>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// How it ends.
    pub end: End,
}

/// How a function ends.
#[derive(Clone, Debug)]
pub enum End {
    /// Returns these results.
    Results(Vec<Expr>),
    /// Makes a tail call: operands and the instruction.
    TailCall(Vec<Expr>, Instruction<'static>),
}

/// Code that leaves one value.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its type.
    pub ty: ValType,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of an expression.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Operands, then an instruction.
    Op(Instruction<'static>, Vec<Expr>),
    /// One of two values.
    If(Box<Expr>, Box<Valued>, Box<Valued>),
    /// A block that branches may leave with a value.
    Block(Label, Box<Valued>),
}

/// Statements, then a value.
#[derive(Clone, Debug)]
pub struct Valued {
    /// The statements that come first.
    pub before: Vec<Stmt>,
    /// The value.
    pub value: Expr,
}

/// Code that leaves the operand stack as it finds it.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Operands, an instruction, and the locals that receive its results; `None` drops a result.
    Do {
        /// The instruction.
        op: Instruction<'static>,
        /// Its operands.
        args: Vec<Expr>,
        /// The locals that receive its results.
        results: Vec<Option<u32>>,
    },
    /// An `if`, with an `else` if that is not empty.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A block without a value.
    Block(Label, Vec<Stmt>),
    /// A block with operands and results.
    Multi(Box<Multi>),
    /// A `br_table`.
    Switch(Box<Switch>),
    /// A loop that ends.
    Loop(Box<Loop>),
    /// A branch to a label with values, perhaps conditional.
    Break {
        /// The target.
        label: Label,
        /// The condition. Without one, nothing follows in the construct.
        when: Option<Expr>,
        /// The values that the branch carries.
        values: Vec<Expr>,
    },
    /// An early return; nothing follows in its construct.
    Return(Vec<Expr>),
    /// Throws an exception with a tag; nothing follows in its construct.
    Throw(u32, Vec<Expr>),
    /// A `try` with its handlers.
    Try(Box<Try>),
    /// A branch on the type of a reference.
    Test(Box<Test>),
}

/// A `try`.
#[derive(Clone, Debug)]
pub struct Try {
    /// The label of branches that leave it.
    pub label: Label,
    /// The statements that may throw.
    pub body: Vec<Stmt>,
    /// Its handlers. Without handlers, exceptions propagate.
    pub handlers: Vec<Handler>,
}

/// A handler.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The tag that it catches; `None` for all.
    pub tag: Option<u32>,
    /// The locals that receive the values of the exception, if it has this tag.
    pub locals: Vec<u32>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// The condition under which it rethrows the exception, and the local that holds the exception until then.
    pub again: Option<(Expr, u32)>,
}

/// A branch on the type of a reference.
#[derive(Clone, Debug)]
pub struct Test {
    /// The reference.
    pub value: Expr,
    /// The tested heap type; `None` tests for any reference but null.
    pub wanted: Option<HeapType>,
    /// Whether the branch is taken if the test fails: `br_on_null`, `br_on_cast_fail`.
    pub negated: bool,
    /// The local that receives the reference if the test succeeds.
    pub local: u32,
    /// The statements that run if the test succeeds.
    pub yes: Vec<Stmt>,
    /// The statements that run if the test fails.
    pub no: Vec<Stmt>,
}

/// A block that takes operands into locals, and leaves several values in other locals.
#[derive(Clone, Debug)]
pub struct Multi {
    /// Its label.
    pub label: Label,
    /// Its operands, and the locals that receive them at its start.
    pub params: Vec<(Expr, u32)>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Its results, and the locals that receive them at its end.
    pub results: Vec<(Expr, u32)>,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    /// The index operand.
    pub index: Expr,
    /// The case for each index; the last one is the default.
    pub targets: Vec<u32>,
    /// The cases.
    pub cases: Vec<Vec<Stmt>>,
    /// Whether each case falls through to the next one.
    pub falls_through: bool,
}

/// A loop that counts its iterations.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The label of branches that leave the loop.
    pub exit: Label,
    /// The label of branches that begin the next iteration.
    pub next: Label,
    /// The local that counts iterations; no other code writes it.
    pub counter: u32,
    /// Whether the counter is an i64.
    pub is_wide: bool,
    /// How it counts.
    pub form: LoopForm,
    /// The step of the counter.
    pub step: u32,
    /// Maximum number of iterations.
    pub rounds: u32,
    /// For iteration counts known only at run time: the number and the mask that bounds it.
    pub dynamic: Option<(Expr, u32)>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Values that each iteration passes to the next on the stack: the local, the first value, the next value.
    pub carried: Vec<(u32, Expr, Expr)>,
}

/// How a loop counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopForm {
    /// Counts down to zero, testing at the end of each iteration.
    Down,
    /// Counts up, testing at the end of each iteration.
    Up,
    /// Counts up, testing before each iteration, with a jump back.
    While,
}

impl Expr {
    /// Returns the value of an instruction.
    pub fn op(ty: ValType, op: Instruction<'static>, args: Vec<Expr>) -> Expr {
        Expr { ty, kind: Kind::Op(op, args) }
    }

    /// Returns zero.
    pub fn zero(ty: ValType) -> Expr {
        Expr::op(ty, zero(ty), Vec::new())
    }

    /// Returns an i32 constant.
    pub fn i32(value: i32) -> Expr {
        Expr::op(ValType::I32, Instruction::I32Const(value), Vec::new())
    }

    /// Returns an i64 constant.
    pub fn i64(value: i64) -> Expr {
        Expr::op(ValType::I64, Instruction::I64Const(value), Vec::new())
    }

    /// Returns the value of a local.
    pub fn local(ty: ValType, local: u32) -> Expr {
        Expr::op(ty, Instruction::LocalGet(local), Vec::new())
    }

    /// Reports whether the expression is a constant.
    pub fn is_constant(&self) -> bool {
        use Instruction as I;
        matches!(
            self.kind,
            Kind::Op(I::I32Const(_) | I::I64Const(_) | I::F32Const(_) | I::F64Const(_) | I::V128Const(_), _)
        )
    }
}

impl Stmt {
    /// Returns a statement with an instruction that has no results.
    pub fn act(op: Instruction<'static>, args: Vec<Expr>) -> Stmt {
        Stmt::Do { op, args, results: Vec::new() }
    }

    /// Returns a statement that sets a local.
    pub fn set(local: u32, value: Expr) -> Stmt {
        Stmt::act(Instruction::LocalSet(local), vec![value])
    }
}

/// Returns the instruction that makes a zero.
pub fn zero(ty: ValType) -> Instruction<'static> {
    match ty {
        ValType::I64 => Instruction::I64Const(0),
        ValType::F32 => Instruction::F32Const(0.0.into()),
        ValType::F64 => Instruction::F64Const(0.0.into()),
        ValType::V128 => Instruction::V128Const(0),
        ValType::Ref(ty) => Instruction::RefNull(ty.heap_type),
        _ => Instruction::I32Const(0),
    }
}
