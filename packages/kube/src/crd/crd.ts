import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
} from '../builtin/index.ts';
import type { JsonSchema } from '../schema/json-schema.ts';

/** One column of `kubectl get`. */
export interface PrinterColumn {
  name: string;
  /** `.spec.replicas` */
  jsonPath: string;
  /** Default string. */
  type?: 'integer' | 'number' | 'string' | 'boolean' | 'date';
  format?: string;
  description?: string;
  /** Above 0: only with `-o wide`. Default 0. */
  priority?: number;
}

/** One version of a kind, ready for the manifest. */
export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: JsonSchema;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly subresources?: CustomResourceSubresources;
  readonly printerColumns: readonly PrinterColumn[];
  readonly selectableFields: readonly string[];
}

export interface CrdParts {
  group: string;
  scope: 'Namespaced' | 'Cluster';
  names: {
    plural: string;
    singular: string;
    kind: string;
    listKind: string;
    shortNames: readonly string[];
    categories: readonly string[];
  };
  versions: readonly CrdVersion[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** The manifest that `kubectl apply` takes. Keys are in the order in which people read them; schemas keep the order of their definition. */
export function crdManifest({
  group,
  scope,
  names,
  versions,
  labels,
  annotations,
}: CrdParts): CustomResourceDefinition {
  const { shortNames, categories, ...required } = names;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}`, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: {
      group,
      names: {
        ...required,
        ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
        ...(categories.length > 0 && { categories: [...categories] }),
      },
      scope,
      versions: versions.map(versionManifest),
    },
  };
}

function versionManifest(version: CrdVersion): CustomResourceDefinitionVersion {
  const { name, served, storage, deprecated, deprecationWarning, subresources, schema } = version;
  const columns = columnsWithAge(version.printerColumns);
  return {
    name,
    served,
    storage,
    ...(deprecated && { deprecated }),
    ...(deprecationWarning !== undefined && { deprecationWarning }),
    schema: { openAPIV3Schema: schema },
    ...(subresources && { subresources }),
    ...(columns.length > 0 && { additionalPrinterColumns: columns }),
    ...(version.selectableFields.length > 0 && {
      selectableFields: version.selectableFields.map((jsonPath) => ({ jsonPath })),
    }),
  };
}

// With columns of its own a kind loses the one that kubectl shows by default.
function columnsWithAge(columns: readonly PrinterColumn[]) {
  const all = columns.map(({ name, jsonPath, type = 'string', ...more }) => ({ name, type, jsonPath, ...more }));
  if (all.length === 0 || all.some(({ name }) => name.toLowerCase() === 'age')) return all;
  return [...all, { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }];
}

/** The plural of a kind in the API's paths: `KafkaProxyIngress` → `kafkaproxyingresses`, `CablePolicy` → `cablepolicies`. */
export function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return `${singular}s`;
}
