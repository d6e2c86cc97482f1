import com.jcraft.jsch.JSch;
import com.jcraft.jsch.Session;

/** The SSH client of JSch, whose login fails: Ssh HOST PORT. */
public class Ssh {
    public static void main(String[] arguments) throws Exception {
        Session session = new JSch().getSession("user", arguments[0], Integer.parseInt(arguments[1]));
        session.setPassword("word");
        session.setConfig("StrictHostKeyChecking", "no");
        session.connect(5000);
    }
}
