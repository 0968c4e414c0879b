//! Places of checks: which code there is for a frame at one.

use std::sync::Arc;

use wprof_jit::compile::Origin;
use wprof_profiler::BurstSite;

use crate::runtime::code::registry;
use crate::runtime::instances::loaded::LoadedModule;

/// The position of a frame at a check.
pub struct Place {
    pub module: Arc<dyn LoadedModule>,
    pub func: u32,
    /// The block of the check: 0 for the function's entry, or a loop header.
    pub block: u32,
    /// Whether the frame is in burst code.
    pub in_bursts: bool,
    /// Whether the frame is in baseline code.
    pub is_baseline: bool,
}

impl Place {
    /// Returns the position of the check whose call returns to `pc`.
    pub fn at_return(pc: usize) -> Option<Place> {
        let object = registry::find_return(pc)?;
        let (module, _) = object.function.as_ref()?;
        let Origin { func, block, .. } = object.origin_of_return(pc)?;
        let (in_bursts, is_baseline) = (object.code.in_bursts, object.code.counts_heat);
        Some(Place { module: module.upgrade()?, func, block, in_bursts, is_baseline })
    }

    /// Returns the position for a policy of bursts.
    pub fn site(&self) -> BurstSite {
        let module = Arc::as_ptr(&self.module).cast::<()>().addr();
        BurstSite { module, function: self.func, block: self.block }
    }

    /// Returns the burst code in which the frame may continue: none at the entry of baseline code, and in a loop
    /// only if there is code to return to. Orders the compilation of both; if the cost is limited, the code to
    /// return to comes first.
    ///
    /// A burst that `sees_all` never ends, and returns to nothing.
    pub fn burst_code(&self, is_limited: bool, sees_all: bool) -> Option<usize> {
        match self.block {
            0 if self.is_baseline => None,
            0 => self.module.clone().burst_code(self.func, 0),
            header if sees_all => self.module.clone().burst_code(self.func, header),
            header => {
                let comes_back = self.module.clone().comes_back(self.func, header, self.is_baseline);
                if is_limited && !comes_back {
                    return None;
                }
                self.module.clone().burst_code(self.func, header).filter(|_| comes_back)
            }
        }
    }
}
