//! What the canonical ABI makes a trap, in one place for both ways in which components call each other: by the host, and
//! by machine code of adapters, which names a fault by its number.

use super::trap;
use crate::Error;

/// A fault. Adapters pass the number of its variant and up to two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    CannotEnter,
    CannotLeave,
    OutOfBounds { at: u32, bytes: u64 },
    Unaligned { at: u32, align: u32 },
    UnalignedList { at: u32, align: u32 },
    UnalignedRealloc { at: u32, align: u32 },
    TooLong { bytes: u64 },
    NotAChar { bits: u32 },
    NoCase { number: u32, cases: u32 },
    Thrown,
}

impl Fault {
    /// Returns the number and the figures of a fault.
    pub fn parts(self) -> (u32, [u64; 2]) {
        match self {
            Fault::CannotEnter => (0, [0, 0]),
            Fault::CannotLeave => (1, [0, 0]),
            Fault::OutOfBounds { at, bytes } => (2, [at.into(), bytes]),
            Fault::Unaligned { at, align } => (3, [at.into(), align.into()]),
            Fault::UnalignedList { at, align } => (4, [at.into(), align.into()]),
            Fault::UnalignedRealloc { at, align } => (5, [at.into(), align.into()]),
            Fault::TooLong { bytes } => (6, [bytes, 0]),
            Fault::NotAChar { bits } => (7, [bits.into(), 0]),
            Fault::NoCase { number, cases } => (8, [number.into(), cases.into()]),
            Fault::Thrown => (9, [0, 0]),
        }
    }

    /// Returns the fault with a number and these figures.
    pub fn of_parts(number: u32, [first, second]: [u64; 2]) -> Fault {
        let (at, align) = (first as u32, second as u32);
        match number {
            0 => Fault::CannotEnter,
            1 => Fault::CannotLeave,
            2 => Fault::OutOfBounds { at, bytes: second },
            3 => Fault::Unaligned { at, align },
            4 => Fault::UnalignedList { at, align },
            5 => Fault::UnalignedRealloc { at, align },
            6 => Fault::TooLong { bytes: first },
            7 => Fault::NotAChar { bits: at },
            8 => Fault::NoCase { number: at, cases: align },
            _ => Fault::Thrown,
        }
    }

    /// Returns the trap.
    pub fn error(self) -> Error {
        match self {
            Fault::CannotEnter => trap("cannot enter component instance"),
            Fault::CannotLeave => trap("cannot leave component instance"),
            Fault::OutOfBounds { at, bytes } => {
                trap(format_args!("value of {bytes} bytes at {at:#x} is out of bounds of memory"))
            }
            Fault::Unaligned { at, align } => {
                trap(format_args!("pointer {at:#x} is not aligned to {align} bytes"))
            }
            Fault::UnalignedList { at, align } => {
                trap(format_args!("list pointer {at:#x} is not aligned to {align} bytes"))
            }
            Fault::UnalignedRealloc { at, align } => {
                trap(format_args!("`realloc` returned {at:#x}, which is not aligned to {align} bytes"))
            }
            Fault::TooLong { bytes } => trap(format_args!("value of {bytes} bytes is too long")),
            Fault::NotAChar { bits } => trap(format_args!("{bits:#x} is not a char")),
            Fault::NoCase { number, cases } => {
                trap(format_args!("discriminant {number} is out of range: there are {cases}"))
            }
            Fault::Thrown => trap("an exception must not leave a component"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_passed_by_numbers() {
        let all = [
            Fault::CannotEnter,
            Fault::CannotLeave,
            Fault::OutOfBounds { at: u32::MAX, bytes: u64::MAX },
            Fault::Unaligned { at: 1, align: 2 },
            Fault::UnalignedList { at: 3, align: 4 },
            Fault::UnalignedRealloc { at: 5, align: 8 },
            Fault::TooLong { bytes: 1 << 31 },
            Fault::NotAChar { bits: 0xd800 },
            Fault::NoCase { number: 2, cases: 1 },
            Fault::Thrown,
        ];
        for (number, fault) in (0..).zip(all) {
            let (of, figures) = fault.parts();
            assert_eq!((of, Fault::of_parts(of, figures)), (number, fault));
        }
    }
}
