//! Stand-ins for constants in code that are only known when the module is loaded: the address of its code slots, with
//! the dispatch cells behind them, and the ids of its types.
//!
//! Relocatable code is compiled twice, with different stand-ins, and compared. The four bytes of a constant each differ
//! by the difference of the stand-ins; if anything else differs, the code depends on the constants in another way and
//! is not relocatable.
//!
//! Input: both versions of the code. Output: the [`Place`]s of constants, and later the code with the actual constants.
//! Invariant: constants have four bytes and zeros above: the slots lie below 2 GiB. No byte of `SLOTS_APART` and
//! `TYPES_APART` is 0 or 255, so that no carry makes bytes equal. Oracle: `vm/tests/embedding/artifacts.rs`, where
//! such code runs at other addresses.

use serde::{Deserialize, Serialize};

/// The difference between the stand-ins for the address of the slots.
const SLOTS_APART: u32 = 0x0b0c_0d40;
/// The difference between the stand-ins for the ids of types.
const TYPES_APART: u32 = 0x0706_0503;

/// The stand-ins in one of the two versions of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandIns {
    /// The stand-in for the address of the slots, as far below 2 GiB as both together are long.
    pub slots: u32,
    /// The stand-in for the id of type 0; the other types follow.
    pub types: u32,
}

/// The stand-ins of the code that is kept.
pub const FIRST: StandIns = StandIns { slots: 0x2000_0140, types: 0x5000_0000 };
/// The stand-ins of the code that is only compared.
pub const SECOND: StandIns = StandIns { slots: FIRST.slots + SLOTS_APART, types: FIRST.types + TYPES_APART };

/// The place of a four-byte constant in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// The address of something behind the start of the slots, at this byte.
    Slots(u32),
    /// The id of a type.
    Type(u32),
}

/// The constants of a loaded module.
#[derive(Clone, Copy, Debug)]
pub struct Constants<'a> {
    /// The address of the module's code slots.
    pub slots: u64,
    /// The ids of its types.
    pub type_ids: &'a [u32],
}

/// Returns the places of constants in code compiled with the [`FIRST`] and the [`SECOND`] stand-ins; `None` if the two
/// differ elsewhere.
pub fn places(first: &[u8], second: &[u8]) -> Option<Vec<Place>> {
    if first.len() != second.len() {
        return None;
    }
    let (mut places, mut at) = (Vec::new(), 0);
    while at < first.len() {
        if first[at] == second[at] {
            at += 1;
            continue;
        }
        let apart = word(second, at)?.wrapping_sub(word(first, at)?);
        places.push(match apart {
            SLOTS_APART => Place::Slots(at as u32),
            TYPES_APART => Place::Type(at as u32),
            _ => return None,
        });
        at += 4;
    }
    Some(places)
}

/// Replaces the [`FIRST`] stand-ins in code by the constants of a module; `None` if the code has none there, or if an
/// address does not fit.
pub fn fill(code: &mut [u8], places: &[Place], constants: Constants<'_>) -> Option<()> {
    for place in places {
        let (at, value) = match *place {
            Place::Slots(at) => {
                let behind = word(code, at as usize)?.checked_sub(FIRST.slots)?;
                let address = constants.slots.checked_add(behind.into())?;
                (at, i32::try_from(address).ok()? as u32)
            }
            Place::Type(at) => {
                let index = word(code, at as usize)?.checked_sub(FIRST.types)?;
                (at, *constants.type_ids.get(index as usize)?)
            }
        };
        code.get_mut(at as usize..at as usize + 4)?.copy_from_slice(&value.to_le_bytes());
    }
    Some(())
}

fn word(code: &[u8], at: usize) -> Option<u32> {
    let bytes = code.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns code with two adjacent addresses, an opcode, and the id of a type.
    fn code(slots: u32, ty: u32) -> Vec<u8> {
        let words = [slots + 0xff0, slots].into_iter().flat_map(u32::to_le_bytes);
        words.chain([0x90]).chain((ty + 2).to_le_bytes()).collect()
    }

    fn encode(stand_ins: StandIns) -> Vec<u8> {
        code(stand_ins.slots, stand_ins.types)
    }

    #[test]
    fn all_bytes_of_constants_differ_whatever_they_are() {
        for base in (0..1 << 16).chain((0..1 << 16).map(|high| high << 15)) {
            for apart in [SLOTS_APART, TYPES_APART] {
                let (first, second) = (base, u32::wrapping_add(base, apart));
                let differ = first.to_le_bytes().iter().zip(second.to_le_bytes()).all(|(a, b)| *a != b);
                assert!(differ, "{first:x} {second:x}");
            }
        }
    }

    #[test]
    fn constants_are_found_and_filled() {
        let places = places(&encode(FIRST), &encode(SECOND)).expect("they differ by constants");
        assert_eq!(places, [Place::Slots(0), Place::Slots(4), Place::Type(9)]);
        let mut filled = encode(FIRST);
        let constants = Constants { slots: 0x4123_4560, type_ids: &[7, 7, 5] };
        fill(&mut filled, &places, constants).expect("all fit");
        assert_eq!(filled, code(0x4123_4560, 5 - 2));
    }

    #[test]
    fn code_that_differs_otherwise_is_not_taken() {
        let (first, second) = (encode(FIRST), encode(SECOND));
        for at in 0..second.len() {
            let mut other = second.clone();
            other[at] ^= 1;
            assert_eq!(places(&first, &other), None, "byte {at}");
        }
        assert_eq!(places(&first, &second[1..]), None);
        assert_eq!(places(&[1, 2, 3], &[1, 2, 4]), None);
    }

    #[test]
    fn what_does_not_fit_is_not_filled() {
        let all = [Place::Slots(0), Place::Slots(4), Place::Type(9)];
        let fill_with =
            |slots, type_ids: &[u32]| fill(&mut encode(FIRST), &all, Constants { slots, type_ids });
        assert_eq!(fill_with(0x4000_0000, &[1, 2, 3]), Some(()));
        assert_eq!(fill_with(0x7fff_ffff, &[1, 2, 3]), None);
        assert_eq!(fill_with(u64::MAX, &[1, 2, 3]), None);
        assert_eq!(fill_with(0x4000_0000, &[1, 2]), None);
        let constants = Constants { slots: 0x4000_0000, type_ids: &[1, 2, 3] };
        for place in [Place::Slots(8), Place::Slots(11), Place::Type(u32::MAX), Place::Type(0)] {
            assert_eq!(fill(&mut encode(FIRST), &[place], constants), None, "{place:?}");
        }
    }
}
