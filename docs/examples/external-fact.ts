// An external fact: an HttpCheck asks an address every minute and shows the answer in its status.
import { conditions, defineKind, integer, object, reasonOf, string } from '@capstan/kube';
import { conditionType, fact, operator, plan, reconciler } from '@capstan/reconcile';

export const HttpCheck = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'HttpCheck',
  scope: 'Namespaced',
  spec: object({ url: string({ pattern: '^https?://' }) }),
  status: object({ code: integer({ optional: true }), conditions: conditions() }),
});

interface Answer {
  readonly code: number;
}

/** One request at a time for each address, however many read it; 32 at a time in all. */
export const answer = fact<Answer>({
  name: 'http-answer',
  refreshMs: 60_000,
  timeoutMs: 5_000,
  async fetch(url, { signal }) {
    const response = await fetch(url, { signal, redirect: 'manual' });
    await response.body?.cancel();
    return { code: response.status };
  },
  // Readers get this instead of the error: plain data with a code from a closed set.
  errorOf: (error) => ({ code: error instanceof TypeError ? 'Unreachable' : 'Failed', message: reasonOf(error) }),
});

const reachable = conditionType<'Answers' | 'Unreachable' | 'ServerError'>('Reachable');

export const check = reconciler({
  name: 'http-check',
  resource: HttpCheck,
  reconcile({ object: { spec }, read }) {
    // The first read suspends until there is a result. An error is a result too.
    const { value, error } = read.fact(answer, spec.url);
    const last = value === undefined ? {} : { status: { code: value.code } };
    if (error !== undefined) {
      const message = `${spec.url}: ${error.message}; it is asked again with back-off`;
      return plan({ ...last, conditions: [reachable.isFalse('Unreachable', message)] });
    }
    const code = value?.code ?? 0;
    const message = `${spec.url} answers ${code}`;
    return plan({
      ...last,
      conditions: [code < 500 ? reachable.isTrue('Answers', message) : reachable.isFalse('ServerError', message)],
    });
  },
});

export default operator({ name: 'http-check', kinds: [HttpCheck], reconcilers: [check] });
