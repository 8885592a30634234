// The checked options of a request for exec, attach or port-forward.
import { badRequest, notImplemented, StatusError } from '../errors.ts';
import type { OpenPort, PodStreams, RunCommand } from './pod-streams.ts';
import type { WantedStreams } from './remote-command.ts';

export type PodConnection =
  | { readonly kind: 'exec' | 'attach'; readonly wanted: WantedStreams; readonly run: RunCommand }
  | { readonly kind: 'portforward'; readonly open: OpenPort; readonly ports: readonly number[]; readonly pod: string };

/** Subresources of pods that need a connection of their own. */
export const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward']);

export async function connectToPod(
  streams: PodStreams | undefined,
  asked: { namespace: string; name: string; subresource: string },
  query: URLSearchParams,
): Promise<PodConnection> {
  const { namespace, name, subresource } = asked;
  if (streams === undefined) {
    throw notImplemented(
      `pod ${JSON.stringify(name)}: ${subresource} is not available; nothing on this server runs pods`,
    );
  }
  const place = { namespace, name, container: query.get('container') || undefined };
  try {
    if (subresource === 'portforward') {
      const ports = query.getAll('ports').flatMap((text) => text.split(',').map(Number));
      const bad = ports.find((port) => !Number.isInteger(port) || port < 1 || port > 65_535);
      if (bad !== undefined) throw badRequest(`unable to parse "${bad}" as a port`);
      return { kind: 'portforward', open: await streams.portForward(place), ports, pod: name };
    }
    const wanted = wantedBy(query);
    if (subresource === 'attach') return { kind: 'attach', wanted, run: await streams.attach(place, wanted) };
    const command = query.getAll('command');
    if (command.length === 0) throw badRequest('you must specify at least 1 command for the container');
    return { kind: 'exec', wanted, run: await streams.exec(place, { command, tty: wanted.tty }) };
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}

function wantedBy(query: URLSearchParams): WantedStreams {
  const isSet = (name: string) => ['true', '1'].includes(query.get(name) ?? '');
  const wanted = { stdin: isSet('stdin'), stdout: isSet('stdout'), stderr: isSet('stderr'), tty: isSet('tty') };
  if (!wanted.stdin && !wanted.stdout && !wanted.stderr) {
    throw badRequest('you must specify at least one of stdin, stdout, stderr');
  }
  return wanted;
}
