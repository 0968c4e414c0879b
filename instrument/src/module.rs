//! A module as the rewriter sees it: sections as bytes, types, functions, and exports.
//!
//! Input: the bytes of a module that is valid under all proposals that the parser supports, whether or not the engine
//! can run it.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use sha2::{Digest, Sha256};
use wasmparser::{
    BinaryReader, BlockType, CompositeInnerType, DataKind, ElementItems, Encoding, ExternalKind, FuncType,
    FunctionBody, MemoryType, Operator, Parser, Payload, TypeRef, ValType, Validator, WasmFeatures,
};

use wprof_profiler::NameSection;

use crate::Error;

/// The section in which engines expect branch hints. The module's hash includes it, as it includes code.
pub(crate) const BRANCH_HINTS: &str = "metadata.code.branch_hint";

/// A section: its id and the range of its contents.
#[derive(Clone, Debug)]
pub struct Section {
    /// The section's id; 0 for custom sections.
    pub id: u8,
    /// The range of the contents, without id and size.
    pub contents: Range<usize>,
}

/// An import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The name of the module that is imported from.
    pub module: String,
    /// The name of the item in that module.
    pub name: String,
}

/// A module, read and validated.
#[derive(Debug)]
pub struct Source<'a> {
    /// All bytes of the module.
    pub bytes: &'a [u8],
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// By type index, the function type, if it is one.
    pub types: Vec<Option<FuncType>>,
    /// Type index of each function, imports first.
    pub funcs: Vec<u32>,
    /// Imported functions.
    pub imported_funcs: Vec<Import>,
    /// Bodies of the defined functions: locals and code.
    pub bodies: Vec<Range<usize>>,
    /// For each table, imports first, whether its indices have 64 bits.
    pub tables_are_64: Vec<bool>,
    /// Memories, imports first.
    pub memories: Vec<MemoryType>,
    /// Number of imported memories.
    pub imported_memories: u32,
    /// Number of globals.
    pub globals: u32,
    /// Type index of each tag.
    pub tags: Vec<u32>,
    /// The start function.
    pub start: Option<u32>,
    /// Functions with unknown callers: exported ones, and those that are used as values.
    pub escaped: BTreeSet<u32>,
    /// Functions that are used as values.
    pub values: BTreeSet<u32>,
    /// Whether a function contains a tail call.
    pub has_tail_calls: bool,
    exports: Vec<(String, ExternalKind, u32)>,
    custom: Vec<(String, Range<usize>)>,
    data: Vec<Range<usize>>,
}

/// Returns all features of the validator, except those that change what a call is or let threads share functions.
pub(crate) fn features() -> WasmFeatures {
    WasmFeatures::default() | WasmFeatures::LEGACY_EXCEPTIONS | WasmFeatures::CUSTOM_PAGE_SIZES
}

impl<'a> Source<'a> {
    /// Reads and validates a module.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a module, or the module is invalid.
    pub fn new(bytes: &'a [u8]) -> Result<Source<'a>, Error> {
        if !bytes.starts_with(b"\0asm") {
            return Err(Error::NotAModule);
        }
        let mut source = Source {
            bytes,
            sections: Vec::new(),
            types: Vec::new(),
            funcs: Vec::new(),
            imported_funcs: Vec::new(),
            bodies: Vec::new(),
            tables_are_64: Vec::new(),
            memories: Vec::new(),
            imported_memories: 0,
            globals: 0,
            tags: Vec::new(),
            start: None,
            escaped: BTreeSet::new(),
            values: BTreeSet::new(),
            has_tail_calls: false,
            exports: Vec::new(),
            custom: Vec::new(),
            data: Vec::new(),
        };
        if let Some(Ok(Payload::Version { encoding: Encoding::Component, .. })) =
            Parser::new(0).parse_all(bytes).next()
        {
            return Err(Error::Component);
        }
        Validator::new_with_features(features()).validate_all(bytes)?;
        for payload in Parser::new(0).parse_all(bytes) {
            source.add(payload?)?;
        }
        Ok(source)
    }

    fn add(&mut self, payload: Payload<'a>) -> Result<(), Error> {
        if let Some((id, range)) = payload.as_section() {
            self.sections.push(Section { id, contents: range.start as usize..range.end as usize });
        }
        match payload {
            Payload::TypeSection(reader) => {
                for group in reader {
                    self.types.extend(group?.into_types().map(|ty| match ty.composite_type.inner {
                        CompositeInnerType::Func(ty) => Some(ty),
                        _ => None,
                    }));
                }
            }
            Payload::ImportSection(reader) => {
                for import in reader.into_imports() {
                    self.add_import(&import?);
                }
            }
            Payload::FunctionSection(reader) => {
                for ty in reader {
                    self.funcs.push(ty?);
                }
            }
            Payload::TableSection(reader) => {
                for table in reader {
                    let table = table?;
                    self.tables_are_64.push(table.ty.table64);
                    if let wasmparser::TableInit::Expr(init) = table.init {
                        self.escape(init.get_operators_reader())?;
                    }
                }
            }
            Payload::MemorySection(reader) => {
                for memory in reader {
                    self.memories.push(memory?);
                }
            }
            Payload::TagSection(reader) => {
                for tag in reader {
                    self.tags.push(tag?.func_type_idx);
                }
            }
            Payload::GlobalSection(reader) => {
                for global in reader {
                    self.globals += 1;
                    self.escape(global?.init_expr.get_operators_reader())?;
                }
            }
            Payload::ExportSection(reader) => {
                for export in reader {
                    let export = export?;
                    if matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                        self.escaped.insert(export.index);
                    }
                    self.exports.push((export.name.to_owned(), export.kind, export.index));
                }
            }
            Payload::StartSection { func, .. } => {
                self.start = Some(func);
                self.escaped.insert(func);
            }
            Payload::ElementSection(reader) => {
                for element in reader {
                    match element?.items {
                        ElementItems::Functions(funcs) => {
                            for func in funcs {
                                self.is_value(func?);
                            }
                        }
                        ElementItems::Expressions(_, exprs) => {
                            for expr in exprs {
                                self.escape(expr?.get_operators_reader())?;
                            }
                        }
                    }
                }
            }
            Payload::DataSection(reader) => {
                for data in reader {
                    let data = data?;
                    if let DataKind::Active { offset_expr, .. } = &data.kind {
                        self.escape(offset_expr.get_operators_reader())?;
                    }
                    let end = data.range.end as usize;
                    self.data.push(end - data.data.len()..end);
                }
            }
            Payload::CodeSectionStart { unchecked_range, .. } => {
                let contents = unchecked_range.start as usize..unchecked_range.end as usize;
                if !self.sections.iter().any(|section| section.id == CODE) {
                    self.sections.push(Section { id: CODE, contents });
                }
            }
            Payload::CodeSectionEntry(body) => self.add_body(&body)?,
            Payload::CustomSection(section) => {
                let end = section.range().end as usize;
                self.custom.push((section.name().to_owned(), end - section.data().len()..end));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_import(&mut self, import: &wasmparser::Import<'_>) {
        match import.ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                self.funcs.push(ty);
                self.imported_funcs.push(Import { module: import.module.into(), name: import.name.into() });
            }
            TypeRef::Memory(ty) => {
                self.memories.push(ty);
                self.imported_memories += 1;
            }
            TypeRef::Global(_) => self.globals += 1,
            TypeRef::Tag(tag) => self.tags.push(tag.func_type_idx),
            TypeRef::Table(ty) => self.tables_are_64.push(ty.table64),
        }
    }

    fn add_body(&mut self, body: &FunctionBody<'a>) -> Result<(), Error> {
        self.bodies.push(body.range().start as usize..body.range().end as usize);
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            match reader.read()? {
                Operator::RefFunc { function_index } => self.is_value(function_index),
                Operator::ReturnCall { .. }
                | Operator::ReturnCallIndirect { .. }
                | Operator::ReturnCallRef { .. } => {
                    self.has_tail_calls = true;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_value(&mut self, func: u32) {
        self.escaped.insert(func);
        self.values.insert(func);
    }

    fn escape(&mut self, mut expr: wasmparser::OperatorsReader<'a>) -> Result<(), Error> {
        while !expr.eof() {
            if let Operator::RefFunc { function_index } = expr.read()? {
                self.is_value(function_index);
            }
        }
        Ok(())
    }

    /// Returns the index of the first function with a body.
    pub fn first_defined(&self) -> u32 {
        self.imported_funcs.len() as u32
    }

    /// Returns the type of a function.
    pub fn func_type(&self, func: u32) -> &FuncType {
        self.type_at(self.funcs[func as usize])
    }

    /// Returns the function type at a type index.
    pub fn type_at(&self, index: u32) -> &FuncType {
        self.types[index as usize].as_ref().expect("validated: a function type")
    }

    /// Returns the parameter and result types of a block.
    pub fn block_types(&self, ty: BlockType) -> (Vec<ValType>, Vec<ValType>) {
        match ty {
            BlockType::Empty => (Vec::new(), Vec::new()),
            BlockType::Type(ty) => (Vec::new(), vec![ty]),
            BlockType::FuncType(index) => {
                let ty = self.type_at(index);
                (ty.params().to_vec(), ty.results().to_vec())
            }
        }
    }

    /// Returns a reader of a function's body.
    pub fn body(&self, func: u32) -> FunctionBody<'a> {
        let range = self.bodies[(func - self.first_defined()) as usize].clone();
        let bytes = &self.bytes[range.clone()];
        FunctionBody::new(BinaryReader::new_features(bytes, range.start as u64, features()))
    }

    /// Returns the contents of a custom section.
    pub fn custom_section(&self, name: &str) -> Option<&'a [u8]> {
        let (_, range) = self.custom.iter().find(|(found, _)| found == name)?;
        Some(&self.bytes[range.clone()])
    }

    /// Returns the names of the exports.
    pub fn exported(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().map(|(name, ..)| name.as_str())
    }

    /// Returns the hash by which profiles identify the module: of all but data and custom sections other than branch
    /// hints, and of the position of its code, as the engine computes it.
    pub fn hash(&self) -> [u8; 32] {
        let code =
            self.sections.iter().find(|section| section.id == CODE).map_or(0, |code| code.contents.start);
        let begins = std::iter::once(HEAD).chain(self.sections.iter().map(|section| section.contents.end));
        let ends: Vec<usize> = self.without_hints().map(|bytes| bytes.end).collect();
        let is_custom = |end| ends.binary_search(&end).is_ok();
        let ranges = begins.zip(&self.sections).map(|(begin, section)| begin..section.contents.end);
        let sections = ranges.filter(|range| is_custom(range.end));
        self.hash_without(sections, Sha256::new_with_prefix((code as u64).to_le_bytes()))
    }

    /// Reports whether `hash` is the module's, or the one that older profiles have of it: there, names and lengths of
    /// custom sections count.
    pub fn has_hash(&self, hash: &[u8; 32]) -> bool {
        self.hash() == *hash || self.hash_without(self.without_hints(), Sha256::new()) == *hash
    }

    /// Returns the contents of the custom sections except branch hints, ascending.
    fn without_hints(&self) -> impl Iterator<Item = Range<usize>> {
        self.custom.iter().filter(|(name, _)| name != BRANCH_HINTS).map(|(_, bytes)| bytes.clone())
    }

    /// Returns the hash of all bytes but those of data segments and custom sections.
    fn hash_without(&self, custom: impl Iterator<Item = Range<usize>>, mut hasher: Sha256) -> [u8; 32] {
        let mut holes: Vec<Range<usize>> = self.data.iter().cloned().chain(custom).collect();
        holes.sort_unstable_by_key(|hole| hole.start);
        let mut at = 0;
        for hole in holes {
            hasher.update(&self.bytes[at..hole.start.max(at)]);
            at = hole.end.max(at);
        }
        hasher.update(&self.bytes[at..]);
        hasher.finalize().into()
    }

    /// Returns the names of functions: from the name section, or else from exports and imports.
    pub fn names(&self) -> HashMap<u32, String> {
        let section = NameSection::read(self.custom_section("name").unwrap_or_default());
        let named = section.functions.into_iter().map(|(func, name)| (func, name.to_owned()));
        let mut names: HashMap<u32, String> = named.collect();
        for (name, kind, index) in &self.exports {
            if *kind == ExternalKind::Func {
                names.entry(*index).or_insert_with(|| name.clone());
            }
        }
        for (import, index) in self.imported_funcs.iter().zip(0..) {
            names.entry(index).or_insert_with(|| import.name.clone());
        }
        names
    }
}

/// The id of the type section.
pub const TYPE: u8 = 1;
/// The id of the function section.
pub const FUNCTION: u8 = 3;
/// The id of the table section.
pub const TABLE: u8 = 4;
/// The id of the memory section.
pub const MEMORY: u8 = 5;
/// The id of the global section.
pub const GLOBAL: u8 = 6;
/// The id of the export section.
pub const EXPORT: u8 = 7;
/// The id of the start section.
pub const START: u8 = 8;
/// The id of the element section.
pub const ELEMENT: u8 = 9;
/// The id of the code section.
pub const CODE: u8 = 10;
/// Length in bytes of the magic number and version, which precede the sections.
const HEAD: usize = 8;
