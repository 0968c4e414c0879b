//! The simulated branch predictor against one that keeps tables and ways written out, and by hand.

use std::collections::HashMap;

use wprof_profiler::{BranchPredictor, HISTORY, mixed};

use crate::rng::Rng;

/// By place and last ways, as text, how far the counter leans; only those that were changed.
#[derive(Default)]
struct WrittenOut {
    counters: HashMap<u32, i32>,
    ways: String,
}

impl WrittenOut {
    fn predict(&mut self, place: u32, is_taken: bool) -> bool {
        let last = &self.ways[self.ways.len().saturating_sub(HISTORY as usize)..];
        let last = if last.is_empty() { 0 } else { u32::from_str_radix(last, 2).expect("ones and zeros") };
        let counter = self.counters.entry(mixed(place) ^ last).or_insert(-1);
        let guess = *counter > 0;
        // From -2, surely not, to 2, surely; there is no middle.
        *counter = match (*counter, is_taken) {
            (-2, true) => -1,
            (-1, true) => 1,
            (1, false) => -1,
            (2, false) => 1,
            (_, true) => 2,
            (_, false) => -2,
        };
        self.ways.push(if is_taken { '1' } else { '0' });
        guess == is_taken
    }
}

#[test]
fn guesses_are_those_of_a_predictor_written_out() {
    let mut rng = Rng::new(7);
    let (mut predictor, mut stupid) = (BranchPredictor::default(), WrittenOut::default());
    let mut outcomes = [0; 2];
    for round in 0..30_000_u64 {
        let place = (rng.next() % 40) as u32 * 5;
        let is_taken = match place % 3 {
            0 => round % 3 == 0,
            1 => !rng.next().is_multiple_of(8),
            _ => rng.next().is_multiple_of(2),
        };
        let is_guessed = predictor.predict(place, is_taken);
        assert_eq!(is_guessed, stupid.predict(place, is_taken), "round {round}");
        outcomes[usize::from(is_guessed)] += 1;
    }
    assert!(outcomes.iter().all(|&count| count > 3000), "{outcomes:?}");
}

#[test]
fn patterns_are_learned_and_coins_are_not() {
    let missed = |mut way: Box<dyn FnMut(u64) -> bool>| {
        let mut predictor = BranchPredictor::default();
        (0..10_000).filter(|&round| !predictor.predict(77, way(round))).count()
    };
    assert!(missed(Box::new(|_| true)) < 40);
    assert!(missed(Box::new(|round| round % 5 == 0)) < 100);
    let mut rng = Rng::new(3);
    let coin = missed(Box::new(move |_| rng.next().is_multiple_of(2)));
    assert!((4500..5500).contains(&coin), "{coin}");
}
