//! Hot data streams: lists that are walked again and again, apart from what is touched at random.

use wprof_profiler::{DataStreams, DataStreamsBuilder};

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
            assert!((10..=40).contains(&signature.sites.len()) && signature.streams > 0);
            assert_eq!(signature.heat, signature.times * signature.sites.len() as u64);
        }
    }
}

#[test]
fn what_never_repeats_is_no_stream() {
    let mut builder = DataStreamsBuilder::new(u64::MAX);
    (0..1000).for_each(|at| builder.add(7, at * 8));
    let streams = builder.finish(&(10..=40), 0.9);
    assert_eq!(streams, DataStreams { references: 1000, ..DataStreams::default() });
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
