//! Rewrites modules in binary form: inserts instructions anywhere, and adds globals after all others.
//!
//! Input: a valid module and the insertions. Output: a module in which everything else keeps its index, bytes and
//! order. Inserted code must preserve the operand stack.
//! Invariant: only the code, global and export sections change.

use std::collections::HashSet;
use std::ops::Range;

use wasmparser::{BinaryReader, FunctionBody, Operator, Parser, Payload, ValType};

/// The error of a module that was assumed to be valid.
pub type Result<T> = std::result::Result<T, wasmparser::BinaryReaderError>;

const GLOBAL: u8 = 6;
const EXPORT: u8 = 7;
const CODE: u8 = 10;

/// A function body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its byte range in the module, including the declarations of locals.
    pub range: Range<usize>,
    /// Offset of its first instruction.
    pub code: usize,
}

/// An instruction and its byte range in the module.
#[derive(Clone, Debug)]
pub struct Located<'a> {
    /// The instruction.
    pub op: Operator<'a>,
    /// Offset of its first byte.
    pub at: usize,
    /// Offset after its last byte.
    pub next: usize,
}

/// A change in preparation.
#[derive(Debug)]
pub struct Splice<'a> {
    wasm: &'a [u8],
    /// Section ids with the ranges of their contents, in module order.
    sections: Vec<(u8, Range<usize>)>,
    /// The bodies of defined functions, in module order.
    pub bodies: Vec<Body>,
    /// The number of imported functions.
    pub imported_funcs: u32,
    globals: u32,
    added: Vec<Added>,
    /// Byte offsets and the code to insert before them; sorted only when applied.
    inserts: Vec<(usize, Vec<u8>)>,
    /// Functions whose bodies are removed.
    stubs: HashSet<usize>,
}

#[derive(Debug)]
struct Added {
    name: Option<String>,
    /// Type byte and initial value.
    definition: Vec<u8>,
}

impl<'a> Splice<'a> {
    /// Prepares a change of `wasm`, at first empty.
    ///
    /// # Errors
    /// Returns an error if the module is malformed.
    pub fn new(wasm: &'a [u8]) -> Result<Splice<'a>> {
        let mut splice = Splice {
            wasm,
            sections: Vec::new(),
            bodies: Vec::new(),
            imported_funcs: 0,
            globals: 0,
            added: Vec::new(),
            inserts: Vec::new(),
            stubs: HashSet::new(),
        };
        for payload in Parser::new(0).parse_all(wasm) {
            splice.payload(&payload?)?;
        }
        Ok(splice)
    }

    fn payload(&mut self, payload: &Payload<'_>) -> Result<()> {
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports.clone().into_imports() {
                    match import?.ty {
                        wasmparser::TypeRef::Func(_) => self.imported_funcs += 1,
                        wasmparser::TypeRef::Global(_) => self.globals += 1,
                        _ => {}
                    }
                }
            }
            Payload::GlobalSection(globals) => self.globals += globals.count(),
            Payload::CodeSectionEntry(body) => {
                let code = body.get_operators_reader()?.original_position() as usize;
                let range = body.range();
                self.bodies.push(Body { range: range.start as usize..range.end as usize, code });
            }
            _ => {}
        }
        if let Some((id, range)) = payload.as_section() {
            self.sections.push((id, range.start as usize..range.end as usize));
        }
        Ok(())
    }

    /// Returns the instructions of a defined function; `defined` counts from the first function that is not imported.
    ///
    /// # Errors
    /// Returns an error if the module is malformed.
    pub fn instructions(&self, defined: usize) -> Result<Vec<Located<'a>>> {
        let range = self.bodies[defined].range.clone();
        let body = FunctionBody::new(BinaryReader::new(&self.wasm[range.clone()], range.start as u64));
        let mut reader = body.get_operators_reader()?;
        let mut all = Vec::new();
        while !reader.eof() {
            let (op, at) = reader.read_with_offset()?;
            all.push(Located { op, at: at as usize, next: reader.original_position() as usize });
        }
        Ok(all)
    }

    /// Adds a mutable i64 global, exported as `name`, and returns its index.
    pub fn i64_global(&mut self, name: String) -> u32 {
        self.global(Some(name), &[0x7e, 1, 0x42, 0, 0x0b])
    }

    /// Adds a mutable i32 global and returns its index.
    pub fn i32_global(&mut self, name: Option<String>, value: i32) -> u32 {
        let mut definition = vec![0x7f, 1, 0x41];
        signed(&mut definition, i64::from(value));
        definition.push(0x0b);
        self.global(name, &definition)
    }

    /// Adds a mutable global of a number type, initially 0, and returns its index.
    ///
    /// # Panics
    /// Panics if `ty` is a reference type.
    pub fn scratch_global(&mut self, ty: ValType) -> u32 {
        let mut definition = match ty {
            ValType::I32 => vec![0x7f, 1, 0x41, 0],
            ValType::I64 => vec![0x7e, 1, 0x42, 0],
            ValType::F32 => [&[0x7d, 1, 0x43][..], &[0; 4]].concat(),
            ValType::F64 => [&[0x7c, 1, 0x44][..], &[0; 8]].concat(),
            ValType::V128 => [&[0x7b, 1, 0xfd, 12][..], &[0; 16]].concat(),
            ValType::Ref(_) => panic!("a global of references needs more than a type"),
        };
        definition.push(0x0b);
        self.global(None, &definition)
    }

    fn global(&mut self, name: Option<String>, definition: &[u8]) -> u32 {
        self.added.push(Added { name, definition: definition.to_vec() });
        self.globals + self.added.len() as u32 - 1
    }

    /// Inserts code before the instruction at byte `offset`, after earlier insertions at that offset.
    pub fn insert(&mut self, offset: usize, code: Vec<u8>) {
        self.inserts.push((offset, code));
    }

    /// Replaces the body of a defined function by a trap.
    pub fn stub(&mut self, defined: usize) {
        self.stubs.insert(defined);
    }

    /// Returns the changed module.
    pub fn apply(mut self) -> Vec<u8> {
        self.inserts.sort_by_key(|&(offset, _)| offset);
        let mut out = self.wasm[..8].to_vec();
        let mut pending = vec![GLOBAL, EXPORT];
        for (id, range) in &self.sections {
            while let Some(&missing) = pending.first().filter(|&&p| rank(p) < rank(*id)) {
                self.entries(&mut out, missing, &[0]);
                pending.remove(0);
            }
            let content = &self.wasm[range.clone()];
            match *id {
                CODE => self.code(&mut out),
                GLOBAL | EXPORT => {
                    pending.retain(|p| p != id);
                    self.entries(&mut out, *id, content);
                }
                id => section(&mut out, id, content),
            }
        }
        pending.iter().for_each(|&id| self.entries(&mut out, id, &[0]));
        out
    }

    /// Writes a global or export section with the added entries; writes nothing if it would be empty.
    fn entries(&self, out: &mut Vec<u8>, id: u8, content: &[u8]) {
        let mut reader = BinaryReader::new(content, 0);
        let count = reader.read_var_u32().expect("parsed before");
        let rest = &content[reader.original_position() as usize..];
        let mut added = Vec::new();
        let mut more = 0;
        for (global, index) in self.added.iter().zip(self.globals..) {
            match (id, &global.name) {
                (GLOBAL, _) => added.extend_from_slice(&global.definition),
                (_, None) => continue,
                (_, Some(name)) => {
                    unsigned(&mut added, name.len() as u32);
                    added.extend_from_slice(name.as_bytes());
                    added.push(3);
                    unsigned(&mut added, index);
                }
            }
            more += 1;
        }
        if count + more > 0 {
            let mut content = Vec::new();
            unsigned(&mut content, count + more);
            content.extend_from_slice(rest);
            content.extend_from_slice(&added);
            section(out, id, &content);
        }
    }

    fn code(&self, out: &mut Vec<u8>) {
        let mut content = Vec::new();
        unsigned(&mut content, self.bodies.len() as u32);
        let mut inserts = self.inserts.iter().peekable();
        for (defined, body) in self.bodies.iter().enumerate() {
            let mut new = Vec::new();
            let mut copied = body.range.start;
            while let Some((offset, code)) = inserts.next_if(|(offset, _)| *offset < body.range.end) {
                new.extend_from_slice(&self.wasm[copied..*offset]);
                new.extend_from_slice(code);
                copied = *offset;
            }
            new.extend_from_slice(&self.wasm[copied..body.range.end]);
            if self.stubs.contains(&defined) {
                new = vec![0, 0, 0x0b]; // no locals; unreachable; end
            }
            unsigned(&mut content, new.len() as u32);
            content.extend_from_slice(&new);
        }
        section(out, CODE, &content);
    }
}

/// Returns the position of a section in a module; custom sections may be anywhere, and stay where they are.
fn rank(id: u8) -> u8 {
    match id {
        0 => 0,
        13 => 2 * 5 + 1,
        12 => 2 * 9 + 1,
        id => 2 * id,
    }
}

fn section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    unsigned(out, content.len() as u32);
    out.extend_from_slice(content);
}

/// Appends a number in unsigned LEB128.
pub fn unsigned(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number in signed LEB128.
pub fn signed(out: &mut Vec<u8>, mut value: i64) {
    while !(-64..64).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_are_missing_are_put_where_they_belong() {
        let wasm = wat::parse_str(r#"(module (memory 1) (data "x") (func (loop nop)))"#).expect("valid text");
        let mut splice = Splice::new(&wasm).expect("valid module");
        let global = splice.i64_global("count".into());
        let ops = splice.instructions(0).expect("valid module");
        splice.insert(ops[1].at, vec![0x23, global as u8, 0x24, global as u8]);
        let changed = splice.apply();
        wasmparser::validate(&changed).expect("valid");
        let text = wasmprinter::print_bytes(&changed).expect("valid");
        assert!(text.contains("(export \"count\" (global 0))"), "{text}");
        let place = text.find("loop").expect("is there");
        assert!(text[place..].contains("global.get 0\n      global.set 0\n      nop"), "{text}");
    }
}
