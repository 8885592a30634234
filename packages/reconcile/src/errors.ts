// Every error that this package throws for others to handle. A message says what was attempted, on what and what went wrong;
// the remedy says what to do.

import { catalogue } from '@capstan/kube';

export const LeadershipErrors = catalogue('leadership', {
  LeaseTooShort: (leaseMs: number, renewMs: number) => ({
    message: `a lease of ${leaseMs} ms is not longer than its renew deadline of ${renewMs} ms, so two could hold it at a time`,
    remedy: 'make the lease duration longer or the renew deadline shorter',
  }),
  RenewTooShort: (renewMs: number, retryMs: number) => ({
    message: `a renew deadline of ${renewMs} ms leaves no time for a second try after ${retryMs} ms`,
    remedy: 'make the renew deadline more than 1.2 times the retry period',
  }),
  NoRetry: (retryMs: number) => ({
    message: `a retry period of ${retryMs} ms would never rest`,
    remedy: 'use a retry period above 0',
  }),
});

export const MetricErrors = catalogue('metrics', {
  BadName: (name: string) => ({
    message: `${JSON.stringify(name)} is not a name that a metric can have`,
    remedy: 'use letters, digits, underscores and colons, not beginning with a digit',
  }),
  NotTotal: (name: string) => ({
    message: `the counter ${name} does not say that it is one`,
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
    message: `the counter ${name} was told to add ${by}`,
    remedy: 'use a gauge for what can go down',
  }),
});

export const RuntimeErrors = catalogue('runtime', {
  BadDigestKey: (namespace: string, name: string) => ({
    message: `the Secret ${namespace}/${name} holds no key for digests: it needs "id" (a word) and "key" (32 bytes)`,
    remedy: 'delete it; a new one is made at the next start, and rolls nothing by itself',
  }),
  DigestKeyGone: (namespace: string, name: string) => ({
    message: `the Secret ${namespace}/${name} was deleted while it was being made`,
    remedy: 'find out who deletes it, and start again',
  }),
});

export const TracingErrors = catalogue('tracing', {
  // Without the address itself: it may hold credentials.
  BadEndpoint: (variable: string) => ({
    message: `traces cannot be exported: ${variable} is not an http or https address`,
    remedy: `set ${variable} to an address like http://localhost:4318, or unset it`,
  }),
});
