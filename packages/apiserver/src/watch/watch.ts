import type { UnknownObject, WatchEvent, WatchStream } from '@capstan/kube';
import type { Core } from '../core.ts';
import { type Status, tooLargeResourceVersion, tooOldResourceVersion } from '../errors.ts';
import type { WatchOptions } from '../rest/options.ts';
import { currentObjects, OBJECTS_A_STEP, prefixOf } from '../rest/read.ts';
import type { Rendering } from '../rest/render.ts';
import { parseSelection, type Selection } from '../rest/selectors.ts';
import type { Target } from '../rest/target.ts';
import type { Steps } from '../steps.ts';
import type { StoreEvent } from '../store/history.ts';
import { createEventStream } from './event-stream.ts';
import type { WatchHub } from './watch-hub.ts';

/** As much as the history keeps in any case: a slow watcher holds hardly anything that would not be there without it, and can resume. */
const BUFFER_BYTES = 16 * 1024 * 1024;
const BOOKMARK_INTERVAL_MS = 60_000;
const BOOKMARK_BEFORE_END_MS = 2_000;
const DEFAULT_TIMEOUT_MS = 1_800_000;
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** The selection of a watch, which remembers the objects that it has matched until it is asked to forget them. */
export interface PreparedSelection {
  readonly selection: Selection;
  forget(): void;
}

/** Matches and renders in steps all objects with which a watch begins. Opening the watch, which is a single step, takes moments then. */
export function* prepareWatch(
  core: Core,
  target: Target,
  options: WatchOptions,
  rendering: Rendering,
): Steps<PreparedSelection> {
  const selection = parseSelection(options, target);
  const known = new Map<UnknownObject, boolean>();
  let isForgotten = false;
  const matches = (object: UnknownObject) => {
    const matched = known.get(object) ?? selection.matches(object);
    if (!isForgotten) known.set(object, matched);
    return matched;
  };
  for (const [index, object] of firstObjects(core, target, options, selection).entries()) {
    if (index % OBJECTS_A_STEP === OBJECTS_A_STEP - 1) yield;
    if (matches(object)) rendering.prepare?.(object);
  }
  return {
    selection: selection.everything ? selection : { ...selection, matches },
    forget() {
      isForgotten = true;
      known.clear();
    },
  };
}

function firstObjects(
  { store }: Core,
  target: Target,
  options: WatchOptions,
  selection: Selection,
): readonly UnknownObject[] {
  const { resourceVersion: asked = 0, sendInitialEvents, match } = options;
  if (sendInitialEvents || (asked === 0 && match === undefined)) {
    return currentObjects({ store }, target, selection).map(({ object }) => object);
  }
  if (asked === 0 || asked < store.history.compacted) return [];
  const found: UnknownObject[] = [];
  const prefix = prefixOf(target);
  for (let index = store.history.indexAfter(asked); index < store.history.length; index += 1) {
    const event = store.history.at(index);
    if (event?.resource !== target.resource.storageKey || !event.key.startsWith(prefix)) continue;
    if (event.previous) found.push(event.previous);
    found.push(event.object);
  }
  return found;
}

/** Opens a watch: the existing objects (if requested), then every change after them, until a user ends it or its time is over. */
export function openWatch(
  core: Core,
  hub: WatchHub,
  target: Target,
  options: WatchOptions,
  rendering: Rendering,
  selection: Selection,
  signal: AbortSignal | undefined,
): WatchStream {
  const asked = options.resourceVersion;
  if (options.sendInitialEvents && asked !== undefined && asked > core.store.revision) {
    throw tooLargeResourceVersion(asked, core.store.revision);
  }
  const { storageKey } = target.resource;
  const prefix = prefixOf(target);

  const translate = (event: StoreEvent): WatchEvent | undefined => {
    if (prefix !== '' && !event.key.startsWith(prefix)) return undefined;
    const before = event.previous !== undefined && selection.matches(event.previous);
    const now = !event.deleted && selection.matches(event.object);
    if (now) return hub.shared(event, before ? 'MODIFIED' : 'ADDED', rendering);
    return before ? hub.shared(event, 'DELETED', rendering) : undefined;
  };

  const bookmark = (annotations?: Record<string, string>): WatchEvent => ({
    type: 'BOOKMARK',
    object: {
      kind: rendering.kind,
      apiVersion: rendering.apiVersion,
      metadata: { resourceVersion: String(core.store.revision), ...(annotations && { annotations }) },
    },
  });

  const present = (): WatchEvent[] => {
    const found = currentObjects(core, target, selection).filter(({ object }) => selection.matches(object));
    return found.map(({ object }) => added(object, rendering));
  };

  const initial: WatchEvent[] = [];
  let skipTo = 0;
  if (options.sendInitialEvents) {
    for (const event of present()) initial.push(event);
    // A client that takes no bookmarks does not learn where its initial events end.
    if (options.allowBookmarks) initial.push(bookmark({ [INITIAL_EVENTS_END]: 'true' }));
  } else if (asked === undefined || asked === 0) {
    // Without a match this is the old way: synthetic events first. `sendInitialEvents=false` wants none.
    if (options.match === undefined) for (const event of present()) initial.push(event);
  } else if (asked < core.store.history.compacted) {
    return refused(tooOldResourceVersion(asked, core.store.history.compacted).status);
  } else {
    const { history } = core.store;
    for (let index = history.indexAfter(asked); index < history.length; index += 1) {
      const event = history.at(index);
      if (event?.resource !== storageKey) continue;
      const translated = translate(event);
      if (translated) initial.push(translated);
    }
    skipTo = asked;
  }

  const timeoutMs =
    options.timeoutSeconds === undefined || options.timeoutSeconds <= 0
      ? DEFAULT_TIMEOUT_MS * (1 + core.random())
      : options.timeoutSeconds * 1000;
  const { stream, push, end, abort } = createEventStream({
    initial,
    limit: core.watchBufferLimit,
    limitBytes: BUFFER_BYTES,
    schedule: hub.schedule,
    onEnd: () => {
      unsubscribe();
      timeout.cancel();
      reminder?.cancel();
      signal?.removeEventListener('abort', end);
      hub.closed(end);
    },
  });
  const timeout = core.clock.after(timeoutMs, () => end());
  const deadline = core.clock.now() + timeoutMs - Math.min(BOOKMARK_BEFORE_END_MS, timeoutMs / 2);
  const remind = () => {
    const wait = Math.min(BOOKMARK_INTERVAL_MS, deadline - core.clock.now());
    if (wait <= 0) return undefined;
    return core.clock.after(wait, () => {
      if (push(bookmark())) reminder = remind();
    });
  };
  let reminder = options.allowBookmarks ? remind() : undefined;
  const unsubscribe = core.store.subscribe(storageKey, (event) => {
    if (event.revision <= skipTo) return;
    const translated = translate(event);
    if (translated) push(translated);
  });
  hub.opened(end, target.resource, abort);
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end, { once: true });
  return stream;
}

function added(object: UnknownObject, rendering: Rendering): WatchEvent {
  return { type: 'ADDED', object: (rendering.event ?? rendering.one)(object) };
}

// A watch from too far back is opened, and its first and only event is the refusal, as with kube-apiserver.
async function* refused(status: Status): AsyncGenerator<readonly WatchEvent[]> {
  yield [await Promise.resolve<WatchEvent>({ type: 'ERROR', object: status })];
}
