// The fields of a backend, under `cluster` (the seed) or `spec` (Kubernetes' habit). They take every spelling that the seed
// and upstream use, so most are texts where an enum would be tidier: `enabled` and “Maintenance” are the seed's own.
import { anyValue, array, integer, intOrString, object, optional, schemaOf, string, time } from '@capstan/kube';
import { WRITE_LIMITS } from '../write-limits.ts';

/** Blanks and quotation marks around a word, which the seed's examples and text have. */
const AROUND = `[\\s"'\u201c\u201d\u2018\u2019]*`;
const word = (...words: string[]) => `^${AROUND}(?i:${words.join('|')})${AROUND}$`;

/** A boolean; the texts "true" and "false" count too. */
const flag = (description: string) => anyValue({ optional: true, description });
const secretName = (description: string) => string({ optional: true, maxLength: 260, description });
const interval = (description: string) => intOrString({ optional: true, description });
const names = (description: string) =>
  array(string({ minLength: 1, maxLength: 253 }), { optional: true, maxItems: 1000, description });

const maintenance = () =>
  object(
    {
      onNoCapacity: string({
        optional: true,
        pattern: word('zero', 'keep', 'reject'),
        description:
          'What becomes of a rule that has nowhere else to send requests. Zero (default): weight 0; Keep: it stays; Reject: requests are refused.',
      }),
      promoteZero: flag('Whether services with weight 0 take over where no others are left. Default false.'),
      rampSeconds: integer({
        optional: true,
        minimum: 0,
        maximum: 86_400,
        description: 'Take so long, in five steps, to drain and to return. Default 0: at once.',
      }),
      drainPercent: integer({
        optional: true,
        minimum: 0,
        maximum: 100,
        description: 'How much of the weight is taken away. Default 100.',
      }),
      restoreHoldSeconds: integer({
        optional: true,
        minimum: 0,
        maximum: 86_400,
        description:
          'How long, after maintenance, weights wait for a fresh sync and for ready endpoints before they return anyway. Default 120.',
      }),
      schedule: array(object({ start: time(), end: time() }), {
        optional: true,
        maxItems: 100,
        description: 'Times of maintenance, besides clusterStatus.',
      }),
    },
    { optional: true, description: 'How traffic leaves the backend in maintenance and returns after it.' },
  );

const rotation = () =>
  object(
    {
      secret: secretName('The Secret to change to.'),
      notBefore: time({ optional: true, description: 'The earliest time of the change.' }),
      window: string({
        optional: true,
        maxLength: 200,
        description: 'When credentials may change: a cron expression, a slash and a duration, as in "0 2 * * 6/3h".',
      }),
      timeZone: string({ optional: true, maxLength: 100, description: 'Of the window. Default UTC.' }),
    },
    { optional: true, description: 'When changed credentials are taken into use; at once by default.' },
  );

export const backendFields = () => ({
  type: string({
    optional: true,
    pattern: word('kubernetes', 'k8s', 'openstack'),
    description: 'kubernetes or openstack; does not change later.',
  }),
  secret: secretName('The Secret with the credentials, in the same namespace.'),
  credentials: secretName('The same as secret.'),
  secretName: secretName('The same as secret.'),
  secretRef: object({ name: string({ maxLength: 260 }) }, { optional: true, description: 'The same as secret.' }),
  endpoint: string({ optional: true, maxLength: 2048, description: 'Used instead of the address in the Secret.' }),
  apiEndpoint: string({ optional: true, maxLength: 2048, description: 'The same as endpoint.' }),
  refreshInterval: interval(
    'Seconds, or a duration: how often OpenStack is asked (default 30), and Kubernetes is compared in full (default 1800).',
  ),
  reconciliationPeriod: interval('The same as refreshInterval.'),
  resyncInterval: interval('The same as refreshInterval.'),
  debug: flag('Whether the discoverer logs more. Default false.'),
  clusterStatus: string({
    optional: true,
    pattern: word('enabled', 'maintenance'),
    description: 'Enabled (default), or Maintenance: traffic is sent elsewhere.',
  }),
  ClusterStatus: string({
    optional: true,
    pattern: word('enabled', 'maintenance'),
    description: 'The same as clusterStatus.',
  }),
  namespaces: object(
    {
      include: names('Only these; globs. Default: all.'),
      exclude: names('None of these; globs. Default: kube-system.'),
    },
    { optional: true, description: 'Which namespaces or projects are discovered.' },
  ),
  projectWatchlist: optional(
    schemaOf<string[] | string>({
      description: 'The same as namespaces.include; a text with commas counts too.',
      'x-kubernetes-preserve-unknown-fields': true,
    }),
  ),
  createNamespaces: flag('Whether missing namespaces are created. Default false.'),
  numThreads: integer({ optional: true, minimum: 1, maximum: 256, description: 'Writes at the same time. Default 2.' }),
  clientQPS: integer({
    optional: true,
    minimum: 1,
    maximum: 10_000,
    description: `Writes a second. Default ${WRITE_LIMITS.qps}.`,
  }),
  clientBurst: integer({
    optional: true,
    minimum: 1,
    maximum: 10_000,
    description: `Writes at once. Default ${WRITE_LIMITS.burst}.`,
  }),
  httpTimeout: interval('For one request to the remote side. Default 5s.'),
  maintenance: maintenance(),
  rotation: rotation(),
  deletionPolicy: string({
    optional: true,
    pattern: word('clean', 'orphan'),
    description: 'Whether what was discovered, and references to it, go with the backend (Clean, the default) or stay.',
  }),
});
