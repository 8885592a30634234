import type { UnknownObject } from '@capstan/kube';
import type { TypeSchema } from '../apply/type-schema.ts';
import type { FieldError, ResourceName } from '../errors.ts';
import type { Steps } from '../steps.ts';
import type { Printer } from '../table/printer.ts';
import type { NameRule } from './names.ts';

/** A resource as the server keeps it: one set of objects, served under one or more versions. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** In the order of discovery, the preferred one first. */
  readonly versions: readonly ResourceVersion[];
  /** The version under which objects are stored. */
  readonly storageVersion: string;
  /** Where the store keeps it. */
  readonly storageKey: string;
  readonly custom: boolean;
  readonly strategy: Strategy;
  /** Set while a CRD is being deleted: creates are refused. */
  readonly terminating?: boolean;
}

export interface ResourceVersion {
  readonly name: string;
  readonly served: boolean;
  readonly deprecationWarning?: string;
  readonly hasStatus: boolean;
  /** The status of a new object until a client writes it; undefined: none. */
  readonly emptyStatus?: unknown;
  readonly scale?: ScalePaths;
  readonly subresources: readonly Subresource[];
  /** How fields merge and who may own them; undefined: deduced from the values, lists as a whole. */
  readonly type: TypeSchema | undefined;
  /** The schema as OpenAPI shows it: the name of a built-in definition, or a custom resource's own. */
  readonly openApi: { readonly definition: string | undefined; readonly schema?: object };
  /** How a Table shows it. */
  readonly printer: Printer;
  /** The stored object as this version shows it, where more than the name of the version differs. */
  readonly convert?: (object: UnknownObject) => UnknownObject;
  /** Whether a webhook converts: a conversion that is not known yet throws a ConversionNeeded. */
  readonly isConverted?: boolean;
  /** The way back. */
  readonly toStored?: (object: UnknownObject) => UnknownObject;
  /** Returns the stored name of a selectable field of this version. */
  readonly storedField?: (field: string) => string;
  /** `.spec.x` paths by which a field selector may choose, besides name and namespace. */
  readonly selectableFields: readonly string[];
  /** Brings a body into the form in which it is stored: unknown fields dropped (and reported), defaults filled in. */
  readonly normalise: (object: UnknownObject) => Normalised;
  /** Normalises an applied object, where that differs from `normalise`. */
  readonly settleApplied?: (object: UnknownObject) => UnknownObject;
  /** Returns the problem of the types in a body, before all other checks. */
  readonly typeProblem?: (body: object) => string | undefined;
  /** Returns the errors of the object by its schema; `found` holds earlier errors. */
  readonly validate: (
    object: UnknownObject,
    old: UnknownObject | undefined,
    subresource: string,
    found?: readonly FieldError[],
  ) => FieldError[];
  /** Evaluates the CEL rules of an object in steps, so that its validation takes moments; default: it has none. */
  readonly evaluateRules?: (object: UnknownObject, old: UnknownObject | undefined) => Steps<void>;
}

export interface Normalised {
  object: UnknownObject;
  /** Paths of fields that the schema does not know, as in `spec.foo`. */
  unknown: readonly string[];
}

export interface Subresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** The kind of its body, where that is another kind than the resource's. */
  readonly body?: { readonly resource: Resource; readonly version: ResourceVersion };
}

export interface ScalePaths {
  readonly spec: readonly string[];
  readonly status: readonly string[];
  /** Where the label selector is, as a string or as a LabelSelector. */
  readonly selector?: readonly string[];
}

/** The rules of a kind beyond its schema. Every function returns a new object or the same one; nothing is changed in place. */
export interface Strategy {
  readonly validateName: NameRule;
  /** PUT without resourceVersion is accepted. */
  readonly allowsUnconditionalUpdate: boolean;
  /** PUT of an absent object creates it. */
  readonly allowsCreateOnUpdate: boolean;
  /** Whether metadata.generation counts changes of the desired state. */
  readonly countsGeneration: boolean;
  /** Empty lists and maps count as a change of the desired state each time they are written. Default: they are as good as absent. */
  readonly countsEmpty?: boolean;
  /** A new object may come with a status: machines register with a description of themselves. Default: it is dropped. */
  readonly keepsStatus?: boolean;
  readonly prepareCreate?: (object: UnknownObject) => UnknownObject;
  /** Adds the fields of Kubernetes' own admission to a new object, after field ownership is recorded: these fields have no owner. */
  readonly admit?: (object: UnknownObject) => UnknownObject;
  /**
   * Adds the values that only the store can determine (addresses), in the same step as the write, so that nothing comes between. Its errors
   * count as those of validation.
   */
  readonly complete?: (
    object: UnknownObject,
    old: UnknownObject | undefined,
  ) => { object: UnknownObject; errors: FieldError[] };
  readonly prepareUpdate?: (object: UnknownObject, old: UnknownObject, subresource: string) => UnknownObject;
  /** Keeps parts of the status, whatever a status write contains. */
  readonly prepareStatus?: (object: UnknownObject, old: UnknownObject) => UnknownObject;
  /** Why the object may not be deleted at all, or undefined. */
  readonly refuseDelete?: (object: UnknownObject) => string | undefined;
  readonly validate?: (object: UnknownObject, old: UnknownObject | undefined) => FieldError[];
  /** Does the long part of `validate` in steps, just before it; default: there is none. */
  readonly checkInSteps?: (object: UnknownObject, old: UnknownObject | undefined) => Steps<void>;
  /** DELETE answers with the object, where others say Success. */
  readonly returnsDeleted?: boolean;
  /** Returns warnings about values that are allowed but probably mistakes. */
  readonly warnings?: (object: UnknownObject, old: UnknownObject | undefined) => string[];
  /** The seconds of a deletion for stopping the workload of the object; undefined: it goes at once. */
  readonly gracePeriod?: (object: UnknownObject, asked: number | undefined) => number | undefined;
  /** Something besides finalizers keeps the object from going (a namespace's contents). */
  readonly isHeld?: (object: UnknownObject) => boolean;
  /** The change of a first deletion to the object, whatever options it has; undefined: the usual one. */
  readonly markDeleted?: (object: UnknownObject, at: string) => UnknownObject;
  /** The change of a deletion that has to wait. */
  readonly prepareDelete?: (object: UnknownObject) => UnknownObject;
}

export const nameOf = (resource: Resource): ResourceName => ({ group: resource.group, resource: resource.plural });

/** The kind as a refusal names it: an event has the name of its stored form, whichever form the request had. */
export const reportedKind = ({ group, kind, storageKey }: Resource) => ({
  group: storageKey === '/events' ? '' : group,
  kind,
});

export const apiVersionOf = (resource: Pick<Resource, 'group'>, version: string) =>
  resource.group === '' ? version : `${resource.group}/${version}`;

/** The package of the kind's own form in Kubernetes, which messages name. */
export const goPackage = ({ custom, group }: Pick<Resource, 'custom' | 'group'>) =>
  custom ? 'unstructured' : group === '' || group === 'events.k8s.io' ? 'core' : (group.split('.')[0] ?? '');

/** The stored object as a version of its resource shows it. */
export function inVersion(resource: Resource, version: ResourceVersion, object: UnknownObject): UnknownObject {
  return version.convert ? version.convert(object) : renamed(resource, version.name, object);
}

/** The object under the name of a version, and otherwise as it is. */
export function renamed(resource: Pick<Resource, 'group'>, version: string, object: UnknownObject): UnknownObject {
  const apiVersion = apiVersionOf(resource, version);
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}
