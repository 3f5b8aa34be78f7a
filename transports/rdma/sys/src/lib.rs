//! Bindings to the functions of libibverbs and librdmacm that are used. The libraries are opened at
//! run time, so building, and running without RDMA, does not need them. The types are those of the
//! libraries' public headers (`infiniband/verbs.h`, `rdma/rdma_cma.h` of rdma-core), which have a
//! stable layout; a test compares them with the headers where these are installed.
//!
//! Everything here is unsafe to use; `scurry-rdma` is the safe interface.
#![expect(unsafe_code, reason = "functions of C")]

pub mod cm;
pub mod inline;
pub mod library;
pub mod verbs;

pub use library::{Library, LibraryMissing};
