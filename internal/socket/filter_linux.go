package socket

import (
	"net"

	"golang.org/x/sys/unix"

	"petcat/internal/clientnet"
)

// Where a filter of a socket finds things. It sees packets from the header of TCP
// on; fromIP is added to reach back to that of IP.
const (
	fromIP     = 0xfff00000 // SKF_NET_OFF
	tcpFlags   = 13
	tcpSYN     = 2
	ipVersion  = fromIP
	ip4Source  = fromIP + 12
	ip6Source  = fromIP + 8
	takePacket = 1<<32 - 1
	dropPacket = 0
	ipVersion4 = 4 << 4
)

// filter has the system drop what opens connections of these clients, and nothing
// else: a connection inherits the filter of its listener, and must not be held up by
// it. A client that means well tries again after a second. A listener that lacks the
// option, as those of Multipath TCP do, refuses for itself.
func filter(l *net.TCPListener, clients []clientnet.Net) {
	raw, err := l.SyscallConn()
	if err != nil {
		return // closed
	}
	program := filterProgram(clients)
	_ = raw.Control(func(fd uintptr) {
		if len(clients) == 0 {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
			return
		}
		_ = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{
			Len: uint16(len(program)), Filter: &program[0],
		})
	})
}

// filterProgram returns a program for the system's packet filter (BPF): five
// instructions, then two for each IPv4 client and, after those, five for each IPv6
// network.
func filterProgram(clients []clientnet.Net) []unix.SockFilter {
	const (
		loadByte = unix.BPF_LD | unix.BPF_B | unix.BPF_ABS
		loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		load     = unix.BPF_LD | unix.BPF_MEM
		store    = unix.BPF_ST
		equal    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		has      = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		mask     = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		end      = unix.BPF_RET | unix.BPF_K
		skip     = unix.BPF_JMP | unix.BPF_JA
	)
	var v4, v6 []unix.SockFilter
	for _, client := range clients {
		if bits, isV4 := client.Bits(); isV4 {
			v4 = append(v4, unix.SockFilter{Code: equal, Jf: 1, K: uint32(bits)}, unix.SockFilter{Code: end, K: dropPacket})
		} else {
			v6 = append(v6,
				unix.SockFilter{Code: load, K: 0}, unix.SockFilter{Code: equal, Jf: 3, K: uint32(bits >> 32)},
				unix.SockFilter{Code: load, K: 1}, unix.SockFilter{Code: equal, Jf: 1, K: uint32(bits)},
				unix.SockFilter{Code: end, K: dropPacket})
		}
	}
	take := unix.SockFilter{Code: end, K: takePacket}
	program := []unix.SockFilter{
		{Code: loadByte, K: tcpFlags},
		{Code: has, Jt: 1, K: tcpSYN},
		take,
		{Code: loadByte, K: ipVersion},
		{Code: mask, K: 0xf0},
		{Code: equal, Jt: 1, K: ipVersion4},
		{Code: skip, K: uint32(len(v4) + 2)}, // over the load, the clients and the end
		{Code: loadWord, K: ip4Source},
	}
	program = append(append(program, v4...), take)
	program = append(program,
		unix.SockFilter{Code: loadWord, K: ip6Source}, unix.SockFilter{Code: store, K: 0},
		unix.SockFilter{Code: loadWord, K: ip6Source + 4}, unix.SockFilter{Code: store, K: 1})
	return append(append(program, v6...), take)
}
