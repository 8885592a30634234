// subctl deploy-broker: kinds, namespace, accounts with least rights, the default policy and those of a file.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type JsonObject, loadKubeconfig, type ObjectMeta, Secret, selectContext } from '@capstan/kube';
import {
  BROKER_NAMESPACE,
  BROKER_ORIGIN,
  Broker,
  CablePolicies,
  CREATED_AT_ANNOTATION,
  ORIGIN_LABEL,
  Submariner,
} from '../kinds/index.ts';
import { BUILT_IN_DRIVER, driverNameOf } from '../policy/driver-names.ts';
import { DEFAULT_POLICY, readPolicy } from '../policy/read-policy.ts';
import { readYaml } from '../policy/read-yaml.ts';
import { contextOf, kubeconfigPaths } from './arguments.ts';
import { formatBrokerInfo } from './broker-info.ts';
import { ADMIN, createOnce, ensureBrokerRoles, ensureNamespace, installCrds, tokenOf } from './broker-objects.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, progress } from './io.ts';

const PSK_SECRET = 'submariner-ipsec-psk';
const PSK_BYTES = 48;

export async function deployBroker(context: CommandContext): Promise<number> {
  const { io, client, flags } = context;
  const say = progress(io);
  const namespace = flags.text('namespace') ?? flags.text('broker-namespace') ?? BROKER_NAMESPACE;
  const given = flags.text('cable-driver');
  const driver = given === undefined ? undefined : driverNameOf(given);
  if (given !== undefined && driver === undefined)
    throw CommandErrors.Usage(`--cable-driver: "${given}" is not known`, 'deploy-broker');
  const initial = await initialPolicies(context);
  const steps = { client, clock: io.clock, signal: io.signal };
  await installCrds(steps);
  say.done('Installed the kinds of Submariner');
  await ensureNamespace(steps, namespace);
  await ensureBrokerRoles(steps, namespace);
  say.done(`Created the broker’s accounts in ${namespace}`);
  const components = flags.list('components');
  const broker: Broker = {
    apiVersion: Broker.apiVersion,
    kind: 'Broker',
    metadata: { namespace, name: 'submariner-broker' },
    spec: Broker.withDefaults({
      apiVersion: Broker.apiVersion,
      kind: 'Broker',
      metadata: {},
      spec: {
        components: components.length === 0 ? ['connectivity'] : [...components],
        ...(driver !== undefined && { defaultCableDriver: driver }),
      },
    }).spec,
  };
  await createOnce(() => client.create(Broker, broker, { signal: io.signal }));
  const now = new Date(io.clock.now()).toISOString();
  const policies = [...initial];
  if (!policies.some(({ metadata }) => metadata.name === DEFAULT_POLICY))
    policies.push({
      metadata: { name: DEFAULT_POLICY },
      spec: [{ cableDriver: { name: driver ?? (await deducedDriver(context)) } }],
    });
  for (const { metadata, spec } of policies) {
    const object: CablePolicies = {
      apiVersion: CablePolicies.apiVersion,
      kind: CablePolicies.kind,
      metadata: {
        ...metadata,
        namespace,
        labels: { ...metadata.labels, [ORIGIN_LABEL]: BROKER_ORIGIN },
        annotations: { [CREATED_AT_ANNOTATION]: now, ...metadata.annotations },
      },
      spec,
    };
    const created = await createOnce(() => client.create(CablePolicies, object, { signal: io.signal }));
    say.done(`${created ? 'Created' : 'Kept'} cable policy "${metadata.name}"`);
  }
  await writeInfo(context, namespace, driver);
  return 0;
}

async function initialPolicies({ flags, io }: CommandContext): Promise<{ metadata: ObjectMeta; spec: unknown }[]> {
  const file = flags.text('policies-file');
  if (file === undefined) return [];
  const { objects, warnings, problems } = readYaml(await io.files.read(file), file);
  for (const warning of warnings) progress(io).warning(warning);
  const policies = objects.map((object: JsonObject) => ({
    metadata: (object['metadata'] ?? {}) as ObjectMeta,
    spec: object['spec'],
  }));
  const wrong = policies.flatMap((policy) =>
    readPolicy(policy).problems.map(({ message }) => `policy "${policy.metadata.name}": ${message}`),
  );
  if (problems.length + wrong.length > 0) throw CommandErrors.Invalid(file, [...problems, ...wrong]);
  return policies;
}

/** Of the Submariner configuration in the same cluster, where there is one. */
async function deducedDriver({ client, io }: CommandContext): Promise<string> {
  const { items } = await client.list(Submariner, { signal: io.signal });
  return driverNameOf(items[0]?.spec.cableDriver ?? '') ?? BUILT_IN_DRIVER;
}

async function writeInfo(context: CommandContext, namespace: string, cableDriver: string | undefined): Promise<void> {
  const { io, client, flags } = context;
  const ref = { namespace, name: PSK_SECRET };
  const psk = randomBytes(PSK_BYTES).toString('base64');
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: ref, type: 'Opaque', data: { psk } };
  await createOnce(() => client.create(Secret, secret, { signal: io.signal }));
  const { data } = await client.get(Secret, ref, { signal: io.signal });
  const { address, ca } = await serverOf(context);
  const file = flags.text('broker-info') ?? join(io.cwd, 'broker-info.subm');
  const token = await tokenOf({ client, signal: io.signal }, namespace, ADMIN);
  const info = {
    brokerURL: flags.text('broker-url') ?? address,
    namespace,
    token,
    ca,
    psk: data?.['psk'] ?? psk,
    components: ['connectivity'],
    cableDriver,
  };
  await io.files.write(file, `${formatBrokerInfo(info)}\n`);
  progress(io).done(`Wrote ${file}: it holds credentials; give it to the clusters that join and to no one else`);
}

/** Where the server is and how it is recognised, from the kubeconfig. */
async function serverOf({ io, flags }: CommandContext): Promise<{ address: string; ca: string | undefined }> {
  const paths = kubeconfigPaths(flags);
  const env = paths.length === 0 ? io.env : { ...io.env, KUBECONFIG: paths.join(':') };
  const { cluster } = selectContext(await loadKubeconfig({ env }), contextOf(flags));
  const { server, caData, caFile } = cluster;
  if (caData !== undefined) return { address: server, ca: Buffer.from(caData, 'base64').toString('utf8') };
  return { address: server, ca: caFile === undefined ? undefined : await io.files.read(caFile) };
}
