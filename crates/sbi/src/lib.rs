//! What TS 29.500 asks of any service of a 5G core, whatever it serves: the access tokens that consumers show, and the
//! headers of their requests. It knows nothing of charging.
#![forbid(unsafe_code)]
