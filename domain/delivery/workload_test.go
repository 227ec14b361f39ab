package delivery_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"berth/domain/delivery"
)

type (
	doc = delivery.Document
	obj = map[string]any
)

// decode reads an object as the renderers make them.
func decode(t interface{ Fatal(...any) }, origin, text string) doc {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var o obj
	if err := decoder.Decode(&o); err != nil {
		t.Fatal(err, text)
	}
	return doc{Origin: origin, Object: whole(o).(obj)}
}

func whole(v any) any {
	switch v := v.(type) {
	case obj:
		for k, e := range v {
			v[k] = whole(e)
		}
	case []any:
		for i, e := range v {
			v[i] = whole(e)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

const (
	containerText = `{"name":"web","image":"r.example/shop:1.2.3","ports":[{"name":"http","containerPort":8080}],
		"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"1","memory":"128Mi"}},
		"env":[{"name":"MODE","value":"fast"},{"name":"PASSWORD","valueFrom":{"secretKeyRef":{"name":"shop","key":"password"}}}],
		"envFrom":[{"configMapRef":{"name":"shop","optional":true}}],"volumeMounts":[{"name":"tmp","mountPath":"/tmp"}],
		"livenessProbe":{"httpGet":{"path":"/healthz?deep=1","port":"http"},"periodSeconds":10},
		"lifecycle":{"preStop":{"sleep":{"seconds":5}}},
		"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true}}`
	deploymentText = `{"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"name":"shop","labels":{"app.kubernetes.io/name":"shop"},"annotations":{"checksum/config":"abc"}},
		"spec":{"replicas":2,"selector":{"matchLabels":{"app":"shop"}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":0}},
		"template":{"metadata":{"labels":{"app":"shop","tier":"web"}},"spec":{"automountServiceAccountToken":false,
		"securityContext":{"runAsNonRoot":true,"runAsUser":1000,"seccompProfile":{"type":"RuntimeDefault"}},
		"imagePullSecrets":[{"name":"registry-login"}],"volumes":[{"name":"tmp","emptyDir":{}},{"name":"data","persistentVolumeClaim":{"claimName":"shop-data"}}],
		"initContainers":[` + initText + `],"containers":[` + containerText + `]}}}}`
	initText = `{"name":"init","image":"r.example/init:1","resources":{"requests":{"cpu":"50m","memory":"16Mi"}},
		"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}`
	serviceText = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"shop"},"spec":{"selector":{"app":"shop"},"ports":[{"name":"http","port":80,"targetPort":"http"}]}}`
	ingressText = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"shop","annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"8m"}},
		"spec":{"rules":[{"host":"shop.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"shop","port":{"name":"http"}}}}]}}],
		"tls":[{"hosts":["shop.example.com"],"secretName":"shop-tls"}]}}`
	secretText    = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shop"},"type":"Opaque","stringData":{"password":""}}`
	tlsText       = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shop-tls"},"type":"kubernetes.io/tls","data":{"tls.crt":"YQ==","tls.key":"Yg=="}}`
	configMapText = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shop","namespace":"acme"},"data":{"mode":"fast"}}`
)

// shop is an app of every kind; its objects stand at these places.
const (
	theDeployment = iota
	theService
	theIngress
	theSecret
	theTLS
	theConfigMap
)

func shop(t interface{ Fatal(...any) }) []doc {
	var out []doc
	for i, text := range []string{deploymentText, serviceText, ingressText, secretText, tlsText, configMapText} {
		out = append(out, decode(t, "shop.yaml#"+strconv.Itoa(i+1), text))
	}
	out[theSecret].Secrets = map[string]string{"/stringData/password": "password"}
	return out
}

func policy() delivery.Policy {
	return delivery.Policy{
		Namespace: "acme", IngressHosts: []string{"shop.example.com", "*.apps.example.com"}, ConfigMaps: true,
		Externals:  []string{"Secret/registry-login", "PersistentVolumeClaim/shop-data"},
		Registries: []delivery.Registry{{Host: "mirror.example", MirrorOf: "r.example"}},
	}
}

// put sets what is at a path like spec.template.spec.containers.0.image; what is not there yet is made.
func put(t interface{ Fatal(...any) }, o any, path string, value any) {
	steps := strings.Split(path, ".")
	for i, step := range steps {
		last := i == len(steps)-1
		switch at := o.(type) {
		case obj:
			if last {
				at[step] = value
				return
			}
			if at[step] == nil {
				at[step] = obj{}
			}
			o = at[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(at) {
				t.Fatal("no place", path)
			}
			if last {
				at[n] = value
				return
			}
			o = at[n]
		default:
			t.Fatal("no place", path)
		}
	}
}

const (
	podAt       = "spec.template.spec"
	containerAt = podAt + ".containers.0"
)

// A sound app is accepted, as are the variations that the restricted profile and the table let pass.
func TestWhatIsDelivered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]doc){
		"as it is":  func([]doc) {},
		"namespace": func(d []doc) { put(t, d[theDeployment].Object, "metadata.namespace", "acme") },
		"nulls": func(d []doc) {
			put(t, d[theDeployment].Object, podAt+".hostNetwork", nil)
			put(t, d[theService].Object, "status", nil)
		},
		"false": func(d []doc) {
			put(t, d[theDeployment].Object, podAt+".hostPID", false)
			put(t, d[theDeployment].Object, containerAt+".securityContext.privileged", false)
		},
		"account":  func(d []doc) { put(t, d[theDeployment].Object, podAt+".serviceAccountName", "default") },
		"headless": func(d []doc) { put(t, d[theService].Object, "spec.clusterIP", "None") },
		"bind low ports": func(d []doc) {
			put(t, d[theDeployment].Object, containerAt+".securityContext.capabilities.add", []any{"NET_BIND_SERVICE"})
		},
		"wildcard that is listed": func(d []doc) { put(t, d[theIngress].Object, "spec.rules.0.host", "*.apps.example.com") },
		"numbers as quantities": func(d []doc) {
			put(t, d[theDeployment].Object, containerAt+".resources.requests.cpu", 0.5)
			put(t, d[theDeployment].Object, containerAt+".resources.limits.cpu", int64(1))
		},
		"profile on containers": func(d []doc) {
			put(t, d[theDeployment].Object, podAt+".securityContext", obj{})
			for _, at := range []string{containerAt, podAt + ".initContainers.0"} {
				put(t, d[theDeployment].Object, at+".securityContext.runAsNonRoot", true)
				put(t, d[theDeployment].Object, at+".securityContext.seccompProfile", obj{"type": "RuntimeDefault"})
			}
		},
		"sidecar": func(d []doc) { put(t, d[theDeployment].Object, podAt+".initContainers.0.restartPolicy", "Always") },
		"projected": func(d []doc) {
			put(t, d[theDeployment].Object, podAt+".volumes.0", decode(t, "", `{"name":"tmp","projected":{"sources":[{"secret":{"name":"shop"}},
				{"configMap":{"name":"shop","items":[{"key":"mode","path":"a/b"}]}},{"downwardAPI":{"items":[{"path":"n","fieldRef":{"fieldPath":"metadata.name"}}]}}]}}`).Object)
		},
		"spread": func(d []doc) {
			put(t, d[theDeployment].Object, podAt+".affinity", decode(t, "", `{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,
				"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"shop"}}}}]}}`).Object)
		},
	} {
		docs := shop(t)
		change(docs)
		if faults := delivery.Check(policy(), docs); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
		}
	}
	anywhere := delivery.Policy{AnyHost: true, AnyRegistry: true, ConfigMaps: true, Externals: policy().Externals}
	if faults := delivery.Check(anywhere, shop(t)); len(faults) > 0 {
		t.Errorf("before there is a deployment: %v", faults)
	}
}

type refusal struct {
	doc   int
	path  string
	value any
	want  string // slug and JSON pointer
}

// Each thing that is refused is refused alone, by its slug, where it stands.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for _, r := range slices.Concat(refusedPods(), refusedContainers(), refusedVolumes(), refusedOthers()) {
		docs := shop(t)
		put(t, docs[r.doc].Object, r.path, r.value)
		faults := delivery.Check(policy(), docs)
		slug, at, _ := strings.Cut(r.want, " ")
		want := strings.TrimSuffix(slug+" "+docs[r.doc].Origin+":"+at, ":")
		if got := named(faults); len(got) != 1 || got[0] != want {
			t.Errorf("%s = %v:\n got %q\nwant %q", r.path, r.value, got, want)
		}
	}
}

const (
	field     = "manifest_field_refused "
	insecure  = "manifest_insecure "
	outside   = "manifest_reference_outside "
	podJSON   = "/spec/template/spec"
	firstJSON = podJSON + "/containers/0"
)

func refusedPods() []refusal {
	var out []refusal
	for _, f := range []string{
		"hostAliases", "nodeName", "hostUsers", "shareProcessNamespace", "ephemeralContainers", "runtimeClassName", "priorityClassName", "priority",
		"schedulerName", "tolerations", "dnsConfig", "hostname", "subdomain", "setHostnameAsFQDN", "overhead", "resourceClaims", "resources",
		"readinessGates", "schedulingGates", "activeDeadlineSeconds", "preemptionPolicy", "os", "unknownField", "hostnameOverride",
	} {
		out = append(out, refusal{theDeployment, podAt + "." + f, "x", field + podJSON + "/" + f})
	}
	for _, f := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		out = append(out, refusal{theDeployment, podAt + "." + f, true, insecure + podJSON + "/" + f},
			refusal{theDeployment, podAt + "." + f, "false", insecure + podJSON + "/" + f})
	}
	for _, f := range []string{"sysctls", "seLinuxOptions", "windowsOptions", "supplementalGroupsPolicy", "seLinuxChangePolicy"} {
		out = append(out, refusal{theDeployment, podAt + ".securityContext." + f, "x", field + podJSON + "/securityContext/" + f})
	}
	return append(out, []refusal{
		{theDeployment, podAt + ".serviceAccountName", "admin", field + podJSON + "/serviceAccountName"},
		{theDeployment, podAt + ".serviceAccount", "admin", field + podJSON + "/serviceAccount"},
		{theDeployment, podAt + ".automountServiceAccountToken", nil, insecure + podJSON + "/automountServiceAccountToken"},
		{theDeployment, podAt + ".dnsPolicy", "ClusterFirstWithHostNet", field + podJSON + "/dnsPolicy"},
		{theDeployment, podAt + ".restartPolicy", "Never", field + podJSON + "/restartPolicy"},
		{theDeployment, podAt + ".nodeSelector", obj{"node-role.kubernetes.io/control-plane": ""}, field + podJSON + "/nodeSelector/node-role.kubernetes.io~1control-plane"},
		{theDeployment, podAt + ".affinity.nodeAffinity", obj{}, field + podJSON + "/affinity/nodeAffinity"},
		{theDeployment, podAt + ".affinity.podAffinity", obj{}, field + podJSON + "/affinity/podAffinity"},
		{theDeployment, podAt + ".securityContext.runAsUser", int64(0), field + podJSON + "/securityContext/runAsUser"},
		{theDeployment, podAt + ".imagePullSecrets.0.name", "other", outside + podJSON + "/imagePullSecrets/0/name"},
		{theDeployment, podAt + ".containers", []any{}, field + podJSON},
		{theDeployment, "spec.paused", true, field + "/spec/paused"},
		{theDeployment, "spec.replicas", int64(1001), field + "/spec/replicas"},
		{theDeployment, "spec.replicas", int64(-1), field + "/spec/replicas"},
		{theDeployment, "spec.replicas", "2", field + "/spec/replicas"},
		{theDeployment, "spec.replicas", 2.5, field + "/spec/replicas"},
		{theDeployment, "spec.selector.matchExpressions", []any{}, field + "/spec/selector/matchExpressions"},
		{theDeployment, "spec.selector.matchLabels", obj{"app": "other"}, field + "/spec/selector"},
		{theDeployment, "spec.strategy.type", "Fancy", field + "/spec/strategy/type"},
		{theDeployment, "spec.strategy.rollingUpdate.maxSurge", "lots", field + "/spec/strategy/rollingUpdate/maxSurge"},
		{theDeployment, "spec.template.metadata.annotations", obj{"container.apparmor.security.beta.kubernetes.io/web": "unconfined"}, field + "/spec/template/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1web"},
		{theDeployment, "spec.template.metadata.annotations", obj{"io.kubernetes.cri-o.userns-mode": "x"}, field + "/spec/template/metadata/annotations/io.kubernetes.cri-o.userns-mode"},
		{theDeployment, "spec.template.metadata.annotations", obj{"vault.hashicorp.com/agent-inject": "true"}, field + "/spec/template/metadata/annotations/vault.hashicorp.com~1agent-inject"},
		{theDeployment, "spec.template.metadata.name", "x", field + "/spec/template/metadata/name"},
		{theDeployment, "spec.template.metadata.namespace", "acme", field + "/spec/template/metadata/namespace"},
	}...)
}

func refusedContainers() []refusal {
	var out []refusal
	for _, f := range []string{"volumeDevices", "stdin", "tty", "restartPolicy", "resizePolicy", "restartPolicyRules", "unknownField"} {
		out = append(out, refusal{theDeployment, containerAt + "." + f, "x", field + firstJSON + "/" + f})
	}
	for _, f := range []string{"procMount", "seLinuxOptions", "windowsOptions", "unknownField"} {
		out = append(out, refusal{theDeployment, containerAt + ".securityContext." + f, "x", field + firstJSON + "/securityContext/" + f})
	}
	for _, f := range []string{"cpu", "memory"} {
		out = append(out, refusal{theDeployment, containerAt + ".resources.requests." + f, nil, "manifest_unbounded " + firstJSON + "/resources/requests/" + f},
			refusal{theDeployment, containerAt + ".resources.requests." + f, "0", "manifest_unbounded " + firstJSON + "/resources/requests/" + f},
			refusal{theDeployment, containerAt + ".resources.requests." + f, "1Ti", field + firstJSON + "/resources/requests/" + f},
			refusal{theDeployment, podAt + ".initContainers.0.resources.requests." + f, nil, "manifest_unbounded " + podJSON + "/initContainers/0/resources/requests/" + f})
	}
	return append(out, []refusal{
		{theDeployment, containerAt + ".securityContext.privileged", true, insecure + firstJSON + "/securityContext/privileged"},
		{theDeployment, containerAt + ".securityContext.allowPrivilegeEscalation", nil, insecure + firstJSON + "/securityContext/allowPrivilegeEscalation"},
		{theDeployment, containerAt + ".securityContext.runAsNonRoot", false, insecure + firstJSON + "/securityContext/runAsNonRoot"},
		{theDeployment, containerAt + ".securityContext.runAsUser", int64(0), field + firstJSON + "/securityContext/runAsUser"},
		{theDeployment, containerAt + ".securityContext.capabilities.add", []any{"SYS_ADMIN"}, field + firstJSON + "/securityContext/capabilities/add/0"},
		{theDeployment, containerAt + ".securityContext.capabilities.drop", []any{}, insecure + firstJSON + "/securityContext/capabilities/drop"},
		{theDeployment, podAt + ".initContainers.0.securityContext.capabilities", nil, insecure + podJSON + "/initContainers/0/securityContext/capabilities/drop"},
		{theDeployment, containerAt + ".securityContext.seccompProfile", obj{"type": "Unconfined"}, field + firstJSON + "/securityContext/seccompProfile/type"},
		{theDeployment, containerAt + ".ports.0.hostPort", int64(80), field + firstJSON + "/ports/0/hostPort"},
		{theDeployment, containerAt + ".ports.0.hostIP", "0.0.0.0", field + firstJSON + "/ports/0/hostIP"},
		{theDeployment, containerAt + ".image", "nginx", "image_reference_invalid " + firstJSON + "/image"},
		{theDeployment, containerAt + ".image", "r.example/shop", "image_reference_invalid " + firstJSON + "/image"},
		{theDeployment, containerAt + ".image", "other.example/shop:1", "registry_unknown " + firstJSON + "/image"},
		{theDeployment, containerAt + ".image", nil, field + firstJSON},
		{theDeployment, containerAt + ".name", nil, field + firstJSON},
		{theDeployment, containerAt + ".name", "Web", field + firstJSON + "/name"},
		{theDeployment, containerAt + ".env.0.value", int64(1), field + firstJSON + "/env/0/value"},
		{theDeployment, containerAt + ".env.1.valueFrom.secretKeyRef.name", "other", outside + firstJSON + "/env/1/valueFrom/secretKeyRef/name"},
		{theDeployment, containerAt + ".env.0.valueFrom", obj{"fileKeyRef": obj{}}, field + firstJSON + "/env/0/valueFrom/fileKeyRef"},
		{theDeployment, containerAt + ".envFrom.0.configMapRef.name", "other", outside + firstJSON + "/envFrom/0/configMapRef/name"},
		{theDeployment, containerAt + ".envFrom.0.secretRef", obj{"name": "other"}, outside + firstJSON + "/envFrom/0/secretRef/name"},
		{theDeployment, containerAt + ".volumeMounts.0.mountPropagation", "Bidirectional", field + firstJSON + "/volumeMounts/0/mountPropagation"},
		{theDeployment, containerAt + ".volumeMounts.0.subPathExpr", "$(X)", field + firstJSON + "/volumeMounts/0/subPathExpr"},
		{theDeployment, containerAt + ".volumeMounts.0.subPath", "../x", field + firstJSON + "/volumeMounts/0/subPath"},
		{theDeployment, containerAt + ".volumeMounts.0.mountPath", "relative", field + firstJSON + "/volumeMounts/0/mountPath"},
		{theDeployment, containerAt + ".volumeMounts.0.name", "other", outside + firstJSON + "/volumeMounts/0"},
		{theDeployment, containerAt + ".livenessProbe.httpGet.host", "169.254.169.254", field + firstJSON + "/livenessProbe/httpGet/host"},
		{theDeployment, containerAt + ".livenessProbe.tcpSocket", obj{"port": int64(1), "host": "x"}, field + firstJSON + "/livenessProbe/tcpSocket/host"},
		{theDeployment, containerAt + ".lifecycle.postStart", obj{"httpGet": obj{"host": "x"}}, field + firstJSON + "/lifecycle/postStart/httpGet/host"},
		{theDeployment, containerAt + ".lifecycle.postStart", obj{"tcpSocket": obj{}}, field + firstJSON + "/lifecycle/postStart/tcpSocket"},
		{theDeployment, containerAt + ".resources.limits", obj{"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": int64(1)}, field + firstJSON + "/resources/limits/nvidia.com~1gpu"},
		{theDeployment, containerAt + ".resources.claims", []any{}, field + firstJSON + "/resources/claims"},
		{theDeployment, containerAt + ".resources.limits.memory", "lots", "quantity_invalid " + firstJSON + "/resources/limits/memory"},
		{theDeployment, containerAt + ".resources.limits.memory", "8Ei", "quantity_too_large " + firstJSON + "/resources/limits/memory"},
		{theDeployment, containerAt + ".resources.limits.memory", true, field + firstJSON + "/resources/limits/memory"},
	}...)
}

func refusedVolumes() []refusal {
	var out []refusal
	for _, f := range []string{
		"hostPath", "nfs", "csi", "ephemeral", "iscsi", "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker",
		"gcePersistentDisk", "gitRepo", "glusterfs", "image", "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
	} {
		out = append(out, refusal{theDeployment, podAt + ".volumes.0." + f, obj{"path": "/"}, field + podJSON + "/volumes/0/" + f})
	}
	for _, f := range []string{"serviceAccountToken", "clusterTrustBundle", "podCertificate"} {
		out = append(out, refusal{theDeployment, podAt + ".volumes.0.projected", obj{"sources": []any{obj{f: obj{"path": "x"}}}}, field + podJSON + "/volumes/0/projected/sources/0/" + f})
	}
	return append(out, []refusal{
		{theDeployment, podAt + ".volumes.0.secret", obj{"secretName": "other"}, outside + podJSON + "/volumes/0/secret/secretName"},
		{theDeployment, podAt + ".volumes.0.configMap", obj{"name": "other"}, outside + podJSON + "/volumes/0/configMap/name"},
		{theDeployment, podAt + ".volumes.0.projected", obj{"sources": []any{obj{"secret": obj{"name": "other"}}}}, outside + podJSON + "/volumes/0/projected/sources/0/secret/name"},
		{theDeployment, podAt + ".volumes.1.persistentVolumeClaim.claimName", "other", outside + podJSON + "/volumes/1/persistentVolumeClaim/claimName"},
		{theDeployment, podAt + ".volumes.0.emptyDir", obj{"medium": "HugePages"}, field + podJSON + "/volumes/0/emptyDir/medium"},
		{theDeployment, podAt + ".volumes.0.secret", obj{"secretName": "shop", "items": []any{obj{"key": "a", "path": "../../x"}}}, field + podJSON + "/volumes/0/secret/items/0/path"},
	}...)
}

func refusedOthers() []refusal {
	var out []refusal
	for _, f := range []string{
		"externalName", "externalIPs", "loadBalancerIP", "loadBalancerClass", "loadBalancerSourceRanges", "externalTrafficPolicy", "healthCheckNodePort",
		"allocateLoadBalancerNodePorts", "clusterIPs", "trafficDistribution", "topologyKeys",
	} {
		out = append(out, refusal{theService, "spec." + f, "x", field + "/spec/" + f})
	}
	for _, f := range []string{"ownerReferences", "finalizers", "generateName", "managedFields", "uid", "resourceVersion", "selfLink", "deletionTimestamp", "creationTimestamp", "generation"} {
		out = append(out, refusal{theSecret, "metadata." + f, "x", field + "/metadata/" + f})
	}
	for i := range []int{theDeployment, theService, theIngress} {
		out = append(out, refusal{i, "status", obj{}, field + "/status"}, refusal{i, "metadata.namespace", "kube-system", "manifest_namespace_refused /metadata/namespace"},
			refusal{i, "metadata.namespace", int64(1), field + "/metadata/namespace"})
	}
	path := "/spec/rules/0/http/paths/0"
	return append(out, []refusal{
		{theService, "spec.type", "NodePort", field + "/spec/type"},
		{theService, "spec.type", "LoadBalancer", field + "/spec/type"},
		{theService, "spec.type", "ExternalName", field + "/spec/type"},
		{theService, "spec.clusterIP", "10.0.0.1", field + "/spec/clusterIP"},
		{theService, "spec.ports.0.nodePort", int64(30000), field + "/spec/ports/0/nodePort"},
		{theService, "spec.ports.0.protocol", "SCTP", field + "/spec/ports/0/protocol"},
		{theService, "spec.selector", nil, outside + "/spec/selector"},
		{theService, "spec.selector", obj{}, outside + "/spec/selector"},
		{theService, "spec.selector", obj{"other": nil}, outside + "/spec/selector"},
		{theService, "spec.selector", obj{"app": "other"}, outside + "/spec/selector"},
		{theService, "metadata.annotations", obj{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}, field + "/metadata/annotations/service.beta.kubernetes.io~1aws-load-balancer-type"},
		{theService, "metadata.labels", obj{"kubernetes.io/cluster-service": "true"}, field + "/metadata/labels/kubernetes.io~1cluster-service"},
		{theService, "metadata.labels", obj{"a": "not a value"}, field + "/metadata/labels/a"},
		{theService, "metadata.labels", obj{"a": int64(1)}, field + "/metadata/labels/a"},
		{theIngress, "spec.rules.0.host", "evil.example.com", "ingress_host_refused /spec/rules/0/host"},
		{theIngress, "spec.rules.0.host", "x.apps.example.com", "ingress_host_refused /spec/rules/0/host"},
		{theIngress, "spec.rules.0.host", "*.example.com", "ingress_host_refused /spec/rules/0/host"},
		{theIngress, "spec.rules.0.host", "", field + "/spec/rules/0/host"},
		{theIngress, "spec.rules.0.host", nil, "ingress_host_refused /spec/rules/0"},
		{theIngress, "spec.rules", nil, "ingress_host_refused "},
		{theIngress, "spec.defaultBackend", obj{}, field + "/spec/defaultBackend"},
		{theIngress, "spec.tls.0.hosts", []any{"evil.example.com"}, "ingress_host_refused /spec/tls/0/hosts/0"},
		{theIngress, "spec.tls.0.hosts", nil, "ingress_host_refused /spec/tls/0"},
		{theIngress, "spec.tls.0.secretName", "other", outside + "/spec/tls/0/secretName"},
		{theIngress, "spec.rules.0.http.paths.0.backend.service.name", "other", outside + path + "/backend/service/name"},
		{theIngress, "spec.rules.0.http.paths.0.backend.resource", obj{}, field + path + "/backend/resource"},
		{theIngress, "spec.rules.0.http.paths.0.path", "/ { proxy_pass http://x; }", field + path + "/path"},
		{theIngress, "spec.rules.0.http.paths.0.path", "relative", field + path + "/path"},
		{theIngress, "metadata.annotations", obj{"nginx.ingress.kubernetes.io/configuration-snippet": "x"}, field + "/metadata/annotations/nginx.ingress.kubernetes.io~1configuration-snippet"},
		{theIngress, "metadata.annotations", obj{"nginx.ingress.kubernetes.io/server-snippet": "x"}, field + "/metadata/annotations/nginx.ingress.kubernetes.io~1server-snippet"},
		{theIngress, "metadata.annotations", obj{"nginx.ingress.kubernetes.io/proxy-body-size": "8m; x"}, field + "/metadata/annotations/nginx.ingress.kubernetes.io~1proxy-body-size"},
		{theIngress, "apiVersion", "extensions/v1beta1", "manifest_kind_refused "},
		{theSecret, "type", "kubernetes.io/service-account-token", field + "/type"},
		{theSecret, "type", "bootstrap.kubernetes.io/token", field + "/type"},
		{theSecret, "data", obj{"a": "no base64"}, field + "/data/a"},
		{theSecret, "data", obj{"a/b": "YQ=="}, field + "/data/a~1b"},
		{theSecret, "data", obj{"..": "YQ=="}, field + "/data/.."},
		{theSecret, "metadata.annotations", obj{"kubernetes.io/service-account.name": "default"}, field + "/metadata/annotations/kubernetes.io~1service-account.name"},
		{theConfigMap, "data", obj{"a": int64(1)}, field + "/data/a"},
		{theConfigMap, "spec", obj{}, field + "/spec"},
		{theConfigMap, "data", obj{"a": strings.Repeat("x", 256<<10+1)}, field + "/data/a"},
		{theConfigMap, "data", many(257), field + "/data"},
		{theDeployment, containerAt + ".args", make([]any, 257), field + firstJSON + "/args"},
	}...)
}

func many(n int) obj {
	out := obj{}
	for i := range n {
		out["k"+strconv.Itoa(i)] = "v"
	}
	return out
}

// Kinds beside the five are refused, whatever they are called, and so is a ConfigMap where the deployment takes none.
func TestKindsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, k := range []string{
		"v1 Pod", "v1 Namespace", "v1 ServiceAccount", "v1 PersistentVolume", "v1 PersistentVolumeClaim", "v1 Node", "v1 List", "v1 Endpoints", "v1 Deployment",
		"apps/v1 StatefulSet", "apps/v1 DaemonSet", "apps/v1 ReplicaSet", "apps/v1beta1 Deployment", "apps/v2 Deployment", "batch/v1 Job", "batch/v1 CronJob",
		"rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 RoleBinding", "rbac.authorization.k8s.io/v1 ClusterRole",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding", "apiextensions.k8s.io/v1 CustomResourceDefinition", "networking.k8s.io/v1 NetworkPolicy",
		"networking.k8s.io/v1 IngressClass", "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration", "policy/v1 PodDisruptionBudget",
		"autoscaling/v2 HorizontalPodAutoscaler", "apps/v1 deployment", " Secret", "v1 ",
	} {
		version, name, _ := strings.Cut(k, " ")
		faults := delivery.Check(policy(), append(shop(t), decode(t, "x#1", fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"other"}}`, version, name))))
		wantNamed(t, faults, "manifest_kind_refused x#1")
	}
	for _, text := range []string{`{}`, `{"kind":1,"apiVersion":[]}`, `{"kind":"Secret"}`, `{"metadata":"x"}`} {
		wantNamed(t, delivery.Check(policy(), append(shop(t), decode(t, "x#1", text))), "manifest_kind_refused x#1")
	}
	strict := policy()
	strict.ConfigMaps = false
	strict.Externals = append(strict.Externals, "ConfigMap/shop")
	wantNamed(t, delivery.Check(strict, shop(t)), "manifest_kind_refused shop.yaml#6")
}

// What the restricted profile demands of a pod or of each of its containers is demanded of every container.
func TestProfileIsDemandedOfEveryContainer(t *testing.T) {
	t.Parallel()
	for path, at := range map[string]string{"runAsNonRoot": "runAsNonRoot", "seccompProfile": "seccompProfile"} {
		docs := shop(t)
		put(t, docs[theDeployment].Object, podAt+".securityContext."+path, nil)
		put(t, docs[theDeployment].Object, containerAt+".securityContext.runAsNonRoot", true)
		put(t, docs[theDeployment].Object, containerAt+".securityContext.seccompProfile", obj{"type": "RuntimeDefault"})
		wantNamed(t, delivery.Check(policy(), docs), "manifest_insecure shop.yaml#1:"+podJSON+"/initContainers/0/securityContext/"+at)
		put(t, docs[theDeployment].Object, containerAt+".securityContext", obj{"runAsUser": int64(7)})
		if got := named(delivery.Check(policy(), docs)); !slices.Contains(got, "manifest_insecure shop.yaml#1:"+firstJSON+"/securityContext/"+at) {
			t.Errorf("without %s: %q", path, got)
		}
	}
}

// What is wrong with an app as a whole.
func TestAppsAsAWhole(t *testing.T) {
	t.Parallel()
	wantNamed(t, delivery.Check(policy(), nil), "manifest_empty ")
	many := shop(t)
	for i := range delivery.MaxObjects {
		many = append(many, decode(t, "x#"+strconv.Itoa(i), `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s`+strconv.Itoa(i)+`"}}`))
	}
	wantNamed(t, delivery.Check(policy(), many), "manifest_too_large ")
	wantNamed(t, delivery.Check(policy(), append(shop(t), decode(t, "x#1", secretText))), "manifest_repeated x#1")
	wantNamed(t, delivery.Check(policy(), append(shop(t), decode(t, "x#1", `{"apiVersion":"v1","kind":"Secret"}`))), "manifest_field_refused x#1")
	wantNamed(t, delivery.Check(policy(), append(shop(t), decode(t, "x#1", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}`))),
		"manifest_field_refused x#1:/spec/selector", "manifest_insecure x#1:/spec/template/spec/automountServiceAccountToken", "manifest_field_refused x#1:/spec/template/spec")

	wantNamed(t, delivery.Check(policy(), withImages(t, delivery.MaxAppImages)))
	wantNamed(t, delivery.Check(policy(), withImages(t, delivery.MaxAppImages+1)), "manifest_too_large ")
}

// withImages is the shop with that many images, in several Deployments.
func withImages(t *testing.T, n int) []doc {
	docs := shop(t)
	n -= len(delivery.Images(docs))
	for d := 0; n > 0; d++ {
		boxes := []any{}
		for ; n > 0 && len(boxes) < 32; n-- {
			box := decode(t, "", containerText).Object
			box["name"], box["image"] = "c"+strconv.Itoa(len(boxes)), "r.example/a:"+strconv.Itoa(n)
			boxes = append(boxes, box)
		}
		next := decode(t, "x#"+strconv.Itoa(d), deploymentText)
		put(t, next.Object, "metadata.name", "shop-"+strconv.Itoa(d))
		put(t, next.Object, podAt+".containers", boxes)
		docs = append(docs, next)
	}
	return docs
}

// A secret parameter stands among the values of a Secret and nowhere else.
func TestPlacesOfSecrets(t *testing.T) {
	t.Parallel()
	for place, ok := range map[string]bool{
		"/stringData/password": true, "/data/password": true, "/metadata/name": false, "/type": false, "/metadata/annotations/x": false, "/stringData": false,
		"/stringData/a/b": false, "": false,
	} {
		docs := shop(t)
		docs[theSecret].Secrets = map[string]string{place: "password"}
		if got := named(delivery.Check(policy(), docs)); ok != (len(got) == 0) || !ok && !slices.Equal(got, []string{"secret_place_refused shop.yaml#4"}) {
			t.Errorf("%q: %q", place, got)
		}
	}
	docs := shop(t)
	docs[theDeployment].Secrets = map[string]string{"/stringData/password": "password"}
	wantNamed(t, delivery.Check(policy(), docs), "secret_place_refused shop.yaml#1")
}

// Everything that is wrong is told at once, each object by its name, up to a bound.
func TestAllThatIsRefusedIsTold(t *testing.T) {
	t.Parallel()
	docs := shop(t)
	put(t, docs[theDeployment].Object, podAt+".hostNetwork", true)
	put(t, docs[theService].Object, "spec.type", "NodePort")
	put(t, docs[theIngress].Object, "spec.rules.0.host", "evil.example.com")
	wantNamed(t, delivery.Check(policy(), docs), "manifest_insecure shop.yaml#1:"+podJSON+"/hostNetwork", "manifest_field_refused shop.yaml#2:/spec/type",
		"ingress_host_refused shop.yaml#3:/spec/rules/0/host")
	wild := shop(t)
	for i := range 300 {
		put(t, wild[theDeployment].Object, podAt+".x"+strconv.Itoa(i), strings.Repeat("x", 1000))
	}
	put(t, wild[theDeployment].Object, podAt+"."+strings.Repeat("k", 100_000), 1)
	size := 0
	faults := delivery.Check(policy(), wild)
	for _, f := range faults {
		size += len(f.Error()) + len(f.Field)
	}
	if len(faults) != 100 || size > 64<<10 {
		t.Errorf("%d faults of %d bytes", len(faults), size)
	}
}
