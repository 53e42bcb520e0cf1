#!/bin/sh
# Compiles a C file so that it runs under the library, if WEAKSPOT_RUN says so:
# compile.sh LIBRARY FILE.c PROGRAM [OPTION...]
set -e
library=$1
source=$2
program=$3
shift 3
gcc -fsanitize=thread -g -fno-builtin --param tsan-distinguish-volatile=1 -Wno-tsan "$@" \
  -c "$source" -o "$program.o"
gcc "$program.o" -o "$program" "$library" -pthread \
  -Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove,--wrap=memcmp \
  -Wl,--wrap=strlen,--wrap=strcmp,--wrap=strncmp,--wrap=strndup,--wrap=strncpy,--wrap=strchr,--wrap=atoi,--wrap=strtol \
  -Wl,--wrap=atol,--wrap=atoll,--wrap=strtoll,--wrap=strtoull,--wrap=__isoc23_strtoll,--wrap=__isoc23_strtoull,--wrap=atof,--wrap=strtod,--wrap=mempcpy,--wrap=memrchr,--wrap=strnlen,--wrap=strcasecmp,--wrap=strncasecmp,--wrap=strspn,--wrap=strcspn,--wrap=strpbrk,--wrap=localtime_r,--wrap=gmtime_r
