// Every error that this package throws for its callers. A message shows the attempt, its object and the problem; the remedy shows the
// action to take.

import { catalogue, reasonOf } from '@capstan/kube/cluster';

export const ApplyErrors = catalogue('apply', {
  Unsettled: (rounds: number) => ({
    message: `the writes of this plan did not settle in ${rounds} rounds: something else writes against them`,
    remedy: 'check the managed fields of the objects that it writes',
  }),
  NotAsShown: (object: string) => ({
    message: `${object} differs from the cache, also when read a second time`,
    remedy: 'wait for the retry; if it persists, check for the object in a namespace that is not watched',
  }),
  DueAgain: (object: string, minter: string) => ({
    message: `${object} was created by ${minter}, and is already due to be recreated`,
    remedy: 'check its validity and the clock of this machine; it is recreated every ten seconds at most',
  }),
  NotMade: (minter: string, ms: number) => ({
    message: `the minter ${minter} did not return within ${ms / 1000} s`,
    remedy: 'see what it waits for; it is tried again',
  }),
  StatusNotKept: (fields: readonly string[]) => ({
    message: `the server did not keep the status that was written to it (${fields.join(', ')})`,
    remedy: 'install the CRD of this release, and see that its schema has every field that the reconciler sets',
  }),
});

export const DefinitionErrors = catalogue('definition', {
  BadName: (what: string, name: string) => ({
    message: `${what} cannot be named ${JSON.stringify(name)}`,
    remedy: 'use lower-case letters, digits and single hyphens, beginning with a letter',
  }),
  TwoOfOneName: (operator: string, name: string) => ({
    message: `the operator ${operator} has two reconcilers or sinks named ${name}`,
    remedy: 'give one of them another name',
  }),
  NoWithFlags: (operator: string) => ({
    message: `the operator ${operator} declares flags and no withFlags, so they would change nothing`,
    remedy: 'add withFlags(values), which returns the operator with these values',
  }),
  UndeclaredWrite: (reconciler: string, kind: string, role: string | undefined) => ({
    message: `${reconciler} plans a ${kind}${role === undefined ? '' : ` in a world of role ${role}`}, which it does not declare`,
    remedy:
      role === undefined
        ? "add it to the reconciler's writes"
        : `add writing(${kind.split('.')[0]}, 'apply', { in: '${role}' }) to the reconciler's writes`,
  }),
  UndeclaredMode: (reconciler: string, kind: string, mode: string, declared: readonly string[]) => ({
    message: `${reconciler} plans ${mode}(${kind.split('.')[0]}, …) and declares only ${declared.join(', ')} for it`,
    remedy: `declare writing(${kind.split('.')[0]}, [${[...declared, mode].map((one) => `'${one}'`).join(', ')}]) in its writes`,
  }),
  UndeclaredNamespace: (reconciler: string, kind: string, namespace: string) => ({
    message: `${reconciler} plans a ${kind} in the namespace ${namespace}, which is not one of those that it declares`,
    remedy: 'add it to `namespaces` of writing(…), or leave that out',
  }),
  CannotHold: (reconciler: string) => ({
    message: `${reconciler} declares finalizer: false, and its plan has something that would be left behind when its object is deleted`,
    remedy: 'leave out finalizer: false, or plan only children that the garbage collector removes with their owner',
  }),
  BadFieldPath: (path: string) => ({
    message: `${JSON.stringify(path)} is not the path of a field`,
    remedy: 'write it as spec.ports, or metadata.annotations[example.com/key]; lists are passed through',
  }),
  YieldsListItem: (child: string, path: string) => ({
    message: `${child} yields ${path}, and a path can only go through fields, not through items of lists`,
    remedy: 'yield the field that holds the list, or nothing',
  }),
  NoName: (kind: string) => ({
    message: `a ${kind} is planned without a name`,
    remedy: 'give it a name that follows from its owner (childName)',
  }),
  NoNamespace: (kind: string, name: string) => ({
    message: `${kind} ${name} is planned without a namespace, which its kind needs`,
    remedy: 'give the namespace, usually that of the object that is reconciled',
  }),
  HasNamespace: (kind: string, key: string) => ({
    message: `${kind} ${key} is planned with a namespace, and its kind has none`,
    remedy: 'leave the namespace out',
  }),
  PlannedTwice: (child: string) => ({
    message: `${child} is planned twice`,
    remedy: 'plan every child once, in one group',
  }),
  NoUid: (kind: string) => ({
    message: `the removal of a ${kind} is planned without its name and uid`,
    remedy: 'plan the removal of an object that was read',
  }),
});

export const DigestErrors = catalogue('digest', {
  NotPlain: (what: string) => ({
    message: `a digest was asked of ${what}, which JSON cannot hold, so its changes would not be seen`,
    remedy: 'digest plain data: texts, finite numbers, lists, objects; turn a Map into its entries',
  }),
});

export const LeadershipErrors = catalogue('leadership', {
  LeaseTooShort: (leaseMs: number, renewMs: number) => ({
    message: `a lease of ${leaseMs} ms is not longer than its renew deadline of ${renewMs} ms, so two could hold it at a time`,
    remedy: 'use a longer lease duration or a shorter renew deadline',
  }),
  RenewTooShort: (renewMs: number, retryMs: number) => ({
    message: `a renew deadline of ${renewMs} ms leaves no time for a second try after ${retryMs} ms`,
    remedy: 'use a renew deadline of more than 1.2 times the retry period',
  }),
  NoRetry: (retryMs: number) => ({
    message: `a retry period of ${retryMs} ms would never rest`,
    remedy: 'use a retry period above 0',
  }),
});

export const ManagerErrors = catalogue('manager', {
  StaleLimitTooShort: (ms: number) => ({
    message: `a limit of ${ms} ms for stale caches is shorter than a quiet watch takes to prove that they are current`,
    remedy: 'use at least 60 s',
  }),
  SameOperator: (name: string) => ({
    message: `two operators are named "${name}"`,
    remedy: 'give one of them another name, or leave one out',
  }),
  NotInstalled: (kinds: readonly string[]) => ({
    message: `the cluster does not serve ${kinds.join(', ')}`,
    remedy: 'run again with --install-crds, or: capstan crds | kubectl apply --server-side -f -',
  }),
  NoNamespace: (namespace: string) => ({
    message: `the namespace ${namespace} does not exist, which holds the Leases and digest keys of operators`,
    remedy: `run again with --install-crds, or: kubectl create namespace ${namespace}`,
  }),
  LeaseForbidden: (namespace: string, name: string, cause: unknown) => ({
    cause,
    message: `the Lease ${namespace}/${name} cannot be used: ${reasonOf(cause)}`,
    remedy: 'grant the permissions that this operator declares: capstan rbac | kubectl apply -f -',
  }),
  StoppedLate: (seconds: number) => ({
    message: `not everything had ended ${seconds} s after the signal`,
    remedy: 'the lease expires; the log shows what was still under way',
  }),
});

export const MetricErrors = catalogue('metrics', {
  BadName: (name: string) => ({
    message: `${JSON.stringify(name)} is not a name that a metric can have`,
    remedy: 'use letters, digits, underscores and colons, not beginning with a digit',
  }),
  NotTotal: (name: string) => ({
    message: `the counter ${name} does not declare the type counter`,
    remedy: 'let its name end in _total',
  }),
  BadLabel: (name: string, label: string) => ({
    message: `the metric ${name} cannot have the label ${JSON.stringify(label)}`,
    remedy: 'use letters, digits and underscores, not beginning with a digit or two underscores',
  }),
  BadBuckets: (name: string) => ({
    message: `the buckets of the histogram ${name} do not ascend`,
    remedy: 'give each upper bound once, the smallest first',
  }),
  Duplicate: (name: string) => ({
    message: `the metric ${name} is registered already`,
    remedy: 'register it once and share it',
  }),
  NoLabel: (name: string, label: string) => ({
    message: `a series of the metric ${name} was asked for without the label ${label}`,
    remedy: 'give a value for each of its labels',
  }),
  CountsDown: (name: string, by: number) => ({
    message: `the counter ${name} was asked to add ${by}`,
    remedy: 'use a gauge for what can go down',
  }),
});

export const PlanErrors = catalogue('plan', {
  Async: (reconciler: string) => ({
    message: `the reconciler ${reconciler} returned a promise instead of a plan`,
    remedy: 'let it be synchronous; what has to be awaited is a fact, which it reads',
  }),
  NotAPlan: (reconciler: string, what: string) => ({
    message: `the reconciler ${reconciler} returned ${what} instead of a plan`,
    remedy: 'return plan({…}), or released() from release',
  }),
  ChangedShared: (name: string, cause: Error) => ({
    cause,
    message: `${name} changes a value that others read too: ${cause.message}`,
    remedy: 'copy the value before you change it: {...value}, value.toSorted(), structuredClone(value)',
  }),
  NotPure: (name: string, what: string) => ({
    message: `${name} is not pure: it was run twice on the same input, and ${what}`,
    remedy: 'compute from what is read alone: no clock (read.reached), no randomness (mint), no state between runs',
  }),
  NotAnEntry: (list: string, at: number, what: string) => ({
    message: `the plan has ${what} at ${list}[${at}]`,
    remedy: 'give what apply(), createOnly(), mint(), share(), keep(), patch() or remove() return, and await nothing',
  }),
  PromiseIn: (field: string) => ({
    message: `the plan has a promise at ${field}`,
    remedy: 'give the value itself; what has to be awaited is a fact, which the reconciler reads',
  }),
});

export const ReadErrors = catalogue('read', {
  Undeclared: (reader: string, kind: string) => ({
    message: `${reader} reads ${kind}, which it does not declare`,
    remedy: "add it to the reconciler's reads",
  }),
  UndeclaredIn: (reader: string, kind: string, role: string) => ({
    message: `${reader} reads ${kind} in a world of role ${role}, which it does not declare`,
    remedy: `add reading(${kind.split('.')[0]}, …, { in: '${role}' }) to its reads`,
  }),
  UndeclaredName: (reader: string, kind: string, name: string, declared: readonly string[]) => ({
    message: `${reader} reads ${kind} ${name}, and only ${declared.join(', ')} is declared`,
    remedy: "add the name to `names` of the reconciler's reading(…), or leave `names` out",
  }),
  NamesOnly: (reader: string, kind: string, declared: readonly string[]) => ({
    message: `${reader} lists ${kind}, and only ${declared.join(', ')} is declared`,
    remedy: "read them one by one, or leave `names` of the reconciler's reading(…) out",
  }),
  NoReconciler: (reader: string, reconciler: string) => ({
    message: `${reader} reads the problems of ${reconciler}, and its operator has no reconciler of that name in this world`,
    remedy: 'give the name of a reconciler of the same operator and role',
  }),
  UndeclaredField: (object: string, path: string) => ({
    message: `${path} of ${object} is read, which no reader of its kind declares, so the cache does not keep it`,
    remedy: "add the path to `fields` of the reconciler's reading(…)",
  }),
  // Without it no object has the key, and the answer "absent" would not be the server's.
  NoNamespace: (reader: string, kind: string, name: string) => ({
    message: `${reader} reads ${kind} ${name} without a namespace, which its kind needs`,
    remedy: 'give the namespace, usually that of the object that is reconciled',
  }),
  DefinedTwice: (reader: string, sort: string, name: string) => ({
    message: `${reader} reads through two definitions of the ${sort} ${name}`,
    remedy: `create the ${sort} once, outside the function that reads it, or give the second one a name of its own`,
  }),
  NotAnInstant: () => ({
    message: 'it was asked whether an instant has come, and the instant is not a number',
    remedy: 'give milliseconds since the epoch, or a time in RFC 3339',
  }),
});

export const RuntimeErrors = catalogue('runtime', {
  WorldGone: (name: string) => ({
    message: `the cluster ${name} was removed while something was to be written there`,
    remedy: 'nothing: it is planned again without that cluster',
  }),
  WorldExists: (name: string) => ({
    message: `a second cluster is named ${JSON.stringify(name)}`,
    remedy: 'give each cluster a name of its own',
  }),
  BadDigestKey: (namespace: string, name: string) => ({
    message: `the Secret ${namespace}/${name} holds no key for digests: it needs "id" (a word) and "key" (32 bytes)`,
    remedy: 'delete it; a new one is created at the next start, and rolls nothing by itself',
  }),
  DigestKeyGone: (namespace: string, name: string) => ({
    message: `the Secret ${namespace}/${name} was deleted while it was being created`,
    remedy: 'find out who deletes it, and start again',
  }),
});

export const SinkErrors = catalogue('sink', {
  NotOpened: (sink: string, ms: number) => ({
    message: `the sink ${sink} did not open within ${ms / 1000} s`,
    remedy: 'see what it waits for outside; it is opened again',
  }),
  Waiting: (sink: string, since: string) => ({
    message: `waiting for the sink ${sink} since ${since}`,
    remedy:
      'it did not return from a delivery in time and ignores its signal; no other delivery begins before it returns',
  }),
  NoReturn: (sink: string, ms: number) => ({
    message: `the sink ${sink} did not return from a delivery within ${ms / 1000} s`,
    remedy: 'see what it waits for outside; its keys are tried again',
  }),
});

export const SourceErrors = catalogue('source', {
  NotComplete: (name: string, ms: number) => ({
    message: `the source ${name} was not complete ${ms / 1000} s after it was opened`,
    remedy: 'see what it waits for outside, or give it a longer timeoutMs; it is opened again',
  }),
  Closed: (name: string) => ({
    message: `the source ${name} ended before it was asked to`,
    remedy: 'see the log of what it reads from; it is opened again',
  }),
  AsyncBatch: (name: string) => ({
    message: `a batch of ${name} returned a promise, so its rows would not be shown at once`,
    remedy: 'wait for what is needed first, then put all rows synchronously in one batch',
  }),
});

export const TracingErrors = catalogue('tracing', {
  // Without the address itself: it may hold credentials.
  BadEndpoint: (variable: string) => ({
    message: `traces cannot be exported: ${variable} is not an http or https address`,
    remedy: `set ${variable} to an address like http://localhost:4318, or unset it`,
  }),
});

export const HealthErrors = catalogue('health', {
  BadAddress: (address: string) => ({
    message: `${JSON.stringify(address)} is not an address to listen on`,
    remedy: 'write it as HOST:PORT, or :PORT for every interface',
  }),
  CannotListen: (address: string, cause: unknown) => ({
    message: `cannot listen on ${address}: ${reasonOf(cause)}`,
    remedy: 'choose another address, or stop what uses it',
    cause,
  }),
});
