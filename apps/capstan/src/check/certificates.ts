// Certificates of Capstan's own programs: who lets one expire learns it from a connection that fails.
import { type Client, certificateValidity, keyOfObject, Secret } from '@capstan/kube';
import { FIELD_MANAGER_PREFIX } from '@capstan/reconcile';
import { ADMISSION_NAME } from '../admission/names.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

/** They are renewed after two thirds of their life: one that is about to expire was not. */
const SOON_MS = 7 * 24 * 3600_000;

export async function certificates(options: {
  client: Client;
  now: number;
  signal: AbortSignal;
}): Promise<readonly Finding[]> {
  const { client, now, signal } = options;
  const found: Finding[] = [];
  let count = 0;
  for await (const { items } of client.pages(Secret, { signal }))
    for (const secret of items.filter(isOurs)) {
      const expires = expiryOf(secret);
      if (expires === undefined) continue;
      count += 1;
      const what = `the certificate in Secret ${keyOfObject(secret)}`;
      const at = new Date(expires).toISOString();
      const remedy = 'look at the log of the operator that renews it; deleting the Secret makes a new one';
      if (expires <= now) found.push(problem('certificates', `${what} expired at ${at}`, remedy));
      else if (expires - now < SOON_MS) found.push(warning('certificates', `${what} expires at ${at}`, remedy));
    }
  return found.length > 0 ? found : [ok('certificates', `${count} of Capstan’s own, none about to expire`)];
}

function isOurs({ metadata }: Secret): boolean {
  return (
    metadata.name?.startsWith(ADMISSION_NAME) === true ||
    (metadata.managedFields ?? []).some(({ manager = '' }) => manager.startsWith(FIELD_MANAGER_PREFIX))
  );
}

/** Undefined where there is no certificate, or none that can be read. */
function expiryOf({ data = {} }: Secret): number | undefined {
  const text = data['tls.crt'];
  if (text === undefined) return undefined;
  try {
    return certificateValidity(Buffer.from(text, 'base64').toString('utf8')).notAfter.getTime();
  } catch {
    return undefined;
  }
}
