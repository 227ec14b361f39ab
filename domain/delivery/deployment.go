package delivery

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/ident"
)

// The bounds of a deployment.
const (
	MaxDeploymentApps = 200
	MaxIngressHosts   = 64
	maxIngressHost    = 253
	maxNote           = 512
)

// Deployment is one installation of the vendor's software.
type Deployment struct{ record DeploymentRecord }

// RestoreDeployment makes one of what was stored.
func RestoreDeployment(record DeploymentRecord) *Deployment { return &Deployment{record} }

// Record returns what is to be stored.
func (v *Deployment) Record() DeploymentRecord { return v.record }

// DeploymentPlan describes an installation that is to be.
type DeploymentPlan struct {
	InstallID    string
	License      entitlement.LicenseRecord
	Entitlements []entitlement.Entitlement // of the license
	Customer     string
	Namespace    string
	IngressHosts []string
	ConfigMaps   bool
	Selected     []Choice
}

// NewDeployment makes a deployment whose selected services are among what its license entitles to (E2). Invalid, each
// problem named: invalid_id, customer_mismatch, namespace_reserved, ingress_host_invalid, selected_service_duplicate,
// too_many_apps, not_entitled, parameter_invalid, version_invalid.
func NewDeployment(p DeploymentPlan, now time.Time) (*Deployment, error) {
	now = ident.Instant(now)
	hosts, faults := checkHosts(p.IngressHosts)
	faults = append(faults, checkNamespace(p.Namespace))
	if p.Customer != p.License.Customer {
		faults = append(faults, fault.New(fault.Invalid, "customer_mismatch", "the license is another customer's").At("license"))
	}
	selected, wrong := checkSelected(p.Selected, p.Entitlements)
	if err := fault.All(append(faults, wrong...)...); err != nil {
		return nil, err
	}
	return &Deployment{DeploymentRecord{
		InstallID: p.InstallID, Customer: p.Customer, License: p.License.ID, Namespace: p.Namespace, IngressHosts: hosts,
		ConfigMaps: p.ConfigMaps, Selected: selected, CreatedAt: now, ChangedAt: now,
	}}, nil
}

// Select chooses the selected services anew (E2); faults as of NewDeployment.
func (v *Deployment) Select(choices []Choice, entitled []entitlement.Entitlement, now time.Time) error {
	selected, wrong := checkSelected(choices, entitled)
	if err := fault.All(wrong...); err != nil {
		return err
	}
	v.record.Selected = selected
	v.record.ChangedAt = ident.Instant(now)
	return nil
}

// Adjust keeps what was chosen for an app that is a selected service, so that selecting again does not undo it. It
// reports whether the app is one.
func (v *Deployment) Adjust(choice Choice, now time.Time) bool {
	i := slices.IndexFunc(v.record.Selected, func(c Choice) bool { return c.App == choice.App })
	if i < 0 {
		return false
	}
	v.record.Selected = slices.Clone(v.record.Selected)
	v.record.Selected[i] = choice
	v.record.ChangedAt = ident.Instant(now)
	return true
}

// Gate opens or closes the schema gate (E8). The note says why. Invalid note_required, text_out_of_bounds.
func (v *Deployment) Gate(open bool, note string, now time.Time) error {
	if err := CheckNote(note); err != nil {
		return err
	}
	v.record.GateOpen, v.record.GateNote, v.record.ChangedAt = open, note, ident.Instant(now)
	return nil
}

// Reviewed says when the desired state is to be looked at again; zero: when something changes.
func (v *Deployment) Reviewed(next time.Time) { v.record.ReviewAt = next }

// Due tells whether the desired state has to be looked at again before anybody is told of it (E6).
func Due(reviewAt, now time.Time) bool { return !reviewAt.IsZero() && !reviewAt.After(now) }

// CheckNote accepts the reason that somebody gives for what they do. Invalid note_required, text_out_of_bounds.
func CheckNote(note string) error {
	switch {
	case strings.TrimSpace(note) == "":
		return fault.New(fault.Invalid, "note_required", "a note says why").At("note")
	case len(note) > maxNote || !utf8.ValidString(note) || strings.IndexByte(note, 0) >= 0:
		return fault.New(fault.Invalid, "text_out_of_bounds", "a note has at most %d bytes of text", maxNote).At("note")
	}
	return nil
}

// checkNamespace refuses those that are Kubernetes' own: nothing that Berth ships belongs there.
func checkNamespace(name string) *fault.Error {
	if err := ident.Check("namespace", name); err != nil {
		return err
	}
	if strings.HasPrefix(name, "kube-") || name == "default" {
		return fault.New(fault.Invalid, "namespace_reserved", "the namespace is Kubernetes' own").At("namespace").
			Curable("name a namespace of its own")
	}
	return nil
}

func checkHosts(hosts []string) ([]string, []*fault.Error) {
	var faults []*fault.Error
	if len(hosts) > MaxIngressHosts {
		faults = append(faults, fault.New(fault.Invalid, "ingress_host_invalid", "at most %d hosts", MaxIngressHosts).At("ingress_hosts"))
	}
	for i, h := range hosts {
		if !validIngressHost(h) {
			faults = append(faults, fault.New(fault.Invalid, "ingress_host_invalid",
				"a host is a DNS name in lower case, the first label of which may be *").At(fmt.Sprintf("ingress_hosts[%d]", i)))
		}
	}
	sorted := slices.Sorted(slices.Values(hosts))
	return slices.Compact(sorted), faults
}

func validIngressHost(host string) bool {
	labels := strings.Split(strings.TrimPrefix(host, "*."), ".")
	if len(host) > maxIngressHost || len(labels) < 2 {
		return false
	}
	return !slices.ContainsFunc(labels, func(label string) bool { return ident.Check("", label) != nil })
}

func checkSelected(choices []Choice, entitled []entitlement.Entitlement) ([]Choice, []*fault.Error) {
	var faults []*fault.Error
	if len(choices) > MaxDeploymentApps {
		return nil, []*fault.Error{tooManyApps().At("selected_services")}
	}
	seen := map[string]bool{}
	for i, c := range choices {
		at := fmt.Sprintf("selected_services[%d]", i)
		faults = append(faults, checkChoice(c, at)...)
		if seen[c.App] {
			faults = append(faults, fault.New(fault.Invalid, "selected_service_duplicate", "%q is given twice", c.App).At(at+".app"))
		}
		if !entitles(entitled, c.App) {
			faults = append(faults, fault.New(fault.Invalid, "not_entitled", "the license does not entitle to %q", c.App).
				At(at+".app").Curable("put the app on the license first"))
		}
		seen[c.App] = true
	}
	sorted := slices.Clone(choices)
	slices.SortFunc(sorted, func(a, b Choice) int { return strings.Compare(a.App, b.App) })
	return sorted, faults
}

func entitles(entitled []entitlement.Entitlement, app string) bool {
	return slices.ContainsFunc(entitled, func(e entitlement.Entitlement) bool {
		return e.App == app && e.WithdrawnAt.IsZero()
	})
}

// checkChoice holds a choice to its bounds; whether there is such a version is the catalogue's to say.
func checkChoice(c Choice, at string) []*fault.Error {
	var faults []*fault.Error
	if err := ident.Check(at+".app", c.App); err != nil {
		faults = append(faults, err)
	}
	if len(c.Version) > MaxVersion {
		faults = append(faults, fault.New(fault.Invalid, "version_invalid", "a version has at most %d bytes", MaxVersion).At(at+".version"))
	}
	if len(c.Parameters) > MaxParameters {
		faults = append(faults, fault.New(fault.Invalid, "parameter_invalid", "at most %d parameters", MaxParameters).At(at+".parameters"))
	}
	for name, value := range c.Parameters {
		if len(name) > ident.MaxName || len(value) > MaxSecretValue {
			faults = append(faults, fault.New(fault.Invalid, "parameter_invalid", "a parameter is too long").At(at+".parameters"))
			break
		}
	}
	return faults
}

func tooManyApps() *fault.Error {
	return fault.New(fault.Invalid, "too_many_apps", "a deployment has at most %d apps", MaxDeploymentApps).
		Curable("take another app off first")
}
