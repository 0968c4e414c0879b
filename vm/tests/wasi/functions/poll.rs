//! `poll_oneoff`, and clocks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wprof::wasi::{Clock, Clocks};

use super::*;

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;

const CLOCK: u8 = 0;
const FD_READ: u8 = 1;
const FD_WRITE: u8 = 2;
const HANGUP: u16 = 1;

fn clock(preview: Preview, userdata: u64, id: u32, timeout: u64, flags: u16) -> Vec<u8> {
    let mut record = vec![0; if preview == Preview::One { 48 } else { 56 }];
    // Preview 0 has an unused identifier before the clock.
    let at = if preview == Preview::One { 16 } else { 24 };
    record[..8].copy_from_slice(&userdata.to_le_bytes());
    record[at..at + 4].copy_from_slice(&id.to_le_bytes());
    record[at + 8..at + 16].copy_from_slice(&timeout.to_le_bytes());
    record[at + 24..at + 26].copy_from_slice(&flags.to_le_bytes());
    record
}

fn file(preview: Preview, userdata: u64, fd: u32, tag: u8) -> Vec<u8> {
    let mut record = vec![0; if preview == Preview::One { 48 } else { 56 }];
    record[..8].copy_from_slice(&userdata.to_le_bytes());
    record[8] = tag;
    record[16..20].copy_from_slice(&fd.to_le_bytes());
    record
}

/// The result of a subscription.
#[derive(Debug, PartialEq, Eq)]
struct Event {
    userdata: u64,
    error: u16,
    tag: u8,
    len: u64,
    flags: u16,
}

fn poll(program: &mut Program, subscriptions: &[Vec<u8>]) -> Result<Vec<Event>, u32> {
    const EVENTS: u32 = BUFFER + (64 << 10);
    let (at, _) = program.put(BUFFER, &subscriptions.concat());
    let count = subscriptions.len() as u32;
    match program.call(|wasi, guest| wasi.poll_oneoff(guest, at, EVENTS, count, RESULT)) {
        errno::SUCCESS => {
            Ok((0..program.u32(RESULT)).map(|index| event(program, EVENTS + 32 * index)).collect())
        }
        errno => Err(errno),
    }
}

fn event(program: &Program, at: u32) -> Event {
    let padding = [program.bytes(at + 11, 5), program.bytes(at + 26, 6)].concat();
    assert_eq!(padding, [0; 11]);
    Event {
        userdata: program.u64(at),
        error: program.u16(at + 8),
        tag: program.bytes(at + 10, 1)[0],
        len: program.u64(at + 16),
        flags: program.u16(at + 24),
    }
}

fn tick(userdata: u64) -> Event {
    Event { userdata, error: 0, tag: CLOCK, len: 0, flags: 0 }
}

fn ready(userdata: u64, tag: u8, len: u64, flags: u16) -> Event {
    Event { userdata, error: 0, tag, len, flags }
}

#[test]
fn clocks_wake_at_a_time_or_after_one() {
    const WAIT: Duration = Duration::from_millis(30);
    let wait = WAIT.as_nanos() as u64;
    let mut program = Program::new(&mut WasiCtxBuilder::new());
    for preview in [Preview::One, Preview::Zero] {
        program.preview = preview;
        for id in [REALTIME, MONOTONIC] {
            for is_absolute in [false, true] {
                assert_eq!(
                    program.call(|wasi, guest| wasi.clock_time_get(guest, id, 0, RESULT)),
                    errno::SUCCESS
                );
                let now = if is_absolute { program.u64(RESULT) } else { 0 };
                let begin = Instant::now();
                let never = clock(preview, 1, id, u64::MAX, u16::from(is_absolute));
                let soon = clock(preview, 2, id, now + wait, u16::from(is_absolute));
                assert_eq!(
                    poll(&mut program, &[never, soon]),
                    Ok(vec![tick(2)]),
                    "{preview:?} {id} {is_absolute}"
                );
                // The realtime clock may be adjusted slightly while the test runs.
                assert!(begin.elapsed() >= WAIT - Duration::from_millis(10) * u32::from(id == REALTIME));
            }
        }
        // A time in the past is ready at once.
        let over = clock(preview, 5, REALTIME, 1, 1);
        assert_eq!(
            poll(&mut program, &[over, clock(preview, 6, MONOTONIC, 0, 0)]),
            Ok(vec![tick(5), tick(6)])
        );
    }
}

#[test]
fn clocks_of_processor_time_are_read_but_not_waited_for() {
    let mut program = Program::new(&mut WasiCtxBuilder::new());
    let mut get = |id| match program.call(|wasi, guest| wasi.clock_time_get(guest, id, 0, RESULT)) {
        errno::SUCCESS => Ok(program.u64(RESULT)),
        errno => Err(errno),
    };
    let before = [2, 3].map(&mut get);
    let sum = (0..3_000_000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
    let after = [2, 3].map(&mut get);
    assert!(before[0] < after[0] && before[1] < after[1], "{before:?} {after:?} {sum}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_nanos() as u64;
    assert!(get(REALTIME).expect("there is one").abs_diff(now) < 10_000_000_000);
    assert_eq!(get(4), Err(errno::INVAL));
    for id in 0..4 {
        assert_eq!(program.call(|wasi, guest| wasi.clock_res_get(guest, id, RESULT)), errno::SUCCESS);
        assert!((1..100_000_000).contains(&program.u64(RESULT)));
    }
    for id in [2, 3, 4] {
        assert_eq!(poll(&mut program, &[clock(Preview::One, 1, id, 0, 0)]), Err(errno::INVAL));
    }
    assert_eq!(poll(&mut program, &[clock(Preview::One, 1, MONOTONIC, 0, 2)]), Err(errno::INVAL));
    assert_eq!(poll(&mut program, &[]), Err(errno::INVAL));
    assert_eq!(poll(&mut program, &[file(Preview::One, 1, 0, 3)]), Err(errno::INVAL));
}

#[test]
fn files_and_streams_in_memory_are_ready() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_dir(&folder, "/")?.stdin_bytes("input"));
    let disk = program.create("f", b"1234567");
    for preview in [Preview::One, Preview::Zero] {
        program.preview = Preview::One;
        assert_eq!(program.seek(disk, 3, 0), Ok(3));
        program.preview = preview;
        let all = [(0, FD_READ), (1, FD_WRITE), (disk, FD_READ), (disk, FD_WRITE)];
        let mut all: Vec<_> = (7..).zip(all).map(|(data, (fd, tag))| file(preview, data, fd, tag)).collect();
        all.push(clock(preview, 1, MONOTONIC, 3_600_000_000_000, 0));
        let expected = [
            ready(7, FD_READ, 5, 0),
            ready(8, FD_WRITE, 1, 0),
            ready(9, FD_READ, 4, 0),
            ready(10, FD_WRITE, 1, 0),
        ];
        assert_eq!(poll(&mut program, &all), Ok(expected.into()));
    }
    program.preview = Preview::One;
    assert_eq!(program.read(0, 100), Ok(b"input".to_vec()));
    assert_eq!(
        poll(&mut program, &[file(Preview::One, 7, 0, FD_READ)]),
        Ok(vec![ready(7, FD_READ, 0, HANGUP)])
    );
    for fd in [ROOT, 99] {
        assert_eq!(poll(&mut program, &[file(Preview::One, 1, fd, FD_READ)]), Err(errno::BADF));
    }
    Ok(())
}

#[test]
fn connections_are_waited_for_together_with_clocks() -> Outcome {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_socket(theirs)?);
    let (socket, soon) = (file(Preview::One, 1, 3, FD_READ), clock(Preview::One, 2, MONOTONIC, 5_000_000, 0));
    assert_eq!(poll(&mut program, &[socket.clone(), soon]), Ok(vec![tick(2)]));
    let late = clock(Preview::One, 2, MONOTONIC, 3_600_000_000_000, 0);
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        std::io::Write::write_all(&mut &ours, b"hello").map(|()| ours)
    });
    assert_eq!(poll(&mut program, &[late.clone(), socket.clone()]), Ok(vec![ready(1, FD_READ, 5, 0)]));
    // The same subscription twice, and one that is writable at once.
    let both = [socket.clone(), socket.clone(), file(Preview::One, 3, 3, FD_WRITE), late];
    let expected = [ready(1, FD_READ, 5, 0), ready(1, FD_READ, 5, 0), ready(3, FD_WRITE, 1, 0)];
    assert_eq!(poll(&mut program, &both), Ok(expected.into()));
    drop(writer.join().expect("it does not panic")?);
    assert_eq!(program.read(3, 10), Ok(b"hello".to_vec()));
    assert_eq!(poll(&mut program, &[socket]), Ok(vec![ready(1, FD_READ, 0, HANGUP)]));
    Ok(())
}

/// A clock that advances only when somebody waits.
struct Virtual(AtomicU64);

impl Clocks for Virtual {
    fn resolution(&self, _: Clock) -> Duration {
        Duration::from_nanos(7)
    }

    fn now(&self, clock: Clock) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)) * if clock == Clock::Realtime { 2 } else { 1 }
    }

    fn pass(&self, time: Duration) -> bool {
        self.0.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        true
    }
}

#[test]
fn clocks_can_be_replaced() {
    let mut program = Program::new(WasiCtxBuilder::new().clocks(Virtual(AtomicU64::new(1000))));
    let hour = clock(Preview::One, 1, MONOTONIC, 3_600_000_000_000, 0);
    assert_eq!(poll(&mut program, &[hour]), Ok(vec![tick(1)]));
    for (id, expected) in [(REALTIME, 2 * 3_600_000_001_000), (MONOTONIC, 3_600_000_001_000)] {
        assert_eq!(program.call(|wasi, guest| wasi.clock_time_get(guest, id, 0, RESULT)), errno::SUCCESS);
        assert_eq!(program.u64(RESULT), expected);
    }
}
