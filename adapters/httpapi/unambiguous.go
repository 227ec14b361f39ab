package httpapi

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// unambiguous refuses a request that says one thing twice: this program would take the first, a proxy in front of it
// perhaps the last. Of the headers it looks at those that decide something; a body's fields are strictJSON's.
func unambiguous(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r := humagin.Unwrap(ctx).Request
		for _, name := range []string{"Authorization", "Content-Type", contract.HeaderIdempotencyKey} {
			if len(r.Header.Values(name)) > 1 {
				Refuse(api, ctx, fault.New(fault.Invalid, "header_duplicated", "the header %s is given twice", name).At("header."+name))
				return
			}
		}
		if strings.Contains(r.URL.RawQuery, "&") {
			for name, values := range r.URL.Query() {
				if len(values) > 1 {
					Refuse(api, ctx, fault.New(fault.Invalid, "parameter_duplicated", "a parameter is given twice").At("query."+name))
					return
				}
			}
		}
		next(ctx)
	}
}
