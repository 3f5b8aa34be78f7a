// Reads all committed messages of a topic, and ends: a line for each, with partition, offset, key, id and value.
// java -cp 'JARS/*' Events.java HOST:PORT TOPIC
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

class Events {
    public static void main(String[] arguments) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", arguments[0],
            "isolation.level", "read_committed",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false");
        var text = new StringDeserializer();
        var lines = new StringBuilder();
        try (var consumer = new KafkaConsumer<String, String>(settings, text, text)) {
            List<TopicPartition> partitions = consumer.partitionsFor(arguments[1]).stream()
                .map(info -> new TopicPartition(info.topic(), info.partition()))
                .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            // With read_committed the end is before the first transaction that is open.
            var ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    var header = record.headers().lastHeader("id");
                    var id = header == null ? "-" : new String(header.value(), StandardCharsets.UTF_8);
                    lines.append(record.partition()).append('\t').append(record.offset()).append('\t')
                        .append(record.key()).append('\t').append(id).append('\t').append(record.value()).append('\n');
                }
            }
        }
        System.out.print(lines);
    }
}
