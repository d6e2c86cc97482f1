// Lets a stack of lwIP connect and answer a SYN of Linux, over IPv4 and IPv6, and writes the packets as a pcap file of raw IP:
//
//	lwip FILE
//
// To build it, with the sources of lwIP in the folder LWIP and the settings to record as -D (none: lwIP's own defaults; ESP-IDF:
// -DTCP_MSS=1440 -DTCP_WND=5760 -DIP_DEFAULT_TTL=64 -DMEM_SIZE=65536 -DPBUF_POOL_SIZE=64, or 5744; other options: any of
// -DLWIP_TCP_TIMESTAMPS=1 -DLWIP_WND_SCALE=1 -DTCP_RCV_SCALE=3 -DLWIP_TCP_SACK_OUT=1):
//
//	mkdir arch && touch arch/cc.h
//	printf '#define NO_SYS 1\n#define SYS_LIGHTWEIGHT_PROT 0\n#define LWIP_SOCKET 0\n#define LWIP_NETCONN 0\n#define LWIP_IPV6 1\n' >lwipopts.h
//	cc -I. -ILWIP/src/include lwip.c LWIP/src/core/*.c LWIP/src/core/ipv[46]/*.c LWIP/src/netif/ethernet.c -o lwip
//
// The signatures of lwIP are from 2.1.3 and 2.2.1, those with other options than the MSS from 2.1.3.
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "lwip/init.h"
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "lwip/tcp.h"

static FILE *file;

u32_t sys_now(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return now.tv_sec * 1000 + now.tv_usec / 1000;
}

static void record(const void *data, u32_t length) {
  struct timeval now;
  gettimeofday(&now, NULL);
  u32_t head[] = {now.tv_sec, now.tv_usec, length, length};
  fwrite(head, sizeof head, 1, file);
  fwrite(data, length, 1, file);
}

static err_t record_pbuf(struct pbuf *packet) {
  char data[2048];
  record(data, pbuf_copy_partial(packet, data, sizeof data, 0));
  return ERR_OK;
}

static err_t output4(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to) { return record_pbuf(packet); }
static err_t output6(struct netif *netif, struct pbuf *packet, const ip6_addr_t *to) { return record_pbuf(packet); }

static err_t start(struct netif *netif) {
  netif->output = output4;
  netif->output_ip6 = output6;
  netif->mtu = 1500;
  return ERR_OK;
}

static err_t accepted(void *arg, struct tcp_pcb *pcb, err_t err) { return ERR_OK; }

// What Linux 6 sends, with MSS, SACK, timestamp and scale.
static void receive_syn(struct netif *netif, const ip_addr_t *from, const ip_addr_t *to) {
  struct pbuf *packet = pbuf_alloc(PBUF_RAW, IP_IS_V6(to) ? 80 : 60, PBUF_RAM);
  u8_t *data = packet->payload, *tcp = data + packet->tot_len - 40;
  memset(data, 0, packet->tot_len);
  if (IP_IS_V6(to)) {
    memcpy(data, "\x60\0\0\0\0\x28\x06\x40", 8);
    memcpy(data + 8, ip_2_ip6(from)->addr, 16);
    memcpy(data + 24, ip_2_ip6(to)->addr, 16);
  } else {
    memcpy(data, "\x45\0\0\x3c\x12\x34\x40\0\x40\x06", 10);
    memcpy(data + 12, &ip_2_ip4(from)->addr, 4);
    memcpy(data + 16, &ip_2_ip4(to)->addr, 4);
    u16_t sum = inet_chksum(data, 20);
    memcpy(data + 10, &sum, 2);
  }
  memcpy(tcp, "\xc0\0\0\x50\1\2\3\4\0\0\0\0\xa0\2\xfa\xf0\0\0\0\0\2\4\5\xb4\4\2\x08\x0a\1\2\3\4\0\0\0\0\1\3\3\x07", 40);
  pbuf_remove_header(packet, packet->tot_len - 40);
  u16_t sum = ip_chksum_pseudo(packet, IP_PROTO_TCP, 40, from, to);
  memcpy(tcp + 16, &sum, 2);
  pbuf_add_header(packet, tcp - data);
  record(data, packet->tot_len);
  netif->input(packet, netif);
}

int main(int argc, char **argv) {
  file = fopen(argv[1], "wb");
  u32_t head[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 101};
  fwrite(head, sizeof head, 1, file);
  lwip_init();
  struct netif netif;
  memset(&netif, 0, sizeof netif);
  ip4_addr_t address, mask, gateway;
  IP4_ADDR(&address, 192, 0, 2, 1);
  IP4_ADDR(&mask, 255, 255, 255, 0);
  IP4_ADDR(&gateway, 192, 0, 2, 2);
  netif_add(&netif, &address, &mask, &gateway, NULL, start, ip_input);
  ip_addr_t own[2], peers[2];
  ip_addr_copy_from_ip4(own[0], address);
  ipaddr_aton("192.0.2.2", &peers[0]);
  ipaddr_aton("2001:db8::1", &own[1]);
  ipaddr_aton("2001:db8::2", &peers[1]);
  netif_ip6_addr_set(&netif, 0, ip_2_ip6(&own[1]));
  netif_ip6_addr_set_state(&netif, 0, IP6_ADDR_PREFERRED);
  netif_set_default(&netif);
  netif_set_up(&netif);
  netif_set_link_up(&netif);
  struct tcp_pcb *listener = tcp_new_ip_type(IPADDR_TYPE_ANY);
  tcp_bind(listener, IP_ANY_TYPE, 80);
  tcp_accept(tcp_listen(listener), accepted);
  for (int i = 0; i < 2; i++) {
    // Over IPv4 the first packet has ID 0, and the second has not.
    for (int j = i; j < 2; j++) tcp_connect(tcp_new(), &peers[i], 80, NULL);
    receive_syn(&netif, &peers[i], &own[i]);
  }
  fclose(file);
}
