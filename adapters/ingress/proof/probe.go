package proof

import (
	"context"
	"fmt"
)

// Kind is the class of attempts that a probe belongs to.
type Kind string

// The kinds of probes.
const (
	KindControl      Kind = "control"      // what has to work, or else a refusal would prove nothing
	KindCertificates Kind = "certificates" // who connects
	KindHeaders      Kind = "headers"      // identity headers that a client sends
	KindFraming      Kind = "framing"      // where one request ends and the next begins
	KindHTTP2        Kind = "http2"
	KindTargets      Kind = "targets"
	KindListeners    Kind = "listeners" // what each listener may not have
	KindLimits       Kind = "limits"
)

// Listener names one of a deployment's listeners.
type Listener string

// The listeners.
const (
	OnIngress  Listener = "ingress"
	OnInternal Listener = "internal"
	OnAPI      Listener = "api"
	OnEnroll   Listener = "enroll"
	OnMetrics  Listener = "metrics"
)

// Listeners lists them in the order of the report.
func Listeners() []Listener {
	return []Listener{OnIngress, OnInternal, OnAPI, OnEnroll, OnMetrics}
}

// Probe is one attempt.
type Probe struct {
	ID       string // stable: <listener>.<kind>.<what>
	Kind     Kind
	Listener Listener
	Tries    string   // what it tries, for a person
	Must     []Expect // any of these is as it must be

	lane lane
	run  func(context.Context, *Site) (Outcome, error)
}

// lane says beside which others a probe may run.
type lane int

const (
	beside lane = iota // any
	inTurn             // one at a time of its lane: it would blame the wrong one for what it disturbs
	alone              // nothing else at that time: it uses up what others need
)

// unable is why a probe could not be run since the caller lacks something; it then proves nothing.
type unable struct{ why string }

func (u unable) Error() string { return u.why }

// trouble is why a probe that could have been run came to nothing.
func trouble(format string, args ...any) error { return fmt.Errorf(format, args...) }

func cannot(format string, args ...any) error { return unable{fmt.Sprintf(format, args...)} }

func identify(l Listener, k Kind, what string) string {
	return string(l) + "." + string(k) + "." + what
}
