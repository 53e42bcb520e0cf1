//! Syntax tree to core program.

use weakspot_core::{
    Edge, Expr, Instr, Names, Point, PointId, Program, Span, Thread, Transactions, Undeclared,
    Unsigned,
};

use super::ast::{ExprKind, Unit};
use super::draft::{Draft, Op};
use super::frozen::frozen;
use super::lower::{self, globals};
use super::memory::Memory;
use super::naming::{Label, distinct};
use super::specialise::{Instance, World, written_out};
use super::tidy::{tidied, with_constants};
use super::types::Struct;
use super::visit::each_expr;
use crate::{Diagnostic, Parsed};

/// What answers are about.
const OF_MACHINE: &str = "of the machine that compiled code runs on, not of C11";

/// The program of a syntax tree, with the names of its parts; the text tells lines.
pub(crate) fn compile(unit: &Unit, text: &str) -> Result<Parsed, Diagnostic> {
    // Which members unions are used as is known at the end: then memory is laid out anew, for those.
    let used = || unit.structs.iter().map(Struct::used_as).collect::<Vec<_>>();
    loop {
        let before = used();
        let compiled = compile_once(unit, text);
        if used() == before {
            return compiled;
        }
    }
}

fn compile_once(unit: &Unit, text: &str) -> Result<Parsed, Diagnostic> {
    let Some(main) = unit.functions.iter().position(|f| f.name == "main") else {
        let message = "there is no function `main`";
        return Err(Diagnostic::new(Span::default(), message, "expected one that starts threads"));
    };
    let mut memory = Memory::new(frozen(unit));
    globals(unit, &mut memory)?;
    let first = Instance {
        function: main,
        arg: None,
        start: None,
        done: None,
        result: None,
        name: "main".to_owned(),
        at: unit.functions[main].at,
    };
    let functions = unit.functions.iter().map(|f| f.name.as_str()).collect();
    let mut world = World::new(memory, &unit.structs, functions, first);
    let mut drafts = Vec::new();
    while drafts.len() < world.instances.len() {
        let Instance { function, arg, name, .. } = &world.instances[drafts.len()];
        let (function, arg, name) = (*function, *arg, name.clone());
        let mut draft = lower::thread(unit, &mut world.memory, &name, function, arg)?;
        if drafts.is_empty() || is_creating(&draft) {
            draft = written_out(&draft, &mut world, drafts.is_empty())?;
        }
        with_constants(&mut draft);
        drafts.push(draft);
    }
    let mut warnings = Vec::new();
    if let Some(left) = world.instances.iter().skip(1).find(|i| i.done.is_none()) {
        let message = "nobody waits for this thread";
        let expected = "what it does after `main` has ended counts, too";
        warnings.push(Diagnostic::new(left.at, message, expected));
    }
    let all = drafts.into_iter().zip(&world.instances);
    let all: Vec<_> = all.map(|(draft, instance)| tidied(draft, instance)).collect();
    let threads: Vec<String> = world.instances.iter().map(|i| i.name.clone()).collect();
    let (locs, places, unsigned_locs) = world.memory.locations(text);
    let unsigned_regs = all.iter().map(|t| t.unsigned.clone()).collect();
    let (mut all, regs): (Vec<_>, Vec<_>) = all.into_iter().map(|t| (t.thread, t.regs)).unzip();
    let labels = regs.iter().map(|labels: &Vec<Label>| labels.iter().collect::<Vec<_>>());
    let regs = labels.map(|labels| distinct(&labels, text)).collect();
    if let Some(span) = first_assertion(unit) {
        keep_asking(&mut all, span);
    }
    let names = Names {
        program: String::new(),
        threads,
        regs,
        locs: places,
        points: all.iter().map(|t| vec![String::new(); t.points.len()]).collect(),
        observed: Vec::new(),
        condition: String::new(),
        addresses_are_symbolic: true,
        unsigned: Unsigned { locs: unsigned_locs, regs: unsigned_regs },
    };
    let program = Program {
        threads: all,
        locs,
        wides: Vec::new(),
        undeclared: Undeclared::Fault,
        observed: Vec::new(),
        condition: None,
        forbidden: Vec::new(),
    };
    let of_machine = Some(OF_MACHINE);
    Ok(Parsed {
        program,
        names,
        transactions: Transactions::default(),
        warnings,
        of_machine,
        too_strong: None,
    })
}

/// Whether a thread starts others, waits for them or allocates memory.
fn is_creating(draft: &Draft) -> bool {
    let mut ops = draft.points.iter().flatten().map(|s| &s.op);
    ops.any(|op| matches!(op, Op::Create { .. } | Op::Join { .. } | Op::Allocate { .. }))
}

/// Where the program asserts something first.
fn first_assertion(unit: &Unit) -> Option<Span> {
    let mut found = None;
    for statement in unit.functions.iter().map(|f| &f.body).flat_map(|body| &body.stmts) {
        each_expr(statement, &mut |e| {
            if let ExprKind::Call(f, _) = &e.kind
                && matches!(&f.kind, ExprKind::Name(name) if name == "assert" || name == "abort")
            {
                found = found.or(Some(e.at));
            }
        });
    }
    found
}

/// Assertions that are decided before threads start are gone if they hold. Where all are, one that
/// holds stays, so that the program still asks whether one fails.
fn keep_asking(threads: &mut [Thread], span: Span) {
    let mut edges = threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    if edges.any(|e| matches!(e.instr, Instr::Assert(_))) {
        return;
    }
    if let Some(main) = threads.first_mut() {
        let edge = Edge { instr: Instr::Assert(Expr::Const(1)), to: main.entry, span };
        main.entry = PointId::new(main.points.len());
        main.points.push(Point { edges: vec![edge] });
    }
}
