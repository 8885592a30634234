// The installation as a Helm chart and as a base for kustomize, from the same objects that `capstan install` applies. An open value is a
// placeholder in these objects, which becomes an expression of the chart.
import {
  ClusterRole,
  type ClusterRoleBinding,
  Deployment,
  type KubeObject,
  Namespace,
  ServiceAccount,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import { boundsOf, isBoundBinding, type Operator, POLICY_MINOR, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { stringify } from 'yaml';
import { chartValues, POD_FIELDS, valuesSchema, valuesYaml } from './chart-values.ts';
import {
  type Installation,
  installationObjects,
  isDefinition,
  isPolicy,
  MANAGED_BY,
  ONE_PROGRAM,
  OPERATORS_FLAG,
  objectKey,
  POD_SECURITY_LABELS,
} from './manifests.ts';
import { BOUND_FLAGS, followingFlags, imageFlagOf, operatorArgs, pinnedFlags } from './operator-args.ts';

/** Text by path. */
export type Files = ReadonlyMap<string, string>;

export interface PackageOptions {
  operators: readonly Operator[];
  version: string;
  description: string;
}

const NAMESPACE = 'placeholder-namespace';
const IMAGE = 'placeholder-image';
const REPLICAS = 7_654_321;
/** A field that is there when its value is set; a field with a default; items of a list; the flags of an operator. */
const FIELD = 'placeholder-field-';
const DEFAULT = 'placeholder-default-';
const ITEMS = 'placeholder-items-';
/** A part of a pod that records; the name of the part follows. */
const RECORD = 'placeholder-record-';
const FLAGS = 'placeholder-flags-';
const CHOSEN = 'placeholder-chosen';
const POD_SECURITY = 'placeholder-pod-security';
const BOUND = 'placeholder-bound-';
/** An annotation whose value is the condition of the object. */
const CONDITION = 'placeholder-condition';

/** Every operator can be switched off; definitions stay when a release is removed. */
export function helmChart({ operators, version, description }: PackageOptions): Files {
  const values = chartValues(operators, version);
  const chart = { apiVersion: 'v2', name: 'capstan', description, type: 'application', version, appVersion: version };
  const files = new Map([
    ['Chart.yaml', yamlOf({ ...chart, kubeVersion: '>=1.28.0-0' })],
    ['values.yaml', valuesYaml(values)],
    ['values.schema.json', valuesSchema(values)],
    ['templates/_helpers.tpl', HELPERS],
    ['templates/NOTES.txt', 'Capstan is installed in the namespace {{ .Release.Namespace }}. Next: capstan status\n'],
  ]);
  const system = installationObjects(placeholders([], version)).foundations.filter(
    ({ kind, metadata }) => kind === Namespace.kind && metadata.name === SYSTEM_NAMESPACE,
  );
  // As the chart names the ones that are chosen.
  const sorted = operators.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const together = installationObjects({ ...placeholders(sorted, version), isOneProgram: true });
  files.set('templates/namespace.yaml', when(`ne .Release.Namespace "${SYSTEM_NAMESPACE}"`, system.map(templated)));
  files.set(
    'templates/admission.yaml',
    when('.Values.admission', admissionObjects(placeholders([], version), operators).map(templated)),
  );
  // The account and its policies are shared; the bindings to it come with each operator.
  files.set(
    `templates/${ONE_PROGRAM}.yaml`,
    when('and .Values.oneProgram (include "capstan.chosen" .)', [
      ...together.foundations.filter(isShared).map(templated),
      ...[...together.workloads.values()].flat().map(templated),
    ]),
  );
  for (const operator of operators) files.set(`templates/${operator.name}.yaml`, ofBothForms(operator, version));
  return files;
}

/** Objects that are the same in both forms once, the others under the condition of their form. */
function ofBothForms(operator: Operator, version: string): string {
  const [apart, together] = [false, true].map((isOneProgram) => ofOperator(operator, version, isOneProgram));
  const [texts, others] = [apart, together].map((objects = []) => new Map(objects.map((one) => [objectKey(one), one])));
  const isSame = (one: KubeObject, other: KubeObject | undefined) =>
    other !== undefined && yamlOf(one) === yamlOf(other);
  return when(`.Values.operators.${operator.name}`, [
    ...(apart ?? []).filter((one) => isSame(one, others?.get(objectKey(one)))).map(templated),
    when(
      'not .Values.oneProgram',
      (apart ?? []).filter((one) => !isSame(one, others?.get(objectKey(one)))).map(templated),
    ),
    when(
      '.Values.oneProgram',
      (together ?? []).filter((one) => !isSame(one, texts?.get(objectKey(one))) && !isShared(one)).map(templated),
    ),
  ]);
}

/** Returns true for objects of the account that all operators share in one program. */
function isShared(one: KubeObject): boolean {
  return one.kind === ServiceAccount.kind || isPolicy(one);
}

function when(condition: string, parts: readonly string[]): string {
  return parts.length === 0 ? '' : `{{- if ${condition} }}\n${parts.join('')}{{- end }}\n`;
}

const HELPERS = `{{- define "capstan.image" -}}
{{- if .Values.imageRegistry }}{{ printf "%s/%s" (trimSuffix "/" .Values.imageRegistry) .Values.image }}{{ else }}{{ .Values.image }}{{ end -}}
{{- end }}
{{- define "capstan.gatewayImage" -}}
{{- $image := include "capstan.image" . -}}
{{- if contains "@" $image }}{{ fail "image has a digest: set flags.submariner.image to the image of gateways too" }}{{ end -}}
{{- regexReplaceAll "^(.*?)(:[^:/@]+)?$" $image "\${1}-gateway\${2}" -}}
{{- end }}
{{- define "capstan.chosen" -}}
{{- $chosen := list -}}
{{- range $name, $isChosen := .Values.operators }}{{ if $isChosen }}{{ $chosen = append $chosen $name }}{{ end }}{{ end -}}
{{- join "," $chosen -}}
{{- end }}
{{- define "capstan.flags" -}}
{{- $operator := .operator -}}
{{- $flags := deepCopy .given -}}
{{- if and .imageFlag (not (hasKey $flags .imageFlag)) }}{{ $_ := set $flags .imageFlag (include .image .root) }}{{ end -}}
{{- range $flag, $text := .pinned }}{{ if not (hasKey $flags $flag) }}{{ $_ := set $flags $flag $text }}{{ end }}{{ end -}}
{{- range $flag, $other := .following }}{{ if not (hasKey $flags $flag) }}{{ $_ := set $flags $flag (get $flags (first $other) | default (last $other)) }}{{ end }}{{ end -}}
{{- range $flag, $given := $flags }}
{{- range $value := (kindIs "slice" $given | ternary $given (list $given)) }}
- {{ printf "--%s.%s=%v" $operator $flag $value | quote }}
{{- end }}
{{- end }}
{{- end }}
`;

/** A folder an operator, each a base of its own, and one of all; the image is set with kustomize's own `images`. */
export function kustomizeBase({ operators, version }: PackageOptions): Files {
  const image = `capstan:${version}`;
  const installation = {
    ...placeholders([], version),
    namespace: SYSTEM_NAMESPACE,
    image,
    replicas: 2,
    args: operatorArgs(operators, {}, image),
  };
  const { foundations } = installationObjects(installation);
  const files = new Map<string, string>();
  const folder = (name: string, objects: readonly KubeObject[], more: object = {}) => {
    files.set(`${name}/objects.yaml`, documents(objects));
    files.set(`${name}/kustomization.yaml`, yamlOf({ ...KUSTOMIZATION, resources: ['objects.yaml'], ...more }));
  };
  folder('namespace', foundations);
  for (const operator of operators) {
    const own = installationObjects({ ...installation, operators: [operator] });
    const objects = [...own.foundations.filter(isOfOperator), ...[...own.workloads.values()].flat()];
    folder(operator.name, objects);
  }
  // Not part of the whole: one who wants it names the folder.
  folder('admission', admissionObjects(installation, operators));
  const resources = ['namespace', ...operators.map(({ name }) => name)];
  files.set('kustomization.yaml', yamlOf({ ...KUSTOMIZATION, resources }));
  return files;
}

const KUSTOMIZATION = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' };

function admissionObjects(installation: Installation, operators: readonly Operator[]): KubeObject[] {
  const { foundations, workloads } = installationObjects({ ...installation, operators: [], admission: operators });
  return [...foundations.filter(isOfOperator), ...[...workloads.values()].flat()];
}

/**
 * Returns the objects of one operator, without the shared ones: the Deployment of one program, and the namespaces of the installation
 * itself.
 */
function ofOperator(operator: Operator, version: string, isOneProgram: boolean): KubeObject[] {
  const { foundations, workloads } = installationObjects({ ...placeholders([operator], version), isOneProgram });
  return [
    ...foundations.filter(isOfOperator).map((one) => withOpenBound(one, operator)),
    ...(isOneProgram ? [] : [...workloads.values()].flat()),
  ];
}

/** Returns true for an object of an operator: the namespaces of the installation itself are there already. */
function isOfOperator({ kind, metadata }: KubeObject): boolean {
  return kind !== Namespace.kind || (metadata.name !== SYSTEM_NAMESPACE && metadata.name !== NAMESPACE);
}

function placeholders(operators: readonly Operator[], version: string): Installation {
  return {
    operators,
    namespace: NAMESPACE,
    image: IMAGE,
    version,
    replicas: REPLICAS,
    isOneProgram: false,
    hasServiceMonitors: operators.length > 0,
    args: new Map(operators.map((operator) => [operator.name, [`${FLAGS}${operator.name} ${flagParts(operator)}`]])),
    admission: [],
  };
}

function flagParts(operator: Operator): string {
  const pinned = pinnedFlags(operator.flags ?? {}).map((pair) => ` "${pair.join('" "')}"`);
  const following = followingFlags(operator).map(([flag, leader, text]) => ` "${flag}" (list "${leader}" "${text}")`);
  return `(dict${pinned.join('')}) "following" (dict${following.join('')})`;
}

/** The bound of an operator is a flag: its binding names the role of the flag, and roles that come with Capstan are left out for another. */
function withOpenBound(object: KubeObject, operator: Operator): KubeObject {
  const flag = BOUND_FLAGS[operator.name];
  const [bound] = boundsOf(operator);
  if (flag === undefined || bound === undefined) return object;
  if (object.kind === ClusterRole.kind && bound.roles?.some(({ metadata }) => metadata.name === object.metadata.name))
    return withAnnotation(object, CONDITION, `eq (${boundExpression(operator.name, bound.role)}) "${bound.role}"`);
  const names = [`capstan-${operator.name}`, `capstan-${ONE_PROGRAM}-${operator.name}`];
  if (!names.some((name) => isBoundBinding(object, name))) return object;
  const { metadata, roleRef } = object as ClusterRoleBinding;
  const role = `${BOUND}${operator.name}-${bound.role}-end`;
  const name = (metadata.name ?? '').replace(bound.role, role);
  return { ...object, metadata: { ...metadata, name }, roleRef: { ...roleRef, name: role } } as KubeObject;
}

function templated(given: KubeObject): string {
  const { [CONDITION]: own, ...annotations } = given.metadata.annotations ?? {};
  const object = own === undefined ? given : { ...given, metadata: { ...given.metadata, annotations } };
  const isNamespace = object.kind === Namespace.kind && object.metadata.name !== SYSTEM_NAMESPACE;
  const opened = open(object);
  const kept = isDefinition(object) || isNamespace ? withAnnotation(opened, 'helm.sh/resource-policy', 'keep') : opened;
  const text = yamlOf(kept)
    // Descriptions of fields may have braces.
    .replaceAll('{{', '{{ "{{" }}')
    .replaceAll(new RegExp(`^( *)(\\w+): ${FIELD}(\\w+)$`, 'gm'), fieldExpression)
    .replaceAll(new RegExp(`^( *)(\\w+): ${DEFAULT}(\\w+)-(.+)$`, 'gm'), defaultExpression)
    .replaceAll(new RegExp(`^( *)- ${ITEMS}(\\w+)$`, 'gm'), itemsExpression)
    .replaceAll(new RegExp(`^( *)- ${RECORD}(\\w+)$`, 'gm'), recordExpression)
    .replaceAll(new RegExp(`^( *)- ${FLAGS}(\\w+) (.*)$`, 'gm'), flagsExpression)
    .replaceAll(
      new RegExp(`${BOUND}(\\w+)-(.+?)-end`, 'g'),
      (_, operator: string, role: string) => `{{ ${boundExpression(operator, role)} }}`,
    )
    .replaceAll(CHOSEN, '{{ include "capstan.chosen" . }}')
    .replaceAll(POD_SECURITY, '{{ .Values.podSecurity }}')
    .replaceAll(NAMESPACE, '{{ .Release.Namespace }}')
    .replaceAll(IMAGE, '{{ include "capstan.image" . }}')
    .replaceAll(String(REPLICAS), '{{ .Values.replicas }}')
    .replaceAll(
      `app.kubernetes.io/managed-by: ${MANAGED_BY['app.kubernetes.io/managed-by']}`,
      'app.kubernetes.io/managed-by: {{ .Release.Service }}',
    );
  // Helm refuses to install an object that is there already.
  const absent = `not (lookup "v1" "Namespace" "" "${object.metadata.name}")`;
  const condition = own ?? (isNamespace ? absent : CONDITIONS[object.kind]);
  return condition === undefined ? `---\n${text}` : `{{- if ${condition} }}\n---\n${text}{{- end }}\n`;
}

const HAS_POLICIES = `semverCompare ">=1.${POLICY_MINOR}.0-0" .Capabilities.KubeVersion.Version`;

const CONDITIONS: Readonly<Record<string, string>> = {
  [ValidatingAdmissionPolicy.kind]: HAS_POLICIES,
  [ValidatingAdmissionPolicyBinding.kind]: HAS_POLICIES,
  ServiceMonitor: '.Values.serviceMonitor',
  PodDisruptionBudget: 'gt (int .Values.replicas) 1',
};

/** Puts placeholders in the fields that the values of the chart set. */
function open(object: KubeObject): KubeObject {
  if (object.kind === Namespace.kind) {
    const labels = { ...object.metadata.labels };
    for (const label of POD_SECURITY_LABELS) if (labels[label] !== undefined) labels[label] = POD_SECURITY;
    return { ...object, metadata: { ...object.metadata, labels } };
  }
  if (object.kind !== Deployment.kind) return object;
  const { spec } = structuredClone(object) as Deployment;
  const pod = spec?.template.spec as Record<string, unknown> | undefined;
  const [container] = (pod?.['containers'] ?? []) as Record<string, unknown>[];
  if (spec === undefined || pod === undefined || container === undefined) return object;
  const field = (name: string) => `${FIELD}${name}`;
  spec.template.metadata = { ...spec.template.metadata, annotations: field('podAnnotations') as never };
  for (const name of POD_FIELDS) pod[name] = field(name);
  container['resources'] = `${DEFAULT}resources-${JSON.stringify(container['resources'])}`;
  const list = (of: Record<string, unknown>, name: string, value: string) => {
    of[name] = [...((of[name] as unknown[] | undefined) ?? []), `${ITEMS}${value}`];
  };
  const args = (container['args'] ?? []) as string[];
  if (args[0] === 'run') {
    const isOneProgram = object.metadata.name === `capstan-${ONE_PROGRAM}`;
    container['args'] = args.map((text) =>
      isOneProgram && text.startsWith(OPERATORS_FLAG) ? `${OPERATORS_FLAG}${CHOSEN}` : text,
    );
    const recorded = (of: Record<string, unknown>, name: keyof typeof RECORDED) => {
      of[name] = [...((of[name] as unknown[] | undefined) ?? []), `${RECORD}${name}`];
    };
    recorded(container, 'args');
    list(container, 'args', 'extraArgs');
    container['env'] = field('extraEnv');
    recorded(container, 'volumeMounts');
    list(container, 'volumeMounts', 'extraVolumeMounts');
    recorded(pod, 'volumes');
    list(pod, 'volumes', 'extraVolumes');
  }
  return { ...object, spec } as KubeObject;
}

function boundExpression(operator: string, role: string): string {
  return `index .Values.flags.${operator} "${BOUND_FLAGS[operator]}" | default "${role}"`;
}

function fieldExpression(_: string, indent: string, field: string, value: string): string {
  return `${indent}{{- with .Values.${value} }}\n${indent}${field}: {{ toJson . }}\n${indent}{{- end }}`;
}

function defaultExpression(_: string, indent: string, field: string, value: string, otherwise: string): string {
  // A text that starts like this is quoted in YAML.
  const json = otherwise.replace(/'$/, '');
  return `${indent}{{- if .Values.${value} }}\n${indent}${field}: {{ toJson .Values.${value} }}\n${indent}{{- else }}\n${indent}${field}: ${json}\n${indent}{{- end }}`;
}

function itemsExpression(_: string, indent: string, value: string): string {
  return `${indent}{{- range .Values.${value} }}\n${indent}- {{ toJson . }}\n${indent}{{- end }}`;
}

/** The parts of a pod that records, with the volume that the value `record` describes. */
const RECORDED = {
  args: '--record=/record',
  volumeMounts: '{"name":"record","mountPath":"/record"}',
  volumes: '{{ toJson (merge (dict "name" "record") .Values.record) }}',
} as const;

function recordExpression(_: string, indent: string, part: keyof typeof RECORDED): string {
  return `${indent}{{- if .Values.record }}\n${indent}- ${RECORDED[part]}\n${indent}{{- end }}`;
}

/** In one program, the flags of operators that are not installed are left out. */
function flagsExpression(_: string, indent: string, operator: string, pinned: string): string {
  const own = imageFlagOf(operator);
  const image = own?.isGateway === true ? 'capstan.gatewayImage' : 'capstan.image';
  const parts = [`"root" $ "operator" "${operator}" "given" .Values.flags.${operator} "pinned" ${pinned}`];
  if (own !== undefined) parts.push(`"imageFlag" "${own.flag}" "image" "${image}"`);
  return (
    `${indent}{{- if .Values.operators.${operator} }}\n` +
    `${indent}{{- include "capstan.flags" (dict ${parts.join(' ')}) | nindent ${indent.length} }}\n` +
    `${indent}{{- end }}`
  );
}

function withAnnotation(object: KubeObject, name: string, value: string): KubeObject {
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [name]: value } },
  };
}

function documents(objects: readonly KubeObject[]): string {
  return objects.map((object) => `---\n${yamlOf(object)}`).join('');
}

/** Without anchors and folded lines: they are legal, and hard to read. */
function yamlOf(value: object): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
