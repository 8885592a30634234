// Faults of a soak: the network of programs fails, replicas are killed or stand still, and processes of pods are killed.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '@capstan/testing';
import type { Stage } from './stage.ts';

export interface Faults {
  /** Causes one random fault and waits until it is over. Returns its description. */
  cause(random: SeededRandom): Promise<string>;
  /** Ends every fault, and starts the killed replica again. */
  heal(): Promise<void>;
}

/** Processes of pods that may be killed: a new one must do their work. The backend of the traffic and Envoy are not among them. */
const KILLABLE = /gimbal\.mjs.discover|sesame\.mjs.serve|gateway/;

export function createFaults(stage: Stage): Faults {
  const standby = async () => {
    if (stage.standby.ended !== undefined) await stage.restartStandby();
  };
  const faults: readonly ((random: SeededRandom) => Promise<string>)[] = [
    async (random) => {
      const [name, link] = random.pick([...stage.links]);
      const seconds = random.integer(1, 8);
      link.cut();
      await sleep(seconds * 1000);
      link.heal();
      return `the link of ${name} was cut for ${seconds} s`;
    },
    async (random) => {
      // Long enough for the other replica to take over.
      const seconds = random.integer(18, 25);
      await standby();
      stage.links.get('operators')?.cut();
      await sleep(seconds * 1000);
      stage.links.get('operators')?.heal();
      return `the link of operators was cut for ${seconds} s`;
    },
    async (random) => {
      const [name, link] = random.pick([...stage.links]);
      const seconds = random.integer(2, 12);
      link.stop();
      await sleep(seconds * 1000);
      link.heal();
      return `the link of ${name} forwarded nothing for ${seconds} s`;
    },
    async (random) => {
      const [name, link] = random.pick([...stage.links]);
      const delayMs = random.integer(20, 300);
      link.slow(delayMs);
      await sleep(8000);
      link.heal();
      return `the link of ${name} was ${delayMs} ms slower for 8 s`;
    },
    async () => {
      await standby();
      stage.standby.signal('SIGKILL');
      await sleep(2000);
      await standby();
      return 'the standby was killed and restarted';
    },
    async (random) => {
      await standby();
      const seconds = random.integer(5, 20);
      stage.standby.signal('SIGSTOP');
      await sleep(seconds * 1000);
      stage.standby.signal('SIGCONT');
      return `the standby stood still for ${seconds} s`;
    },
    async (random) => {
      const found = podProcesses(stage.server.pid);
      if (found.length === 0) return 'no process of a pod to kill';
      const { pid, command } = random.pick(found);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        return 'the process of a pod had ended already';
      }
      await sleep(3000);
      return `the process of a pod was killed: ${command}`;
    },
  ];
  return {
    cause: (random) => random.pick(faults)(random),
    async heal() {
      for (const link of stage.links.values()) link.heal();
      stage.standby.signal('SIGCONT');
      await standby();
    },
  };
}

/** Returns the processes that the node of the server started for pods. */
function podProcesses(server: number): readonly { readonly pid: number; readonly command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = / (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) \S/s, ''))?.[1];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        if (Number(parent) !== server || !KILLABLE.test(command)) return [];
        return [{ pid: Number(name), command: (/programs\/(.{0,40})/.exec(command)?.[1] ?? '').trim() }];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}
