//! Artifacts: a module or component compiled ahead of time, stored together with its code.
//!
//! Layout: [`MAGIC`]; a byte for what was compiled ([`Precompiled`]); the version of the format; three SHA-256 hashes of
//! what the code was compiled for ([`MadeFor`]); the SHA-256 hash of the rest; the length of the program, in eight
//! bytes; the program, in the binary format; the code of its modules, [`Codes`] in postcard, with stand-ins for values
//! that are known only when it is loaded (`wprof_jit::code::stand_ins`). What else a component consists of follows from
//! its binary and is planned anew.
//!
//! Invariant: the code is not decoded before all hashes are verified, so a truncated or damaged file is an error.
//! The hashes do not protect from a file made on purpose: its code runs with the rights of the process.

use std::ops::Range;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wprof_jit::code::stand_ins::StandIns;
use wprof_jit::compile::MachineCode;

use crate::code_cache::{CachedModule, Placed};
use crate::runtime::instances::build_id;
use crate::{Engine, Error, ErrorKind, Result};

/// The prefix of an artifact.
const MAGIC: [u8; 6] = *b"\0wprof";
/// The version of the format.
const VERSION: u8 = 2;
/// Length of the prefix, the kind and the version: as many bytes tell what was compiled.
pub const HEAD: usize = MAGIC.len() + 2;
const HASH: usize = 32;
const HASHES: usize = HEAD + 3 * HASH;
/// Offset at which the hashed part begins.
const HASHED: usize = HASHES + HASH;
const PROGRAM: usize = HASHED + size_of::<u64>();

/// What was compiled ahead of time: see [`Engine::detect_precompiled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precompiled {
    /// A module.
    Module,
    /// A component.
    Component,
}

impl Precompiled {
    fn byte(self) -> u8 {
        match self {
            Precompiled::Module => b'c',
            Precompiled::Component => b'k',
        }
    }
}

/// The code of several modules, with the hash of each.
#[derive(Debug, Serialize, Deserialize)]
pub struct Codes<C = MachineCode>(Vec<([u8; HASH], CachedModule<C>)>);

impl<C> Codes<C> {
    pub fn new(codes: Vec<([u8; HASH], CachedModule<C>)>) -> Codes<C> {
        Codes(codes)
    }

    /// Takes out the code of a module with a hash, if there is any. Modules with the same hash have each their own.
    pub fn take(&mut self, hash: &[u8; HASH]) -> Option<CachedModule<C>> {
        let index = self.0.iter().position(|(of, _)| of == hash)?;
        Some(self.0.remove(index).1)
    }

    /// Returns the code of the only module.
    ///
    /// # Errors
    /// Returns an error if there are several modules or none.
    pub fn only(mut self) -> Result<CachedModule<C>> {
        match (self.0.pop(), self.0.is_empty()) {
            (Some((_, code)), true) => Ok(code),
            _ => Err(damaged()),
        }
    }
}

/// The numbers of modules with the same hash in one component: each has code of its own, as code contains addresses.
#[derive(Debug, Default)]
pub struct Numbers(HashMap<[u8; HASH], u32>);

impl Numbers {
    /// Returns how many modules with this hash came before.
    pub fn next(&mut self, hash: &[u8; HASH]) -> u32 {
        let known = self.0.entry(*hash).or_default();
        *known += 1;
        *known - 1
    }
}

/// Where the modules of a component get their code from.
pub enum CodeSource {
    /// The engine's code cache, if it has one.
    Cache(Numbers),
    /// The artifact of the component.
    Artifact(Codes),
    /// Nowhere; the compiled code gets stand-ins for its constants.
    StandIns(StandIns),
}

/// Hashes of the environment that code is compiled for, which must be the same where it runs.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct MadeFor([[u8; HASH]; 3]);

/// The message for each part of [`MadeFor`] that differs.
const PARTS: [&str; 3] = [
    "it was made by another build of wprof: compile it with this one",
    "it was made for another processor: compile it on this one",
    "it was made with other settings of the engine: compile it with these, or use those",
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
        let hash = |bytes: &[u8]| Sha256::new().chain_update([VERSION]).chain_update(bytes).finalize().into();
        Ok(MadeFor([hash(&build), hash(compiler.machine().as_bytes()), hash(settings.as_bytes())]))
    }
}

/// Returns what was compiled to these bytes, by how they begin; `None` if they are no artifact.
pub fn kind(bytes: &[u8]) -> Option<Precompiled> {
    let kind = *bytes.strip_prefix(&MAGIC)?.first()?;
    [Precompiled::Module, Precompiled::Component].into_iter().find(|known| known.byte() == kind)
}

/// Encodes the artifact of a program.
///
/// # Errors
/// Returns an error if the code cannot be serialized.
pub fn write(
    made_for: &MadeFor,
    kind: Precompiled,
    program: &[u8],
    codes: &Codes<Placed>,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(PROGRAM + 2 * program.len());
    bytes.extend(MAGIC);
    bytes.extend([kind.byte(), VERSION]);
    made_for.0.iter().for_each(|hash| bytes.extend(hash));
    bytes.extend([0; HASH]);
    bytes.extend((program.len() as u64).to_le_bytes());
    bytes.extend(program);
    let mut bytes = postcard::to_extend(codes, bytes).map_err(|e| refused(e.to_string()))?;
    let hash = Sha256::digest(&bytes[HASHED..]);
    bytes[HASHES..HASHED].copy_from_slice(&hash);
    Ok(bytes)
}

/// Returns the range of the program in an artifact, and its code.
///
/// # Errors
/// Returns an error if the bytes are no artifact, or one of another kind, were compiled for something else, or are
/// damaged.
pub fn read(made_for: &MadeFor, wanted: Precompiled, bytes: &[u8]) -> Result<(Range<usize>, Codes)> {
    match (kind(bytes), wanted) {
        (None, _) => return Err(refused("it is no module or component that was compiled ahead")),
        (Some(Precompiled::Component), Precompiled::Module) => {
            return Err(refused("it is a component: load it with Component::deserialize"));
        }
        (Some(Precompiled::Module), Precompiled::Component) => {
            return Err(refused("it is a module: load it with Module::deserialize"));
        }
        (Some(_), _) => {}
    }
    let Some((head, _)) = bytes.split_at_checked(PROGRAM) else { return Err(damaged()) };
    if head[HEAD - 1] != VERSION {
        return Err(refused(PARTS[0]));
    }
    let found = head[HEAD..HASHES].chunks(HASH);
    if let Some((_, other)) =
        found.zip(&made_for.0).zip(PARTS).find(|((found, is), _)| *found != is.as_slice())
    {
        return Err(refused(other));
    }
    if Sha256::digest(&bytes[HASHED..]).as_slice() != &bytes[HASHES..HASHED] {
        return Err(damaged());
    }
    let len: [u8; 8] = head[HASHED..].try_into().map_err(|_| damaged())?;
    let end = usize::try_from(u64::from_le_bytes(len)).ok().and_then(|len| PROGRAM.checked_add(len));
    let end = end.filter(|&end| end <= bytes.len()).ok_or_else(damaged)?;
    let codes = postcard::from_bytes(&bytes[end..]).map_err(|_| damaged())?;
    Ok((PROGRAM..end, codes))
}

fn damaged() -> Error {
    refused("it is damaged or cut off: compile it again")
}

/// Returns the error of an artifact that cannot be used.
pub fn refused(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Artifact, format_args!("cannot use compiled code: {why}"))
}
