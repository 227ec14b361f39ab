package delivery

// The fields of pods. What the restricted Pod Security profile demands to be there is demanded by secure.
//
//nolint:gochecknoglobals // immutable tables
var (
	pod = object{
		"containers":                    list{container, 32},
		"initContainers":                list{with(clone(container), object{"restartPolicy": oneOf{"Always"}}), 32},
		"volumes":                       list{volume, 64},
		"imagePullSecrets":              list{object{"name": reference("Secret")}, 16},
		"restartPolicy":                 oneOf{"Always"},
		"terminationGracePeriodSeconds": whole{0, 3600},
		"dnsPolicy":                     oneOf{"ClusterFirst"},
		"enableServiceLinks":            boolean{},
		"automountServiceAccountToken":  only(false),
		"serviceAccountName":            oneOf{"default"},
		"serviceAccount":                oneOf{"default"},
		"hostNetwork":                   only(false),
		"hostPID":                       only(false),
		"hostIPC":                       only(false),
		"nodeSelector":                  texts{func(k string) bool { return k == "kubernetes.io/os" || k == "kubernetes.io/arch" }, labelled, 2},
		"topologySpreadConstraints": list{object{
			"maxSkew": whole{1, 1000}, "minDomains": whole{1, 1000}, "topologyKey": topologyKey,
			"whenUnsatisfiable": oneOf{"DoNotSchedule", "ScheduleAnyway"}, "labelSelector": selector,
		}, 8},
		"affinity": object{"podAntiAffinity": object{
			"requiredDuringSchedulingIgnoredDuringExecution": list{apart, 8},
			"preferredDuringSchedulingIgnoredDuringExecution": list{object{
				"weight": whole{1, 100}, "podAffinityTerm": apart,
			}, 8},
		}},
		"securityContext": object{
			"runAsNonRoot": only(true), "runAsUser": user, "runAsGroup": group, "fsGroup": group,
			"fsGroupChangePolicy": oneOf{"OnRootMismatch", "Always"}, "supplementalGroups": list{group, 32},
			"seccompProfile": runtimeDefault, "appArmorProfile": runtimeDefault,
		},
	}

	apart       = object{"labelSelector": selector, "topologyKey": topologyKey}
	topologyKey = oneOf{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

	container = object{
		"name":                     labelText,
		"image":                    image{},
		"imagePullPolicy":          oneOf{"Always", "IfNotPresent", "Never"},
		"command":                  list{anyText, 256},
		"args":                     list{anyText, 256},
		"workingDir":               rooted,
		"ports":                    list{object{"name": portName, "containerPort": port, "protocol": protocol}, 64},
		"env":                      list{object{"name": environment, "value": anyText, "valueFrom": valueFrom}, 256},
		"envFrom":                  list{object{"prefix": environment, "configMapRef": optional("ConfigMap"), "secretRef": optional("Secret")}, 32},
		"resources":                object{"requests": resources, "limits": resources},
		"volumeMounts":             list{object{"name": labelText, "mountPath": rooted, "subPath": filePath, "readOnly": boolean{}}, 64},
		"livenessProbe":            probe,
		"readinessProbe":           probe,
		"startupProbe":             probe,
		"lifecycle":                object{"postStart": handler, "preStop": handler},
		"terminationMessagePath":   rooted,
		"terminationMessagePolicy": oneOf{"File", "FallbackToLogsOnError"},
		"securityContext": object{
			"privileged": only(false), "allowPrivilegeEscalation": only(false), "readOnlyRootFilesystem": boolean{},
			"runAsNonRoot": only(true), "runAsUser": user, "runAsGroup": group,
			"capabilities":   object{"drop": list{oneOf{"ALL"}, 1}, "add": list{oneOf{"NET_BIND_SERVICE"}, 1}},
			"seccompProfile": runtimeDefault, "appArmorProfile": runtimeDefault,
		},
	}

	environment    = text{validEnvName, "a name of letters, digits, '-', '_' and '.', that begins with no digit"}
	runtimeDefault = object{"type": oneOf{"RuntimeDefault"}}
	user           = whole{1, 1<<31 - 1}
	group          = whole{0, 1<<31 - 1}
	resources      = object{"cpu": amount{}, "memory": amount{}, "ephemeral-storage": amount{}}

	valueFrom = object{
		"configMapKeyRef":  keyed("ConfigMap"),
		"secretKeyRef":     keyed("Secret"),
		"fieldRef":         fieldRef,
		"resourceFieldRef": resourceFieldRef,
	}
	fieldRef = object{"apiVersion": oneOf{"v1"}, "fieldPath": oneOf{
		"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.podIP", "status.podIPs",
	}}
	resourceFieldRef = object{"containerName": labelText, "divisor": amount{}, "resource": oneOf{
		"requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
	}}

	// A probe or a hook goes to its own pod: with a host it would make the kubelet ask anybody.
	probe = with(clone(call), object{
		"tcpSocket":           object{"port": either{portName, port}},
		"grpc":                object{"port": port, "service": plainNote},
		"initialDelaySeconds": whole{0, 86400}, "timeoutSeconds": whole{1, 3600}, "periodSeconds": whole{1, 86400},
		"successThreshold": whole{1, 100}, "failureThreshold": whole{1, 10000}, "terminationGracePeriodSeconds": whole{1, 3600},
	})
	handler = with(clone(call), object{"sleep": object{"seconds": whole{0, 3600}}})
	call    = object{
		"exec": object{"command": list{anyText, 256}},
		"httpGet": object{
			"path": plainNote, "port": either{portName, port}, "scheme": oneOf{"HTTP", "HTTPS"},
			"httpHeaders": list{object{"name": plainNote, "value": plainNote}, 16},
		},
	}

	volume = object{
		"name":                  labelText,
		"configMap":             with(optional("ConfigMap"), object{"items": files, "defaultMode": mode}),
		"secret":                object{"secretName": reference("Secret"), "optional": boolean{}, "items": files, "defaultMode": mode},
		"emptyDir":              object{"medium": oneOf{"", "Memory"}, "sizeLimit": amount{}},
		"persistentVolumeClaim": object{"claimName": reference("PersistentVolumeClaim"), "readOnly": boolean{}},
		"downwardAPI":           object{"items": downward, "defaultMode": mode},
		"projected": object{"defaultMode": mode, "sources": list{object{
			"configMap":   with(optional("ConfigMap"), object{"items": files}),
			"secret":      with(optional("Secret"), object{"items": files}),
			"downwardAPI": object{"items": downward},
		}, 32}},
	}
	files    = list{object{"key": anyText, "path": filePath, "mode": mode}, 256}
	downward = list{object{"path": filePath, "fieldRef": fieldRef, "resourceFieldRef": resourceFieldRef, "mode": mode}, 64}
	mode     = whole{0, 0o777}
)

// optional refers to an object that may be missing.
func optional(kind string) object { return object{"name": reference(kind), "optional": boolean{}} }

// keyed refers to a key of an object.
func keyed(kind string) object { return with(optional(kind), object{"key": anyText}) }

func clone(o object) object { return with(object{}, o) }

// image is a reference that names a registered registry, and a tag or a digest.
type image struct{}

func (image) check(c *checker, v any) {
	s, ok := v.(string)
	if !ok {
		c.field("this is an image reference")
		return
	}
	reference, err := ParseImage(s)
	if err == nil && !c.policy.AnyRegistry {
		_, err = RegistryOf(c.policy.Registries, reference.Host)
	}
	if err != nil {
		c.refuse(err)
	}
}
