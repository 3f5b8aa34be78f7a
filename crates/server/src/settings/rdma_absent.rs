//! Settings of RDMA in a build without the feature `rdma`: there are none.

/// Settings of which no value can exist.
#[derive(Clone, Copy, Debug)]
pub enum RdmaSettings {}
