//! `weakspot cc` and `c++`.

use clap::Args;

use crate::list::{Means, Usage};

/// Compile C so that `weakspot run` can control it: takes the arguments of gcc or clang.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    before_help = "\
Example:
  weakspot cc -O1 -pthread -o dekker corpus/c/dekker.c && weakspot run ./dekker
  CC=weakspot-cc CXX=weakspot-cxx make",
    after_help = "\
The compiler is gcc or clang, whichever is there; WEAKSPOT_CC (for c++
WEAKSPOT_CXX) names another one. Accesses to memory are instrumented (by way of
-fsanitize=thread), fences in inline assembly are recognised, and the program is
linked with the runtime library of weakspot. On its own it runs as ever.
Assembly that cannot be seen through is reported with its file and line."
)]
pub(crate) struct Compiler {
    /// The arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    args: Vec<String>,
}

/// The arguments of a compiler, as they are.
#[derive(Debug)]
pub struct CompilerArgs {
    pub args: Vec<String>,
}

/// Compile C++ so that `weakspot run` can control it: takes the arguments of g++ or clang++.
#[derive(Debug, Args)]
pub(crate) struct Cxx {
    #[command(flatten)]
    compiler: Compiler,
}

impl Means<CompilerArgs> for Compiler {
    fn meant(self) -> Result<CompilerArgs, Usage> {
        Ok(CompilerArgs { args: self.args })
    }
}

impl Means<CompilerArgs> for Cxx {
    fn meant(self) -> Result<CompilerArgs, Usage> {
        self.compiler.meant()
    }
}
