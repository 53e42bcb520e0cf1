//! Several processes that search together: what a search has to know of them. How they are connected
//! is the affair of whoever implements this.

use weakspot_core::Limit;

/// The processes of a search, seen from one of them. All of them are asked the same question about the
/// same program, one after the other if there are several, and each gets the same answer.
pub trait Team: Sync {
    /// How many processes there are, and which one this is.
    fn place(&self) -> (usize, usize);

    /// Begins a search with so many threads in each process.
    ///
    /// # Errors
    ///
    /// The others cannot be reached.
    fn begin(&self, threads: usize) -> Result<(), Limit>;

    /// The link of one of these threads, who asks for it himself.
    ///
    /// # Errors
    ///
    /// There is none.
    fn link(&self, thread: usize) -> Result<Box<dyn Link>, Limit>;

    /// Ends a search, after all links were dropped.
    fn end(&self);
}

/// What connects one worker with all workers of all processes. They are numbered process by process.
/// What one worker sends another arrives in that order, each message in the level in which it was sent.
pub trait Link {
    /// Sends bytes to a worker, in the current level; or at once, whichever level that worker is in.
    fn send(&mut self, to: usize, at_once: bool, message: Vec<u8>);

    /// A message that has come, if there is one, and who sent it. Those of the next level come only
    /// after [`Link::next_level`].
    fn receive(&mut self) -> Option<(usize, Vec<u8>)>;

    /// Whether others have taken so much of what was sent that more may follow.
    fn has_room(&self) -> bool;

    /// No more will be sent in this level.
    fn end_level(&mut self);

    /// Whether everybody has ended this level and all of it has come: what is left of it is there to be
    /// received.
    fn is_level_over(&self) -> bool;

    /// From now on the next level is received.
    fn next_level(&mut self);

    /// Lets the connection do its work, and waits a little if there is nothing to do and it may.
    fn step(&mut self, may_wait: bool);

    /// Why the search cannot go on, if a process is lost.
    fn lost(&self) -> Option<Limit>;

    /// The bytes that wait here, sent or received.
    fn bytes(&self) -> usize;
}
