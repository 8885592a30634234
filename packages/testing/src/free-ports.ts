import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give to outgoing connections, and below node ports: neither takes a port before the test listens on it. */
const FIRST = 10_000;
const COUNT = 20_000;
const TRIES = 100;

/** Returns different ports of loopback that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > TRIES + count) throw new Error(`no ${count} free ports of 127.0.0.1 were found in ${tries} tries`);
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
