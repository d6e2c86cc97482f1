//! The inventory of cryptography: sentences, key exchanges, and servers that need attention.

use maud::{Markup, html};

use crate::limits::MAX_REPORT_ROWS;
use crate::output::Zone;
use crate::views::inventory::{
    JudgedServer, KeyExchangeName, Summary, Usage, key_exchange_cells, name_cell, sentences,
};
use crate::views::store::cryptography::Inventory;

/// The section.
pub(super) fn inventory(inventory: &Inventory, zone: &Zone) -> Markup {
    let summary = Summary::new(inventory);
    html! {
        ul { @for (title, sentence) in sentences(inventory, &summary, zone) {
            li { @if !title.is_empty() { (title) ": " } (sentence) }
        } }
        (key_exchanges("TLS", "key-exchanges", &summary.key_exchanges, summary.connections.total()))
        (key_exchanges("SSH", "ssh-key-exchanges", &summary.ssh_key_exchanges, summary.ssh_connections.total()))
        (servers(&summary.worst_servers(), zone))
    }
}

fn key_exchanges(protocol: &str, id: &str, all: &[(KeyExchangeName, Usage)], total: u64) -> Markup {
    let shown = all.len().min(MAX_REPORT_ROWS);
    html! {
        @if !all.is_empty() {
            div.scroll tabindex="0" role="region" aria-label={ (protocol) " key exchanges" } {
                table id=(id) {
                    caption { (protocol) " key exchanges: most frequent " (shown) " of " (all.len()) }
                    thead { tr {
                        th scope="col" { "key exchange" } th scope="col" { "kind" }
                        th scope="col" { "servers" } th scope="col" { "connections" } th scope="col" { "share" }
                    } }
                    tbody { @for exchange in all.iter().take(MAX_REPORT_ROWS) {
                        @let [name, kind, servers, connections, share] = key_exchange_cells(exchange, total);
                        tr {
                            td.value { (name) } td { (kind) }
                            td.number { (servers) } td.number { (connections) } td.number { (share) }
                        }
                    } }
                }
            }
        }
    }
}

fn servers(worst: &[&JudgedServer<'_>], zone: &Zone) -> Markup {
    html! {
        @if !worst.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Servers that need attention" {
                table #cryptography-servers {
                    caption { "Servers that need attention: " (worst.len().min(MAX_REPORT_ROWS)) " of " (worst.len()) ", the worst first" }
                    thead { tr {
                        th scope="col" { "server" } th scope="col" { "name" } th scope="col" { "problems" }
                        th scope="col" { "connections" } th scope="col" { "last seen" }
                    } }
                    tbody { @for judged in worst.iter().take(MAX_REPORT_ROWS) { tr {
                        td { a href={ "#host=" (judged.place.address.ip()) } { (judged.place) } }
                        td.value { (name_cell(judged.names)) }
                        td { (judged.problems) }
                        @if let Some(seen) = judged.server.total() {
                            td.number { (seen.count) } td { (zone.seconds(seen.last)) }
                        } @else { td {} td {} }
                    } } }
                }
            }
        }
    }
}
