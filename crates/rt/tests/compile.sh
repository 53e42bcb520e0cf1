#!/bin/sh
# Compiles a C file so that it can run under the library: compile.sh LIBRARY FILE.c PROGRAM [OPTION...]
set -e
library=$1
source=$2
program=$3
shift 3
gcc -fsanitize=thread -g -fno-builtin --param tsan-distinguish-volatile=1 "$@" -c "$source" -o "$program.o"
gcc "$program.o" -o "$program" "$library" -Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove -pthread
