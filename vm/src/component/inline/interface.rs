//! What a component imports and exports, as types that the embedder sees.

use std::sync::Arc;

use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType, ComponentValType};

use super::work::work_of;
use super::{Frame, Inliner, Resolver};
use crate::Result;
use crate::component::module_type::module_type;
use crate::component::types::{ComponentFunc, ComponentInstance, ComponentItem, Module};

impl<'a> Inliner<'_> {
    /// Returns the type of an item of the outermost component; `None` if the embedder cannot do anything with it.
    ///
    /// # Errors
    /// Returns an error if that is too much work.
    pub(super) fn item_type(
        &mut self,
        frame: &mut Frame<'a>,
        ty: &ComponentEntityType,
    ) -> Result<Option<ComponentItem>> {
        self.charge(1)?;
        Ok(match ty {
            ComponentEntityType::Func(id) => {
                self.func_type(frame, *id).ok().map(|ty| ComponentItem::ComponentFunc(ComponentFunc(ty)))
            }
            ComponentEntityType::Module(id) => {
                let ty = module_type(self.types, *id).ok();
                ty.map(|ty| ComponentItem::Module(Module(Arc::new(ty))))
            }
            ComponentEntityType::Instance(id) => {
                let (types, mut exports) = (self.types, Vec::new());
                for (name, item) in &types[*id].exports {
                    self.charge(work_of([&**name]))?;
                    if let Some(ty) = self.item_type(frame, &item.ty)? {
                        exports.push((name.clone(), ty));
                    }
                }
                Some(ComponentItem::ComponentInstance(ComponentInstance(exports.into())))
            }
            ComponentEntityType::Type { created: ComponentAnyTypeId::Resource(id), .. } => {
                let number = frame.resources.get(&id.resource());
                number.map(|&number| ComponentItem::Resource(self.plan.resources[number as usize].ty.clone()))
            }
            ComponentEntityType::Type { created: ComponentAnyTypeId::Defined(id), .. } => {
                let (resources, known) = (&frame.resources, &mut frame.known);
                let known_before = known.len();
                let ty = Resolver { types: self.types, resources, known }.value(&ComponentValType::Type(*id));
                self.charge(frame.known.len() - known_before)?;
                ty.ok().map(ComponentItem::Type)
            }
            ComponentEntityType::Type { .. }
            | ComponentEntityType::Component(_)
            | ComponentEntityType::Value(_) => None,
        })
    }
}
