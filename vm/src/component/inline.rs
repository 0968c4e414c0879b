//! Symbolic instantiation of nested components, which results in a flat [`Plan`].
//!
//! Input: the bodies of all components of a file. Output: the steps of the outermost component. Each component
//! instance has its own index spaces here, and maps the validator's resources to those of the plan.

mod interface;
mod work;

use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use wasmparser::ExternalKind;
use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentEntityType, ComponentFuncTypeId, ComponentInstanceTypeId, ResourceId,
};
use wasmparser::types::Types;

use super::module_type::module_type;
use super::names::shown;
use super::parse::{self, Body, Definition, Parsed};
use super::plan::{
    CoreItem, Encoding, Export, Import, Imported, Lifted, ModuleSource, Options, Plan, Resource, Step,
    Target, Trampoline,
};
use super::resolve::{Known, Resolver, Resources, resource};
use super::resource::ResourceType;
use super::types::{self, ComponentItem, FuncType};
use super::unsupported;
use crate::{Error, ErrorKind, Module, Result};
use work::{work, work_of};

/// Limit of the total work, in definitions and names that are visited, because nested instantiation can double
/// the work again and again.
const MAX_WORK: usize = 2_000_000;
/// Maximum depth of components instantiated within each other.
const MAX_DEPTH: usize = 100;

/// Turns a parsed component into a plan over its core modules.
///
/// # Errors
/// Returns an error if the component uses an unsupported feature, or exceeds a limit.
pub fn inline(parsed: &Parsed<'_>, modules: Vec<Module>) -> Result<Plan> {
    let plan = Plan { modules, ..Plan::default() };
    let mut inliner = Inliner {
        types: &parsed.types,
        plan,
        left: MAX_WORK,
        bridged: HashMap::new(),
        imported: Vec::new(),
        exported_types: Vec::new(),
    };
    let exports = inliner.instantiate(&parsed.body, Frame::default(), None, (None, 0))?;
    inliner.plan.exports = inliner.exported(&exports)?;
    inliner.plan.ty = types::Component::new(inliner.imported, inliner.exported_types);
    Ok(inliner.plan)
}

/// Exports by name, in order.
#[derive(Default)]
struct Exports<'a> {
    list: Vec<(String, Item<'a>)>,
    by_name: HashMap<String, usize>,
}

impl<'a> Exports<'a> {
    fn add(&mut self, name: &str, item: Item<'a>) {
        self.by_name.insert(name.to_owned(), self.list.len());
        self.list.push((name.to_owned(), item));
    }

    fn find(&self, name: &str) -> Result<&Item<'a>> {
        let index = self.by_name.get(name).ok_or_else(|| missing(name))?;
        Ok(&self.list[*index].1)
    }
}

/// An item that can be imported, exported and aliased.
#[derive(Clone)]
enum Item<'a> {
    Module(ModuleSource),
    Func(Target, Arc<FuncType>),
    Instance(Rc<Exports<'a>>),
    Component(Rc<Closure<'a>>),
    /// A type; for a resource, its number in the plan.
    Type(Option<u32>),
}

/// A component together with what it sees of the components around it.
struct Closure<'a> {
    body: Rc<Body<'a>>,
    around: Rc<Outer<'a>>,
}

/// The index spaces of a component that its nested components see.
struct Outer<'a> {
    modules: Vec<ModuleSource>,
    components: Vec<Rc<Closure<'a>>>,
    resources: Resources,
    around: Option<Rc<Outer<'a>>>,
}

/// A core instance: an instance of a module, or a bundle of items.
enum CoreInstance {
    OfModule(u32),
    Bundle(HashMap<String, CoreItem>),
}

/// The index spaces of a component instance.
#[derive(Default)]
struct Frame<'a> {
    instance: u32,
    modules: Vec<ModuleSource>,
    components: Vec<Rc<Closure<'a>>>,
    instances: Vec<Rc<Exports<'a>>>,
    funcs: Vec<(Target, Arc<FuncType>)>,
    core_instances: Vec<CoreInstance>,
    core_funcs: Vec<CoreItem>,
    core_memories: Vec<CoreItem>,
    core_tables: Vec<CoreItem>,
    core_globals: Vec<CoreItem>,
    core_tags: Vec<CoreItem>,
    resources: Resources,
    known: Known,
    around: Option<Rc<Outer<'a>>>,
    exports: Exports<'a>,
}

struct Inliner<'t> {
    types: &'t Types,
    plan: Plan,
    left: usize,
    /// The lifted function for each import that is exported.
    bridged: HashMap<Target, u32>,
    /// What the outermost component imports and exports.
    imported: Vec<(String, ComponentItem)>,
    exported_types: Vec<(String, ComponentItem)>,
}

impl<'a> Inliner<'_> {
    /// Executes a body. Without `args` it is the outermost component, whose imports come from the host.
    fn instantiate(
        &mut self,
        body: &Body<'a>,
        mut frame: Frame<'a>,
        args: Option<&HashMap<&str, Item<'a>>>,
        (around, depth): (Option<u32>, usize),
    ) -> Result<Exports<'a>> {
        if depth > MAX_DEPTH {
            let message = format!("components are instantiated within each other more than {MAX_DEPTH} deep");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        frame.instance = self.plan.instances.len() as u32;
        self.plan.instances.push(around);
        for definition in &body.0 {
            self.charge(work(definition))?;
            self.define(definition, &mut frame, args, depth)?;
        }
        Ok(frame.exports)
    }

    /// Counts work against the limit.
    fn charge(&mut self, work: usize) -> Result<()> {
        self.left = self.left.checked_sub(work).ok_or_else(|| {
            let message = "the component takes too much to instantiate: its nested components multiply";
            Error::new(ErrorKind::Limit, message)
        })?;
        Ok(())
    }

    fn define(
        &mut self,
        definition: &Definition<'a>,
        frame: &mut Frame<'a>,
        args: Option<&HashMap<&str, Item<'a>>>,
        depth: usize,
    ) -> Result<()> {
        match definition {
            Definition::Module(index) => frame.modules.push(ModuleSource::Own(*index)),
            Definition::Component(body) => {
                self.charge(frame.resources.len() + frame.modules.len() + frame.components.len())?;
                let closure = Closure { body: body.clone(), around: Rc::new(frame.outer()) };
                frame.components.push(Rc::new(closure));
            }
            Definition::Resource(id, dtor) => self.define_resource(frame, *id, *dtor),
            Definition::Import(name, ty) => {
                let item = match args {
                    Some(args) => args.get(name).cloned().ok_or_else(|| missing(name))?,
                    None => self.import(frame, &mut vec![(*name).to_owned()], ty)?,
                };
                self.bind(frame, ty, &item)?;
                self.name(name, &item);
                if args.is_none()
                    && let Some(ty) = self.item_type(frame, ty)?
                {
                    self.imported.push(((*name).to_owned(), ty));
                }
                frame.push(item);
            }
            Definition::Export(name, item, ty) => {
                let item = frame.item(item)?;
                self.bind(frame, ty, &item)?;
                self.name(name, &item);
                if args.is_none()
                    && let Some(ty) = self.item_type(frame, ty)?
                {
                    self.exported_types.push(((*name).to_owned(), ty));
                }
                frame.exports.add(name, item.clone());
                frame.push(item);
            }
            Definition::CoreInstantiate(module, args) => self.instantiate_core(frame, *module, args)?,
            Definition::CoreInstance(exports) => {
                let export = |(name, item): &(&str, _)| Ok(((*name).to_owned(), frame.core_item(*item)?));
                let bundle = exports.iter().map(export).collect::<Result<_>>()?;
                frame.core_instances.push(CoreInstance::Bundle(bundle));
            }
            Definition::CoreAlias(instance, name, kind) => {
                let item = frame.core_export(*instance, name)?;
                frame.push_core(*kind, item);
            }
            Definition::Instantiate(component, given, ty) => {
                let closure = frame.components[*component as usize].clone();
                let arg = |(name, item): &(&'a str, _)| Ok((*name, frame.item(item)?));
                let given = given.iter().map(arg).collect::<Result<HashMap<_, _>>>()?;
                let around = closure.around.clone();
                self.charge(around.resources.len())?;
                let resources = around.resources.clone();
                let inner = Frame { resources, around: Some(around), ..Frame::default() };
                let exports =
                    self.instantiate(&closure.body, inner, Some(&given), (Some(frame.instance), depth + 1))?;
                self.add_instance(frame, exports, *ty)?;
            }
            Definition::Instance(exports, ty) => {
                let mut all = Exports::default();
                for (name, item) in exports {
                    all.add(name, frame.item(item)?);
                }
                self.add_instance(frame, all, *ty)?;
            }
            Definition::Alias(instance, name, ty) => {
                let item = frame.instances[*instance as usize].find(name)?.clone();
                if let Some(ty) = ty {
                    self.bind(frame, &ComponentEntityType::Instance(*ty), &item)?;
                }
                frame.push(item);
            }
            Definition::OuterModule(count, index) => {
                let module = match count.checked_sub(1) {
                    None => frame.modules[*index as usize],
                    Some(count) => frame.around(count)?.modules[*index as usize],
                };
                frame.modules.push(module);
            }
            Definition::OuterComponent(count, index) => {
                let component = match count.checked_sub(1) {
                    None => frame.components[*index as usize].clone(),
                    Some(count) => frame.around(count)?.components[*index as usize].clone(),
                };
                frame.components.push(component);
            }
            Definition::Lift(func, ty, options) => {
                let ty = self.func_type(frame, *ty)?;
                let func = frame.core_funcs[*func as usize].clone();
                let options = frame.options(*options);
                let target = Target::Lifted(self.plan.lifted.len() as u32);
                self.plan.lifted.push(Lifted { name: None, func, ty: ty.clone(), options });
                frame.funcs.push((target, ty));
            }
            Definition::Lower(func, ty, options) => {
                let ty = self.func_type(frame, *ty)?;
                let func = frame.funcs[*func as usize].0;
                let options = frame.options(*options);
                self.add_trampoline(frame, Trampoline::Lower { func, ty, options });
            }
            Definition::ResourceNew(id) => {
                let (resource, instance) = (resource(&frame.resources, *id)?, frame.instance);
                self.add_trampoline(frame, Trampoline::ResourceNew { resource, instance });
            }
            Definition::ResourceDrop(id) => {
                let (resource, instance) = (resource(&frame.resources, *id)?, frame.instance);
                self.add_trampoline(frame, Trampoline::ResourceDrop { resource, instance });
            }
            Definition::ResourceRep(id) => {
                let (resource, instance) = (resource(&frame.resources, *id)?, frame.instance);
                self.add_trampoline(frame, Trampoline::ResourceRep { resource, instance });
            }
        }
        Ok(())
    }

    fn define_resource(&mut self, frame: &mut Frame<'a>, id: ResourceId, dtor: Option<u32>) {
        let index = self.plan.resources.len() as u32;
        let destructor = dtor.map(|dtor| frame.core_funcs[dtor as usize].clone());
        if destructor.is_some() {
            self.plan.steps.push(Step::Destructor(index));
        }
        self.plan.resources.push(Resource {
            owner: Some(frame.instance),
            destructor,
            ty: resource_type(index),
        });
        frame.resources.insert(id, index);
    }

    /// Adds what the host must provide for an import of the outermost component.
    fn import(
        &mut self,
        frame: &mut Frame<'a>,
        path: &mut Vec<String>,
        ty: &ComponentEntityType,
    ) -> Result<Item<'a>> {
        self.charge(work_of(path.iter().map(|name| &**name)))?;
        match ty {
            ComponentEntityType::Func(ty) => {
                let ty = self.func_type(frame, *ty)?;
                let target = Target::Imported(self.plan.imports.len() as u32);
                self.plan.imports.push(Import { path: path.clone(), item: Imported::Func(ty.clone()) });
                Ok(Item::Func(target, ty))
            }
            ComponentEntityType::Type { created: ComponentAnyTypeId::Resource(id), .. } => {
                // A resource that equals an earlier one is the same resource.
                if let Some(&known) = frame.resources.get(&id.resource()) {
                    return Ok(Item::Type(Some(known)));
                }
                let index = self.plan.resources.len() as u32;
                let ty = resource_type(index);
                self.plan.resources.push(Resource { owner: None, destructor: None, ty });
                self.plan.imports.push(Import { path: path.clone(), item: Imported::Resource(index) });
                frame.resources.insert(id.resource(), index);
                Ok(Item::Type(Some(index)))
            }
            ComponentEntityType::Type { .. } => Ok(Item::Type(None)),
            ComponentEntityType::Instance(id) => {
                let mut items = Exports::default();
                let types = self.types;
                self.charge(types[*id].exports.len())?;
                for (name, item) in &types[*id].exports {
                    path.push(name.clone());
                    let inner = self.import(frame, path, &item.ty)?;
                    path.pop();
                    items.add(name, inner);
                }
                Ok(Item::Instance(Rc::new(items)))
            }
            ComponentEntityType::Module(id) => {
                let ty = module_type(self.types, *id)?;
                self.charge(ty.imports.len() + ty.exports.len())?;
                let index = self.plan.imports.len() as u32;
                self.plan.imports.push(Import { path: path.clone(), item: Imported::Module(ty) });
                Ok(Item::Module(ModuleSource::Imported(index)))
            }
            ComponentEntityType::Component(_) => Err(unsupported("a component as an import")),
            ComponentEntityType::Value(_) => Err(unsupported("a value as an import")),
        }
    }

    /// Records the resources that the types of an item refer to.
    fn bind(&mut self, frame: &mut Frame<'a>, ty: &ComponentEntityType, item: &Item<'a>) -> Result<()> {
        match (ty, item) {
            (
                ComponentEntityType::Type { created: ComponentAnyTypeId::Resource(id), .. },
                Item::Type(Some(resource)),
            ) => {
                frame.resources.insert(id.resource(), *resource);
            }
            (ComponentEntityType::Instance(id), Item::Instance(items)) => {
                let types = self.types;
                self.charge(items.list.len())?;
                for (name, inner) in &types[*id].exports {
                    let item = items.find(name)?;
                    self.bind(frame, &inner.ty, item)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Names the lifted functions that an item has. Names in instances are better than those of functions alone, which
    /// may come from a component that only wraps functions.
    fn name(&mut self, name: &str, item: &Item<'a>) {
        let (name, lifted) = (shown(name), &mut self.plan.lifted);
        match item {
            Item::Func(Target::Lifted(index), _) => {
                lifted[*index as usize].name.get_or_insert_with(|| name.to_owned());
            }
            Item::Instance(items) => {
                for (inner, item) in &items.list {
                    let Item::Func(Target::Lifted(index), _) = item else { continue };
                    let known = &mut lifted[*index as usize].name;
                    if known.as_ref().is_none_or(|known| !known.contains('#')) {
                        *known = Some(format!("{name}#{}", shown(inner)));
                    }
                }
            }
            _ => {}
        }
    }

    fn add_instance(
        &mut self,
        frame: &mut Frame<'a>,
        exports: Exports<'a>,
        ty: ComponentInstanceTypeId,
    ) -> Result<()> {
        let item = Item::Instance(Rc::new(exports));
        self.bind(frame, &ComponentEntityType::Instance(ty), &item)?;
        frame.push(item);
        Ok(())
    }

    fn instantiate_core(&mut self, frame: &mut Frame<'a>, module: u32, args: &[(&str, u32)]) -> Result<()> {
        self.charge(self.imports_of(frame.modules[module as usize]))?;
        let args: HashMap<&str, u32> = args.iter().copied().collect();
        let find = |module: &str, name: &str| {
            let instance = args.get(module).ok_or_else(|| missing(module))?;
            frame.core_export(*instance, name)
        };
        let source = frame.modules[module as usize];
        let step = match source {
            ModuleSource::Own(module) => {
                let imports = self.plan.modules[module as usize].imports();
                let imports = imports.map(|import| find(import.module(), import.name()));
                Step::Instantiate { module, imports: imports.collect::<Result<_>>()? }
            }
            ModuleSource::Imported(import) => {
                let Imported::Module(ty) = &self.plan.imports[import as usize].item else {
                    return Err(missing("a core module"));
                };
                let items = ty.imports.iter().map(|(module, name, _)| find(module, name));
                Step::InstantiateImported { import, items: items.collect::<Result<_>>()? }
            }
        };
        self.plan.steps.push(step);
        frame.core_instances.push(CoreInstance::OfModule(self.plan.core_instances.len() as u32));
        self.plan.core_instances.push(source);
        Ok(())
    }

    fn add_trampoline(&mut self, frame: &mut Frame<'a>, trampoline: Trampoline) {
        let item = self.trampoline(trampoline);
        frame.core_funcs.push(item);
    }

    fn trampoline(&mut self, trampoline: Trampoline) -> CoreItem {
        let index = self.plan.trampolines.len() as u32;
        self.plan.trampolines.push(trampoline);
        self.plan.steps.push(Step::Trampoline(index));
        CoreItem::Trampoline(index)
    }

    /// Returns the exports of the outermost component that the host can use.
    fn exported(&mut self, items: &Exports<'_>) -> Result<Vec<(String, Export)>> {
        let mut all = Vec::new();
        for (name, item) in &items.list {
            self.charge(1)?;
            let export = match item {
                Item::Func(Target::Lifted(index), ty) => Export::Func(*index, ty.clone()),
                Item::Func(target, ty) => Export::Func(self.bridge(*target, ty), ty.clone()),
                Item::Instance(items) => Export::Instance(self.exported(items)?),
                Item::Module(module) => Export::Module(*module),
                Item::Component(_) | Item::Type(_) => continue,
            };
            all.push((name.clone(), export));
        }
        Ok(all)
    }

    /// Returns the lifted function by which the host calls an import that the component exports: it is lowered into a
    /// memory of the host's, and lifted from there.
    fn bridge(&mut self, func: Target, ty: &Arc<FuncType>) -> u32 {
        if let Some(&index) = self.bridged.get(&func) {
            return index;
        }
        let instance = *self.plan.bridge.get_or_insert_with(|| {
            self.plan.steps.push(Step::Bridge);
            self.plan.instances.push(None);
            self.plan.instances.len() as u32 - 1
        });
        let (memory, realloc) = (Some(CoreItem::BridgeMemory), Some(CoreItem::BridgeRealloc));
        let options = Options { instance, encoding: Encoding::Utf8, memory, realloc, post_return: None };
        let lower = Trampoline::Lower { func, ty: ty.clone(), options: options.clone() };
        let (core, index) = (self.trampoline(lower), self.plan.lifted.len() as u32);
        self.plan.lifted.push(Lifted { name: None, func: core, ty: ty.clone(), options });
        self.bridged.insert(func, index);
        index
    }

    fn func_type(&mut self, frame: &mut Frame<'a>, id: ComponentFuncTypeId) -> Result<Arc<FuncType>> {
        let (resources, known) = (&frame.resources, &mut frame.known);
        let known_before = known.len();
        let ty = Resolver { types: self.types, resources, known }.func(id)?;
        self.charge(frame.known.len() - known_before)?;
        Ok(ty)
    }
}

impl<'a> Frame<'a> {
    /// Returns what components nested here see now.
    fn outer(&self) -> Outer<'a> {
        Outer {
            modules: self.modules.clone(),
            components: self.components.clone(),
            resources: self.resources.clone(),
            around: self.around.clone(),
        }
    }

    /// Returns the component `count` levels around the one that directly contains this one.
    fn around(&self, count: u32) -> Result<&Outer<'a>> {
        let mut outer = self.around.as_deref();
        for _ in 0..count {
            outer = outer.and_then(|outer| outer.around.as_deref());
        }
        outer.ok_or_else(|| missing("an outer component"))
    }

    fn push(&mut self, item: Item<'a>) {
        match item {
            Item::Module(index) => self.modules.push(index),
            Item::Func(target, ty) => self.funcs.push((target, ty)),
            Item::Instance(items) => self.instances.push(items),
            Item::Component(closure) => self.components.push(closure),
            Item::Type(_) => {}
        }
    }

    fn item(&self, item: &parse::Item) -> Result<Item<'a>> {
        Ok(match item {
            parse::Item::Module(index) => Item::Module(self.modules[*index as usize]),
            parse::Item::Func(index) => {
                let (target, ty) = &self.funcs[*index as usize];
                Item::Func(*target, ty.clone())
            }
            parse::Item::Instance(index) => Item::Instance(self.instances[*index as usize].clone()),
            parse::Item::Component(index) => Item::Component(self.components[*index as usize].clone()),
            parse::Item::Type(None) => Item::Type(None),
            parse::Item::Type(Some(id)) => Item::Type(Some(resource(&self.resources, *id)?)),
        })
    }

    fn core_export(&self, instance: u32, name: &str) -> Result<CoreItem> {
        match &self.core_instances[instance as usize] {
            CoreInstance::OfModule(instance) => {
                Ok(CoreItem::Export { instance: *instance, name: name.into() })
            }
            CoreInstance::Bundle(items) => items.get(name).cloned().ok_or_else(|| missing(name)),
        }
    }

    fn core_item(&self, (kind, index): parse::CoreItem) -> Result<CoreItem> {
        let space = match kind {
            ExternalKind::Func | ExternalKind::FuncExact => &self.core_funcs,
            ExternalKind::Memory => &self.core_memories,
            ExternalKind::Table => &self.core_tables,
            ExternalKind::Global => &self.core_globals,
            ExternalKind::Tag => &self.core_tags,
        };
        Ok(space[index as usize].clone())
    }

    fn push_core(&mut self, kind: ExternalKind, item: CoreItem) {
        let space = match kind {
            ExternalKind::Func | ExternalKind::FuncExact => &mut self.core_funcs,
            ExternalKind::Memory => &mut self.core_memories,
            ExternalKind::Table => &mut self.core_tables,
            ExternalKind::Global => &mut self.core_globals,
            ExternalKind::Tag => &mut self.core_tags,
        };
        space.push(item);
    }

    fn options(&self, options: parse::Options) -> Options {
        let func = |index: u32| self.core_funcs[index as usize].clone();
        Options {
            instance: self.instance,
            encoding: options.encoding,
            memory: options.memory.map(|index| self.core_memories[index as usize].clone()),
            realloc: options.realloc.map(func),
            post_return: options.post_return.map(func),
        }
    }
}

/// Returns a type that stands for a resource before there is an instance.
fn resource_type(index: u32) -> ResourceType {
    ResourceType::named(&format!("resource {index}"))
}

fn missing(name: &str) -> Error {
    Error::new(ErrorKind::Module, format_args!("the component lacks `{name}`, which it uses"))
}
