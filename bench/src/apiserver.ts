import { abuse } from './apiserver/abuse.ts';
import { churn } from './apiserver/churn.ts';
import { start } from './apiserver/start.ts';
import { watches } from './apiserver/watches.ts';
import { writes } from './apiserver/writes.ts';
import type { Bench } from './bench.ts';

/** The embedded API server from the outside: a process of its own, spoken to over HTTPS. */
export const apiserver: Bench = {
  name: 'apiserver',
  summary: 'start, durable writes, lists, watches and memory of the embedded API server, over HTTPS',
  parts: [start, writes, watches, abuse, churn],
};
