//! Profiles of a program that still runs, written to a file again and again: the option `--live`.
//!
//! The program hands them over and goes on; a thread of its own writes them. While it is busy with one, others are
//! dropped.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use wprof::wasi::WasiCtx;
use wprof::{Module, Store};
use wprof_profiler::{Ending, Profile, Run};

use crate::modules::failure;

/// What is to be written where, and how often.
pub struct Live {
    /// The file.
    pub path: PathBuf,
    /// How long from one profile to the next.
    pub every: Duration,
    /// What only we know of the run.
    pub run: Run,
    /// The program's name.
    pub program: String,
}

/// The thread that writes.
pub struct Following(JoinHandle<()>);

impl Live {
    /// From now on profiles of `store` are written; the program `started` just then.
    ///
    /// # Errors
    /// If the profile is not an adaptive one, or the system has no thread for it.
    pub fn follow(
        self,
        store: &mut Store<WasiCtx>,
        module: &Module,
        started: SystemTime,
    ) -> Result<Following> {
        let clock = Instant::now();
        let (sender, receiver): (SyncSender<(Profile, Duration)>, _) = mpsc::sync_channel(1);
        let every = self.every;
        let writer = thread::Builder::new().name("live".to_owned());
        let writer =
            writer.spawn(move || self.write_all(&receiver, started)).context("cannot start a thread")?;
        let hand_over = move |profile| {
            // The next one comes soon.
            let _ = sender.try_send((profile, clock.elapsed()));
        };
        store.on_snapshot(module, every, hand_over).map_err(failure)?;
        Ok(Following(writer))
    }

    /// Writes what comes until nothing can come any more. What cannot be written is no loss yet: at the end the whole
    /// profile goes to the same file, and that says why it cannot.
    fn write_all(self, profiles: &Receiver<(Profile, Duration)>, started: SystemTime) {
        while let Ok((mut profile, wall)) = profiles.recv() {
            profile.program.clone_from(&self.program);
            profile.runs = vec![super::described(self.run.clone(), started, wall, Ending::Running)];
            let _ = profile.write(&self.path);
        }
    }
}

impl Following {
    /// Waits until the last one has been written.
    pub fn end(self) {
        // A panic there has been told.
        let _ = self.0.join();
    }
}
