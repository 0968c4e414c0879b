//! Paths across calls: the program runs as a module with inlined calls, and its profile becomes one of the original.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use wprof::Interesting;
use wprof_instrument::{Error, Marks, Supergraphs};
use wprof_profiler::Profile;

use crate::commands::{instrument, read_profile};

/// The maximum depth: inlined code grows with each level.
pub const MAX_DEPTH: i64 = 8;

/// The calls that paths lead across.
#[derive(Clone, Debug)]
pub struct Across {
    /// The maximum nesting of inlined calls.
    pub depth: u32,
    /// An earlier profile. If it has paths across calls, these lead across the same calls, and are interesting;
    /// otherwise paths lead across the calls that ran.
    pub profile: Option<Arc<Profile>>,
}

impl Across {
    /// Reads an earlier profile.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or has paths across calls to another depth.
    pub fn new(depth: u32, profile: Option<&Path>) -> Result<Across> {
        let read = |path: &Path| -> Result<Arc<Profile>> {
            let profile = read_profile(path)?;
            let other = profile.supergraphs.as_ref().map(|graphs| graphs.depth).filter(|own| *own != depth);
            ensure!(
                other.is_none(),
                "{} has paths across calls to depth {}: give --depth {0}, or another profile",
                path.display(),
                other.unwrap_or(depth)
            );
            Ok(Arc::new(profile))
        };
        Ok(Across { depth, profile: profile.map(read).transpose()? })
    }

    /// Returns the supergraphs of a module.
    ///
    /// # Errors
    /// Returns an error if the file is no module, or the earlier profile is of another one.
    pub fn graphs(&self, module: &Path) -> Result<Supergraphs> {
        let bytes = instrument::binary(module)?;
        let marks = match &self.profile {
            None => Marks::All(self.depth),
            Some(profile) => {
                profile.supergraphs.as_ref().map_or(Marks::Ran(self.depth, profile), Marks::Same)
            }
        };
        Supergraphs::new(&bytes, marks).map_err(|error| match error {
            Error::Component => anyhow!("{} is a component: --depth takes modules only", module.display()),
            error => anyhow!("{}: {error}", module.display()),
        })
    }

    /// Returns the interesting paths, if the earlier profile has any.
    pub fn interesting(&self, graphs: &Supergraphs) -> Option<Interesting> {
        let lowered = graphs.lowered(self.profile.as_ref()?).filter(Profile::has_paths)?;
        Some(Interesting::new(Arc::new(lowered)))
    }
}
