// Faults that tests must notice: mistakes that people make, planted one at a time by `npm run mutate`. The first eleven were once
// planted by a reviewer and noticed by no test. A fault whose text is no longer there once is reported as unusable: adapt it.
import type { PlantedFault } from './plant.ts';

const RECONCILE = 'packages/reconcile/src';
const KUBE = 'packages/kube/src';
const FAILURES = ['failures', 'interrupted-watches'].map((name) => `${KUBE}/informer/failures/${name}.test.ts`);
const INFORMER = [`${KUBE}/informer/informer.test.ts`, `${KUBE}/informer/cache/cache.test.ts`];
const TRANSPORT = ['http', 'watch', 'tls'].map((name) => `${KUBE}/client/http/${name}-transport.test.ts`);
const SINKS = [`${RECONCILE}/sinks/sinks.test.ts`, `${RECONCILE}/sinks/sink-lease.test.ts`];

export const FAULTS: readonly PlantedFault[] = [
  {
    name: 'digests of Secrets in causes have no key',
    file: `${RECONCILE}/runtime/runtime.ts`,
    from: `return key === undefined ? '' : causeDigest(value, key, seen);`,
    to: `return causeDigest(value, { id: '', bytes: new Uint8Array(0) }, seen);`,
    tests: [`${RECONCILE}/runtime/cause-faults.test.ts`],
  },
  {
    name: 'a newer value waits for the back-off of a failed one',
    file: `${RECONCILE}/sinks/delivery.ts`,
    from: 'for (const group of groups) group.keys.delete(key);',
    to: '',
    tests: [`${RECONCILE}/sinks/delivery-faults.test.ts`],
  },
  {
    name: 'a withdrawal before anything was delivered',
    file: `${RECONCILE}/sinks/delivery.ts`,
    from: 'changes.length === 0 || needsSnapshot) return;',
    to: 'changes.length === 0) return;',
    tests: [`${RECONCILE}/sinks/delivery-faults.test.ts`],
  },
  {
    name: 'a key of two sets goes with the first',
    file: `${RECONCILE}/sinks/key-sets.ts`,
    from: `        root.stop();
        const left`,
    to: `        root.stop();
        for (const other of naming.values()) for (const each of other.values()) new Map(each).get(one)?.stop();
        const left`,
    tests: [`${RECONCILE}/sinks/delivery-faults.test.ts`],
  },
  {
    name: 'half a state of a source is shown',
    file: `${RECONCILE}/sources/open-sources.ts`,
    from: `if (held !== undefined && !isComplete) held.set(key, row);
      else show(key, row);`,
    to: 'show(key, row);',
    tests: [`${RECONCILE}/sources/source-faults.test.ts`],
  },
  {
    name: 'late puts of a closed source count',
    file: `${RECONCILE}/sources/open-sources.ts`,
    from: `    put(key, row) {
      if (isOver()) return;`,
    to: '    put(key, row) {',
    tests: [`${RECONCILE}/sources/source-faults.test.ts`],
  },
  {
    name: 'the back-off of a source is never reset',
    file: `${RECONCILE}/sources/open-sources.ts`,
    from: 'failures = clock.now() - opened >= HEALTHY_MS ? 1 : failures + 1;',
    to: 'failures = failures + 1;',
    tests: [`${RECONCILE}/sources/source-faults.test.ts`],
  },
  {
    name: 'why names inputs that are the same',
    file: `${RECONCILE}/why/inputs.ts`,
    from: `if (whole !== '' && whole === known.whole) return undefined;
  const from = known.digests.find((digest) => !digests.includes(digest));
  const to = digests.find((digest) => !known.digests.includes(digest));`,
    to: `const from = known.digests[0] ?? whole;
  const to = digests[0];`,
    tests: [`${RECONCILE}/why/inputs.test.ts`],
  },
  {
    name: 'the cause of a retried write is replaced',
    file: `${RECONCILE}/runtime/writer/causes.ts`,
    from: `{ content, causes: mergeCauses(earlier?.causes ?? [], fresh) }`,
    to: `{ content, causes: fresh }`,
    tests: [`${RECONCILE}/runtime/cause-faults.test.ts`],
  },
  {
    name: 'a previewed change goes to the wrong cluster',
    file: `${RECONCILE}/preview/preview.ts`,
    from: `const world = change.world ?? [...runtime.worlds.keys()][0] ?? '';`,
    to: `const world = [...runtime.worlds.keys()][0] ?? '';`,
    tests: [`${RECONCILE}/preview/preview-faults.test.ts`],
  },
  {
    name: 'a held object is previewed as gone',
    file: `${RECONCILE}/preview/virtual-objects/virtual.ts`,
    from: 'if ((object.metadata.finalizers?.length ?? 0) === 0) return undefined;',
    to: 'return undefined;',
    tests: [`${RECONCILE}/preview/preview-faults.test.ts`],
  },
  {
    name: 'a silent watch is never given up',
    file: `${KUBE}/informer/watchdog.ts`,
    from: 'else bark();',
    to: '',
    tests: [...FAILURES],
  },
  {
    name: 'signs of life do not count',
    file: `${KUBE}/informer/watchdog.ts`,
    from: `      fedAt = clock.now();
      if (limitMs`,
    to: '      if (limitMs',
    tests: [...FAILURES],
  },
  {
    name: 'a quiet watch may last ten minutes',
    file: `${KUBE}/informer/connection.ts`,
    from: 'const SHORTEST_WATCH_S = 30;',
    to: 'const SHORTEST_WATCH_S = 440;',
    tests: [...INFORMER, ...FAILURES],
  },
  {
    name: 'a watch gets no grace',
    file: `${KUBE}/informer/connection.ts`,
    from: 'const GRACE_MS = 10_000;',
    to: 'const GRACE_MS = 0;',
    tests: [...FAILURES],
  },
  {
    name: 'bookmarks are not asked for',
    file: `${KUBE}/informer/connection.ts`,
    from: 'allowBookmarks: true',
    to: 'allowBookmarks: false',
    tests: [...INFORMER],
  },
  {
    name: 'a bookmark does not advance the version',
    file: `${KUBE}/informer/reflector.ts`,
    from: `                store.advance(resourceVersion);
`,
    to: '',
    tests: [...FAILURES],
  },
  {
    name: 'a server that went back is not noticed',
    file: `${KUBE}/informer/reflector.ts`,
    from: `if (isNewerResourceVersion(resumedFrom, resourceVersion))
                  throw`,
    to: `if (false)
                  throw`,
    tests: [...FAILURES, ...INFORMER],
  },
  {
    name: 'an orderly end proves nothing',
    file: `${KUBE}/informer/reflector.ts`,
    from: 'if (!failure && !listing && end.livedMs >= HEALTHY_MS && !signal.aborted) options.proven(clock.now());',
    to: '',
    tests: [...FAILURES],
  },
  {
    name: 'an expired history is not listed again',
    file: `${KUBE}/informer/reflector.ts`,
    from: 'if (failure && ENDS_HISTORY.has(failure.reason)) mustList = true;',
    to: '',
    tests: [...FAILURES],
  },
  {
    name: 'a watch is reopened in a tight loop',
    file: `${KUBE}/informer/reflector.ts`,
    from: 'if (isOrderly && !hasHurried) {',
    to: 'if (isOrderly) {',
    tests: [...FAILURES],
  },
  {
    name: 'Retry-After is ignored',
    file: `${KUBE}/informer/reflector.ts`,
    from: 'backOff(waits, BACK_OFF, random, failure?.retryAfterMs)',
    to: 'backOff(waits, BACK_OFF, random)',
    tests: [...FAILURES],
  },
  {
    name: 'the back-off of a watch is never reset',
    file: `${KUBE}/informer/reflector.ts`,
    from: `    if (isHealthy) {
      waits = 0;`,
    to: '    if (isHealthy) {',
    tests: [...FAILURES],
  },
  {
    name: 'a forbidden kind is asked for without pause',
    file: `${KUBE}/informer/reflector.ts`,
    from: 'SLOW.has(failure.reason) ? Math.max(delay, spread(SLOW_MS, random)) : delay',
    to: 'delay',
    tests: [...FAILURES, ...INFORMER],
  },
  {
    name: 'a page that is too large is asked for again as it is',
    file: `${KUBE}/informer/reflector.ts`,
    from: 'if (failureOf(error).isTooLarge) pageSize = Math.max(1, Math.floor(pageSize / 2));',
    to: '',
    tests: [...FAILURES, ...INFORMER],
  },
  {
    name: 'the back-off grows without end',
    file: `${KUBE}/client/back-off.ts`,
    from: 'const whole = Math.min(firstMs * factor ** (failures - 1), longestMs);',
    to: 'const whole = firstMs * factor ** (failures - 1);',
    tests: [`${KUBE}/client/back-off.test.ts`, ...FAILURES],
  },
  {
    name: 'an older event wins',
    file: `${KUBE}/informer/store.ts`,
    from: `if (cached && !isNewer(version, cached)) return 'replayed';
      put`,
    to: 'put',
    tests: [`${KUBE}/informer/own-writes.test.ts`, `${KUBE}/informer/model.test.ts`],
  },
  {
    name: 'a deletion that is older than an own write counts',
    file: `${KUBE}/informer/store.ts`,
    from: `if (order === undefined ? cached.metadata.uid !== uid : order < 0) return 'replayed';`,
    to: '',
    tests: [`${KUBE}/informer/own-writes.test.ts`, `${KUBE}/informer/model.test.ts`],
  },
  {
    name: 'a list drops newer own writes',
    file: `${KUBE}/informer/store.ts`,
    from: 'const isAhead = !isReset && isNewerResourceVersion(object.metadata.resourceVersion, listVersion);',
    to: 'const isAhead = false;',
    tests: [`${KUBE}/informer/own-writes.test.ts`, `${KUBE}/informer/model.test.ts`],
  },
  {
    name: 'an object of another uid is an update',
    file: `${KUBE}/informer/store.ts`,
    from: 'if (old && old.metadata.uid !== object.metadata.uid) {',
    to: 'if (false) {',
    tests: [...INFORMER, `${KUBE}/informer/own-writes.test.ts`],
  },
  {
    name: 'what we deleted comes back',
    file: `${KUBE}/informer/store.ts`,
    from: 'if (uid !== undefined && tombstone.uids.includes(uid)) return true;',
    to: '',
    tests: [`${KUBE}/informer/own-writes.test.ts`, `${KUBE}/informer/model.test.ts`],
  },
  {
    name: 'a list is not sorted again after a change',
    file: `${KUBE}/informer/store.ts`,
    from: 'if (!objects.has(key)) sortedKeys = undefined;',
    to: '',
    tests: [...INFORMER, `${KUBE}/informer/own-writes.test.ts`, `${KUBE}/informer/model.test.ts`],
  },
  {
    name: 'an own write that leaves the selection stays',
    file: `${KUBE}/informer/store.ts`,
    from: `      drop(key, changes);
      bury(key, [], version, version);`,
    to: '      bury(key, [], version, version);',
    tests: [`${KUBE}/informer/own-writes.test.ts`],
  },
  {
    name: 'a listener that throws stops the others',
    file: `${KUBE}/informer/publisher.ts`,
    from: '      onError(error);',
    to: '      throw error;',
    tests: [...INFORMER],
  },
  {
    name: 'a late listener gets a batch twice',
    file: `${KUBE}/informer/publisher.ts`,
    from: 'if (subscriber.joinedAfter < batch.number) deliver',
    to: 'deliver',
    tests: [...INFORMER],
  },
  {
    name: 'an object without name is taken',
    file: `${KUBE}/informer/ingest.ts`,
    from: `    metadata.name !== '' &&
`,
    to: '',
    tests: [...INFORMER, ...FAILURES],
  },
  {
    name: 'fields of other managers are kept',
    file: `${KUBE}/informer/ingest.ts`,
    from: 'const own = managers.length === 0 ? [] : entries.filter((entry) => isOwn(entry, managers));',
    to: 'const own = entries;',
    tests: [...INFORMER, `${KUBE}/informer/embedded.test.ts`],
  },
  {
    name: 'a fight over fields of an exact child has no end',
    file: `${RECONCILE}/diff/exactness.ts`,
    from: '(removals[manager]?.count ?? 0) >= MAX_REMOVALS',
    to: 'false',
    tests: [`${RECONCILE}/diff/exactness.test.ts`],
  },
  {
    name: '410 is an invalid request',
    file: `${KUBE}/informer/failure.ts`,
    from: `    case 410:
      return 'Expired';`,
    to: '',
    tests: [...FAILURES],
  },
  {
    name: 'a throttled list fails as a whole',
    file: `${KUBE}/informer/failure.ts`,
    from: `    case 429:
      return 'Throttled';`,
    to: '',
    tests: [...FAILURES],
  },
  {
    name: 'a create is sent twice',
    file: `${KUBE}/client/retry.ts`,
    from: `    default:
      return false;
  }
}

/** Whether this answer`,
    to: `    default:
      return true;
  }
}

/** Whether this answer`,
    tests: [`${KUBE}/client/retry.test.ts`],
  },
  {
    name: 'a JSON patch without test is sent twice',
    file: `${KUBE}/client/retry.ts`,
    from: `return request.contentType !== 'application/json-patch+json' || hasVersionTest(request.body);`,
    to: 'return true;',
    tests: [`${KUBE}/client/retry.test.ts`],
  },
  {
    name: 'a deletion without precondition is sent twice',
    file: `${KUBE}/client/retry.ts`,
    from: 'return hasPreconditions(request.body);',
    to: 'return true;',
    tests: [`${KUBE}/client/retry.test.ts`],
  },
  {
    name: '503 is not tried again',
    file: `${KUBE}/client/retry.ts`,
    from: `    case 503:
      return true;`,
    to: '      return true;',
    tests: [`${KUBE}/client/retry.test.ts`, `${KUBE}/client/create-client.test.ts`],
  },
  {
    name: 'a server may ask for an hour',
    file: `${KUBE}/client/retry.ts`,
    from: 'if (asked > policy.maxRetryAfterMs) return undefined;',
    to: '',
    tests: [`${KUBE}/client/retry.test.ts`],
  },
  {
    name: 'waits do not grow',
    file: `${KUBE}/client/back-off.ts`,
    from: 'firstMs * factor ** (failures - 1)',
    to: 'firstMs',
    tests: [`${KUBE}/client/retry.test.ts`],
  },
  {
    name: 'a Retry-After date in the past is negative',
    file: `${KUBE}/client/retry.ts`,
    from: 'Math.max(0, (date - now) / 1000)',
    to: '(date - now) / 1000',
    tests: [`${KUBE}/client/retry.test.ts`],
  },
  {
    name: 'connections send no keep-alive',
    file: `${KUBE}/client/http/connections.ts`,
    from: '{ keepAlive: true, keepAliveInitialDelay: 15_000 }',
    to: '{ keepAlive: false }',
    tests: [...TRANSPORT],
  },
  {
    name: 'a line that is cut is an event',
    file: `${KUBE}/client/http/watch-stream.ts`,
    from: 'finish(lines.pendingBytes > 0 ? failures.cut() : undefined)',
    to: 'finish()',
    tests: [...TRANSPORT],
  },
  {
    name: 'a watch reads without limit',
    file: `${KUBE}/client/http/watch-stream.ts`,
    from: 'if (waitingBytes > HIGH_WATER && !isPaused) {',
    to: 'if (false) {',
    tests: [...TRANSPORT],
  },
  {
    name: 'a character between chunks is broken',
    file: `${KUBE}/client/http/line-splitter.ts`,
    from: `return isOverflown ? undefined : line.toString('utf8');`,
    to: `return isOverflown ? undefined : line.toString('latin1');`,
    tests: [`${KUBE}/client/http/line-splitter.test.ts`],
  },
  {
    name: 'a line may have any length',
    file: `${KUBE}/client/http/line-splitter.ts`,
    from: 'isOverflown ||= bytes > maxLineBytes;',
    to: '',
    tests: [`${KUBE}/client/http/line-splitter.test.ts`, ...TRANSPORT],
  },
  {
    name: 'a time-out is not reported',
    file: `${KUBE}/client/http/deadline.ts`,
    from: `const timer = clock.after(timeoutMs, () => end('timeout'));`,
    to: 'const timer = clock.after(timeoutMs, () => {});',
    tests: [...TRANSPORT],
  },
  {
    name: 'retries wait no longer each time',
    file: `${RECONCILE}/queue/rate-limit.ts`,
    from: 'keyBackOff(failed + 1, baseMs, maxMs)',
    to: 'keyBackOff(1, baseMs, maxMs)',
    tests: [`${RECONCILE}/queue/queue.test.ts`],
  },
  {
    name: 'a key is never forgotten',
    file: `${RECONCILE}/queue/rate-limit.ts`,
    from: '      failures.delete(key);',
    to: '',
    tests: [`${RECONCILE}/queue/queue.test.ts`],
  },
  {
    name: 'a clock that is set back empties the bucket',
    file: `${RECONCILE}/queue/rate-limit.ts`,
    from: 'if (now > filledAt) tokens',
    to: 'tokens',
    tests: [`${RECONCILE}/queue/queue.test.ts`, `${RECONCILE}/queue/rate-limit.test.ts`],
  },
  {
    name: 'a lease is taken before it has run out',
    file: `${RECONCILE}/leadership/patience.ts`,
    from: 'holder === identity || hasRunOut;',
    to: 'holder === identity || true;',
    tests: [`${RECONCILE}/leadership/leader-election.test.ts`],
  },
  {
    name: 'a renewal does not restart the wait',
    file: `${RECONCILE}/leadership/patience.ts`,
    from: `      timer?.cancel();
      const seconds`,
    to: '      const seconds',
    tests: [`${RECONCILE}/leadership/leader-election.test.ts`],
  },
  {
    name: 'a holder holds after its term',
    file: `${RECONCILE}/leadership/term.ts`,
    from: 'return isOver || clock.now() >= until;',
    to: 'return false;',
    tests: [`${RECONCILE}/leadership/leader-election.test.ts`, `${RECONCILE}/leadership/term.test.ts`],
  },
  {
    name: 'an unfit holder goes on',
    file: `${RECONCILE}/leadership/leader-election.ts`,
    from: 'else standBack(reason);',
    to: 'else await contend(signal);',
    tests: [`${RECONCILE}/leadership/leader-election.test.ts`],
  },
  {
    name: 'a lease is not given back',
    file: `${RECONCILE}/leadership/leader-election.ts`,
    from: `      await watch.stop();
      await release();`,
    to: '      await watch.stop();',
    tests: [`${RECONCILE}/leadership/leader-election.test.ts`],
  },
  {
    name: 'a late answer to a renewal counts',
    file: `${RECONCILE}/leadership/leader-election.ts`,
    from: '    if (granted.isOver) {',
    to: '    if (false) {',
    tests: [`${RECONCILE}/leadership/leader-election.test.ts`],
  },
  {
    name: 'the lease duration is rounded down',
    file: `${RECONCILE}/leadership/lease-record.ts`,
    from: 'Math.ceil(leaseMs / 1000)',
    to: 'Math.floor(leaseMs / 1000)',
    tests: [`${RECONCILE}/leadership/lease-record.test.ts`],
  },
  {
    name: 'a condition of an older generation is current',
    file: `${RECONCILE}/plan/conditions.ts`,
    from: '(generation === undefined || existing.observedGeneration === generation)',
    to: 'true',
    tests: [`${RECONCILE}/plan/conditions.test.ts`],
  },
  {
    name: 'every report is a transition',
    file: `${RECONCILE}/plan/conditions.ts`,
    from: 'existing?.status === input.status ? existing.lastTransitionTime : now()',
    to: 'now()',
    tests: [`${RECONCILE}/plan/conditions.test.ts`],
  },
  {
    name: 'the first of two conditions of a type counts',
    file: `${RECONCILE}/plan/conditions.ts`,
    from: 'new Map(inputs.map((input) => [input.type, input])).values()',
    to: 'new Map(inputs.toReversed().map((input) => [input.type, input])).values()',
    tests: [`${RECONCILE}/plan/conditions.test.ts`],
  },
  {
    name: 'causes of one object are listed twice',
    file: `${RECONCILE}/why/cause.ts`,
    from: `if (known === undefined) merged.push(cause);
    else`,
    to: `merged.push(cause);
    if (known !== undefined)`,
    tests: [`${RECONCILE}/why/cause.test.ts`],
  },
  {
    name: 'a cause may have any length',
    file: `${RECONCILE}/why/cause.ts`,
    from: 'if (formatCause(fitting).length <= MAX_LENGTH) return fitting;',
    to: 'return fitting;',
    tests: [`${RECONCILE}/why/cause.test.ts`],
  },
  {
    name: 'the history is not bounded',
    file: `${RECONCILE}/why/history.ts`,
    from: 'if (size <= CHARACTERS || oldest === object) break;',
    to: 'break;',
    tests: [`${RECONCILE}/why/history.test.ts`],
  },
  {
    name: 'the oldest entries of the history are first',
    file: `${RECONCILE}/why/history.ts`,
    from: '[JSON.stringify(entry), ...linesOf(before).slice(0, ENTRIES - 1)]',
    to: '[...linesOf(before).slice(0, ENTRIES - 1), JSON.stringify(entry)]',
    tests: [`${RECONCILE}/why/history.test.ts`],
  },
  {
    name: 'a previewed edit keeps its generation',
    file: `${RECONCILE}/preview/virtual-objects/would-be.ts`,
    from: '? generation : generation + 1',
    to: '? generation : generation',
    tests: [`${RECONCILE}/preview/virtual-objects/would-be.test.ts`],
  },
  {
    name: 'a previewed manifest loses its finalizers',
    file: `${RECONCILE}/preview/virtual-objects/would-be.ts`,
    from: '...(finalizers !== undefined && given.finalizers === undefined && { finalizers }),',
    to: '',
    tests: [`${RECONCILE}/preview/virtual-objects/would-be.test.ts`],
  },
  {
    name: 'scaling to 0 disturbs nothing',
    file: `${RECONCILE}/preview/disturbance.ts`,
    from: `  if (after === 0) return 'stops pods';
`,
    to: `  if (after === 0) return undefined;
`,
    tests: [`${RECONCILE}/preview/virtual-objects/would-be.test.ts`],
  },
  {
    name: 'scaling down disturbs nothing',
    file: `${RECONCILE}/preview/disturbance.ts`,
    from: `  if (after < before) return 'stops pods';
`,
    to: '',
    tests: [`${RECONCILE}/preview/virtual-objects/would-be.test.ts`],
  },
  {
    name: 'a delivery does not wait for all keys',
    file: `${RECONCILE}/sinks/delivery.ts`,
    from: 'const isKnown = keys.isComplete && expected.size === 0;',
    to: 'const isKnown = true;',
    tests: [...SINKS],
  },
  {
    name: 'a value that changed back is sent',
    file: `${RECONCILE}/sinks/delivery.ts`,
    from: 'if (!batch.snapshot && !uncertain.has(key) && equal(was, after)) {',
    to: 'if (false) {',
    tests: [...SINKS, `${RECONCILE}/sinks/delivery-faults.test.ts`],
  },
  {
    name: 'caches of foreign kinds cost the lease',
    file: `${RECONCILE}/manager/stale-caches.ts`,
    from: '!declared.has(kind) || ',
    to: '',
    tests: [`${RECONCILE}/manager/stale-caches.test.ts`],
  },
  {
    name: 'a forbidden kind costs the lease',
    file: `${RECONCILE}/manager/stale-caches.ts`,
    from: 'if (OF_CONNECTION.has(world.watchProblems.peek(kind)?.reason)) stale.push(kind);',
    to: 'stale.push(kind);',
    tests: [`${RECONCILE}/manager/stale-caches.test.ts`],
  },
];
