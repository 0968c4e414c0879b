// Words without repetitions, found by looking through all before: quadratic, and inlined into `main`.
fn words(n: u32) -> Vec<String> {
    let mut seed = 1_u32;
    (0..n)
        .map(|_| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            format!("word{}", (seed >> 16) % 1500)
        })
        .collect()
}

#[inline(always)]
fn dedup(words: &[String]) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for word in words {
        if !unique.contains(word) { // PLANTED
            unique.push(word.clone());
        }
    }
    unique
}

fn main() {
    let words = words(20000);
    let unique = dedup(&words);
    println!("{} words, {} unique", words.len(), unique.len());
}
