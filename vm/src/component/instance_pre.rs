//! Components whose imports are resolved and checked once, for many instantiations: what carries out their plans.

mod adapters;
mod modules;

use std::fmt;
use std::sync::Arc;

use super::bridge::Bridge;
use super::component::Component;
use super::host_func::HostFunc;
use super::instance::Instance;
use super::names::shown;
use super::plan::{Imported, Plan, Step, Target, Trampoline};
use super::resource::ResourceType;
use super::state::State;
use super::trampoline::{Callee, OWN, lowered, resource_drop, resource_new, resource_rep};
use crate::store::StoreContextMut;
use crate::waiting::on_fiber;
use crate::{AsContextMut, Error, ErrorKind, Func, Module, Result, ValType};

/// The destructor that runs when an owned host resource is dropped.
pub type Destructor<T> = dyn Fn(StoreContextMut<'_, T>, u32) -> Result<()> + Send + Sync + 'static;

/// What the host gives for an import.
pub enum Given<T: 'static> {
    Func(HostFunc<T>),
    Resource(ResourceType, Arc<Destructor<T>>),
    Module(Module),
}

/// A component with all its imports, ready to be instantiated: see [`Linker::instantiate_pre`](super::Linker::instantiate_pre). Cheap to clone;
/// threads may share it, and each instantiates it in its own stores.
pub struct InstancePre<T: 'static> {
    component: Component,
    /// What the host gives, by the numbers of the imports.
    given: Arc<[Given<T>]>,
}

impl<T: 'static> Clone for InstancePre<T> {
    fn clone(&self) -> Self {
        InstancePre { component: self.component.clone(), given: self.given.clone() }
    }
}

impl<T: 'static> fmt::Debug for InstancePre<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstancePre").field("component", &self.component).finish_non_exhaustive()
    }
}

impl<T: 'static> InstancePre<T> {
    /// Creates it of what was found for each import.
    pub(super) fn new(component: &Component, given: Vec<Given<T>>) -> InstancePre<T> {
        debug_assert_eq!(given.len(), component.plan().imports.len(), "all imports have been found");
        InstancePre { component: component.clone(), given: given.into() }
    }

    /// Returns the component.
    pub fn component(&self) -> &Component {
        &self.component
    }

    /// Creates an instance, and runs the start functions of its core modules, without further look-ups or type checks.
    ///
    /// # Errors
    /// Fails if a limit is reached, a segment does not fit, or a start function fails.
    ///
    /// # Panics
    /// Panics if the store belongs to another engine.
    pub fn instantiate(&self, mut store: impl AsContextMut<Data = T>) -> Result<Instance> {
        self.instantiate_in(&mut store.as_context_mut(), false)
    }

    /// Creates an instance as a future, in which start functions may wait: see
    /// [`Func::call_async`](super::Func::call_async).
    ///
    /// # Errors
    /// Fails as [`InstancePre::instantiate`] does, or if the system has no memory for a stack.
    ///
    /// # Panics
    /// Panics as [`InstancePre::instantiate`] does, when it is polled.
    pub fn instantiate_async<'a, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
    ) -> impl Future<Output = Result<Instance>> + Send + use<'a, T, S>
    where
        T: Send,
    {
        let (pre, store) = (self.clone(), store.into().0);
        on_fiber(store, move |store| pre.instantiate_in(&mut StoreContextMut(store), true))
    }

    /// Creates an instance. If it may wait, this call must be alone on its fiber.
    fn instantiate_in(&self, store: &mut StoreContextMut<'_, T>, may_wait: bool) -> Result<Instance> {
        let plan = self.component.plan();
        let modules = (0..).zip(&*self.given).filter_map(|(number, given)| match given {
            Given::Module(module) => Some((number, module.clone())),
            _ => None,
        });
        let state = State::new(&mut store.0.opaque, &self.component, self.resources(), modules.collect());
        self.place_destructors(store, &state);
        for step in &plan.steps {
            self.carry_out(store, &state, step, may_wait)?;
        }
        Ok(Instance(state))
    }

    /// Returns the types of the component's resources: the host's, and new ones.
    pub(super) fn resources(&self) -> Vec<ResourceType> {
        let plan = self.component.plan();
        let mut all: Vec<ResourceType> = (0..plan.resources.len())
            .map(|index| ResourceType::named(&format!("resource {index}")))
            .collect();
        for (index, ty, _) in self.host_resources() {
            all[index as usize] = ty.clone();
        }
        all
    }

    /// Returns the host's resources, with their numbers.
    fn host_resources(&self) -> impl Iterator<Item = (u32, &ResourceType, &Arc<Destructor<T>>)> {
        let imports = self.component.plan().imports.iter().zip(&*self.given);
        imports.filter_map(|(import, given)| match (&import.item, given) {
            (Imported::Resource(index), Given::Resource(ty, destructor)) => Some((*index, ty, destructor)),
            _ => None,
        })
    }

    fn place_destructors(&self, store: &mut StoreContextMut<'_, T>, state: &State) {
        for (index, _, destructor) in self.host_resources() {
            let destructor = destructor.clone();
            let ty = crate::FuncType::new([ValType::I32], []);
            let func = Func::new(&mut *store, ty, move |mut caller, params, _| {
                destructor(caller.as_context_mut(), super::call::bits(&params[0]) as u32)
            });
            state.set_destructor(index, func);
        }
    }

    fn carry_out(
        &self,
        store: &mut StoreContextMut<'_, T>,
        state: &Arc<State>,
        step: &Step,
        may_wait: bool,
    ) -> Result<()> {
        let plan = state.component.plan();
        match step {
            Step::Instantiate { module, imports } => {
                let imports =
                    imports.iter().map(|item| state.find(store, item)).collect::<Result<Vec<_>>>()?;
                let module = &plan.modules[*module as usize];
                state.add_core_instance(crate::Instance::new_in(store.0, module, &imports, may_wait)?);
            }
            Step::InstantiateImported { import, items } => {
                let items = items.iter().map(|item| state.find(store, item)).collect::<Result<Vec<_>>>()?;
                let instance = modules::instantiate(store, state, (*import, &items), may_wait)?;
                state.add_core_instance(instance);
            }
            Step::Bridge => state.set_bridge(Bridge::new(store)?),
            Step::Destructor(resource) => {
                if let Some(destructor) = &plan.resources[*resource as usize].destructor {
                    state.set_destructor(*resource, state.find_func(store, destructor)?);
                }
            }
            Step::Trampoline(index) => state.set_trampoline(*index, self.trampoline(store, state, *index)?),
            Step::Adapters(index) => adapters::place(store, state, &plan.adapters[*index as usize])?,
        }
        Ok(())
    }

    /// Creates the host function of a trampoline.
    fn trampoline(&self, store: &mut StoreContextMut<'_, T>, state: &Arc<State>, index: u32) -> Result<Func> {
        let plan = state.component.plan();
        Ok(match &plan.trampolines[index as usize] {
            Trampoline::Lower { func, ty, options } => {
                let options = state.options(store, options)?;
                let (callee, name) = (self.callee(*func)?, function_name(plan, *func));
                lowered(store, state, (ty.clone(), options), (callee, (name.0, &name.1)))
            }
            &Trampoline::ResourceNew { resource, instance } => {
                resource_new(store, state, (resource, instance))
            }
            &Trampoline::ResourceDrop { resource, instance } => {
                let (interface, name) = resource_name(plan, resource);
                let name = format!("[resource-drop]{name}");
                resource_drop(store, state, (resource, instance), (interface, &name))
            }
            &Trampoline::ResourceRep { resource, instance } => {
                resource_rep(store, state, (resource, instance))
            }
        })
    }

    fn callee(&self, target: Target) -> Result<Callee<T>> {
        match target {
            Target::Lifted(index) => Ok(Callee::Lifted(index)),
            Target::Imported(index) => match &self.given[index as usize] {
                Given::Func(func) => Ok(Callee::Host(func.clone())),
                _ => Err(Error::new(ErrorKind::Link, "an import is not defined")),
            },
        }
    }
}

/// Returns the interface and the name of a function, for profiles.
fn function_name(plan: &Plan, target: Target) -> (&str, String) {
    match target {
        Target::Imported(index) => {
            let (interface, name) = name_of(&plan.imports[index as usize].path);
            (interface, name.to_owned())
        }
        Target::Lifted(index) => (OWN, plan.lifted[index as usize].shown(index)),
    }
}

/// Returns the interface and the name of a resource, for profiles.
fn resource_name(plan: &Plan, resource: u32) -> (&str, &str) {
    let is_it = |item: &Imported| matches!(item, Imported::Resource(index) if *index == resource);
    let import = plan.imports.iter().find(|import| is_it(&import.item));
    import.map_or((OWN, "resource"), |import| name_of(&import.path))
}

fn name_of(path: &[String]) -> (&str, &str) {
    match path {
        [.., interface, name] => (shown(interface), shown(name)),
        [name] => (OWN, shown(name)),
        [] => (OWN, ""),
    }
}
