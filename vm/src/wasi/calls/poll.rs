//! `poll_oneoff`: waits for clocks and for files.
//!
//! A program may name the same clock or file any number of times. The list is read twice, before and after
//! waiting, and the memory that this takes is bounded by the table of descriptors, not by the list.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::fstat;
use rustix::io::Errno;

use crate::wasi::clocks::{Clock, Clocks, nanoseconds};
use crate::wasi::constants::event;
use crate::wasi::descriptors::{Descriptor, What};
use crate::wasi::fail::{Outcome, number};
use crate::wasi::guest::{ELEMENTS_PER_CHECK, Guest, Preview, Record};
use crate::wasi::host_file::{HostFile, Shape};
use crate::wasi::system::System;
use crate::wasi::wait::wait_until;

/// A subscription of the program.
struct Subscription {
    /// Returned with the event.
    userdata: u64,
    wish: Wish,
}

enum Wish {
    Clock { clock: Clock, time: u64, is_absolute: bool },
    Read(u32),
    Write(u32),
}

/// The files to wait for, by descriptor and direction, with the resulting flags.
type Files = BTreeMap<(u32, bool), PollFlags>;

/// The times at which a call begins, and the earliest deadline of each clock.
struct Times {
    begin: [u64; 2],
    first: [Option<u64>; 2],
}

/// The clocks that a program can wait for.
const CLOCKS: [Clock; 2] = [Clock::Realtime, Clock::Monotonic];

impl System {
    pub fn poll_oneoff(
        &mut self,
        guest: &mut Guest<'_>,
        list: u32,
        events: u32,
        count: u32,
        happened: u32,
    ) -> Outcome {
        if count == 0 {
            return Err(Errno::INVAL.into());
        }
        let size = subscription_size(guest.preview());
        let list = guest.array(list, count, size, 8)?;
        guest.array(events, count, EVENT_SIZE, 8)?;
        let mut times = Times::begin(guest, &*self.clocks);
        let mut files = self.wanted(guest, &list, count, &mut times)?;
        self.wait_for_first(guest, &mut files, &times)?;
        let number = self.write_events(guest, &list, count, events, &files, &times)?;
        guest.write_u32(happened, number)
    }

    /// Collects everything that a list names.
    fn wanted(
        &self,
        guest: &mut Guest<'_>,
        list: &Range<usize>,
        count: u32,
        times: &mut Times,
    ) -> Outcome<Files> {
        let mut files = Files::new();
        each(guest, list, count, |_, subscription| {
            match subscription.wish {
                Wish::Clock { clock, time, is_absolute } => times.add(clock, time, is_absolute)?,
                Wish::Read(fd) => self.want(&mut files, fd, false)?,
                Wish::Write(fd) => self.want(&mut files, fd, true)?,
            }
            Ok(())
        })?;
        Ok(files)
    }

    fn want(&self, files: &mut Files, fd: u32, is_write: bool) -> Result<(), Errno> {
        if let What::Folder(_) = self.descriptors.get(fd)?.what {
            return Err(Errno::BADF);
        }
        files.insert((fd, is_write), PollFlags::empty());
        Ok(())
    }

    /// Waits until something has happened, and records the state of the files.
    fn wait_for_first(&self, guest: &Guest<'_>, files: &mut Files, times: &Times) -> Outcome {
        let is_ready_at_once = files.keys().any(|&(fd, _)| self.waitable(fd).is_none());
        let waited = files.iter_mut().filter_map(|(&(fd, is_write), state)| {
            let events = if is_write { PollFlags::OUT } else { PollFlags::IN };
            Some((PollFd::new(self.waitable(fd)?, events), state))
        });
        let (mut fds, states): (Vec<_>, Vec<_>) = waited.unzip();
        let left = || if is_ready_at_once { Some(Duration::ZERO) } else { times.left(&*self.clocks) };
        wait_until(guest, &*self.clocks, &mut fds, left)?;
        fds.iter().zip(states).for_each(|(fd, state)| *state = fd.revents());
        Ok(())
    }

    /// Returns the file of a descriptor if reading or writing it may wait.
    fn waitable(&self, fd: u32) -> Option<&HostFile> {
        match self.descriptors.file(fd) {
            Ok((_, file)) if file.may_wait() => Some(file),
            _ => None,
        }
    }

    /// Reads the list again and writes the events that have happened.
    fn write_events(
        &self,
        guest: &mut Guest<'_>,
        list: &Range<usize>,
        count: u32,
        at: u32,
        files: &Files,
        times: &Times,
    ) -> Outcome<u32> {
        let (now, mut written) = (CLOCKS.map(|clock| nanoseconds(self.clocks.now(clock))), 0);
        each(guest, list, count, |guest, Subscription { userdata, wish }| {
            let record = Record::<{ EVENT_SIZE as usize }>::new().u64(0, userdata);
            let record = match wish {
                Wish::Clock { clock, time, is_absolute } => {
                    let (index, end) = times.end(clock, time, is_absolute)?;
                    (now[index] >= end).then(|| record.u8(10, event::CLOCK))
                }
                Wish::Read(fd) => {
                    self.happened(files, fd, false)?.map(|state| state.write(record.u8(10, event::FD_READ)))
                }
                Wish::Write(fd) => {
                    self.happened(files, fd, true)?.map(|state| state.write(record.u8(10, event::FD_WRITE)))
                }
            };
            if let Some(record) = record {
                guest.write(at + written * EVENT_SIZE, 8, &record)?;
                written += 1;
            }
            Ok(())
        })?;
        Ok(written)
    }

    /// Returns the state of a file, if an event has happened.
    fn happened(&self, files: &Files, fd: u32, is_write: bool) -> Result<Option<State>, Errno> {
        let descriptor = self.descriptors.get(fd)?;
        let state = match &descriptor.what {
            What::File(file) if file.may_wait() => {
                let flags = files.get(&(fd, is_write)).copied().unwrap_or(PollFlags::empty());
                return Ok((!flags.is_empty()).then(|| State::new(file, flags, is_write)));
            }
            What::File(file) if !is_write => State::reading(left_in(descriptor, file)?),
            What::Input(input) if !is_write => {
                State::reading((input.get_ref().len() as u64).saturating_sub(input.position()))
            }
            _ => State { error: 0, len: 1, flags: 0 },
        };
        Ok(Some(state))
    }
}

/// Returns how many bytes follow the position of a file that never waits.
fn left_in(descriptor: &Descriptor, file: &HostFile) -> Result<u64, Errno> {
    if file.shape == Shape::Sequential {
        // Only the system knows the position of the process in it.
        return Ok(rustix::io::ioctl_fionread(file).unwrap_or(1));
    }
    let size = u64::try_from(fstat(file)?.st_size).unwrap_or(0);
    Ok(size.saturating_sub(descriptor.position))
}

const EVENT_SIZE: u32 = 32;

fn subscription_size(preview: Preview) -> u32 {
    match preview {
        Preview::Zero => 56,
        Preview::One => 48,
    }
}

/// Calls `act` for each subscription of a list.
fn each(
    guest: &mut Guest<'_>,
    list: &Range<usize>,
    count: u32,
    mut act: impl FnMut(&mut Guest<'_>, Subscription) -> Outcome,
) -> Outcome {
    for index in 0..count {
        if index % ELEMENTS_PER_CHECK == ELEMENTS_PER_CHECK - 1 {
            guest.check()?;
        }
        let subscription = match guest.preview() {
            Preview::Zero => Subscription::of_preview0(&guest.read(list, index))?,
            Preview::One => Subscription::of_preview1(&guest.read(list, index))?,
        };
        act(guest, subscription)?;
    }
    Ok(())
}

impl Subscription {
    fn of_preview1(record: &Record<48>) -> Result<Subscription, Errno> {
        let clock = || Wish::clock(record.get_u32(16), record.get_u64(24), record.get_u16(40));
        Subscription::new(record, clock)
    }

    fn of_preview0(record: &Record<56>) -> Result<Subscription, Errno> {
        let clock = || Wish::clock(record.get_u32(24), record.get_u64(32), record.get_u16(48));
        Subscription::new(record, clock)
    }

    fn new<const N: usize>(
        record: &Record<N>,
        clock: impl Fn() -> Result<Wish, Errno>,
    ) -> Result<Subscription, Errno> {
        let wish = match record.0[8] {
            event::CLOCK => clock()?,
            event::FD_READ => Wish::Read(record.get_u32(16)),
            event::FD_WRITE => Wish::Write(record.get_u32(16)),
            _ => return Err(Errno::INVAL),
        };
        Ok(Subscription { userdata: record.get_u64(0), wish })
    }
}

impl Wish {
    fn clock(id: u32, time: u64, flags: u16) -> Result<Wish, Errno> {
        let clock = Clock::numbered(id)?;
        // The CPU time of a waiting thread stands still, so the wait would never end.
        if !CLOCKS.contains(&clock) || flags & !event::ABSTIME != 0 {
            return Err(Errno::INVAL);
        }
        Ok(Wish::Clock { clock, time, is_absolute: flags & event::ABSTIME != 0 })
    }
}

impl Times {
    fn begin(guest: &mut Guest<'_>, clocks: &dyn Clocks) -> Times {
        let now = CLOCKS.map(|clock| nanoseconds(clocks.now(clock)));
        Times { begin: guest.began(now), first: [None; 2] }
    }

    /// Returns the index of the clock, and the time at which the subscription is due.
    fn end(&self, clock: Clock, time: u64, is_absolute: bool) -> Result<(usize, u64), Errno> {
        let index = CLOCKS.iter().position(|&known| known == clock).ok_or(Errno::INVAL)?;
        Ok((index, if is_absolute { time } else { self.begin[index].saturating_add(time) }))
    }

    fn add(&mut self, clock: Clock, time: u64, is_absolute: bool) -> Result<(), Errno> {
        let (index, end) = self.end(clock, time, is_absolute)?;
        self.first[index] = Some(self.first[index].map_or(end, |first| first.min(end)));
        Ok(())
    }

    /// Returns the time left until the earliest deadline; `None` if there is none.
    fn left(&self, clocks: &dyn Clocks) -> Option<Duration> {
        let left = CLOCKS.iter().zip(self.first).filter_map(|(&clock, first)| {
            Some(Duration::from_nanos(first?.saturating_sub(nanoseconds(clocks.now(clock)))))
        });
        left.min()
    }
}

/// The state of a file in an event.
struct State {
    /// WASI's error number.
    error: u16,
    /// Number of readable bytes; 1 if there are some but their number is unknown.
    len: u64,
    flags: u16,
}

impl State {
    fn reading(len: u64) -> State {
        State { error: 0, len, flags: if len == 0 { event::HANGUP } else { 0 } }
    }

    fn new(file: &HostFile, events: PollFlags, is_write: bool) -> State {
        if events.contains(PollFlags::NVAL) {
            return State { error: number(Errno::BADF) as u16, len: 0, flags: 0 };
        }
        let is_over = events.intersects(PollFlags::HUP | PollFlags::ERR);
        let len = match events.contains(PollFlags::IN) {
            // If the system cannot count the bytes, at least one is readable.
            true if !is_write => rustix::io::ioctl_fionread(file).unwrap_or(1),
            _ => u64::from(is_write),
        };
        State { error: 0, len, flags: if is_over { event::HANGUP } else { 0 } }
    }

    fn write<const N: usize>(&self, record: Record<N>) -> Record<N> {
        record.u16(8, self.error).u64(16, self.len).u16(24, self.flags)
    }
}
