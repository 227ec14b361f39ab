package proof

import "time"

// Verdict is what a probe, or all of them, came to.
type Verdict string

// The verdicts.
const (
	Proven    Verdict = "proven"     // what happened is as it must be
	Failed    Verdict = "failed"     // it is not
	NotProven Verdict = "not_proven" // it could not be tried
)

// Result is what came of one probe.
type Result struct {
	ID       string   `json:"id"`
	Kind     Kind     `json:"kind"`
	Listener Listener `json:"listener"`
	Tries    string   `json:"tries"`
	Must     []string `json:"must"`
	Saw      string   `json:"saw,omitempty"`
	Verdict  Verdict  `json:"verdict"`
	Why      string   `json:"why,omitempty"` // it was not proven
	Unable   bool     `json:"-"`             // since the caller lacks something, not since something broke
	Took     int64    `json:"took_ms"`
}

// Report is what an operator keeps: it holds no secret.
type Report struct {
	Version    string              `json:"version"` // of what made it
	StartedAt  time.Time           `json:"started_at"`
	EndedAt    time.Time           `json:"ended_at"`
	Targets    map[Listener]string `json:"targets"`
	Nodes      []string            `json:"nodes"` // that were made for it
	LeftBehind []string            `json:"left_behind,omitempty"`
	Verdict    Verdict             `json:"verdict"`
	Counts     map[Verdict]int     `json:"counts"`
	Probes     []Result            `json:"probes"`
}

// Conclude counts. One failure is a failure of all; without one, what was not proven leaves the whole not proven.
func (r *Report) Conclude(results []Result) {
	r.Probes, r.Counts, r.Verdict = results, make(map[Verdict]int), Proven
	for _, done := range results {
		r.Counts[done.Verdict]++
	}
	switch {
	case r.Counts[Failed] > 0:
		r.Verdict = Failed
	case r.Counts[NotProven] > 0 || r.Counts[Proven] == 0:
		r.Verdict = NotProven
	}
}
