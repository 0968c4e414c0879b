//! The custom section "name" of a module: the names of the module, of its functions and of its types.
//!
//! The specification wants indices in ascending order, and engines ignore a section, or its rest, that is not; but tools
//! that merge modules write names in any order, and browsers read them. So do we. Bad data ends the section.

/// The names in a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameSection<'a> {
    /// The module's name.
    pub module: Option<&'a str>,
    /// The index and the name of each named function, in the order of the section.
    pub functions: Vec<(u32, &'a str)>,
    /// The index and the name of each named type, in the order of the section.
    pub types: Vec<(u32, &'a str)>,
}

const MODULE: u8 = 0;
const FUNCTIONS: u8 = 1;
const TYPES: u8 = 4;

impl<'a> NameSection<'a> {
    /// Reads the contents of a section, up to the first bytes that make no sense.
    pub fn read(section: &'a [u8]) -> NameSection<'a> {
        let mut names = NameSection::default();
        let mut reader = Reader(section);
        while let Some(id) = reader.byte() {
            // The names in front of the place where a subsection is cut are good.
            let (content, is_whole) = match reader.unsigned() {
                Some(len) if len as usize <= reader.0.len() => (reader.bytes(len).unwrap_or_default(), true),
                _ => (std::mem::take(&mut reader.0), false),
            };
            let mut content = Reader(content);
            match id {
                MODULE => names.module = content.text().or(names.module),
                FUNCTIONS => content.named(&mut names.functions),
                TYPES => content.named(&mut names.types),
                _ => {}
            }
            if !is_whole {
                break;
            }
        }
        names
    }
}

/// The rest of some bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn bytes(&mut self, len: u32) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len as usize)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads a number in LEB128.
    fn unsigned(&mut self) -> Option<u32> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).ok();
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = self.unsigned()?;
        std::str::from_utf8(self.bytes(len)?).ok()
    }

    fn named(&mut self, all: &mut Vec<(u32, &'a str)>) {
        let count = self.unsigned().unwrap_or(0);
        let named = (0..count).map_while(|_| Some((self.unsigned()?, self.text()?)));
        all.extend(named);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_order() {
        let section = [1, 10, 3, 5, 1, b'c', 0, 1, b'a', 2, 1, b'b', 0, 2, 1, b'm', 9, 1, 7];
        let NameSection { module, functions, types } = NameSection::read(&section);
        assert_eq!(module, Some("m"));
        assert_eq!(functions, [(5, "c"), (0, "a"), (2, "b")]);
        assert_eq!(types, []);
        assert_eq!(NameSection::read(&[4, 4, 1, 7, 1, b't']).types, [(7, "t")]);
    }

    #[test]
    fn a_damaged_section_gives_the_names_before_the_damage() {
        // Two functions, the second of which is cut; a length that never ends; a name that is not UTF-8.
        assert_eq!(NameSection::read(&[1, 7, 2, 0, 1, b'a', 1, 9, b'b']).functions, [(0, "a")]);
        assert_eq!(NameSection::read(&[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), NameSection::default());
        assert_eq!(NameSection::read(&[1, 7, 2, 3, 1, b'a', 4, 1, 0xff]).functions, [(3, "a")]);
        assert_eq!(NameSection::read(&[]), NameSection::default());
        // So many that they cannot all be there.
        assert_eq!(NameSection::read(&[1, 8, 0xff, 0xff, 0xff, 0x7f, 0, 1, b'a', 1]).functions, [(0, "a")]);
    }
}
