package scurry.lab;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A reply in RESP, as SCUR.* answers: the lab's probe and audit read these. */
final class Reply {
    private byte[] bytes = new byte[256];
    private int length;

    static byte[] error(String text) {
        return new Reply().line('-', text).bytes();
    }

    Reply array(int count) {
        return number('*', count);
    }

    Reply integer(long value) {
        return number(':', value);
    }

    Reply simple(String text) {
        return line('+', text);
    }

    Reply bulk(String text) {
        return bulk(text.getBytes(StandardCharsets.UTF_8));
    }

    Reply bulk(byte[] value) {
        number('$', value.length);
        room(value.length + 2);
        System.arraycopy(value, 0, bytes, length, value.length);
        length += value.length;
        return end();
    }

    Reply nil() {
        return number('$', -1);
    }

    byte[] bytes() {
        return Arrays.copyOf(bytes, length);
    }

    @SuppressWarnings("deprecation") // The low bytes of ASCII text are what is wanted.
    private Reply line(char kind, String text) {
        room(text.length() + 3);
        bytes[length++] = (byte) kind;
        text.getBytes(0, text.length(), bytes, length);
        length += text.length();
        return end();
    }

    private Reply number(char kind, long value) {
        return line(kind, Long.toString(value));
    }

    private Reply end() {
        bytes[length++] = '\r';
        bytes[length++] = '\n';
        return this;
    }

    private void room(int more) {
        if (length + more + 2 > bytes.length) {
            bytes = Arrays.copyOf(bytes, 2 * (length + more + 2));
        }
    }
}
