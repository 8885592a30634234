import type { UnknownObject } from '@capstan/kube';
import type { Core } from '../core.ts';
import { badRequest, expired, StatusError, tooLargeResourceVersion, unreadableRevision } from '../errors.ts';
import type { Steps } from '../steps.ts';
import type { KeyedObject } from '../store/store.ts';
import { compareKeys } from '../store/table.ts';
import { decodeContinue, encodeContinue } from './continue-token.ts';
import { type ListOptions, parseRevision } from './options.ts';
import type { ListMetadata, RenderedList, Rendering } from './render.ts';
import { parseSelection, type Selection } from './selectors.ts';
import { existing, keyFor, type Target } from './target.ts';

/** Objects that are matched or rendered before the clock is read again. */
export const OBJECTS_A_STEP = 32;

/** One object. A resourceVersion asks for a state that is not older; the store is always at its newest. */
export function getObject(core: Core, target: Target, resourceVersion: string): UnknownObject {
  if (!/^\d*$/.test(resourceVersion)) throw unreadableRevision(resourceVersion, 'resourceVersion: ');
  const asked = parseRevision(resourceVersion);
  if (asked !== undefined && asked > core.store.revision) throw tooLargeResourceVersion(asked, core.store.revision);
  return existing(core, target);
}

/** The objects of a list, or of a page of one. */
export interface SelectedObjects {
  readonly metadata: ListMetadata;
  readonly objects: readonly UnknownObject[];
}

/** A list, or a page of one. All pages of a list show the same revision, as long as the server remembers it. */
export function* listObjects(
  core: Core,
  target: Target,
  options: ListOptions,
  rendering: Rendering,
): Steps<RenderedList> {
  const { metadata, objects } = yield* selectObjects(core, target, options);
  return yield* rendering.list(metadata, objects);
}

export function* selectObjects(core: Core, target: Target, options: ListOptions): Steps<SelectedObjects> {
  const selection = parseSelection(options, target);
  if (options.continue !== '') return yield* nextPage(core, target, options, selection);
  const { resourceVersion: asked, limit } = options;
  if (asked !== undefined && asked > core.store.revision) throw tooLargeResourceVersion(asked, core.store.revision);

  // A page of a given revision is exact, unless the client sets another match: so it was before resourceVersionMatch existed.
  const exact =
    options.match === 'Exact' || (options.match === undefined && limit > 0 && asked !== undefined && asked > 0);
  const revision = exact && asked !== undefined ? asked : core.store.revision;
  const all = revision === core.store.revision ? currentObjects(core, target, selection) : undefined;
  const objects = all ?? core.store.listAt(target.resource.storageKey, prefixOf(target), revision);
  // "Any revision will do" is answered from memory and therefore whole.
  return yield* page(objects, selection, asked === 0 ? 0 : limit, revision, false);
}

function* nextPage(core: Core, target: Target, options: ListOptions, selection: Selection): Steps<SelectedObjects> {
  const token = decodeContinue(options.continue);
  if (options.resourceVersion !== undefined && options.resourceVersion !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  const inconsistent = token.revision === undefined;
  const revision = token.revision ?? core.store.revision;
  let objects: KeyedObject[];
  try {
    objects = core.store.listAt(target.resource.storageKey, prefixOf(target), revision);
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 410) throw error;
    throw expired(CONTINUE_TOO_OLD, encodeContinue({ revision: undefined, after: token.after }));
  }
  const rest = objects.filter(({ key }) => compareKeys(key, token.after) > 0);
  return yield* page(rest, selection, options.limit, revision, inconsistent);
}

function* page(
  objects: readonly KeyedObject[],
  selection: Selection,
  limit: number,
  revision: number,
  inconsistent: boolean,
): Steps<SelectedObjects> {
  const items: UnknownObject[] = [];
  const metadata: ListMetadata = { resourceVersion: String(revision) };
  let last = '';
  for (const [index, { key, object }] of objects.entries()) {
    if (limit > 0 && items.length === limit) {
      // With a selector the rest may hold nothing; Kubernetes hands out the token all the same, and no count.
      metadata.continue = encodeContinue({ revision: inconsistent ? undefined : revision, after: last });
      if (selection.everything) metadata.remainingItemCount = objects.length - index;
      break;
    }
    last = key;
    if (index % OBJECTS_A_STEP === OBJECTS_A_STEP - 1) yield;
    if (selection.matches(object)) items.push(object);
  }
  return { metadata, objects: items };
}

/** Returns the present objects of the target: one look-up when the selection names the object, else the whole prefix. */
export function currentObjects(core: Pick<Core, 'store'>, target: Target, selection: Selection): KeyedObject[] {
  const { storageKey, namespaced } = target.resource;
  const { name } = selection;
  if (name !== undefined && (!namespaced || target.namespace !== '')) {
    const key = keyFor(target, name);
    const object = core.store.get(storageKey, key);
    return object ? [{ key, object }] : [];
  }
  return core.store.list(storageKey, prefixOf(target));
}

export function prefixOf(target: Target): string {
  return target.resource.namespaced && target.namespace !== '' ? `${target.namespace}/` : '';
}

const CONTINUE_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
