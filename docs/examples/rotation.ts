// Rotation by time: an ApiToken has a Secret with a random token, which is replaced after two thirds of its life.
import { randomBytes } from 'node:crypto';
import { conditions, defineKind, formatTime, integer, object, Secret, string } from '@capstan/kube';
import { conditionType, type Minter, mint, operator, plan, reconciler, writing } from '@capstan/reconcile';

export const ApiToken = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'ApiToken',
  scope: 'Namespaced',
  spec: object({ days: integer({ default: 30, minimum: 1, maximum: 365, description: 'The life of a token.' }) }),
  status: object({ renewAt: string({ optional: true }), conditions: conditions() }),
});

const DAY_MS = 24 * 60 * 60 * 1000;
const MADE = 'example.capstan.dev/made';
const DAYS = 'example.capstan.dev/days';

/** When the token of a Secret is to be replaced; NaN if it is none of ours. */
const renewalOf = ({ metadata }: Secret) =>
  Date.parse(metadata.annotations?.[MADE] ?? '') + (Number(metadata.annotations?.[DAYS]) * DAY_MS * 2) / 3;

/** A value that cannot be computed again. Neither a plan nor a log ever holds the token. */
const token: Minter<{ days: number }, Secret> = {
  name: 'api-token',
  valid(existing, { days }, { reached }) {
    const renewAt = renewalOf(existing);
    if (Number.isNaN(renewAt) || existing.metadata.annotations?.[DAYS] !== String(days)) return false;
    // False now, and the plan is evaluated again at that instant: there is nothing else to schedule.
    return existing.data?.['token'] !== undefined && !reached(renewAt);
  },
  async make({ days }, _existing, { clock }) {
    const annotations = { [MADE]: formatTime(clock.now()), [DAYS]: String(days) };
    const data = { token: Buffer.from(randomBytes(32).toString('base64url')).toString('base64') };
    return { apiVersion: 'v1', kind: 'Secret', metadata: { annotations }, data };
  },
};

const ready = conditionType<'Issued' | 'Issuing'>('Ready');

const apiToken = reconciler({
  name: 'api-token',
  resource: ApiToken,
  reads: [Secret],
  writes: [writing(Secret, 'mint')],
  reconcile({ object: { metadata, spec }, read }) {
    const ref = { namespace: metadata.namespace ?? '', name: `${metadata.name}-token` };
    const renewAt = read.get(Secret, ref, renewalOf);
    const isIssued = renewAt !== undefined && !Number.isNaN(renewAt);
    return plan({
      children: [mint(Secret, ref, token, { days: spec.days })],
      ...(isIssued ? { status: { renewAt: formatTime(renewAt) } } : {}),
      conditions: [
        isIssued
          ? ready.isTrue('Issued', `Secret ${ref.name} holds the token`)
          : ready.isFalse('Issuing', `Secret ${ref.name} is not created yet`),
      ],
    });
  },
});

export default operator({ name: 'api-tokens', kinds: [ApiToken], reconcilers: [apiToken] });
