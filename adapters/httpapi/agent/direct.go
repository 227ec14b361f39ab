package agent

import (
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"berth/adapters/httpapi"
	"berth/application/desired"
	"berth/ports/tokens"
)

// emptyBody is the digest of a body that is not there.
var emptyBody = sha256.Sum256(nil) //nolint:gochecknoglobals // immutable

const (
	desiredStateType = "application/jose" // RFC 7515
	objectType       = "application/octet-stream"
)

// direct serves what agents read. Every agent polls all the time, so that what a request costs beside its one signature
// and its one read is most of what there is: these are served without Huma, and described to it.
func (d Deps) direct(e *gin.Engine, api huma.API) {
	poll := op("get-desired-state", "GET", "/desired-state", "What the cluster is to run: a JWS, or 304 where If-None-Match has it",
		httpapi.OK, nil)
	poll.Parameters = []*huma.Param{
		{Name: "wait", In: "query", Schema: &huma.Schema{Type: "string"}, Description: "How long to wait for something new, e.g. 30s; at most 30s"},
		{Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: "string"}, Description: "The ETag of what is held"},
	}
	describe(api, poll, desiredStateType)
	object := op("get-object", "GET", "/objects/{sha256}", "An object that a desired state of the deployment names", httpapi.OK, nil)
	object.Parameters = []*huma.Param{{Name: "sha256", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}}
	describe(api, object, objectType)
	e.GET(prefix+"/desired-state", d.named("get-desired-state", d.poll))
	e.GET(prefix+"/objects/:sha256", d.named("get-object", d.object))
}

func describe(api huma.API, o huma.Operation, content string) {
	o.Responses = map[string]*huma.Response{
		"200": {Description: "OK", Content: map[string]*huma.MediaType{content: {Schema: &huma.Schema{Type: "string"}}}},
		"304": {Description: "Not Modified"},
		// Refusals are those of every operation, as Huma described them of one of its own.
		"default": api.OpenAPI().Paths[prefix+"/reports"].Post.Responses["default"],
	}
	api.OpenAPI().AddOperation(&o)
}

// named runs an agent's request under the name of its operation, once it is known which agent asks.
func (d Deps) named(operation string, do func(*gin.Context, desired.AgentCaller) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		r := c.Request
		httpapi.Named(r.Context(), operation)
		caller, err := d.Desired.AuthenticateAgent(r.Context(), bearer(r.Header.Get("Authorization")), tokens.AgentRequest{
			Method: r.Method, URL: r.RequestURI, Body: emptyBody,
		})
		if err != nil {
			err = d.refusal(httpapi.SourceOf(r), err)
		} else {
			err = do(c, caller)
		}
		if err != nil {
			httpapi.Problem(c, err)
		}
	}
}

// afterWait is how long the work of a poll may go on after its wait: a review that is due may be made in its last moment.
const afterWait = 10 * time.Second

func (d Deps) poll(c *gin.Context, caller desired.AgentCaller) error {
	wait, err := httpapi.Wait(c.Query("wait"))
	if err != nil {
		return err
	}
	in := desired.PollRequest{Caller: caller, Held: c.Request.Header.Get("If-None-Match"), Wait: wait}
	ctx := c.Request.Context()
	if wait > 0 {
		var stop context.CancelFunc
		ctx, stop = httpapi.Waiting(ctx, wait+afterWait)
		defer stop()
	}
	answer, err := d.Desired.Poll(ctx, in)
	if err != nil {
		return err
	}
	c.Header("ETag", answer.ETag)
	if answer.Unchanged {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	c.Data(http.StatusOK, desiredStateType, []byte(answer.Token))
	return nil
}

func (d Deps) object(c *gin.Context, caller desired.AgentCaller) error {
	name := c.Param("sha256")
	content, err := d.Desired.Object(c.Request.Context(), caller, name)
	if err != nil {
		return err
	}
	c.Header("ETag", `"`+name+`"`)
	c.Header("Cache-Control", "private, immutable, max-age=31536000")
	c.Data(http.StatusOK, objectType, content)
	return nil
}

// packages serves the links of delivery packages, which work once.
func (d Deps) packages(e *gin.Engine) {
	e.GET("/packages/v1/:token", func(c *gin.Context) {
		httpapi.Named(c.Request.Context(), "get-package")
		source := httpapi.SourceOf(c.Request)
		p, content, err := d.Desired.FetchPackage(c.Request.Context(), c.Param("token"), source)
		if err != nil {
			httpapi.Problem(c, d.refusal(source, err))
			return
		}
		c.Header("Content-Disposition", `attachment; filename="`+p.ID+`.tar.gz"`)
		c.Header("ETag", `"`+p.Content.SHA256+`"`)
		c.Data(http.StatusOK, "application/gzip", content)
	})
}
