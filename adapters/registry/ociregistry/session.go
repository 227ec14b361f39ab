package ociregistry

import (
	"context"
	"errors"
	"io"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// session is one lookup at one registry, which was greeted.
type session struct {
	target
	gate      *gate
	userAgent string
	repo      name.Repository
	puller    *remote.Puller
	fetched   int // manifests and configurations
}

// open greets the registry and authenticates. Nothing that fails here says anything about an image.
func (s *session) open(ctx context.Context) error {
	login, err := credentials(s.from)
	if err != nil {
		return s.words.unavailable(s.from, "its credentials can not be read").Because(err)
	}
	options := []name.Option{name.StrictValidation}
	if s.from.PlainHTTP {
		options = append(options, name.Insecure)
	}
	if s.repo, err = name.NewRepository(s.from.Host+"/"+s.ref.Repository, options...); err != nil {
		return s.words.unavailable(s.from, "no such name is possible").Because(err)
	}
	t, err := transport.NewWithContext(ctx, s.repo.Registry, login, transport.NewUserAgent(s.gate, s.userAgent),
		[]string{s.repo.Scope(transport.PullScope)})
	if err != nil {
		return s.failed(ctx, err)
	}
	// A transport that is authenticated already is taken as it is: without retries, which are up to whoever asks.
	if s.puller, err = remote.NewPuller(remote.WithTransport(t)); err != nil {
		return s.failed(ctx, err)
	}
	return nil
}

// manifest finds what was asked for. A registry that answers a HEAD says cheaply that it has none, or that it has too much,
// and its digest makes sure that a tag which moves meanwhile is not answered half and half.
func (s *session) manifest(ctx context.Context) (*remote.Descriptor, error) {
	wanted := s.reference(s.ref.Identifier())
	head, err := s.puller.Head(ctx, wanted)
	switch {
	case isMissing(err):
		return nil, s.gone()
	case err == nil && head.Size > maxAnswer:
		return nil, s.failed(ctx, errTooMuch)
	case err == nil && head.Digest.Algorithm == "sha256":
		wanted = s.reference(head.Digest.String())
	case err != nil && !isIncomplete(err):
		return nil, s.failed(ctx, err)
	}
	found, err := s.get(ctx, wanted)
	if head == nil && isMissing(err) {
		return nil, s.gone()
	}
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return found, nil
}

// isIncomplete says whether a registry did answer a HEAD, if without the headers that make it an answer.
func isIncomplete(err error) bool {
	if _, ok := errors.AsType[*transport.Error](err); ok {
		return false
	}
	_, ok := errors.AsType[*url.Error](err)
	return !ok
}

// reference names something in the repository, by tag or digest.
func (s *session) reference(identifier string) name.Reference {
	if _, err := v1.NewHash(identifier); err == nil {
		return s.repo.Digest(identifier)
	}
	return s.repo.Tag(identifier)
}

var errTooMany = errors.New("an image is made of more manifests than are read")

// maxFetched bounds what is read for one image: an index, those within it, and configurations.
const maxFetched = 16

func (s *session) get(ctx context.Context, wanted name.Reference) (*remote.Descriptor, error) {
	if s.fetched++; s.fetched > maxFetched {
		return nil, errTooMany
	}
	return s.puller.Get(ctx, wanted)
}

// blob reads one that is small; its digest is checked.
func (s *session) blob(ctx context.Context, digest v1.Hash) ([]byte, error) {
	if s.fetched++; s.fetched > maxFetched {
		return nil, errTooMany
	}
	layer, err := s.puller.Layer(ctx, s.repo.Digest(digest.String()))
	if err != nil {
		return nil, err
	}
	body, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
