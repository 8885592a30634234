import type { GraphAnswer, ObjectAnswer } from '../../api-types.ts';
import { conditionState } from '../logic/condition-state.ts';
import { age, clockTime } from '../logic/relative-time.ts';
import {
  DEFAULT_DEPTH,
  kindName,
  nameOf,
  namespaceOf,
  type ObjectPlace,
  pathOfPlace,
  placeOf,
} from '../logic/routes.ts';
import { ChangeList, withoutHeartbeats } from '../parts/change-list.tsx';
import { Glyph, stateWord } from '../parts/glyph.tsx';
import { CopyButton, Loading, PageHead, Panel, ProblemNote } from '../parts/panel.tsx';
import { YamlView } from '../parts/yaml-view.tsx';
import { route, withQuery } from '../state/location.ts';
import { useEvent, useResource } from '../state/resource.ts';
import { now } from '../state/world.ts';
import { type Direction, ObjectGraph } from './object-graph.tsx';
import { Deliveries, Events, Pods, Reads, Why } from './object-parts.tsx';

const BUDGET = 200;
const SHOWN_HISTORY = 6;
const TABS = ['summary', 'yaml', 'history', 'events', 'reads', 'deliveries'] as const;
type Tab = (typeof TABS)[number];

export function ObjectPage() {
  const { parts, query } = route.value;
  const place = placeOf(parts);
  const path = place && pathOfPlace(place);
  const depth = Math.max(1, Math.min(6, Number(query['depth'] ?? DEFAULT_DEPTH) || DEFAULT_DEPTH));
  const direction = (['reads', 'readers'] as const).find((one) => one === query['dir']) ?? 'both';
  const { loaded, reloadSoon } = useResource<ObjectAnswer>(path && `/api/object/${path}`);
  const graph = useResource<GraphAnswer>(path && `/api/graph/${path}?dir=${direction}&depth=${depth}&budget=${BUDGET}`);
  useEvent('objects', ({ rows, removed }) => {
    const { data } = graph.loaded.peek();
    const shown = new Set(data?.nodes.map(({ id }) => id));
    if (![...rows.map(({ id }) => id), ...removed].some((id) => shown.has(id))) return;
    reloadSoon();
    graph.reloadSoon();
  });
  if (place === undefined) return null;
  const { data, problem } = loaded.value;
  const isAbsent = problem?.status === 404;
  const state = isAbsent ? 'absent' : (data?.health?.state ?? (problem?.status === 403 ? 'unknown' : 'none'));
  const tab = TABS.find((one) => one === query['tab']) ?? 'summary';
  const edit = `/plan?object=${encodeURIComponent(path ?? '')}`;
  return (
    <>
      <PageHead title={nameOf(place.key)} sub={subtitle(place, data)} glyph={<Glyph state={state} />}>
        <span class={`tag ${state}`}>{data?.health?.reason || stateWord(state)}</span>
        {(data?.conditions ?? [])
          .filter(({ type, status }) => conditionState(type, status, state) === 'warning')
          .map(({ type, message }) => (
            <span key={type} class="tag warn" title={message}>
              {type}
            </span>
          ))}
        {place.world === '' ? (
          <a class="button" href={isAbsent ? `/plan?create=${encodeURIComponent(path ?? '')}` : edit}>
            {isAbsent ? 'Plan to create it' : 'Edit and plan'}
            <kbd>e</kbd>
          </a>
        ) : (
          <span class="tag" title="Plans are computed for the cluster of the console.">
            read-only here
          </span>
        )}
        <CopyButton text={kubectl(place, 'describe')} title="Copy kubectl" />
      </PageHead>
      {isAbsent ? (
        <div class="banner bad">
          <Glyph state="absent" isNamed />
          <div>
            <b>This object does not exist.</b> The graph shows the objects that read it.
          </div>
        </div>
      ) : (
        problem !== undefined && <ProblemNote problem={problem} />
      )}
      {data !== undefined && <Tabs tab={tab} data={data} />}
      {(tab === 'summary' || data === undefined) && (
        <Summary place={place} data={data} graph={graph.loaded.value.data} depth={depth} direction={direction} />
      )}
      {data === undefined && problem === undefined && <Loading />}
      {data !== undefined && tab !== 'summary' && <OneTab tab={tab} data={data} place={place} />}
    </>
  );
}

function subtitle({ kind, key, world }: ObjectPlace, data: ObjectAnswer | undefined): string {
  const version = data?.object['apiVersion'];
  const namespace = namespaceOf(key);
  return [
    kindName(kind),
    typeof version === 'string' ? version : '',
    namespace === '' ? '' : `namespace ${namespace}`,
    world === '' ? '' : `cluster ${world}`,
    data?.health?.operator ?? '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function kubectl({ kind, key }: ObjectPlace, verb: string): string {
  const namespace = namespaceOf(key);
  const resource = kind.toLowerCase();
  return `kubectl ${verb} ${resource} ${nameOf(key)}${namespace === '' ? '' : ` -n ${namespace}`}`;
}

function Tabs({ tab, data }: { tab: Tab; data: ObjectAnswer }) {
  const { changes, events, readCount, reads, deliveries } = data;
  const counts: Readonly<Record<Tab, number | undefined>> = {
    summary: undefined,
    yaml: undefined,
    history: withoutHeartbeats(changes).length,
    events: events?.length,
    reads: readCount ?? reads?.length,
    deliveries: deliveries?.length,
  };
  const titles: Readonly<Record<Tab, string>> = {
    summary: 'Summary',
    yaml: 'YAML',
    history: 'History',
    events: 'Events',
    reads: 'Reads',
    deliveries: 'Deliveries',
  };
  return (
    <nav class="tabs" aria-label="Views of the object">
      {TABS.map((one) => (
        <a
          key={one}
          href={withQuery({ tab: one === 'summary' ? '' : one })}
          {...(one === tab && { 'aria-current': 'page' as const })}
        >
          {titles[one]} {counts[one] !== undefined && <span class="faint">{counts[one]}</span>}
        </a>
      ))}
    </nav>
  );
}

function OneTab({ tab, data, place }: { tab: Tab; data: ObjectAnswer; place: ObjectPlace }) {
  switch (tab) {
    case 'yaml':
      return <YamlView object={data.object} owners={data.owners} command={`${kubectl(place, 'get')} -o yaml`} />;
    case 'history':
      return (
        <Panel
          title="History"
          note="Changes that this console has seen, newest first. The last cause of a write is on the object itself."
        >
          <ChangeList changes={withoutHeartbeats(data.changes)} view="writes" most={200} />
        </Panel>
      );
    case 'events':
      return <Events events={data.events} />;
    case 'reads':
      return <Reads reads={data.reads ?? []} number={data.readCount ?? 0} />;
    default:
      return <Deliveries deliveries={data.deliveries ?? []} />;
  }
}

interface SummaryProps {
  readonly place: ObjectPlace;
  readonly data: ObjectAnswer | undefined;
  readonly graph: GraphAnswer | undefined;
  readonly depth: number;
  readonly direction: Direction;
}

function Summary({ place, data, graph, depth, direction }: SummaryProps) {
  return (
    <div class="stack">
      <div class={data === undefined ? 'stack' : 'columns side-right even'}>
        {graph === undefined ? (
          <Panel title="Dependencies">
            <Loading />
          </Panel>
        ) : (
          <ObjectGraph place={place} graph={graph} cause={data?.cause ?? null} depth={depth} direction={direction} />
        )}
        {data !== undefined && (
          <Why
            data={data}
            history={withoutHeartbeats(data.changes).slice(0, SHOWN_HISTORY)}
            places={[...(data.reads ?? []), ...(graph?.nodes ?? []), place]}
          />
        )}
      </div>
      {data !== undefined && (
        <div class="columns">
          <div class="stack">
            <Conditions data={data} />
            <Pods pods={data.pods ?? []} />
          </div>
          <YamlView object={data.object} owners={data.owners} command={`${kubectl(place, 'get')} -o yaml`} />
        </div>
      )}
    </div>
  );
}

function Conditions({ data }: { data: ObjectAnswer }) {
  const conditions = data.conditions ?? [];
  return (
    <Panel title="Conditions" count={conditions.length}>
      {conditions.length === 0 ? (
        <p class="empty">The object reports no condition.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Condition</th>
              <th scope="col">Reason and message</th>
              <th scope="col" class="right">
                Since
              </th>
            </tr>
          </thead>
          <tbody>
            {conditions.map(({ type, status, reason, message, since }) => (
              <tr key={type}>
                <td class="nowrap">
                  <Glyph state={conditionState(type, status, data.health?.state)} isNamed />{' '}
                  <span class="strong">{type}</span> <span class="soft">{status}</span>
                </td>
                <td>
                  {reason !== '' && reason !== type && <span class="strong">{reason} </span>}
                  <span class="soft">{message}</span>
                </td>
                <td class="right faint nowrap" title={clockTime(since, now.value)}>
                  {age(since, now.value)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
