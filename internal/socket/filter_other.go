//go:build !linux

package socket

import (
	"net"

	"petcat/internal/clientnet"
)

func filter(*net.TCPListener, []clientnet.Net) {}
