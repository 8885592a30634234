// A plan as a reader needs it: disturbances first, then changes, creations and later effects; statuses are folded.

export interface FieldChange {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

interface PlannedWrite {
  readonly level: number;
  readonly by: string;
  readonly for: string;
  readonly verb: string;
  readonly object: string;
  readonly changes: readonly FieldChange[];
  readonly creates?: boolean;
  readonly disturbs?: string;
  readonly passing?: boolean;
}

/** The parts of the `plan` report that the page shows. */
export interface PlanReport {
  readonly given: readonly {
    readonly verb: string;
    readonly object: string;
    readonly changes: readonly FieldChange[];
  }[];
  readonly writes: readonly PlannedWrite[];
  readonly later: readonly PlannedWrite[];
  readonly deliveries: readonly {
    readonly by: string;
    readonly key: string;
    readonly change: string;
    readonly changes?: readonly FieldChange[];
    readonly disturbs?: string;
  }[];
  readonly problems: readonly { readonly by: string; readonly object: string; readonly message: string }[];
  readonly unknowns: readonly string[];
  readonly refusals: readonly string[];
  readonly notes: readonly string[];
  readonly mayFollow: readonly string[];
  readonly undecided: readonly string[];
}

export type EffectKind = 'delete' | 'disturb' | 'change' | 'create' | 'deliver' | 'later' | 'status';

export interface Effect {
  readonly kind: EffectKind;
  /** The word of the tag. */
  readonly word: string;
  readonly object: string;
  /** `rolls pods`. */
  readonly disturbs: string;
  readonly by: string;
  readonly changes: readonly FieldChange[];
}

export interface Effects {
  /** Disturbances first; without statuses. */
  readonly list: readonly Effect[];
  readonly statuses: readonly Effect[];
  readonly created: number;
  readonly changed: number;
  readonly deleted: number;
  readonly disturbed: number;
  readonly delivered: number;
}

const ORDER: readonly EffectKind[] = ['delete', 'disturb', 'change', 'create', 'deliver', 'later', 'status'];

export function effectsOf(report: Partial<PlanReport>): Effects {
  const { given = [], writes = [], later = [], deliveries = [] } = report;
  const all: Effect[] = [
    ...given
      .filter(({ verb }) => verb !== 'none')
      .map(({ verb, object, changes }) =>
        effect(verb === 'delete' ? 'delete' : verb === 'create' ? 'create' : 'change', {
          object,
          by: 'your manifests',
          changes,
        }),
      ),
    ...writes.map((write) => effect(kindOf(write), write)),
    ...later.map((write) => effect(write.verb === 'status' ? 'status' : 'later', { ...write, word: wordOf(write) })),
    ...deliveries.map(({ by, key, change, changes = [], disturbs }) =>
      effect(disturbs === undefined ? 'deliver' : 'disturb', {
        object: key,
        by,
        changes,
        word: change === 'removed' ? 'remove' : 'deliver',
        ...(disturbs !== undefined && { disturbs }),
      }),
    ),
  ];
  const list = all.filter(({ kind }) => kind !== 'status');
  list.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  const numberOf = (test: (one: Effect) => boolean) => new Set(list.filter(test).map(({ object }) => object)).size;
  return {
    list,
    statuses: all.filter(({ kind }) => kind === 'status'),
    created: numberOf(({ word }) => word === 'create'),
    changed: numberOf(({ word }) => word === 'change'),
    deleted: numberOf(({ kind }) => kind === 'delete'),
    disturbed: numberOf(({ disturbs }) => disturbs !== ''),
    delivered: deliveries.length,
  };
}

function kindOf({ verb, creates, disturbs }: PlannedWrite): EffectKind {
  if (verb === 'delete' || verb === 'withdraw') return 'delete';
  if (disturbs !== undefined && disturbs !== '') return 'disturb';
  if (verb === 'status' || verb === 'finalizer') return 'status';
  return creates === true || verb === 'create' || verb === 'mint' ? 'create' : 'change';
}

function wordOf(write: PlannedWrite): string {
  const kind = kindOf(write);
  return kind === 'disturb' ? 'change' : kind;
}

interface EffectParts {
  readonly object: string;
  readonly by: string;
  readonly changes: readonly FieldChange[];
  readonly disturbs?: string;
  readonly word?: string;
  readonly creates?: boolean;
}

function effect(kind: EffectKind, { object, by, changes, disturbs = '', word, creates }: EffectParts): Effect {
  const plain = kind === 'disturb' ? (creates === true ? 'create' : 'change') : kind;
  return { kind, word: word ?? plain, object, by, changes, disturbs };
}

/** A value in one short line; undefined for a field that is not there. */
export function shortValue(value: unknown, most = 90): string | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > most ? `${text.slice(0, most / 2)}…${text.slice(-most / 3)}` : text;
}

/** The objects of a plan in columns: the manifests, then each level of writes after the objects that they were computed for. */
export function planGraph(report: Partial<PlanReport>): {
  readonly nodes: readonly {
    readonly id: string;
    readonly layer: number;
    readonly word: string;
    readonly disturbs: boolean;
  }[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
} {
  const { given = [], writes = [] } = report;
  const layers = new Map<string, { layer: number; word: string; disturbs: boolean }>();
  for (const { object, verb } of given) layers.set(object, { layer: 0, word: verb, disturbs: verb === 'delete' });
  const edges = new Map<string, { from: string; to: string }>();
  for (const write of [...writes].sort((a, b) => a.level - b.level)) {
    const own = layers.get(write.for) ?? { layer: write.level, word: 'computed', disturbs: false };
    layers.set(write.for, own);
    for (const { object } of given) {
      if (object !== write.for && own.layer > 0 && write.level === 1)
        edges.set(`${object} ${write.for}`, { from: object, to: write.for });
    }
    if (write.object === write.for) {
      if (own.word === 'computed') layers.set(write.for, { ...own, word: wordOf(write) });
      continue;
    }
    const disturbs = (write.disturbs ?? '') !== '' || write.verb === 'delete';
    const known = layers.get(write.object);
    layers.set(write.object, {
      layer: Math.max(known?.layer ?? 0, own.layer + 1),
      word: wordOf(write),
      disturbs: disturbs || known?.disturbs === true,
    });
    edges.set(`${write.for} ${write.object}`, { from: write.for, to: write.object });
  }
  return { nodes: [...layers].map(([id, own]) => ({ id, ...own })), edges: [...edges.values()] };
}
