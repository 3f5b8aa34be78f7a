package scurry.lab;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;

/**
 * A door in RESP for what is not the load: the lab's PING, probe, filling and audit. The load itself
 * runs in this process, over the system's own client, and never through here.
 */
final class Gateway {
    private static final int IN_FLIGHT_MAX = 256;

    private final Door door;
    private final String info;

    /** `door` is null at the server, which only says what it is. */
    Gateway(Door door, String info) {
        this.door = door;
        this.info = info;
    }

    /** Serves each connection in a thread of its own, for ever. */
    void serve(int port) throws IOException {
        try (ServerSocket listener = new ServerSocket(port, 16, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket socket = listener.accept();
                Thread thread = new Thread(() -> {
                    try (socket) {
                        socket.setTcpNoDelay(true);
                        talk(socket);
                    } catch (IOException error) {
                        // The lab has closed its connection.
                    }
                });
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    private void talk(Socket socket) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 65536));
        OutputStream out = new BufferedOutputStream(socket.getOutputStream(), 65536);
        ArrayDeque<CompletableFuture<byte[]>> waiting = new ArrayDeque<>();
        while (true) {
            if (waiting.size() >= IN_FLIGHT_MAX || in.available() == 0) {
                for (CompletableFuture<byte[]> reply; (reply = waiting.poll()) != null; ) {
                    out.write(settled(reply));
                }
                out.flush();
            }
            String[] words = read(in);
            if (words == null) {
                return;
            }
            if (words[0].equals("LOAD")) {
                new Load(door, new Plan(words)).run(out);
            } else {
                waiting.add(answer(words));
            }
        }
    }

    private static byte[] settled(CompletableFuture<byte[]> reply) {
        try {
            return reply.join();
        } catch (RuntimeException error) {
            return Reply.error("ERR " + Failures.oneLine(error));
        }
    }

    private CompletableFuture<byte[]> answer(String[] words) {
        try {
            return switch (words[0]) {
                case "PING" -> done(new Reply().simple("PONG").bytes());
                case "INFO" -> done(new Reply().bulk(info).bytes());
                default -> door.answer(words).toCompletableFuture();
            };
        } catch (RuntimeException error) {
            return done(Reply.error("ERR " + Failures.oneLine(error)));
        }
    }

    private static CompletableFuture<byte[]> done(byte[] reply) {
        return CompletableFuture.completedFuture(reply);
    }

    /** A request; null where the connection has ended. */
    private static String[] read(DataInputStream in) throws IOException {
        int first = in.read();
        if (first < 0) {
            return null;
        }
        if (first != '*') {
            throw new IOException("a request is not an array");
        }
        String[] words = new String[number(in)];
        for (int at = 0; at < words.length; at++) {
            in.readByte();
            byte[] word = new byte[number(in)];
            in.readFully(word);
            in.readShort();
            words[at] = new String(word, StandardCharsets.UTF_8);
        }
        return words;
    }

    private static int number(DataInputStream in) throws IOException {
        int value = 0;
        for (int digit; (digit = in.read()) != '\r'; value = 10 * value + digit - '0') {
            if (digit < '0' || digit > '9') {
                throw new EOFException("a length is no number");
            }
        }
        in.readByte();
        return value;
    }
}
