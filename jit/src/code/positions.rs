//! The wasm instruction from which each piece of machine code comes.
//!
//! Input: places in the code with their origins, ascending. Output: the same in about three bytes each, because a
//! sampling profiler keeps them for all code. An entry is the distance from the previous one, then the distance of its
//! instruction from the previous one's, with one bit that says whether a frame follows. Numbers are encoded with seven
//! bits per byte, the lowest first, and a continuation bit.

use serde::{Deserialize, Serialize};

use super::Origin;

/// The instruction from which the code from one place up to the next position comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The byte offset in the code.
    pub pc: u32,
    /// The byte offset of the instruction in the module.
    pub offset: u32,
    /// The frame of the instruction: see [`Origin::frame`].
    pub frame: u32,
}

impl Position {
    /// Creates the position of code from `origin` that begins at `pc`.
    pub(crate) fn new(pc: u32, origin: Origin) -> Position {
        Position { pc, offset: origin.offset, frame: origin.frame }
    }

    fn place(&self) -> (u32, u32) {
        (self.offset, self.frame)
    }
}

/// The positions of one piece of machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions {
    #[serde(with = "whole")]
    packed: Vec<u8>,
}

/// Serializes bytes as a whole instead of one by one.
mod whole {
    use std::fmt;

    use serde::{Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        from.deserialize_bytes(Bytes)
    }
}

impl Positions {
    /// Encodes ascending positions; among several at one place the last one counts.
    pub fn new(all: impl IntoIterator<Item = Position>) -> Positions {
        let mut kept: Vec<Position> = Vec::new();
        for position in all {
            if kept.last().is_some_and(|last| last.pc == position.pc) {
                kept.pop();
            }
            if kept.last().is_none_or(|last| last.place() != position.place()) {
                kept.push(position);
            }
        }
        let mut packed = Vec::new();
        let mut before = START;
        for position in kept {
            write(&mut packed, u64::from(position.pc.wrapping_sub(before.pc)));
            let far = i64::from(position.offset) - i64::from(before.offset);
            let far = (far << 1 ^ far >> 63).cast_unsigned();
            let changes = position.frame != before.frame;
            write(&mut packed, far << 1 | u64::from(changes));
            if changes {
                write(&mut packed, position.frame.into());
            }
            before = position;
        }
        Positions { packed }
    }

    /// Reports whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Returns all positions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Position> {
        let (mut bytes, mut before) = (self.packed.iter().copied(), START);
        std::iter::from_fn(move || {
            let pc = before.pc.wrapping_add(read(&mut bytes)? as u32);
            let number = read(&mut bytes)?;
            let far = number >> 1;
            let far = (far >> 1).cast_signed() ^ -(far & 1).cast_signed();
            let offset = (i64::from(before.offset) + far) as u32;
            let frame = if number & 1 == 0 { before.frame } else { read(&mut bytes)? as u32 };
            before = Position { pc, offset, frame };
            Some(before)
        })
    }

    /// Returns the position of the code at `pc`; `None` if it lies before all positions.
    pub fn at(&self, pc: u32) -> Option<Position> {
        self.iter().take_while(|position| position.pc <= pc).last()
    }

    /// Returns the positions of code whose bytes were moved to the places given by `place`, in their order.
    #[must_use]
    pub(crate) fn moved(&self, place: impl Fn(u32) -> u32) -> Positions {
        Positions::new(self.iter().map(|position| Position { pc: place(position.pc), ..position }))
    }
}

const START: Position = Position { pc: 0, offset: 0, frame: 0 };

fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position((pc, offset, frame): (u32, u32, u32)) -> Position {
        Position { pc, offset, frame }
    }

    #[test]
    fn what_was_packed_is_found_again() {
        let all = [(0, 900, 0), (3, 907, 0), (4, 12, 2), (200, 5_000_000, 2), (70_000, 4_999_999, 0)];
        let all = all.map(position);
        let packed = Positions::new(all);
        assert_eq!(packed.iter().collect::<Vec<_>>(), all);
        for pc in [0, 2, 3, 5, 199, 200, 69_999, u32::MAX] {
            let expected = all.iter().rfind(|position| position.pc <= pc).copied();
            assert_eq!(packed.at(pc), expected, "{pc}");
        }
        assert!(packed.packed.len() <= 20, "{packed:?}");
        let late = Positions::new([position((7, 1, 0))]);
        assert_eq!(late.at(6), None);
    }

    #[test]
    fn one_place_has_one_position_and_what_does_not_change_is_left_out() {
        let all = [(0, 1, 0), (0, 2, 0), (5, 2, 0), (6, 2, 1), (6, 2, 0), (9, 3, 0)];
        let packed = Positions::new(all.map(position));
        assert_eq!(packed.iter().collect::<Vec<_>>(), [(0, 2, 0), (9, 3, 0)].map(position));
        let moved = packed.moved(|pc| pc / 9);
        assert_eq!(moved.iter().collect::<Vec<_>>(), [(0, 2, 0), (1, 3, 0)].map(position));
    }

    #[test]
    fn bytes_from_anywhere_are_no_danger() {
        for bytes in [vec![0xff; 40], vec![0x80], vec![1, 0xff], vec![1, 1]] {
            let _ = Positions { packed: bytes }.at(u32::MAX);
        }
    }
}
