// The parts of a cloud that discovery reads, as Keystone and Octavia list them. Lists are read page by page to their end. An incomplete
// list is an error, because its missing entries would be taken for deleted ones.
import { DiscoverErrors, isCode } from '../errors.ts';
import { arrayAt, booleanAt, idsAt, numberAt, recordAt, textAt } from './json.ts';
import type { Session } from './session.ts';

export interface Project {
  readonly id: string;
  readonly name: string;
}

interface Element {
  readonly id: string;
  readonly isUp: boolean;
  readonly provisioning: string;
  readonly operating: string;
  readonly updatedAt: string;
}

export interface LoadBalancer extends Element {
  readonly name: string;
  readonly projectId: string;
}

export interface Listener extends Element {
  readonly protocol: string;
  readonly port: number;
  readonly poolId: string | undefined;
  readonly balancerIds: readonly string[];
}

export interface Pool extends Element {
  readonly balancerIds: readonly string[];
  readonly memberIds: readonly string[];
}

export interface Member extends Element {
  readonly address: string;
  readonly port: number;
  readonly weight: number;
  readonly isBackup: boolean;
}

/** All projects; for a user who may not list them, those that it may enter. */
export async function listProjects(session: Session): Promise<Project[]> {
  const read = (path: string) =>
    pages(session.identity, path, 'projects', (answer) => textAt(recordAt(answer, 'links'), 'next'));
  let items: readonly unknown[];
  try {
    items = await read('/projects');
  } catch (error) {
    if (!isCode(error, 'Refused')) throw error;
    items = await read('/auth/projects');
  }
  return items.map((item) => ({ id: need(item, 'id', 'projects'), name: need(item, 'name', 'projects') }));
}

export async function listLoadBalancers(session: Session): Promise<LoadBalancer[]> {
  const items = await listed(session, '/loadbalancers', 'loadbalancers');
  return items.map((item) => ({
    ...elementOf(item, 'loadbalancers'),
    name: textAt(item, 'name') ?? '',
    projectId: textAt(item, 'project_id') ?? need(item, 'tenant_id', 'loadbalancers'),
  }));
}

export async function listListeners(session: Session): Promise<Listener[]> {
  const items = await listed(session, '/listeners', 'listeners');
  return items.map((item) => ({
    ...elementOf(item, 'listeners'),
    protocol: need(item, 'protocol', 'listeners'),
    port: numberAt(item, 'protocol_port') ?? 0,
    poolId: textAt(item, 'default_pool_id'),
    balancerIds: idsAt(item, 'loadbalancers'),
  }));
}

export async function listPools(session: Session): Promise<Pool[]> {
  const items = await listed(session, '/pools', 'pools');
  return items.map((item) => ({
    ...elementOf(item, 'pools'),
    balancerIds: idsAt(item, 'loadbalancers'),
    memberIds: idsAt(item, 'members'),
  }));
}

export async function listMembers(session: Session, poolId: string): Promise<Member[]> {
  const items = await listed(session, `/pools/${encodeURIComponent(poolId)}/members`, 'members');
  return items.map((item) => ({
    ...elementOf(item, 'members'),
    address: textAt(item, 'address') ?? '',
    port: numberAt(item, 'protocol_port') ?? 0,
    weight: numberAt(item, 'weight') ?? 1,
    isBackup: booleanAt(item, 'backup') ?? false,
  }));
}

const PAGE = '1000';
/** Ten million elements. A cloud that always names another page would be read for ever. */
const MAX_PAGES = 10_000;

function listed(session: Session, path: string, name: string): Promise<readonly unknown[]> {
  return pages(session.balancer, path, name, (answer) => {
    const next = arrayAt(answer, `${name}_links`)?.find((link) => textAt(link, 'rel') === 'next');
    return next === undefined ? undefined : textAt(next, 'href');
  });
}

async function pages(
  get: Session['identity'],
  path: string,
  name: string,
  nextOf: (answer: unknown) => string | undefined,
): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  const seen = new Set<string>();
  let query: Record<string, string> = { limit: PAGE };
  for (;;) {
    const answer = await get(path, query);
    const items = arrayAt(answer, name);
    if (items === undefined) throw DiscoverErrors.BadAnswer(path, `it has no ${name}`);
    for (const item of items) all.push(item);
    const next = nextOf(answer);
    if (next === undefined || items.length === 0) return all;
    // Only its query counts: services behind a proxy often name themselves wrongly.
    if (!URL.canParse(next, 'http://any'))
      throw DiscoverErrors.BadAnswer(path, 'the address of its next page is not one');
    const search = new URL(next, 'http://any').search;
    if (seen.size >= MAX_PAGES) throw DiscoverErrors.BadAnswer(path, `it has more than ${MAX_PAGES} pages`);
    if (seen.has(search)) throw DiscoverErrors.BadAnswer(path, 'its pages lead in a circle');
    seen.add(search);
    query = Object.fromEntries(new URLSearchParams(search));
  }
}

function elementOf(item: unknown, list: string): Element {
  return {
    id: need(item, 'id', list),
    isUp: booleanAt(item, 'admin_state_up') ?? true,
    provisioning: textAt(item, 'provisioning_status') ?? 'ACTIVE',
    operating: textAt(item, 'operating_status') ?? 'ONLINE',
    updatedAt: textAt(item, 'updated_at') ?? '',
  };
}

function need(item: unknown, name: string, list: string): string {
  const text = textAt(item, name);
  if (text === undefined) throw DiscoverErrors.BadAnswer(`the list of ${list}`, `an entry has no ${name}`);
  return text;
}
