//! What an instrumented module says of itself, in a custom section: enough to read its counters by the original.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::plan::{Collected, Kept};

/// The custom section.
pub const SECTION: &str = "wprof.counters";

/// What is needed to read counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The version of this crate.
    pub version: String,
    /// The hash of the original.
    pub hash: [u8; 32],
    /// What is counted.
    pub collected: Collected,
    /// Whether all instructions that may trap are sites.
    pub all_traps: bool,
    /// By function with a body, what does not follow from its graph; empty if nothing but the graph was known.
    pub kept: Vec<Kept>,
}

/// The version that writes and reads.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Descriptor {
    /// The contents of the section.
    ///
    /// # Errors
    /// None that is known.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        // The version comes first on its own: it can be read if nothing else can.
        let mut bytes = postcard::to_stdvec(&self.version)?;
        bytes.extend(postcard::to_stdvec(self)?);
        Ok(bytes)
    }

    /// Reads the contents of the section.
    ///
    /// # Errors
    /// If they are damaged, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Descriptor, Error> {
        let (found, rest): (String, &[u8]) = postcard::take_from_bytes(bytes)?;
        if found != VERSION {
            return Err(Error::OtherVersion { found, expected: VERSION });
        }
        Ok(postcard::from_bytes(rest)?)
    }
}
