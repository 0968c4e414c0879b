//! Functions for the program itself: arguments, environment, clocks, random numbers, exit.

use rustix::io::Errno;

use crate::Exit;
use crate::wasi::clocks::{Clock, nanoseconds};
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::guest::Guest;
use crate::wasi::system::System;

/// Number of random bytes generated between two checks of whether the program is to stop.
const RANDOM_CHUNK: u32 = 1 << 20;

impl System {
    pub fn args_get(&mut self, guest: &mut Guest<'_>, addresses: u32, bytes: u32) -> Outcome {
        self.args.write(guest, addresses, bytes)
    }

    pub fn args_sizes_get(&mut self, guest: &mut Guest<'_>, count: u32, size: u32) -> Outcome {
        self.args.write_sizes(guest, count, size)
    }

    pub fn environ_get(&mut self, guest: &mut Guest<'_>, addresses: u32, bytes: u32) -> Outcome {
        self.env.write(guest, addresses, bytes)
    }

    pub fn environ_sizes_get(&mut self, guest: &mut Guest<'_>, count: u32, size: u32) -> Outcome {
        self.env.write_sizes(guest, count, size)
    }

    pub fn clock_res_get(&mut self, guest: &mut Guest<'_>, id: u32, resolution: u32) -> Outcome {
        guest.write_u64(resolution, nanoseconds(self.clocks.resolution(Clock::numbered(id)?)))
    }

    pub fn clock_time_get(&mut self, guest: &mut Guest<'_>, id: u32, _precision: u64, time: u32) -> Outcome {
        guest.write_u64(time, nanoseconds(self.clocks.now(Clock::numbered(id)?)))
    }

    pub fn random_get(&mut self, guest: &mut Guest<'_>, at: u32, len: u32) -> Outcome {
        guest.check_bytes(at, len)?;
        for start in (0..len).step_by(RANDOM_CHUNK as usize) {
            guest.check()?;
            guest.put_by(at + start, RANDOM_CHUNK.min(len - start), |part| self.random.fill(part))?;
        }
        Ok(())
    }

    pub fn proc_exit(&mut self, _: &mut Guest<'_>, code: u32) -> Outcome {
        Err(Fail::End(Exit(code as i32).into()))
    }

    pub fn proc_raise(&mut self, _: &mut Guest<'_>, _signal: u32) -> Outcome {
        Err(Errno::NOTSUP.into())
    }

    pub fn sched_yield(&mut self, _: &mut Guest<'_>) -> Outcome {
        std::thread::yield_now();
        Ok(())
    }
}
