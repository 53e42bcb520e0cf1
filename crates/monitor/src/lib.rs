//! Questions about a stream: could TSO or PSO have broken this SC execution, and where?
