//! Requests a page; the certificate is refused after the hello.

fn main() {
    let url = std::env::args().nth(1).expect("the URL is the first argument");
    println!("{:?}", ureq::get(&url).call().map(|_| ()));
}
