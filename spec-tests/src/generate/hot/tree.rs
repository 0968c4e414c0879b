//! Programs as trees, from which any part can be left out: what generator, writer and reducer share.
//!
//! Invariant: a tree that has lost statements, labels or functions' bodies can still be written as a valid module.
//! Labels are numbers, not depths; a branch to a label that is no more is left out.

use wasm_encoder::{HeapType, Instruction, ValType};

/// Names a construct that branches leave; each has its own in a function.
pub type Label = u32;

/// Parameters and results of a function.
pub type Signature = (&'static [ValType], &'static [ValType]);

/// A module.
#[derive(Clone, Debug)]
pub struct Program {
    /// The functions that it defines.
    pub functions: Vec<Function>,
    /// Elements of the table that the program changes, by index among the defined functions.
    pub table: Vec<Option<u32>>,
    /// Elements of the table that nothing changes.
    pub constant: Vec<u32>,
    /// Whether it has objects, exceptions and typed references, and how exceptions are written.
    pub managed: Option<Exceptions>,
}

/// How exceptions are caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceptions {
    /// `try_table`.
    Standard,
    /// `try`, `catch`, `rethrow`, as before the standard.
    Legacy,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its type, by index in [`SIGNATURES`](super::SIGNATURES).
    pub signature: u32,
    /// Its locals behind the parameters.
    pub locals: Vec<ValType>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// How it ends.
    pub end: End,
}

/// How a function ends.
#[derive(Clone, Debug)]
pub enum End {
    /// With these results.
    Results(Vec<Expr>),
    /// With a tail call: operands and the instruction.
    TailCall(Vec<Expr>, Instruction<'static>),
}

/// Code that leaves one value.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its type.
    pub ty: ValType,
    /// What it is.
    pub kind: Kind,
}

/// What an expression is.
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
    /// What comes first.
    pub before: Vec<Stmt>,
    /// The value.
    pub value: Expr,
}

/// Code that leaves the operand stack as it finds it.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Operands, an instruction, and the locals that take its results; `None` drops one.
    Do {
        /// The instruction.
        op: Instruction<'static>,
        /// Its operands.
        args: Vec<Expr>,
        /// Who takes its results.
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
    /// A branch to a label with values, perhaps under a condition.
    Break {
        /// Where to.
        label: Label,
        /// When; always with `None`, and then nothing follows in its construct.
        when: Option<Expr>,
        /// What it takes along.
        values: Vec<Expr>,
    },
    /// An early return; nothing follows in its construct.
    Return(Vec<Expr>),
    /// Throws an exception with a tag; nothing follows in its construct.
    Throw(u32, Vec<Expr>),
    /// A `try` with its handlers.
    Try(Box<Try>),
    /// A branch by what a reference is.
    Test(Box<Test>),
}

/// A `try`.
#[derive(Clone, Debug)]
pub struct Try {
    /// Branches here leave it.
    pub label: Label,
    /// What may throw.
    pub body: Vec<Stmt>,
    /// Its handlers. Without any, exceptions go on.
    pub handlers: Vec<Handler>,
}

/// A handler.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The tag of what it is for; `None` for all.
    pub tag: Option<u32>,
    /// The locals that take what the exception carries, if it has this tag.
    pub locals: Vec<u32>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// When it throws the same once more, and the local that holds that in the meantime.
    pub again: Option<(Expr, u32)>,
}

/// A branch by what a reference is.
#[derive(Clone, Debug)]
pub struct Test {
    /// The reference.
    pub value: Expr,
    /// The type that it is asked for; `None` for any but null.
    pub wanted: Option<HeapType>,
    /// Whether the branch is taken if it is not so: `br_on_null`, `br_on_cast_fail`.
    pub negated: bool,
    /// The local that takes it if it is so.
    pub local: u32,
    /// What is done if it is so.
    pub yes: Vec<Stmt>,
    /// And if it is not.
    pub no: Vec<Stmt>,
}

/// A block that takes operands into locals and leaves several values, which others take.
#[derive(Clone, Debug)]
pub struct Multi {
    /// Its label.
    pub label: Label,
    /// Its operands, and the locals that take them at its start.
    pub params: Vec<(Expr, u32)>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Its results, and the locals that take them at its end.
    pub results: Vec<(Expr, u32)>,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    /// What it is by.
    pub index: Expr,
    /// Which case each index leads to; the last is for all others.
    pub targets: Vec<u32>,
    /// The cases.
    pub cases: Vec<Vec<Stmt>>,
    /// Whether each case runs into the next one.
    pub falls_through: bool,
}

/// A loop that counts its rounds.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Branches here leave the loop.
    pub exit: Label,
    /// Branches here begin the next round.
    pub next: Label,
    /// The local that counts, which nothing else writes.
    pub counter: u32,
    /// Whether that is an i64.
    pub is_wide: bool,
    /// How it counts.
    pub form: LoopForm,
    /// What is added in each round.
    pub step: u32,
    /// Rounds, at most.
    pub rounds: u32,
    /// If rounds are known only as it runs: the number is masked by this first.
    pub dynamic: Option<(Expr, u32)>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Values that each round hands to the next one on the stack: the local, the first value, the next.
    pub carried: Vec<(u32, Expr, Expr)>,
}

/// How a loop counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopForm {
    /// Down to zero, asking at the end of each round.
    Down,
    /// Up, asking at the end of each round.
    Up,
    /// Up, asking before each round, and jumping back.
    While,
}

impl Expr {
    /// A value of an instruction.
    pub fn op(ty: ValType, op: Instruction<'static>, args: Vec<Expr>) -> Expr {
        Expr { ty, kind: Kind::Op(op, args) }
    }

    /// Zero.
    pub fn zero(ty: ValType) -> Expr {
        Expr::op(ty, zero(ty), Vec::new())
    }

    /// An i32.
    pub fn i32(value: i32) -> Expr {
        Expr::op(ValType::I32, Instruction::I32Const(value), Vec::new())
    }

    /// An i64.
    pub fn i64(value: i64) -> Expr {
        Expr::op(ValType::I64, Instruction::I64Const(value), Vec::new())
    }

    /// The value of a local.
    pub fn local(ty: ValType, local: u32) -> Expr {
        Expr::op(ty, Instruction::LocalGet(local), Vec::new())
    }

    /// Whether it is a constant.
    pub fn is_constant(&self) -> bool {
        use Instruction as I;
        matches!(
            self.kind,
            Kind::Op(I::I32Const(_) | I::I64Const(_) | I::F32Const(_) | I::F64Const(_) | I::V128Const(_), _)
        )
    }
}

impl Stmt {
    /// An instruction without results.
    pub fn act(op: Instruction<'static>, args: Vec<Expr>) -> Stmt {
        Stmt::Do { op, args, results: Vec::new() }
    }

    /// Gives a local a value.
    pub fn set(local: u32, value: Expr) -> Stmt {
        Stmt::act(Instruction::LocalSet(local), vec![value])
    }
}

/// The instruction that makes a zero.
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
