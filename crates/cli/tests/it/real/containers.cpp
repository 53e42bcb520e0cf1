// Random changes of a set and a list, looked at through their nodes.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <set>
#include <vector>
#include <algorithm>
using Base = std::_Rb_tree_node_base;
static unsigned long hash_ = 14695981039346656037ul;
static void mix(unsigned long x) { hash_ = (hash_ ^ x) * 1099511628211ul; hash_ ^= hash_ >> 29; }
static int look(const Base *n, const Base *up) {
    if (!n) { mix(7); return 0; }
    assert(n->_M_parent == up);
    mix(n->_M_color); mix(*(const int *)(n + 1));
    if (n->_M_color == std::_S_red) assert((!n->_M_left || n->_M_left->_M_color == std::_S_black) && (!n->_M_right || n->_M_right->_M_color == std::_S_black));
    int l = look(n->_M_left, n), r = look(n->_M_right, n);
    assert(l == r);
    return l + (n->_M_color == std::_S_black);
}
template <class S> static void check(S &s, const std::vector<int> &sorted) {
    const Base *h = s.end()._M_node;
    if (h->_M_parent) assert(h->_M_parent->_M_color == std::_S_black);
    look(h->_M_parent, h);
    mix(*(const int *)(s.begin()._M_node + 1) * !s.empty());
    size_t i = 0;
    for (int v : s) { assert(i < sorted.size() && v == sorted[i]); i++; }
    assert(i == sorted.size());
    for (auto it = s.rbegin(); it != s.rend(); ++it) assert(*it == sorted[--i]);
    const S &c = s;
    for (auto it = c.begin(); it != c.end(); it++) assert(*it == sorted[i++]);
    for (auto it = c.end(); it != c.begin();) assert(*--it == sorted[--i]);
}
static unsigned long seed = 1;
static int rnd(int n) { seed = seed * 6364136223846793005ul + 1442695040888963407ul; return (seed >> 33) % n; }
int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    for (int range : {3, 10, 60, 1000}) {
        std::multiset<int> s; std::vector<int> v;
        for (int i = 0; i < rounds; i++) {
            int x = rnd(range);
            if (rnd(200) < (i / 300 % 2 ? 80 : 120)) { s.insert(x); v.insert(std::upper_bound(v.begin(), v.end(), x), x); }
            else if (auto it = s.find(x); it != s.end()) { s.erase(it); v.erase(std::lower_bound(v.begin(), v.end(), x)); }
            if (rnd(50) == 0 && !s.empty()) { s.erase(s.begin()); v.erase(v.begin()); }
            if (rnd(50) == 0 && !s.empty()) { s.erase(std::prev(s.end())); v.pop_back(); }
            if (i % 16 == 0 || v.size() < 20) check(s, v);
        }
        while (!s.empty()) { int k = rnd(s.size()); s.erase(std::next(s.begin(), k)); v.erase(v.begin() + k); check(s, v); }
    }
    std::list<int> a, b; std::vector<int> x, y;
    auto same = [&] {
        assert(a.size() == x.size() && b.size() == y.size() && std::equal(x.begin(), x.end(), a.begin()) && std::equal(y.begin(), y.end(), b.begin()));
        assert(std::equal(x.rbegin(), x.rend(), a.rbegin()) && std::equal(y.rbegin(), y.rend(), b.rbegin()));
    };
    for (int i = 0; i < rounds; i++) {
        int n = rnd(100), what = rnd(9);
        switch (what) {
        case 0: case 1: { int k = rnd(a.size() + 1); a.insert(std::next(a.begin(), k), n); x.insert(x.begin() + k, n); break; }
        case 2: b.push_front(n); y.insert(y.begin(), n); break;
        case 3: if (!a.empty()) { int k = rnd(a.size()); a.erase(std::next(a.begin(), k)); x.erase(x.begin() + k); } break;
        case 4: a.reverse(); std::reverse(x.begin(), x.end()); break;
        case 5: a.swap(b); std::swap(x, y); break;
        case 6: { int k = rnd(a.size() + 1); a.splice(std::next(a.begin(), k), b); x.insert(x.begin() + k, y.begin(), y.end()); y.clear(); break; }
        case 7: { int k = rnd(a.size() + 1), l = k + rnd(a.size() - k + 1); b.splice(b.begin(), a, std::next(a.begin(), k), std::next(a.begin(), l)); y.insert(y.begin(), x.begin() + k, x.begin() + l); x.erase(x.begin() + k, x.begin() + l); break; }
        case 8: a.sort(); std::stable_sort(x.begin(), x.end()); break;
        }
        if (a.size() > 60) { a.clear(); x.clear(); }
        same();
        for (int e : a) mix(e);
    }
    printf("%lx\n", hash_);
}
