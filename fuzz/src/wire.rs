//! What readers of schedules and of the runtime's messages have to do with every text.

use weakspot_live::wire::{Config, Message};
use weakspot_live::{Choices, Plan};

/// Reads `bytes` as a schedule, with the check at its end and with the one that belongs there. That must not panic; what was read is
/// written as a token that is read as the same.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check_token(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let right = format!("{text}_{:08x}", fnv1a(text));
    for token in [text, &right] {
        match token.parse::<Choices>() {
            Ok(schedule) => {
                assert_eq!(schedule.to_string().parse::<Choices>().as_ref(), Ok(&schedule));
                let plan = Plan::Replay(schedule);
                assert_eq!(plan.to_string().parse::<Plan>().as_ref(), Ok(&plan));
            }
            Err(error) => assert!(error.at <= token.len(), "{token}: {error}"),
        }
    }
    if let Ok(plan) = text.parse::<Plan>() {
        assert_eq!(plan.to_string().parse::<Plan>(), Ok(plan));
    }
}

/// The check at the end of a token, as its description says.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Reads the lines of `bytes` as messages of the runtime, and all of it as what the runtime is told. That must not panic; what
/// was read is written as a line that is read as the same.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check_wire(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for line in text.lines() {
        match Message::parse(line) {
            Ok(message) => {
                let again = message.to_string();
                assert_eq!(Message::parse(&again).as_ref(), Ok(&message), "{line}\nis {again}");
            }
            Err(why) => assert!(!why.is_empty(), "an error without a message"),
        }
    }
    if let Ok(config) = Config::parse(text) {
        let again = config.to_string();
        assert_eq!(Config::parse(&again).as_ref(), Ok(&config), "{text}\nis {again}");
    }
}
