// A drained entry that leads to another service of its backend now was renamed, if nothing else can have happened: its rule is
// unmistakable, it stands at the same position with the same port and with exactly the value that we wrote, no other entry of the route can
// be the drained one, and no other drained entry is missing. Every other case stays a guess, which is reported.
import type { RouteEntry, RouteRule } from '../model.ts';
import {
  type Candidate,
  identified,
  identityOf,
  isAsSeen,
  isChanged,
  isSameRule,
  isTraced,
  type Recognised,
  type StoredEntry,
  type StoredRule,
} from './recognise.ts';

export interface RenameInput {
  readonly rules: readonly RouteRule[];
  readonly stored: readonly StoredRule[];
  /** The backend that an entry's Service belongs to now. */
  backendOf(entry: RouteEntry): string | undefined;
}

/** Makes sure candidates of the guesses that can only be a rename. */
export function withRenames(found: Recognised, input: RenameInput): Recognised {
  const entries = input.rules.flatMap((rule) => identified(rule).map((entry) => ({ rule, entry })));
  const isSure = (entry: RouteEntry) => found.get(entry)?.every((one) => one?.isGuess === false) === true;
  const guesses = entries.filter(({ entry }) => found.has(entry) && !isSure(entry));
  if (guesses.length === 0) return found;
  const taken = new Set(
    [...found.values()].flatMap((list) => list.flatMap((one) => (isKnown(one) ? [one.stored] : []))),
  );
  const renamed = guesses.flatMap(({ rule, entry }): [RouteEntry, Candidate[]][] => {
    const [one, ...others] = found.get(entry) ?? [];
    if (one === undefined || others.length > 0) return [];
    const rivals = entries.filter(({ entry: other }) => other !== entry && !isSure(other)).map((each) => each.entry);
    const isRename =
      isAtItsPlace(rule, entry, one.stored, input) &&
      !taken.has(one.stored) &&
      !rivals.some((other) => canBe(other, one.stored)) &&
      !missingIn(input.stored, taken).some((other) => other !== one.stored && canBe(entry, other));
    return isRename ? [[entry, [{ ...one, isGuess: false }]]] : [];
  });
  return new Map([...found, ...renamed]);
}

const isKnown = (one: Candidate | undefined): one is Candidate => one !== undefined && !one.isGuess;

/** Same rule, same position among as many entries, same port, same fields, same backend. */
function isAtItsPlace(
  rule: RouteRule,
  entry: RouteEntry,
  one: StoredEntry,
  { rules, stored, backendOf }: RenameInput,
): boolean {
  const origin = stored.find(({ entries }) => entries.includes(one));
  if (origin === undefined || origin.isPartial || !isSameRule(origin, rule)) return false;
  const isSole =
    rules.filter((other) => isSameRule(origin, other)).length === 1 &&
    stored.filter((other) => isSameRule(other, rule)).length === 1;
  const here = identified(rule);
  const [now, then] = [identityOf(entry.id), identityOf(one.id)];
  return (
    isSole &&
    here.length === origin.entries.length &&
    here.indexOf(entry) === origin.entries.indexOf(one) &&
    now.port === then.port &&
    now.family === then.family &&
    isAsSeen(entry, one) &&
    one.backend !== undefined &&
    backendOf(entry) === one.backend
  );
}

/** Returns whether an entry may be the stored one: it leads to the same service, or has the value that we wrote. */
function canBe(entry: RouteEntry, one: StoredEntry): boolean {
  const [now, then] = [identityOf(entry.id), identityOf(one.id)];
  return now.family === then.family && (now.target === then.target || isTraced(entry, one));
}

/** Drained entries that no entry of the route is known to be. */
function missingIn(stored: readonly StoredRule[], taken: ReadonlySet<StoredEntry>): StoredEntry[] {
  return stored.flatMap(({ entries }) =>
    entries.filter((one) => one.backend !== undefined && isChanged(one) && !taken.has(one)),
  );
}
