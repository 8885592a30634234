// Packages: the runtime of a provider is configured, and the provider is removed and installed again.
import { DeploymentRuntimeConfig, Provider, ProviderRevision } from '@capstan/crossplane';
import { type Client, Deployment, type KubeObject } from '@capstan/kube';
import { type Area, conditionProblem, put, remove, type Seen } from './area.ts';

const NAME = { name: 'storage' };
const NAMESPACE = 'crossplane-system';

export function packagesArea(client: Client): Area {
  let spec: unknown;
  let isInstalled = true;
  let team = 'storage';
  return {
    name: 'packages',
    async prepare() {
      spec = ((await client.get(Provider, NAME)) as unknown as Seen).spec;
    },
    async edit(random) {
      if (!isInstalled) {
        await put(client, Provider, NAME, { spec: spec as object });
        isInstalled = true;
      } else if (random.chance(0.1)) {
        await remove(client, Provider, NAME);
        isInstalled = false;
      } else {
        team = `team-${random.integer(1, 5)}`;
        const metadata = { labels: { team } };
        await client.patch(DeploymentRuntimeConfig, NAME, 'merge', { spec: { deploymentTemplate: { metadata } } });
      }
    },
    async unsettled() {
      const provider = (await client.find(Provider, NAME)) as Seen | undefined;
      const { items: revisions } = await client.list(ProviderRevision);
      const { items } = await client.list(Deployment, { namespace: NAMESPACE });
      const runtimes = items.filter(({ metadata }) => metadata.name?.startsWith('storage-'));
      if (!isInstalled)
        return provider === undefined && revisions.length === 0 && runtimes.length === 0
          ? []
          : [`${revisions.length} revisions and ${runtimes.length} Deployments are left of the removed provider`];
      const active = (revisions as (KubeObject & { spec?: { desiredState?: string } })[]).filter(
        (revision) => revision.spec?.desiredState === 'Active',
      );
      return [
        ...conditionProblem(provider, 'Provider storage', 'Installed', 'True'),
        ...conditionProblem(provider, 'Provider storage', 'Healthy', 'True'),
        ...(active.length === 1 ? [] : [`Provider storage has ${active.length} active revisions`]),
        ...(runtimes.length === 1 && runtimes[0]?.metadata.labels?.['team'] === team
          ? []
          : [`the Deployment of Provider storage has not the label ${team}`]),
      ];
    },
  };
}
