//! Dense ids. An id is an index into a table of the thing it names; names for people live in
//! [`Names`](crate::Names), which only front ends and reports touch.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of the `index`-th thing.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 things of one kind"))
            }

            /// The position in the table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A thread of a program, in the order of the source.
    ThreadId
);
id!(
    /// A memory location: an index into [`Program::locs`](crate::Program::locs).
    LocId
);
id!(
    /// A register of one thread: an index into [`Thread::regs`](crate::Thread::regs).
    RegId
);
id!(
    /// A control point of one thread: an index into [`Thread::points`](crate::Thread::points).
    PointId
);
id!(
    /// An event of a history, trace or execution.
    EventId
);
