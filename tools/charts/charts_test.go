// Package charts checks the Helm chart and the Kubernetes manifests without a cluster. It is a
// separate module, because it contains Helm.
package charts

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	folder    = "../../deploy/helm/petcat"
	manifests = "../../deploy/kubernetes"
)

// object is a Kubernetes object of any kind.
type object interface {
	runtime.Object
	metav1.Object
}

// release is a rendered chart.
type release struct {
	objects []object
	custom  map[string]string // kinds of the Prometheus operator
}

// get returns the object of a type with a name.
func get[T object](t *testing.T, r release, name string) T {
	t.Helper()
	for _, o := range r.objects {
		if found, ok := o.(T); ok && o.GetName() == name {
			return found
		}
	}
	var none T
	t.Fatalf("there is no %T %s", none, name)
	return none
}

// pods returns the templates of all pods, by the kind of their owner.
func (r release) pods() map[string]corev1.PodTemplateSpec {
	pods := map[string]corev1.PodTemplateSpec{}
	for _, o := range r.objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			pods["Deployment"] = o.Spec.Template
		case *appsv1.StatefulSet:
			pods["StatefulSet"] = o.Spec.Template
		case *batchv1.CronJob:
			pods["CronJob"] = o.Spec.JobTemplate.Spec.Template
		case *batchv1.Job:
			pods["Job"] = o.Spec.Template
		}
	}
	return pods
}

// render renders the chart as helm template does.
func render(name string, values map[string]any) (map[string]string, error) {
	c, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	return renderChart(c, name, values)
}

func renderChart(c *chart.Chart, name string, values map[string]any) (map[string]string, error) {
	options := chartutil.ReleaseOptions{Name: name, Namespace: "pets", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// install renders the chart and decodes all objects. Unknown and duplicate fields are errors.
func install(t *testing.T, name string, values map[string]any) release {
	t.Helper()
	files, err := render(name, values)
	if err != nil {
		t.Fatal(err)
	}
	r := release{custom: map[string]string{}}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(file, ".txt") {
			continue
		}
		for _, text := range releaseutil.SplitManifests(files[file]) {
			r.decode(t, file, text)
		}
	}
	return r
}

func (r *release) decode(t *testing.T, file, text string) {
	t.Helper()
	var head metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, text)
	}
	if head.Kind == "" {
		return
	}
	if strings.HasPrefix(head.APIVersion, "monitoring.coreos.com/") {
		var any map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &any); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r.custom[head.Kind] = text
		return
	}
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	decoded, _, err := codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v\n%s", file, err, text)
	}
	r.objects = append(r.objects, decoded.(object))
}

func valuesOf(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// example returns the values in a file of the chart's folder ci.
func example(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "ci", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return valuesOf(t, string(text))
}

// TestExamples: with the values of each file in ci, helm lint succeeds, Kubernetes knows all
// fields, names and labels have a legal length, and each volume that is mounted exists.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(folder + "/ci/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("got the examples %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			values := example(t, name)
			lint := action.NewLint()
			lint.Strict = true
			lint.Namespace = "pets"
			if found := lint.Run([]string{folder}, values); len(found.Errors) > 0 {
				t.Errorf("helm lint found %v", found.Errors)
			}
			for _, length := range []int{1, 38, 39, 45, 46, 50, 53} { // at most 53 characters
				r := install(t, strings.Repeat("r", length), values)
				for _, o := range r.objects {
					checkNames(t, o)
				}
				for kind, pod := range r.pods() {
					checkVolumes(t, kind, pod.Spec, r)
				}
			}
		})
	}
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// checkNames checks the length of a name. Kubernetes appends 11 characters to the names of a
// CronJob and a StatefulSet.
func checkNames(t *testing.T, o object) {
	t.Helper()
	longest := 63
	switch o.(type) {
	case *batchv1.CronJob, *appsv1.StatefulSet:
		longest = 52
	}
	if name := o.GetName(); len(name) > longest || !dnsLabel.MatchString(name) {
		t.Errorf("%T %s has an illegal name of %d characters, at most %d", o, name, len(name), longest)
	}
	labels := maps.Clone(o.GetLabels())
	for _, pod := range (release{objects: []object{o}}).pods() {
		maps.Copy(labels, pod.Labels)
	}
	for key, value := range labels {
		if len(value) > 63 {
			t.Errorf("%T: the label %s has %d characters", o, key, len(value))
		}
	}
}

// checkVolumes checks that the volumes and claims of a pod exist, apart from those that the values name.
func checkVolumes(t *testing.T, kind string, pod corev1.PodSpec, r release) {
	t.Helper()
	var volumes []string
	for _, v := range pod.Volumes {
		if slices.Contains(volumes, v.Name) {
			t.Errorf("%s has the volume %s twice", kind, v.Name)
		}
		volumes = append(volumes, v.Name)
	}
	for _, o := range r.objects {
		if set, ok := o.(*appsv1.StatefulSet); ok && kind == "StatefulSet" {
			for _, claim := range set.Spec.VolumeClaimTemplates {
				volumes = append(volumes, claim.Name)
			}
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("%s mounts %s, but has the volumes %v", kind, m.Name, volumes)
		}
	}
}

// TestPods: what applies to pods applies to each of them.
func TestPods(t *testing.T) {
	pods := install(t, "petcat", example(t, "pods")).pods()
	want := pods["Deployment"]
	if len(pods) != 3 {
		t.Fatalf("got %d kinds of pods, want a Deployment, a CronJob and a Job", len(pods))
	}
	for kind, pod := range pods {
		s, c := pod.Spec, pod.Spec.Containers[0]
		sameYAML(t, kind+": pull secrets", s.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "registry"}})
		sameYAML(t, kind+": image", c.Image, "registry.example.com/petcat:1.2.3")
		sameYAML(t, kind+": pull policy", c.ImagePullPolicy, corev1.PullAlways)
		sameYAML(t, kind+": node selector", s.NodeSelector, map[string]string{"disk": "ssd"})
		sameYAML(t, kind+": priority", s.PriorityClassName, "high")
		sameYAML(t, kind+": annotation", pod.Annotations["sidecar.istio.io/inject"], "false")
		sameYAML(t, kind+": label", pod.Labels["team"], "pets")
		sameYAML(t, kind+": user", s.SecurityContext.RunAsUser, nil)
		sameYAML(t, kind+": tolerations", s.Tolerations, want.Spec.Tolerations)
		sameYAML(t, kind+": affinity", s.Affinity, want.Spec.Affinity)
		sameYAML(t, kind+": security", s.SecurityContext, want.Spec.SecurityContext)
		sameYAML(t, kind+": container security", c.SecurityContext, want.Spec.Containers[0].SecurityContext)
		sameYAML(t, kind+": env", c.Env, want.Spec.Containers[0].Env)
		sameYAML(t, kind+": envFrom", c.EnvFrom, want.Spec.Containers[0].EnvFrom)
		for _, name := range []string{"database", "authorities"} {
			mounted := func(m corev1.VolumeMount) bool { return m.Name == name }
			if !slices.ContainsFunc(c.VolumeMounts, mounted) {
				t.Errorf("%s does not mount %s", kind, name)
			}
		}
	}
	if want.Spec.Tolerations == nil || want.Spec.Affinity == nil || len(want.Spec.Containers[0].Env) != 4 ||
		len(want.Spec.Containers[0].EnvFrom) != 2 {
		t.Errorf("the Deployment's pods are incomplete: %+v", want.Spec)
	}
}

func sameYAML(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := yaml.Marshal(got)
	w, _ := yaml.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// TestServicesSelectOnlyNodes: no Service selects a pod of a job.
func TestServicesSelectOnlyNodes(t *testing.T) {
	for _, name := range []string{"pods", "tls", "long-names"} {
		r := install(t, "petcat", example(t, name))
		for _, o := range r.objects {
			service, ok := o.(*corev1.Service)
			if !ok {
				continue
			}
			for kind, pod := range r.pods() {
				selected := true
				for key, value := range service.Spec.Selector {
					selected = selected && pod.Labels[key] == value
				}
				if want := kind == "Deployment"; selected != want {
					t.Errorf("%s: the Service %s selects the pods of the %s: %v", name, service.Name, kind, selected)
				}
			}
		}
	}
}

// TestLongNamesDiffer: two releases whose long names begin alike have different objects.
func TestLongNamesDiffer(t *testing.T) {
	alike := strings.Repeat("r", 52)
	names := map[string]bool{}
	for _, o := range slices.Concat(install(t, alike+"a", nil).objects, install(t, alike+"b", nil).objects) {
		names[o.GetObjectKind().GroupVersionKind().Kind+o.GetName()] = true
	}
	if want := 2 * len(install(t, "petcat", nil).objects); len(names) != want {
		t.Errorf("two releases have %d names, want %d", len(names), want)
	}
}

// TestBackups: backups outlive the release, several are kept, and a hung job is stopped.
func TestBackups(t *testing.T) {
	r := install(t, "petcat", example(t, "postgres"))
	claim := get[*corev1.PersistentVolumeClaim](t, r, "petcat-backup")
	sameYAML(t, "policy", claim.Annotations["helm.sh/resource-policy"], "keep")
	job := get[*batchv1.CronJob](t, r, "petcat-backup").Spec.JobTemplate.Spec
	sameYAML(t, "arguments", job.Template.Spec.Containers[0].Args, []string{"backup", "/backups", "--keep", "7"})
	if job.ActiveDeadlineSeconds == nil {
		t.Error("a job has no deadline")
	}
	if !strings.Contains(r.custom["PrometheusRule"], "PetcatBackupJobOld") {
		t.Error("there is no alert for old backups")
	}
	own := install(t, "petcat", example(t, "backups"))
	sameYAML(t, "claim", own.pods()["CronJob"].Spec.Volumes[0].PersistentVolumeClaim.ClaimName, "backups")
	none := install(t, "petcat", example(t, "no-backups"))
	if _, ok := none.pods()["CronJob"]; ok || strings.Contains(none.custom["PrometheusRule"], "PetcatBackupJobOld") {
		t.Error("there is a job or an alert without a schedule")
	}
}

// TestRestore: during a restore, no node runs.
func TestRestore(t *testing.T) {
	shared := install(t, "petcat", example(t, "restore-postgres"))
	sameYAML(t, "nodes", get[*appsv1.Deployment](t, shared, "petcat").Spec.Replicas, 0)
	sameYAML(t, "arguments", shared.pods()["Job"].Spec.Containers[0].Args, []string{"restore", "/restore/final.backup"})
	sameYAML(t, "claim", shared.pods()["Job"].Spec.Volumes[0].PersistentVolumeClaim.ClaimName, "data-petcat-0")
	single := install(t, "petcat", example(t, "restore-sqlite"))
	sameYAML(t, "nodes", get[*appsv1.StatefulSet](t, single, "petcat").Spec.Replicas, 0)
	sameYAML(t, "claim", single.pods()["Job"].Spec.Volumes[0].PersistentVolumeClaim.ClaimName, "data-petcat-0")
	sameYAML(t, "data", get[*corev1.ConfigMap](t, single, "petcat").Data["PETCAT_DATA"], "/data/restored-1")
}

// TestTLS: with a certificate, the probes, the scrapes and the console use https.
func TestTLS(t *testing.T) {
	r := install(t, "petcat", example(t, "tls"))
	c := r.pods()["Deployment"].Spec.Containers[0]
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		sameYAML(t, "scheme", probe.HTTPGet.Scheme, corev1.URISchemeHTTPS)
	}
	config := get[*corev1.ConfigMap](t, r, "petcat").Data
	sameYAML(t, "console", config["PETCAT_CONSOLE_URL"], "https://console.example.com")
	sameYAML(t, "plain text", config["PETCAT_ADMIN_ALLOW_PLAINTEXT"], "")
	for _, name := range []string{"tls.crt", "tls.key"} {
		if !slices.Contains(slices.Collect(maps.Values(config)), "/etc/petcat-tls/"+name) {
			t.Errorf("the settings do not name %s: %v", name, config)
		}
	}
	if !strings.Contains(r.custom["ServiceMonitor"], "scheme: https") {
		t.Error("Prometheus does not scrape with https")
	}
	rule := get[*networkingv1.Ingress](t, r, "petcat-console").Spec.Rules[0]
	for _, path := range rule.HTTP.Paths {
		if !slices.Contains([]string{"/", "/console", "/admin/v1"}, path.Path) {
			t.Errorf("the ingress of the console passes %s on", path.Path)
		}
	}
	plain := install(t, "petcat", example(t, "sqlite"))
	sameYAML(t, "scheme", plain.pods()["StatefulSet"].Spec.Containers[0].ReadinessProbe.HTTPGet.Scheme, corev1.URISchemeHTTP)
}

// TestPrivateCA: the authority of PostgreSQL's certificate is where libpq's variable says.
func TestPrivateCA(t *testing.T) {
	for kind, pod := range install(t, "petcat", example(t, "private-ca")).pods() {
		c := pod.Spec.Containers[0]
		want := corev1.EnvVar{Name: "PGSSLROOTCERT", Value: "/etc/petcat-ca/ca.crt"}
		mounted := func(m corev1.VolumeMount) bool {
			return m.Name == "database-ca" && m.MountPath == "/etc/petcat-ca"
		}
		if !slices.Contains(c.Env, want) || !slices.ContainsFunc(c.VolumeMounts, mounted) {
			t.Errorf("%s has no certificate: %v, %v", kind, c.Env, c.VolumeMounts)
		}
	}
}

// TestOperatorLabels: the Prometheus operator selects by labels.
func TestOperatorLabels(t *testing.T) {
	r := install(t, "petcat", example(t, "postgres"))
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		if !strings.Contains(r.custom[kind], "\n    release: kube-prometheus-stack\n") {
			t.Errorf("%s has no label: %.500s", kind, r.custom[kind])
		}
	}
	if strings.Contains(r.custom["PrometheusRule"], "petcat.example.com") {
		t.Error("an alert links to the example of a runbook")
	}
	get[*corev1.ConfigMap](t, r, "petcat-dashboard")
}

// TestNotes: the notes after an installation show commands for this release.
func TestNotes(t *testing.T) {
	for name, want := range map[string]string{
		"sqlite":           "kubectl -n pets exec statefulset/petcat -- /petcat account create acme --plan pro\n",
		"postgres":         "kubectl -n pets port-forward deploy/petcat 8081\n",
		"tls":              "kubectl -n pets exec deploy/petcat -- /petcat operator create ada --role admin\n",
		"restore-postgres": "No node runs, because restore.file is set.",
	} {
		files, err := render("petcat", example(t, name))
		if notes := files["petcat/templates/NOTES.txt"]; err != nil || !strings.Contains(notes, want) {
			t.Errorf("%s: the notes do not contain %q: %v\n%s", name, want, err, notes)
		}
	}
}

// TestRejectedValues: a value that would be ignored, or break the release, is rejected with a sentence.
func TestRejectedValues(t *testing.T) {
	for values, want := range map[string]string{
		"{replicas: 3}":                                             "replicas",
		"{databse: {existingSecret: x}}":                            "databse",
		"{database: {secret: x}}":                                   "secret",
		"{image: {name: x}}":                                        "name",
		"{backup: {every: 24h, keeep: 3}}":                          "keeep",
		"{ingress: {host: x}}":                                      "host",
		"{serviceMonitor: {label: {a: b}}}":                         "label",
		"{config: {petcat_bans: off}}":                              "petcat_bans",
		"{config: {PETCAT_MAX_STALENESS: 30}}":                      "PETCAT_MAX_STALENESS",
		"{podLabels: {app.kubernetes.io/name: x}}":                  "invalid propertyName",
		"{persistence: {directory: ../x}}":                          "directory",
		"{fullnameOverride: Petcat}":                                "fullnameOverride",
		"{config: {PETCAT_DATABASE: 'postgres://x'}}":               "config.PETCAT_DATABASE: the URL is secret",
		"{config: {PETCAT_DATA: /x}}":                               "config.PETCAT_DATA: the volume is at /data",
		"{config: {PETCAT_LISTEN: ':9090'}}":                        "config.PETCAT_LISTEN: ",
		"{config: {PETCAT_ADMIN_LISTEN: ':9090'}}":                  "config.PETCAT_ADMIN_LISTEN: ",
		"{config: {PETCAT_ADMIN_ALLOW_PLAINTEXT: 'true'}}":          "config.PETCAT_ADMIN_ALLOW_PLAINTEXT: ",
		"{config: {PETCAT_TLS_CERT: /x}}":                           "set tls.existingSecret",
		"{config: {PETCAT_BACKUP_EVERY: 1h}}":                       "set backup.every",
		"{config: {PETCAT_CONSOLE_URL: 'https://x'}}":               "set adminIngress.host",
		"{extraEnv: [{name: PETCAT_DATABASE, value: x}]}":           "PETCAT_DATABASE in extraEnv: the URL is secret",
		"{replicaCount: 2}":                                         "needs PostgreSQL",
		"{database: {caSecret: x}}":                                 "needs database.existingSecret",
		"{ingress: {enabled: true}}":                                "ingress.hosts must name",
		"{adminIngress: {enabled: true, host: x}}":                  "adminIngress needs tls.existingSecret",
		"{adminIngress: {enabled: true}, tls: {existingSecret: x}}": "adminIngress.host must be",
		"{networkPolicy: {enabled: true}}":                          "networkPolicy.metricsFrom must select",
		"{restore: {file: x}}":                                      "needs persistence.directory",
		"{restore: {file: /x}}":                                     "restore.file",
	} {
		switch _, err := render("petcat", valuesOf(t, values)); {
		case err == nil:
			t.Errorf("%s is accepted", values)
		case !strings.Contains(strings.ReplaceAll(err.Error(), "/", "."), strings.ReplaceAll(want, "/", ".")):
			t.Errorf("%s: got the error %v, want %q", values, err, want)
		}
	}
}

// TestOwnedSettings: each variable that the chart sets is rejected in config, and no other.
func TestOwnedSettings(t *testing.T) {
	set := map[string]bool{}
	for _, name := range []string{"tls", "sqlite", "postgres"} {
		r := install(t, "petcat", example(t, name))
		for key := range get[*corev1.ConfigMap](t, r, "petcat").Data {
			set[key] = true
		}
		for _, pod := range r.pods() {
			for _, e := range pod.Spec.Containers[0].Env {
				set[e.Name] = true
			}
		}
	}
	chosen := map[string]any{}
	for _, name := range []string{"tls", "sqlite"} {
		maps.Copy(chosen, example(t, name)["config"].(map[string]any))
	}
	for key := range set {
		if !strings.HasPrefix(key, "PETCAT_") || chosen[key] != nil || key == "PETCAT_LOG_FORMAT" {
			continue
		}
		values := map[string]any{"config": map[string]any{key: "x"}}
		if _, err := render("petcat", values); err == nil || !strings.Contains(err.Error(), "config."+key+": ") {
			t.Errorf("config.%s, which the chart sets itself, is accepted: %v", key, err)
		}
	}
}

// TestManifests: Kubernetes knows all fields of the manifests.
func TestManifests(t *testing.T) {
	files, err := filepath.Glob(manifests + "/*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("got the manifests %v, %v", files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := release{custom: map[string]string{}}
		for _, one := range strings.Split("\n"+string(text), "\n---\n") {
			r.decode(t, file, one)
		}
		if len(r.objects)+len(r.custom) == 0 {
			t.Errorf("%s has no object", file)
		}
	}
}
