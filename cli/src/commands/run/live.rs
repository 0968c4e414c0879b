//! The option `--live`: writes profiles of a running program to a file repeatedly.
//!
//! Each thread of the program hands over its profile so far and continues; a separate thread adds up the newest profile of
//! each and writes the sum. While that thread is busy, a newer profile of a program's thread takes the place of the one
//! that waits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use wprof::component::Component;
use wprof::wasi::WasiCtx;
use wprof::{Module, Store};
use wprof_profiler::{Ending, Profile, Run};

/// The settings of `--live`.
pub struct Live {
    /// The file.
    pub path: PathBuf,
    /// The interval between profiles.
    pub every: Duration,
    /// The description of the run, which the engine does not know.
    pub run: Run,
    /// The program's name.
    pub program: String,
}

/// The thread that writes profiles.
pub struct Following {
    snapshots: LiveSnapshots,
    writer: JoinHandle<()>,
}

/// The place where threads of the program hand over their profiles.
#[derive(Clone)]
pub struct LiveSnapshots {
    every: Duration,
    newest: Arc<Mutex<Newest>>,
    wake: SyncSender<()>,
}

/// The profiles that wait for the writer.
#[derive(Default)]
struct Newest {
    /// The newest profile of each thread that runs, by the thread's number.
    running: BTreeMap<i32, Profile>,
    /// The whole profiles of threads that have ended, with their numbers.
    ended: Vec<(i32, Profile)>,
    /// Whether the program has ended.
    is_over: bool,
}

impl Live {
    /// Starts the thread that writes profiles of a program that started at `started`.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread.
    pub fn begin(self, started: SystemTime) -> Result<Following> {
        let clock = Instant::now();
        // One request waits at most: it stands for all that is handed over before the writer takes it.
        let (wake, asked) = mpsc::sync_channel(1);
        let snapshots = LiveSnapshots { every: self.every, newest: Arc::default(), wake };
        let newest = snapshots.newest.clone();
        let writer = thread::Builder::new().name("live".to_owned());
        let writer = writer.spawn(move || self.write_all(&newest, &asked, (started, clock)));
        Ok(Following { snapshots, writer: writer.context("cannot start a thread")? })
    }

    /// Writes profiles until the program has ended. A failed write loses nothing yet: at the end the whole profile goes to
    /// the same file, and an error there is reported.
    fn write_all(
        self,
        newest: &Mutex<Newest>,
        asked: &Receiver<()>,
        (started, clock): (SystemTime, Instant),
    ) {
        let mut sum = Sum::default();
        while asked.recv().is_ok() {
            let newest = std::mem::take(&mut *locked(newest));
            if newest.is_over {
                return;
            }
            sum.take(newest);
            let Some(mut profile) = sum.profile() else { continue };
            profile.program.clone_from(&self.program);
            let run = self.run.clone();
            profile.runs = vec![super::described(run, started, clock.elapsed(), Ending::Running)];
            let _ = profile.write(&self.path);
        }
    }
}

impl LiveSnapshots {
    /// Has thread `number` of the program hand over its profiles, which `finish` completes: the engine does not know the
    /// program's threads.
    ///
    /// # Errors
    /// Returns an error if the profile is not adaptive.
    pub fn follow(
        &self,
        store: &mut Store<WasiCtx>,
        (module, component): (&Module, Option<&Component>),
        number: i32,
        mut finish: impl FnMut(&mut Profile) + Send + Sync + 'static,
    ) -> wprof::Result<()> {
        let snapshots = self.clone();
        let hand_over = move |mut profile| {
            finish(&mut profile);
            locked(&snapshots.newest).running.insert(number, profile);
            snapshots.ask();
        };
        match component {
            Some(component) => store.on_component_snapshot(component, self.every, hand_over),
            None => store.on_snapshot(module, self.every, hand_over),
        }
    }

    /// Hands over the whole profile of a thread that has ended.
    pub fn end(&self, number: i32, profile: Profile) {
        locked(&self.newest).ended.push((number, profile));
        self.ask();
    }

    fn ask(&self) {
        // If a request waits already, the writer takes this profile, too.
        let _ = self.wake.try_send(());
    }
}

impl Following {
    /// Returns where threads hand over their profiles.
    pub fn snapshots(&self) -> LiveSnapshots {
        self.snapshots.clone()
    }

    /// Waits until the profile that is being written is in its file. Threads that did not stop may still hand over theirs.
    pub fn end(self) {
        locked(&self.snapshots.newest).is_over = true;
        self.snapshots.ask();
        // A panic of the thread has been reported.
        let _ = self.writer.join();
    }
}

/// The profiles that the writer has, which add up to the program's.
#[derive(Default)]
struct Sum {
    running: BTreeMap<i32, Profile>,
    ended: Option<Profile>,
}

impl Sum {
    fn take(&mut self, newest: Newest) {
        self.running.extend(newest.running);
        for (number, profile) in newest.ended {
            self.running.remove(&number);
            add(&mut self.ended, &profile);
        }
    }

    fn profile(&self) -> Option<Profile> {
        let mut sum = None;
        self.running.values().chain(&self.ended).for_each(|profile| add(&mut sum, profile));
        sum
    }
}

/// Adds a profile of a thread. All are of one module and one engine, so that they can be added up.
fn add(sum: &mut Option<Profile>, profile: &Profile) {
    match sum {
        Some(sum) => drop(sum.merge(profile)),
        None => *sum = Some(profile.clone()),
    }
}

fn locked(newest: &Mutex<Newest>) -> MutexGuard<'_, Newest> {
    newest.lock().unwrap_or_else(PoisonError::into_inner)
}
