// Whether a revision's runtime is up, and if not, why.
import { Pod } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import { labelValue, REVISION_LABEL, type Workload } from '../runtime/index.ts';
import type { RevisionRuntime } from '../workload/runtime-of-revision.ts';
import type { Health } from './conditions.ts';

interface RuntimeHealthInput {
  readonly read: Reader;
  readonly runtime: RevisionRuntime;
  readonly workload: Workload;
  readonly revision: string;
  readonly payload: Health;
  /** The server's refusal of one of its writes. */
  readonly failure: string | undefined;
  readonly problemOfPod: (pod: Pod) => string | undefined;
}

export function runtimeHealth(input: RuntimeHealthInput): Health {
  const { read, runtime, workload, revision, payload, failure } = input;
  if (runtime.state === 'failed') return { status: 'False', message: runtime.message };
  if (failure !== undefined) {
    const from = runtime.config === undefined ? '' : ` (the runtime configuration is ${runtime.config})`;
    return { status: 'False', message: `${failure}${from}` };
  }
  const { namespace = '', name = '' } = runtime.rendered.workload.metadata;
  const health = read.get(workload.kind, { namespace, name }, workload.health);
  if (health === undefined) {
    const waits =
      payload.status === 'True' ? 'it is being created' : 'it waits until the package’s objects are installed';
    return { status: 'False', message: `the ${workload.kind.kind} ${name} is not there yet: ${waits}` };
  }
  if (health.isComplete) return { status: 'True', message: '' };
  const labels = `${REVISION_LABEL}=${labelValue(revision)}`;
  const [why] = read.list(Pod, { namespace, labels }, input.problemOfPod).filter((text) => text !== undefined);
  if (health.isAvailable)
    return why === undefined
      ? { status: 'True', message: '' }
      : { status: 'False', message: `the pods before it run on, and a new one does not start: ${why}` };
  return { status: 'False', message: `the ${workload.kind.kind} ${name}: ${why ?? health.message}` };
}
