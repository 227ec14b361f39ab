package ingress

import (
	"testing"
	"time"
)

// A connection that is about to become a tunnel is not one in which nothing moves, however old the connection is.
func TestATunnelBeginsAnew(t *testing.T) {
	t.Parallel()
	l := &link{epoch: time.Now().Add(-time.Hour)}
	l.rest()
	l.work()
	if still := l.still(); still != 0 {
		t.Errorf("nothing has moved for %v", still)
	}
	l.rest()
	if still := l.still(); still > time.Minute {
		t.Errorf("nothing has moved for %v since something did", still)
	}
}
