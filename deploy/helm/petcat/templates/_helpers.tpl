{{- /* The value of the label app.kubernetes.io/name. */}}
{{- define "petcat.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 55 | trimSuffix "-" }}
{{- end }}

{{- /*
The name of all objects, some of which have a suffix. It has at most 45 characters, because a
CronJob's name may have 52, with its suffix, and a StatefulSet's as well. A hash keeps long names
different.
*/}}
{{- define "petcat.fullname" -}}
{{- $name := .Values.fullnameOverride }}
{{- if not $name }}
{{- $name = .Release.Name }}
{{- if not (contains .Chart.Name .Release.Name) }}
{{- $name = printf "%s-%s" .Release.Name .Chart.Name }}
{{- end }}
{{- end }}
{{- if gt (len $name) 45 }}
{{- printf "%s-%s" ($name | trunc 36 | trimSuffix "-") ($name | sha256sum | trunc 8) }}
{{- else }}
{{- $name }}
{{- end }}
{{- end }}

{{- define "petcat.selector" -}}
app.kubernetes.io/name: {{ include "petcat.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "petcat.labels" -}}
{{ include "petcat.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- /* The names of the claims for the data of a single node, and for the backups of several. */}}
{{- define "petcat.dataClaim" -}}
{{- .Values.persistence.existingClaim | default (printf "data-%s-0" (include "petcat.fullname" .)) }}
{{- end }}

{{- define "petcat.backupClaim" -}}
{{- .Values.backup.persistence.existingClaim | default (printf "%s-backup" (include "petcat.fullname" .)) }}
{{- end }}

{{- define "petcat.scheme" -}}
{{- ternary "HTTPS" "HTTP" (not (empty .Values.tls.existingSecret)) }}
{{- end }}

{{- define "petcat.dataDirectory" -}}
{{- list "/data" .Values.persistence.directory | compact | join "/" }}
{{- end }}

{{- /*
The specification of every pod. The argument is a dict: root, the context; container, its name, args
and other fields as YAML; mounts and volumes, YAML lists; pod, other fields as YAML.
*/}}
{{- define "petcat.podSpec" -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ include "petcat.fullname" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext: {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod }}
{{ trim . }}
{{- end }}
containers:
  - image: "{{ $values.image.repository }}:{{ $values.image.tag | default .root.Chart.AppVersion }}"
    imagePullPolicy: {{ $values.image.pullPolicy }}
    {{- .container | trim | nindent 4 }}
    envFrom:
      - configMapRef: {name: {{ include "petcat.fullname" .root }}}
      {{- with $values.envFrom }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    env:
      - {name: GOMEMLIMIT, value: {{ $values.goMemoryLimit | quote }}}
      {{- if $values.database.existingSecret }}
      - {name: PETCAT_DATABASE_FILE, value: /etc/petcat/url}
      {{- end }}
      {{- if $values.database.caSecret }}
      - {name: PGSSLROOTCERT, value: /etc/petcat-ca/ca.crt}
      {{- end }}
      {{- with $values.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    volumeMounts:
      {{- .mounts | nindent 6 }}
      {{- if $values.database.existingSecret }}
      - {name: database, mountPath: /etc/petcat, readOnly: true}
      {{- end }}
      {{- if $values.database.caSecret }}
      - {name: database-ca, mountPath: /etc/petcat-ca, readOnly: true}
      {{- end }}
      {{- if $values.tls.existingSecret }}
      - {name: tls, mountPath: /etc/petcat-tls, readOnly: true}
      {{- end }}
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
{{- with include "petcat.volumes" . | trim }}
volumes: {{- nindent 2 . }}
{{- end }}
{{- end }}

{{- define "petcat.volumes" -}}
{{- $values := .root.Values -}}
{{ .volumes }}
{{- if $values.database.existingSecret }}
- name: database
  secret:
    secretName: {{ $values.database.existingSecret }}
    defaultMode: 0440
    items: [{key: url, path: url}]
{{- end }}
{{- if $values.database.caSecret }}
- name: database-ca
  secret:
    secretName: {{ $values.database.caSecret }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- if $values.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ $values.tls.existingSecret }}
    defaultMode: 0440
    items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]
{{- end }}
{{- with $values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{- /* The labels of the pods of jobs. The Services must not select them. */}}
{{- define "petcat.jobLabels" -}}
{{- with .root.Values.podLabels }}
{{- toYaml . }}
{{ end -}}
app.kubernetes.io/name: {{ include "petcat.name" .root }}-{{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* Why each setting that the chart sets itself cannot be in config or extraEnv. */}}
{{- define "petcat.owned" -}}
PETCAT_DATABASE: the URL is secret; create a Secret whose key url is the URL, and set database.existingSecret to its name
PETCAT_DATABASE_FILE: set database.existingSecret
PETCAT_DATA: the volume is at /data; set persistence.directory for another directory in it
PETCAT_LISTEN: the Service and the container have fixed ports; set service.port
PETCAT_ADMIN_LISTEN: the probes and the scrapes need port 8081
PETCAT_ADMIN_ALLOW_PLAINTEXT: set tls.existingSecret to serve the admin listener over TLS
PETCAT_TLS_CERT: set tls.existingSecret
PETCAT_TLS_KEY: set tls.existingSecret
PETCAT_CONSOLE_URL: set adminIngress.host
PETCAT_BACKUP_EVERY: set backup.every
PETCAT_BACKUP_KEEP: set backup.keep
{{- end }}

{{- /* Values that the schema cannot check. */}}
{{- define "petcat.check" -}}
{{- $owned := include "petcat.owned" . | fromYaml }}
{{- range $name, $value := .Values.config }}
{{- with index $owned $name }}
{{- fail (printf "config.%s: %s" $name .) }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- $name := .name }}
{{- with index $owned $name }}
{{- fail (printf "%s in extraEnv: %s" $name .) }}
{{- end }}
{{- end }}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.database.existingSecret) }}
{{- fail "replicaCount above 1 needs PostgreSQL: create a Secret whose key url is its URL, and set database.existingSecret to the name of the Secret" }}
{{- end }}
{{- if and .Values.database.caSecret (not .Values.database.existingSecret) }}
{{- fail "database.caSecret needs database.existingSecret" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}
{{- fail "ingress.hosts must name the hosts of the API, such as [{host: api.example.com}]" }}
{{- end }}
{{- if and .Values.adminIngress.enabled (not .Values.adminIngress.host) }}
{{- fail "adminIngress.host must be the host of the console, such as console.example.com" }}
{{- end }}
{{- if and .Values.adminIngress.enabled (not .Values.tls.existingSecret) }}
{{- fail "adminIngress needs tls.existingSecret: petcat serves the console and the management API to other machines only over TLS. The ingress must connect with HTTPS" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.metricsFrom) }}
{{- fail "networkPolicy.metricsFrom must select the pods that may reach the admin listener, such as [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]" }}
{{- end }}
{{- if and .Values.restore.file (not .Values.database.existingSecret) (not .Values.persistence.directory) }}
{{- fail "restore.file needs persistence.directory, a new directory for the restored data, such as restored-1: the old data stays" }}
{{- end }}
{{- if and .Values.restore.file (not .Values.database.existingSecret) (not .Values.persistence.enabled) }}
{{- fail "restore.file needs persistence.enabled" }}
{{- end }}
{{- end }}
