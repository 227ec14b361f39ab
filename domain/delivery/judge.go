package delivery

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"berth/domain/entitlement"
	"berth/domain/fault"
)

// Asked is what a customer asks for.
type Asked struct {
	App        string
	Action     Action
	Version    string            // empty: the highest that may be chosen and goes with the rest; of an uninstall, what is there
	Parameters map[string]string // without secrets
}

// Question is an intent with all that is known when it is decided on (E4).
type Question struct {
	Asked
	Now          time.Time
	License      *entitlement.License
	Entitlements []entitlement.Entitlement // of the license, withdrawn ones too
	Catalogue    *Catalogue                // the app, what is in the deployment, and all that they need
	Apps         []DesiredApp              // of the head, tombstones too
	InFlight     []IntentRecord            // of the deployment
	Observations []Observation             // of the deployment
	GateOpen     bool
	Used         entitlement.Usage // by all deployments of the license
	Prepared     *Preparation      // nil before the release was rendered: what it needs is judged then
}

// Preparation is what rendering a release and looking for its images came to, in short.
type Preparation struct {
	Faults []*fault.Error // parameters, manifests, images, platforms
	Usage  entitlement.Usage
}

// Judgement is what stands against an intent.
type Judgement struct {
	Against []*fault.Error // all of it, each with its cure; none: it is granted
	Waived  []string       // slugs of the commercial rules that are not met and let pass (observe)
	Version string         // that is to be there; of an uninstall, that is there; empty where none could be chosen
	From    string         // that is there; empty: none
}

// Judge decides on an intent (E4, E5, E8). It names everything that stands against it at once: license_inactive,
// not_entitled, license_expired, quota_exceeded, version_unknown, dependency_missing, dependency_conflict,
// dependency_cycle, dependents_remain, downgrade_refused, schema_gate_closed, intent_in_flight, already_deployed,
// app_not_deployed, parameter_not_settable, too_many_apps, and what preparing it came to. Of an app that never was on
// the license nothing is told but that: it may as well not exist (E3).
func Judge(q Question) Judgement {
	j := judging{Question: q, entitlement: q.entitled()}
	for _, f := range q.License.Judge(j.entitlement, q.Now) {
		j.weigh(f)
	}
	if j.entitlement == nil {
		return j.Judgement
	}
	if i := find(q.Apps, q.App); i >= 0 && !q.Apps[i].Removed {
		j.From, j.before = q.Apps[i].Version, q.Apps[i].Usage
	}
	j.flight()
	j.standing()
	if q.Action == Uninstall {
		j.uninstall()
		return j.Judgement
	}
	j.plan()
	j.gate()
	j.preparation()
	j.quota()
	return j.Judgement
}

// Refusal is the answer to an intent that something stands against: it names all of it in Errors, also where it is one
// thing. It is a Conflict where all of it is a conflict with what is there, and Invalid otherwise. Nil where it is granted.
func (j Judgement) Refusal() error { return Refused(j.Against) }

// Refused makes one answer of what stands against an intent; nil of nothing.
func Refused(against []*fault.Error) error {
	if len(against) == 0 {
		return nil
	}
	first := against[0]
	out := fault.New(fault.Conflict, first.Slug, "%s", first.Detail).Curable("%s", first.Cure)
	if len(against) > 1 {
		out = fault.New(fault.Conflict, first.Slug, "%d things stand against this", len(against))
	}
	for _, f := range against {
		if f.Kind != fault.Conflict {
			out.Kind = fault.Invalid
		}
		out.RetryAfter = max(out.RetryAfter, f.RetryAfter)
	}
	out.Errors = against
	return out
}

type judging struct {
	Question
	Judgement
	entitlement *entitlement.Entitlement
	before      entitlement.Usage
}

func (q Question) entitled() *entitlement.Entitlement {
	for i := range q.Entitlements {
		if q.Entitlements[i].App == q.App {
			return &q.Entitlements[i]
		}
	}
	return nil
}

func (j *judging) against(f *fault.Error) { j.Against = append(j.Against, f) }

// weigh lets a commercial rule pass where the license says so, and records it.
func (j *judging) weigh(f *fault.Error) {
	switch {
	case !j.License.Commercial(j.entitlement, f.Slug):
		j.against(f)
	case !slices.Contains(j.Waived, f.Slug):
		j.Waived = append(j.Waived, f.Slug)
	}
}

func (j *judging) flight() {
	for _, v := range j.InFlight {
		if v.App == j.App {
			j.against(fault.New(fault.Conflict, "intent_in_flight", "%s of %s (%s) has not ended yet", v.Action, v.App, v.ID).
				Curable("wait until it has ended"))
			return
		}
	}
}

// standing compares what is asked for with what is there.
func (j *judging) standing() {
	switch {
	case j.Action == Install && j.From != "":
		j.against(fault.New(fault.Conflict, "already_deployed", "%s %s is in the deployment already", j.App, j.From).
			Curable("upgrade it, or uninstall it first"))
	case j.Action != Install && j.From == "":
		j.against(fault.New(fault.Conflict, "app_not_deployed", "%s is not in the deployment", j.App).Curable("install it"))
	case j.Action == Install && len(slices.Collect(running(j.Apps))) >= MaxDeploymentApps:
		j.against(tooManyApps())
	}
}

// running are the apps that are there, tombstones left out.
func running(apps []DesiredApp) iter.Seq[*DesiredApp] {
	return func(yield func(*DesiredApp) bool) {
		for i := range apps {
			if !apps[i].Removed && !yield(&apps[i]) {
				return
			}
		}
	}
}

func (j *judging) uninstall() {
	if j.Asked.Version != "" && j.From != "" && j.Asked.Version != j.From {
		j.against(fault.New(fault.Invalid, "version_unknown", "%s is there in version %s, not %s", j.App, j.From, j.Asked.Version).
			At("version").Curable("leave the version out"))
	}
	j.Judgement.Version = j.From
	if len(j.Parameters) > 0 {
		j.against(fault.New(fault.Invalid, "parameter_not_settable", "an uninstall takes no parameters").At("parameters").
			Curable("leave the parameters out"))
	}
	var dependents []string
	for a := range running(j.Apps) {
		if a.App != j.App && slices.Contains(a.Requires, j.App) {
			dependents = append(dependents, a.App)
		}
	}
	if len(dependents) > 0 {
		slices.Sort(dependents)
		names := strings.Join(dependents, ", ")
		j.against(fault.New(fault.Conflict, "dependents_remain", "%s is needed by %s", j.App, names).
			Curable("uninstall %s first", names))
	}
}

// plan chooses the version, with what is there and what may be chosen.
func (j *judging) plan() {
	w := Wish{
		Want: []Choice{{App: j.App, Version: j.Asked.Version}}, Installed: map[string]string{}, Allowed: j.allowed,
	}
	for a := range running(j.Apps) {
		w.Installed[a.App] = a.Version
	}
	if j.Action == Upgrade && j.From != "" && !j.rises(&w) {
		return
	}
	defer j.returns()
	choices, faults := Plan(j.Catalogue, w)
	for _, f := range faults {
		j.against(f.At("version"))
	}
	j.Judgement.Version = j.Asked.Version
	switch {
	case slices.ContainsFunc(faults, func(f *fault.Error) bool { return f.Slug == "version_unknown" }):
		j.Judgement.Version = ""
	case len(choices) > 0:
		j.Judgement.Version = choices[0].Version
	case j.Judgement.Version == "": // what the faults are about
		j.Judgement.Version = j.highest(w)
	}
}

// allowed is what the license lets be chosen, and the app itself, whether or not it was taken off.
func (j *judging) allowed(app string) (string, bool) {
	if app == j.App {
		return j.entitlement.Versions, true
	}
	i := slices.IndexFunc(j.Entitlements, func(e entitlement.Entitlement) bool { return e.App == app })
	if i < 0 {
		return "", false
	}
	return j.Entitlements[i].Versions, j.Entitlements[i].WithdrawnAt.IsZero()
}

// highest is the version that Plan says why it does not go.
func (j *judging) highest(w Wish) string {
	for _, v := range j.Catalogue.Within(j.App, j.entitlement.Versions) {
		if w.Above == nil || higher(v, w.Above[j.App]) {
			return v
		}
	}
	return ""
}

// rises sees to it that an upgrade leads up; false where there is nothing to choose from.
func (j *judging) rises(w *Wish) bool {
	w.Above = map[string]string{j.App: j.From}
	lower := j.Asked.Version
	if lower == "" && j.highest(*w) == "" {
		lower = j.From
	}
	if lower == "" || higher(lower, j.From) {
		return true
	}
	f := fault.New(fault.Conflict, "downgrade_refused", "%s %s is not above %s, which is in the deployment", j.App, lower, j.From)
	if above := j.highest(*w); above != "" {
		j.against(f.At("version").Curable("ask for a version above %s, such as %s; going back is the vendor's to do", j.From, above))
	} else {
		j.against(f.At("version").Curable("wait for a version above %s; going back is the vendor's to do", j.From))
	}
	return j.Asked.Version != ""
}

// returns sees to it that an app which was here before, and was uninstalled, comes back in no lower version: that would be
// a downgrade in two steps.
func (j *judging) returns() {
	reached := j.reached()
	if j.Action != Install || j.From != "" || !higher(reached, j.Judgement.Version) {
		return
	}
	j.against(fault.New(fault.Conflict, "downgrade_refused", "%s %s was here before, and its data may be in the form of that", j.App, reached).
		At("version").Curable("ask for version %s or above; going back is the vendor's to do", reached))
}

// reached is the highest version of the app that was ever tried in the deployment; empty: none.
func (j *judging) reached() string {
	i := slices.IndexFunc(j.Observations, func(o Observation) bool { return o.App == j.App })
	if i < 0 {
		return ""
	}
	return j.Observations[i].Reached
}

// gate refuses an upgrade to a release whose schema migrations are under control, and one that passes over such a release
// (E8). An app that was here before and comes back in a higher version is upgraded, too.
func (j *judging) gate() {
	from := j.From
	if j.Action == Install {
		from = j.reached()
	}
	if j.GateOpen || from == "" || j.Judgement.Version == "" {
		return
	}
	for _, r := range j.Catalogue.releases[j.App] {
		if r.SchemaGate && higher(r.Version, from) && !higher(r.Version, j.Judgement.Version) {
			j.against(fault.New(fault.Conflict, "schema_gate_closed",
				"going from %s %s to %s runs the schema migrations of %s, for which the gate is closed",
				j.App, from, j.Judgement.Version, r.Version).Curable("ask the vendor to open the schema gate of this deployment"))
			return
		}
	}
}

// preparation adds what rendering and registries say. Where they do not know what would cure it, trying again may, or
// the vendor has to.
func (j *judging) preparation() {
	if j.Prepared == nil {
		return
	}
	for _, f := range j.Prepared.Faults {
		switch {
		case f.Cure != "":
			j.against(f)
		case f.Kind == fault.Unavailable:
			j.against(f.Curable("try again later; where it stays so, ask the vendor"))
		default:
			j.against(f.Curable("choose another version, or ask the vendor"))
		}
	}
}

// quota asks for what the deployment would use more than it does. Before the release was rendered only the app itself
// is known to.
func (j *judging) quota() {
	after := j.before
	if j.Prepared != nil {
		after = j.Prepared.Usage
	}
	after.Apps = 1
	if f := j.License.Record().Quota.Exceeded(j.Used, after.Sub(j.before)); f != nil {
		j.weigh(f)
	}
}

// anyVersion is how a range is told.
func anyVersion(versions string) string { return cmp.Or(versions, "*") }
