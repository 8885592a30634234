// subctl deploy-broker: creates kinds, namespace, accounts with least privilege, the default policy and those of a file.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type JsonObject, loadKubeconfig, type ObjectMeta, Secret, selectContext } from '@capstan/kube';
import {
  ADMIN,
  createOnce,
  ensureBrokerRoles,
  ensureNamespace,
  installCrds,
  type Steps,
  tokenOf,
} from '../deployment/broker-objects.ts';
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
import { type BrokerInfo, formatBrokerInfo } from './broker-info.ts';
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
  const policies = [...initial];
  if (!policies.some(({ metadata }) => metadata.name === DEFAULT_POLICY)) {
    await installCrds(steps);
    const name = driver ?? (await deducedDriver(context));
    policies.push({ metadata: { name: DEFAULT_POLICY }, spec: [{ cableDriver: { name } }] });
  }
  const components = flags.list('components');
  const spec = {
    components: components.length === 0 ? ['connectivity'] : [...components],
    ...(driver !== undefined && { defaultCableDriver: driver }),
  };
  await ensureBroker(steps, { namespace, spec, policies, onDone: (text) => say.done(text) });
  const { address, ca } = await serverOf(context);
  const info = await brokerInfoOf(steps, {
    namespace,
    address: flags.text('broker-url') ?? address,
    ca,
    cableDriver: driver,
  });
  const file = flags.text('broker-info') ?? join(io.cwd, 'broker-info.subm');
  await io.files.write(file, `${formatBrokerInfo(info)}\n`);
  say.done(`Wrote ${file}: it holds credentials; give it to the clusters that join and to no one else`);
  return 0;
}

export interface BrokerParts {
  readonly namespace: string;
  /** The spec of the Broker resource, which is created once. */
  readonly spec: Partial<Broker['spec']>;
  /** Policies that are created once and then belong to the user. */
  readonly policies: readonly { readonly metadata: ObjectMeta; readonly spec: unknown }[];
  readonly onDone?: (text: string) => void;
}

/** Makes a cluster the broker: kinds, accounts, policies and the Broker resource. */
export async function ensureBroker(steps: Steps, { namespace, spec, policies, onDone }: BrokerParts): Promise<void> {
  const { client, clock, signal } = steps;
  const done = onDone ?? (() => {});
  await installCrds(steps);
  done('Installed the kinds of Submariner');
  await ensureNamespace(steps, namespace);
  await ensureBrokerRoles(steps, namespace);
  done(`Created the broker’s accounts in ${namespace}`);
  const now = new Date(clock.now()).toISOString();
  for (const policy of policies) {
    const { metadata } = policy;
    const object: CablePolicies = {
      apiVersion: CablePolicies.apiVersion,
      kind: CablePolicies.kind,
      metadata: {
        ...metadata,
        namespace,
        labels: { ...metadata.labels, [ORIGIN_LABEL]: BROKER_ORIGIN },
        annotations: { [CREATED_AT_ANNOTATION]: now, ...metadata.annotations },
      },
      spec: policy.spec,
    };
    const isCreated = await createOnce(() => client.create(CablePolicies, object, { signal }));
    done(`${isCreated ? 'Created' : 'Kept'} cable policy "${metadata.name}"`);
  }
  // Write this after the policies: a running operator would create the default policy first.
  const object = { apiVersion: Broker.apiVersion, kind: 'Broker', metadata: { namespace, name: 'submariner-broker' } };
  const broker = { ...object, spec: Broker.withDefaults({ ...object, spec }).spec };
  await createOnce(() => client.create(Broker, broker, { signal }));
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

/** Returns the driver of the Submariner configuration in the same cluster, if there is one. */
async function deducedDriver({ client, io }: CommandContext): Promise<string> {
  const { items } = await client.list(Submariner, { signal: io.signal });
  return driverNameOf(items[0]?.spec.cableDriver ?? '') ?? BUILT_IN_DRIVER;
}

/** Returns the data that clusters need to join. Creates the pre-shared key if there is none. */
export async function brokerInfoOf(
  { client, signal }: Steps,
  { namespace, address, ca, cableDriver }: Pick<BrokerInfo, 'namespace' | 'ca' | 'cableDriver'> & { address: string },
): Promise<BrokerInfo> {
  const ref = { namespace, name: PSK_SECRET };
  const psk = randomBytes(PSK_BYTES).toString('base64');
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: ref, type: 'Opaque', data: { psk } };
  await createOnce(() => client.create(Secret, secret, { signal }));
  const { data } = await client.get(Secret, ref, { signal });
  const token = await tokenOf({ client, signal }, namespace, ADMIN);
  return {
    brokerURL: address,
    namespace,
    token,
    ca,
    psk: data?.['psk'] ?? psk,
    components: ['connectivity'],
    cableDriver,
  };
}

/** Returns the address and the CA of the server from the kubeconfig. */
async function serverOf({ io, flags }: CommandContext): Promise<{ address: string; ca: string | undefined }> {
  const paths = kubeconfigPaths(flags);
  const env = paths.length === 0 ? io.env : { ...io.env, KUBECONFIG: paths.join(':') };
  const { cluster } = selectContext(await loadKubeconfig({ env }), contextOf(flags));
  const { server, caData, caFile } = cluster;
  if (caData !== undefined) return { address: server, ca: Buffer.from(caData, 'base64').toString('utf8') };
  return { address: server, ca: caFile === undefined ? undefined : await io.files.read(caFile) };
}
