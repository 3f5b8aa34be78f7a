package scurry.lab;

import java.util.Arrays;

/** Ids and values as the lab makes them: digits in base 36 behind a prefix, or in front of a filling. */
final class Names {
    /** Bytes of the number of a write at the start of its value. */
    static final int STAMP = 8;
    private static final int ID = 7;
    private static final String DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

    private Names() {}

    static String id(String prefix, long number) {
        byte[] digits = new byte[ID];
        write(digits, ID, number);
        return prefix + new String(digits, java.nio.charset.StandardCharsets.US_ASCII);
    }

    /** The value that a write of this number gives; one that is too short for the number has none. */
    static byte[] value(int size, long number) {
        byte[] value = new byte[size];
        Arrays.fill(value, (byte) 'x');
        if (size >= STAMP) {
            write(value, STAMP, number);
        }
        return value;
    }

    private static void write(byte[] out, int length, long number) {
        for (int at = length - 1; at >= 0; at--, number /= 36) {
            out[at] = (byte) DIGITS.charAt((int) (number % 36));
        }
    }
}
