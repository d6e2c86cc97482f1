import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import javax.net.ssl.SSLSocketFactory;
import okhttp3.ConnectionSpec;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;

/**
 * OkHttp 3 and newer on Conscrypt, without certificate checks: OkHttp MODE URL. The modes are default, http1,
 * restricted (ConnectionSpec.RESTRICTED_TLS), and android with the settings of Android's HttpsURLConnection, which is OkHttp with all
 * cipher suites and HTTP/1.1 (HttpsHandler in AOSP).
 */
public class OkHttp {
    public static void main(String[] arguments) throws Exception {
        String mode = arguments[0];
        OkHttpClient.Builder builder = new OkHttpClient.Builder().hostnameVerifier((name, session) -> true);
        if (mode.equals("http1") || mode.equals("android")) {
            builder.protocols(Collections.singletonList(Protocol.HTTP_1_1));
        }
        if (mode.equals("restricted")) {
            builder.connectionSpecs(Collections.singletonList(ConnectionSpec.RESTRICTED_TLS));
        } else if (mode.equals("android")) {
            ConnectionSpec all = new ConnectionSpec.Builder(ConnectionSpec.MODERN_TLS)
                    .allEnabledCipherSuites().allEnabledTlsVersions().supportsTlsExtensions(true).build();
            builder.connectionSpecs(Collections.singletonList(all));
        }
        SSLSocketFactory factory = Conscrypt.context().getSocketFactory();
        if (System.getenv("ANDROID_PLATFORM") != null) {
            List<String> protocols =
                    builder.build().protocols().stream().map(Protocol::toString).collect(Collectors.toList());
            factory = new Conscrypt.AndroidSocketFactory(factory, protocols);
        }
        OkHttpClient client = builder.sslSocketFactory(factory, new Conscrypt.TrustAll()).build();
        client.newCall(new Request.Builder().url(arguments[1]).build()).execute().body().string();
        System.exit(0);
    }
}
