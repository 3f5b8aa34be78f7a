//! The functions of libibverbs and librdmacm that are needed, opened at run time, so that nothing is
//! needed to build, and to run where no RDMA is wanted. The types are those of the libraries' public
//! headers (`infiniband/verbs.h`, `rdma/rdma_cma.h` of rdma-core), whose layout is stable; a test
//! compares them with the headers where these are installed.
//!
//! Nothing here is safe to use: `scurry-rdma` is.
#![expect(unsafe_code, reason = "functions of C")]

pub mod cm;
pub mod inline;
pub mod library;
pub mod verbs;

pub use library::{Absent, Library};
