//! Tests of the real binary over RDMA. They run where there is a device: in the guest of scripts/rdma-guest.sh, or with
//! `SCURRY_RDMA_ADDRESS`, the address of one. Elsewhere each reports that it was skipped.

mod access;
mod hostile;
mod raw;
mod support;
mod syscalls;
mod techniques;
