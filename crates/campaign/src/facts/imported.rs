//! Functions of shared libraries that a program calls, and that the runtime library does not stand in for.

use std::collections::HashSet;
use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::facts::symbols::unread;
use crate::{Error, Result};

/// Functions that neither keep anything from one call to the next nor store anything but to what they were just given, so that a loop that
/// calls them does not come to an end by that: those that compilers and the standard library of Rust need, and those of C that
/// compute or ask.
const HARMLESS: [&str; 164] = [
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__assert_fail",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__dso_handle",
    "__errno_location",
    "__gcc_personality_v0",
    "__gmon_start__",
    "__gxx_personality_v0",
    "__stack_chk_fail",
    "__tls_get_addr",
    "__xpg_strerror_r",
    "abs",
    "acos",
    "acosf",
    "asin",
    "asinf",
    "atan",
    "atan2",
    "atan2f",
    "atanf",
    "bsearch",
    "cbrt",
    "ceil",
    "ceilf",
    "chroot",
    "cos",
    "cosf",
    "cosh",
    "difftime",
    "div",
    "dl_iterate_phdr",
    "dladdr",
    "dlsym",
    "environ",
    "erf",
    "exp",
    "exp2",
    "exp2f",
    "expf",
    "expm1",
    "fabs",
    "fabsf",
    "ffs",
    "ffsl",
    "ffsll",
    "floor",
    "floorf",
    "fma",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "fmodf",
    "fstat64",
    "get_nprocs",
    "get_nprocs_conf",
    "getauxval",
    "getcwd",
    "getegid",
    "geteuid",
    "getgid",
    "getpagesize",
    "getpid",
    "getppid",
    "getpwuid_r",
    "gettid",
    "getuid",
    "gnu_get_libc_version",
    "htonl",
    "htons",
    "hypot",
    "imaxabs",
    "index",
    "isalnum",
    "isalpha",
    "isatty",
    "isblank",
    "iscntrl",
    "isdigit",
    "isgraph",
    "islower",
    "isprint",
    "ispunct",
    "isspace",
    "isupper",
    "isxdigit",
    "labs",
    "ldexp",
    "ldexpf",
    "ldiv",
    "llabs",
    "lldiv",
    "llround",
    "log",
    "log10",
    "log10f",
    "log1p",
    "log2",
    "log2f",
    "logf",
    "lrint",
    "lround",
    "malloc_usable_size",
    "memcpy",
    "memmem",
    "memmove",
    "memset",
    "nearbyint",
    "ntohl",
    "ntohs",
    "pathconf",
    "perror",
    "pidfd_getpid",
    "pidfd_spawnp",
    "pow",
    "powf",
    "pthread_equal",
    "pthread_self",
    "pthread_setname_np",
    "putchar",
    "rawmemchr",
    "readlink",
    "realpath",
    "rindex",
    "rint",
    "rintf",
    "round",
    "roundf",
    "scalbn",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getaffinity",
    "setgid",
    "setgroups",
    "setuid",
    "sigaddset",
    "sigemptyset",
    "sin",
    "sinf",
    "sinh",
    "sqrt",
    "sqrtf",
    "stat64",
    "statx",
    "stderr",
    "stdin",
    "stdout",
    "strcasestr",
    "strchrnul",
    "strerror",
    "strsignal",
    "sysconf",
    "tan",
    "tanf",
    "tanh",
    "tgamma",
    "tolower",
    "toupper",
    "trunc",
    "truncf",
];

/// How the names of others begin: exceptions and types of C++, what it prints, its threads and memory, which are made of functions that are
/// stood in for; attributes of threads, and of other programs, which cannot be started.
const HARMLESS_FAMILIES: [&str; 32] = [
    "_Unwind_",
    "_ZNKSt5ctype",
    "_ZNKSt9exception",
    "_ZNSo3putEc",
    "_ZNSo5flushEv",
    "_ZNSo9_M_insert",
    "_ZNSolsE",
    "_ZNSt11logic_error",
    "_ZNSt13runtime_error",
    "_ZNSt15__exception_ptr",
    "_ZNSt18condition_variable",
    "_ZNSt6thread",
    "_ZNSt8ios_base4Init",
    "_ZNSt9exception",
    "_ZSt16__ostream_insert",
    "_ZSt16__throw",
    "_ZSt17__throw",
    "_ZSt19__throw",
    "_ZSt20__throw",
    "_ZSt24__throw",
    "_ZSt25__throw",
    "_ZSt28__throw",
    "_ZSt4cerr",
    "_ZSt4cout",
    "_ZSt4endl",
    "_ZSt9terminate",
    "_ZStlsISt11char_traits",
    "_ZT",
    "__cxa_",
    "posix_spawn_file_actions_",
    "posix_spawnattr_",
    "pthread_attr_",
];

/// Whether a program changes nothing by functions of shared libraries but what the runtime library knows of: it stands in for them, or they
/// are harmless.
pub(crate) fn is_announced(program: &Path) -> Result<bool> {
    let runtime = weakspot_build::runtime::unpack().map_err(Error::new)?;
    let runtime = runtime.join(weakspot_build::runtime::NAME);
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let library = std::fs::read(&runtime).map_err(unread(&runtime))?;
    let library = object::File::parse(&*library).map_err(unread(&runtime))?;
    let own: HashSet<&[u8]> = library
        .dynamic_symbols()
        .filter(|s| !s.is_undefined())
        .filter_map(|s| s.name_bytes().ok())
        .collect();
    let is_known = |name: &[u8]| own.contains(name) || str::from_utf8(name).is_ok_and(is_harmless);
    let mut wanted =
        file.dynamic_symbols().filter(|s| s.is_undefined()).filter_map(|s| s.name_bytes().ok());
    Ok(wanted.all(is_known))
}

fn is_harmless(name: &str) -> bool {
    let begins = |with: &&str| name.starts_with(*with);
    name.is_empty() || HARMLESS.binary_search(&name).is_ok() || HARMLESS_FAMILIES.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_something_is_not_harmless() {
        assert!(HARMLESS.is_sorted());
        for name in ["sin", "pthread_attr_init", "_ZTISt9exception", "_Unwind_Resume"] {
            assert!(is_harmless(name), "{name}");
        }
        for name in ["strsep", "gcvt", "wcstok", "memccpy", "getline", "_ZNSi4readEPcl", "tick"] {
            assert!(!is_harmless(name), "{name}");
        }
    }
}
