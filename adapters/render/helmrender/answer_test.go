package helmrender

import (
	"strconv"
	"testing"

	"berth/adapters/render/helmrender/exchange"
)

// A child whose answer has no end is ended, and that is told as what it is: nothing that trying again would mend.
func TestAnAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"that goes on": "exec cat /dev/zero",
		"that ends":    "exec head -c " + strconv.Itoa(exchange.MaxAnswer+1) + " /dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, Config{Program: "/bin/sh", Args: []string{"-c", script}}, job(nil), "manifest_too_large")
		})
	}
}
