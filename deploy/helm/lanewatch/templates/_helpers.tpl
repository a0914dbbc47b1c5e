{{/* Names, as Helm's own charts make them: at most 63 characters. */}}
{{- define "lanewatch.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "lanewatch.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "lanewatch.selectorLabels" -}}
app.kubernetes.io/name: {{ include "lanewatch.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lanewatch.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "lanewatch.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .Values.mode }}
app.kubernetes.io/part-of: lanewatch
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "lanewatch.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "lanewatch.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "lanewatch.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The settings that a pod decides, under those of the user. A sidecar takes OTLP from its own pod alone. */}}
{{- define "lanewatch.settings" -}}
{{- $host := ternary "0.0.0.0" "127.0.0.1" (eq .Values.mode "gateway") -}}
{{- $own := dict
      "receivers" (dict "grpc_host" $host "http_host" $host)
      "metrics" (dict "host" "0.0.0.0")
      "limits" (dict "memory_soft_bytes" .Values.memory.softBytes "memory_hard_bytes" .Values.memory.hardBytes)
      "drift" (dict "state_folder" "/var/lib/lanewatch/drift")
      "handoff" (dict "file" "/var/lib/lanewatch/handoffs.jsonl")
      "judge" (dict "store" "/var/lib/lanewatch/judge" "worker_memory_bytes" .Values.memory.judgeBytes)
-}}
{{- mustMergeOverwrite $own (deepCopy .Values.config) | toJson -}}
{{- end -}}

{{/* The same as TOML: a table a section. Numbers of JSON are floats in a template; whole ones are written as such. */}}
{{- define "lanewatch.toml" -}}
{{- $settings := include "lanewatch.settings" . | fromJson -}}
{{- range $section := keys $settings | sortAlpha -}}
[{{ $section }}]
{{- $values := get $settings $section -}}
{{- range $key := keys $values | sortAlpha }}
{{- $value := get $values $key }}
{{ $key }} = {{ if kindIs "float64" $value }}{{ if eq $value (floor $value) }}{{ printf "%.0f" $value }}{{ else }}{{ $value }}{{ end }}{{ else }}{{ $value | toJson }}{{ end }}
{{- end }}

{{ end -}}
{{- with .Values.extraConfig }}{{ . }}{{ end -}}
{{- end -}}

{{/* The container: in the gateway's pods, and to be put among the initContainers of your own. */}}
{{- define "lanewatch.container" -}}
- name: lanewatch
  image: {{ include "lanewatch.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [run, --config, /etc/lanewatch/lanewatch.toml]
  {{- if eq .Values.mode "sidecar" }}
  restartPolicy: Always
  {{- end }}
  env:
    - name: LANEWATCH_DRIFT_REPLICA
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    {{- if .Values.auth.existingSecret }}
    - name: LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE
      value: /run/secrets/lanewatch/auth/{{ .Values.auth.key }}
    {{- end }}
    {{- if .Values.judge.existingSecret }}
    - name: LANEWATCH_JUDGE_API_KEY_FILE
      value: /run/secrets/lanewatch/judge/{{ .Values.judge.key }}
    {{- end }}
    {{- if .Values.redaction.existingSecret }}
    - name: LANEWATCH_REDACTION_KEY_FILE
      value: /run/secrets/lanewatch/redaction/{{ .Values.redaction.key }}
    {{- end }}
    {{- with .Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: otlp-grpc
      containerPort: {{ dig "receivers" "grpc_port" 4317 .Values.config | int }}
    - name: otlp-http
      containerPort: {{ dig "receivers" "http_port" 4318 .Values.config | int }}
    - name: metrics
      containerPort: {{ dig "metrics" "port" 9464 .Values.config | int }}
  startupProbe:
    httpGet:
      path: /healthz
      port: metrics
    periodSeconds: 2
    failureThreshold: 30
  livenessProbe:
    httpGet:
      path: /healthz
      port: metrics
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  {{- if eq .Values.mode "gateway" }}
  readinessProbe:
    httpGet:
      path: /readyz
      port: metrics
    periodSeconds: 5
    timeoutSeconds: 5
    failureThreshold: 2
  {{- end }}
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
    seccompProfile:
      type: RuntimeDefault
  volumeMounts:
    - name: lanewatch-config
      mountPath: /etc/lanewatch
      readOnly: true
    - name: lanewatch-state
      mountPath: /var/lib/lanewatch
    - name: lanewatch-tmp
      mountPath: /tmp
    {{- range $name := list "auth" "judge" "redaction" }}
    {{- if (get $.Values $name).existingSecret }}
    - name: lanewatch-{{ $name }}
      mountPath: /run/secrets/lanewatch/{{ $name }}
      readOnly: true
    {{- end }}
    {{- end }}
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The volumes that the container mounts; the gateway's state is a claim where persistence is on. */}}
{{- define "lanewatch.volumes" -}}
- name: lanewatch-config
  configMap:
    name: {{ include "lanewatch.fullname" . }}
- name: lanewatch-tmp
  emptyDir:
    sizeLimit: 512Mi
{{- if or (eq .Values.mode "sidecar") (not .Values.persistence.enabled) }}
- name: lanewatch-state
  emptyDir:
    sizeLimit: 512Mi
{{- end }}
{{- range $name := list "auth" "judge" "redaction" }}
{{- if (get $.Values $name).existingSecret }}
- name: lanewatch-{{ $name }}
  secret:
    secretName: {{ (get $.Values $name).existingSecret }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Rules or a dashboard, with links to the runbook at its address where one is set: (root, text). */}}
{{- define "lanewatch.linked" -}}
{{- $path := "deploy/prometheus/runbook.md" -}}
{{- index . 1 | replace $path (default $path (index . 0).Values.runbook) -}}
{{- end }}
