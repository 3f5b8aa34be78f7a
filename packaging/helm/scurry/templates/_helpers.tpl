{{- define "scurry.name" -}}
{{- /* Room for the longest ending, -headless: 63 characters at most. */ -}}
{{- if contains "scurry" .Release.Name }}{{ regexReplaceAll "-+$" (.Release.Name | trunc 53) "" }}
{{- else }}{{ printf "%s-scurry" (regexReplaceAll "-+$" (.Release.Name | trunc 46) "") }}
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
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" .Release.Name) }}
{{- fail (printf "no Service can be named after the release %s: give a name that begins with a letter, of lower-case letters, digits and -" .Release.Name) }}
{{- end }}
{{- if not (or $values.auth.existingSecret $values.auth.none) }}
{{- fail "who may come in? Name a Secret with a password (auth.existingSecret), or set auth.none=true: settings name users, or everybody may" }}
{{- end }}
{{- if and $values.settings $values.existingSettingsSecret }}
{{- fail "settings and existingSettingsSecret are two sources of one file: give one of them" }}
{{- end }}
{{- if regexMatch "(?m)^[ \t]*['\"]?tls_client_ca['\"]?[ \t]*=" $values.settings }}
{{- fail "tls_client_ca in settings: Kubernetes asks the HTTP door whether a pod is well and shows no certificate, so none would be ready. Name users in settings instead" }}
{{- end }}
{{- if regexMatch "(?m)^[ \t]*['\"]?tls_(cert|key|listen)['\"]?[ \t]*=" $values.settings }}
{{- fail "TLS in settings is not known to the probes: name a Secret with the certificate instead (tls.existingSecret)" }}
{{- end }}
{{- if ge (int $values.preStopSeconds) (int $values.terminationGracePeriodSeconds) }}
{{- fail "preStopSeconds is part of terminationGracePeriodSeconds: a pod would be killed before it is told to end" }}
{{- end }}
{{- range $key := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "statefulset.kubernetes.io/pod-name" }}
{{- if hasKey $values.podLabels $key }}
{{- fail (printf "podLabels: Services find the pods by %s, which is the chart's to give" $key) }}
{{- end }}
{{- end }}
{{- if hasKey $values.podAnnotations "checksum/settings" }}
{{- fail "podAnnotations: checksum/settings is the chart's to give" }}
{{- end }}
{{- if eq $values.mode "group" }}
{{- if not (or $values.group.tls.existingSecret $values.group.plain) }}
{{- fail "nodes without certificates let everybody join: name a Secret (group.tls.existingSecret), or set group.plain=true for a network of trusted pods" }}
{{- end }}
{{- if ne (ge (int $values.group.replace.node) 0) (ne $values.group.replace.id "") }}
{{- fail "group.replace takes both: the node, and the id that it is known by" }}
{{- end }}
{{- else if or (ge (int $values.group.replace.node) 0) $values.group.replace.id }}
{{- fail "group.replace is for mode=group: one machine alone has nobody to take its place from" }}
{{- end }}
{{- end }}
