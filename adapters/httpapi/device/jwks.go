package device

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
)

// jwks serves the public keys of device tokens and of nothing else (I6, I9).
func (d Deps) jwks(e *gin.Engine) {
	e.GET("/.well-known/jwks.json", func(c *gin.Context) {
		list, err := d.Trust.JWKS(c.Request.Context())
		if err != nil {
			httpapi.Problem(c, err)
			return
		}
		set := contract.JWKS{Keys: []contract.JWK{}}
		for _, k := range list {
			set.Keys = append(set.Keys, httpapi.JWK(k))
		}
		c.Header("Cache-Control", "public, max-age="+strconv.Itoa(int(httpapi.KeySetAge.Seconds())))
		c.JSON(http.StatusOK, set)
	})
}
