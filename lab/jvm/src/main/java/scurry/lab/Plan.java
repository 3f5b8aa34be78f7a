package scurry.lab;

import java.util.HashMap;
import java.util.Map;

/** The words of LOAD: names and values. */
final class Plan {
    private final Map<String, String> words = new HashMap<>();

    Plan(String[] request) {
        for (int at = 1; at + 1 < request.length; at += 2) {
            words.put(request[at], request[at + 1]);
        }
    }

    String text(String name) {
        String text = words.get(name);
        if (text == null) {
            throw new IllegalArgumentException("LOAD says no " + name);
        }
        return text;
    }

    long number(String name) {
        return Long.parseLong(text(name));
    }

    int count(String name) {
        return Integer.parseInt(text(name));
    }

    double seconds(String name) {
        return Double.parseDouble(text(name));
    }
}
