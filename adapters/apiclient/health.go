package apiclient

import "context"

// Ready asks whether the server can serve. Fault: Unavailable not_ready.
func (c *Client) Ready(ctx context.Context) error {
	_, err := get[struct{}](ctx, c, "/readyz", nil)
	return err
}
