//! The description that an instrumented module carries in a custom section: the data needed to read its counters, given
//! the original module.

use serde::{Deserialize, Serialize};
use wprof_profiler::EdgeId;

use crate::Error;
use crate::event_kind::EventKind;
use crate::plan::{Collected, StoredPlan};

/// The name of the custom section.
pub const SECTION: &str = "wprof.counters";

/// The data needed to read counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The version of this crate that instrumented the module.
    pub version: String,
    /// The hash of the original module.
    pub hash: [u8; 32],
    /// The kind of profile that is counted.
    pub collected: Collected,
    /// Whether all instructions that may trap are sites.
    pub all_traps: bool,
    /// Whether calling contexts are counted.
    pub contexts: bool,
    /// The kinds of events that are counted.
    pub events: Vec<EventKind>,
    /// For each function with a body, the part of its plan that does not follow from its graph; empty if plans follow
    /// from graphs alone.
    pub kept: Vec<StoredPlan>,
    /// For each function with a body, the edges of its split graph outside the tree on which events are counted; empty if
    /// trees follow from graphs alone, or no events are counted.
    pub chords: Vec<Vec<EdgeId>>,
}

/// The version of this crate, and of the description's format.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+7");

impl Descriptor {
    /// Serializes the contents of the section.
    ///
    /// # Errors
    /// Returns an error if serialization fails, of which no case is known.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        // The version comes first, on its own, so that it can be read even if the rest cannot.
        let mut bytes = postcard::to_stdvec(&self.version)?;
        bytes.extend(postcard::to_stdvec(self)?);
        Ok(bytes)
    }

    /// Reads the contents of the section.
    ///
    /// # Errors
    /// Returns an error if the contents are damaged, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Descriptor, Error> {
        let (found, rest): (String, &[u8]) = postcard::take_from_bytes(bytes)?;
        if found != VERSION {
            return Err(Error::OtherVersion { found, expected: VERSION });
        }
        Ok(postcard::from_bytes(rest)?)
    }
}
