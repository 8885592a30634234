import io.kroxylicious.proxy.KafkaProxy;
import io.kroxylicious.proxy.config.ConfigParser;
import io.kroxylicious.proxy.internal.config.Features;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** Starts the proxy with `--config FILE`, as its own command line does, where only its runtime can be had. */
public final class Launcher {
    public static void main(String[] arguments) throws Exception {
        var parser = new ConfigParser();
        var configuration = parser.parseConfiguration(Files.readString(Path.of(arguments[arguments.length - 1])));
        var ended = new CountDownLatch(1);
        try (var proxy = new KafkaProxy(parser, configuration, Features.defaultFeatures())) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                close(proxy);
                ended.countDown();
            }));
            // Since 0.22 a future that ends with the proxy, or with the reason why it did not start; before that the proxy.
            Object started = proxy.startup();
            if (started instanceof CompletableFuture<?> running) running.join();
            else ended.await();
        }
    }

    private static void close(KafkaProxy proxy) {
        try {
            proxy.close();
        } catch (Exception error) {
            error.printStackTrace();
        }
    }
}
