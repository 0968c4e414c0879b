//! Operands: registers, and places in memory.

/// A register: a general one below [`FIRST_XMM`], a vector register from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target::x86_64::single_pass) struct Reg(pub u8);

/// The number of the first vector register.
pub(in crate::target::x86_64::single_pass) const FIRST_XMM: u8 = 16;

pub(in crate::target::x86_64::single_pass) const RAX: Reg = Reg(0);
pub(in crate::target::x86_64::single_pass) const RCX: Reg = Reg(1);
pub(in crate::target::x86_64::single_pass) const RDX: Reg = Reg(2);
pub(in crate::target::x86_64::single_pass) const RBX: Reg = Reg(3);
pub(in crate::target::x86_64::single_pass) const RSP: Reg = Reg(4);
pub(in crate::target::x86_64::single_pass) const RBP: Reg = Reg(5);
pub(in crate::target::x86_64::single_pass) const RSI: Reg = Reg(6);
pub(in crate::target::x86_64::single_pass) const RDI: Reg = Reg(7);
pub(in crate::target::x86_64::single_pass) const R8: Reg = Reg(8);
pub(in crate::target::x86_64::single_pass) const R9: Reg = Reg(9);
pub(in crate::target::x86_64::single_pass) const R10: Reg = Reg(10);
/// A general register that holds nothing between two steps of an instruction.
pub(in crate::target::x86_64::single_pass) const SCRATCH: Reg = Reg(11);
/// The pinned register, which `get_pinned_reg` reads.
pub(in crate::target::x86_64::single_pass) const PINNED: Reg = Reg(15);
/// The vector register that corresponds to [`SCRATCH`].
pub(in crate::target::x86_64::single_pass) const XMM_SCRATCH: Reg = Reg(FIRST_XMM + 15);

impl Reg {
    pub(in crate::target::x86_64::single_pass) const fn xmm(number: u8) -> Reg {
        Reg(FIRST_XMM + number)
    }

    pub(in crate::target::x86_64::single_pass) fn is_xmm(self) -> bool {
        self.0 >= FIRST_XMM
    }

    /// Returns the register's number within its class.
    pub(super) fn number(self) -> u8 {
        self.0 % FIRST_XMM
    }
}

/// A memory operand: the address is the sum of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target::x86_64::single_pass) struct Mem {
    pub base: Reg,
    /// Must not be the stack pointer.
    pub index: Option<Reg>,
    pub offset: i32,
}

impl Mem {
    pub(in crate::target::x86_64::single_pass) fn at(base: Reg, offset: i32) -> Mem {
        Mem { base, index: None, offset }
    }
}

/// An operand in a register or in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target::x86_64::single_pass) enum Operand {
    Reg(Reg),
    Mem(Mem),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

impl From<Mem> for Operand {
    fn from(mem: Mem) -> Operand {
        Operand::Mem(mem)
    }
}
