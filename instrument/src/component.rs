//! Components: each core module in a component is rewritten in place.
//!
//! The section of a core module holds its bytes unchanged, and the section of a nested component holds that component's
//! bytes, so no other section changes. Instances ignore the exports that instrumentation adds to a module.

use std::ops::Range;

use wasmparser::{BinaryReader, Encoding, Parser, Payload, Validator};

use crate::Error;
use crate::assemble::{self, Options};
use crate::module::features;
use crate::offsets::leb;

/// The id of a component's section that holds a core module.
const MODULE: u8 = 1;
/// The id of the section that holds a nested component.
const COMPONENT: u8 = 4;
/// Bytes of the magic number and the version.
const HEADER: usize = 8;
/// The deepest nesting of components that is accepted.
const MOST_NESTED: u32 = 100;

/// Rewrites a module so that it counts, or all modules with code in a component.
///
/// # Errors
/// Returns an error if the bytes are neither a module nor a component, or cannot be instrumented as a whole.
pub fn instrument(bytes: &[u8], options: Options<'_>) -> Result<Vec<u8>, Error> {
    if !is_component(bytes) {
        return assemble::module(bytes, options);
    }
    Validator::new_with_features(features()).validate_all(bytes)?;
    let (mut count, mut rewritten) = (0, 0);
    let new = rewrite(bytes, 0, &mut |module| {
        let index = count;
        count += 1;
        match assemble::module(module, options) {
            Ok(new) => {
                rewritten += 1;
                Ok(new)
            }
            Err(Error::NoCode) => Ok(module.to_vec()),
            Err(Error::Instrumented) => Err(Error::Instrumented),
            Err(error) => Err(Error::InComponent { index, error: Box::new(error) }),
        }
    })?;
    if rewritten == 0 { Err(Error::NoCode) } else { Ok(new) }
}

/// Returns the module, or the modules of a component and its nested components.
///
/// # Errors
/// Returns an error if the bytes are neither a module nor a component.
pub fn modules(bytes: &[u8]) -> Result<Vec<&[u8]>, Error> {
    if !is_component(bytes) {
        return Ok(vec![bytes]);
    }
    let mut found = Vec::new();
    collect(bytes, 0, &mut found)?;
    Ok(found)
}

/// Returns a component in which `new` is in place of each core module, nested ones too, that consists of the bytes `old`.
///
/// # Errors
/// Returns an error if the bytes are no component.
pub fn with_module(component: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<u8>, Error> {
    if !is_component(component) {
        return Err(Error::NotAModule);
    }
    rewrite(component, 0, &mut |module| Ok(if module == old { new } else { module }.to_vec()))
}

fn is_component(bytes: &[u8]) -> bool {
    let first = Parser::new(0).parse_all(bytes).next();
    matches!(first, Some(Ok(Payload::Version { encoding: Encoding::Component, .. })))
}

fn collect<'a>(bytes: &'a [u8], depth: u32, found: &mut Vec<&'a [u8]>) -> Result<(), Error> {
    for (id, contents) in sections(bytes, depth)? {
        match id {
            MODULE => found.push(&bytes[contents]),
            COMPONENT => collect(&bytes[contents], depth + 1, found)?,
            _ => {}
        }
    }
    Ok(())
}

fn rewrite(
    bytes: &[u8],
    depth: u32,
    module: &mut impl FnMut(&[u8]) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    let mut out = bytes[..HEADER].to_vec();
    for (id, contents) in sections(bytes, depth)? {
        let contents = &bytes[contents];
        let new = match id {
            MODULE => module(contents)?,
            COMPONENT => rewrite(contents, depth + 1, module)?,
            _ => contents.to_vec(),
        };
        out.push(id);
        leb(&mut out, u32::try_from(new.len()).map_err(|_| Error::Unsupported("a component this large"))?);
        out.extend(new);
    }
    Ok(out)
}

/// Returns the sections of a component: the number and the byte range of each.
fn sections(bytes: &[u8], depth: u32) -> Result<Vec<(u8, Range<usize>)>, Error> {
    if depth > MOST_NESTED {
        return Err(Error::Unsupported("components that are nested so deep"));
    }
    let body = bytes.get(HEADER..).ok_or(Error::NotAModule)?;
    let mut reader = BinaryReader::new(body, HEADER as u64);
    let mut found = Vec::new();
    while !reader.eof() {
        let id = reader.read_u8()?;
        let size = reader.read_var_u32()? as usize;
        let start = reader.original_position() as usize;
        reader.read_bytes(size)?;
        found.push((id, start..start + size));
    }
    Ok(found)
}
