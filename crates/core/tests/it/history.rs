//! What histories are, and the evidence about them:
//! - `edges`: which edges cycles of histories may have, and what follows from them, pair by pair;
//! - `evidence`: the checker of evidence for histories accepts what is right, and nothing that is wrong;
//! - `models`: what the models mean: axioms against machines on random histories, the known small histories, and
//!   which model implies which;
//! - `real_time`: models that are about real time: by all orders, axioms and machines with a clock;
//! - `transactional`: histories of transactions: the checker of commit orders and the search against the definition.

mod edges;
mod evidence;
mod models;
mod real_time;
mod transactional;
