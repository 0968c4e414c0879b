//! Parsing and validating a whole module, once, at load.
//!
//! Input: bytes of a binary module. Output: [`ModuleInfo`]. Function bodies are validated, on all cores if there
//! are many, and otherwise left alone.
//! Source: WebAssembly 3.0, threads, and legacy exceptions.

use std::ops::Range;

use wasmparser::{
    BinaryReaderError, DataKind, ElementItems as RawItems, ElementKind, ExternalKind, FuncToValidate,
    FuncValidator, FuncValidatorAllocations, FunctionBody, Parser, Payload, TableInit, TypeRef, ValidPayload,
    Validator, ValidatorResources, WasmFeatures,
};

use super::calls::{Calls, FunctionCalls, tables_used};
use super::{
    BranchHints, ConstExpr, ConstantTables, DataSegment, ElementItems, ElementSegment, Entity, Global,
    Import, ModuleBytes, ModuleInfo, SegmentMode, Types, proposals,
};
use crate::limits::MAX_OPERANDS;
use crate::parallel::share_out;

/// The reason why this engine rejects a module.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message} (at offset {offset:#x})")]
pub struct ModuleError {
    /// Byte offset in the input.
    pub offset: usize,
    /// Description of the error, lower case, without a full stop.
    pub message: String,
}

impl ModuleError {
    fn new(offset: usize, message: impl Into<String>) -> ModuleError {
        ModuleError { offset, message: message.into() }
    }
}

impl From<BinaryReaderError> for ModuleError {
    fn from(e: BinaryReaderError) -> Self {
        ModuleError::new(e.offset() as usize, e.message())
    }
}

type Result<T> = std::result::Result<T, ModuleError>;

/// The proposals that this engine accepts.
pub fn features() -> WasmFeatures {
    WasmFeatures::WASM2
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::MEMORY64
        | WasmFeatures::EXCEPTIONS
        | WasmFeatures::LEGACY_EXCEPTIONS
        | WasmFeatures::THREADS
        | WasmFeatures::FUNCTION_REFERENCES
        | WasmFeatures::GC
}

/// Returns a parser that reads what these proposals have and nothing else: one of its own accord reads all that it knows,
/// also where the validator does not look.
pub fn parser(features: WasmFeatures) -> Parser {
    let mut parser = Parser::new(0);
    parser.set_features(features);
    parser
}

/// Parses and validates `bytes`.
///
/// # Errors
/// Returns the first malformed, invalid or unsupported construct (see [`features`]), with its offset.
pub fn parse(bytes: impl Into<ModuleBytes>) -> Result<ModuleInfo> {
    let bytes = bytes.into();
    accepted(&bytes).map_err(|error| proposals::explained(&bytes, error))
}

fn accepted(bytes: &ModuleBytes) -> Result<ModuleInfo> {
    let mut info = ModuleInfo::empty(bytes.clone());
    let mut validator = Validator::new_with_features(info.features);
    let mut bodies = Vec::new();
    for payload in parser(info.features).parse_all(bytes) {
        let payload = payload?;
        if let ValidPayload::Func(func, body) = validator.payload(&payload)? {
            info.resources.get_or_insert_with(|| func.resources.clone());
            bodies.push((func, body));
        }
        info.add(payload)?;
    }
    info.types.finish();
    let functions = validate_bodies(bodies)?;
    let (written, called) = tables_used(&functions);
    info.constant_tables = ConstantTables::new(&info, &written, &called);
    info.calls = Calls::new(info.imported_funcs, functions);
    info.branch_hints = BranchHints::read(&info);
    info.escaped_funcs = info.find_escaped();
    info.export_index = info.exports.iter().cloned().collect();
    Ok(info)
}

type Body<'a> = (FuncToValidate<ValidatorResources>, FunctionBody<'a>);

/// Minimum code size in bytes for which starting threads pays off.
const PARALLEL_FROM: usize = 1 << 16;

fn validate_bodies(mut bodies: Vec<Body<'_>>) -> Result<Vec<FunctionCalls>> {
    let size: usize = bodies.iter().map(|(_, body)| (body.range().end - body.range().start) as usize).sum();
    if size < PARALLEL_FROM {
        return validate_all(bodies);
    }
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    // Neighbouring functions go to different threads, so that a region of large functions is distributed.
    let mut shares: Vec<Vec<Body<'_>>> = (0..threads).map(|_| Vec::new()).collect();
    for (i, body) in bodies.drain(..).enumerate() {
        shares[i % threads].push(body);
    }
    let (mut calls, mut first) = (Vec::new(), None::<ModuleError>);
    for result in share_out(shares, validate_all) {
        match result {
            Ok(more) => calls.extend(more),
            Err(e) if first.as_ref().is_none_or(|first| e.offset < first.offset) => first = Some(e),
            Err(_) => {}
        }
    }
    calls.sort_unstable_by_key(|calls: &FunctionCalls| calls.func);
    first.map_or(Ok(calls), Err)
}

fn validate_all(bodies: Vec<Body<'_>>) -> Result<Vec<FunctionCalls>> {
    let mut allocations = FuncValidatorAllocations::default();
    let mut calls = Vec::with_capacity(bodies.len());
    for (func, body) in bodies {
        let mut validator = func.into_validator(allocations);
        calls.push(validate_body(&mut validator, &body)?);
        allocations = validator.into_allocations();
    }
    Ok(calls)
}

/// Validates a body as `FuncValidator::validate` does, with a limit on the operand stack, since a two-byte call may
/// push a thousand values. Returns the function's calls.
fn validate_body(
    validator: &mut FuncValidator<ValidatorResources>,
    body: &FunctionBody<'_>,
) -> Result<FunctionCalls> {
    let mut calls = FunctionCalls::new(validator.index());
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader)?;
    reader.set_features(features());
    let bytes = body.as_bytes();
    while !reader.eof() {
        let offset = reader.original_position();
        let code = bytes[(offset - body.range().start) as usize];
        let is_wanted = FunctionCalls::wants(code);
        let before = is_wanted.then(|| reader.clone());
        reader.visit_operator(&mut validator.visitor(offset))??;
        if let Some(before) = before {
            calls.see(before, validator.control_stack_height())?;
        }
        if validator.operand_stack_height() > MAX_OPERANDS {
            let message = format!("more than {MAX_OPERANDS} values on the operand stack");
            return Err(ModuleError::new(offset as usize, message));
        }
    }
    reader.finish_expression(&validator.visitor(reader.original_position()))?;
    Ok(calls.compact())
}

fn range(range: Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}

fn const_expr(expr: &wasmparser::ConstExpr<'_>) -> Result<ConstExpr> {
    let offset = expr.get_binary_reader().original_position() as usize;
    ConstExpr::read(expr)?.ok_or_else(|| ModuleError::new(offset, "constant expression not supported"))
}

fn entity(kind: ExternalKind, index: u32) -> Entity {
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => Entity::Func(index),
        ExternalKind::Table => Entity::Table(index),
        ExternalKind::Memory => Entity::Memory(index),
        ExternalKind::Global => Entity::Global(index),
        ExternalKind::Tag => Entity::Tag(index),
    }
}

impl ModuleInfo {
    fn empty(bytes: ModuleBytes) -> ModuleInfo {
        ModuleInfo {
            types: Types::default(),
            imports: Vec::new(),
            funcs: Vec::new(),
            imported_funcs: 0,
            bodies: Vec::new(),
            tables: Vec::new(),
            table_inits: Vec::new(),
            imported_tables: 0,
            memories: Vec::new(),
            imported_memories: 0,
            globals: Vec::new(),
            imported_globals: 0,
            tags: Vec::new(),
            imported_tags: 0,
            exports: Vec::new(),
            export_index: Default::default(),
            start: None,
            elements: Vec::new(),
            data: Vec::new(),
            escaped_funcs: Vec::new(),
            custom_sections: Vec::new(),
            branch_hints: BranchHints::default(),
            code_section: 0..0,
            constant_tables: ConstantTables::default(),
            allocators: Default::default(),
            calls: Calls::default(),
            resources: None,
            features: features(),
            bytes,
        }
    }

    fn add(&mut self, payload: Payload<'_>) -> Result<()> {
        match payload {
            Payload::TypeSection(reader) => {
                for group in reader {
                    self.types.add_group(group?.into_types());
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
                    self.tables.push(table.ty);
                    self.table_inits.push(match &table.init {
                        TableInit::RefNull => None,
                        TableInit::Expr(init) => Some(const_expr(init)?),
                    });
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
                    let global = global?;
                    let init = Some(const_expr(&global.init_expr)?);
                    self.globals.push(Global { ty: global.ty, init });
                }
            }
            Payload::ExportSection(reader) => {
                for export in reader {
                    let export = export?;
                    self.exports.push((export.name.to_string(), entity(export.kind, export.index)));
                }
            }
            Payload::StartSection { func, .. } => self.start = Some(func),
            Payload::ElementSection(reader) => {
                for element in reader {
                    self.elements.push(element_segment(element?)?);
                }
            }
            Payload::DataSection(reader) => {
                for data in reader {
                    self.data.push(data_segment(data?)?);
                }
            }
            Payload::CodeSectionStart { unchecked_range, .. } => self.code_section = range(unchecked_range),
            Payload::CodeSectionEntry(body) => self.bodies.push(range(body.range())),
            Payload::CustomSection(section) => {
                let end = section.range().end as usize;
                self.custom_sections.push((section.name().to_string(), end - section.data().len()..end));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_import(&mut self, import: &wasmparser::Import<'_>) {
        let entity = match import.ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                self.funcs.push(ty);
                self.imported_funcs += 1;
                Entity::Func(self.imported_funcs - 1)
            }
            TypeRef::Table(ty) => {
                self.tables.push(ty);
                self.imported_tables += 1;
                Entity::Table(self.imported_tables - 1)
            }
            TypeRef::Memory(ty) => {
                self.memories.push(ty);
                self.imported_memories += 1;
                Entity::Memory(self.imported_memories - 1)
            }
            TypeRef::Global(ty) => {
                self.globals.push(Global { ty, init: None });
                self.imported_globals += 1;
                Entity::Global(self.imported_globals - 1)
            }
            TypeRef::Tag(ty) => {
                self.tags.push(ty.func_type_idx);
                self.imported_tags += 1;
                Entity::Tag(self.imported_tags - 1)
            }
        };
        self.imports.push(Import { module: import.module.into(), name: import.name.into(), entity });
    }

    fn find_escaped(&self) -> Vec<u32> {
        let exported = self.exports.iter().filter_map(|(_, entity)| match entity {
            Entity::Func(f) => Some(*f),
            _ => None,
        });
        let in_segments = self.elements.iter().flat_map(|segment| match &segment.items {
            ElementItems::Funcs(funcs) => funcs.clone(),
            ElementItems::Exprs(exprs) => exprs.iter().flat_map(ConstExpr::funcs).collect(),
        });
        let in_globals = self.globals.iter().filter_map(|g| g.init.as_ref()).flat_map(ConstExpr::funcs);
        let in_tables = self.table_inits.iter().flatten().flat_map(ConstExpr::funcs);
        let mut all: Vec<u32> =
            exported.chain(in_segments).chain(in_globals).chain(in_tables).chain(self.start).collect();
        all.retain(|&f| !self.is_imported_func(f));
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn element_segment(element: wasmparser::Element<'_>) -> Result<ElementSegment> {
    let mode = match element.kind {
        ElementKind::Active { table_index, offset_expr } => {
            SegmentMode::Active { target: table_index.unwrap_or(0), offset: const_expr(&offset_expr)? }
        }
        ElementKind::Passive => SegmentMode::Passive,
        ElementKind::Declared => SegmentMode::Declared,
    };
    let items = match element.items {
        RawItems::Functions(funcs) => {
            ElementItems::Funcs(funcs.into_iter().collect::<std::result::Result<_, _>>()?)
        }
        RawItems::Expressions(_, exprs) => ElementItems::Exprs(
            exprs
                .into_iter()
                .map(|e| e.map_err(ModuleError::from).and_then(|e| const_expr(&e)))
                .collect::<Result<_>>()?,
        ),
    };
    Ok(ElementSegment { mode, items })
}

fn data_segment(data: wasmparser::Data<'_>) -> Result<DataSegment> {
    let mode = match data.kind {
        DataKind::Passive => SegmentMode::Passive,
        DataKind::Active { memory_index, offset_expr } => {
            SegmentMode::Active { target: memory_index, offset: const_expr(&offset_expr)? }
        }
    };
    let end = data.range.end as usize;
    Ok(DataSegment { mode, bytes: end - data.data.len()..end })
}
