//! Threads and locks.

use weakspot_core::{BinOp, Expr, Instr};

use super::calls::{DONE, arity};
use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind};
use crate::c::draft::Op;
use crate::c::memory::cell;
use crate::c::parse::ELSEWHERE;
use crate::c::types::{Type, TypeKind};
use crate::litmus::c::not;

/// `EBUSY`.
const BUSY: i64 = 16;

impl Lower<'_> {
    /// Does what a function of pthreads does; `None` if it is none.
    pub(super) fn pthread(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        e: &ast::Expr,
    ) -> Lowering<Option<Typed>> {
        let Some(word) = name.strip_prefix("pthread_") else { return Ok(None) };
        match word {
            "create" => {
                arity(name, args, 4, e)?;
                self.create(args)?;
            }
            "join" => {
                arity(name, args, 2, e)?;
                self.join(args)?;
            }
            "exit" => {
                arity(name, args, 1, e)?;
                let (value, from) = self.value(&args[0])?;
                let value = self.converted(value, &from, &Type::VOID.pointer());
                let (end, result) = self.end;
                self.assign(result, value);
                self.leave(end);
            }
            "mutex_init" | "spin_init" => {
                arity(name, args, 2, e)?;
                self.free(args, false)?;
            }
            "mutex_destroy"
            | "spin_destroy"
            | "detach"
            | "attr_init"
            | "attr_destroy"
            | "attr_setdetachstate" => {}
            "mutex_lock" | "spin_lock" => {
                arity(name, args, 1, e)?;
                let addr = self.lock_place(args)?;
                let old = self.temp();
                self.instr(Instr::Update { reg: old, addr, value: Expr::Const(1) });
                // A thread that finds it taken goes no further. Its runs are those of a thread that
                // comes when it is free.
                self.instr(Instr::Assume(not(Expr::Reg(old))));
            }
            "mutex_trylock" | "spin_trylock" => {
                arity(name, args, 1, e)?;
                let addr = self.lock_place(args)?;
                let old = self.temp();
                self.instr(Instr::Update { reg: old, addr, value: Expr::Const(1) });
                let busy = Expr::binary(BinOp::Mul, Expr::Reg(old), Expr::Const(BUSY));
                return Ok(Some((busy, Type::INT)));
            }
            "mutex_unlock" | "spin_unlock" => {
                arity(name, args, 1, e)?;
                self.free(args, true)?;
            }
            _ => {
                let message = format!("`{name}` is not supported here");
                let expected = "of pthreads, threads, mutexes and spin locks are";
                return Err(Diagnostic::new(e.at, message, expected).help(ELSEWHERE));
            }
        }
        Ok(Some(DONE))
    }

    /// Frees a lock; atomically if others may know it.
    fn free(&mut self, args: &[ast::Expr], shared: bool) -> Lowering<()> {
        let addr = self.lock_place(args)?;
        let value = Expr::Const(0);
        if shared {
            let reg = self.temp();
            self.instr(Instr::Update { reg, addr, value });
        } else {
            self.instr(Instr::Store { addr, value });
        }
        Ok(())
    }

    fn lock_place(&mut self, args: &[ast::Expr]) -> Lowering<Expr> {
        match self.pointed(&args[0])? {
            Place::Memory(addr, ty) if ty.kind == TypeKind::Lock => Ok(cell(addr, &ty)),
            _ => Err(Diagnostic::new(args[0].at, "this is no lock", "expected its address")),
        }
    }

    /// What an argument points to. The address of a variable need not be one in memory.
    pub(super) fn pointed(&mut self, arg: &ast::Expr) -> Lowering<Place> {
        if let ExprKind::AddressOf(inner) = &arg.kind {
            return self.place(inner);
        }
        let (addr, ty) = self.value(arg)?;
        match ty.pointee() {
            Some(to) if to.kind != TypeKind::Void => Ok(Place::Memory(addr, to.clone())),
            _ => {
                let message = format!("this has the type `{}`", ty.describe(&self.unit.structs));
                Err(Diagnostic::new(arg.at, message, "expected a pointer to a known type"))
            }
        }
    }

    fn create(&mut self, args: &[ast::Expr]) -> Lowering<()> {
        let Place::Memory(handle, Type { kind: TypeKind::Thread, .. }) = self.pointed(&args[0])?
        else {
            return Err(Diagnostic::new(args[0].at, "this is no `pthread_t *`", ""));
        };
        let mut start = &args[2];
        while let ExprKind::AddressOf(inner) | ExprKind::Cast(_, inner) = &start.kind {
            start = inner;
        }
        let function = match &start.kind {
            ExprKind::Name(name) => self.unit.functions.iter().position(|f| f.name == *name),
            _ => None,
        };
        let Some(function) = function else {
            let message = "what the thread does is not known";
            return Err(Diagnostic::new(start.at, message, "expected a function of this file"));
        };
        let (arg, from) = self.value(&args[3])?;
        let arg = self.converted(arg, &from, &Type::VOID.pointer());
        self.step(Op::Create { handle, function, arg });
        Ok(())
    }

    fn join(&mut self, args: &[ast::Expr]) -> Lowering<()> {
        let Place::Memory(handle, Type { kind: TypeKind::Thread, .. }) = self.place(&args[0])?
        else {
            return Err(Diagnostic::new(args[0].at, "this is no `pthread_t`", ""));
        };
        if matches!(&args[1].kind, ExprKind::Number(0, _)) {
            self.step(Op::Join { handle, result: None });
            return Ok(());
        }
        let place = self.pointed(&args[1])?;
        let result = self.temp();
        self.step(Op::Join { handle, result: Some(result) });
        self.write(place, Expr::Reg(result), &Type::VOID.pointer());
        Ok(())
    }
}
