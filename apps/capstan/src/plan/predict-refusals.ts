// Predicts which of the operators' own writes the server would refuse, by a dry run of each. Only where the user's rights allow it: an
// operator may have more rights than the user.
import { type Client, isApiError, keyOf, refOf } from '@capstan/kube';
import type { PreviewBody } from '@capstan/reconcile';

export interface Refusals {
  /** `Kind namespace/name: the server's message` */
  readonly refused: readonly string[];
  /** How many could not be asked about, because the user lacks the right to write them. */
  readonly notAsked: number;
}

const AT_A_TIME = 8;
/** Enough for any change that a person reviews; more would load the server for nothing. */
const MAX_ASKED = 500;

export async function predictRefusals(
  client: Client,
  bodies: readonly PreviewBody[],
  signal: AbortSignal,
): Promise<Refusals> {
  const pending = bodies.slice(0, MAX_ASKED).toReversed();
  const refused: string[] = [];
  let notAsked = bodies.length - pending.length;
  const ask = async () => {
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const answer = await refusalOf(client, next, signal);
      if (answer === NOT_ASKED) notAsked++;
      else if (answer !== undefined) refused.push(answer);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, ask));
  return { refused: refused.toSorted(), notAsked };
}

const NOT_ASKED = 'not asked';

/** The refusal; undefined when the server would accept it. */
async function refusalOf(
  client: Client,
  { kind, body, manager, verb, by }: PreviewBody,
  signal: AbortSignal,
): Promise<string | undefined> {
  const options = { fieldManager: manager, dryRun: true, signal };
  try {
    if (verb === 'create') await client.create(kind, body, options);
    else await client.apply(kind, body, { ...options, force: true });
    return undefined;
  } catch (error) {
    if (!isApiError(error)) throw error;
    // A kind or a namespace that would be created by the same change is not there yet.
    if (error.code === 404 || (verb === 'create' && error.code === 409)) return undefined;
    if (error.code === 401 || error.code === 403) return isQuota(error.serverMessage) ? refusal() : NOT_ASKED;
    if (error.code >= 500 || error.code === 429) return NOT_ASKED;
    return refusal();

    function refusal(): string {
      return `${kind.kind} ${keyOf(refOf(body))} by ${by}: ${isApiError(error) ? error.serverMessage : ''}`;
    }
  }
}

/** Admission answers 403 as well: a quota, or the Pod Security profile, is a refusal of the object and not of the user. */
function isQuota(message: string): boolean {
  return /exceeded quota|violates PodSecurity|admission webhook|denied the request|is forbidden: .*limit/i.test(
    message,
  );
}
