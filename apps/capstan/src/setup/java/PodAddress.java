import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ServerChannel;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/**
 * Gives the proxy the address of its pod. In a container it listens on every address, and its pod has one of its own; as a
 * process of this machine it would take the ports of every other pod. So what it binds to every address is bound to the
 * pod's (system property capstan.pod.address), by the extension point that Netty has for this: the proxy itself is as it
 * was released.
 */
public final class PodAddress extends ChannelInitializerExtension {
    @Override
    public void postInitializeServerListenerChannel(ServerChannel channel) {
        String address = System.getProperty("capstan.pod.address", "");
        if (!address.isEmpty()) channel.pipeline().addLast(new BindToPod(address));
    }

    private static final class BindToPod extends ChannelOutboundHandlerAdapter {
        private final String address;

        BindToPod(String address) {
            this.address = address;
        }

        @Override
        public void bind(ChannelHandlerContext context, SocketAddress wanted, ChannelPromise promise) throws Exception {
            if (wanted instanceof InetSocketAddress any && any.getAddress().isAnyLocalAddress()) {
                showAs(context, any);
                context.bind(new InetSocketAddress(address, any.getPort()), promise);
            } else {
                context.bind(wanted, promise);
            }
        }

        /** The proxy finds its gateways by the address that it bound; it must see the one that it asked for. */
        private static void showAs(ChannelHandlerContext context, InetSocketAddress any) throws ReflectiveOperationException {
            Class<?> type = context.channel().getClass();
            while (!type.getName().equals("io.netty.channel.AbstractChannel")) type = type.getSuperclass();
            Field shown = type.getDeclaredField("localAddress");
            shown.setAccessible(true);
            shown.set(context.channel(), any);
        }
    }
}
