package operator

import (
	"strconv"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/domain/delivery"
	"berth/domain/fault"
)

// declared reads parameters as they are declared. Their values travel as text within.
func declared(in []contract.Parameter) ([]delivery.Parameter, error) {
	var errs []*fault.Error
	out := httpapi.Each(in, func(p contract.Parameter) delivery.Parameter {
		return delivery.Parameter{
			Name: p.Name, Type: delivery.ParameterType(p.Type), Required: p.Required, Secret: p.Secret, CustomerSettable: p.CustomerSettable,
			Pattern: p.Pattern, Values: p.Values,
		}
	})
	for i, p := range in {
		if p.Default == nil {
			continue
		}
		text, ok := httpapi.Scalar(p.Default)
		if !ok {
			errs = append(errs, fault.New(fault.Invalid, "parameter_invalid", "a default is a string, a boolean, or a whole number below 2^53").
				At("parameters."+strconv.Itoa(i)+".default").Curable("give it as a string"))
		}
		out[i].Default, out[i].HasDefault = text, true
	}
	return out, fault.All(errs...)
}

func release(r delivery.Release) contract.Release {
	return contract.Release{
		App: r.App, Version: r.Version, Digest: r.Digest, Kind: string(r.Kind), Source: r.Source, Images: r.Images,
		Parameters: httpapi.Each(r.Parameters, parameter),
		Requires:   httpapi.Each(r.Requires, func(q delivery.Requirement) contract.Requirement { return contract.Requirement(q) }),
		Externals:  r.Externals, SchemaGate: r.SchemaGate, CreatedAt: r.CreatedAt,
	}
}

func parameter(p delivery.Parameter) contract.Parameter {
	out := contract.Parameter{
		Name: p.Name, Type: string(p.Type), Required: p.Required, Secret: p.Secret, CustomerSettable: p.CustomerSettable,
		Pattern: p.Pattern, Values: p.Values,
	}
	if p.HasDefault {
		out.Default = p.Decode(p.Default)
	}
	return out
}
