package proof

import (
	"errors"
	"strings"
	"testing"
)

// The operator's token goes to no listener where others could read it on the way.
func TestTheTokenIsNeverSentInClearText(t *testing.T) {
	t.Parallel()
	s := &Site{Token: "bt_secret"}
	for address, sent := range map[Endpoint]bool{
		{Network: "tcp", Address: "metrics.example:9090"}:      false,
		{Network: "tcp", Address: "192.0.2.1:9090"}:            false,
		{Network: "tcp", Address: "192.0.2.1:9090", TLS: true}: true,
		{Network: "tcp", Address: "127.0.0.1:9090"}:            true,
		{Network: "tcp", Address: "[::1]:9090"}:                true,
		{Network: "tcp", Address: "127.0.0.1.example:9090"}:    false,
		{Network: "unix", Address: "/run/berth/internal.sock"}: true,
	} {
		lines, err := s.withToken(&address, []string{"Authorization: Bearer " + tokenMark})
		_, refused := errors.AsType[unable](err)
		if sent != (err == nil) || refused == sent || strings.Contains(strings.Join(lines, ""), s.Token) != sent {
			t.Errorf("%+v: %v %v", address, lines, err)
		}
		if _, err := s.withToken(&address, []string{"Client-Cert: a"}); err != nil {
			t.Errorf("%+v, without a token: %v", address, err)
		}
	}
}
