package scurry.lab;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** Errors under load: all are counted, the first few texts are kept. */
final class Failures {
    private static final int TEXTS_MAX = 5;

    private final Map<String, Long> texts = new LinkedHashMap<>();
    private long count;

    synchronized void add(String text) {
        count++;
        if (texts.size() < TEXTS_MAX || texts.containsKey(text)) {
            texts.merge(text, 1L, Long::sum);
        }
    }

    void add(Throwable error) {
        add(oneLine(error));
    }

    synchronized String json() {
        String first = texts.entrySet().stream()
                .map(entry -> "{\"text\": \"" + entry.getKey().replace("\\", "/").replace("\"", "'")
                        + "\", \"count\": " + entry.getValue() + "}")
                .collect(Collectors.joining(", "));
        return "{\"count\": " + count + ", \"texts\": [" + first + "]}";
    }

    static String oneLine(Throwable error) {
        Throwable cause = error.getCause() == null ? error : error.getCause();
        return String.valueOf(cause).replaceAll("[^ -~]+", " ");
    }
}
