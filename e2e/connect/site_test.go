package connect_test

import (
	"testing"

	"go.uber.org/goleak"

	"berth/e2e/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What befalls devices happens at once on one deployment, each in a region of its own; the keys, which are everybody's,
// change after that.
func TestDevices(t *testing.T) {
	t.Parallel()
	site := harness.NewSite(t, "BERTH_KEY_PUBLISH_AHEAD=35s")
	t.Run("together", func(t *testing.T) {
		for region, scenario := range map[string]func(*testing.T, *world){
			"exchanged": exchanged, "suspended": suspended, "cut": cutOff, "expired": expired, "peer": peerRevoked, "slow": slowReaders,
			"killed": killed, "twins": twoProcesses, "empty": movesEmpty, "data": movesData, "hostile": hostileTokens,
			"frozen": frozen, "flickers": flickers, "commutes": commutes,
		} {
			t.Run(region, func(t *testing.T) {
				t.Parallel()
				scenario(t, open(t, site, region))
			})
		}
	})
	t.Run("keys", func(t *testing.T) { keys(t, open(t, site, "keys")) })
}
