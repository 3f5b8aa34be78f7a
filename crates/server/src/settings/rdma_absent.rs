//! What a server is told of RDMA in a build without the feature `rdma`: nothing.

/// Settings that nobody can make.
#[derive(Clone, Copy, Debug)]
pub enum RdmaSettings {}
