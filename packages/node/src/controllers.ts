// The workload controllers of an embedded cluster, together.
import type { Client, Clock, Logger, Random } from '@capstan/kube';
import { type Controller, runController } from './controller/controller.ts';
import { createToolkit, type Toolkit } from './controller/toolkit.ts';
import { daemonSetController } from './daemon-set/daemon-set-controller.ts';
import { deploymentController } from './deployment/deployment-controller.ts';
import { disruptionController } from './disruption/disruption-controller.ts';
import { endpointsController } from './endpoints/endpoints-controller.ts';
import { jobController } from './job/job-controller.ts';
import { namespaceContents } from './namespaces/namespace-contents.ts';
import { lostPods } from './pod-gc/lost-pods.ts';
import { replicaSetController, replicationController } from './replica-set/replica-set-controller.ts';
import { scheduler } from './scheduler/scheduler.ts';

export interface ControllersOptions {
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** PEM; put into each namespace as `kube-root-ca.crt`. Default: none, and no such ConfigMap. */
  rootCertificate?: string;
}

export interface Controllers {
  /** Runs until the signal is aborted; settles when all have stopped. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Workloads, Services, budgets and the scheduler: the programs of a control plane besides the API server. */
export function createControllers(options: ControllersOptions): Controllers {
  return {
    async run(signal) {
      const tools = createToolkit({ ...options, manager: 'kube-controller-manager' });
      const schedulerTools = createToolkit({ ...options, manager: 'kube-scheduler' });
      const own = [
        deploymentController(tools.as('deployment-controller')),
        replicaSetController(tools.as('replicaset-controller')),
        replicationController(tools.as('replication-controller')),
        daemonSetController(tools.as('daemonset-controller')),
        jobController(tools.as('job-controller')),
        endpointsController(tools),
        disruptionController(tools),
        lostPods(tools),
        namespaceContents(tools, options.rootCertificate),
      ];
      await Promise.all([
        runAll(tools, own, signal),
        runAll(schedulerTools, [scheduler(schedulerTools.as('default-scheduler'))], signal),
      ]);
    },
  };
}

async function runAll(tools: Toolkit, controllers: readonly Controller[], signal: AbortSignal): Promise<void> {
  await Promise.all([tools.run(signal), ...controllers.map((one) => runController(tools, one, signal))]);
}
