//! Continuous export of profiles from many origins, such as the tenants of a service.
//!
//! Input: profiles with their origins, as runs end or are inspected. Output: the additions since the previous export,
//! for a push to, or a pull by, a collector of profiles.
//! Invariant: every addition of an origin is exported once. A profile that does not say when it was taken, as those of
//! embedders, is of the time since the export before.

use std::collections::BTreeMap;
use std::io;
use std::time::SystemTime;

use super::{CodeMap, Origin, Samples, write_otlp, write_pprof_of};
use crate::{MergeError, Profile, Run};

/// Collects profiles by origin, until they are taken. Plain data: put it behind a lock to share it between threads.
/// Adding takes time proportional to the added profile and to the origin's.
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
    /// Profiles by origin and module.
    profiles: BTreeMap<(Origin, [u8; 32]), Profile>,
    most: usize,
    dropped: u64,
    /// The time when the exporter was created, or when its profiles were last taken.
    since: SystemTime,
}

impl ProfileExporter {
    /// Creates an empty exporter that holds at most so many pairs of origin and module at once: further ones are
    /// dropped, and counted, until the held ones are taken.
    pub fn new(most: usize) -> ProfileExporter {
        ProfileExporter { profiles: BTreeMap::new(), most, dropped: 0, since: SystemTime::now() }
    }

    /// Adds the profile of a run to an origin. Of an instance whose profile was added before, pass only the additions.
    ///
    /// # Errors
    /// Fails if the origin has a profile of the same module that was taken in another way.
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

    /// Reports whether there is nothing to export.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// Returns the number of profiles dropped since the exporter was created.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes all profiles, and gives those a time that have none.
    fn take(&mut self) -> impl Iterator<Item = (Origin, Profile)> {
        let now = SystemTime::now();
        let since = std::mem::replace(&mut self.since, now);
        // A clock that was set back says nothing about how long it was.
        let window = Run::lasting(since, now.duration_since(since).unwrap_or_default());
        let taken = std::mem::take(&mut self.profiles);
        taken.into_iter().map(move |((origin, _), mut profile)| {
            if profile.runs.iter().all(|run| run.started == 0) {
                profile.runs = vec![window.clone()];
            }
            (origin, profile)
        })
    }

    /// Takes all profiles as one OpenTelemetry message: see [`write_otlp`]. A profile without a [`Run`] that tells when it
    /// started is of the time since the previous export.
    ///
    /// # Errors
    /// Fails if writing to memory fails, which does not happen.
    pub fn take_otlp(&mut self) -> io::Result<Vec<u8>> {
        self.take_otlp_with(|_| CodeMap::default())
    }

    /// Takes all profiles as [`ProfileExporter::take_otlp`] does, with the source lines and inlined functions that `code_of`
    /// knows of the module of each profile (`wprof_report::code_map` finds them).
    ///
    /// # Errors
    /// Fails as [`ProfileExporter::take_otlp`] does.
    pub fn take_otlp_with(&mut self, mut code_of: impl FnMut(&Profile) -> CodeMap) -> io::Result<Vec<u8>> {
        let with_samples = |(origin, profile): (Origin, Profile)| {
            let samples = Samples::by_line(&profile, &code_of(&profile));
            (origin, samples, profile)
        };
        let all: Vec<_> = self.take().map(with_samples).collect();
        let mut bytes = Vec::new();
        write_otlp(all.iter().map(|(origin, samples, profile)| (origin, samples, profile)), &mut bytes)?;
        Ok(bytes)
    }

    /// Takes all profiles as pprof files, one per origin and module, whose samples have the labels of the origin: see
    /// [`write_pprof_of`]. Their times are as with [`ProfileExporter::take_otlp`].
    ///
    /// # Errors
    /// Fails as [`ProfileExporter::take_otlp`] does.
    pub fn take_pprof(&mut self) -> io::Result<Vec<(Origin, Vec<u8>)>> {
        self.take_pprof_with(|_| CodeMap::default())
    }

    /// Takes all profiles as [`ProfileExporter::take_pprof`] does, with source lines and inlined functions as
    /// [`ProfileExporter::take_otlp_with`] has them.
    ///
    /// # Errors
    /// Fails as [`ProfileExporter::take_otlp`] does.
    pub fn take_pprof_with(
        &mut self,
        mut code_of: impl FnMut(&Profile) -> CodeMap,
    ) -> io::Result<Vec<(Origin, Vec<u8>)>> {
        let written = |(origin, profile): (Origin, Profile)| {
            let mut bytes = Vec::new();
            let samples = Samples::by_line(&profile, &code_of(&profile));
            write_pprof_of(&origin, &samples, &profile, &mut bytes)?;
            Ok((origin, bytes))
        };
        self.take().map(written).collect()
    }
}
