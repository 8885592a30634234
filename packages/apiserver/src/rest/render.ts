// What an answer looks like: an object in the version that was asked for, only its metadata, or a row of a Table. Renderings
// of the first two kinds are remembered per stored object, so that a thousand watchers share one; a Table tells ages, which
// are different each time.
import type { Clock, UnknownObject } from '@capstan/kube';
import { badRequest, notAcceptable } from '../errors.ts';
import { apiVersionOf, inVersion, type Resource, type ResourceVersion } from '../resources/resource.ts';
import type { Printer, Table, TableRow } from '../table/printer.ts';

export interface Rendering {
  /** The same stored object always gives the same rendered object, if the rendering is shared. */
  one(object: UnknownObject): UnknownObject;
  list(metadata: ListMetadata, objects: readonly UnknownObject[]): RenderedList;
  /** Of bookmarks. */
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

/** What the request says about the answer. */
export interface Wishes {
  accept: string | undefined;
  /** Of the query: what a row of a Table carries besides its cells. */
  includeObject: string | undefined;
}

export type Renderer = (resource: Resource, version: ResourceVersion, wishes: Wishes) => Rendering;

const META_VERSION = 'meta.k8s.io/v1';

export function createRenderer(clock: Pick<Clock, 'now'>): Renderer {
  const partials = new WeakMap<UnknownObject, UnknownObject>();
  // By the version itself and not by its name: a definition may change what a version shows.
  const versions = new WeakMap<UnknownObject, WeakMap<ResourceVersion, UnknownObject>>();

  const partial = (object: UnknownObject): UnknownObject => {
    const known = partials.get(object);
    if (known) return known;
    const made = { kind: 'PartialObjectMetadata', apiVersion: META_VERSION, metadata: object.metadata };
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

  return (resource, version, { accept, includeObject }) => {
    const form = chooseForm(accept);
    const whole = convert(resource, version);
    if (form === 'Table') {
      const carried = CARRIED[includeObject ?? ''];
      if (carried === undefined) {
        const detail = `must be one of "None", "Metadata" or "Object"`;
        throw badRequest(`includeObject: Invalid value: ${JSON.stringify(includeObject)}: ${detail}`);
      }
      const object = carried === 'Object' ? whole : carried === 'Metadata' ? partial : () => undefined;
      return tableRendering(version.printer, () => clock.now(), whole, object);
    }
    if (form === 'PartialObjectMetadata') {
      const kind = 'PartialObjectMetadataList';
      return {
        one: partial,
        list: (metadata, objects) => ({ kind, apiVersion: META_VERSION, metadata, items: objects.map(partial) }),
        kind: 'PartialObjectMetadata',
        apiVersion: META_VERSION,
        contentType: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
        isShared: true,
      };
    }
    const apiVersion = apiVersionOf(resource, version.name);
    return {
      one: whole,
      list: (metadata, objects) => ({ kind: resource.listKind, apiVersion, metadata, items: objects.map(whole) }),
      kind: resource.kind,
      apiVersion,
      contentType: 'application/json',
      isShared: true,
    };
  };
}

const CARRIED: Readonly<Record<string, 'None' | 'Metadata' | 'Object'>> = {
  '': 'Metadata',
  None: 'None',
  Metadata: 'Metadata',
  Object: 'Object',
};

/** Each object a table of one row; only the first of a request tells the columns. */
function tableRendering(
  printer: Printer,
  now: () => number,
  whole: (object: UnknownObject) => UnknownObject,
  carried: (object: UnknownObject) => UnknownObject | undefined,
): Rendering {
  let isFirst = true;
  const row = (object: UnknownObject): TableRow => {
    const shown = whole(object);
    const conditions = printer.conditions?.(shown) ?? [];
    const carry = carried(object);
    return {
      cells: printer.cells(shown, now()),
      ...(conditions.length > 0 && { conditions }),
      ...(carry && { object: carry }),
    };
  };
  const table = (metadata: Table['metadata'], objects: readonly UnknownObject[]): Table => {
    const columnDefinitions = isFirst ? printer.columns : [];
    isFirst = false;
    return { kind: 'Table', apiVersion: META_VERSION, metadata, columnDefinitions, rows: objects.map(row) };
  };
  return {
    one(object) {
      const { resourceVersion } = object.metadata;
      // A Table has no name of its own; whoever asked for one knows what it is about.
      return table(resourceVersion === undefined ? {} : { resourceVersion }, [object]) as unknown as UnknownObject;
    },
    list: table,
    kind: 'Table',
    apiVersion: META_VERSION,
    contentType: 'application/json',
    isShared: false,
  };
}

type Form = 'Table' | 'PartialObjectMetadata' | 'Object';

// The first acceptable form counts, as in `application/json;as=Table;g=meta.k8s.io;v=v1, application/json`.
function chooseForm(accept: string | undefined): Form {
  if (accept === undefined || accept.trim() === '') return 'Object';
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (!READABLE.has(type)) continue;
    const wished = new Map(parameters.map((one) => one.split('=', 2) as [string, string | undefined]));
    const form = wished.get('as');
    if (form === undefined) return 'Object';
    if (wished.get('g') !== 'meta.k8s.io' || wished.get('v') !== 'v1') continue;
    if (form === 'Table' || form === 'PartialObjectMetadata') return form;
    if (form === 'PartialObjectMetadataList') return 'PartialObjectMetadata';
  }
  throw notAcceptable(['application/json']);
}

const READABLE = new Set(['application/json', 'application/*', '*/*']);
