import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** Serves a page with the HTTP server of the JDK: Serve PORT. */
class Serve {
    public static void main(String[] arguments) throws Exception {
        byte[] page = "<!doctype html><title>Huginn</title><p>A page.\n".getBytes(StandardCharsets.US_ASCII);
        HttpServer server = HttpServer.create(new InetSocketAddress(Integer.parseInt(arguments[0])), 0);
        server.createContext("/index.html", exchange -> {
            boolean head = exchange.getRequestMethod().equals("HEAD");
            exchange.getResponseHeaders().set("Content-Type", "text/html");
            exchange.sendResponseHeaders(200, head ? -1 : page.length);
            if (!head) exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
    }
}
