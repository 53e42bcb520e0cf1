//! The bugs that can be put into the simulated protocols.

/// A defect of a protocol. Each is something that a designer or a typist may really do; none makes
/// the simulation stop, all may show in what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Not all acknowledgements of an invalidation are waited for.
    LostAck,
    /// A store does not ask for ownership.
    StoreInShared,
    /// An owner hands on old data.
    StaleForward,
    /// A writeback is acknowledged and thrown away.
    DroppedWriteback,
    /// Two actions swapped: acknowledge, then invalidate.
    EarlyAck,
    /// One sharer is not told.
    ForgottenSharer,
    /// A request meets a line on its way out.
    EvictionRace,
    /// Two actions swapped: store, then fill.
    SwappedFill,
    /// A writeback that came too late is taken all the same.
    LateWriteback,
    /// An update reads before it owns the line.
    SplitUpdate,
    /// A dirty line is shared and nobody feels responsible for it.
    LostOwner,
    /// What the owner copies back when its line is shared is thrown away.
    LostCopyback,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 12] = [
        Bug::LostAck,
        Bug::StoreInShared,
        Bug::StaleForward,
        Bug::DroppedWriteback,
        Bug::EarlyAck,
        Bug::ForgottenSharer,
        Bug::EvictionRace,
        Bug::SwappedFill,
        Bug::LateWriteback,
        Bug::SplitUpdate,
        Bug::LostOwner,
        Bug::LostCopyback,
    ];

    /// The bug as it is written in options.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Bug::LostAck => "lost-ack",
            Bug::StoreInShared => "store-in-shared",
            Bug::StaleForward => "stale-forward",
            Bug::DroppedWriteback => "dropped-writeback",
            Bug::EarlyAck => "early-ack",
            Bug::ForgottenSharer => "forgotten-sharer",
            Bug::EvictionRace => "eviction-race",
            Bug::SwappedFill => "swapped-fill",
            Bug::LateWriteback => "late-writeback",
            Bug::SplitUpdate => "split-update",
            Bug::LostOwner => "lost-owner",
            Bug::LostCopyback => "lost-copyback",
        }
    }

    /// The bug with this key.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Bug> {
        Bug::ALL.into_iter().find(|bug| bug.key() == key)
    }

    /// What goes wrong, in a sentence.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Bug::LostAck => "a writer goes ahead although one acknowledgement is missing",
            Bug::StoreInShared => "a store hits in a line that others share",
            Bug::StaleForward => "an owner hands on its line as it was when it was filled",
            Bug::DroppedWriteback => "a writeback is acknowledged, but its data is thrown away",
            Bug::EarlyAck => "an invalidation is acknowledged before it is done",
            Bug::ForgottenSharer => "one of the sharers is not invalidated",
            Bug::EvictionRace => "a request that meets a line on its way out gets old data",
            Bug::SwappedFill => "a store that waits for its line is done before the line is filled",
            Bug::LateWriteback => "a writeback of a cache that no longer owns the line is taken",
            Bug::SplitUpdate => "an atomic update reads before it owns the line",
            Bug::LostOwner => "a dirty line is shared, and no cache stays its owner",
            Bug::LostCopyback => "what an owner copies back when others read is thrown away",
        }
    }
}
