//! Functions that stand for functions of the host where these are values: in tables, in globals, in references.
//!
//! A caller that calls a value does not know which function it is. If contexts are counted, a function of the host
//! therefore is called through a *shim*, which counts the call in the host function's record. Exports stay as they are.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error as Reencoded, Reencode};
use wasm_encoder::{
    ElementMode, ElementSection, ElementSegment, Elements, Encode, Function, GlobalSection, TableSection,
    ValType,
};
use wasmparser::{BinaryReader, ElementSectionReader, GlobalSectionReader, TableSectionReader};

use crate::Error;
use crate::layout::{Global, Layout, Support};
use crate::module::{ELEMENT, GLOBAL, Source, TABLE, features};
use crate::support::{self, Code};

/// The shims of a module.
#[derive(Debug)]
pub struct Shims {
    first: u32,
    /// The functions that have one, ascending.
    imports: Vec<u32>,
}

impl Shims {
    /// Decides which functions get a shim: none if no contexts are counted.
    pub fn new(source: &Source<'_>, layout: &Layout) -> Shims {
        let imports = source.values.range(..source.first_defined()).copied();
        Shims {
            first: layout.first_shim(),
            imports: if layout.records.is_some() || layout.trace.is_some() {
                imports.collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.imports.is_empty()
    }

    /// Returns the functions that have a shim, ascending.
    pub fn imports(&self) -> &[u32] {
        &self.imports
    }

    /// Returns the index of the function that stands for a function where it is a value.
    pub fn shim(&self, func: u32) -> Option<u32> {
        Some(self.first + self.imports.binary_search(&func).ok()? as u32)
    }

    /// Returns the code of a shim.
    pub fn body(&self, import: u32, source: &Source<'_>, layout: &Layout) -> Function {
        let params = source.func_type(import).params().len() as u32;
        if layout.trace.is_some() {
            return support::shim(layout, import, params);
        }
        let slots = layout.records.map_or(0, |records| records.host_slots());
        let mut function = Function::new([(1, ValType::I32)]);
        let mut code = Code { layout, sink: function.instructions() };
        code.get(Global::Current);
        code.sink.local_set(params).i32_const(import as i32).i32_const(slots as i32).i32_const(1);
        code.call(Support::Enter);
        code.sink.i32_const(slots as i32).i32_add();
        code.set(Global::Current);
        for param in 0..params {
            code.sink.local_get(param);
        }
        code.sink.call(import).local_get(params);
        code.set(Global::Current);
        code.sink.end();
        function
    }

    /// Returns the contents of a section of tables, globals or elements with shims in place of their functions.
    ///
    /// # Errors
    /// Returns an error if the section has something that cannot be written again.
    pub fn section(&self, id: u8, contents: &[u8]) -> Result<Vec<u8>, Error> {
        let reader = BinaryReader::new_features(contents, 0, features());
        let (mut through, mut sized) = (Through(self), Vec::new());
        let written = match id {
            TABLE => {
                let mut tables = TableSection::new();
                let written = through.parse_table_section(&mut tables, TableSectionReader::new(reader)?);
                tables.encode(&mut sized);
                written
            }
            GLOBAL => {
                let mut globals = GlobalSection::new();
                let written = through.parse_global_section(&mut globals, GlobalSectionReader::new(reader)?);
                globals.encode(&mut sized);
                written
            }
            _ => {
                let mut elements = ElementSection::new();
                let written =
                    through.parse_element_section(&mut elements, ElementSectionReader::new(reader)?);
                self.declare(&mut elements);
                elements.encode(&mut sized);
                written
            }
        };
        written.map_err(|_: Reencoded<Infallible>| Error::Unsupported("a constant expression"))?;
        let length = sized.iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
        Ok(sized.split_off(length))
    }

    /// Returns the contents of a section of elements for a module without one.
    pub fn declared(&self) -> Result<Vec<u8>, Error> {
        self.section(ELEMENT, &[0])
    }

    /// Declares the shims, as references in code need.
    fn declare(&self, elements: &mut ElementSection) {
        let shims: Vec<u32> = (self.first..).take(self.imports.len()).collect();
        let elements_of = Elements::Functions((&shims).into());
        elements.segment(ElementSegment { mode: ElementMode::Declared, elements: elements_of });
    }
}

struct Through<'a>(&'a Shims);

impl Reencode for Through<'_> {
    type Error = Infallible;

    fn function_index(&mut self, func: u32) -> Result<u32, Reencoded<Infallible>> {
        Ok(self.0.shim(func).unwrap_or(func))
    }
}
