// `capstan install` of all operators on a real control plane, until every replica is ready; and how long it takes until another
// replica writes after the leader was killed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { failOverUnderLoad } from '@capstan/cli/test/failover-under-load';
import { startRealInstallation } from '@capstan/cli/test/real-installation';
import { findBinaries } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';

const LEASE_SECONDS = 15;

export const cluster: Part = {
  name: 'cluster',
  summary: 'capstan install of all operators on a real control plane, and failover of a leader',
  lacks() {
    const binaries = findBinaries();
    return 'missing' in binaries ? binaries.missing : undefined;
  },
  async measure(scale) {
    const installation = await startRealInstallation();
    const { real, program, close } = installation;
    try {
      const operators = scale === 'full' ? [] : ['--operators', 'kroxylicious'];
      const start = performance.now();
      const child = spawn(process.execPath, [program, 'install', '--timeout', '300s', ...operators], {
        env: { ...process.env, KUBECONFIG: real.kubeconfigFile },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const [code] = (await once(child, 'exit')) as [number];
      if (code !== 0) throw new Error(`capstan install ended with ${code}`);
      const seconds = (performance.now() - start) / 1000;
      const { writesAfterMs } = await failOverUnderLoad(installation);
      return [
        result({ name: 'capstan install until all are ready', unit: 's', rounds: [seconds], below: 60 }),
        result({
          name: 'another replica writes after the leader was killed under load',
          unit: 's',
          rounds: [writesAfterMs / 1000],
          below: LEASE_SECONDS + 1,
          note: `the Lease lasts ${LEASE_SECONDS} s`,
        }),
      ];
    } finally {
      await close();
    }
  },
};
