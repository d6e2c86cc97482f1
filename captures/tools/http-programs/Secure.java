import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.cert.X509Certificate;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Exchanges of HttpClient (HTTP/1.1 and HTTP/2, TLS 1.2 and 1.3, sessions that are new and resumed) and of HttpsURLConnection: Secure URL.
 * An agent logs the keys.
 */
class Secure {
    public static void main(String[] arguments) throws Exception {
        String site = arguments[0];
        HttpsURLConnection connection = null;
        for (String version : new String[] {"TLSv1.2", "TLSv1.3"}) {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, new TrustManager[] {new TrustAnyone()}, null);
            SSLParameters parameters = new SSLParameters();
            parameters.setProtocols(new String[] {version});
            for (HttpClient.Version http : HttpClient.Version.values()) {
                for (String session : new String[] {"new", "resumed"}) {
                    HttpClient client = HttpClient.newBuilder().version(http).sslContext(context).sslParameters(parameters).build();
                    String url = site + "/java?" + version + "," + http + "," + session;
                    client.send(HttpRequest.newBuilder(URI.create(url)).header("X-Name", "value").build(), BodyHandlers.ofString());
                    HttpRequest post = HttpRequest.newBuilder(URI.create(url)).POST(BodyPublishers.ofString("text")).build();
                    client.send(post, BodyHandlers.ofString());
                }
            }
            connection = (HttpsURLConnection) URI.create(site + "/url-connection").toURL().openConnection();
            connection.setSSLSocketFactory(context.getSocketFactory());
            connection.setHostnameVerifier((name, session) -> true);
            connection.getResponseCode();
        }
        System.exit(0);
    }

    private static class TrustAnyone extends X509ExtendedTrustManager {
        public void checkClientTrusted(X509Certificate[] chain, String type) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public void checkServerTrusted(X509Certificate[] chain, String type) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    }
}
