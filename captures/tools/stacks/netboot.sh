#!/bin/bash
# Records the connections of a network boot ROM or of GRUB to a web server, over IPv4 and IPv6:
#
#	netboot.sh ROM FILE [GRUB]
#
# ROM is an e1000 ROM of iPXE (Debian package ipxe-qemu: pxe-e1000.rom). With GRUB, the folder of its modules (grub-pc-bin:
# /usr/lib/grub/i386-pc), the ROM boots GRUB by TFTP, and GRUB connects. Needs root, qemu-system-x86_64, dnsmasq and tcpdump.
set -eu
rom=$(realpath "$1") file=$(realpath "$2") grub=${3-}
work=$(mktemp -d)
cd "$work"
chmod 755 .
trap 'kill $(jobs -p); ip netns del netboot; rm -r "$work"' EXIT
inside() { exec ip netns exec netboot "$@"; }

printf '#!ipxe\nifconf -c ipv6 net0\nchain http://[fd00::1]/v6.ipxe\n' >boot.ipxe
printf '#!ipxe\nsleep 60\n' >v6.ipxe
boot=http://10.0.0.1/boot.ipxe
if [ "$grub" ]; then
	boot=core.0
	printf '%s\n' 'cat (http,10.0.0.1)/boot.ipxe' 'net_add_addr v6 pxe fd00::50' 'net_add_route r6 fd00::/64 v6' \
		'cat (http,fd00::1)/boot.ipxe' >early.cfg
	grub-mkimage -d "$grub" -O i386-pc-pxe -c early.cfg -p '(pxe)' -o core.0 pxe net http tftp cat normal
fi

ip netns add netboot
(inside bash -c 'ip tuntap add tap0 mode tap; ip addr add 10.0.0.1/24 dev tap0; ip addr add fd00::1/64 dev tap0 nodad
	ip link set tap0 up')
inside python3 -m http.server --bind :: 80 2>/dev/null &
inside dnsmasq -k -C /dev/null -p 0 -i tap0 --user=root --leasefile-ro --dhcp-range=10.0.0.10,10.0.0.50 \
	--dhcp-range=fd00::100,fd00::200,64 --enable-ra --dhcp-boot="$boot" --enable-tftp --tftp-root="$work" 2>/dev/null &
inside tcpdump -i tap0 -U -Z root -w "$file" tcp &
sleep 1
inside qemu-system-x86_64 -m 256 -display none -netdev tap,id=n,ifname=tap0,script=no,downscript=no \
	-device e1000,netdev=n,bootindex=1,romfile="$rom" &
sleep 40
