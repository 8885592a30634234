// The meta object of a package, in the versions v1, v1beta1 and v1alpha1, which differ in nothing that is read here.
import { isRecord } from '@capstan/kube';
import { isDigest, parseReference, sourceOf } from '../oci/reference.ts';
import type { PackageDependency, PackageMeta, PackageObject, PackageType } from './package.ts';
import { parseConstraint } from './semver.ts';

const TYPES: readonly PackageType[] = ['Provider', 'Configuration', 'Function'];
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];

/** Reads the meta object, and adds its errors to the problems. */
export function readMeta(object: PackageObject, problems: string[]): PackageMeta | undefined {
  const type = TYPES.find((known) => known === object.kind);
  if (type === undefined) {
    problems.push(`its meta object is a ${object.kind}, and must be one of ${TYPES.join(', ')}`);
    return undefined;
  }
  const version = object.apiVersion.slice(object.apiVersion.indexOf('/') + 1);
  if (!VERSIONS.includes(version))
    problems.push(`its meta object has the version ${version}; known are ${VERSIONS.join(', ')}`);
  const spec = object['spec'] ?? {};
  if (!isRecord(spec)) {
    problems.push('spec of its meta object is not a mapping');
    return undefined;
  }
  const runtime = type === 'Provider' ? spec['controller'] : spec;
  const image = isRecord(runtime) ? runtime['image'] : undefined;
  if (image !== undefined && typeof image !== 'string') problems.push('the image of its meta object is not a text');
  return {
    type,
    apiVersion: object.apiVersion,
    name: object.metadata.name,
    labels: texts(object.metadata['labels'], 'metadata.labels', problems),
    annotations: texts(object.metadata['annotations'], 'metadata.annotations', problems),
    crossplaneVersion: crossplaneVersion(spec['crossplane'], problems),
    dependsOn: dependencies(spec['dependsOn'], problems),
    image: typeof image === 'string' && image !== '' && type !== 'Configuration' ? image : undefined,
    permissionRequests:
      type === 'Provider' && isRecord(runtime)
        ? list(runtime['permissionRequests'], 'spec.controller.permissionRequests', problems)
        : [],
    capabilities: list(spec['capabilities'], 'spec.capabilities', problems).filter((each) => typeof each === 'string'),
    object,
  };
}

function crossplaneVersion(value: unknown, problems: string[]): string | undefined {
  if (value === undefined || value === null) return undefined;
  const version = isRecord(value) ? value['version'] : value;
  if (isRecord(value) && version === undefined) return undefined;
  if (typeof version !== 'string' || parseConstraint(version) === undefined) {
    problems.push(`spec.crossplane.version ${shown(version)} is not a version constraint such as ">=v1.14.0"`);
    return undefined;
  }
  return version;
}

const SHORTHANDS: Readonly<Record<string, PackageType>> = {
  provider: 'Provider',
  configuration: 'Configuration',
  function: 'Function',
};

function dependencies(value: unknown, problems: string[]): PackageDependency[] {
  return list(value, 'spec.dependsOn', problems).flatMap((entry, index) => {
    const place = `spec.dependsOn[${index}]`;
    const found = dependency(entry);
    if (typeof found !== 'string') return [found];
    problems.push(`${place} ${found}`);
    return [];
  });
}

/** Returns the dependency, or its problem. */
function dependency(entry: unknown): PackageDependency | string {
  if (!isRecord(entry)) return 'is not a mapping';
  const named = Object.keys(SHORTHANDS).filter((key) => entry[key] !== undefined);
  const isExplicit = entry['package'] !== undefined;
  if (named.length + (isExplicit ? 1 : 0) !== 1)
    return 'must name one package, by provider, configuration or function, or by apiVersion, kind and package';
  const [key = ''] = named;
  const name = isExplicit ? entry['package'] : entry[key];
  const apiVersion = isExplicit ? entry['apiVersion'] : 'pkg.crossplane.io/v1';
  const kind = isExplicit ? entry['kind'] : SHORTHANDS[key];
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return 'has a package without apiVersion and kind';
  if (typeof name !== 'string' || !isSource(name)) return `names ${shown(name)}, which is not an image without a tag`;
  const constraints = entry['version'];
  if (typeof constraints !== 'string' || !(isDigest(constraints) || parseConstraint(constraints) !== undefined))
    return `has the version ${shown(constraints)}, which is neither a version constraint nor a digest`;
  return { apiVersion, kind, package: name, constraints };
}

function isSource(name: string): boolean {
  try {
    parseReference(name);
    return sourceOf(name) === name;
  } catch {
    return false;
  }
}

function texts(value: unknown, place: string, problems: string[]): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (isRecord(value) && Object.values(value).every((each) => typeof each === 'string'))
    return value as Record<string, string>;
  problems.push(`${place} of its meta object is not a mapping of texts`);
  return {};
}

function list(value: unknown, place: string, problems: string[]): unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  problems.push(`${place} of its meta object is not a list`);
  return [];
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value) ?? 'missing').slice(0, 100);
}
