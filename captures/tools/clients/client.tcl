# Tcl's tls extension without certificate checks: client.tcl HOST PORT
package require tls
set connection [tls::socket -require 0 -servername [lindex $argv 0] {*}$argv]
tls::handshake $connection
close $connection
