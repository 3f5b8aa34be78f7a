//! ACL: who is who. Users are set in the settings file, so that nothing here changes them.

use crate::execute::client::Client;
use crate::execute::node::Node;
use scurry_resp::Reply;

pub(crate) fn who_am_i(client: &Client, reply: &mut Reply<'_>) {
    reply.text(&client.user.name);
}

pub(crate) fn users(node: &Node, reply: &mut Reply<'_>) {
    let users = &node.settings.users;
    reply.array(users.all().count());
    for user in users.all() {
        reply.text(&user.name);
    }
}
