/* Stands before <bits/c++config.h> of libstdc++. Before C++20, the functions of std::string are those that libstdc++.so
   has, which are not instrumented: here they are made by the compiler of the program, as with -D_GLIBCXX_ASSERTIONS, but
   without its checks. */
#include_next <bits/c++config.h>
#if defined(_GLIBCXX_EXTERN_TEMPLATE) && _GLIBCXX_EXTERN_TEMPLATE > 0
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
