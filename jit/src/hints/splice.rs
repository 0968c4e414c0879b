//! Adds custom sections to a module.
//!
//! Invariant: each other section is copied unchanged, including the encoding of its length. Sections with the same
//! names are replaced; the new ones come right before the code, as required for code metadata.

use super::MetadataSection;
use super::section::write_u32;
use crate::module::ModuleInfo;

const CUSTOM: u8 = 0;
const CODE: u8 = 10;
/// Magic and version.
const HEAD: usize = 8;

/// Returns the bytes of `module`, which was parsed to `info`, with these sections; those without items are left out.
pub fn with_sections(info: &ModuleInfo, module: &[u8], sections: &[MetadataSection]) -> Vec<u8> {
    let mut bytes = module[..HEAD].to_vec();
    let mut at = HEAD;
    while at < module.len() {
        let (id, content) = section(module, at);
        if id == CODE {
            sections
                .iter()
                .filter(|section| !section.is_empty())
                .for_each(|section| add(&mut bytes, section));
        }
        if !(id == CUSTOM && is_replaced(info, &content, sections)) {
            bytes.extend_from_slice(&module[at..content.end]);
        }
        at = content.end;
    }
    bytes
}

/// Returns the kind of the section at byte `at` of a valid module, and the range of its content.
fn section(module: &[u8], at: usize) -> (u8, std::ops::Range<usize>) {
    let (mut length, mut next) = (0, at + 1);
    for shift in (0..).step_by(7) {
        let byte = module[next];
        length |= usize::from(byte & 0x7f) << shift;
        next += 1;
        if byte < 0x80 {
            break;
        }
    }
    (module[at], next..next + length)
}

fn is_replaced(info: &ModuleInfo, content: &std::ops::Range<usize>, sections: &[MetadataSection]) -> bool {
    let found = info
        .custom_sections
        .iter()
        .find(|(_, range)| range.end == content.end && range.start > content.start);
    found.is_some_and(|(name, _)| sections.iter().any(|section| section.name() == name))
}

fn add(bytes: &mut Vec<u8>, section: &MetadataSection) {
    let mut content = Vec::new();
    write_u32(&mut content, section.name().len() as u32);
    content.extend_from_slice(section.name().as_bytes());
    content.extend_from_slice(&section.content());
    bytes.push(CUSTOM);
    write_u32(bytes, content.len() as u32);
    bytes.extend_from_slice(&content);
}
