// The contract between the server and the page: the body of each answer and of each event of the stream. Reports of operators are in
// report-types.ts. Neither file imports code, so that the page and the server can both use them. Fields are only ever added.

export type * from './report-types.ts';

/** The state of an object as it is drawn. `none`: no operator owns the kind, so its health is not known. */
export type RowState = 'ready' | 'broken' | 'progress' | 'paused' | 'none';

/** The place of an object: `world` is empty for the local cluster, `kind` is `KIND.GROUP`, `key` is `NAMESPACE/NAME` or `NAME`. */
export interface Place {
  readonly world: string;
  readonly kind: string;
  readonly key: string;
}

/** `POST /api/login`: exchanges the one-time code of the fragment. */
export interface LoginRequest {
  readonly code: string;
}
export interface LoginAnswer {
  readonly token: string;
}

/** Every answer with a status of 400 or more. */
export interface ProblemAnswer {
  readonly message: string;
  /** The Role to request where a right is missing, as YAML. */
  readonly role?: string;
}

/** `/api/session`. */
export interface SessionAnswer {
  readonly context: string;
  readonly version: string;
  /** The name of the user as the API server knows it; absent where it is not known. */
  readonly user?: string;
  /** The page shows a recording, whose end is its present. */
  readonly isRecording?: boolean;
  /** Differs for each start of the server. */
  readonly epoch: string;
  /** True if the server was started with `--allow-writes`. */
  readonly writes: boolean;
  readonly worlds: readonly { readonly name: string }[];
  readonly operators: readonly string[];
  readonly kinds: readonly KindAccess[];
}
export interface KindAccess {
  readonly world: string;
  readonly kind: string;
  /** `served`, `not-served`, `forbidden` or `unknown`. */
  readonly access: string;
  /** For a kind that the user may not read: the Role or ClusterRole to request, as YAML. */
  readonly role?: string;
}

/** A row of the explorer. */
export interface Row extends Place {
  readonly id: string;
  readonly state: RowState;
  readonly operator?: string;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
}

/** `/api/overview?ns=`: all namespaces, or the objects of one and the roots that affect them. */
export interface OverviewAnswer {
  /** At most 50, the root that affects most objects first. */
  readonly roots: readonly OverviewRoot[];
  readonly rootCount: number;
  /** Problems that depend on kinds that are still filling: whether they are roots is not known yet. */
  readonly heldCount: number;
  readonly progress: readonly Row[];
  readonly progressCount: number;
  readonly operators: readonly {
    readonly name: string;
    readonly objects: number;
    readonly ready: number;
    /** How many keys its sinks deliver. */
    readonly delivered: number;
    /** The instance that writes; absent where no Lease is known. */
    readonly leader?: string;
  }[];
  readonly sinks: readonly { readonly id: string; readonly keys: number }[];
  /** Kinds that are not listed yet: roots may still be missing. */
  readonly filling: readonly FillingKind[];
  /** The namespaces with objects of operators, those with most problems first, at most 100. */
  readonly namespaces: readonly { readonly name: string; readonly objects: number; readonly unready: number }[];
}
export interface FillingKind {
  readonly world: string;
  readonly kind: string;
  readonly received: number;
  /** About how many more there are; absent where the server does not count. */
  readonly remaining?: number;
  /** The error of the last attempt. */
  readonly problem?: string;
}
export interface OverviewRoot extends Place {
  readonly id: string;
  readonly state: 'broken' | 'absent' | 'paused';
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
  /** Ids of at most 20 affected objects, nearest first. */
  readonly affects: readonly string[];
  readonly affectsCount: number;
  /** From the root to the farthest of the affected objects, at most five ids; the middle is left out where `chainLeft` is more than 0. */
  readonly chain: readonly string[];
  readonly chainLeft: number;
}

/** `/api/objects?q=&sort=&after=&limit=`: `sort` is `state` (default), `name`, `kind` or `since`, with `-` before it for descending. */
export interface ObjectsAnswer {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly facets: {
    readonly state: Readonly<Record<string, number>>;
    readonly kind: Readonly<Record<string, number>>;
    readonly operator: Readonly<Record<string, number>>;
    readonly namespace: Readonly<Record<string, number>>;
    /** `-` is the cluster of the console. */
    readonly cluster: Readonly<Record<string, number>>;
  };
}

/** `/api/object/WORLD/KIND.GROUP/NAMESPACE/NAME`, `-` for the local world. */
export interface ObjectAnswer {
  readonly id: string;
  /** Without managedFields. A Secret has `keys` (names and sizes) instead of its content. */
  readonly object: Readonly<Record<string, unknown>>;
  readonly owners: readonly { readonly path: string; readonly manager: string }[];
  readonly health: Row | null;
  readonly cause: CauseAnswer | null;
  readonly history: readonly unknown[];
  readonly changes: readonly ChangeAnswer[];
  readonly conditions: readonly ConditionAnswer[];
  /** Why the object is as it is, in sentences; each line is a paragraph. */
  readonly why: string;
  /** The recorded reads of its plans, at most 500, and how many there are. */
  readonly reads: readonly ReadAnswer[];
  readonly readCount: number;
  /** The keys of sinks that read the object, at most 200. */
  readonly deliveries: readonly DeliveryAnswer[];
  /** Kubernetes Events about the object, newest first; absent where they may not be read. */
  readonly events?: readonly EventAnswer[];
  /** The pods of the object and of workloads that its plans write, those with problems first; at most 50. */
  readonly pods: readonly PodAnswer[];
}
export interface PodAnswer extends Place {
  readonly id: string;
  readonly state: 'ready' | 'progress' | 'broken';
  readonly message: string;
  /** `ReplicaSet web-6d4cf5`. */
  readonly owner?: string;
  readonly node?: string;
  /** RFC 3339. */
  readonly since?: string;
  /** The embedded cluster does not run it. */
  readonly isSimulated?: true;
}
export interface ConditionAnswer {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
}
export interface ReadAnswer extends Place {
  readonly id: string;
  readonly presence: 'known' | 'absent' | 'unknown';
  /** Names of the projections: the parts of the object that are read; empty where it is read whole. */
  readonly projections: readonly string[];
  /** Derivations between the object and the plan, as `name(key)`. */
  readonly via: readonly string[];
  /** Found as a member of a list. */
  readonly isListed: boolean;
}
export interface DeliveryAnswer {
  readonly sink: string;
  readonly key: string;
  /** `acknowledged`, `rejected` or `waiting` where this process delivers; `not-known` in a console that only reads. */
  readonly state: 'acknowledged' | 'rejected' | 'waiting' | 'not-known';
  readonly message?: string;
}
export interface CauseAnswer {
  /** RFC 3339. */
  readonly at: string;
  /** `operator.reconciler` */
  readonly by: string;
  /** The object that the reconciler worked on, as `Kind.group namespace/name`. */
  readonly for: string;
  /** Empty: it was so when the process started. */
  readonly changes: readonly {
    readonly object: string;
    readonly paths: readonly string[];
    /** Short digests, `absent` or `unknown`. */
    readonly from: string;
    readonly to: string;
    /** From the changed object to the plan, nearest first. */
    readonly via: readonly string[];
  }[];
  readonly more?: number;
}
export interface EventAnswer {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** RFC 3339. */
  readonly at: string;
}

/** `/api/graph/…?dir=both|reads|readers&depth=&budget=`. */
export interface GraphAnswer {
  readonly nodes: readonly GraphNode[];
  /** From the reader to the object that it reads, by ids. */
  readonly edges: readonly { readonly from: string; readonly to: string; readonly via: readonly string[] }[];
  /** The omitted neighbours of each parent. */
  readonly left: readonly {
    readonly of: string;
    readonly direction: 'reads' | 'readers' | 'writes';
    readonly count: number;
    readonly worst: string;
  }[];
  /** Ids of objects that the plans of this object write. */
  readonly writes: readonly string[];
  /** The newest write of one of them. */
  readonly last?: { readonly id: string; readonly cause: CauseAnswer };
}
export interface GraphNode extends Place {
  readonly id: string;
  /** A row's state, or `absent`, `unknown`, `sink`. */
  readonly state: string;
  /** Steps from the object; negative for objects that it reads. */
  readonly distance: number;
}

/** `/api/changes?before=&limit=&object=`, newest first. */
export interface ChangesAnswer {
  readonly epoch: string;
  readonly changes: readonly ChangeAnswer[];
}
export interface ChangeAnswer extends Place {
  readonly sequence: number;
  readonly wave: number;
  /** RFC 3339. */
  readonly at: string;
  readonly verb: 'created' | 'changed' | 'deleted';
  readonly paths: readonly string[];
  readonly more: number;
  readonly cause?: CauseAnswer;
  /** The conditions whose status or reason this change set. */
  readonly conditions?: readonly ConditionChange[];
}
export interface ConditionChange {
  readonly type: string;
  /** `True`, `False`, `Unknown`, or '' where there was none. */
  readonly before: string;
  readonly after: string;
  readonly reason: string;
  readonly message: string;
}

/** `POST /api/plan`. The report follows `plan` of docs/cli-output.schema.json. */
export interface PlanRequest {
  /** YAML or JSON, one or more documents; empty with `action`. */
  readonly manifests: string;
  /** A plan of an action of an operator on one object, instead of manifests: the plan is carried out with this verb. */
  readonly action?: { readonly verb: 'drain' | 'resume'; readonly object: string };
  /** True plans the deletion of the objects. */
  readonly delete?: boolean;
  /** The resourceVersion of each object as the draft was opened, by id: a plan of an object that is another one by now is refused with 409. */
  readonly base?: Readonly<Record<string, string>>;
  /** Numbers the plans of one editor: a plan ends the older plans of the same draft, which are answered with 499. */
  readonly draft?: string;
}
export interface PlanAnswer {
  /** Valid for ten minutes; absent where the plan cannot be applied (a problem, or a server without `--allow-writes`). */
  readonly planId?: string;
  readonly report: Readonly<Record<string, unknown>>;
  /** The names of objects that the plan deletes: `POST /api/act` asks for them. */
  readonly deletes?: readonly string[];
  /** The report as `capstan plan` prints it, without colours. */
  readonly text: string;
}

/** `POST /api/act`: 403 without `--allow-writes`, 409 if an input of the plan changed since. */
export interface ActRequest {
  readonly planId: string;
  readonly verb: 'apply' | 'drain' | 'resume';
  /** For a plan that deletes: the name of each deleted object, as the user typed it. */
  readonly confirm?: readonly string[];
}
export interface ActAnswer {
  readonly done: readonly { readonly id: string; readonly verb: string }[];
}

/** `/api/schema/KIND.GROUP`: the schema of a kind as JSON Schema, with descriptions; 404 where the cluster has none. */
export interface SchemaAnswer {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** `/api/timeline?since=&object=`: lanes of the objects that changed, those of one cause adjacent. */
export interface TimelineAnswer {
  readonly epoch: string;
  /** RFC 3339: the feed has no changes before. */
  readonly from: string;
  readonly to: string;
  readonly lanes: readonly TimelineLane[];
  readonly laneCount: number;
  readonly waves: readonly WaveAnswer[];
}
export interface TimelineLane extends Place {
  readonly id: string;
  /** The conditions that the object reported, oldest first. `to` is absent for the present one. */
  readonly spans: readonly {
    readonly from: string;
    readonly to?: string;
    readonly state: 'ready' | 'broken' | 'progress' | 'unknown' | 'absent';
    readonly text: string;
  }[];
  readonly marks: readonly {
    readonly at: string;
    readonly sequence: number;
    readonly verb: ChangeAnswer['verb'];
    /** Ids of the objects that caused it. */
    readonly causes: readonly string[];
  }[];
}
/** `/api/wave/NUMBER` is one of them, with its changes. */
export interface WaveAnswer {
  readonly wave: number;
  readonly at: string;
  readonly ms: number;
  /** Derivations that ran, and those whose result was equal: the wave stopped there. */
  readonly runs: number;
  readonly equal: number;
  readonly nodes: number;
  readonly changes: number;
}
export interface WaveDetailAnswer extends WaveAnswer {
  readonly list: readonly ChangeAnswer[];
}

/** `/api/find?q=&limit=`: the palette. Objects first, then absent objects that a derivation reads. */
export interface FindAnswer {
  readonly objects: readonly Row[];
  readonly absent: readonly Place[];
  readonly total: number;
}

/** The events of `/api/events`, by type. */
export interface StreamEvents {
  readonly hello: Readonly<Record<string, never>>;
  readonly objects: { readonly rows: readonly Row[]; readonly removed: readonly string[] };
  readonly changes: { readonly changes: readonly ChangeAnswer[]; readonly more: number };
  readonly roots: Omit<OverviewAnswer, 'sinks' | 'filling'>;
  readonly sinks: { readonly sinks: OverviewAnswer['sinks'] };
  readonly sync: { readonly filling: OverviewAnswer['filling'] };
  readonly gap: { readonly rows?: number; readonly removed?: number };
  readonly bye: Readonly<Record<string, never>>;
}
