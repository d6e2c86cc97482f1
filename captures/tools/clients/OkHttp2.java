import com.squareup.okhttp.ConnectionSpec;
import com.squareup.okhttp.OkHttpClient;
import com.squareup.okhttp.Protocol;
import com.squareup.okhttp.Request;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/** OkHttp 2 on Conscrypt, as OkHttp.java for newer ones: OkHttp2 default|http1|android URL. */
public class OkHttp2 {
    public static void main(String[] arguments) throws Exception {
        String mode = arguments[0];
        OkHttpClient client = new OkHttpClient();
        client.setHostnameVerifier((name, session) -> true);
        boolean http1 = mode.equals("http1") || mode.equals("android");
        client.setProtocols(http1 ? List.of(Protocol.HTTP_1_1) : List.of(Protocol.HTTP_2, Protocol.SPDY_3, Protocol.HTTP_1_1));
        if (mode.equals("android")) {
            ConnectionSpec all = new ConnectionSpec.Builder(ConnectionSpec.MODERN_TLS)
                    .allEnabledCipherSuites().allEnabledTlsVersions().supportsTlsExtensions(true).build();
            client.setConnectionSpecs(Collections.singletonList(all));
        }
        List<String> protocols = client.getProtocols().stream().map(Protocol::toString).collect(Collectors.toList());
        client.setSslSocketFactory(new Conscrypt.AndroidSocketFactory(Conscrypt.context().getSocketFactory(), protocols));
        client.newCall(new Request.Builder().url(arguments[1]).build()).execute().body().string();
        System.exit(0);
    }
}
