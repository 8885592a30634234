import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Asks the proxy whether it takes configuration files: each is parsed, and a proxy is made of it that is not started. Says a
 * line for each, `answer: accepted` or why not; whatever else is said is the proxy's log. By reflection, so that it goes with every release.
 */
public final class Accept {
    public static void main(String[] files) throws Exception {
        Class<?> parserType = Class.forName("io.kroxylicious.proxy.config.ConfigParser");
        Class<?> featuresType = Class.forName("io.kroxylicious.proxy.internal.config.Features");
        Class<?> proxyType = Class.forName("io.kroxylicious.proxy.KafkaProxy");
        for (String file : files) {
            try {
                Object parser = parserType.getDeclaredConstructor().newInstance();
                Object configuration =
                        parserType.getMethod("parseConfiguration", String.class).invoke(parser, Files.readString(Path.of(file)));
                Object features = featuresType.getMethod("defaultFeatures").invoke(null);
                proxyType.getConstructors()[0].newInstance(parser, configuration, features);
                System.out.println("answer: accepted");
            } catch (InvocationTargetException error) {
                System.out.println("answer: " + why(error.getCause()));
            }
        }
        System.exit(0);
    }

    private static String why(Throwable error) {
        var text = new StringBuilder();
        for (Throwable at = error; at != null; at = at.getCause()) text.append(at.getMessage()).append("; ");
        return text.toString().replace('\n', ' ');
    }
}
