//! The integer registers of RISC-V.

/// The names of `x0` to `x31` in the calling convention.
const ABI: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// The number of the register called `name`.
pub(in crate::litmus) fn parse(name: &str) -> Option<u8> {
    if name == "fp" {
        return Some(8);
    }
    if let Some(n) = ABI.iter().position(|abi| *abi == name) {
        return Some(n as u8);
    }
    let digits = name.strip_prefix('x')?;
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    digits.parse().ok().filter(|n| *n < 32)
}

/// The name of a register, `x5`.
pub(in crate::litmus) fn name(number: u8) -> String {
    format!("x{number}")
}

/// All names, for suggestions.
pub(in crate::litmus) fn all_names() -> Vec<String> {
    (0..32).map(name).chain(ABI.iter().map(|n| (*n).to_owned())).collect()
}
