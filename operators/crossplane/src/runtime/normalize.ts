// From a DeploymentRuntimeConfig as its author wrote it to the normal form.
//
// Accepted besides the canonical shape is the design document's own example: `serviceTemplate` and `serviceAccountTemplate`
// inside `deploymentTemplate`, and the fields of a pod spec directly under `template`. They are moved to their place, with
// a warning, and never dropped. Neither `selector` nor `containers` is required, although a Deployment's own schema does:
// a template contains only the differences.
//
// Findings are values, not exceptions: with `errors` the config cannot be used and the running workload stays as it is; `warnings` describe
// how it was used.
import { equal, groupOf, isJsonObject, type JsonObject, joinPath } from '@capstan/kube';
import { type BuiltinSchemas, checkTemplate, DEPLOYMENT_SPEC, fieldsOf, POD_SPEC } from './check-template.ts';
import { type Finding, finding } from './finding.ts';
import {
  type DeploymentTemplateSpec,
  KEEP_IMAGE_ANNOTATION,
  PACKAGE_GROUP,
  RUNTIME_CONFIG_KIND,
  RUNTIME_CONFIG_VERSIONS,
  type RuntimeConfig,
  type TemplateMetadata,
} from './runtime-config.ts';

export interface NormalizedConfig {
  /** Undefined exactly when there are errors. */
  readonly config: RuntimeConfig | undefined;
  readonly warnings: readonly Finding[];
  readonly errors: readonly Finding[];
}

/** The normal form of a config; `schemas` are Kubernetes' own (loadBuiltinSchemas). */
export function normalizeRuntimeConfig(object: unknown, schemas: BuiltinSchemas): NormalizedConfig {
  const warnings: Finding[] = [];
  const errors: Finding[] = [];
  if (!isJsonObject(object))
    return { config: undefined, warnings, errors: [finding('.', 'is no object', 'correct it')] };
  errors.push(...wrongIdentity(object));
  const spec = objectAt(object['spec'], 'spec', errors);
  const deployment = objectAt(spec['deploymentTemplate'], 'spec.deploymentTemplate', errors);
  reportOthers(spec, ['deploymentTemplate', ...TEMPLATES], 'spec', warnings);
  reportOthers(deployment, ['metadata', 'spec', ...TEMPLATES], 'spec.deploymentTemplate', warnings);

  const [service, serviceAccount] = TEMPLATES.map((name) => {
    const found = hoisted(spec, deployment, name, { warnings, errors });
    const at = `spec.${name}`;
    const template = objectAt(found, at, errors);
    reportOthers(template, ['metadata'], at, warnings);
    return metadataAt(template['metadata'], `${at}.metadata`, { warnings, errors });
  });
  const at = 'spec.deploymentTemplate';
  const placed = withPodSpecInPlace(
    objectAt(deployment['spec'], `${at}.spec`, errors),
    `${at}.spec.template`,
    fieldsOf(POD_SPEC, schemas),
    { warnings, errors },
  );
  const checked = checkTemplate(placed, DEPLOYMENT_SPEC, `${at}.spec`, schemas);
  const metadata = metadataAt(deployment['metadata'], `${at}.metadata`, { warnings, errors });
  warnings.push(...checked.unknown);
  errors.push(...checked.wrong);
  if (errors.length > 0) return { config: undefined, warnings, errors };
  const own = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const config: RuntimeConfig = {
    keepsImage: [own['annotations'], metadata.annotations].some(
      (annotations) => isJsonObject(annotations) && annotations[KEEP_IMAGE_ANNOTATION] === 'true',
    ),
    // Checked above: every field is one of a Deployment's, with its type.
    deployment: { metadata, spec: checked.value as DeploymentTemplateSpec },
    service: service ?? {},
    serviceAccount: serviceAccount ?? {},
  };
  return { config, warnings, errors };
}

const TEMPLATES = ['serviceTemplate', 'serviceAccountTemplate'] as const;

interface Found {
  readonly warnings: Finding[];
  readonly errors: Finding[];
}

function wrongIdentity({ apiVersion, kind }: JsonObject): Finding[] {
  const text = typeof apiVersion === 'string' ? apiVersion : '';
  const version = text.slice(text.indexOf('/') + 1);
  const isVersion = RUNTIME_CONFIG_VERSIONS.some((known) => known === version);
  const versions = RUNTIME_CONFIG_VERSIONS.map((known) => `${PACKAGE_GROUP}/${known}`).join(', ');
  return [
    ...(groupOf(text) === PACKAGE_GROUP && isVersion
      ? []
      : [finding('apiVersion', `cannot be ${JSON.stringify(apiVersion)}`, `use one of ${versions}`)]),
    ...(kind === RUNTIME_CONFIG_KIND
      ? []
      : [finding('kind', `cannot be ${JSON.stringify(kind)}`, `use ${RUNTIME_CONFIG_KIND}`)]),
  ];
}

/** The template of that name, from its place or from inside `deploymentTemplate`. */
function hoisted(spec: JsonObject, deployment: JsonObject, name: (typeof TEMPLATES)[number], found: Found): unknown {
  const nested = deployment[name] ?? undefined;
  const own = spec[name] ?? undefined;
  if (nested === undefined) return own;
  const inside = `spec.deploymentTemplate.${name}`;
  if (own !== undefined && !equal(own, nested)) {
    found.errors.push(finding(inside, `differs from spec.${name}`, `keep spec.${name} and remove the other`));
    return own;
  }
  found.warnings.push(finding(inside, `was taken for spec.${name}`, 'move it there'));
  return nested;
}

/** The Deployment's spec with the fields of a pod spec that stand directly under `template` in `template.spec`. */
function withPodSpecInPlace(spec: JsonObject, path: string, podFields: ReadonlySet<string>, found: Found): JsonObject {
  const { template } = spec;
  // Null and other types are judged by the schema.
  if (!isJsonObject(template)) return spec;
  const rest: JsonObject = {};
  const moved: JsonObject = {};
  for (const [field, value] of Object.entries(template)) {
    if (field === 'metadata' || field === 'spec' || !podFields.has(field)) rest[field] = value;
    else if (value !== null) moved[field] = value;
  }
  if (Object.keys(moved).length === 0) return spec;
  const inner = isJsonObject(rest['spec']) ? rest['spec'] : {};
  for (const [field, value] of Object.entries(moved)) {
    const at = joinPath(path, field);
    const place = joinPath(`${path}.spec`, field);
    const there = inner[field] ?? undefined;
    if (there !== undefined && !equal(there, value))
      found.errors.push(finding(at, `differs from ${place}`, `keep ${place} and remove the other`));
    else found.warnings.push(finding(at, `was taken for ${place}`, 'move it there'));
  }
  return { ...spec, template: { ...rest, spec: { ...moved, ...withoutNulls(inner) } } };
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** Returns name, labels and annotations. The namespace is always that of Crossplane, and no other field can be set. */
function metadataAt(value: unknown, path: string, found: Found): TemplateMetadata {
  const metadata = objectAt(value, path, found.errors);
  reportOthers(metadata, ['name', 'namespace', 'labels', 'annotations'], path, found.warnings);
  const { namespace } = metadata;
  if (namespace !== undefined && namespace !== null && namespace !== '')
    found.warnings.push(
      finding(
        `${path}.namespace`,
        `has no effect (${JSON.stringify(namespace)})`,
        'remove it: the objects of a package are in the namespace of Crossplane',
      ),
    );
  const { name } = metadata;
  if (name !== undefined && name !== null && typeof name !== 'string')
    found.errors.push(finding(`${path}.name`, 'must be a text', 'correct it'));
  const labels = textsAt(metadata['labels'], `${path}.labels`, found.errors);
  const annotations = textsAt(metadata['annotations'], `${path}.annotations`, found.errors);
  return {
    ...(typeof name === 'string' && name !== '' && { name }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  };
}

function textsAt(value: unknown, path: string, errors: Finding[]): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(objectAt(value, path, errors))) {
    if (typeof text === 'string') texts[key] = text;
    else errors.push(finding(joinPath(path, key), 'must be a text', 'write it in quotes'));
  }
  return texts;
}

function objectAt(value: unknown, path: string, errors: Finding[]): JsonObject {
  if (value === undefined || value === null) return {};
  if (isJsonObject(value)) return value;
  errors.push(finding(path, 'must be an object', 'correct it'));
  return {};
}

function reportOthers(object: JsonObject, known: readonly string[], path: string, warnings: Finding[]): void {
  for (const [field, value] of Object.entries(object)) {
    // API servers write these fields into all metadata.
    if (known.includes(field) || value === null) continue;
    warnings.push(finding(joinPath(path, field), 'is not a field', 'correct or remove it: it has no effect'));
  }
}
