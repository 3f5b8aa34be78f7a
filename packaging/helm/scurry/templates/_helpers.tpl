{{- define "scurry.name" -}}
{{- /* Room for the longest ending, -headless: 63 characters at most. */ -}}
{{- if contains "scurry" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}
{{- else }}{{ printf "%s-scurry" (.Release.Name | trunc 46 | trimSuffix "-") }}
{{- end }}
{{- end }}

{{- define "scurry.selector" -}}
app.kubernetes.io/name: scurry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "scurry.labels" -}}
{{ include "scurry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "scurry.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "scurry.scheme" -}}
{{ if .Values.tls.existingSecret }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- /* What does not fit together, in words. */ -}}
{{- define "scurry.check" -}}
{{- $values := .Values }}
{{- if not (or $values.auth.existingSecret $values.auth.none) }}
{{- fail "who may come in? Name a Secret with a password (auth.existingSecret), or set auth.none=true: settings name users, or everybody may" }}
{{- end }}
{{- if and $values.settings $values.existingSettingsSecret }}
{{- fail "settings and existingSettingsSecret are two sources of one file: give one of them" }}
{{- end }}
{{- if eq $values.mode "group" }}
{{- if not (or $values.group.tls.existingSecret $values.group.plain) }}
{{- fail "nodes without certificates let everybody join: name a Secret (group.tls.existingSecret), or set group.plain=true for a network of trusted pods" }}
{{- end }}
{{- if ne (ge (int $values.group.replace.node) 0) (ne $values.group.replace.id "") }}
{{- fail "group.replace takes both: the node, and the id that it is known by" }}
{{- end }}
{{- end }}
{{- end }}
