//! Hot data streams: lists that are walked again and again, apart from what is touched at random.

use wprof_profiler::{DataStreams, DataStreamsBuilder, OutsideStreams};

use crate::rng::Rng;

/// Walks through two lists of ten nodes by two loops of two loads each, among random accesses.
fn walks(rounds: usize, noise: usize, interrupted: bool) -> DataStreams {
    let mut rng = Rng::new(4);
    let mut builder = DataStreamsBuilder::new(u64::MAX);
    for round in 0..rounds {
        let list = round as u64 % 2;
        for node in 0..10_u64 {
            let address = 0x1000 * (list + 1) + node * 48 % 31 * 16;
            builder.add(100 + list as u32 * 10, address);
            builder.add(101 + list as u32 * 10, address + 8);
        }
        (0..noise).for_each(|_| builder.add(500, rng.next()));
        if interrupted {
            builder.interrupt();
        }
    }
    builder.finish(&(10..=40), 0.9)
}

#[test]
fn walks_through_lists_are_streams() {
    for interrupted in [false, true] {
        let streams = walks(200, 1, interrupted);
        assert_eq!(streams.references, 200 * 21);
        let heat: u64 = streams.signatures.iter().map(|signature| signature.heat).sum();
        assert!(heat as f64 >= 0.9 * streams.references as f64, "{streams:?}");
        for signature in &streams.signatures {
            let sites: Vec<u32> = [100, 101, 110, 111].to_vec();
            assert!(signature.sites.iter().all(|site| sites.contains(site)), "{signature:?}");
            assert!((10..=40).contains(&(signature.heat / signature.times)) && signature.streams > 0);
            assert!(signature.is_loop || signature.heat == signature.times * signature.sites.len() as u64);
        }
        let hottest = &streams.signatures[0];
        assert!(hottest.is_loop && hottest.sites.len() == 2, "{hottest:?}");
    }
}

#[test]
fn what_never_repeats_is_no_stream() {
    let mut builder = DataStreamsBuilder::new(u64::MAX);
    (0..1000).for_each(|at| builder.add(7, at * 8));
    let streams = builder.finish(&(10..=40), 0.9);
    let missed = Some(OutsideStreams { once: 1000, short: 0 });
    assert_eq!(streams, DataStreams { references: 1000, missed, ..DataStreams::default() });
}

/// Goes round a list of `nodes` nodes, from the given one on, by a loop with three loads.
fn round_and_round(nodes: u64, first: u64, steps: u64) -> DataStreams {
    let mut builder = DataStreamsBuilder::new(u64::MAX);
    for step in first..first + steps {
        let site = [7, 5, 9][step as usize % 3];
        builder.add(site, step % (3 * nodes) * 8);
    }
    builder.finish(&(10..=40), 0.9)
}

#[test]
fn one_walk_is_one_stream_wherever_it_is_cut() {
    let long = round_and_round(5000, 0, 40 * 15_000);
    let [all] = &long.signatures[..] else { panic!("{:?}", long.signatures) };
    assert_eq!((&all.sites[..], all.is_loop), (&[5, 9, 7][..], true));
    assert!(all.heat as f64 >= 0.9 * long.references as f64 && long.missed.is_none());
    // Another list, another beginning: the same loop.
    for first in 0..3 {
        let other = round_and_round(31, first, 10_000);
        assert_eq!(other.signatures[0].sites, [5, 9, 7]);
        assert!(long.overlap(&other) > 0.85, "{}", long.overlap(&other));
    }
}

#[test]
fn what_is_missed_repeats_too_little_or_not_at_all() {
    // Four references that come again among six that do not.
    let mut builder = DataStreamsBuilder::new(u64::MAX);
    for at in 0..100_u64 {
        (0..4).for_each(|site| builder.add(site, u64::from(site)));
        (0..6).for_each(|other| builder.add(9, 1000 + 6 * at + other));
        builder.interrupt();
    }
    let streams = builder.finish(&(10..=40), 0.9);
    assert_eq!(streams.missed, Some(OutsideStreams { once: 600, short: 400 }));
}

#[test]
fn a_limit_ends_the_reading() {
    let mut builder = DataStreamsBuilder::new(100);
    (0..1000).for_each(|at| builder.add(7, at % 10));
    assert!(builder.is_full());
    assert_eq!(builder.finish(&(10..=40), 0.9).references, 100);
}

#[test]
fn overlap_is_of_shares_by_signature() {
    let (long, short) = (walks(200, 1, true), walks(120, 2, true));
    assert!((long.overlap(&long) - share(&long)).abs() < 1e-12);
    assert!(long.overlap(&short) > 0.3 && long.overlap(&short) <= share(&short) + 1e-12);
    assert_eq!(long.overlap(&short), short.overlap(&long));
    assert_eq!(long.overlap(&DataStreams::default()), 0.0);
}

fn share(streams: &DataStreams) -> f64 {
    let heat: u64 = streams.signatures.iter().map(|signature| signature.heat).sum();
    heat as f64 / streams.references as f64
}
