//! Syntax tree to program.

use weakspot_core::{
    self as core, Instr, Names, PointId, Program, RegId, Transactions, Undeclared,
};

use super::build::Automaton;
use super::layout::Layout;
use super::statements::Builder;
use super::syntax::{Decl, File, Name, Process};
use crate::{Diagnostic, Parsed};

/// Compiles a Memorax program: a process becomes a thread, a label a named control point, and
/// the rows of `forbidden` the program's forbidden combinations.
pub fn compile(file: &File) -> Result<Parsed, Diagnostic> {
    let layout = Layout::new(file)?;
    let (locs, loc_names) = layout.memory()?;
    let mut warnings = Vec::new();
    if let (Some(first), Some(last)) = (file.predicates.first(), file.predicates.last()) {
        let mut span = first.at.0;
        span.end = span.end.max(last.at.0.end);
        warnings.push(
            Diagnostic::new(span, "`predicates` have no effect", "")
                .help("only Memorax's predicate abstraction uses them"),
        );
    }
    let mut names = Names { locs: loc_names, ..Names::default() };
    let mut threads = Vec::new();
    let mut automata = Vec::new();
    for (pid, process) in layout.processes.iter().copied().enumerate() {
        let (automaton, entry) = thread(&layout, pid, process, &mut warnings)?;
        names.threads.push(format!("P{pid}"));
        names.regs.push(register_names(process, automaton.regs.len()));
        names.points.push(automaton.point_names());
        threads.push(core::Thread {
            regs: automaton.regs.clone(),
            entry,
            points: automaton.points.clone(),
        });
        automata.push(automaton);
    }
    let forbidden = forbidden(file, &automata)?;
    let program = Program {
        threads,
        locs,
        wides: Vec::new(),
        undeclared: Undeclared::Fault,
        observed: Vec::new(),
        condition: None,
        forbidden,
    };
    Ok(Parsed {
        program,
        names,
        transactions: Transactions::default(),
        warnings,
        of_machine: None,
        too_strong: None,
    })
}

/// The automaton of one process and where it starts.
fn thread(
    layout: &Layout<'_>,
    pid: usize,
    process: &Process,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Automaton, PointId), Diagnostic> {
    let regs = process.registers.iter().map(start_value).collect();
    let mut automaton = Automaton::new(pid, regs);
    let entry = PointId::new(0);
    let end = automaton.point();
    let mut builder = Builder { layout, pid, automaton, warnings: Vec::new() };
    // The layout borrows the same process, for as long as the statements live.
    let text = &layout.processes[pid].text;
    builder.sequence(text, entry, end)?;
    let Builder { mut automaton, warnings: new, .. } = builder;
    automaton.resolve_gotos()?;
    for warning in new {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let entry = choose_registers(&mut automaton, process, entry)?;
    Ok((automaton, entry))
}

/// The value that a register starts with if nobody can see which.
fn start_value(decl: &Decl) -> i64 {
    match (decl.init, decl.domain) {
        (Some(value), _) => value,
        (None, Some((low, high))) => 0.clamp(low, high),
        (None, None) => 0,
    }
}

/// Puts a choice before the code for each register that starts with any value and is read before
/// it is written. The result is the new entry.
fn choose_registers(
    automaton: &mut Automaton,
    process: &Process,
    start: PointId,
) -> Result<PointId, Diagnostic> {
    let mut entry = start;
    for (i, decl) in process.registers.iter().enumerate().rev() {
        let reg = RegId::new(i);
        if decl.init.is_some() || !read_before_written(automaton, start, reg) {
            continue;
        }
        let Some((low, high)) = decl.domain else {
            let message = format!("`{}` may start with any integer and is used", decl.name.text);
            let expected = "expected an initial value or a finite domain";
            return Err(Diagnostic::new(decl.at.0, message, expected)
                .help(format!("for example `{} = * : [0:1]`", decl.name.text)));
        };
        let before = automaton.point();
        automaton.edge(before, Instr::Choose { reg, low, high }, entry, decl.at.0);
        entry = before;
    }
    Ok(entry)
}

/// Some path from `start` reads the register before it writes it.
fn read_before_written(automaton: &Automaton, start: PointId, reg: RegId) -> bool {
    let mut seen = vec![false; automaton.points.len()];
    let mut open = vec![start];
    seen[start.index()] = true;
    while let Some(point) = open.pop() {
        for edge in &automaton.points[point.index()].edges {
            let mut used = false;
            let mut visit = |r: RegId| used |= r == reg;
            let mut written = false;
            match &edge.instr {
                Instr::Assign { reg: target, value } => {
                    value.for_each_reg(&mut visit);
                    written = *target == reg;
                }
                Instr::Choose { reg: target, .. } => written = *target == reg,
                Instr::Assume(e) | Instr::Assert(e) => e.for_each_reg(&mut visit),
                Instr::Load { reg: target, addr } => {
                    addr.for_each_reg(&mut visit);
                    written = *target == reg;
                }
                Instr::Store { addr, value } => {
                    addr.for_each_reg(&mut visit);
                    value.for_each_reg(&mut visit);
                }
                Instr::Update { reg: target, addr, value } => {
                    addr.for_each_reg(&mut visit);
                    written = *target == reg;
                    // The value sees what was just read.
                    if !written {
                        value.for_each_reg(&mut visit);
                    }
                }
                Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => {}
            }
            if used {
                return true;
            }
            if !written && !std::mem::replace(&mut seen[edge.to.index()], true) {
                open.push(edge.to);
            }
        }
    }
    false
}

/// Names without `$` cannot be declared, so those of scratch registers are free.
fn register_names(process: &Process, count: usize) -> Vec<String> {
    let declared = process.registers.iter().map(|d| d.name.text.clone());
    let scratch = (0..).map(|n| if n == 0 { "tmp".to_owned() } else { format!("tmp{n}") });
    declared.chain(scratch).take(count).collect()
}

fn forbidden(file: &File, automata: &[Automaton]) -> Result<Vec<Vec<Option<PointId>>>, Diagnostic> {
    let mut rows = Vec::new();
    for row in &file.forbidden {
        if row.labels.len() != automata.len() {
            let (labels, processes) = (row.labels.len(), automata.len());
            let message = format!("{labels} labels for {processes} processes");
            return Err(Diagnostic::new(row.at.0, message, "expected one label for each process")
                .help("`*` stands for any place; `;` separates combinations"));
        }
        let place = |(label, automaton): (&Option<Name>, &Automaton)| match label {
            None => Ok(None),
            Some(label) => automaton.labelled(label).map(Some),
        };
        rows.push(row.labels.iter().zip(automata).map(place).collect::<Result<_, _>>()?);
    }
    Ok(rows)
}
