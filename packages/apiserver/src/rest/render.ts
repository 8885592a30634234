// The form of an answer: an object in the requested version, only its metadata, or a row of a Table. Renderings of the first two kinds are
// kept per stored object, so that a thousand watchers share one; a Table has ages, which are different each time.
import type { Clock, UnknownObject } from '@capstan/kube';
import { badRequest, noList, notAcceptable, notAcceptableForm, type StatusError } from '../errors.ts';
import { withoutNulls } from '../json/copy.ts';
import { apiVersionOf, goPackage, inVersion, type Resource, type ResourceVersion } from '../resources/resource.ts';
import type { Steps } from '../steps.ts';
import type { Printer, Table, TableRow } from '../table/printer.ts';

export interface Rendering {
  /** The same stored object always gives the same rendered object, if the rendering is shared. */
  one(object: UnknownObject): UnknownObject;
  /** In a watch; default as `one`. */
  event?(object: UnknownObject): UnknownObject;
  list(metadata: ListMetadata, objects: readonly UnknownObject[]): Steps<RenderedList>;
  /** Does the slow part of rendering an object before `one` or `event` is asked for it; default: there is none. */
  prepare?(object: UnknownObject): void;
  /** The kind of bookmarks. */
  readonly kind: string;
  readonly apiVersion: string;
  readonly contentType: string;
  /** Watchers of equal renderings may get the same event. */
  readonly isShared: boolean;
}

export interface ListMetadata {
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

export interface ObjectList {
  kind: string;
  apiVersion: string;
  metadata: ListMetadata;
  items: readonly UnknownObject[];
}

export type RenderedList = ObjectList | Table;

/** The form of the answer that a request asks for. */
export interface RequestedForm {
  accept: string | undefined;
  /** A GET of a collection. */
  isList: boolean;
  /** The part of the object that a row of a Table carries besides its cells, from the query. */
  includeObject: string | undefined;
}

export type Renderer = (resource: Resource, version: ResourceVersion, requested: RequestedForm) => Rendering;

const META_VERSION = 'meta.k8s.io/v1';

export function createRenderer(clock: Pick<Clock, 'now'>): Renderer {
  const partials = new WeakMap<UnknownObject, UnknownObject>();
  // Keep renderings by the version itself and not by its name: a definition may change a version.
  const versions = new WeakMap<UnknownObject, WeakMap<ResourceVersion, UnknownObject>>();

  const partial = (object: UnknownObject): UnknownObject => {
    const known = partials.get(object);
    if (known) return known;
    const made = {
      kind: 'PartialObjectMetadata',
      apiVersion: META_VERSION,
      metadata: withoutTemplateGeneration(object),
    };
    partials.set(object, made);
    return made;
  };

  const convert = (resource: Resource, version: ResourceVersion) => {
    const id = apiVersionOf(resource, version.name);
    return (object: UnknownObject) => {
      if (!version.convert && object.apiVersion === id) return object;
      const known = versions.get(object) ?? new WeakMap<ResourceVersion, UnknownObject>();
      versions.set(object, known);
      const result = known.get(version) ?? inVersion(resource, version, object);
      known.set(version, result);
      return result;
    };
  };

  // Kubernetes' own lists tell the kind of their items once; custom ones with every item.
  const bare = new WeakMap<UnknownObject, UnknownObject>();
  const item = (object: UnknownObject): UnknownObject => {
    const known = bare.get(object);
    if (known) return known;
    const { apiVersion: _version, kind: _kind, ...rest } = object;
    bare.set(object, rest as UnknownObject);
    return rest as UnknownObject;
  };

  return (resource, version, { accept, includeObject, isList }) => {
    const { form, metaVersion } = chooseForm(resource, accept, isList);
    const whole = convert(resource, version);
    if (form === 'Table') {
      const carried = CARRIED[includeObject ?? ''];
      const object = carried === 'Object' ? whole : carried === 'Metadata' ? partial : () => undefined;
      // It is looked at when everything else is done, even a write.
      if (carried === undefined) return refusing(unknownInclusion(includeObject ?? ''));
      // A kind without a printer of its own has null for no rows.
      const isNullable =
        ['roles', 'clusterroles', 'customresourcedefinitions'].includes(resource.plural) && !resource.custom;
      return tableRendering(version.printer, () => clock.now(), whole, object, isNullable, metaVersion);
    }
    if (form === 'PartialObjectMetadata' || form === 'PartialObjectMetadataList') {
      const kind = 'PartialObjectMetadataList';
      const wrong = (what: string) =>
        notAcceptableForm(
          `you requested ${form}, but the requested object is ${what} (*${goPackage(resource)}.${resource.kind})`,
        );
      const shown = (object: UnknownObject): UnknownObject => {
        const made = partial(object);
        return metaVersion === META_VERSION ? made : { ...made, apiVersion: metaVersion };
      };
      return {
        one: (object) => {
          if (form === kind) throw resource.custom ? noList() : wrong('not a list');
          return shown(object);
        },
        *list(metadata, objects) {
          if (form !== kind) throw wrong('a list');
          const items = objects.length === 0 ? null : yield* each(objects, shown);
          return { kind, apiVersion: metaVersion, metadata, items } as unknown as ObjectList;
        },
        event: shown,
        kind: 'PartialObjectMetadata',
        apiVersion: metaVersion,
        contentType: 'application/json',
        isShared: true,
      };
    }
    const apiVersion = apiVersionOf(resource, version.name);
    return {
      one: whole,
      *list(metadata, objects) {
        const shown = resource.custom ? whole : (object: UnknownObject) => item(whole(object));
        return { kind: resource.listKind, apiVersion, metadata, items: yield* each(objects, shown) };
      },
      prepare: whole,
      kind: resource.kind,
      apiVersion,
      contentType: 'application/json',
      isShared: true,
    };
  };
}

/** Objects that are shown before the clock is read again. */
const OBJECTS_A_STEP = 32;

function* each<T>(objects: readonly UnknownObject[], show: (object: UnknownObject) => T): Steps<T[]> {
  const shown: T[] = [];
  for (const object of objects) {
    if (shown.length % OBJECTS_A_STEP === OBJECTS_A_STEP - 1) yield;
    shown.push(show(object));
  }
  return shown;
}

const CARRIED: Readonly<Record<string, 'None' | 'Metadata' | 'Object'>> = {
  '': 'Metadata',
  None: 'None',
  Metadata: 'Metadata',
  Object: 'Object',
};

// Kubernetes makes these from its own form of a DaemonSet, in which that is a field.
function withoutTemplateGeneration({ metadata }: UnknownObject): UnknownObject['metadata'] {
  if (metadata.annotations?.[TEMPLATE_GENERATION] === undefined) return metadata;
  const { [TEMPLATE_GENERATION]: _, ...annotations } = metadata.annotations;
  const { annotations: _all, ...rest } = metadata;
  return Object.keys(annotations).length === 0 ? rest : { ...rest, annotations };
}

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

function unknownInclusion(given: string): StatusError {
  const detail = "must be 'Metadata', 'Object', 'None', or empty";
  return badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(given)}: ${detail}`,
  );
}

function refusing(error: StatusError): Rendering {
  const refuse = (): never => {
    throw error;
  };
  return {
    one: refuse,
    list: refuse,
    kind: 'Table',
    apiVersion: META_VERSION,
    contentType: 'application/json',
    isShared: false,
  };
}

/** Each object a table of one row; only the first of a request has the columns. */
function tableRendering(
  printer: Printer,
  now: () => number,
  whole: (object: UnknownObject) => UnknownObject,
  carried: (object: UnknownObject) => UnknownObject | undefined,
  isNullable: boolean,
  apiVersion: string,
): Rendering {
  let isFirst = true;
  const prepared = new WeakMap<UnknownObject, TableRow>();
  const row = (object: UnknownObject): TableRow => {
    const known = prepared.get(object);
    if (known) {
      prepared.delete(object);
      return known;
    }
    const shown = withoutNulls(whole(object)) as UnknownObject;
    const conditions = printer.conditions?.(shown) ?? [];
    const carry = carried(object);
    return {
      cells: printer.cells(shown, now()),
      ...(conditions.length > 0 && { conditions }),
      object: carry ?? null,
    };
  };
  const table = (metadata: Table['metadata'], rows: TableRow[] | null): Table => {
    const columnDefinitions = isFirst ? printer.columns : [];
    isFirst = false;
    return { kind: 'Table', apiVersion, metadata, columnDefinitions, rows: rows as TableRow[] };
  };
  return {
    one(object) {
      const { resourceVersion } = object.metadata;
      // A Table has no name of its own, and its client knows the request.
      const metadata = resourceVersion === undefined ? {} : { resourceVersion };
      return table(metadata, [row(object)]) as unknown as UnknownObject;
    },
    prepare: (object) => void prepared.set(object, row(object)),
    *list(metadata, objects) {
      return table(metadata, isNullable && objects.length === 0 ? null : yield* each(objects, row));
    },
    kind: 'Table',
    apiVersion,
    contentType: 'application/json',
    isShared: false,
  };
}

type Form = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'Object';

// The first acceptable form counts, as in `application/json;as=Table;g=meta.k8s.io;v=v1, application/json`.
function chooseForm(
  { custom }: Resource,
  accept: string | undefined,
  isList: boolean,
): { form: Form; metaVersion: string } {
  const plain = { form: 'Object', metaVersion: META_VERSION } as const;
  if (accept === undefined || accept.trim() === '') return plain;
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (!READABLE.has(type)) continue;
    const parameterValues = new Map(parameters.map((one) => one.split('=', 2) as [string, string | undefined]));
    const form = parameterValues.get('as');
    if (form === undefined) return plain;
    const version = parameterValues.get('v') ?? '';
    if (parameterValues.get('g') !== 'meta.k8s.io' || !META_VERSIONS.has(version)) continue;
    if (isForm(form)) return { form, metaVersion: `meta.k8s.io/${version}` };
  }
  throw custom ? notAcceptable(REPRESENTATIONS) : notAcceptableForm(unavailable(isList));
}

function isForm(form: string): form is Form {
  return form === 'Table' || form === 'PartialObjectMetadata' || form === 'PartialObjectMetadataList';
}

const META_VERSIONS = new Set(['v1', 'v1beta1']);
const READABLE = new Set(['application/json', 'application/*', '*/*']);
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const REPRESENTATIONS = ['application/json', 'application/yaml', PROTOBUF];

function unavailable(isList: boolean): string {
  const streams = isList ? ['application/json;stream=watch', `${PROTOBUF};stream=watch`] : [];
  return `406: Not Acceptable\n\nAvailable representations: ${[...REPRESENTATIONS, ...streams].join(', ')}`;
}
