//! The hash of a module, by which profiles and cached code identify their module.
//!
//! The hash covers everything that code depends on: not the contents of data segments, and of the custom sections
//! only branch hints. So a module stripped of its names and debug information is the same module, and megabytes of
//! data need not even be read. The position of code in the file does count, because profiles and code contain
//! offsets: what is stripped must lie behind the code, as compilers place it. Older profiles have a hash in which
//! custom sections left their names and lengths ([`of_older_profiles`]).

use std::iter;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use hashbrown::HashSet;
use sha2::{Digest, Sha256};
use wasmparser::BinaryReader;
use wprof_jit::module::{BRANCH_HINTS, ModuleInfo};

/// Bytes that are hashed at a time, in about a millisecond, so that more urgent work can come between.
const PIECE: usize = 1 << 20;

/// The SHA-256 hash of some of a module's bytes, computed on demand or, before that, in pieces.
#[derive(Debug)]
pub struct ModuleHash {
    /// The ranges that are hashed, ascending.
    kept: Vec<Range<usize>>,
    whole: OnceLock<[u8; 32]>,
    begun: Mutex<Begun>,
}

/// The hash of the kept bytes before byte `at`.
#[derive(Debug, Default)]
struct Begun {
    hasher: Sha256,
    at: usize,
}

impl ModuleHash {
    /// Creates the hash of a module, not computed yet.
    pub fn new(info: &ModuleInfo) -> ModuleHash {
        let kept = kept(info.bytes.len(), without(info, &custom_sections(info)));
        let hasher = Sha256::new_with_prefix((info.code_section.start as u64).to_le_bytes());
        ModuleHash { kept, whole: OnceLock::new(), begun: Mutex::new(Begun { hasher, at: 0 }) }
    }

    /// Returns whether the hash is known, or quick to compute.
    pub fn is_quick(&self) -> bool {
        self.whole.get().is_some() || self.kept.iter().map(Range::len).sum::<usize>() < PIECE
    }

    /// Returns the hash of the module `bytes`; every call must pass the same bytes.
    pub fn get(&self, bytes: &[u8]) -> [u8; 32] {
        loop {
            if let Some(&hash) = self.whole.get() {
                return hash;
            }
            self.advance(bytes);
        }
    }

    /// Hashes the next piece of `bytes`.
    pub fn advance(&self, bytes: &[u8]) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = PIECE;
        let first = self.kept.partition_point(|kept| kept.end <= begun.at);
        for kept in &self.kept[first..] {
            let begin = kept.start.max(begun.at);
            let end = kept.end.min(begin + left);
            begun.hasher.update(&bytes[begin..end]);
            begun.at = end;
            left -= end - begin;
            if left == 0 {
                return;
            }
        }
        let hash = std::mem::take(&mut begun.hasher).finalize();
        self.whole.get_or_init(|| hash.into());
    }
}

/// Returns the hash that older profiles have of a module: names and lengths of custom sections count.
pub fn of_older_profiles(info: &ModuleInfo) -> [u8; 32] {
    let sections: Vec<Range<usize>> = without_hints(info).cloned().collect();
    let kept = kept(info.bytes.len(), without(info, &sections));
    let hasher = kept.into_iter().fold(Sha256::new(), |hasher, kept| hasher.chain_update(&info.bytes[kept]));
    hasher.finalize().into()
}

/// Returns the ranges that code does not depend on, ascending: the contents of data segments, whose lengths are hashed,
/// and `sections`.
fn without(info: &ModuleInfo, sections: &[Range<usize>]) -> Vec<Range<usize>> {
    let data = info.data.iter().map(|data| data.bytes.clone());
    let mut all: Vec<Range<usize>> = data.chain(sections.iter().cloned()).collect();
    all.sort_unstable_by_key(|bytes| bytes.start);
    all
}

/// Returns the contents of the custom sections that code does not depend on.
fn without_hints(info: &ModuleInfo) -> impl Iterator<Item = &Range<usize>> {
    info.custom_sections.iter().filter(|(name, _)| name != BRANCH_HINTS).map(|(_, bytes)| bytes)
}

/// Returns the whole custom sections that code does not depend on, with their heads.
fn custom_sections(info: &ModuleInfo) -> Vec<Range<usize>> {
    const HEAD: usize = 8;
    let ends: HashSet<usize> = without_hints(info).map(|bytes| bytes.end).collect();
    let mut reader = BinaryReader::new(&info.bytes[HEAD..], 0);
    let mut section = || -> wasmparser::Result<(bool, Range<usize>)> {
        let begin = reader.current_position();
        let is_custom = reader.read_u8()? == 0;
        let size = reader.read_var_u32()? as usize;
        reader.read_bytes(size)?;
        Ok((is_custom, HEAD + begin..HEAD + reader.current_position()))
    };
    let all = iter::from_fn(|| section().ok());
    let unimportant = all.filter(|(is_custom, bytes)| *is_custom && ends.contains(&bytes.end));
    unimportant.map(|(_, bytes)| bytes).collect()
}

/// Returns the ranges of bytes 0 to `len` that are outside of `without`.
fn kept(len: usize, without: impl IntoIterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut kept = Vec::new();
    let mut at = 0;
    for hole in without.into_iter().chain(iter::once(len..len)) {
        if at < hole.start {
            kept.push(at..hole.start);
        }
        at = hole.end;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(text: &str) -> ModuleInfo {
        wprof_jit::module::parse(wat::parse_str(text).expect("text")).expect("a module")
    }

    fn hash(info: &ModuleInfo) -> [u8; 32] {
        ModuleHash::new(info).get(&info.bytes)
    }

    #[test]
    fn what_is_not_wanted_is_left_out() {
        let without = [0..10, 10..20, 30..30, 40..50, 90..100];
        assert_eq!(kept(100, without), [20..30, 30..40, 50..90]);
        assert_eq!(kept(20, iter::once(5..10)), [0..5, 10..20]);
        assert_eq!((kept(7, iter::once(0..7)), kept(0, [])), (vec![], vec![]));
    }

    #[test]
    fn the_hash_is_of_what_code_depends_on() {
        let module = |custom: &str, code: &str, data: &str| {
            info(&format!(
                r#"(module (memory 1) (func (export "f") (result i32) {code}) (data (i32.const 8) "{data}")
                    (@custom ".debug_info" (after data) "{custom}"))"#
            ))
        };
        let of = |custom, code, data| hash(&module(custom, code, data));
        let one = of("abc", "(i32.const 1)", "xyz");
        assert_eq!(one, of("ABC", "(i32.const 1)", "XYZ"));
        for other in [of("abc", "(i32.const 2)", "xyz"), of("abc", "(i32.const 1)", "xyzw")] {
            assert_ne!(one, other);
        }
        let hints = |taken: &str| {
            let section =
                format!(r#"(@custom "metadata.code.branch_hint" (before code) "\01\00\01\04\01{taken}")"#);
            hash(&info(&format!("(module {section} (func (param i32) (if (local.get 0) (then))))")))
        };
        assert_ne!(hints("\\00"), hints("\\01"));
    }

    #[test]
    fn stripping_what_lies_behind_the_code_keeps_the_hash() {
        let body = "(func (export \"f\") (result i32) (i32.const 1))";
        let module = |before: &str, behind: &str| {
            let section = |place: &str, content: &str| match content {
                "" => String::new(),
                _ => format!("(@custom \"of {content}\" ({place} code) \"{content}\")"),
            };
            info(&format!("(module {body} {} {})", section("before", before), section("after", behind)))
        };
        let bare = module("", "");
        let long = "x".repeat(300);
        for behind in ["a", "abc", &long] {
            let whole = module("", behind);
            assert_eq!(hash(&whole), hash(&bare));
            assert_ne!(of_older_profiles(&whole), of_older_profiles(&bare));
        }
        // Profiles hold offsets, and these are others.
        assert_ne!(hash(&module("a", "")), hash(&bare));
        assert_eq!(hash(&module("a", "")), hash(&module("b", "c")));
    }

    #[test]
    fn pieces_have_the_hash_of_the_whole() {
        // Many small ranges, of which one piece covers several or one.
        let parts: Vec<Range<usize>> = (0..300).map(|i| i * 10_000..i * 10_000 + 9_000 + i).collect();
        let bytes: Vec<u8> = (0..3_000_000).map(|i: usize| (i % 251) as u8).collect();
        let one = |range: Range<usize>| vec![range];
        let ones = [7..PIECE, 7..PIECE + 7, 7..PIECE + 8, 0..2_999_999].map(one);
        for kept in ones.into_iter().chain([vec![], parts]) {
            let kept_bytes: Vec<u8> = kept.iter().flat_map(|kept| &bytes[kept.clone()]).copied().collect();
            let expected: [u8; 32] = Sha256::digest(&kept_bytes).into();
            let hash = || ModuleHash { kept: kept.clone(), whole: OnceLock::new(), begun: Mutex::default() };
            let (first, second) = (hash(), hash());
            assert_eq!(first.is_quick(), kept_bytes.len() < PIECE);
            first.advance(&bytes);
            assert_eq!((first.get(&bytes), second.get(&bytes)), (expected, expected));
            assert!(first.is_quick());
        }
    }
}
