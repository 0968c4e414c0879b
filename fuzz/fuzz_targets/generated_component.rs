#![no_main]
// See `wprof_spec_tests::targets`.
libfuzzer_sys::fuzz_target!(
    init: wprof_spec_tests::targets::write_seeds("generated_component"),
    |bytes: &[u8]| wprof_spec_tests::targets::run("generated_component", bytes)
);
