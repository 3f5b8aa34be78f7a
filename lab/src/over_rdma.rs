//! Loads over RDMA: the arguments that a server needs, and its address.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::ValueEnum;

use crate::target::{Missing, Target};

/// Transport of the load. Filling and the audit go over TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TransportKind {
    /// TCP.
    #[default]
    Tcp,
    /// RESP over RDMA, as Valkey speaks it.
    Rdma,
}

/// RDMA settings of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverRdma {
    /// Address of an RDMA device of this machine. The port number is the same as that of TCP; the two do not conflict.
    pub address: IpAddr,
    /// Module with which a valkey-server speaks RDMA.
    pub module: Option<PathBuf>,
}

impl OverRdma {
    /// Returns the extra arguments of a server that listens on this port.
    ///
    /// # Errors
    /// [`Missing`] for a target that does not speak RDMA.
    pub fn arguments(&self, target: Target, port: u16) -> Result<Vec<String>, Missing> {
        let (address, port) = (self.address.to_string(), port.to_string());
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match target {
            Target::Scurry => {
                let listen = SocketAddr::new(self.address, port.parse().unwrap_or_default());
                let listen = listen.to_string();
                // Open access is safe here: the device is on this machine, and only the load knows the port.
                let open = "--allow-open-access-without-password";
                Ok(words(&["--rdma-listen", &listen, open]))
            }
            Target::Valkey | Target::ValkeyLua | Target::ValkeyModule | Target::ValkeyClient => {
                let Some(module) = &self.module else {
                    let why = format!("{} speaks RDMA by a module only", target.name());
                    let cure = "name it with --valkey-rdma-module (valkey-rdma.so)".to_owned();
                    return Err(Missing { why, cure });
                };
                let module = module.to_string_lossy();
                let bind = ["--rdma-bind", &address, "--rdma-port", &port];
                Ok(words(&[&["--loadmodule", &module][..], &bind].concat()))
            }
            _ => {
                let why = format!("{} does not speak RDMA", target.name());
                Err(Missing { why, cure: "measure it over TCP".to_owned() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_speak_it_are_told_where_and_others_say_that_they_do_not() {
        let over = |module: Option<&str>| OverRdma {
            address: [10, 77, 0, 1].into(),
            module: module.map(PathBuf::from),
        };
        let of = |target, module| over(module).arguments(target, 7000);
        let scurry = of(Target::Scurry, None).unwrap();
        assert_eq!(scurry[..2], ["--rdma-listen", "10.77.0.1:7000"]);
        let valkey = of(Target::Valkey, Some("/m.so")).unwrap();
        assert_eq!(
            valkey,
            ["--loadmodule", "/m.so", "--rdma-bind", "10.77.0.1", "--rdma-port", "7000"]
        );
        let missing = of(Target::Valkey, None).unwrap_err().to_string();
        assert!(missing.contains("--valkey-rdma-module"), "{missing}");
        let missing = of(Target::RedisLua, Some("/m.so")).unwrap_err().to_string();
        assert!(missing.contains("redis+lua does not speak RDMA"), "{missing}");
    }
}
