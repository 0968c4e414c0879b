//! Resources as the host sees them.

use std::any::{TypeId, type_name};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::state::State;
use super::table::Resource;
use crate::{AsContextMut, Error, ErrorKind, Result};

/// The type of a resource: of the host, or of a component, each instance of which has its own.
#[derive(Clone, Debug)]
pub struct ResourceType(Of);

#[derive(Clone, Debug)]
enum Of {
    Named(Arc<str>),
    Rust(TypeId, &'static str),
}

impl ResourceType {
    /// Returns the type of host resources that are a `T` in a [`ResourceTable`](super::ResourceTable); always the
    /// same type.
    pub fn host<T: 'static>() -> ResourceType {
        ResourceType(Of::Rust(TypeId::of::<T>(), type_name::<T>()))
    }

    /// Creates a new host resource type, different from all others. The name appears in messages.
    pub fn named(name: &str) -> ResourceType {
        ResourceType(Of::Named(name.into()))
    }
}

impl PartialEq for ResourceType {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Of::Named(this), Of::Named(that)) => Arc::ptr_eq(this, that),
            (Of::Rust(this, _), Of::Rust(that, _)) => this == that,
            _ => false,
        }
    }
}

impl Eq for ResourceType {}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Of::Named(name) => f.write_str(name),
            Of::Rust(_, name) => f.write_str(name),
        }
    }
}

/// A resource that the host holds, its own or a component's. Clones are the same resource: once it is transferred
/// or dropped, no clone can be used any more.
#[derive(Clone)]
pub struct ResourceAny(Arc<Shared>);

struct Shared {
    ty: ResourceType,
    rep: u32,
    /// Whether it is owned rather than borrowed for a call.
    is_owned: bool,
    /// The state and the number of the resource by which it is destroyed, if a component instance owns its type.
    home: Option<(Arc<State>, u32)>,
    use_: Mutex<Use>,
}

struct Use {
    is_alive: bool,
    /// Number of calls to which it is lent.
    loans: u32,
}

impl ResourceAny {
    /// Bytes of host memory that one takes beside itself, with the counts of its clones.
    pub(super) const BYTES: usize = size_of::<Shared>() + 2 * size_of::<usize>();

    /// Creates a host resource, represented by a number that the host interprets.
    pub fn host(ty: &ResourceType, rep: u32) -> ResourceAny {
        ResourceAny::new(ty.clone(), rep, true, None)
    }

    /// Returns a host resource of a static type as one of any type.
    ///
    /// # Errors
    /// There are none; the result has the shape of Wasmtime's.
    pub fn try_from_resource<T: 'static>(
        resource: Resource<T>,
        _store: impl AsContextMut,
    ) -> Result<ResourceAny> {
        Ok(ResourceAny::new(ResourceType::host::<T>(), resource.rep(), resource.owned(), None))
    }

    /// Returns a host resource with its static type. An owned one is transferred: no clone can be used any more.
    ///
    /// # Errors
    /// Returns an error if the resource has another type, is lent, or was dropped or transferred.
    pub fn try_into_resource<T: 'static>(self, _store: impl AsContextMut) -> Result<Resource<T>> {
        self.check(&ResourceType::host::<T>())?;
        match self.0.is_owned {
            true => self.take().map(Resource::new_own),
            false => self.alive().map(|_| Resource::new_borrow(self.0.rep)),
        }
    }

    pub(super) fn new(
        ty: ResourceType,
        rep: u32,
        is_owned: bool,
        home: Option<(Arc<State>, u32)>,
    ) -> ResourceAny {
        let use_ = Mutex::new(Use { is_alive: true, loans: 0 });
        ResourceAny(Arc::new(Shared { ty, rep, is_owned, home, use_ }))
    }

    /// Returns the type.
    pub fn ty(&self) -> &ResourceType {
        &self.0.ty
    }

    /// Returns whether it is owned, so that it must be dropped, rather than borrowed for a call.
    pub fn is_owned(&self) -> bool {
        self.0.is_owned
    }

    /// Returns the number that represents a host resource.
    ///
    /// # Errors
    /// Returns an error if the resource has another type, or was dropped or transferred.
    pub fn rep(&self, ty: &ResourceType) -> Result<u32> {
        self.check(ty)?;
        self.alive().map(|_| self.0.rep)
    }

    /// Drops the resource: an owned one runs its destructor, a borrowed one only becomes unusable.
    ///
    /// # Errors
    /// Returns an error if the resource was dropped or transferred before, is lent, or its destructor fails.
    pub fn resource_drop(&self, mut store: impl AsContextMut) -> Result<()> {
        self.end()?;
        match &self.0.home {
            Some((state, resource)) if self.0.is_owned => {
                state.destroy(&mut store.as_context_mut(), *resource, self.0.rep, None)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check(&self, ty: &ResourceType) -> Result<()> {
        if self.0.ty == *ty {
            return Ok(());
        }
        let message = format!("expected a resource of type `{ty}`, got one of type `{}`", self.0.ty);
        Err(Error::new(ErrorKind::Type, message))
    }

    /// Transfers an owned resource.
    pub(super) fn take(&self) -> Result<u32> {
        if !self.0.is_owned {
            return Err(Error::new(ErrorKind::Type, "a resource that is only lent cannot be passed on"));
        }
        self.end()?;
        Ok(self.0.rep)
    }

    /// Lends the resource to a call.
    pub(super) fn lend(&self) -> Result<u32> {
        self.alive()?.loans += 1;
        Ok(self.0.rep)
    }

    pub(super) fn give_back(&self) {
        self.lock().loans -= 1;
    }

    /// Ends the call for which it was borrowed.
    pub(super) fn expire(&self) {
        self.lock().is_alive = false;
    }

    fn end(&self) -> Result<()> {
        let mut use_ = self.alive()?;
        if use_.loans != 0 {
            return Err(Error::new(ErrorKind::Type, "the resource is lent to a call that has not ended"));
        }
        use_.is_alive = false;
        Ok(())
    }

    fn alive(&self) -> Result<MutexGuard<'_, Use>> {
        let use_ = self.lock();
        match use_.is_alive {
            true => Ok(use_),
            false => Err(Error::new(ErrorKind::Type, "the resource was dropped or passed on")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Use> {
        self.0.use_.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for ResourceAny {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for ResourceAny {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { ty, rep, is_owned, .. } = &*self.0;
        f.debug_struct("ResourceAny").field("ty", ty).field("rep", rep).field("is_owned", is_owned).finish()
    }
}
