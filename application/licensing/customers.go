package licensing

import (
	"context"

	"berth/domain/audit"
	"berth/domain/entitlement"
	"berth/ports/store"
)

// CreateCustomerRequest names a customer.
type CreateCustomerRequest struct {
	Actor audit.Actor
	ID    string
	Name  string
}

// CreateCustomer makes a customer. Faults: Invalid invalid_id, invalid_name; AlreadyExists customer_exists.
func (l *Licensing) CreateCustomer(ctx context.Context, in CreateCustomerRequest) (entitlement.Customer, error) {
	customer, err := entitlement.NewCustomer(in.ID, in.Name, l.Clock.Now())
	if err != nil {
		return entitlement.Customer{}, err
	}
	err = l.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		if err := w.Customers.Create(ctx, customer); err != nil {
			return at(err, "customer_exists", "id")
		}
		return w.note(ctx, "customer.created", "customer/"+customer.ID, map[string]string{"name": customer.Name})
	})
	if err != nil {
		return entitlement.Customer{}, err
	}
	return customer, nil
}

// Customer returns a customer. Fault: NotFound customer_not_found.
func (l *Licensing) Customer(ctx context.Context, id string) (entitlement.Customer, error) {
	var out entitlement.Customer
	err := l.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Customers.Get(ctx, id)
		return err
	})
	return out, err
}

// Customers lists the customers, by id.
func (l *Licensing) Customers(ctx context.Context, p store.Page) (store.List[entitlement.Customer], error) {
	var out store.List[entitlement.Customer]
	err := l.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = store.Listed(p, func(p store.Page) ([]entitlement.Customer, error) { return r.Customers.List(ctx, p) },
			func(c entitlement.Customer) string { return c.ID })
		return err
	})
	return out, err
}
