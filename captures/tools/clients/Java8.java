import java.net.URL;
import java.security.cert.X509Certificate;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/** The TLS clients of Java 8, without certificate checks: Java8 url|socket URL. */
class Java8 {
    public static void main(String[] arguments) throws Exception {
        URL url = new URL(arguments[1]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new TrustAll()}, null);
        if (arguments[0].equals("url")) {
            HttpsURLConnection connection = (HttpsURLConnection) url.openConnection();
            connection.setSSLSocketFactory(context.getSocketFactory());
            connection.setHostnameVerifier((name, session) -> true);
            connection.getInputStream().read();
        } else {
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(url.getHost(), url.getPort())) {
                socket.startHandshake();
            }
        }
    }

    private static final class TrustAll implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
