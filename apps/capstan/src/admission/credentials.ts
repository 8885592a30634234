// The certificate of the admission webhook, in a Secret that every replica can read and renew, and the authority in the configuration by
// which the server verifies it. The first replica to check creates or renews it; the others use the result.
import {
  type Client,
  type Clock,
  isAlreadyExists,
  isConflict,
  isNotFound,
  Secret,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { caBundleOf, createWebhookCertificate, fingerprintsIn, type KeyPair } from '@capstan/reconcile/webhook';
import { ADMISSION_NAME, ADMISSION_SECRET } from './names.ts';

export interface CredentialsOptions {
  client: Client;
  clock: Clock;
  namespace: string;
  /** That the server calls the webhook by, sorted. */
  dnsNames: readonly string[];
  signal: AbortSignal;
}

const certificate = createWebhookCertificate(ADMISSION_NAME);

/** The certificate in force, renewed and registered where that is due. Undefined when another replica came first: look again. */
export async function ensureCredentials(options: CredentialsOptions): Promise<KeyPair | undefined> {
  const { client, clock, namespace, dnsNames, signal } = options;
  const registered = await client.find(ValidatingWebhookConfiguration, { name: ADMISSION_NAME }, { signal });
  const bundles = (registered?.webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle ?? '');
  // Before the first registration the server trusts nothing, and need not be waited for.
  const trusted = bundles.some((bundle) => bundle === '') ? undefined : bundles.flatMap(fingerprintsIn).toSorted();
  const inputs = { dnsNames, ...(trusted && { trusted }) };
  const existing = await client.find(Secret, { namespace, name: ADMISSION_SECRET }, { signal });
  const reached = (instant: number | string) => clock.now() >= new Date(instant).getTime();
  let secret = existing;
  if (existing === undefined || !certificate.valid(existing, inputs, { reached })) {
    const created = await certificate.make(inputs, existing, { clock, signal });
    try {
      secret = await store(created, existing);
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error)) return undefined;
      throw error;
    }
  }
  await register(caBundleOf(secret) ?? '');
  return { cert: textOf(secret, 'tls.crt'), key: textOf(secret, 'tls.key') };

  function store({ data }: Secret, before: Secret | undefined): Promise<Secret> {
    const { apiVersion, kind } = Secret;
    // With its owner it goes when the installation is removed.
    const owner = registered && {
      apiVersion: ValidatingWebhookConfiguration.apiVersion,
      kind: ValidatingWebhookConfiguration.kind,
      name: ADMISSION_NAME,
      uid: registered.metadata.uid ?? '',
    };
    const metadata = { namespace, name: ADMISSION_SECRET, ...(owner && { ownerReferences: [owner] }) };
    if (before === undefined)
      return client.create(Secret, { apiVersion, kind, metadata, type: 'Opaque', ...(data && { data }) }, { signal });
    return client.update(Secret, { ...before, ...(data && { data }) }, { signal });
  }

  async function register(caBundle: string): Promise<void> {
    const { webhooks = [], metadata } = registered ?? {};
    if (registered === undefined || webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return;
    const tests = [{ op: 'test', path: '/metadata/resourceVersion', value: metadata?.resourceVersion }];
    const sets = webhooks.map((_, index) => ({
      op: 'add',
      path: `/webhooks/${index}/clientConfig/caBundle`,
      value: caBundle,
    }));
    try {
      await client.patch(ValidatingWebhookConfiguration, { name: ADMISSION_NAME }, 'json', [...tests, ...sets], {
        fieldManager: ADMISSION_NAME,
        signal,
      });
    } catch (error) {
      // It changed or went meanwhile: the next look finds it as it is then.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

function textOf(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
}
