// Connections to the pods of a node: commands beside a container's program, its output, and its ports.
import { connect } from 'node:net';
import type { CommandStreams, ExecOptions, PodPlace, PodStreams } from '@capstan/apiserver';
import { type Client, type Container, Pod } from '@capstan/kube';
import { NodeErrors } from '../errors.ts';
import { chooseContainer } from './choose-container.ts';
import { SIMULATED, whyIsSimulated } from './simulated-pod.ts';

/** Runs a command in the surroundings of a container (its environment, folders and account). */
export type RunInContainer = (
  container: Container,
  options: ExecOptions,
  streams: CommandStreams,
  signal: AbortSignal,
) => Promise<number>;

/** Attaches a client to a container's program; undefined where none runs. */
export type AttachToContainer = (
  container: string,
  streams: CommandStreams,
  signal: AbortSignal,
) => Promise<void> | undefined;

export interface PodAccess {
  readonly run: RunInContainer;
  readonly attach: AttachToContainer;
}

export interface NodeStreams extends PodStreams {
  /** A pod's containers can be reached from now on. */
  opened(uid: string, access: PodAccess): void;
  forget(uid: string): void;
}

const CONNECT_MS = 5_000;

export function createNodeStreams(client: Client, node: string): NodeStreams {
  const running = new Map<string, PodAccess>();

  async function find({ namespace, name }: PodPlace): Promise<Pod> {
    const pod = await client.get(Pod, { namespace, name });
    if (pod.spec?.nodeName !== node) throw NodeErrors.NoSuchPod(name, node);
    if (pod.metadata.annotations?.[SIMULATED] === 'true') throw NodeErrors.Simulated(name, whyIsSimulated(pod));
    return pod;
  }

  function runningContainer(pod: Pod, wanted: string | undefined): Container {
    const name = chooseContainer(pod, wanted);
    const all = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
    const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
    const container = all.find((one) => one.name === name);
    const isRunning = statuses.find((one) => one.name === name)?.state?.running !== undefined;
    if (container === undefined || !isRunning) throw NodeErrors.ContainerNotRunning(pod.metadata.name ?? '', name);
    return container;
  }

  async function reached(place: PodPlace): Promise<{ container: Container; access: PodAccess }> {
    const pod = await find(place);
    const container = runningContainer(pod, place.container);
    const access = running.get(pod.metadata.uid ?? '');
    if (access === undefined) throw NodeErrors.ContainerNotRunning(place.name, container.name);
    return { container, access };
  }

  return {
    opened: (uid, access) => running.set(uid, access),
    forget: (uid) => running.delete(uid),
    async exec(place, options) {
      const { container, access } = await reached(place);
      return (streams, signal) => access.run(container, options, streams, signal);
    },
    async attach(place, { stdin }) {
      const { container, access } = await reached(place);
      if (stdin && container.stdin !== true) throw NodeErrors.NoInput(place.name, container.name);
      return async (streams, signal) => {
        await access.attach(container.name, streams, signal);
        return 0;
      };
    },
    async portForward(place) {
      const pod = await find(place);
      const address = pod.status?.podIP;
      if (address === undefined || pod.status?.phase !== 'Running') throw NodeErrors.PodNotRunning(place.name);
      return (port) =>
        new Promise((resolve, reject) => {
          const socket = connect({ host: address, port, allowHalfOpen: true, timeout: CONNECT_MS });
          socket.once('connect', () => {
            socket.off('error', reject);
            socket.setTimeout(0);
            socket.setNoDelay(true);
            resolve(socket);
          });
          socket.once('timeout', () => socket.destroy(new Error(`${address}:${port} does not answer`)));
          socket.once('error', reject);
        });
    },
  };
}
