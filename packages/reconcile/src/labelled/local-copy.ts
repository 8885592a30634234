// The part of a cluster that children known by label need: the objects with the label, and the namespaces. Only objects with the label are
// watched; the owner of a taken name is read when it matters.
import {
  type Client,
  type Clock,
  createInformer,
  type Informer,
  type Kind,
  type KubeObject,
  kindId,
  type Logger,
  Namespace,
  type ObjectRef,
  type Random,
  refOf,
} from '@capstan/kube/cluster';
import type { Target } from '../apply/index.ts';
import { allows, decide } from '../ownership/index.ts';
import type { LabelledChild, LabelledDefinition, LabelledKind } from './definition.ts';
import { type NamespaceState, NO_CLAIMANT } from './difference.ts';

export interface LocalCopyOptions<D> {
  definition: CopiedDefinition<D>;
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  listener: LocalCopyListener;
}

type CopiedDefinition<D> = Pick<
  LabelledDefinition<never, never, D>,
  'tiers' | 'selectors' | 'fieldManager' | 'unitOf' | 'digestOf' | 'detailOf' | 'claimOf' | 'created'
>;

export interface LocalCopyListener {
  /** `isSynced` may have changed. */
  synced(): void;
  changed(units: ReadonlySet<string>): void;
  /** A namespace appeared, or is gone. */
  namespaceChanged(name: string): void;
}

export interface LocalCopy<D> {
  readonly isSynced: boolean;
  /** How many children there are. */
  readonly size: number;
  readonly target: Target;
  units(): Iterable<string>;
  childrenOf(unit: string): readonly LabelledChild<D>[];
  namespace(name: string): NamespaceState;
  /** An object that has the name of a wanted child, as a child. */
  judge(object: KubeObject, wanted: KubeObject): LabelledChild<D>;
  /** Calls back when no object has the name any more; returns a function that ends that. */
  whenFree(kind: Kind, ref: ObjectRef, free: () => void): () => void;
  run(signal: AbortSignal): Promise<void>;
}

interface Watched<D> {
  readonly declared: LabelledKind;
  readonly informer: Informer<LabelledChild<D>>;
}

export function createLocalCopy<D>(options: LocalCopyOptions<D>): LocalCopy<D> {
  const { definition, client, clock, random, logger, listener } = options;
  const common = { client, clock, random, logger };
  const watched: Watched<D>[] = definition.selectors.flatMap((labelSelector) =>
    definition.tiers.flat().map((declared) => ({
      declared,
      informer: createInformer<LabelledChild<D>>({
        ...common,
        // Only the address of the kind in the API is used: `trim` creates the promised type.
        kind: declared.kind as unknown as Kind<LabelledChild<D>>,
        labelSelector,
        ownManagers: [definition.fieldManager],
        trim: (object) => toChild(definition, object),
      }),
    })),
  );
  const namespaces = createInformer({ ...common, kind: Namespace, metadataOnly: true });
  const units = new Map<string, LabelledChild<D>[]>();
  const waits = new Set<Promise<void>>();

  for (const { informer } of watched) {
    informer.subscribe((events) => {
      const changed = new Set<string>();
      let isSynced = false;
      for (const event of events) {
        if (event.type === 'synced' || event.type === 'state') isSynced = true;
        if (event.type === 'upsert') {
          if (event.old !== undefined && event.old.unit !== event.object.unit) drop(event.old, changed);
          put(event.object, changed);
        }
        if (event.type === 'delete') drop(event.object, changed);
      }
      if (isSynced) listener.synced();
      if (changed.size > 0) listener.changed(changed);
    });
  }
  namespaces.subscribe((events) => {
    for (const event of events) {
      // Also when we learn that we may not list them: then nothing more is waited for.
      if (event.type === 'synced' || event.type === 'state') listener.synced();
      else if (event.type === 'delete' || event.old === undefined) listener.namespaceChanged(event.key);
    }
  });

  function put(child: LabelledChild<D>, changed: Set<string>): void {
    const unit = units.get(child.unit);
    changed.add(child.unit);
    if (unit === undefined) {
      units.set(child.unit, [child]);
      return;
    }
    const at = unit.findIndex((each) => isSame(each, child));
    if (at < 0) unit.push(child);
    else unit[at] = child;
  }

  function drop(child: LabelledChild<D>, changed: Set<string>): void {
    const unit = units.get(child.unit);
    changed.add(child.unit);
    const at = unit?.findIndex((each) => isSame(each, child)) ?? -1;
    if (unit === undefined || at < 0) return;
    // One whose label changed leaves the one selection when it is in the other already.
    if (unit[at]?.metadata.resourceVersion !== child.metadata.resourceVersion) return;
    unit.splice(at, 1);
    if (unit.length === 0) units.delete(child.unit);
  }

  const isKnown = ({ declared: { optional = false }, informer }: Watched<D>) =>
    informer.isSynced || (optional && informer.state().reason === 'Forbidden');
  const mayListNamespaces = () => namespaces.state().reason !== 'Forbidden';

  function* informersOf(kind: Kind): Iterable<Informer<never>> {
    if (kindId(kind) === kindId(Namespace)) yield namespaces as unknown as Informer<never>;
    for (const { declared, informer } of watched)
      if (kindId(declared.kind) === kindId(kind)) yield informer as unknown as Informer<never>;
  }

  return {
    get isSynced() {
      return watched.every(isKnown) && (namespaces.isSynced || !mayListNamespaces());
    },
    get size() {
      return watched.reduce((sum, { informer }) => sum + informer.size, 0);
    },
    target: {
      client,
      observeWrite(kind, object) {
        for (const informer of informersOf(kind)) informer.observeWrite(object);
      },
      observeDelete(kind, object) {
        for (const informer of informersOf(kind)) informer.observeDelete(refOf(object), object.metadata.uid ?? '');
      },
    },
    units: () => units.keys(),
    childrenOf: (unit) => units.get(unit) ?? NONE,
    namespace(name) {
      // Without the right to list namespaces nothing is known of them.
      if (!namespaces.isSynced || !mayListNamespaces()) return 'unknown';
      const found = namespaces.get(name);
      if (found === undefined) return 'missing';
      // Nothing can be created in one that is being deleted.
      return found.metadata.deletionTimestamp === undefined ? 'there' : 'going';
    },
    judge: (object, wanted) => toChild(definition, object, wanted),
    whenFree(kind, { namespace, name }, free) {
      const stopping = new AbortController();
      const informer = createInformer({
        ...common,
        kind,
        ...(namespace !== undefined && { namespace }),
        fieldSelector: `metadata.name=${name}`,
        metadataOnly: true,
      });
      informer.subscribe((events) => {
        if (informer.isSynced && informer.size === 0 && events.length > 0) free();
      });
      const run = informer.run(stopping.signal).finally(() => waits.delete(run));
      waits.add(run);
      return () => stopping.abort();
    },
    async run(signal) {
      await Promise.all([namespaces.run(signal), ...watched.map(({ informer }) => informer.run(signal))]);
      await Promise.all(waits);
    },
  };
}

const NONE: readonly never[] = [];

function isSame(left: KubeObject, right: KubeObject): boolean {
  return left.metadata.name === right.metadata.name && left.kind === right.kind;
}

/** Reduces an object to a child. The permits are decided here, while the whole object is at hand. */
function toChild<D>(definition: CopiedDefinition<D>, object: KubeObject, wanted?: KubeObject): LabelledChild<D> {
  const { name = '', namespace = '', uid, resourceVersion } = object.metadata;
  const claimOf = () => (wanted === undefined ? undefined : definition.claimOf(object, wanted));
  const update = decide({ mode: 'labelled', claimOf }, object, NO_CLAIMANT);
  const removal = decide({ mode: 'remove', uid: uid ?? '', provenance: definition.created }, object, NO_CLAIMANT);
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      namespace,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    digest: definition.digestOf(object),
    unit: definition.unitOf(object),
    update: allows(update, 'update') ? update.may : undefined,
    claim: 'conflict' in update ? update.conflict : undefined,
    removal: uid !== undefined && allows(removal, 'delete') ? removal.may : undefined,
    detail: definition.detailOf(object),
  };
}
