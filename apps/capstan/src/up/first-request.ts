// The request of a demonstration that a user can try as soon as the cluster is ready: `demo/request.txt` names pods, a host and a path. It
// is shown once it has been answered. If the pods behind it are simulated, the ready screen reports it in one line.
import { request } from 'node:http';
import { join } from 'node:path';
import { type Client, type Clock, Pod, sleep } from '@capstan/kube';
import type { Io } from '../cli/io.ts';
import { isSimulated } from '../status/simulated-pods.ts';

/** The command for a first request, or the reason why there is none yet. */
export type FirstRequest =
  /** `isStarting`: it is not answered yet, as it was in an earlier run. */
  { readonly curl: string; readonly isStarting?: true } | { readonly problem: string };

interface DemoRequest {
  readonly namespace: string;
  /** The program that answers, for people. */
  readonly name: string;
  /** A label selector. */
  readonly pods: string;
  readonly port: number;
  readonly host: string;
  readonly path: string;
  /** How the pods become real ones. */
  readonly remedy: string;
}

const FILE = 'request.txt';
const LIMIT_MS = 20_000;
/** It was answered in an earlier run of this cluster: the pods are on their way, and the user need not wait for them. */
const KNOWN_LIMIT_MS = 1_500;
const POLL_MS = 100;

export interface FirstRequestOptions {
  /** The folder of a demonstration. */
  folder: string;
  client: Client;
  clock: Clock;
  io: Pick<Io, 'files'>;
  /** True where an earlier run of this cluster had an answer. */
  wasAnswered?: boolean;
  signal: AbortSignal;
}

/** Waits until the request is answered. Undefined for a demonstration that has none. */
export async function firstRequest(options: FirstRequestOptions): Promise<FirstRequest | undefined> {
  const { folder, client, clock, io, wasAnswered = false, signal } = options;
  const text = await io.files.read(join(folder, FILE)).catch(() => undefined);
  if (text === undefined) return undefined;
  const asked = JSON.parse(text) as DemoRequest;
  const { namespace, name, host, port, path } = asked;
  const deadline = clock.now() + (wasAnswered ? KNOWN_LIMIT_MS : LIMIT_MS);
  for (;;) {
    const { items } = await client.list(Pod, { namespace, labelSelector: asked.pods, signal });
    if (items.some(isSimulated)) return { problem: `${name} is simulated; ${asked.remedy}` };
    const addresses = items.flatMap(({ status }) => status?.podIP ?? []);
    const curl = (address: string) => `curl -H 'host: ${host}' http://${address}:${port}${path}`;
    for (const address of addresses) if (await isAnswered(address, asked)) return { curl: curl(address) };
    const isLate = clock.now() >= deadline;
    if (isLate && wasAnswered && addresses[0] !== undefined) return { curl: curl(addresses[0]), isStarting: true };
    if (isLate) return { problem: `${name} does not answer yet; capstan status shows the reason` };
    await sleep(clock, POLL_MS, signal);
  }
}

function isAnswered(address: string, { port, host, path }: DemoRequest): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request({ host: address, port, path, headers: { host }, timeout: 1000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    sent.on('error', () => resolve(false));
    sent.on('timeout', () => sent.destroy());
    sent.end();
  });
}
