//! Random programs whose accesses overlap.

use super::{Rng, Size, random_program};
use crate::{
    Expr, Instr, LocId, Location, Observable, Observed, Program, UnOp, Value, View, Wide, WideCell,
};

/// The bits of a cell: as few as can be, so that values repeat.
const BITS: u8 = 1;

/// A random program as [`random_program`] makes them, with four locations and four wide places
/// made of these, one across the middle. Addresses are constants. Everything is observed.
pub fn random_wide_program(rng: &mut Rng, size: Size) -> Program {
    let mut program = random_program(rng, size);
    let loc = |addr| Location { addr, init: vec![0], range: None };
    program.locs = (0..4).map(loc).collect();
    let wide = |addr, first: u32, count: u32| Wide {
        addr,
        cells: (first..first + count).map(|l| WideCell { loc: LocId(l), bits: BITS }).collect(),
    };
    program.wides = vec![wide(100, 0, 2), wide(101, 2, 2), wide(102, 0, 4), wide(103, 1, 2)];
    let edges = program.threads.iter_mut().flat_map(|t| &mut t.points).flat_map(|p| &mut p.edges);
    for edge in edges {
        let Some(addr) = address(&mut edge.instr) else { continue };
        let (place, bits) = match rng.below(6) {
            0 | 1 => (rng.below(4) as Value, BITS),
            2 => (102, 4 * BITS),
            _ => ([100, 101, 103][rng.below(3)], 2 * BITS),
        };
        *addr = Expr::Const(place);
        if let Instr::Store { value, .. } | Instr::Update { value, .. } = &mut edge.instr {
            if let Expr::Const(value) = value {
                *value = 1 + rng.below((1 << bits) - 1) as Value;
            }
            *value = Expr::unary(UnOp::ZeroExtend(bits), value.clone());
        }
    }
    program.observed.retain(|o| matches!(o.what, Observable::Reg(..)));
    for l in [0, 1, 2, 3, 6] {
        let what = Observable::Loc(LocId(l));
        program.observed.push(Observed { what, view: View::Full });
    }
    program
}

fn address(instr: &mut Instr) -> Option<&mut Expr> {
    match instr {
        Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
            Some(addr)
        }
        _ => None,
    }
}
