//! The real binary over RDMA. These run where there is a device: in the guest of scripts/rdma-guest.sh,
//! or with `SCURRY_RDMA_ADDRESS`, an address of one; elsewhere each says that it was skipped.

mod access;
mod hostile;
mod raw;
mod support;
mod syscalls;
mod techniques;
