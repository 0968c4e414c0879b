//! Scripts of the component model, directive by directive.
//!
//! Input: a script with components, as in the folder `test` of the component model's repository. Output: a [`Tally`]
//! of its directives: passed, failed with the reason, or refused because of a feature that is not supported. What
//! depends on a component that is refused is refused as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wast::component::WastVal;
use wast::core::{WastArgCore, WastRetCore};
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};
use wast::token::Id;
use wast::{QuoteWat, Wast, WastArg, WastDirective, WastExecute, WastInvoke, WastRet};
use wprof::component::{Component, Instance, Linker, Val};
use wprof::{Engine, Store};

/// Parts of messages by which a component is refused because of a feature.
const UNSUPPORTED: [&str; 4] =
    ["not supported yet", " feature (at offset", "feature is not active", "is no longer supported after"];

type Outcome<T = ()> = Result<T, String>;

/// Returns the scripts below a folder, in order.
pub fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all.extend(scripts(&path)),
            false if path.extension().is_some_and(|extension| extension == "wast") => all.push(path),
            false => {}
        }
    }
    all.sort();
    all
}

/// The results of directives.
#[derive(Debug, Default)]
pub struct Tally {
    /// Number of directives that pass.
    pub passed: u32,
    /// The directives that fail: line and reason.
    pub failed: Vec<(usize, String)>,
    /// Number of directives that use a feature that is not supported, by feature.
    pub refused: BTreeMap<String, u32>,
}

impl Tally {
    fn note(&mut self, line: usize, outcome: Outcome) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) if is_refusal(&why) => *self.refused.entry(feature(&why)).or_default() += 1,
            Err(why) => self.failed.push((line, why)),
        }
    }

    /// Adds the results of another script.
    pub fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed.extend(other.failed.iter().cloned());
        other.refused.iter().for_each(|(why, count)| *self.refused.entry(why.clone()).or_default() += count);
    }
}

/// Reports whether a message says that a feature is not supported.
pub(crate) fn is_refusal(why: &str) -> bool {
    UNSUPPORTED.iter().any(|text| why.contains(text))
}

/// Returns what a message says of a feature, without the place.
fn feature(why: &str) -> String {
    let line = why.lines().next().unwrap_or_default();
    let line = line.split(" (at offset").next().unwrap_or_default();
    match line.rsplit_once("the component model ") {
        Some((_, name)) if name.ends_with(" feature") => format!("the {name}"),
        _ => line.rsplit(": ").next().unwrap_or_default().to_owned(),
    }
}

/// Runs a script.
pub fn run(path: &Path) -> Tally {
    let mut tally = Tally::default();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            tally.note(0, Err(error.to_string()));
            return tally;
        }
    };
    let mut lexer = Lexer::new(&text);
    lexer.allow_confusing_unicode(true);
    let buffer = match ParseBuffer::new_with_lexer(lexer) {
        Ok(buffer) => buffer,
        Err(error) => {
            tally.note(0, Err(error.to_string()));
            return tally;
        }
    };
    match parser::parse::<Wast>(&buffer) {
        Ok(script) => {
            let mut world = World::new();
            for directive in script.directives {
                let line = directive.span().linecol_in(&text).0 + 1;
                tally.note(line, world.execute(directive));
            }
        }
        Err(error) => tally.note(error.span().linecol_in(&text).0 + 1, Err(error.message())),
    }
    tally
}

/// The components and instances that a script has defined so far.
struct World {
    engine: Engine,
    store: Store<()>,
    /// What has a name, or the reason why it does not exist.
    definitions: BTreeMap<String, Outcome<Component>>,
    instances: BTreeMap<String, Outcome<Instance>>,
    last: Outcome<Instance>,
    newest: Outcome<Component>,
}

impl World {
    fn new() -> World {
        let engine = Engine::default();
        let store = Store::new(&engine, ());
        let (definitions, instances) = (BTreeMap::new(), BTreeMap::new());
        let none = || "nothing is defined yet".to_owned();
        World { engine, store, definitions, instances, last: Err(none()), newest: Err(none()) }
    }

    fn execute(&mut self, directive: WastDirective<'_>) -> Outcome {
        match directive {
            WastDirective::Module(mut wat) => {
                let (name, component) = (wat.name(), self.load(&mut wat));
                self.define(name, component)
            }
            WastDirective::ModuleDefinition(mut wat) => {
                let (name, component) = (wat.name(), self.load(&mut wat));
                if let Some(name) = name {
                    self.definitions.insert(name.name().to_owned(), component.clone());
                }
                self.newest = component.clone();
                component.map(drop)
            }
            WastDirective::ModuleInstance { instance, module, .. } => {
                let component = match module {
                    Some(module) => self.definitions.get(module.name()).cloned(),
                    None => Some(self.newest.clone()),
                };
                self.define(instance, component.ok_or("there is no such definition")?)
            }
            WastDirective::AssertMalformed { mut module, message, .. }
            | WastDirective::AssertInvalid { mut module, message, .. } => match self.load(&mut module) {
                // What is invalid, but refused for another reason, says nothing.
                Err(why) if is_refusal(&why) && !why.contains(message) => Err(why),
                Err(_) => Ok(()),
                Ok(_) => Err(format!("loads, and should fail: {message}")),
            },
            WastDirective::AssertUnlinkable { module, message, .. } => {
                let component = self.load(&mut QuoteWat::Wat(module))?;
                match self.instantiate(&component) {
                    Err(_) => Ok(()),
                    Ok(_) => Err(format!("is linked, and should fail: {message}")),
                }
            }
            WastDirective::Invoke(invoke) => self.invoke(&invoke).map(drop),
            WastDirective::AssertReturn { exec, results, .. } => {
                let got = self.perform(exec)?;
                match (&got, &results[..]) {
                    (None, []) => Ok(()),
                    (Some(got), [expected]) if is_it(got, expected) => Ok(()),
                    _ => Err(format!("gives {got:?}, and should give {results:?}")),
                }
            }
            WastDirective::AssertTrap { exec, message, .. } => match self.perform(exec) {
                Ok(got) => Err(format!("gives {got:?}, and should trap: {message}")),
                Err(why) if is_why(&why, message) => Ok(()),
                Err(why) => Err(format!("fails with `{why}`, and should with `{message}`")),
            },
            _ => Err("a directive that this program does not know".to_owned()),
        }
    }

    fn load(&self, wat: &mut QuoteWat<'_>) -> Outcome<Component> {
        let bytes = wat.encode().map_err(|error| error.message())?;
        Component::new(&self.engine, bytes).map_err(|error| error.to_string())
    }

    /// Defines the next instance.
    fn define(&mut self, name: Option<Id<'_>>, component: Outcome<Component>) -> Outcome {
        let instance = component.and_then(|component| self.instantiate(&component));
        if let Some(name) = name {
            self.instances.insert(name.name().to_owned(), instance.clone());
        }
        self.last = instance.clone();
        instance.map(drop)
    }

    fn instantiate(&mut self, component: &Component) -> Outcome<Instance> {
        Linker::new(&self.engine).instantiate(&mut self.store, component).map_err(|error| error.to_string())
    }

    fn perform(&mut self, exec: WastExecute<'_>) -> Outcome<Option<Val>> {
        match exec {
            WastExecute::Invoke(invoke) => self.invoke(&invoke),
            WastExecute::Wat(wat) => {
                let component = self.load(&mut QuoteWat::Wat(wat))?;
                self.instantiate(&component).map(|_| None)
            }
            WastExecute::Get { .. } => Err("components export no globals".to_owned()),
        }
    }

    fn invoke(&mut self, invoke: &WastInvoke<'_>) -> Outcome<Option<Val>> {
        let instance = match invoke.module {
            Some(name) => self.instances.get(name.name()).ok_or("there is no such instance")?,
            None => &self.last,
        };
        let instance = instance.as_ref().map_err(String::clone)?;
        let func = instance.get_func(invoke.name).ok_or_else(|| format!("no export `{}`", invoke.name))?;
        let args = invoke.args.iter().map(argument).collect::<Outcome<Vec<Val>>>()?;
        let mut results = vec![Val::Bool(false); usize::from(func.ty().result().is_some())];
        func.call(&mut self.store, &args, &mut results).map_err(|error| error.to_string())?;
        Ok(results.pop())
    }
}

/// Reports whether `message` matches the expected reason. Expected messages come from Wasmtime or the specification,
/// so their words are compared, not the whole text.
fn is_why(why: &str, message: &str) -> bool {
    let known: &[(&str, &str)] = &[
        ("unreachable", "unreachable"),
        ("cannot leave component instance", "cannot leave"),
        ("cannot enter component instance", "cannot enter"),
        ("unknown handle index", "unknown handle"),
        ("borrow", "borrow"),
        ("unaligned", "align"),
        ("out of bounds", "out of bounds"),
        ("content out-of-bounds", "out of bounds of memory"),
        ("beyond end of memory", "out of bounds of memory"),
        ("result not aligned", "not aligned"),
        ("`char` bit pattern", "is not a char"),
        ("discriminant", "discriminant"),
        ("wrong type", "type"),
    ];
    why.contains(message) || known.iter().any(|(theirs, ours)| message.contains(theirs) && why.contains(ours))
}

fn argument(arg: &WastArg<'_>) -> Outcome<Val> {
    match arg {
        WastArg::Component(value) => val(value),
        WastArg::Core(WastArgCore::I32(value)) => Ok(Val::S32(*value)),
        other => Err(format!("an argument of a kind that components do not take: {other:?}")),
    }
}

fn val(value: &WastVal<'_>) -> Outcome<Val> {
    let boxed =
        |held: &Option<Box<WastVal<'_>>>| held.as_ref().map(|held| val(held).map(Box::new)).transpose();
    let all = |values: &[WastVal<'_>]| values.iter().map(val).collect::<Outcome<Vec<Val>>>();
    Ok(match value {
        WastVal::Bool(value) => Val::Bool(*value),
        WastVal::U8(value) => Val::U8(*value),
        WastVal::S8(value) => Val::S8(*value),
        WastVal::U16(value) => Val::U16(*value),
        WastVal::S16(value) => Val::S16(*value),
        WastVal::U32(value) => Val::U32(*value),
        WastVal::S32(value) => Val::S32(*value),
        WastVal::U64(value) => Val::U64(*value),
        WastVal::S64(value) => Val::S64(*value),
        WastVal::F32(value) => Val::Float32(f32::from_bits(value.bits)),
        WastVal::F64(value) => Val::Float64(f64::from_bits(value.bits)),
        WastVal::Char(value) => Val::Char(*value),
        WastVal::String(text) => Val::String((*text).to_owned()),
        WastVal::List(values) => Val::List(all(values)?),
        WastVal::Tuple(values) => Val::Tuple(all(values)?),
        WastVal::Record(fields) => {
            let field = |(name, value): &(&str, WastVal<'_>)| Ok(((*name).to_owned(), val(value)?));
            Val::Record(fields.iter().map(field).collect::<Outcome<_>>()?)
        }
        WastVal::Variant(name, held) => Val::Variant((*name).to_owned(), boxed(held)?),
        WastVal::Enum(name) => Val::Enum((*name).to_owned()),
        WastVal::Option(held) => Val::Option(boxed(held)?),
        WastVal::Result(Ok(held)) => Val::Result(Ok(boxed(held)?)),
        WastVal::Result(Err(held)) => Val::Result(Err(boxed(held)?)),
        WastVal::Flags(names) => Val::Flags(names.iter().map(|name| (*name).to_owned()).collect()),
        WastVal::Map(_) => return Err("maps are not supported yet".to_owned()),
    })
}

/// Reports whether a value matches the expected one; all NaNs are equal.
fn is_it(got: &Val, expected: &WastRet<'_>) -> bool {
    match (got, expected) {
        (Val::Float32(got), WastRet::Component(WastVal::F32(value))) => {
            is_float(*got, f32::from_bits(value.bits))
        }
        (Val::Float64(got), WastRet::Component(WastVal::F64(value))) => {
            let value = f64::from_bits(value.bits);
            got.to_bits() == value.to_bits() || got.is_nan() && value.is_nan()
        }
        (got, WastRet::Component(value)) => val(value).is_ok_and(|value| value == *got),
        (Val::S32(got), WastRet::Core(WastRetCore::I32(value))) => got == value,
        _ => false,
    }
}

fn is_float(got: f32, value: f32) -> bool {
    got.to_bits() == value.to_bits() || got.is_nan() && value.is_nan()
}
