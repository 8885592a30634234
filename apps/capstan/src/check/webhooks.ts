// Webhooks of Capstan: a registration whose Service has no pod lets everything pass or refuses everything.
import {
  type Client,
  EndpointSlice,
  MutatingWebhookConfiguration,
  Service,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { FIELD_MANAGER_PREFIX } from '@capstan/reconcile';
import { ADMISSION_NAME } from '../admission/names.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

type Registration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration;

export async function webhooks({
  client,
  signal,
}: {
  client: Client;
  signal: AbortSignal;
}): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const registrations: Registration[] = [
    ...(await client.list(ValidatingWebhookConfiguration, { signal })).items,
    ...(await client.list(MutatingWebhookConfiguration, { signal })).items,
  ];
  const ours = registrations.filter(
    ({ metadata }) =>
      metadata.name === ADMISSION_NAME ||
      (metadata.managedFields ?? []).some(({ manager = '' }) => manager.startsWith(FIELD_MANAGER_PREFIX)),
  );
  for (const { metadata, webhooks: hooks = [] } of ours)
    for (const { name, clientConfig, failurePolicy = 'Fail' } of hooks) {
      const what = `the webhook ${name} of ${metadata.name}`;
      const effect = failurePolicy === 'Ignore' ? 'nothing is checked' : 'what it checks is refused';
      const report = failurePolicy === 'Ignore' ? warning : problem;
      const { service, caBundle = '' } = clientConfig;
      if (caBundle === '')
        found.push(report('webhooks', `${what} has no authority yet: ${effect}`, 'look at the log of its pods'));
      if (service !== undefined && !(await isServed(client, service, signal)))
        found.push(
          report(
            'webhooks',
            `${what} has no ready pod behind Service ${service.namespace}/${service.name}: ${effect}`,
            'look at its pods: kubectl get pods, kubectl describe',
          ),
        );
    }
  return found.length > 0 ? found : [ok('webhooks', ours.length === 0 ? 'none is installed' : 'all can be reached')];
}

async function isServed(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<boolean> {
  if ((await client.find(Service, { namespace, name }, { signal })) === undefined) return false;
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const { items } = await client.list(EndpointSlice, { namespace, labelSelector, signal });
  return items.some(({ endpoints = [] }) => endpoints.some(({ conditions }) => conditions?.ready !== false));
}
