//! SENTINEL: shows a group to clients of Redis Sentinel. The primary is the leader, by its main port. Each node is a
//! Sentinel, and knows the leader from the group. Every name means the group; its own name is `scurry`.

use super::cluster::point_id;
use super::replication::PortRole;
use crate::execute::node::Node;
use crate::execute::subscriptions::GROUP_NAME;
use crate::net::port::PortKind;
use scurry_group::view::{Member, View};
use scurry_resp::{Args, Reply};

/// A group as a Sentinel shows it.
pub(crate) struct SentinelGroup<'v> {
    view: &'v View,
    part: PortRole<'v>,
}

/// Name and content of a field of an instance.
type Field = (&'static str, String);

impl SentinelGroup<'_> {
    /// Returns None without a group.
    pub(crate) fn of(node: &Node) -> Option<SentinelGroup<'_>> {
        node.view.as_deref().map(SentinelGroup::new)
    }

    fn new(view: &View) -> SentinelGroup<'_> {
        // Sentinels know one port of each server: the main one, whichever port was asked.
        SentinelGroup { view, part: PortRole::of(view, PortKind::Main, 0) }
    }

    /// Answers get-master-addr-by-name.
    pub(crate) fn address(&self, reply: &mut Reply<'_>) {
        let Some(leader) = self.part.leader() else { return reply.null_array() };
        reply.array(2);
        reply.text(&leader.addresses.ip.to_string());
        reply.text(&leader.addresses.main.to_string());
    }

    /// Answers ckquorum.
    pub(crate) fn quorum(&self, reply: &mut Reply<'_>) {
        let (reached, needed) = (self.view.reached(), self.view.needed());
        if reached < needed {
            return reply.error(format_args!(
                "NOQUORUM {reached} nodes with a vote are reached and {needed} are needed: start the others"
            ));
        }
        reply.simple(&format!(
            "OK {reached} usable Sentinels. Quorum and failover authorization can be reached"
        ));
    }

    /// Answers master.
    pub(crate) fn primary(&self, args: Args<'_>, reply: &mut Reply<'_>) {
        let name = String::from_utf8_lossy(args.at(2)).into_owned();
        match self.part.leader() {
            Some(leader) => instance(&self.primary_fields(&name, leader), reply),
            None => reply.error("ERR No such master with that name: no node leads at present"),
        }
    }

    /// Answers masters.
    pub(crate) fn primaries(&self, reply: &mut Reply<'_>) {
        let leader = self.part.leader();
        reply.array(leader.into_iter().count());
        if let Some(leader) = leader {
            instance(&self.primary_fields(GROUP_NAME, leader), reply);
        }
    }

    /// Answers replicas.
    pub(crate) fn replicas(&self, reply: &mut Reply<'_>) {
        let leader = self.part.leader();
        let replicas = || {
            let is_replica = |member: &&Member| leader.is_none_or(|leader| leader.id != member.id);
            self.view.members.iter().filter(is_replica)
        };
        reply.array(replicas().count());
        for member in replicas() {
            let mut fields = self.fields(member, "slave");
            let (host, port) = leader.map_or((String::new(), 0), |leader| {
                (leader.addresses.ip.to_string(), leader.addresses.main)
            });
            let status = if member.is_connected { "ok" } else { "err" };
            fields.extend([
                ("master-link-status", status.to_owned()),
                ("master-host", host),
                ("master-port", port.to_string()),
                ("slave-priority", "100".to_owned()),
            ]);
            instance(&fields, reply);
        }
    }

    /// Answers sentinels.
    pub(crate) fn others(&self, reply: &mut Reply<'_>) {
        let others = || self.view.members.iter().filter(|member| member.id != self.view.node);
        reply.array(others().count());
        for member in others() {
            // The port of a thread: the main port of another node leads to the leader.
            let port = member.addresses.cores.first().copied();
            let port = port.unwrap_or(member.addresses.main);
            instance(&self.fields_at(member, "sentinel", port), reply);
        }
    }

    /// Answers myid.
    pub(crate) fn own_id(&self, reply: &mut Reply<'_>) {
        reply.text(&point_id(self.view.node.get(), 0));
    }

    fn primary_fields(&self, name: &str, leader: &Member) -> Vec<Field> {
        let mut fields = self.fields(leader, "master");
        name.clone_into(&mut fields[0].1);
        let others = self.view.members.len().saturating_sub(1).to_string();
        let epoch = self.view.shards.first().map_or(0, |shard| shard.term.get());
        fields.extend([
            ("config-epoch", epoch.to_string()),
            ("num-slaves", others.clone()),
            ("num-other-sentinels", others),
            ("quorum", self.view.needed().to_string()),
        ]);
        fields
    }

    /// Returns the fields of every instance. Its name is its address.
    fn fields(&self, member: &Member, flags: &str) -> Vec<Field> {
        self.fields_at(member, flags, self.part.port_of(member))
    }

    fn fields_at(&self, member: &Member, flags: &str, port: u16) -> Vec<Field> {
        let ip = member.addresses.ip;
        let down = if member.is_connected { "" } else { ",s_down,disconnected" };
        vec![
            ("name", std::net::SocketAddr::new(ip, port).to_string()),
            ("ip", ip.to_string()),
            ("port", port.to_string()),
            ("runid", point_id(member.id.get(), 0)),
            ("flags", format!("{flags}{down}")),
        ]
    }
}

fn instance(fields: &[Field], reply: &mut Reply<'_>) {
    reply.map(fields.len());
    for (name, value) in fields {
        reply.text(name);
        reply.text(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::commands::example_view::{said, view};
    use scurry_resp::Requests;

    fn primary(watched: &SentinelGroup<'_>, name: &str) -> String {
        let mut requests = Requests::default();
        requests.push(["SENTINEL", "MASTER", name].map(str::as_bytes).into_iter());
        said(|reply| watched.primary(requests.get(0), reply))
    }

    #[test]
    fn the_leader_is_found_by_any_name_at_its_main_port() {
        let view = view(1, Some(2), 3);
        let watched = SentinelGroup::new(&view);
        assert_eq!(said(|reply| watched.address(reply)), "*2 10.0.0.2 6389");
        let shown = primary(&watched, "mymaster");
        let id = point_id(2, 0);
        assert_eq!(
            shown,
            format!(
                "*18 name mymaster ip 10.0.0.2 port 6389 runid {id} flags master config-epoch 7 \
                 num-slaves 2 num-other-sentinels 2 quorum 2"
            )
        );
        let listed = said(|reply| watched.primaries(reply));
        assert_eq!(listed, format!("*1 {}", shown.replace("mymaster", GROUP_NAME)));
        assert_eq!(said(|reply| watched.own_id(reply)), point_id(1, 0));
    }

    #[test]
    fn replicas_and_other_sentinels_say_whether_they_are_down() {
        let mut view = view(1, Some(2), 1);
        view.members[2].is_connected = false;
        let replicas = said(|reply| SentinelGroup::new(&view).replicas(reply));
        for part in [
            "*2 *18 name 10.0.0.1:6389 ip 10.0.0.1 port 6389 runid ",
            " flags slave master-link-status ok master-host 10.0.0.2 master-port 6389 ",
            " flags slave,s_down,disconnected master-link-status err ",
        ] {
            assert!(replicas.contains(part), "{part}: {replicas}");
        }
        let others = said(|reply| SentinelGroup::new(&view).others(reply));
        assert!(others.starts_with("*2 *10 name 10.0.0.2:6390 "), "{others}");
        assert!(others.ends_with(" flags sentinel,s_down,disconnected"), "{others}");
    }

    #[test]
    fn nobody_is_named_while_nobody_leads() {
        let mut view = view(1, None, 1);
        assert_eq!(said(|reply| SentinelGroup::new(&view).address(reply)), "*-1");
        assert_eq!(said(|reply| SentinelGroup::new(&view).primaries(reply)), "*0");
        assert!(primary(&SentinelGroup::new(&view), "x").starts_with("-ERR No such master"));
        assert!(said(|reply| SentinelGroup::new(&view).replicas(reply)).starts_with("*3 "));
        let quorum = |view: &View| said(|reply| SentinelGroup::new(view).quorum(reply));
        assert!(quorum(&view).starts_with("+OK 3 usable"));
        view.members[1].is_connected = false;
        assert!(quorum(&view).starts_with("+OK 2 usable"));
        view.members[2].is_connected = false;
        assert!(quorum(&view).starts_with("-NOQUORUM 1 nodes"));
    }
}
