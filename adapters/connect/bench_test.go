package connect_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"berth/application/relay"
)

// BenchmarkPublish is what a publish costs on its way from the socket to the session and back, with the device that sends
// it: 64 devices, each with so many under way, over TLS, and an Engine that does nothing.
func BenchmarkPublish(b *testing.B) {
	for _, window := range []int{1, 32} {
		b.Run(fmt.Sprint("window=", window), func(b *testing.B) {
			l := limits()
			l.FrameRate, l.FrameBurst, l.ConnectionsPerPrincipal = 1e9, 1e9, 1000
			s := newSite(b, l)
			s.mu.Lock()
			s.instead = func(_ relay.Publish, done func(int64, error)) { done(1, nil) }
			s.mu.Unlock()
			const devices = 64
			frame := masked(whole|opText, []byte(`{"op":"publish","handle":"alice-main","id":"0123456789abcdef","body":{"text":"a message as a phone sends it, of some hundred bytes, more or less, so that it costs what it costs"}}`))
			batch := bytes.Repeat(frame, window)
			var phones []*phone
			for range devices {
				phones = append(phones, s.connect("acme.alice"))
			}
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for _, p := range phones {
				all.Go(func() {
					for range max(1, b.N/devices/window) {
						if _, err := p.Write(batch); err != nil {
							b.Error(err)
							return
						}
						for range window {
							if _, _, err := readFrame(p.in); err != nil {
								b.Error(err)
								return
							}
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "publishes/s")
		})
	}
}
