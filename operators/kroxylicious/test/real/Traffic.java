import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Clients of Kafka clusters, all at once: for each `NAME BOOTSTRAP TRUST` (a file with certificates, or `-` for plain text)
 * a topic is made, numbers are produced to it without end, and read by a consumer group. Says `NAME read N` on the way.
 * When its input ends, it stops producing, reads the rest, and says `NAME sent N acknowledged N appended N inOrder true|false`.
 */
public final class Traffic {
    private static final AtomicBoolean stopping = new AtomicBoolean();
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int PAUSE_MS = 5;
    private static final int TELL_EVERY = 20;

    private final String name;
    private final String topic;
    private final Properties common = new Properties();
    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong acknowledged = new AtomicLong();
    private volatile boolean isProduced;

    private Traffic(String name, String bootstrap, String trust) {
        this.name = name;
        topic = "numbers-" + name;
        common.put("bootstrap.servers", bootstrap);
        common.put("reconnect.backoff.max.ms", "500");
        common.put("request.timeout.ms", "10000");
        if (trust.equals("-")) return;
        common.put("security.protocol", "SSL");
        common.put("ssl.truststore.type", "PEM");
        common.put("ssl.truststore.location", trust);
    }

    public static void main(String[] arguments) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int at = 0; at < arguments.length; at += 3) {
            var one = new Traffic(arguments[at], arguments[at + 1], arguments[at + 2]);
            one.createTopic();
            threads.add(start(one::produce));
            threads.add(start(one::consume));
        }
        while (System.in.read() >= 0) {
            // Whatever is said to us has no meaning; the end has.
        }
        stopping.set(true);
        for (Thread thread : threads) thread.join();
    }

    private static Thread start(Task task) {
        return Thread.ofPlatform().start(() -> {
            try {
                task.run();
            } catch (Exception error) {
                error.printStackTrace();
                System.exit(1);
            }
        });
    }

    private interface Task {
        void run() throws Exception;
    }

    private void createTopic() throws Exception {
        try (Admin admin = Admin.create(common)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
    }

    private void produce() throws InterruptedException {
        var properties = with(Map.of("acks", "all", "enable.idempotence", "true", "delivery.timeout.ms", "60000"));
        var serializer = "org.apache.kafka.common.serialization.LongSerializer";
        properties.put("key.serializer", serializer);
        properties.put("value.serializer", serializer);
        try (var producer = new KafkaProducer<Long, Long>(properties)) {
            while (!stopping.get()) {
                producer.send(new ProducerRecord<>(topic, sent.getAndIncrement()), (metadata, error) -> {
                    if (error == null) acknowledged.incrementAndGet();
                    else error.printStackTrace();
                });
                Thread.sleep(PAUSE_MS);
            }
        }
        isProduced = true;
    }

    private void consume() {
        var properties = with(Map.of("group.id", "readers-of-" + name, "auto.offset.reset", "earliest"));
        var deserializer = "org.apache.kafka.common.serialization.LongDeserializer";
        properties.put("key.deserializer", deserializer);
        properties.put("value.deserializer", deserializer);
        // By offset: what a consumer is given twice was still appended once.
        Map<Long, Long> numbers = new TreeMap<>();
        long deadline = Long.MAX_VALUE;
        try (var consumer = new KafkaConsumer<Long, Long>(properties)) {
            consumer.subscribe(List.of(topic));
            while (!(isProduced && numbers.size() >= sent.get()) && System.nanoTime() < deadline) {
                int before = numbers.size();
                for (var record : consumer.poll(Duration.ofMillis(100))) numbers.put(record.offset(), record.value());
                if (numbers.size() / TELL_EVERY > before / TELL_EVERY) say("read " + numbers.size());
                if (stopping.get() && deadline == Long.MAX_VALUE) deadline = System.nanoTime() + PATIENCE.toNanos();
            }
        }
        long expected = 0;
        boolean isInOrder = true;
        for (long number : numbers.values()) isInOrder &= number == expected++;
        say("sent " + sent + " acknowledged " + acknowledged + " appended " + numbers.size() + " inOrder " + isInOrder);
    }

    private Properties with(Map<String, String> more) {
        var properties = new Properties();
        properties.putAll(common);
        properties.putAll(more);
        return properties;
    }

    private void say(String what) {
        synchronized (System.out) {
            System.out.println(name + " " + what);
        }
    }
}
