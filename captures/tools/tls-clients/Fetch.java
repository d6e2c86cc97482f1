import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.cert.X509Certificate;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** Fetches a page with HttpClient and then with HttpsURLConnection: java Fetch.java URL. */
class Fetch {
    public static void main(String[] arguments) throws Exception {
        URI uri = URI.create(arguments[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new TrustAnyone()}, null);
        HttpClient client = HttpClient.newBuilder().sslContext(context).build();
        client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
        HttpsURLConnection connection = (HttpsURLConnection) uri.toURL().openConnection();
        connection.setSSLSocketFactory(context.getSocketFactory());
        connection.setHostnameVerifier((name, session) -> true);
        connection.getResponseCode();
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
