// The content of a package: one description of it (its meta object) and the objects that it installs.
//
// The rules are upstream's: exactly one meta object, of the group meta.pkg.crossplane.io; beside it only kinds that
// packages of that type may bring. An object of any other kind makes the package invalid, because its author expected it to
// be installed; as of version 2 of Crossplane it is left out with a warning. All problems are reported together.
import { isRecord, validateDns1123Subdomain } from '@capstan/kube';
import { type DocumentParser, readYamlStream, type YamlDocument, type YamlLimits } from './documents/yaml-stream.ts';
import { PackageErrors } from './errors.ts';
import { readMeta } from './package-meta.ts';

export type PackageType = 'Provider' | 'Configuration' | 'Function';

export interface ParsedPackage {
  readonly meta: PackageMeta;
  /** The objects to install, in the order of the stream. */
  readonly objects: readonly PackageObject[];
  /** CRDs of a Function: they describe its input and are never installed. */
  readonly inputs: readonly PackageObject[];
  /** Objects of kinds that such a package may not hold, one sentence each; absent when there are none. They are left out. */
  readonly foreign?: readonly string[];
}

export interface PackageMeta {
  readonly type: PackageType;
  readonly apiVersion: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** `spec.crossplane.version`; it is a constraint. */
  readonly crossplaneVersion: string | undefined;
  readonly dependsOn: readonly PackageDependency[];
  /** The image of a Provider's controller or of a Function that runs instead of the package's own image. */
  readonly image: string | undefined;
  /** Rules that a Provider asks for beyond those for its own types. */
  readonly permissionRequests: readonly unknown[];
  readonly capabilities: readonly string[];
  /** As it stands in the stream. */
  readonly object: PackageObject;
}

export interface PackageDependency {
  /** `pkg.crossplane.io/v1` for the three types of packages. */
  readonly apiVersion: string;
  readonly kind: string;
  /** A reference without tag or digest. */
  readonly package: string;
  /** A constraint, or a digest that must be met exactly. */
  readonly constraints: string;
}

export interface PackageObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** Reads a package from the bytes of its package.yaml; throws PackageError. */
export async function readPackage(
  chunks: AsyncIterable<Uint8Array>,
  limits?: YamlLimits,
  parse?: DocumentParser,
  foreign?: ForeignKinds,
): Promise<ParsedPackage> {
  const documents: YamlDocument[] = [];
  for await (const document of readYamlStream(chunks, limits, parse)) documents.push(document);
  return parsePackage(documents, undefined, foreign);
}

/** The handling of objects of other kinds: they make the package invalid, or the caller decides. */
export type ForeignKinds = 'refuse' | 'report';

/** Reads a package from its documents; `placeOf` names the place of an object in errors. Throws PackageError. */
export function parsePackage(
  documents: readonly YamlDocument[],
  placeOf: (line: number) => string = (line) => `line ${line}`,
  foreignKinds: ForeignKinds = 'refuse',
): ParsedPackage {
  const problems: string[] = [];
  const metas: { place: string; object: PackageObject }[] = [];
  const objects: { place: string; object: PackageObject }[] = [];
  for (const { line, value } of documents) {
    const place = placeOf(line);
    const object = objectIn(value);
    if (typeof object === 'string') problems.push(`${place}: ${object}`);
    else if (object.apiVersion.startsWith('meta.pkg.crossplane.io/')) metas.push({ place, object });
    else objects.push({ place, object });
  }
  const [first] = metas;
  if (metas.length !== 1 || first === undefined)
    problems.push(
      metas.length === 0
        ? 'it has no object of the group meta.pkg.crossplane.io, and needs exactly one'
        : `it has ${metas.length} objects of the group meta.pkg.crossplane.io (${metas.map(({ place, object }) => `${object.kind} at ${place}`).join(', ')}), and needs exactly one`,
    );
  const meta = first === undefined ? undefined : readMeta(first.object, problems);
  const isForeign = ({ object }: { object: PackageObject }) => meta !== undefined && !isKnownKind(meta.type, object);
  const foreign =
    meta === undefined
      ? []
      : objects.filter(isForeign).flatMap((one) => kindProblems(meta.type, one.object, one.place));
  const own = objects.filter((one) => !isForeign(one));
  if (meta !== undefined) problems.push(...own.flatMap((one) => kindProblems(meta.type, one.object, one.place)));
  if (foreignKinds === 'refuse') problems.push(...foreign);
  problems.push(...duplicates(objects));
  if (problems.length > 0 || meta === undefined) throw PackageErrors.NotAPackage(problems);
  const found = own.map(({ object }) => object);
  return {
    ...(meta.type === 'Function' ? { meta, objects: [], inputs: found } : { meta, objects: found, inputs: [] }),
    ...(foreign.length > 0 && { foreign }),
  };
}

function isKnownKind(type: PackageType, { apiVersion, kind }: PackageObject): boolean {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  return ALLOWED[type][`${group}/${kind}`] !== undefined;
}

/** Throws when a package is not of the type that it was installed as. */
export function checkPackageType({ meta }: ParsedPackage, expected: PackageType): void {
  if (meta.type !== expected) throw PackageErrors.WrongType(expected, meta.type);
}

/** `group/Kind` and the versions that are known. */
const ALLOWED: Readonly<Record<PackageType, Readonly<Record<string, readonly string[]>>>> = {
  Provider: {
    'apiextensions.k8s.io/CustomResourceDefinition': ['v1', 'v1beta1'],
    'admissionregistration.k8s.io/ValidatingWebhookConfiguration': ['v1'],
    'admissionregistration.k8s.io/MutatingWebhookConfiguration': ['v1'],
    'apiextensions.crossplane.io/ManagedResourceDefinition': ['v1', 'v1beta1', 'v1alpha1'],
  },
  Configuration: {
    'apiextensions.crossplane.io/CompositeResourceDefinition': ['v1', 'v2'],
    'apiextensions.crossplane.io/Composition': ['v1'],
    'apiextensions.crossplane.io/ManagedResourceActivationPolicy': ['v1', 'v1beta1', 'v1alpha1'],
    'ops.crossplane.io/Operation': ['v1', 'v1beta1', 'v1alpha1'],
    'ops.crossplane.io/CronOperation': ['v1', 'v1beta1', 'v1alpha1'],
    'ops.crossplane.io/WatchOperation': ['v1', 'v1beta1', 'v1alpha1'],
  },
  Function: {
    'apiextensions.k8s.io/CustomResourceDefinition': ['v1', 'v1beta1'],
  },
};

function kindProblems(type: PackageType, { apiVersion, kind, metadata }: PackageObject, place: string): string[] {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const allowed = ALLOWED[type];
  const versions = allowed[`${group}/${kind}`];
  if (versions?.includes(version)) return [];
  const name = `${kind} "${metadata.name}" (${apiVersion}) at ${place}`;
  if (versions !== undefined) return [`${name}: its version is not known; known are ${versions.join(', ')}`];
  const kinds = Object.keys(allowed).map((known) => known.slice(known.indexOf('/') + 1));
  return [`${name} is a kind that a ${type} package may not hold; it may hold ${kinds.join(', ')}`];
}

/** Returns the object, or its problem. */
function objectIn(value: unknown): PackageObject | string {
  if (!isRecord(value)) return 'it is not a mapping';
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== 'string' || apiVersion === '') return 'it has no apiVersion';
  if (typeof kind !== 'string' || kind === '') return 'it has no kind';
  if (!/^[A-Za-z0-9./-]{1,300}$/.test(apiVersion) || !/^[A-Za-z0-9]{1,100}$/.test(kind))
    return 'its apiVersion or kind cannot be one';
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  if (typeof name !== 'string' || name === '') return `${kind} has no metadata.name`;
  const [problem] = validateDns1123Subdomain(name);
  if (problem !== undefined) return `${kind} cannot be named ${JSON.stringify(name.slice(0, 100))}: ${problem}`;
  if (isRecord(metadata) && metadata['namespace'] !== undefined)
    return `${kind} "${name}" has a namespace, and packages install only what has none`;
  return value as unknown as PackageObject;
}

function duplicates(objects: readonly { place: string; object: PackageObject }[]): string[] {
  const seen = new Map<string, string>();
  return objects.flatMap(({ place, object: { apiVersion, kind, metadata } }) => {
    const key = `${apiVersion.split('/')[0]}/${kind}/${metadata.name}`;
    const before = seen.get(key);
    seen.set(key, before ?? place);
    return before === undefined ? [] : [`${kind} "${metadata.name}" is there twice, at ${before} and ${place}`];
  });
}
