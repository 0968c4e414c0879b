//! The option `--live`: writes profiles of a running program to a file repeatedly.
//!
//! The program hands over a profile and continues; a separate thread writes it. While that thread is busy with one
//! profile, others are dropped.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use wprof::wasi::WasiCtx;
use wprof::{Module, Store};
use wprof_profiler::{Ending, Profile, Run};

use crate::modules::failure;

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
pub struct Following(JoinHandle<()>);

impl Live {
    /// Starts writing profiles of `store`, whose program started at `started`.
    ///
    /// # Errors
    /// Returns an error if the profile is not adaptive, or the system provides no thread.
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
            // If the channel is full, the profile is dropped: the next one comes soon.
            let _ = sender.try_send((profile, clock.elapsed()));
        };
        store.on_snapshot(module, every, hand_over).map_err(failure)?;
        Ok(Following(writer))
    }

    /// Writes profiles until the channel closes. A failed write loses nothing yet: at the end the whole profile goes to
    /// the same file, and an error there is reported.
    fn write_all(self, profiles: &Receiver<(Profile, Duration)>, started: SystemTime) {
        while let Ok((mut profile, wall)) = profiles.recv() {
            profile.program.clone_from(&self.program);
            profile.runs = vec![super::described(self.run.clone(), started, wall, Ending::Running)];
            let _ = profile.write(&self.path);
        }
    }
}

impl Following {
    /// Waits until the last profile has been written.
    pub fn end(self) {
        // A panic of the thread has been reported.
        let _ = self.0.join();
    }
}
