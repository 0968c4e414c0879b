//! Builds components from the modules and WIT files in this folder.

use std::fs;
use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Returns the component of a program in this folder, which has the world `program`.
pub fn component(name: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec-tests/tests/wasi2").join(name);
    let mut module = fs::read(file.with_extension("wasm"))?;
    let mut resolve = Resolve::default();
    let package = resolve.push_str(name, &fs::read_to_string(file.with_extension("wit"))?)?;
    let world = resolve.select_world(&[package], Some("program"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)?;
    Ok(ComponentEncoder::default().module(&module)?.validate(true).encode()?)
}
