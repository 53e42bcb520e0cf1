//! More than one process: searches and files that several share, and the page that is served.

pub(crate) mod cluster;
mod cluster_checkpoint;
mod cluster_sweep;
pub(crate) mod serve;
