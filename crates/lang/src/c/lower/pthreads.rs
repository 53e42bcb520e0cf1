//! Threads and locks.

use weakspot_core::{BinOp, Expr, Fence, Instr};

use super::calls::{DONE, arity};
use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind};
use crate::c::draft::Op;
use crate::c::memory::cell;
use crate::c::parse::ELSEWHERE;
use crate::c::types::{Type, TypeKind};
use crate::litmus::c::{folded, not};

/// `EBUSY`.
const BUSY: i64 = 16;

/// What a function is called without `pthread_`; those of C11 that do the same have the same name.
fn word(name: &str) -> Option<&str> {
    if let Some(word) = name.strip_prefix("pthread_") {
        return Some(word);
    }
    Some(match name {
        "thrd_join" => "join",
        "thrd_exit" => "exit",
        "thrd_detach" => "detach",
        "mtx_init" => "mutex_init",
        "mtx_lock" => "mutex_lock",
        "mtx_unlock" => "mutex_unlock",
        "mtx_destroy" => "mutex_destroy",
        "cnd_init" => "cond_init",
        "cnd_wait" => "cond_wait",
        "cnd_signal" => "cond_signal",
        "cnd_broadcast" => "cond_broadcast",
        "cnd_destroy" => "cond_destroy",
        _ if ["thrd_create", "mtx_trylock"].contains(&name) || name.starts_with("sem_") => name,
        _ => return None,
    })
}

impl Lower<'_> {
    /// Does what a function of pthreads does; `None` if it is none.
    pub(super) fn pthread(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        e: &ast::Expr,
    ) -> Lowering<Option<Typed>> {
        let Some(word) = word(name) else { return Ok(None) };
        match word {
            "create" => {
                arity(name, args, 4, e)?;
                self.create(&args[0], &args[2], &args[3])?;
            }
            "thrd_create" => {
                arity(name, args, 3, e)?;
                self.create(&args[0], &args[1], &args[2])?;
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
                if name == "mtx_init" {
                    self.not_recursive(&args[1])?;
                }
                self.free(args, false)?;
            }
            // Locked instructions, as in glibc.
            "cond_destroy" | "barrier_destroy" | "detach" => self.fence(Fence::Full),
            "mutex_destroy"
            | "spin_destroy"
            | "cond_init"
            | "barrierattr_init"
            | "barrierattr_destroy"
            | "attr_init"
            | "attr_destroy"
            | "attr_setdetachstate" => {}
            "mutex_lock" | "spin_lock" => {
                arity(name, args, 1, e)?;
                self.take(args)?;
            }
            // Who waits may be woken at any time, as the standards say, so that it is enough to let others have the mutex.
            "cond_wait" => {
                arity(name, args, 2, e)?;
                self.lock_place(args)?;
                self.free(&args[1..], true)?;
                self.take(&args[1..])?;
            }
            "cond_signal" | "cond_broadcast" => {
                arity(name, args, 1, e)?;
                self.lock_place(args)?;
            }
            "mutex_trylock" | "spin_trylock" => {
                arity(name, args, 1, e)?;
                let addr = self.lock_place(args)?;
                let old = self.temp();
                self.instr(Instr::Update { reg: old, addr, value: Expr::Const(1) });
                let busy = Expr::binary(BinOp::Mul, Expr::Reg(old), Expr::Const(BUSY));
                return Ok(Some((busy, Type::INT)));
            }
            "mutex_unlock" => {
                arity(name, args, 1, e)?;
                self.free(args, true)?;
            }
            // A release store.
            "spin_unlock" => {
                arity(name, args, 1, e)?;
                self.fence(Fence::StoreStore);
                self.free(args, false)?;
            }
            "mtx_trylock" => {
                arity(name, args, 1, e)?;
                let addr = self.lock_place(args)?;
                let old = self.temp();
                self.instr(Instr::Update { reg: old, addr, value: Expr::Const(1) });
                return Ok(Some((Expr::Reg(old), Type::INT)));
            }
            "sem_init" => {
                arity(name, args, 3, e)?;
                let addr = self.lock_place(args)?;
                let value = self.value(&args[2])?.0;
                self.instr(Instr::Store { addr, value });
            }
            "sem_destroy" => {}
            "sem_post" => {
                arity(name, args, 1, e)?;
                let addr = self.lock_place(args)?;
                let reg = self.temp();
                let value = Expr::binary(BinOp::Add, Expr::Reg(reg), Expr::Const(1));
                self.instr(Instr::Update { reg, addr, value });
            }
            "sem_wait" => {
                arity(name, args, 1, e)?;
                let addr = self.lock_place(args)?;
                let some = self.take_one(addr);
                self.instr(Instr::Assume(some));
            }
            "sem_trywait" => {
                arity(name, args, 1, e)?;
                return self.try_to_take_one(args).map(Some);
            }
            "barrier_init" => {
                arity(name, args, 3, e)?;
                let [count, arrived] = self.barrier(args)?;
                let (value, from) = self.value(&args[2])?;
                let value = self.converted(value, &from, &Type::INT);
                self.instr(Instr::Store { addr: count, value });
                self.instr(Instr::Store { addr: arrived, value: Expr::Const(0) });
            }
            "barrier_wait" => {
                arity(name, args, 1, e)?;
                return self.meet(args).map(Some);
            }
            _ => {
                let message = format!("`{name}` is not supported here");
                let expected = "threads, mutexes, spin locks, condition variables, barriers and semaphores are";
                return Err(Diagnostic::new(e.at, message, expected).help(ELSEWHERE));
            }
        }
        Ok(Some(DONE))
    }

    /// Takes a lock. A thread that finds it taken goes no further: its runs are those of a thread that comes when it is free.
    fn take(&mut self, args: &[ast::Expr]) -> Lowering<()> {
        let addr = self.lock_place(args)?;
        let old = self.temp();
        self.instr(Instr::Update { reg: old, addr, value: Expr::Const(1) });
        self.instr(Instr::Assume(not(Expr::Reg(old))));
        Ok(())
    }

    /// Takes one from a semaphore if there is one; whether there was.
    fn take_one(&mut self, addr: Expr) -> Expr {
        let old = self.temp();
        let some = Expr::binary(BinOp::Gt, Expr::Reg(old), Expr::Const(0));
        let value = Expr::binary(BinOp::Sub, Expr::Reg(old), some.clone());
        self.instr(Instr::Update { reg: old, addr, value });
        some
    }

    /// The same as `sem_trywait` does it: who finds nothing has only looked, which is no fence.
    fn try_to_take_one(&mut self, args: &[ast::Expr]) -> Lowering<Typed> {
        let addr = self.lock_place(args)?;
        let (failed, seen) = (self.temp(), self.temp());
        let (there, behind) = (self.new_point(), self.new_point());
        self.assign(failed, Expr::Const(-1));
        self.instr(Instr::Load { reg: seen, addr: addr.clone() });
        let some = Expr::binary(BinOp::Gt, Expr::Reg(seen), Expr::Const(0));
        self.fork(some, there, behind);
        self.resume(there);
        let some = self.take_one(addr);
        self.assign(failed, Expr::binary(BinOp::Sub, some, Expr::Const(1)));
        self.go_to(behind);
        self.resume(behind);
        Ok((Expr::Reg(failed), Type::INT))
    }

    /// A mutex that its owner may take again would keep that owner waiting for ever here.
    fn not_recursive(&mut self, kind: &ast::Expr) -> Lowering<()> {
        const RECURSIVE: i64 = 1;
        match self.value(kind)?.0 {
            Expr::Const(kind) if kind & RECURSIVE == 0 => Ok(()),
            _ => {
                let expected = "`mtx_plain` and `mtx_timed` are";
                Err(Diagnostic::new(kind.at, "this kind of mutex is not supported here", expected)
                    .help(ELSEWHERE))
            }
        }
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

    /// Where a barrier has how many it waits for, and how many came in all.
    fn barrier(&mut self, args: &[ast::Expr]) -> Lowering<[Expr; 2]> {
        match self.pointed(&args[0])? {
            Place::Memory(addr, ty) if ty.kind == TypeKind::Barrier => {
                let second = Expr::binary(BinOp::Add, addr.clone(), Expr::Const(4));
                Ok([cell(addr, &Type::INT), cell(folded(second), &Type::INT)])
            }
            _ => Err(Diagnostic::new(args[0].at, "this is no barrier", "expected its address")),
        }
    }

    /// Comes to a barrier, and waits until all of a round have come.
    fn meet(&mut self, args: &[ast::Expr]) -> Lowering<Typed> {
        let [count, arrived] = self.barrier(args)?;
        let (all, before, now) = (self.temp(), self.temp(), self.temp());
        let made = |op, l, r| Expr::binary(op, l, r);
        let one = || Expr::Const(1);
        self.instr(Instr::Load { reg: all, addr: count });
        let value = made(BinOp::Add, Expr::Reg(before), one());
        self.instr(Instr::Update { reg: before, addr: arrived.clone(), value });
        self.instr(Instr::Load { reg: now, addr: arrived });
        // Who comes too early goes no further: its runs are those of one who looks later.
        let round = made(BinOp::Div, Expr::Reg(before), Expr::Reg(all));
        let whole = made(BinOp::Mul, made(BinOp::Add, round, one()), Expr::Reg(all));
        self.instr(Instr::Assume(made(BinOp::Ge, Expr::Reg(now), whole)));
        let place = made(BinOp::Rem, Expr::Reg(before), Expr::Reg(all));
        let last = made(BinOp::Eq, place, made(BinOp::Sub, Expr::Reg(all), one()));
        // `PTHREAD_BARRIER_SERIAL_THREAD` for one of them.
        Ok((made(BinOp::Sub, Expr::Const(0), last), Type::INT))
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

    fn create(&mut self, thread: &ast::Expr, start: &ast::Expr, arg: &ast::Expr) -> Lowering<()> {
        let Place::Memory(handle, Type { kind: TypeKind::Thread, .. }) = self.pointed(thread)?
        else {
            return Err(Diagnostic::new(thread.at, "this is no `pthread_t *`", ""));
        };
        let function = self.value(start)?.0;
        let (arg, from) = self.value(arg)?;
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
