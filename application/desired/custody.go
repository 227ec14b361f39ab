package desired

import (
	"context"
	"maps"
	"slices"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// CustodyRequest gives values for an app's parameters, among which secrets are.
type CustodyRequest struct {
	Install string
	Choice  delivery.Choice   // with a version; secret parameters in the clear
	Sealed  map[string][]byte // secret ones sealed to the agent's seal key
	By      delivery.Chooser
}

// Custody takes secrets into custody, and returns the choice without them (D3): wrapped before an agent enrolled, and
// after it as they were sealed. It changes nothing: the values go with the change that sets them, Proposal.Secrets.
// What is wrong with them is told as faults: parameter_not_settable, parameter_invalid, parameter_unknown, secret_size,
// secret_must_be_sealed, agent_not_enrolled. An error is a failure to find out.
func (d *Desired) Custody(ctx context.Context, in CustodyRequest) (delivery.Choice, []delivery.SecretValue, []*fault.Error, error) {
	choice := in.Choice
	s, err := d.situation(ctx, in.Install)
	if err != nil {
		return choice, nil, nil, err
	}
	release, err := d.release(ctx, choice)
	if err != nil {
		return choice, nil, nil, err
	}
	var clear map[string]string
	choice.Parameters, clear = delivery.SplitSecrets(release.Parameters, in.Choice.Parameters)
	errs := notSettable(release.Parameters, in.Sealed, in.By)
	values, wrong, err := d.secretValues(ctx, s, wanted{Choice: choice, sealed: in.Sealed}, release, clear, in.By)
	return choice, values, append(errs, wrong...), err
}

// notSettable holds what was sealed to the rule for what is in the clear: a customer sets what is declared so.
func notSettable(declared []delivery.Parameter, sealed map[string][]byte, by delivery.Chooser) []*fault.Error {
	if by != delivery.ByCustomer {
		return nil
	}
	var errs []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(sealed)) {
		if slices.ContainsFunc(declared, func(p delivery.Parameter) bool { return p.Name == name && !p.CustomerSettable }) {
			errs = append(errs, fault.New(fault.Invalid, "parameter_not_settable", "%q is not for customers to set", name).At(name).
				Curable("leave it out, or ask the vendor to set it"))
		}
	}
	return errs
}
