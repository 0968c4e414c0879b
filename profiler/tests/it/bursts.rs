//! Bursts against the machine of the paper, which counts at every check.

use wprof_profiler::{BurstLengths, Bursts, Version};

use crate::rng::Rng;

/// Hirzel & Chilimbi, figure 3: one piece of code for all checks.
struct Machine {
    lengths: BurstLengths,
    check: u64,
    instr: u64,
}

impl Machine {
    fn check(&mut self) -> Version {
        self.check -= 1;
        if self.check != 0 {
            return Version::Checking;
        }
        self.check = 1;
        if self.instr == 0 {
            self.instr = u64::from(self.lengths.instrumented);
            return Version::Instrumented;
        }
        self.instr -= 1;
        if self.instr != 0 {
            return Version::Instrumented;
        }
        self.check = u64::from(self.lengths.checking);
        Version::Checking
    }
}

/// What machine code does at a check of a frame in this version.
fn check(bursts: &mut Bursts, version: Version) -> Version {
    match version {
        Version::Checking => {
            bursts.checking -= 1;
            if bursts.checking >= 0 { Version::Checking } else { bursts.fired() }
        }
        Version::Instrumented => bursts.check_in_burst(),
    }
}

/// Frames on a stack, so that a burst ends in callees, and callers are left in any version.
#[test]
fn every_check_decides_as_the_machine_does() {
    let mut rng = Rng::new(3);
    for round in 0..500 {
        let lengths = BurstLengths::new(1 + rng.below(7) as u32, 1 + rng.below(7) as u32);
        let mut bursts = Bursts::new(lengths);
        let mut machine = Machine { lengths, check: u64::from(lengths.checking), instr: 0 };
        let mut frames = vec![Version::Checking];
        for _ in 0..400 {
            let top = frames.len() - 1;
            match rng.below(3) {
                0 => frames.push(frames[top]),
                1 if top > 0 => _ = frames.pop(),
                _ => {
                    frames[top] = check(&mut bursts, frames[top]);
                    assert_eq!(frames[top], machine.check(), "{round}: {lengths:?}");
                }
            }
        }
    }
}

#[test]
fn a_burst_without_end_begins_at_the_first_check_and_does_not_end() {
    for checking in [1, 2, 1000, BurstLengths::FOREVER - 1] {
        let mut bursts = Bursts::new(BurstLengths::new(checking, BurstLengths::FOREVER));
        let mut version = Version::Checking;
        for _ in 0..1000 {
            version = check(&mut bursts, version);
            assert_eq!(version, Version::Instrumented, "{checking}:inf");
        }
        assert_eq!((bursts.begun, bursts.rate().as_f64()), (1, 1.0), "{checking}:inf");
    }
}

#[test]
fn a_burst_without_end_that_is_lost_is_tried_again_at_the_next_check() {
    let mut bursts = Bursts::new(BurstLengths::new(1000, BurstLengths::FOREVER));
    assert_eq!(check(&mut bursts, Version::Checking), Version::Instrumented);
    assert_eq!(bursts.lose(), 1);
    assert_eq!(check(&mut bursts, Version::Checking), Version::Instrumented);
    assert_eq!((bursts.begun, bursts.lost, bursts.rate().counted, bursts.rate().of), (1, 1, 1, 2));
}

#[test]
fn without_an_end_of_the_time_before_there_is_no_burst() {
    let mut bursts = Bursts::new(BurstLengths::new(BurstLengths::FOREVER, BurstLengths::FOREVER));
    for _ in 0..1000 {
        assert_eq!(check(&mut bursts, Version::Checking), Version::Checking);
    }
    assert_eq!((bursts.begun, bursts.rate().counted), (0, 0));
}

#[test]
fn a_lost_burst_is_tried_again_after_as_many_checks() {
    let mut bursts = Bursts::new(BurstLengths::new(3, 2));
    let mut fired = 0;
    for _ in 0..9 {
        if check(&mut bursts, Version::Checking) == Version::Instrumented {
            fired += 1;
            bursts.lose();
        }
    }
    assert_eq!((fired, bursts.begun, bursts.lost), (3, 0, 3));
}

/// How many checks lie between the bursts that begin when some are lost: from one to the next.
#[test]
fn a_lost_burst_is_tried_again_soon_then_less_soon() {
    let mut bursts = Bursts::new(BurstLengths::new(5000, 2));
    let mut next = |is_lost: bool| {
        let mut checks = 1;
        while check(&mut bursts, Version::Checking) == Version::Checking {
            checks += 1;
        }
        match is_lost {
            true => _ = bursts.lose(),
            false => while check(&mut bursts, Version::Instrumented) == Version::Instrumented {},
        }
        checks
    };
    let lost = [true, true, true, true, true, false, true, false, false];
    let between = lost.map(&mut next);
    assert_eq!(between, [5000, 1000, 2000, 4000, 5000, 5000, 5000, 1000, 5000]);
    let rate = bursts.rate();
    assert_eq!((rate.counted, rate.of), (3 * 2, 3 * 2 + between.iter().sum::<u64>()));
}

/// Frames wait in instrumented code, for there is no checking code where they are.
#[test]
fn checks_of_waiting_frames_are_checks_outside_of_bursts() {
    let mut bursts = Bursts::new(BurstLengths::new(100, 10));
    let (mut version, mut burst, mut checks) = (Version::Checking, 0, 0_u64);
    for _ in 0..100_000 {
        checks += 1;
        let was_instrumented = version == Version::Instrumented;
        version = check(&mut bursts, version);
        burst += u64::from(bursts.counts());
        if was_instrumented && version == Version::Checking {
            bursts.wait();
            version = Version::Instrumented;
        }
        let rate = bursts.rate();
        assert_eq!(rate.of, checks, "{bursts:?}");
        assert!(rate.counted.abs_diff(burst) <= 1 + bursts.begun, "{rate:?} {burst}");
    }
    // A wait of 1,024 checks at most.
    assert!(bursts.begun > 90, "{bursts:?}");
}

/// Two pieces of code take turns, and bursts are lost in one of them, which runs for longer than the wait before the next
/// attempt.
#[test]
fn lost_bursts_stand_for_the_checks_that_no_burst_sees() {
    let mut bursts = Bursts::new(BurstLengths::new(5000, 2));
    let (mut version, mut stood_for) = (Version::Checking, 0);
    const CHECKS: u64 = 2_000_000;
    for at in 0..CHECKS {
        let was_lost = at % 50_000 < 35_000;
        version = check(&mut bursts, version);
        if version == Version::Instrumented && was_lost {
            stood_for += bursts.lose();
            version = Version::Checking;
        }
    }
    let unseen = bursts.unseen();
    assert_eq!(unseen.counted, stood_for);
    assert!((unseen.as_f64() - 0.7).abs() < 0.05, "{unseen:?}");
    let by_number = bursts.lost as f64 / (bursts.lost + bursts.begun) as f64;
    assert!(by_number > unseen.as_f64() + 0.03, "tried again soon, they are more in number: {by_number}");
}

#[test]
fn lengths_are_two_numbers() {
    let lengths = |checking, instrumented| Ok(BurstLengths::new(checking, instrumented));
    assert_eq!("1_000:50".parse(), lengths(1000, 50));
    assert_eq!("1:inf".parse(), lengths(1, BurstLengths::FOREVER));
    assert_eq!("30:2x7".parse(), lengths(30, 2).map(|lengths| lengths.growing(7)));
    for text in
        ["", "5", "0:1", "1:0", "1:-1", "1:2:3", "4294967296:1", "x:1", "1:2x", "1:2x0", "1x2:3", "1:2x3x4"]
    {
        assert!(text.parse::<BurstLengths>().is_err(), "{text}");
    }
}

#[test]
fn a_frame_that_cannot_leave_waits_without_counting() {
    let mut bursts = Bursts::new(BurstLengths::new(5000, 3));
    while check(&mut bursts, Version::Checking) == Version::Checking {}
    assert!(bursts.counts());
    while check(&mut bursts, Version::Instrumented) == Version::Instrumented {}
    // Longer and longer.
    for expected in [8, 16, 32, 64, 128, 256, 512, 1024, 1024] {
        bursts.wait();
        assert!(!bursts.counts());
        let mut waited = 1;
        while check(&mut bursts, Version::Instrumented) == Version::Instrumented {
            waited += 1;
        }
        assert_eq!(waited, expected);
    }
    // Meanwhile the next burst comes nearer in checking code.
    bursts.wait();
    while check(&mut bursts, Version::Checking) == Version::Checking {}
    assert!(bursts.counts() && bursts.begun == 2);
    // After the next burst the wait is short again.
    while check(&mut bursts, Version::Instrumented) == Version::Instrumented {}
    bursts.wait();
    assert_eq!(bursts.instrumented, 8);
}

/// The share of checks in bursts is what a log of the versions says, however often the lengths change.
#[test]
fn lengths_can_change_at_any_time() {
    let mut rng = Rng::new(5);
    for round in 0..300 {
        let mut some = || BurstLengths::new(1 + rng.below(9) as u32, 1 + rng.below(9) as u32);
        let (mut bursts, mut version) = (Bursts::new(some()), Version::Checking);
        let changes = [some(), some(), BurstLengths::new(BurstLengths::FOREVER, 3), some()];
        let (mut seen, mut passed) = (0, 0);
        for lengths in changes {
            for _ in 0..rng.below(60) {
                version = check(&mut bursts, version);
                // The check that begins a burst is in it, that at which it ends is not.
                match bursts.counts() {
                    true => seen += 1,
                    false => passed += 1,
                }
            }
            bursts.set_lengths(lengths);
            assert!(!bursts.counts());
            assert_eq!(bursts.lengths(), lengths);
            let rate = bursts.rate();
            assert_eq!((rate.counted, rate.of), (seen, seen + passed), "{round}");
        }
    }
}

/// The checks of a phase in this version, from its first one on.
fn phase(bursts: &mut Bursts, version: Version) -> u64 {
    1 + (0..).take_while(|_| check(bursts, version) == version).count() as u64
}

#[test]
fn phases_grow_after_every_256_bursts_and_the_share_of_checks_in_bursts_stays() {
    let first = BurstLengths::new(7, 3).growing(10);
    let (mut bursts, mut by_length) = (Bursts::new(first), 0);
    for scale in [1, 2, 4, 8, 10, 10, 10] {
        for _ in 0..256 {
            assert_eq!(phase(&mut bursts, Version::Checking), 7 * scale);
            by_length += scale;
            assert_eq!(bursts.begun_by_length, by_length);
            assert_eq!(phase(&mut bursts, Version::Instrumented), 3 * scale);
            let rate = bursts.rate();
            assert_eq!((rate.counted, rate.of), (3 * by_length, 10 * by_length));
            assert!(scale > 1 || bursts.independent() == bursts.begun);
        }
    }
    // The 256 times 1, 2, 4, 8, and 768 times 10.
    assert_eq!(bursts.independent(), 11_520 * 11_520 / (256 * 85 + 768 * 100));
    // A lost burst does not count.
    assert_eq!(phase(&mut bursts, Version::Checking), 70);
    bursts.lose();
    assert_eq!((bursts.begun_by_length, bursts.rate().counted), (by_length, 3 * by_length));
    // New lengths begin anew.
    bursts.set_lengths(first);
    assert_eq!(phase(&mut bursts, Version::Checking), 7);
    assert_eq!(phase(&mut bursts, Version::Instrumented), 3);
}

#[test]
fn a_burst_that_is_put_off_comes_later_and_all_checks_are_counted() {
    let mut bursts = Bursts::new(BurstLengths::new(7, 3));
    assert!((0..6).all(|_| check(&mut bursts, Version::Checking) == Version::Checking));
    // The next check would begin a burst.
    bursts.checking -= 1;
    bursts.put_off(2);
    assert_eq!(phase(&mut bursts, Version::Checking), 14);
    assert_eq!((bursts.begun, bursts.lost, bursts.checks_between()), (1, 0, 21));
    assert_eq!(phase(&mut bursts, Version::Instrumented), 3);
    assert_eq!((bursts.rate().counted, bursts.rate().of), (3, 24));
    assert_eq!(phase(&mut bursts, Version::Checking), 7);
}

#[test]
fn of_a_burst_that_is_cut_the_checks_that_it_had_are_counted() {
    let mut bursts = Bursts::new(BurstLengths::new(7, 3));
    assert_eq!(phase(&mut bursts, Version::Checking), 7);
    assert_eq!(check(&mut bursts, Version::Instrumented), Version::Instrumented);
    bursts.cut();
    assert!(!bursts.counts());
    assert_eq!((bursts.rate().counted, bursts.rate().of), (1, 8));
    assert_eq!(phase(&mut bursts, Version::Checking), 7);
    assert_eq!((bursts.begun, bursts.lost, bursts.rate().of), (2, 0, 15));
}

#[test]
fn without_bursts_none_begins() {
    let lengths = BurstLengths::new(BurstLengths::FOREVER, 1);
    let mut bursts = Bursts::new(lengths);
    assert!((0..1000).all(|_| check(&mut bursts, Version::Checking) == Version::Checking));
    // A timer makes the next check fire.
    assert_eq!(bursts.fired(), Version::Instrumented);
    assert_eq!((bursts.begun, bursts.counts()), (1, true));
}

/// Programs of a few checks each, one going on where the one before has ended.
#[test]
fn short_programs_have_the_bursts_of_a_long_one() {
    let lengths = BurstLengths::new(50, 1);
    let bursts_of = |programs: u32, checks: u32| {
        let (mut passed, mut begun, mut of) = (0, 0, 0);
        for _ in 0..programs {
            let mut bursts = Bursts::new(lengths);
            passed -= bursts.go_on_from(passed);
            let mut version = Version::Checking;
            (0..checks).for_each(|_| version = check(&mut bursts, version));
            passed += bursts.passed_since_burst();
            begun += bursts.begun;
            of += bursts.rate().of;
        }
        (begun, of)
    };
    let long = bursts_of(1, 7000);
    assert_eq!(long, (7000 / 51, 7000));
    // The check that ends a burst belongs to no burst; a program that ends before it leaves one check less.
    let short = bursts_of(1000, 7);
    assert!(short.0.abs_diff(long.0) <= 3 && short.1 == 7000, "{short:?}");
    assert_eq!(Bursts::new(lengths).go_on_from(1000), 49, "one check is left");
    let never = BurstLengths::new(BurstLengths::FOREVER, 1);
    assert_eq!((Bursts::new(never).go_on_from(9), Bursts::new(never).passed_since_burst()), (0, 0));
}
