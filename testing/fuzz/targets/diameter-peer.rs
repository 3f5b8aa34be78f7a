//! The fuzz target of the property `scurry_fuzz::diameter_peer`; without a fuzzer it replays files.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| scurry_fuzz::diameter_peer::check(data));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    scurry_fuzz::replay(scurry_fuzz::diameter_peer::check)
}
