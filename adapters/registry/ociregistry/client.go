// Package ociregistry asks OCI registries over HTTP, through go-containerregistry: whether an image exists, for which
// platforms, and for charts (E4). Every connection passes one gate, which opens to registered registries only.
package ociregistry

import (
	"context"
	"time"

	"berth/domain/delivery"
	"berth/ports/clock"
	"berth/ports/registry"
)

const (
	// atOnce bounds how many lookups run; perHost, fewer, leaves room beside a registry that is slow to answer.
	atOnce, perHost = 8, 6
	// answerFor bounds one lookup with all of its requests, not counting the wait for its turn.
	answerFor = 10 * time.Second
	// rememberFor and rememberMost bound the memory of what exists.
	rememberFor, rememberMost = time.Minute, 4096
)

// Config is what a client needs. Zero values of what is below Clock stand for the usual.
type Config struct {
	Clock     clock.Clock
	AnswerFor time.Duration // bounds one lookup; 10 s
	UserAgent string        // berth
}

// Client is registry.Images and registry.Charts.
type Client struct {
	config     Config
	memory     *memory
	turns      *turns
	transports *transports
}

var (
	_ registry.Images = (*Client)(nil)
	_ registry.Charts = (*Client)(nil)
)

// New makes a client. Close ends its idle connections.
func New(c Config) *Client {
	if c.AnswerFor == 0 {
		c.AnswerFor = answerFor
	}
	if c.UserAgent == "" {
		c.UserAgent = "berth"
	}
	return &Client{config: c, memory: newMemory(c.Clock), turns: newTurns(), transports: newTransports()}
}

// Close closes the connections that wait for the next lookup.
func (c *Client) Close() { c.transports.close() }

// Resolve is registry.Images's.
func (c *Client) Resolve(ctx context.Context, registries []delivery.Registry, reference string) (registry.Image, error) {
	ref, bad := delivery.ParseImage(reference)
	if bad != nil {
		return registry.Image{}, bad
	}
	from, bad := delivery.RegistryOf(registries, ref.Host)
	if bad != nil {
		return registry.Image{}, bad
	}
	if ctx.Err() != nil {
		return registry.Image{}, ofImages.unavailable(from, "the check was given up").Because(ctx.Err())
	}
	known := keyOf(from, ref)
	if image, ok := c.memory.get(known); ok {
		image.Reference = reference
		return image, nil
	}
	var image registry.Image
	err := c.look(ctx, registries, target{from, ref, ofImages}, func(ctx context.Context, s *session) (err error) {
		image, err = s.image(ctx)
		return err
	})
	if err != nil {
		return registry.Image{}, err
	}
	c.memory.put(known, image)
	image.Reference = reference
	return image, nil
}

// target is what a lookup is about.
type target struct {
	from  delivery.Registry
	ref   delivery.ImageReference
	words words
}

// look runs a lookup when its turn comes, within its time.
func (c *Client) look(
	ctx context.Context, registries []delivery.Registry, t target, do func(context.Context, *session) error,
) error {
	leave, err := c.turns.enter(ctx, t.from.Host)
	if err != nil {
		return t.words.unavailable(t.from, "the check was given up").Because(err)
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, c.config.AnswerFor)
	defer cancel()
	s := &session{target: t, gate: newGate(c.transports, registries), userAgent: c.config.UserAgent}
	if err := s.open(ctx); err != nil {
		return err
	}
	return do(ctx, s)
}
