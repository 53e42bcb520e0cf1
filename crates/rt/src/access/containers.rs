//! Functions of libstdc++ that link the nodes of `std::list`, and those of the red-black trees behind `std::map`, `std::set`
//! and their `multi` relatives. They are compiled into the library, where nobody sees what they do to nodes that threads
//! share: these do the same, and announce each load and store, if the program is under control.
//!
//! What nodes look like is part of the library's interface: a node of a list has the next and the previous one, a node of a
//! tree its color, parent, left and right child. The header of a tree has its root as parent, and its first and last
//! node as children; it is the parent of the root, and red.
//!
//! Trees are mended as in every textbook (Cormen et al., Introduction to Algorithms, chapter 13), with two differences: absent
//! children are null, and a node with two children that is erased is replaced by its successor, not overwritten by its value,
//! because others point to both.

use crate::Rt;
use crate::access::plain::access;
use crate::entry::frame::{Call, entry, latest};
use crate::entry::guest::Guest;

entry! {
    _ZNSt8__detail15_List_node_base7_M_hookEPS0_ => hook;
    _ZNSt8__detail15_List_node_base9_M_unhookEv => unhook;
    _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_ => transfer;
    _ZNSt8__detail15_List_node_base10_M_reverseEv => reverse;
    _ZNSt8__detail15_List_node_base4swapERS0_S1_ => swap;
    _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base => increment;
    _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base => increment;
    _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base => decrement;
    _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base => decrement;
    _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ => insert;
    _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ => erase;
}

/// The address of a node, 0 for none.
type Node = usize;

/// Where the links of a node are: in lists,
const NEXT: usize = 0;
const PREVIOUS: usize = 8;
/// and in trees, behind the color.
const PARENT: usize = 8;
const LEFT: usize = 16;
const RIGHT: usize = 24;

/// The child on the other side.
const fn other(side: usize) -> usize {
    LEFT + RIGHT - side
}

const RED: u32 = 0;
const BLACK: u32 = 1;

/// A call of one of these functions, which is how it reaches nodes.
#[derive(Clone, Copy)]
struct Nodes {
    call: Call,
    /// Whether it links nodes anew: then it may read the same twice, and goes on for all that.
    relinks: bool,
}

impl Nodes {
    fn looks() -> Nodes {
        Nodes { call: latest(), relinks: false }
    }

    fn relinks() -> Nodes {
        Nodes { call: latest(), relinks: true }
    }

    fn announce<T: Copy>(self, object: Guest<T>, write: bool) {
        // SAFETY: entered from the program, see `Rt::live`.
        if let Some(mut rt) = unsafe { Rt::live() } {
            if self.relinks {
                rt.threads.me_mut().spin.changed();
            }
            access(&mut rt, object.area(), write, self.call);
        }
    }

    fn read<T: Copy>(self, node: Node, field: usize) -> T {
        // SAFETY: the program says that there is a node, which has this field.
        let object: Guest<T> = unsafe { Guest::at(node.wrapping_add(field)) };
        self.announce(object, false);
        object.get()
    }

    fn write<T: Copy>(self, node: Node, field: usize, value: T) {
        // SAFETY: the program says that there is a node, which has this field.
        let object: Guest<T> = unsafe { Guest::at(node.wrapping_add(field)) };
        self.announce(object, true);
        object.set(value);
    }

    fn link(self, node: Node, field: usize) -> Node {
        self.read(node, field)
    }

    fn set_link(self, node: Node, field: usize, to: Node) {
        self.write(node, field, to);
    }

    fn color(self, node: Node) -> u32 {
        self.read(node, 0)
    }

    fn set_color(self, node: Node, color: u32) {
        self.write(node, 0, color);
    }

    fn is_red(self, node: Node) -> bool {
        node != 0 && self.color(node) == RED
    }

    /// The last node on one side of a tree.
    fn outermost(self, mut root: Node, side: usize) -> Node {
        loop {
            match self.link(root, side) {
                0 => return root,
                child => root = child,
            }
        }
    }

    /// What was linked to a node from above is linked to another one, or to none.
    fn replace(self, tree: Node, node: Node, above: Node, by: Node) {
        if self.link(tree, PARENT) == node {
            self.set_link(tree, PARENT, by);
        } else if self.link(above, LEFT) == node {
            self.set_link(above, LEFT, by);
        } else {
            self.set_link(above, RIGHT, by);
        }
    }

    /// A node goes down to this side, and its child from the other side comes up.
    fn rotate(self, tree: Node, node: Node, side: usize) {
        let up = self.link(node, other(side));
        let moved = self.link(up, side);
        self.set_link(node, other(side), moved);
        if moved != 0 {
            self.set_link(moved, PARENT, node);
        }
        let above = self.link(node, PARENT);
        self.set_link(up, PARENT, above);
        self.replace(tree, node, above, up);
        self.set_link(up, side, node);
        self.set_link(node, PARENT, up);
    }
}

extern "C" fn hook(node: Node, next: Node) {
    let nodes = Nodes::relinks();
    nodes.set_link(node, NEXT, next);
    let previous = nodes.link(next, PREVIOUS);
    nodes.set_link(node, PREVIOUS, previous);
    nodes.set_link(previous, NEXT, node);
    nodes.set_link(next, PREVIOUS, node);
}

extern "C" fn unhook(node: Node) {
    let nodes = Nodes::relinks();
    let next = nodes.link(node, NEXT);
    let previous = nodes.link(node, PREVIOUS);
    nodes.set_link(previous, NEXT, next);
    nodes.set_link(next, PREVIOUS, previous);
}

/// The nodes from `first` to the one before `last` come before `node`.
extern "C" fn transfer(node: Node, first: Node, last: Node) {
    if node == last {
        return;
    }
    let nodes = Nodes::relinks();
    let end = nodes.link(last, PREVIOUS);
    nodes.set_link(end, NEXT, node);
    let gap = nodes.link(first, PREVIOUS);
    nodes.set_link(gap, NEXT, last);
    let before = nodes.link(node, PREVIOUS);
    nodes.set_link(before, NEXT, first);
    nodes.set_link(node, PREVIOUS, end);
    nodes.set_link(last, PREVIOUS, gap);
    nodes.set_link(first, PREVIOUS, before);
}

extern "C" fn reverse(list: Node) {
    let nodes = Nodes::relinks();
    let mut node = list;
    loop {
        let next = nodes.link(node, NEXT);
        let previous = nodes.link(node, PREVIOUS);
        nodes.set_link(node, NEXT, previous);
        nodes.set_link(node, PREVIOUS, next);
        node = next;
        if node == list {
            return;
        }
    }
}

/// The nodes of one list become those of the other. A list without nodes is linked to itself.
extern "C" fn swap(one: Node, two: Node) {
    let nodes = Nodes::relinks();
    let ends = |list: Node| {
        let next = nodes.link(list, NEXT);
        (next != list).then(|| (next, nodes.link(list, PREVIOUS)))
    };
    let put = |list: Node, ends: Option<(Node, Node)>| {
        let (first, last) = ends.unwrap_or((list, list));
        nodes.set_link(list, NEXT, first);
        nodes.set_link(list, PREVIOUS, last);
        if ends.is_some() {
            nodes.set_link(first, PREVIOUS, list);
            nodes.set_link(last, NEXT, list);
        }
    };
    let (of_one, of_two) = (ends(one), ends(two));
    if of_one.is_some() || of_two.is_some() {
        put(one, of_two);
        put(two, of_one);
    }
}

/// The next node towards one side, or the header. It reads nothing twice, which would look like a loop that waits: the two
/// nodes above may be `known`.
fn neighbour(nodes: Nodes, start: Node, side: usize, mut known: Option<[Node; 2]>) -> Node {
    let mut child = nodes.link(start, side);
    if child != 0 {
        return nodes.outermost(child, other(side));
    }
    let mut node = start;
    let mut above = known.map_or_else(|| nodes.link(node, PARENT), |[above, _]| above);
    loop {
        // From a root without a child there, the way up leads to the header and back to the root.
        let beside = if above == start { 0 } else { nodes.link(above, side) };
        if beside != node {
            return if child == above { node } else { above };
        }
        (node, child) = (above, beside);
        above = known.take().map_or_else(|| nodes.link(node, PARENT), |[_, top]| top);
    }
}

extern "C" fn increment(node: Node) -> Node {
    neighbour(Nodes::looks(), node, RIGHT, None)
}

/// From the header, this is the last node.
extern "C" fn decrement(node: Node) -> Node {
    let nodes = Nodes::looks();
    // The root is black.
    let known = (nodes.color(node) == RED).then(|| {
        let above = nodes.link(node, PARENT);
        [above, nodes.link(above, PARENT)]
    });
    match known {
        Some([_, top]) if top == node => nodes.link(node, RIGHT),
        _ => neighbour(nodes, node, LEFT, known),
    }
}

/// A new node becomes a child of another one, or of the header if it is the first.
extern "C" fn insert(left: bool, new: Node, above: Node, tree: Node) {
    let nodes = Nodes::relinks();
    nodes.set_link(new, PARENT, above);
    nodes.set_link(new, LEFT, 0);
    nodes.set_link(new, RIGHT, 0);
    nodes.set_color(new, RED);
    if above == tree {
        nodes.set_link(tree, LEFT, new);
        nodes.set_link(tree, PARENT, new);
        nodes.set_link(tree, RIGHT, new);
    } else {
        let side = if left { LEFT } else { RIGHT };
        nodes.set_link(above, side, new);
        if nodes.link(tree, side) == above {
            nodes.set_link(tree, side, new);
        }
    }
    let mut node = new;
    while nodes.link(tree, PARENT) != node {
        let above = nodes.link(node, PARENT);
        if !nodes.is_red(above) {
            break;
        }
        // A red node is no root, so that there is one above.
        let top = nodes.link(above, PARENT);
        let side = if nodes.link(top, LEFT) == above { LEFT } else { RIGHT };
        let uncle = nodes.link(top, other(side));
        if nodes.is_red(uncle) {
            nodes.set_color(above, BLACK);
            nodes.set_color(uncle, BLACK);
            nodes.set_color(top, RED);
            node = top;
            continue;
        }
        let mut middle = above;
        if nodes.link(above, other(side)) == node {
            nodes.rotate(tree, above, side);
            middle = node;
        }
        nodes.set_color(middle, BLACK);
        nodes.set_color(top, RED);
        nodes.rotate(tree, top, other(side));
        break;
    }
    let root = nodes.link(tree, PARENT);
    nodes.set_color(root, BLACK);
}

/// A node is taken out of a tree; it is also what is returned.
extern "C" fn erase(node: Node, tree: Node) -> Node {
    let nodes = Nodes::relinks();
    let (left, right) = (nodes.link(node, LEFT), nodes.link(node, RIGHT));
    let above = nodes.link(node, PARENT);
    // What comes up, perhaps nothing; below which node, and the color that is gone from there.
    let (up, place, gone);
    if left != 0 && right != 0 {
        let next = nodes.outermost(right, LEFT);
        up = nodes.link(next, RIGHT);
        nodes.set_link(left, PARENT, next);
        nodes.set_link(next, LEFT, left);
        if next == right {
            place = next;
        } else {
            place = nodes.link(next, PARENT);
            if up != 0 {
                nodes.set_link(up, PARENT, place);
            }
            nodes.set_link(place, LEFT, up);
            nodes.set_link(next, RIGHT, right);
            nodes.set_link(right, PARENT, next);
        }
        nodes.replace(tree, node, above, next);
        nodes.set_link(next, PARENT, above);
        gone = nodes.color(next);
        let color = nodes.color(node);
        nodes.set_color(next, color);
        nodes.set_color(node, gone);
    } else {
        up = if left == 0 { right } else { left };
        place = above;
        if up != 0 {
            nodes.set_link(up, PARENT, above);
        }
        nodes.replace(tree, node, above, up);
        for (side, inner) in [(LEFT, right), (RIGHT, left)] {
            if nodes.link(tree, side) == node {
                let end = if inner == 0 { above } else { nodes.outermost(inner, side) };
                nodes.set_link(tree, side, end);
            }
        }
        gone = nodes.color(node);
    }
    if gone != RED {
        mend(nodes, tree, up, place);
    }
    node
}

/// On the way to `node`, which may be none, below `above`, a black one is missing.
fn mend(nodes: Nodes, tree: Node, mut node: Node, mut above: Node) {
    while nodes.link(tree, PARENT) != node && !nodes.is_red(node) {
        let side = if nodes.link(above, LEFT) == node { LEFT } else { RIGHT };
        let mut beside = nodes.link(above, other(side));
        if nodes.is_red(beside) {
            nodes.set_color(beside, BLACK);
            nodes.set_color(above, RED);
            nodes.rotate(tree, above, side);
            beside = nodes.link(above, other(side));
        }
        let near = nodes.link(beside, side);
        let far = nodes.link(beside, other(side));
        let far_is_red = nodes.is_red(far);
        if !far_is_red && !nodes.is_red(near) {
            nodes.set_color(beside, RED);
            node = above;
            above = nodes.link(node, PARENT);
            continue;
        }
        if !far_is_red {
            nodes.set_color(near, BLACK);
            nodes.set_color(beside, RED);
            nodes.rotate(tree, beside, other(side));
            beside = near;
        }
        let color = nodes.color(above);
        nodes.set_color(beside, color);
        nodes.set_color(above, BLACK);
        let far = nodes.link(beside, other(side));
        if far != 0 {
            nodes.set_color(far, BLACK);
        }
        nodes.rotate(tree, above, side);
        return;
    }
    if node != 0 {
        nodes.set_color(node, BLACK);
    }
}
