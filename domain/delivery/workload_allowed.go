package delivery

import (
	"maps"
	"strings"
)

// kind is a kind of object by its apiVersion and kind.
type kind struct{ version, name string }

// allowed is the allow-list (D2): every kind, and with it every field, that Berth delivers. What is not in it is refused.
//
//nolint:gochecknoglobals // an immutable table
var allowed = map[kind]object{
	{"apps/v1", "Deployment"}:           of(deployment, plainAnnotations),
	{"v1", "Service"}:                   of(service, plainAnnotations),
	{"networking.k8s.io/v1", "Ingress"}: of(ingress, ingressAnnotations),
	{"v1", "Secret"}: with(of(nil, plainAnnotations), object{
		"type":       oneOf{"Opaque", "kubernetes.io/tls", "kubernetes.io/dockerconfigjson"},
		"data":       texts{validDataKey, encoded, 256},
		"stringData": texts{validDataKey, anyText, 256},
		"immutable":  boolean{},
	}),
	{"v1", "ConfigMap"}: with(of(nil, plainAnnotations), object{ // where the policy has it
		"data":       texts{validDataKey, anyText, 256},
		"binaryData": texts{validDataKey, encoded, 256},
		"immutable":  boolean{},
	}),
}

// of is what every object has, and its spec.
func of(spec object, annotations texts) object {
	o := object{
		"apiVersion": anyText, "kind": anyText, // by which it was found
		"metadata": object{
			"name": nameText, "namespace": namespace{}, "labels": labels, "annotations": annotations,
		},
	}
	if spec != nil {
		o["spec"] = spec
	}
	return o
}

func with(o, more object) object {
	maps.Copy(o, more)
	return o
}

//nolint:gochecknoglobals // immutable tables
var (
	labels = texts{func(k string) bool {
		prefix, _, prefixed := strings.Cut(k, "/")
		return validKey(k) && (!prefixed || prefix == "app.kubernetes.io" || prefix == "helm.sh" || !reserved(prefix))
	}, labelled, 64}
	selector = object{"matchLabels": labels}

	// Annotations steer admission webhooks, runtimes and controllers of a cluster past every other rule here; so only those
	// are let through that steer nothing.
	plainAnnotations = texts{func(k string) bool {
		prefix, name, prefixed := strings.Cut(k, "/")
		switch {
		case !validKey(k):
			return false
		case !prefixed:
			return !strings.Contains(k, ".")
		case prefix == "helm.sh":
			return name == "chart"
		}
		return prefix == "checksum" || prefix == "prometheus.io" || prefix == "app.kubernetes.io" || prefix == "meta.helm.sh"
	}, plainNote, 64}
	ingressAnnotations = texts{func(k string) bool {
		switch k {
		case "kubernetes.io/ingress.class",
			"nginx.ingress.kubernetes.io/backend-protocol", "nginx.ingress.kubernetes.io/force-ssl-redirect",
			"nginx.ingress.kubernetes.io/proxy-body-size", "nginx.ingress.kubernetes.io/proxy-connect-timeout",
			"nginx.ingress.kubernetes.io/proxy-read-timeout", "nginx.ingress.kubernetes.io/proxy-send-timeout",
			"nginx.ingress.kubernetes.io/ssl-redirect":
			return true
		}
		return false
	}, shortNote, 16}
)

// reserved tells whether a prefix belongs to Kubernetes.
func reserved(prefix string) bool {
	return strings.HasSuffix("."+prefix, ".kubernetes.io") || strings.HasSuffix("."+prefix, ".k8s.io")
}

//nolint:gochecknoglobals // immutable tables
var (
	deployment = object{
		"replicas":                whole{0, 1000},
		"selector":                selector,
		"minReadySeconds":         whole{0, 3600},
		"revisionHistoryLimit":    whole{0, 100},
		"progressDeadlineSeconds": whole{1, 86400},
		"strategy": object{
			"type":          oneOf{"RollingUpdate", "Recreate"},
			"rollingUpdate": object{"maxSurge": either{portion, whole{0, 1000}}, "maxUnavailable": either{portion, whole{0, 1000}}},
		},
		"template": object{
			"metadata": object{"labels": labels, "annotations": plainAnnotations},
			"spec":     pod,
		},
	}

	service = object{
		"type":      oneOf{"ClusterIP"},
		"clusterIP": oneOf{"", "None"},
		"selector":  labels,
		"ports": list{object{
			"name": labelText, "port": port, "targetPort": either{portName, port}, "protocol": protocol, "appProtocol": plainNote,
		}, 64},
		"sessionAffinity":          oneOf{"None", "ClientIP"},
		"sessionAffinityConfig":    object{"clientIP": object{"timeoutSeconds": whole{1, 86400}}},
		"publishNotReadyAddresses": boolean{},
		"internalTrafficPolicy":    oneOf{"Cluster", "Local"},
		"ipFamilyPolicy":           oneOf{"SingleStack", "PreferDualStack", "RequireDualStack"},
		"ipFamilies":               list{oneOf{"IPv4", "IPv6"}, 2},
	}

	ingress = object{
		"ingressClassName": nameText,
		"rules": list{object{
			"host": host{},
			"http": object{"paths": list{object{
				"path": urlPath, "pathType": oneOf{"Exact", "Prefix", "ImplementationSpecific"},
				"backend": object{"service": object{
					"name": reference("Service"), "port": object{"number": port, "name": portName},
				}},
			}, 64}},
		}, 64},
		"tls": list{object{"hosts": list{host{}, 64}, "secretName": reference("Secret")}, 64},
	}

	port     = whole{1, 65535}
	protocol = oneOf{"TCP", "UDP"}
)
