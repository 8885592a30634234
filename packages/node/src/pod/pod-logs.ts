// The logs of a node's pods, found by the names that people use.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, type Clock, Pod } from '@capstan/kube';
import { NodeErrors } from '../errors.ts';
import { type LogOptions, readLog } from '../logs/read-log.ts';
import { chooseContainer } from './choose-container.ts';
import { logPath } from './container-setup.ts';
import { SIMULATED, whyIsSimulated } from './simulated-pod.ts';

export interface PodLogs {
  opened(uid: string, container: string, restartCount: number, isOpen: () => boolean): void;
  forget(uid: string): void;
  read(namespace: string, pod: string, container?: string, options?: LogOptions): Promise<AsyncIterable<string>>;
}

export function createPodLogs(client: Client, node: string, folder: string | undefined, clock: Clock): PodLogs {
  const open = new Map<string, { restartCount: number; isOpen: () => boolean }>();
  return {
    opened(uid, container, restartCount, isOpen) {
      open.set(`${uid}/${container}`, { restartCount, isOpen });
    },
    forget(uid) {
      for (const key of open.keys()) if (key.startsWith(`${uid}/`)) open.delete(key);
    },
    async read(namespace, name, container, options = {}) {
      const pod = await client.get(Pod, { namespace, name });
      if (pod.spec?.nodeName !== node) throw NodeErrors.NoSuchPod(name, node);
      const chosen = chooseContainer(pod, container);
      const { uid = '' } = pod.metadata;
      const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
      const current = open.get(`${uid}/${chosen}`);
      const count = current?.restartCount ?? statuses.find((one) => one.name === chosen)?.restartCount ?? 0;
      const wanted = options.previous === true ? count - 1 : count;
      if (wanted < 0) throw NodeErrors.NoPreviousContainer(name, chosen);
      const path = folder === undefined ? '' : logPath(join(folder, uid), chosen, wanted);
      const isThere =
        path !== '' &&
        (await access(path).then(
          () => true,
          () => false,
        ));
      if (!isThere) {
        if (pod.metadata.annotations?.[SIMULATED] === 'true') return sentence(pod);
        if (options.previous === true) throw NodeErrors.NoPreviousContainer(name, chosen);
        if (current === undefined) throw NodeErrors.ContainerNotStarted(name, chosen);
      }
      const isOpen = () => options.previous !== true && (current?.isOpen() ?? false);
      return readLog({ path, isOpen, clock }, options);
    },
  };
}

/** A simulated container writes nothing; its log explains why. */
async function* sentence(pod: Pod): AsyncGenerator<string> {
  yield await Promise.resolve(`pod ${pod.metadata.name} is simulated and has no log (${whyIsSimulated(pod)})\n`);
}
