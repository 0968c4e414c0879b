//! Allocators: the functions of a module that allocate and free its memory, recognised by name.
//!
//! Input: a name and a type. Output: which arguments are sizes, which one is freed, and where the new block's address
//! is. A name has its meaning in C and Rust: `calloc` takes a count and a size, `__rust_realloc` an old and a new size.
//! A function with the name but another type is not an allocator.

use wasmparser::{FuncType, ValType};

/// The signature of a function that allocates or frees memory.
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
    /// `(address that receives the block's address, alignment, size) -> 0 on success`
    PosixMemalign,
    /// `(block, …)`
    Free,
}

/// Each kind with its name, and the names of functions of the kind.
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
    /// Returns the kind with this name, such as `malloc`.
    pub fn called(name: &str) -> Option<AllocatorKind> {
        KINDS.iter().find(|(_, called, _)| *called == name).map(|(kind, ..)| *kind)
    }

    /// Returns the names of all kinds.
    pub fn all() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(_, called, _)| *called)
    }

    /// Returns the usual kind of a function with this name. For Rust's mangled names the last path component decides.
    pub fn usual(name: &str) -> Option<AllocatorKind> {
        let has = |names: &[&str]| names.iter().any(|known| is_called(name, known));
        KINDS.iter().find(|(.., names)| has(names)).map(|(kind, ..)| *kind)
    }
}

/// Reports whether a name is `known` or ends with it as the last path component, demangled (`a::known`) or as Rust
/// mangles it (`…5known`, `…6__known` with a `_` between).
fn is_called(name: &str, known: &str) -> bool {
    let Some(before) = name.strip_suffix(known) else { return false };
    let digits = before.strip_suffix('_').unwrap_or(before);
    let is_mangled = name.starts_with("_R") && digits.ends_with(|last: char| last.is_ascii_digit());
    before.is_empty() || before.ends_with("::") || is_mangled
}

/// The place where an allocator leaves the address of a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewBlock {
    /// The function allocates no block.
    None,
    /// The result; 0 if the allocation failed.
    Result,
    /// Memory 0 at the address in this argument, if the result is 0.
    Behind(u32),
}

/// The roles of an allocator's arguments, by argument number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allocator {
    /// The requested bytes.
    pub size: Option<u32>,
    /// The factor of the requested bytes.
    pub count: Option<u32>,
    /// The block that a successful call frees; 0 for none.
    pub freed: Option<u32>,
    /// The new block.
    pub new: NewBlock,
}

impl Allocator {
    /// Returns the roles of a function of this kind and type; `None` if the type does not match the kind.
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
