//! Profiles that are exported again and again: of many origins, such as the tenants of a service.
//!
//! Input: profiles of what has run, each with its origin, as it ends or is looked at. Output: what has come since the last time,
//! to be pushed to, or pulled by, whoever collects profiles.
//! Invariant: what an origin is given, goes out once.

use std::collections::BTreeMap;
use std::io;

use super::{CodeMap, Origin, Samples, write_otlp, write_pprof};
use crate::{MergeError, Profile};

/// Collects profiles by origin, until they are taken. Plain data: who shares it between threads puts it behind a lock; adding
/// takes time in proportion to the profile that is added and to the origin's.
///
/// ```
/// use wprof_profiler::Profile;
/// use wprof_profiler::export::{Origin, ProfileExporter};
///
/// # fn profile_of_a_request() -> Profile { Profile::default() }
/// let mut exporter = ProfileExporter::new(100);
/// exporter.add(Origin::new([("tenant", "ada"), ("service.name", "plug-ins")]), &profile_of_a_request())?;
/// let message = exporter.take_otlp()?; // for the body of a request to a collector
/// assert!(exporter.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProfileExporter {
    /// By origin, and of an origin by module.
    profiles: BTreeMap<(Origin, [u8; 32]), Profile>,
    most: usize,
    dropped: u64,
}

impl ProfileExporter {
    /// One that has nothing yet, and will hold no more than so many origins and modules at once: those that come later are
    /// dropped, and counted, until what is there is taken.
    pub fn new(most: usize) -> ProfileExporter {
        ProfileExporter { profiles: BTreeMap::new(), most, dropped: 0 }
    }

    /// Adds what has run for an origin: of an instance whose profile was added before, only what has come since.
    ///
    /// # Errors
    /// If the origin has a profile of the same module that was taken in another way.
    pub fn add(&mut self, origin: Origin, profile: &Profile) -> Result<(), MergeError> {
        let key = (origin, profile.module_hash);
        if let Some(known) = self.profiles.get_mut(&key) {
            return known.merge(profile);
        }
        if self.profiles.len() >= self.most {
            self.dropped += 1;
            return Ok(());
        }
        self.profiles.insert(key, profile.clone());
        Ok(())
    }

    /// Whether there is nothing to be exported.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// How many profiles were dropped since the exporter was made.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes all as one message for OpenTelemetry: see [`write_otlp`].
    ///
    /// # Errors
    /// If memory refuses, which it does not.
    pub fn take_otlp(&mut self) -> io::Result<Vec<u8>> {
        let taken = std::mem::take(&mut self.profiles);
        let with_samples = |((origin, _), profile): ((Origin, _), Profile)| {
            let samples = Samples::new(&profile, &CodeMap::default());
            (origin, samples, profile)
        };
        let all: Vec<_> = taken.into_iter().map(with_samples).collect();
        let mut bytes = Vec::new();
        write_otlp(all.iter().map(|(origin, samples, profile)| (origin, samples, profile)), &mut bytes)?;
        Ok(bytes)
    }

    /// Takes all as files of pprof, one for each origin and module: see [`write_pprof`].
    ///
    /// # Errors
    /// As [`ProfileExporter::take_otlp`].
    pub fn take_pprof(&mut self) -> io::Result<Vec<(Origin, Vec<u8>)>> {
        let taken = std::mem::take(&mut self.profiles);
        let written = |((origin, _), profile): ((Origin, _), Profile)| {
            let mut bytes = Vec::new();
            write_pprof(&Samples::new(&profile, &CodeMap::default()), &profile, &mut bytes)?;
            Ok((origin, bytes))
        };
        taken.into_iter().map(written).collect()
    }
}
