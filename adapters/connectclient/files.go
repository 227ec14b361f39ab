package connectclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"strconv"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Files are the attachments of a device's tenant. What breaks in the middle is resumed.
type Files struct {
	o         Options
	http      *http.Client
	transport *http.Transport
}

// NewFiles reaches attachments; Close when done.
func NewFiles(o Options) *Files {
	t := o.transport()
	return &Files{o: o, transport: t, http: o.client(t)}
}

// Close lets go of idle connections.
func (f *Files) Close() { f.transport.CloseIdleConnections() }

// uploadOffset is the header that says how much of an upload there is.
const uploadOffset = "Berth-Upload-Offset"

const (
	attempts = 8 // that in a row may break without any progress
	fresh    = 2 // tokens that in a row may be refused: the one at hand may have run out on its way
)

// Attach uploads content, from where an earlier upload of it broke, and returns once it is durable, with the SHA-256 that is
// its address. It is uploaded once: content that is there is not sent. Faults: those of the origin; Unavailable
// origin_unreachable.
func (f *Files) Attach(ctx context.Context, content io.ReadSeeker) (digest [sha256.Size]byte, err error) {
	hash := sha256.New()
	size, err := io.Copy(hash, content)
	if err != nil {
		return digest, err
	}
	digest = [sha256.Size]byte(hash.Sum(nil))
	var last int64 = -1
	for failures := 0; ; failures++ {
		offset, whole, err := f.uploaded(ctx, digest)
		if err == nil && whole {
			return digest, nil
		}
		if err == nil {
			if offset > last {
				failures, last = 0, offset
			}
			whole, err = f.upload(ctx, digest, content, offset, size)
		}
		if whole {
			return digest, nil
		}
		if err := f.again(ctx, err, failures); err != nil {
			return digest, err
		}
	}
}

// again waits before the next attempt, where there is to be one.
func (f *Files) again(ctx context.Context, err error, failures int) error {
	f.transport.CloseIdleConnections() // at the origin another node may answer, and do better
	switch {
	case err == nil && failures < attempts:
		return nil
	case err == nil:
		return fault.New(fault.Internal, "unexpected_answer", "the origin takes parts of the attachment, and has no more of it")
	case fault.KindOf(err) == fault.Unauthenticated && failures < fresh: // it is asked again with another token
	case !mends(err) || failures >= attempts:
		return err
	case !sleep(ctx, pauseAfter(err, failures, f.o.longest())):
		return fault.New(fault.Unavailable, "request_ended", "the request ended first").Because(errors.Join(context.Cause(ctx), err))
	}
	return nil
}

// mends says whether trying again helps: where an upload is to go on elsewhere, or the origin has no room or no node for now.
func mends(err error) bool {
	switch fault.SlugOf(err) {
	case "upload_offset", "body_truncated", "body_too_slow", "not_holder", "generation_changed", "principal_unknown":
		return true
	case "tenant_quota_exceeded", "disk_full":
		return false
	}
	kind := fault.KindOf(err)
	return kind == fault.Unavailable || kind == fault.Exhausted
}

// uploaded says how much of an attachment is there.
func (f *Files) uploaded(ctx context.Context, digest [sha256.Size]byte) (offset int64, whole bool, err error) {
	answer, err := f.do(ctx, http.MethodHead, digest, nil, nil)
	if err != nil {
		return 0, false, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return 0, true, nil
	case http.StatusNotFound:
		return offsetOf(answer), false, nil
	}
	// A HEAD has no body that would say why: a GET of the same is refused alike.
	got, err := f.do(ctx, http.MethodGet, digest, nil, nil)
	if err != nil {
		return 0, false, err
	}
	switch got.StatusCode { // where it is not, what was in the way is gone
	case http.StatusOK:
		return 0, true, got.Body.Close()
	case http.StatusNotFound:
		return offsetOf(got), false, got.Body.Close()
	}
	return 0, false, refusal(got)
}

func offsetOf(answer *http.Response) int64 {
	offset, _ := strconv.ParseInt(answer.Header.Get(uploadOffset), 10, 64) // nothing is there where it says nothing
	return max(offset, 0)
}

func refusal(answer *http.Response) error {
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	if err != nil {
		return unreachable(err)
	}
	return problem(answer, data)
}

func unreachable(err error) error {
	return fault.New(fault.Unavailable, "origin_unreachable", "the origin does not answer").Because(err)
}

// upload sends what is missing.
func (f *Files) upload(ctx context.Context, digest [sha256.Size]byte, content io.ReadSeeker, offset, size int64) (whole bool, err error) {
	header := http.Header{}
	if offset >= size {
		offset = 0 // all of it came, and it is not whole: no part says that there is nothing left
	}
	if _, err := content.Seek(offset, io.SeekStart); err != nil {
		return false, err
	}
	if offset > 0 {
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", offset, size-1, size))
	}
	answer, err := f.do(ctx, http.MethodPut, digest, header, io.LimitReader(content, size-offset), size-offset)
	if err != nil {
		return false, err
	}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated:
		return true, answer.Body.Close()
	case http.StatusAccepted:
		return false, answer.Body.Close()
	}
	return false, refusal(answer)
}

// do sends a request with the device's token.
func (f *Files) do(ctx context.Context, method string, digest [sha256.Size]byte, header http.Header, body io.Reader, length ...int64) (*http.Response, error) {
	target, err := f.o.attachment(hex.EncodeToString(digest[:]))
	if err != nil {
		return nil, err
	}
	token, err := f.o.Tokens.Token(ctx)
	if err != nil {
		return nil, err
	}
	if body != nil { // net/http closes what it can
		body = io.NopCloser(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid_url", "the request can not be made").Because(err)
	}
	for _, n := range length {
		r.ContentLength = n
		if n == 0 {
			r.Body = http.NoBody
		}
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	r.Header.Set("Accept", "*/*, "+contract.ProblemType)
	answer, err := f.http.Do(r)
	if err != nil {
		return nil, unreachable(err)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		f.o.Tokens.Forget(token.AccessToken)
	}
	return answer, nil
}

// Fetch writes an attachment, and checks that it is what its address says. Faults: those of the origin; Internal
// attachment_digest_differs, after which what was written is worthless; Unavailable origin_unreachable.
func (f *Files) Fetch(ctx context.Context, digest [sha256.Size]byte, to io.Writer) (size int64, err error) {
	p := &part{to: to, hash: sha256.New()}
	for failures := 0; ; failures++ {
		before := p.got
		whole, err := f.fetch(ctx, digest, p)
		if whole {
			break
		}
		if p.got > before {
			failures = 0
		}
		if p.err != nil {
			return p.got, p.err
		}
		if err := f.again(ctx, err, failures); err != nil {
			return p.got, err
		}
	}
	if !bytes.Equal(p.hash.Sum(nil), digest[:]) {
		return p.got, fault.New(fault.Internal, "attachment_digest_differs", "what came is not what its address says")
	}
	return p.got, nil
}

// part is what came so far.
type part struct {
	to   io.Writer
	hash hash.Hash
	got  int64
	err  error // of to
}

// Write takes what comes.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	_, _ = p.hash.Write(b[:n]) // documented never to fail
	p.got += int64(n)
	p.err = err
	return n, err
}

// fetch asks for what is missing.
func (f *Files) fetch(ctx context.Context, digest [sha256.Size]byte, p *part) (whole bool, err error) {
	header, want := http.Header{}, http.StatusOK
	if p.got > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", p.got))
		want = http.StatusPartialContent
	}
	answer, err := f.do(ctx, http.MethodGet, digest, header, nil)
	if err != nil {
		return false, err
	}
	if answer.StatusCode == http.StatusRequestedRangeNotSatisfiable && p.got > 0 {
		return true, answer.Body.Close() // all of it came, and the end of it was lost
	}
	if answer.StatusCode != want {
		return false, refusal(answer)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(p, answer.Body); err != nil {
		return false, unreachable(err)
	}
	return true, nil
}
