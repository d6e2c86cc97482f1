import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Fetches a page with the HTTP clients of Java, one after another: Fetch URL. */
class Fetch {
    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        new URL(url).openStream().readAllBytes();
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        connection.setRequestProperty("User-Agent", "Example/1.0");
        connection.getInputStream().readAllBytes();
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
        HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build().send(request, BodyHandlers.ofString());
        new okhttp3.OkHttpClient().newCall(new okhttp3.Request.Builder().url(url).build()).execute().close();
        org.apache.http.impl.client.HttpClients.createDefault()
            .execute(new org.apache.http.client.methods.HttpGet(url)).close();
        org.apache.hc.client5.http.impl.classic.HttpClients.createDefault()
            .execute(new org.apache.hc.client5.http.classic.methods.HttpGet(url), response -> response.getCode());
        System.exit(0);
    }
}
