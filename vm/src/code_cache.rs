//! The code cache: machine code kept on disk from one run to the next.
//!
//! Each module and configuration has one file. Its name is a hash of both, of the processor's features and of
//! this program's build id, so that whatever could change the code changes the name. Content: the SHA-256 of the
//! rest, then a [`CachedModule`] in postcard.
//!
//! Invariant: only exactly what was stored is used; a file is replaced atomically, never changed.
//!
//! Whoever can write to the folder can run code as the user, so it must belong to the user alone.

use std::fmt;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use wprof_jit::code::stand_ins::{self, Constants, Place};
use wprof_jit::compile::MachineCode;

use crate::runtime::code::registry::CodeObject;
use crate::runtime::instances::build_id;
use crate::runtime::interruption::rlimits;

/// Limit of the bytes that all files of a folder take together; the oldest are removed first.
const FOLDER_LIMIT: u64 = 1 << 30;
const HASH: usize = 32;

/// The cached data of a module. `C` is its code without the bytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct CachedModule<C = MachineCode> {
    /// The constants in its code; `None` if the code has stand-ins for them.
    pub constants: Option<CachedConstants>,
    /// The counters of its functions, including functions without code here.
    pub counters: Vec<FunctionCounters>,
    /// Its compiled functions.
    pub functions: Vec<CachedFunction<C>>,
    /// Trampolines for its types.
    pub trampolines: Vec<CachedTrampoline<C>>,
}

/// The values that code contains as constants.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedConstants {
    /// The address of its module's code slots.
    pub slots: u64,
    /// Engine-wide ids of the types.
    pub type_ids: Vec<u32>,
}

/// The counters of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCounters {
    /// Function index.
    pub func: u32,
    /// Index of the first counter.
    pub first: u32,
    /// Number of counters; the last one is the function's heat.
    pub count: u32,
}

impl FunctionCounters {
    /// Returns the index behind the last counter.
    pub fn end(&self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }
}

/// The cached code of a function, or of a part of a function.
#[derive(Debug, Serialize, Deserialize)]
pub struct CachedFunction<C> {
    /// The row of code slots that leads to it: the index of a function, or the row of a part.
    pub row: u32,
    /// The code that its callers reach.
    pub code: CachedCode<C>,
    /// The share that this version was expected to save, by a profile, and how much of the function profiles had
    /// seen.
    pub saved: f64,
    pub known: u64,
    /// Whether frames leave its loops soon.
    pub is_left_soon: bool,
    /// Whether the code is optimised.
    pub is_optimized: bool,
}

/// A cached trampoline.
#[derive(Debug, Serialize, Deserialize)]
pub struct CachedTrampoline<C> {
    /// Index of its type in the module.
    pub ty: u32,
    /// Whether it leads from the host to wasm, rather than from wasm to the host.
    pub is_entry: bool,
    /// Its code.
    pub code: CachedCode<C>,
}

/// Cached machine code.
#[derive(Debug, Serialize, Deserialize)]
pub struct CachedCode<C> {
    /// The bytes; by default serde would serialize them one by one.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    bytes: Vec<u8>,
    /// The places of the stand-ins in the bytes.
    places: Vec<Place>,
    rest: C,
}

/// Placed code, serialized as [`MachineCode`] without its bytes.
#[derive(Debug)]
pub struct Placed(Arc<CodeObject>);

impl Serialize for Placed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.code.serialize(to)
    }
}

impl CachedCode<Placed> {
    /// Creates the cached form of code that was placed, from its bytes and its object.
    pub fn new((bytes, object): (Vec<u8>, Arc<CodeObject>)) -> Self {
        CachedCode { bytes, places: Vec::new(), rest: Placed(object) }
    }

    /// Adds the places of the stand-ins, given the same code compiled with the other stand-ins; `None` if the two
    /// differ elsewhere.
    pub fn compared(mut self, other: &Self) -> Option<Self> {
        self.places = stand_ins::places(&self.bytes, &other.bytes)?;
        // Addresses in this process must not reach the file.
        for reloc in &self.rest.0.code.relocs {
            self.bytes.get_mut(reloc.offset as usize..)?.get_mut(..size_of::<u64>())?.fill(0);
        }
        let is_same = |a, b| postcard::to_stdvec(a).ok() == postcard::to_stdvec(b).ok();
        is_same(&self.rest, &other.rest).then_some(self)
    }
}

impl CachedCode<MachineCode> {
    /// Returns the code as it was compiled, with the constants of its module; `None` if they do not fit.
    pub fn into_code(mut self, constants: Constants<'_>) -> Option<MachineCode> {
        stand_ins::fill(&mut self.bytes, &self.places, constants)?;
        Some(MachineCode { bytes: self.bytes, ..self.rest })
    }
}

fn write_bytes<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

fn read_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
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

/// Returns the canonical path of the folder, which is created if it does not exist; `None` if it cannot be
/// created, or users other than this one may write to it.
pub fn private_folder(folder: &Path) -> Option<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
    let folder = folder.canonicalize().ok()?;
    let found = fs::metadata(&folder).ok()?;
    let is_private = found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0;
    is_private.then_some(folder)
}

/// Returns the SHA-256 hash of `bytes` in hexadecimal digits.
pub fn hash_name(bytes: &[u8]) -> String {
    name_of(&Sha256::digest(bytes))
}

fn name_of(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder with cache files.
#[derive(Debug)]
pub struct CodeCache {
    folder: PathBuf,
    /// Hash of everything besides the module that code depends on.
    compiler: [u8; HASH],
}

impl CodeCache {
    /// Opens the cache in `folder`, which is created if it does not exist; `None` if it cannot be created, or
    /// others may write to it. `compiler` describes what code depends on besides the module.
    pub fn open(folder: &Path, compiler: &str) -> Option<CodeCache> {
        let folder = private_folder(folder)?;
        let version = format!("{} {:?} {compiler}", env!("CARGO_PKG_VERSION"), build_id::of_program()?);
        Some(CodeCache { folder, compiler: Sha256::digest(version).into() })
    }

    /// Loads the cached data of the module with this hash, the one with this number among those of its component.
    pub fn load(&self, module: &[u8; HASH], number: u32) -> Option<CachedModule> {
        let bytes = fs::read(self.path(module, number)).ok()?;
        let (hash, content) = bytes.split_at_checked(HASH)?;
        (Sha256::digest(content).as_slice() == hash).then(|| postcard::from_bytes(content).ok())?
    }

    /// Stores `content` for the module with this hash and number.
    ///
    /// # Errors
    /// Returns an error if the system refuses; the previous content then stays.
    pub fn store(
        &self,
        module: &[u8; HASH],
        number: u32,
        content: &CachedModule<Placed>,
    ) -> std::io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut bytes = vec![0; HASH];
        bytes = postcard::to_extend(content, bytes).map_err(std::io::Error::other)?;
        let hash = Sha256::digest(&bytes[HASH..]);
        bytes[..HASH].copy_from_slice(&hash);
        rlimits::check_file_size(bytes.len() as u64)?;
        self.make_room(bytes.len() as u64);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("{}-{next}.tmp", std::process::id()));
        let stored =
            fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, self.path(module, number)));
        if stored.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&temporary);
        }
        stored
    }

    fn path(&self, module: &[u8; HASH], number: u32) -> PathBuf {
        let key = Sha256::new().chain_update(self.compiler).chain_update(module);
        let key = key.chain_update(number.to_le_bytes()).finalize();
        self.folder.join(name_of(&key))
    }

    /// Removes the oldest files until `bytes` more fit. Errors are ignored until the next time.
    fn make_room(&self, bytes: u64) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let file = |entry: fs::DirEntry| {
            let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((found.modified().ok()?, found.len(), entry.path()))
        };
        let mut files: Vec<_> = entries.flatten().filter_map(file).collect();
        files.sort_unstable();
        let mut total = files.iter().map(|file| file.1).fold(bytes, u64::saturating_add);
        for (_, len, path) in files {
            if total <= FOLDER_LIMIT {
                return;
            }
            total -= len;
            let _ = fs::remove_file(path);
        }
    }
}
