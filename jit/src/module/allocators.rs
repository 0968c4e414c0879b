//! Allocators: functions of a module that hand out its memory and take it back, by their names.
//!
//! Input: a name and a type. Output: which arguments are sizes, which one is taken back, and where the new block is.
//! A name means what it means in C and Rust: `calloc` has a count and a size, `__rust_realloc` an old and a new size.
//! What has the name and another type is no allocator.

use wasmparser::{FuncType, ValType};

/// What a function does that hands out memory or takes it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllocatorKind {
    /// `(size, …) -> block`
    Malloc,
    /// `(count, size) -> block`
    Calloc,
    /// `(block, size) -> block`
    Realloc,
    /// `(block, count, size) -> block`
    Reallocarray,
    /// `(block, old size, alignment, size) -> block`
    RustRealloc,
    /// `(alignment, size) -> block`
    AlignedAlloc,
    /// `(address for the block, alignment, size) -> 0 if that was possible`
    PosixMemalign,
    /// `(block, …)`
    Free,
}

/// Each kind with what it is called, and the names that functions of the kind have.
const KINDS: [(AllocatorKind, &str, &[&str]); 8] = [
    (
        AllocatorKind::Malloc,
        "malloc",
        &[
            "malloc",
            "dlmalloc",
            "__libc_malloc",
            "emscripten_builtin_malloc",
            "mi_malloc",
            "__rust_alloc",
            "__rust_alloc_zeroed",
            "__rdl_alloc",
            "__rdl_alloc_zeroed",
            "__rg_alloc",
            "__rg_alloc_zeroed",
            "runtime.alloc",
        ],
    ),
    (
        AllocatorKind::Calloc,
        "calloc",
        &["calloc", "dlcalloc", "__libc_calloc", "emscripten_builtin_calloc", "mi_calloc"],
    ),
    (AllocatorKind::Realloc, "realloc", &["realloc", "dlrealloc", "__libc_realloc", "mi_realloc"]),
    (AllocatorKind::Reallocarray, "reallocarray", &["reallocarray"]),
    (AllocatorKind::RustRealloc, "rust_realloc", &["__rust_realloc", "__rdl_realloc", "__rg_realloc"]),
    (
        AllocatorKind::AlignedAlloc,
        "aligned_alloc",
        &["aligned_alloc", "memalign", "dlmemalign", "__libc_memalign", "emscripten_builtin_memalign"],
    ),
    (AllocatorKind::PosixMemalign, "posix_memalign", &["posix_memalign", "dlposix_memalign"]),
    (
        AllocatorKind::Free,
        "free",
        &[
            "free",
            "dlfree",
            "__libc_free",
            "emscripten_builtin_free",
            "mi_free",
            "__rust_dealloc",
            "__rdl_dealloc",
            "__rg_dealloc",
        ],
    ),
];

impl AllocatorKind {
    /// The kind that is called so, such as `malloc`.
    pub fn called(name: &str) -> Option<AllocatorKind> {
        KINDS.iter().find(|(_, called, _)| *called == name).map(|(kind, ..)| *kind)
    }

    /// What all kinds are called.
    pub fn all() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(_, called, _)| *called)
    }

    /// The kind that a function of this name usually is of. Of Rust's mangled names the last part counts.
    pub fn usual(name: &str) -> Option<AllocatorKind> {
        let has = |names: &[&str]| names.iter().any(|known| is_called(name, known));
        KINDS.iter().find(|(.., names)| has(names)).map(|(kind, ..)| *kind)
    }
}

/// Whether a name is `known`, or ends with it as the last part of a path, demangled (`a::known`) or as Rust mangles it
/// (`…5known`, `…6__known` with a `_` between).
fn is_called(name: &str, known: &str) -> bool {
    let Some(before) = name.strip_suffix(known) else { return false };
    let digits = before.strip_suffix('_').unwrap_or(before);
    let is_mangled = name.starts_with("_R") && digits.ends_with(|last: char| last.is_ascii_digit());
    before.is_empty() || before.ends_with("::") || is_mangled
}

/// Where an allocator leaves the address of a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewBlock {
    /// There is none.
    None,
    /// It is the result; 0 if there was no room.
    Result,
    /// In memory 0, where this argument says, if the result is 0.
    Behind(u32),
}

/// The arguments of an allocator, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allocator {
    /// How many bytes are wanted.
    pub size: Option<u32>,
    /// How often as many.
    pub count: Option<u32>,
    /// The block that is taken back if all goes well; 0 is none.
    pub freed: Option<u32>,
    /// The new block.
    pub new: NewBlock,
}

impl Allocator {
    /// What a function of this kind and type does; `None` if its type is another.
    pub fn new(kind: AllocatorKind, ty: &FuncType) -> Option<Allocator> {
        let of = |size, count, freed, new| Allocator { size, count, freed, new };
        let found = match kind {
            AllocatorKind::Malloc => of(Some(0), None, None, NewBlock::Result),
            AllocatorKind::Calloc => of(Some(1), Some(0), None, NewBlock::Result),
            AllocatorKind::Realloc => of(Some(1), None, Some(0), NewBlock::Result),
            AllocatorKind::Reallocarray => of(Some(2), Some(1), Some(0), NewBlock::Result),
            AllocatorKind::RustRealloc => of(Some(3), None, Some(0), NewBlock::Result),
            AllocatorKind::AlignedAlloc => of(Some(1), None, None, NewBlock::Result),
            AllocatorKind::PosixMemalign => of(Some(2), None, None, NewBlock::Behind(0)),
            AllocatorKind::Free => of(None, None, Some(0), NewBlock::None),
        };
        found.fits(ty).then_some(found)
    }

    fn fits(&self, ty: &FuncType) -> bool {
        let is_integer = |ty: Option<&ValType>| matches!(ty, Some(ValType::I32 | ValType::I64));
        let behind = match self.new {
            NewBlock::Behind(argument) => Some(argument),
            NewBlock::None | NewBlock::Result => None,
        };
        let mut arguments = [self.size, self.count, self.freed, behind].into_iter().flatten();
        let has_arguments = arguments.all(|argument| is_integer(ty.params().get(argument as usize)));
        let has_result = match self.new {
            NewBlock::None => true,
            NewBlock::Result | NewBlock::Behind(_) => {
                ty.results().len() == 1 && is_integer(ty.results().first())
            }
        };
        has_arguments && has_result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_or_the_last_part_of_a_path() {
        let kind = AllocatorKind::usual;
        assert_eq!(kind("malloc"), Some(AllocatorKind::Malloc));
        assert_eq!(kind("dlcalloc"), Some(AllocatorKind::Calloc));
        assert_eq!(kind("_RNvCs1234_7___rustc12___rust_alloc"), Some(AllocatorKind::Malloc));
        assert_eq!(kind("__rustc::__rust_dealloc"), Some(AllocatorKind::Free));
        assert_eq!(kind("_RNvCs1234_7___rustc14___rust_realloc"), Some(AllocatorKind::RustRealloc));
        for name in ["my_malloc", "malloc_usable_size", "", "xfree", "page4free"] {
            assert_eq!(kind(name), None, "{name}");
        }
        assert!(AllocatorKind::all().all(|name| AllocatorKind::called(name).is_some()));
    }

    #[test]
    fn what_has_another_type_is_no_allocator() {
        let ty = |params: &[ValType], results: &[ValType]| FuncType::new(params.to_vec(), results.to_vec());
        let [int, long, float] = [ValType::I32, ValType::I64, ValType::F64];
        assert!(Allocator::new(AllocatorKind::Malloc, &ty(&[int], &[int])).is_some());
        assert!(Allocator::new(AllocatorKind::Malloc, &ty(&[long, int], &[long])).is_some());
        assert!(Allocator::new(AllocatorKind::Malloc, &ty(&[], &[int])).is_none());
        assert!(Allocator::new(AllocatorKind::Malloc, &ty(&[float], &[int])).is_none());
        assert!(Allocator::new(AllocatorKind::Calloc, &ty(&[int], &[int])).is_none());
        assert!(Allocator::new(AllocatorKind::Free, &ty(&[int], &[])).is_some());
        assert!(Allocator::new(AllocatorKind::Realloc, &ty(&[int, int], &[])).is_none());
    }
}
