//! Requests a page without certificate checks.

fn main() {
    let url = std::env::args().nth(1).expect("the URL is the first argument");
    let client = reqwest::blocking::Client::builder().danger_accept_invalid_certs(true).build();
    println!("{:?}", client.and_then(|client| client.get(url).send()));
}
