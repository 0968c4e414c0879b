//! Grammars: they expand to what went in, repeat nothing, and count as counting in the sequence does.

use std::collections::HashMap;

use wprof_profiler::{Compressor, Grammar, OutsideStreams, Parts, Stream, Symbol};

use crate::rng::Rng;

fn compressed(sequence: &[u32], window: usize) -> Grammar {
    let mut compressor = Compressor::new(window);
    sequence.iter().for_each(|&item| compressor.push(item));
    compressor.finish()
}

/// A sequence with repetitions in repetitions.
fn random_sequence(rng: &mut Rng, length: usize) -> Vec<u32> {
    let letters = 2 + rng.below(6) as u32;
    let mut sequence = vec![0];
    while sequence.len() < length {
        if rng.once_in(3) {
            let from = rng.below(sequence.len());
            let to = from + 1 + rng.below((sequence.len() - from).min(40));
            sequence.extend_from_within(from..to);
        } else {
            sequence.push(rng.below(letters as usize) as u32);
        }
    }
    sequence
}

#[test]
fn the_papers_example() {
    let text = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    let grammar = compressed(&text("abcdbcabcdbc"), usize::MAX);
    // S -> A A, A -> a B d B, B -> b c, as in figure 1 of Nevill-Manning & Witten.
    let (a, b) = (Symbol::rule(1), Symbol::rule(2));
    let [letter_a, letter_b, c, d] = [97, 98, 99, 100].map(Symbol::item);
    assert_eq!(grammar.rules(), [vec![a, a], vec![letter_a, b, d, b], vec![letter_b, c]]);
    assert_eq!((grammar.length(), grammar.size(), grammar.times()), (12, 8, vec![1, 2, 4]));
}

#[test]
fn all_short_sequences_expand_to_themselves_and_repeat_nothing() {
    for (letters, length) in [(2_usize, 13_u32), (3, 9), (4, 7)] {
        for number in 0..letters.pow(length) {
            let sequence: Vec<u32> =
                (0..length).map(|place| (number / letters.pow(place) % letters) as u32).collect();
            let grammar = compressed(&sequence, usize::MAX);
            assert!(grammar.items().eq(sequence.iter().copied()), "{sequence:?} {:?}", grammar.rules());
            grammar.verify();
        }
    }
}

#[test]
fn long_sequences_expand_to_themselves_whatever_the_window() {
    let mut rng = Rng::new(1);
    for round in 0..120 {
        let sequence = random_sequence(&mut rng, 20 + 13 * round);
        for window in [2, 7, 64, 500, usize::MAX] {
            let grammar = compressed(&sequence, window);
            assert!(grammar.items().eq(sequence.iter().copied()), "window {window} of {sequence:?}");
            assert_eq!(grammar.length(), sequence.len() as u64);
            if window > sequence.len() {
                grammar.verify();
            }
            let uses = |rule: usize| {
                let all = grammar.rules().iter().flatten();
                all.filter(|symbol| symbol.as_rule() == Some(rule)).count()
            };
            assert!((1..grammar.rules().len()).all(|rule| uses(rule) >= 2));
        }
    }
}

/// A loop of a million rounds is a rule for each power of two.
#[test]
fn what_repeats_takes_logarithmic_room_also_over_windows() {
    let sequence: Vec<u32> = (0..1 << 16).map(|at| at % 4).collect();
    assert!(compressed(&sequence, usize::MAX).size() < 50);
    assert!(compressed(&sequence, 1 << 10).size() < 80, "windows share their rules");
}

/// Time in proportion to the length: no pair of neighbours is looked at over and over.
#[test]
fn a_chain_of_replacements_ends() {
    // Each suffix of a word twice, then the word: all rules of the chain are used one after the other.
    let mut sequence = Vec::new();
    for begin in (0..60).rev() {
        for time in 0..2 {
            sequence.extend(begin..60);
            sequence.push(1000 + 2 * begin + time);
        }
    }
    sequence.extend(0..60);
    let grammar = compressed(&sequence, usize::MAX);
    assert!(grammar.items().eq(sequence));
    grammar.verify();
}

#[test]
fn only_what_has_no_cycles_is_a_grammar() {
    let rule = |number| vec![Symbol::rule(number), Symbol::item(0)];
    assert_eq!(Grammar::new(Vec::new()), None);
    assert_eq!(Grammar::new(vec![rule(0)]), None);
    assert_eq!(Grammar::new(vec![rule(1)]), None);
    assert_eq!(Grammar::new(vec![rule(1), rule(2), rule(1)]), None);
    // Each rule is twice the next: 2^100 items, which nobody expands.
    let twice = |next| vec![Symbol::rule(next), Symbol::rule(next)];
    let mut rules: Vec<_> = (1..=100).map(twice).collect();
    rules.push(Vec::new());
    assert_eq!(Grammar::new(rules.clone()), None, "nobody could expand it to nothing");
    rules[100] = vec![Symbol::item(0); 2];
    let bomb = Grammar::new(rules).unwrap();
    assert_eq!((bomb.length(), bomb.times()[100], bomb.items().take(9).count()), (u64::MAX, u64::MAX, 9));
}

#[test]
fn parts_are_counted_as_in_the_sequence() {
    let mut rng = Rng::new(2);
    for round in 0..60 {
        let sequence = random_sequence(&mut rng, 30 + 10 * round);
        for window in [30, usize::MAX] {
            let grammar = compressed(&sequence, window);
            for most in [1, 2, 3, 5, 9] {
                let parts = Parts::new(&grammar, most);
                for length in 1..=most {
                    let mut counted: HashMap<&[u32], u64> = HashMap::new();
                    let mut expected: HashMap<&[u32], u64> = HashMap::new();
                    parts.visit(
                        |_| Some(length),
                        |part| *counted.entry(part.items).or_default() += part.times,
                    );
                    sequence.windows(length).for_each(|part| *expected.entry(part).or_default() += 1);
                    assert_eq!(counted, expected, "{length} of {sequence:?}");
                }
            }
        }
    }
}

/// Each occurrence of a stream in the parse tree, from the sequence down; also returns the items in none, of rules that occur
/// once and of others.
fn occurrences(grammar: &Grammar, rule: usize, streams: &[Stream], found: &mut [u64]) -> [u64; 2] {
    let body = &grammar.rules()[rule];
    let (mut at, mut outside) = (0, [0, 0]);
    while at < body.len() {
        let begins = |stream: &Stream| stream.rule == rule && stream.symbols.start == at;
        if let Some(number) = streams.iter().position(begins) {
            found[number] += 1;
            at = streams[number].symbols.end;
            continue;
        }
        match body[at].as_rule() {
            Some(used) => {
                let below = occurrences(grammar, used, streams, found);
                outside = [outside[0] + below[0], outside[1] + below[1]];
            }
            None => outside[usize::from(rule != 0)] += 1,
        }
        at += 1;
    }
    outside
}

/// How often a part can be found in a sequence without overlapping.
fn without_overlap(sequence: &[u32], part: &[u32]) -> u64 {
    let (mut at, mut times) = (0, 0);
    while at + part.len() <= sequence.len() {
        if sequence[at..].starts_with(part) {
            times += 1;
            at += part.len();
        } else {
            at += 1;
        }
    }
    times
}

#[test]
fn streams_are_disjoint_parts_of_the_parse() {
    let mut rng = Rng::new(3);
    for round in 0..60 {
        let sequence = random_sequence(&mut rng, 100 + 20 * round);
        let grammar = compressed(&sequence, usize::MAX);
        for (lengths, heat) in [(2..=10, 1), (3..=8, 12), (10..=40, 20), (2..=100, 50)] {
            let streams = grammar.streams(&lengths, heat);
            let mut found = vec![0; streams.len()];
            let outside = occurrences(&grammar, 0, &streams, &mut found).iter().sum::<u64>();
            for (stream, found) in streams.iter().zip(found) {
                assert_eq!(found, stream.times);
                assert!(lengths.contains(&stream.length) && stream.heat() >= heat && stream.times >= 2);
                let items: Vec<u32> = grammar.items_of_stream(stream).collect();
                assert_eq!(items.len() as u64, stream.length);
                assert!(without_overlap(&sequence, &items) >= stream.times);
            }
            let all: u64 = streams.iter().map(Stream::heat).sum();
            assert_eq!(all + outside, sequence.len() as u64);
            if heat == 1 {
                let OutsideStreams { once, short } = grammar.outside_streams(&lengths);
                assert_eq!(once + short, outside);
            }
            assert!(streams.is_sorted_by(|a, b| a.heat() >= b.heat()));
        }
    }
}

#[test]
fn the_threshold_is_as_high_as_the_share_allows() {
    // 100 rounds of ten references among 50 that never come again.
    let mut sequence: Vec<u32> = Vec::new();
    for round in 0..100 {
        sequence.extend(0..10);
        sequence.extend((round % 2 == 0).then_some(1000 + round));
    }
    let grammar = compressed(&sequence, usize::MAX);
    let streams = grammar.hot_streams(&(10..=40), 0.9);
    let heat: u64 = streams.iter().map(Stream::heat).sum();
    assert!(heat as f64 >= 0.9 * sequence.len() as f64, "{streams:?}");
    assert!(streams.iter().all(|stream| grammar.items_of_stream(stream).all(|item| item < 1000)));
    assert_eq!(grammar.hot_streams(&(300..=400), 0.9), []);
}

#[test]
fn what_repeats_at_length_is_cut_to_streams() {
    // A walk of 5003 items, 40 times: no rule in it has ten.
    let sequence: Vec<u32> = (0..40 * 5003).map(|at| at % 5003).collect();
    let grammar = compressed(&sequence, usize::MAX);
    let streams = grammar.hot_streams(&(10..=40), 0.9);
    let heat: u64 = streams.iter().map(Stream::heat).sum();
    assert!(heat as f64 >= 0.9 * sequence.len() as f64, "{heat}");
    // As few pieces as can be: hardly any is much shorter than it may be.
    assert!(
        streams.iter().all(|stream| (20..=40).contains(&stream.length)) && streams.len() < 130,
        "{streams:?}"
    );
    assert_eq!(grammar.outside_streams(&(10..=40)), OutsideStreams::default());
    // What is over is too little, where pieces cannot be as long as is wanted.
    let OutsideStreams { once, short } = grammar.outside_streams(&(40..=40));
    assert_eq!((once, short), (0, sequence.len() as u64 % 5003 + 40 * (5003 % 40)));
}
