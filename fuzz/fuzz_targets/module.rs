#![no_main]
// See `wprof_spec_tests::targets`.
libfuzzer_sys::fuzz_target!(
    init: wprof_spec_tests::targets::write_seeds("module"),
    |bytes: &[u8]| wprof_spec_tests::targets::run("module", bytes)
);
