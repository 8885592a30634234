import { createRandom } from '@capstan/testing';
import { stopwatch } from '../measure/stopwatch.ts';
import { openConnection, requestBytes } from './connection.ts';
import { configMap } from './objects.ts';
import { waitedForCoreBy } from './process-costs.ts';
import { type ServerOptions, type ServerUnderTest, startServer } from './server.ts';

/** Milliseconds from the start of a process to the answer to the first write. */
export interface FirstWrite {
  /** Without the time in which others had the cores. */
  readonly elapsed: number;
  /** By the clock on the wall. */
  readonly wall: number;
}

/** Starts a server and writes to it; the caller stops it. */
export async function startAndWrite(
  options: ServerOptions,
  name: string,
): Promise<FirstWrite & { server: ServerUnderTest }> {
  return startedAndWritten(() => startServer(options), name);
}

/** The same for any server. */
export async function startedAndWritten(
  start: () => Promise<ServerUnderTest>,
  name: string,
): Promise<FirstWrite & { server: ServerUnderTest }> {
  const request = requestBytes('POST', '/api/v1/namespaces/default/configmaps', configMap(name, createRandom(1)));
  const elapsed = stopwatch();
  const begun = performance.now();
  const server = await start();
  try {
    const connection = await openConnection(server.address);
    await connection.exchange(request);
    const wall = performance.now() - begun;
    // We wait while it starts, and it waits while we connect: the two do not wait for a core at once.
    const own = elapsed() - waitedForCoreBy(server.pids[0] ?? 0);
    connection.close();
    return { elapsed: own, wall, server };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
