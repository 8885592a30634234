// The installation as a Helm chart and as a base for kustomize, from the same objects that `capstan install` applies. What a chart
// leaves open (namespace, image, replicas) is a placeholder in these objects, which becomes an expression of the chart.
import type { KubeObject } from '@capstan/kube';
import { type Operator, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { stringify } from 'yaml';
import { type Installation, installationObjects, isDefinition, MANAGED_BY } from './manifests.ts';

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

/** Every operator can be switched off; definitions stay when a release is removed. */
export function helmChart({ operators, version, description }: PackageOptions): Files {
  const values = {
    image: `capstan:${version}`,
    replicas: 2,
    serviceMonitor: false,
    admission: false,
    operators: Object.fromEntries(operators.map(({ name }) => [name, true])),
  };
  const chart = { apiVersion: 'v2', name: 'capstan', description, type: 'application', version, appVersion: version };
  const files = new Map([
    ['Chart.yaml', yamlOf({ ...chart, kubeVersion: '>=1.28.0-0' })],
    [
      'values.yaml',
      `# The image of Capstan, replicas of each operator, whether the admission webhook is installed, and the operators that are.\n${yamlOf(values)}`,
    ],
    ['templates/NOTES.txt', 'Capstan is installed in the namespace {{ .Release.Namespace }}. Next: capstan status\n'],
  ]);
  const system = installationObjects(placeholders([], version)).foundations.filter(
    ({ kind, metadata }) => kind === 'Namespace' && metadata.name === SYSTEM_NAMESPACE,
  );
  files.set(
    'templates/namespace.yaml',
    `{{- if ne .Release.Namespace "${SYSTEM_NAMESPACE}" }}\n${system.map(templated).join('')}{{- end }}\n`,
  );
  files.set(
    'templates/admission.yaml',
    `{{- if .Values.admission }}\n${admissionObjects(placeholders([], version), operators).map(templated).join('')}{{- end }}\n`,
  );
  for (const operator of operators)
    files.set(
      `templates/${operator.name}.yaml`,
      `{{- if .Values.operators.${operator.name} }}\n${ofOperator(operator, version).map(templated).join('')}{{- end }}\n`,
    );
  return files;
}

/** A folder an operator, each a base of its own, and one of all; the image is set with kustomize's own `images`. */
export function kustomizeBase({ operators, version }: PackageOptions): Files {
  const installation = {
    ...placeholders([], version),
    namespace: SYSTEM_NAMESPACE,
    image: `capstan:${version}`,
    replicas: 2,
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

function ofOperator(operator: Operator, version: string): KubeObject[] {
  const { foundations, workloads } = installationObjects(placeholders([operator], version));
  return [...foundations.filter(isOfOperator), ...[...workloads.values()].flat()];
}

/** Whether it comes with an operator: the namespaces of the installation itself are there already. */
function isOfOperator({ kind, metadata }: KubeObject): boolean {
  return kind !== 'Namespace' || (metadata.name !== SYSTEM_NAMESPACE && metadata.name !== NAMESPACE);
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
    admission: [],
  };
}

function templated(object: KubeObject): string {
  const isNamespace = object.kind === 'Namespace' && object.metadata.name !== SYSTEM_NAMESPACE;
  const kept = isDefinition(object) || isNamespace ? withAnnotation(object, 'helm.sh/resource-policy', 'keep') : object;
  const text = yamlOf(kept)
    // Descriptions of fields may have braces.
    .replaceAll('{{', '{{ "{{" }}')
    .replaceAll(NAMESPACE, '{{ .Release.Namespace }}')
    .replaceAll(IMAGE, '{{ .Values.image }}')
    .replaceAll(String(REPLICAS), '{{ .Values.replicas }}')
    .replaceAll(
      `app.kubernetes.io/managed-by: ${MANAGED_BY['app.kubernetes.io/managed-by']}`,
      'app.kubernetes.io/managed-by: {{ .Release.Service }}',
    );
  // Helm refuses to install an object that is there already.
  const absent = `not (lookup "v1" "Namespace" "" "${object.metadata.name}")`;
  const condition = isNamespace ? absent : CONDITIONS[object.kind];
  return condition === undefined ? `---\n${text}` : `{{- if ${condition} }}\n---\n${text}{{- end }}\n`;
}

const CONDITIONS: Readonly<Record<string, string>> = {
  ServiceMonitor: '.Values.serviceMonitor',
  PodDisruptionBudget: 'gt (int .Values.replicas) 1',
};

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
