package scurry.lab;

import java.io.IOException;

/**
 * `serve SYSTEM PORT FIRST MEMBERS BACKUPS DURABILITY` is a member of so many: its own ports follow PORT,
 * where it says what it is, and the first one's follow FIRST. `drive SYSTEM PORT SERVER WORK` is the
 * driver of the members of which the first is at SERVER. WORK is `server` or `client`, where the rules of
 * charging run, or `values` or `records`. SERVER of `tigerbeetle` and `aerospike`, which run already, is
 * HOST:PORT, and their WORK is `holds`.
 */
public final class Main {
    /** From a member's port to the next one's. */
    private static final int STEP = 3;

    private Main() {}

    public static void main(String[] words) throws IOException {
        String system = words[1];
        int port = Integer.parseInt(words[2]);
        switch (system) {
            case "tigerbeetle" -> new Gateway(TigerBeetlePeer.connect(words[3]), TigerBeetlePeer.info()).serve(port);
            case "aerospike" -> AerospikePeer.gateway(words[3]).serve(port);
            default -> member(words, system, port);
        }
    }

    private static void member(String[] words, String system, int port) throws IOException {
        int first = Integer.parseInt(words[3]);
        if (words[0].equals("serve")) {
            Member member = new Member(port + 1, first + 1, (port - first) / STEP + 1,
                    Integer.parseInt(words[4]), Integer.parseInt(words[5]), words[6]);
            String version = system.equals("ignite") ? IgnitePeer.serve(member) : HazelcastPeer.serve(member);
            String info = system + "_version:" + version + " on Java " + Runtime.version().feature()
                    + "\r\ndurability:" + member.durability() + "\r\n";
            new Gateway(null, info).serve(port);
        } else {
            Door door = system.equals("ignite") ? IgnitePeer.connect(first + 1, port - 1, words[4])
                    : HazelcastPeer.connect(first + 1, words[4]);
            new Gateway(door, "").serve(port);
        }
    }
}
