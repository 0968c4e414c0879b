//! Artifacts: a module compiled ahead of time, stored together with the module.
//!
//! Layout: [`MAGIC`]; three SHA-256 hashes of what the code was compiled for ([`MadeFor`]); the SHA-256 hash of
//! the rest; the length of the module, in eight bytes; the module; its code, a [`CachedModule`] in postcard, with
//! stand-ins for values that are known only when it is loaded (`wprof_jit::code::stand_ins`).
//!
//! Invariant: the code is not decoded before all hashes are verified, so a truncated or damaged file is an error.
//! The hashes do not protect from a file made on purpose: its code runs with the rights of the process.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::code_cache::{CachedModule, Placed};
use crate::runtime::instances::build_id;
use crate::{Engine, Error, ErrorKind, Result};

/// The prefix of an artifact. The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"\0wprofc\x01";
const HASH: usize = 32;
const HASHES: usize = MAGIC.len() + 3 * HASH;
/// Offset at which the hashed part begins.
const HASHED: usize = HASHES + HASH;
const MODULE: usize = HASHED + size_of::<u64>();

/// Hashes of the environment that code is compiled for, which must be the same where it runs.
#[derive(Debug, PartialEq, Eq)]
pub struct MadeFor([[u8; HASH]; 3]);

/// The message for each part of [`MadeFor`] that differs.
const PARTS: [&str; 3] = [
    "it was made by another build of wprof: compile the module with this one",
    "it was made for another processor: compile the module on this one",
    "it was made with other settings of the engine: compile the module with these, or use those",
];

impl MadeFor {
    /// Returns what an engine compiles code for.
    ///
    /// # Errors
    /// Returns an error if this program cannot be identified.
    pub fn new(engine: &Engine) -> Result<MadeFor> {
        let config = engine.config();
        let build = match &config.files.module_version {
            Some(version) => version.clone().into_bytes(),
            None => build_id::of_program()
                .ok_or_else(|| refused("this program has no build id: set Config::module_version"))?
                .to_vec(),
        };
        let (compiler, strategy) = (engine.compiler(), config.tiers.strategy);
        let settings = format!("{} {:?} {strategy:?}", compiler.settings(), engine.collection());
        let hash = |bytes: &[u8]| Sha256::new().chain_update(MAGIC).chain_update(bytes).finalize().into();
        Ok(MadeFor([hash(&build), hash(compiler.machine().as_bytes()), hash(settings.as_bytes())]))
    }
}

/// Returns whether these bytes begin like an artifact.
pub fn is_artifact(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC[..MAGIC.len() - 1])
}

/// Encodes the artifact of a module.
///
/// # Errors
/// Returns an error if the code cannot be serialized.
pub fn write(made_for: &MadeFor, module: &[u8], code: &CachedModule<Placed>) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(MODULE + 2 * module.len());
    bytes.extend(MAGIC);
    made_for.0.iter().for_each(|hash| bytes.extend(hash));
    bytes.extend([0; HASH]);
    bytes.extend((module.len() as u64).to_le_bytes());
    bytes.extend(module);
    let mut bytes = postcard::to_extend(code, bytes).map_err(|e| refused(&e.to_string()))?;
    let hash = Sha256::digest(&bytes[HASHED..]);
    bytes[HASHES..HASHED].copy_from_slice(&hash);
    Ok(bytes)
}

/// Returns the range of the module in an artifact, and its code.
///
/// # Errors
/// Returns an error if the bytes are no artifact, were compiled for something else, or are damaged.
pub fn read(made_for: &MadeFor, bytes: &[u8]) -> Result<(Range<usize>, CachedModule)> {
    if !is_artifact(bytes) {
        return Err(refused("it is no module that was compiled ahead"));
    }
    let Some((head, _)) = bytes.split_at_checked(MODULE) else { return Err(damaged()) };
    if head[..MAGIC.len()] != MAGIC {
        return Err(refused(PARTS[0]));
    }
    let found = head[MAGIC.len()..HASHES].chunks(HASH);
    if let Some((_, other)) =
        found.zip(&made_for.0).zip(PARTS).find(|((found, is), _)| *found != is.as_slice())
    {
        return Err(refused(other));
    }
    if Sha256::digest(&bytes[HASHED..]).as_slice() != &bytes[HASHES..HASHED] {
        return Err(damaged());
    }
    let len: [u8; 8] = head[HASHED..].try_into().map_err(|_| damaged())?;
    let end = usize::try_from(u64::from_le_bytes(len)).ok().and_then(|len| MODULE.checked_add(len));
    let end = end.filter(|&end| end <= bytes.len()).ok_or_else(damaged)?;
    let code = postcard::from_bytes(&bytes[end..]).map_err(|_| damaged())?;
    Ok((MODULE..end, code))
}

fn damaged() -> Error {
    refused("it is damaged or cut off: compile the module again")
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::Artifact, format_args!("cannot use a compiled module: {why}"))
}
