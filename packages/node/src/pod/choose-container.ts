import type { Pod } from '@capstan/kube';
import { NodeErrors } from '../errors.ts';

/** The container of that name; without a name the default one, or the only one. Throws one of the NodeErrors. */
export function chooseContainer(pod: Pod, container: string | undefined): string {
  const { name = '' } = pod.metadata;
  const names = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].map((one) => one.name);
  const chosen = container || pod.metadata.annotations?.['kubectl.kubernetes.io/default-container'];
  if (chosen) {
    if (!names.includes(chosen)) throw NodeErrors.NoSuchContainer(name, chosen, names);
    return chosen;
  }
  const [only] = names;
  if (only === undefined || (pod.spec?.containers.length ?? 0) > 1) throw NodeErrors.ContainerNotChosen(name, names);
  return only;
}
