import java.nio.file.Files;
import java.nio.file.Path;

/** Starts the proxy with a configuration file, by reflection, so that any Java compiles it without the proxy's classes. */
public class Launcher {
    public static void main(String[] arguments) throws Exception {
        Class<?> parserType = Class.forName("io.kroxylicious.proxy.config.ConfigParser");
        Object parser = parserType.getDeclaredConstructor().newInstance();
        String text = Files.readString(Path.of(arguments[0]));
        Object configuration = parserType.getMethod("parseConfiguration", String.class).invoke(parser, text);
        Class<?> featuresType = Class.forName("io.kroxylicious.proxy.internal.config.Features");
        Object features = featuresType.getMethod("defaultFeatures").invoke(null);
        Class<?> proxyType = Class.forName("io.kroxylicious.proxy.KafkaProxy");
        Object proxy = proxyType.getConstructors()[0].newInstance(parser, configuration, features);
        proxyType.getMethod("startup").invoke(proxy);
        System.out.println("started");
        proxyType.getMethod("block").invoke(proxy);
    }
}
