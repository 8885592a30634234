// Whether a revision's runtime is up, and if not, why.
import { Deployment, Pod } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import { labelValue, REVISION_LABEL } from '../runtime/index.ts';
import { deploymentHealth } from '../workload/deployment-health.ts';
import type { RevisionRuntime } from '../workload/runtime-of-revision.ts';
import type { Health } from './conditions.ts';

interface RuntimeHealthInput {
  readonly read: Reader;
  readonly runtime: RevisionRuntime;
  readonly revision: string;
  readonly payload: Health;
  /** What the server refused of it. */
  readonly trouble: string | undefined;
  readonly troubleOfPod: (pod: Pod) => string | undefined;
}

export function runtimeHealth(input: RuntimeHealthInput): Health {
  const { read, runtime, revision, payload, trouble } = input;
  if (runtime.state === 'failed') return { status: 'False', message: runtime.message };
  if (trouble !== undefined) {
    const from = runtime.config === undefined ? '' : ` (the runtime configuration is ${runtime.config})`;
    return { status: 'False', message: `${trouble}${from}` };
  }
  const { namespace = '', name = '' } = runtime.rendered.deployment.metadata;
  const health = read.get(Deployment, { namespace, name }, deploymentHealth);
  if (health === undefined) {
    const waits = payload.status === 'True' ? 'it is being made' : 'it waits until the package’s objects are installed';
    return { status: 'False', message: `the Deployment ${name} is not there yet: ${waits}` };
  }
  if (health.isComplete) return { status: 'True', message: '' };
  const labels = `${REVISION_LABEL}=${labelValue(revision)}`;
  const [why] = read.list(Pod, { namespace, labels }, input.troubleOfPod).filter((text) => text !== undefined);
  if (health.isAvailable)
    return why === undefined
      ? { status: 'True', message: '' }
      : { status: 'False', message: `the pods before it run on, and a new one does not start: ${why}` };
  return { status: 'False', message: `the Deployment ${name}: ${why ?? health.message}` };
}
