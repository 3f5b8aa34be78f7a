package scurry.lab;

import java.io.IOException;

/**
 * `serve SYSTEM PORT DURABILITY` is the server: its own ports follow PORT, where it says what it is.
 * `drive SYSTEM PORT SERVER LOGIC` is the driver of the server at SERVER; the rules run where LOGIC
 * says, in the `server` or in the `client`.
 */
public final class Main {
    private Main() {}

    public static void main(String[] words) throws IOException {
        String system = words[1];
        int port = Integer.parseInt(words[2]);
        if (words[0].equals("serve")) {
            String durability = words[3];
            String version = system.equals("ignite")
                    ? IgnitePeer.serve(port + 1, durability) : HazelcastPeer.serve(port + 1);
            String info = system + "_version:" + version + " on Java " + Runtime.version().feature()
                    + "\r\ndurability:" + durability + "\r\n";
            new Gateway(null, info).serve(port);
        } else {
            int server = Integer.parseInt(words[3]) + 1;
            Store store = switch (system + " " + words[4]) {
                case "ignite server" -> IgnitePeer.connect(server);
                case "ignite client" -> IgnitePeer.connectPlain(server);
                case "hazelcast server" -> HazelcastPeer.connect(server);
                case "hazelcast client" -> HazelcastPeer.connectPlain(server);
                default -> throw new IllegalArgumentException("no " + system + " with " + words[4]);
            };
            new Gateway(store, "").serve(port);
        }
    }
}
