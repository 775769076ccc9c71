{{- define "petcat.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "petcat.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 57 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}
{{- .Release.Name | trunc 57 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 57 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "petcat.selector" -}}
app.kubernetes.io/name: {{ include "petcat.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "petcat.labels" -}}
{{ include "petcat.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* Several nodes need PostgreSQL; a single node may use a volume instead. */}}
{{- define "petcat.check" -}}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.database.existingSecret) }}
{{- fail "replicaCount above 1 needs PostgreSQL: create a Secret whose key url is its URL, and set database.existingSecret to the name of the Secret" }}
{{- end }}
{{- end }}
