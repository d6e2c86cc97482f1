import java.io.IOException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.Provider;
import java.security.Security;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/** Connects with Conscrypt and its default settings, without certificate checks: Conscrypt [ALPN] URL. */
class Conscrypt {
    public static void main(String[] arguments) throws Exception {
        URI uri = URI.create(arguments[arguments.length - 1]);
        SSLSocketFactory factory = context().getSocketFactory();
        // Conscrypt before 2.5 opens no socket of its own in newer Java.
        Socket plain = new Socket(uri.getHost(), uri.getPort());
        try (SSLSocket socket = (SSLSocket) factory.createSocket(plain, uri.getHost(), uri.getPort(), true)) {
            if (arguments.length > 1) {
                call(socket, "setAlpnProtocols", byte[].class, wire(List.of(arguments[0])));
            }
            socket.startHandshake();
        }
    }

    /** Makes Conscrypt the first provider. */
    static SSLContext context() throws Exception {
        Provider provider = (Provider) Class.forName("org.conscrypt.OpenSSLProvider").getDeclaredConstructor().newInstance();
        Security.insertProviderAt(provider, 1);
        SSLContext context = SSLContext.getInstance("TLS", provider);
        context.init(null, new TrustManager[] {new TrustAll()}, null);
        return context;
    }

    /** Calls a method of Conscrypt's socket, whose class is not public. */
    private static void call(Socket socket, String name, Class<?> type, Object value) throws ReflectiveOperationException {
        Method method = Class.forName("org.conscrypt.OpenSSLSocketImpl").getDeclaredMethod(name, type);
        method.setAccessible(true);
        method.invoke(socket, value);
    }

    /** A list of protocol names in the form of the extension: a length before each. */
    private static byte[] wire(List<String> protocols) {
        StringBuilder text = new StringBuilder();
        protocols.forEach(name -> text.append((char) name.length()).append(name));
        return text.toString().getBytes(StandardCharsets.ISO_8859_1);
    }

    static final class TrustAll implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    /** Calls what OkHttp's AndroidPlatform calls. OkHttp before 3.10 does so on Android only. */
    static final class AndroidSocketFactory extends SSLSocketFactory {
        private final SSLSocketFactory factory;
        private final List<String> protocols;

        AndroidSocketFactory(SSLSocketFactory factory, List<String> protocols) {
            this.factory = factory;
            this.protocols = protocols;
        }

        @Override
        public Socket createSocket(Socket plain, String host, int port, boolean autoClose) throws IOException {
            Socket socket = factory.createSocket(plain, host, port, autoClose);
            try {
                call(socket, "setUseSessionTickets", boolean.class, true);
                call(socket, "setHostname", String.class, host);
                call(socket, "setAlpnProtocols", byte[].class, wire(protocols));
            } catch (ReflectiveOperationException error) {
                throw new IOException(error);
            }
            return socket;
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return factory.getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return factory.getSupportedCipherSuites();
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }
    }
}
