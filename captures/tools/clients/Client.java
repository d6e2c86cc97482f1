import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.Provider;
import java.security.Security;
import java.security.cert.X509Certificate;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * Java's TLS clients, without certificate checks: Client url|http|socket URL [PROVIDER-CLASS,... PROVIDER]. The modes url
 * and http send the variable USER_AGENT, if it is set.
 */
public class Client {
    public static void main(String[] arguments) throws Exception {
        String mode = arguments[0];
        URI uri = URI.create(arguments[1]);
        String userAgent = System.getenv("USER_AGENT");
        SSLContext context = SSLContext.getInstance("TLS");
        if (arguments.length > 2) {
            for (String name : arguments[2].split(",")) {
                Security.addProvider((Provider) Class.forName(name).getDeclaredConstructor().newInstance());
            }
            context = SSLContext.getInstance("TLS", arguments[3]);
        }
        context.init(null, new TrustManager[] {new TrustAll()}, null);
        if (mode.equals("http")) {
            HttpClient client = HttpClient.newBuilder().sslContext(context).build();
            HttpRequest.Builder request = HttpRequest.newBuilder(uri);
            if (userAgent != null) {
                request.header("User-Agent", userAgent);
            }
            client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } else if (mode.equals("url")) {
            HttpsURLConnection connection = (HttpsURLConnection) uri.toURL().openConnection();
            connection.setSSLSocketFactory(context.getSocketFactory());
            connection.setHostnameVerifier((name, session) -> true);
            if (userAgent != null) {
                connection.setRequestProperty("User-Agent", userAgent);
            }
            connection.getInputStream().readAllBytes();
        } else {
            SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(uri.getHost(), uri.getPort());
            socket.startHandshake();
            socket.close();
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
