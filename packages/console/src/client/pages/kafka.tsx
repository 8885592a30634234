import { useSignal } from '@preact/signals';
import type { KafkaAnswer, KafkaProxiesAnswer, WhatIfAnswer } from '../../api-types.ts';
import { clockTime, count } from '../logic/relative-time.ts';
import { describe, linkToObject, nameOf, parseObjectId } from '../logic/routes.ts';
import { Glyph } from '../parts/glyph.tsx';
import { type DrawnEdge, type DrawnNode, GraphView } from '../parts/graph-view.tsx';
import { Choice, Nothing, PageHead, Panel } from '../parts/panel.tsx';
import { WithoutData } from '../parts/report-state.tsx';
import { WhatIf } from '../parts/what-if.tsx';
import { replace, route } from '../state/location.ts';
import { chosenReport, encodePath, isUnknown, useReport } from '../state/report.ts';
import { now } from '../state/world.ts';

const TITLES = ['Secrets, ConfigMaps', 'Referenced resources', 'Virtual clusters', 'Proxy', 'Pods'];
const PROXY = 3;
const PODS = 4;

export function Kafka() {
  const list = useReport<KafkaProxiesAnswer>('/api/kafka');
  const name =
    route.value.parts.length > 0 ? chosenReport('kafka') : (list.data?.proxies[0]?.key ?? chosenReport('kafka'));
  const { step } = route.value.query;
  const report = useReport<KafkaAnswer>(
    name === undefined
      ? undefined
      : `/api/kafka/${encodePath(name)}${step === undefined ? '' : `?step=${encodeURIComponent(step)}`}`,
  );
  const proxies = list.data?.proxies ?? [];
  if (name === undefined)
    return (
      <>
        <PageHead title="Kafka proxies" sub={list.data && 'No proxy yet.'} />
        <WithoutData report={list} />
        {list.data !== undefined && (
          <Panel title="Proxies">
            <Nothing
              glyph="none"
              title="No KafkaProxy yet"
              text="Start with a proxy and a virtual cluster. You see the effects first."
            >
              <a class="button primary" href="/plan">
                Plan a first proxy
              </a>
            </Nothing>
          </Panel>
        )}
      </>
    );
  return (
    <>
      <PageHead
        title={`Kafka proxy ${nameOf(name)}`}
        sub="A pod rolls when, and only when, the hash of the proxy changes."
        glyph={report.data && <Glyph state={stateOf(report.data)} />}
      >
        {proxies.length > 1 && (
          <nav class="actions" aria-label="Kafka proxies">
            {proxies.map(({ key }) => (
              <a
                key={key}
                class="button small"
                href={`/kafka/${encodePath(key)}`}
                {...(key === name && { 'aria-current': 'page' as const })}
              >
                {key}
              </a>
            ))}
          </nav>
        )}
        <a
          class="button"
          href={`/plan?object=${encodeURIComponent(`-/KafkaProxy.kroxylicious.io/${encodePath(name)}`)}`}
        >
          Plan a change
        </a>
      </PageHead>
      <WithoutData report={report} />
      {report.data !== undefined && <Proxy data={report.data} name={name} />}
    </>
  );
}

/** A rollout of pods is in progress; any other reason needs the user. */
function stateOf({ rollout, clusters }: KafkaAnswer): string {
  if (rollout === undefined) return 'unknown';
  if (rollout.status !== 'True') return rollout.reason === ROLLING ? 'progress' : 'broken';
  if (!clusters.every(({ isServed }) => isServed)) return 'broken';
  return clusters.some(({ problems }) => problems.length > 0) ? 'warning' : 'ready';
}

const ROLLING = 'RollingOut';

function Proxy({ data, name }: { data: KafkaAnswer; name: string }) {
  const after = useSignal<KafkaAnswer | undefined>(undefined);
  const isList = useSignal(false);
  const { pods, questions, clusters, rollout } = data;
  const rolls = after.value !== undefined && after.value.hash !== data.hash;
  // A draft is shown against the present; without one, the last change is lit.
  const { before } = data;
  const lit: Lit =
    after.value !== undefined ? litBy(data, after.value) : before !== undefined ? litBy(before, data) : NOTHING;
  return (
    <div class="stack">
      <Panel
        title="Hash tree"
        more={
          <>
            {lit.hashes.size > 0 && (
              <span class="legend">
                <span class="lit">
                  <i />
                  {after.value !== undefined ? 'would change' : `changed at ${clockTime(data.step ?? '', now.value)}`}
                </span>
              </span>
            )}
            <Steps data={data} name={name} />
            <Choice
              label="View"
              options={[
                ['graph', 'Graph'],
                ['list', 'List'],
              ]}
              value={isList.value ? 'list' : 'graph'}
              onChange={(value) => (isList.value = value === 'list')}
            />
          </>
        }
        note={
          data.runningHash !== undefined && data.runningHash !== data.hash
            ? `The pods run ${data.runningHash}; ${data.hash} is to follow.`
            : `The pods run ${data.hash}.`
        }
      >
        <GraphView
          nodes={boxesOf(data, lit)}
          edges={edgesOf(data, lit)}
          columns={TITLES}
          isList={isList.value}
          label={`The hash of ${name} covers ${count(data.nodes.length - 1, 'object')}.`}
        />
      </Panel>
      <div class="columns">
        <Panel title="Would this roll the pods?" more="from the recorded reads">
          <div class="questions" tabIndex={0} role="region" aria-label="Questions">
            <table>
              <thead>
                <tr>
                  <th scope="col">A change of</th>
                  <th scope="col" class="right">
                    Rolls
                  </th>
                </tr>
              </thead>
              <tbody>
                {questions.map(({ id, field, rolls: does }) => (
                  <tr key={`${id} ${field}`}>
                    <td>
                      <Name id={id} /> <code class="soft">{field}</code>
                    </td>
                    <td class="right">
                      <span class={`tag ${does ? 'lit' : 'ready'}`}>
                        {does ? `rolls ${count(pods.length, 'pod')}` : 'no'}
                      </span>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
        <WhatIf<KafkaAnswer>
          title="What if"
          path={`/api/kafka/${encodePath(name)}/what-if`}
          onAnswer={(answer) => (after.value = afterOf(answer))}
        >
          {after.value !== undefined && (
            <p>
              <span class={`tag ${rolls ? 'lit' : 'ready'}`}>
                {rolls ? `rolls ${count(pods.length, 'pod')}` : 'rolls nothing'}
              </span>{' '}
              {rolls ? (
                <span class="diff">
                  <del>{data.hash}</del> → <ins>{after.value.hash}</ins>
                </span>
              ) : (
                'The hash of the proxy stays as it is.'
              )}
            </p>
          )}
        </WhatIf>
      </div>
      {rollout !== undefined && rollout.status !== 'True' && (
        <Panel title="Rollout" more={rollout.reason}>
          <div class="body">
            <span class="bar" aria-hidden="true">
              {pods.map(({ name: pod, isReady, isCurrent }) => (
                <i
                  key={pod}
                  class={isCurrent ? (isReady ? '' : 'progress') : 'other'}
                  style={{ width: `${100 / pods.length}%` }}
                />
              ))}
            </span>
            <p>
              {pods.filter(({ isCurrent, isReady }) => isCurrent && isReady).length} of {count(pods.length, 'pod')}{' '}
              serve {data.runningHash ?? 'the present configuration'}. <span class="soft">{rollout.message}</span>
            </p>
          </div>
        </Panel>
      )}
      <Clusters clusters={clusters} />
    </div>
  );
}

/** The hashes that a change touches, with the texts of their boxes. */
interface Lit {
  readonly hashes: ReadonlyMap<string, string>;
}

const NOTHING: Lit = { hashes: new Map() };

function litBy(before: KafkaAnswer, after: KafkaAnswer): Lit {
  const earlier = new Map(before.nodes.map(({ id, hash }) => [id, hash]));
  // A new node is a change too.
  const changes = after.nodes.filter(({ id, hash }) => earlier.get(id) !== hash);
  const good = new Map(after.nodes.map(({ id, lastGood }) => [id, lastGood]));
  const short = (hash: string) => hash.slice(0, SHORT);
  const text = (id: string, next: string) => {
    const from = short(earlier.get(id) ?? '') || 'none';
    if (next !== '') return `${from} → ${short(next)}`;
    return good.get(id) === undefined ? `${from} → none` : `${from}, last good`;
  };
  return { hashes: new Map(changes.map(({ id, hash }) => [id, text(id, hash)])) };
}

const SHORT = 8;
const SHOWN_STEPS = 4;

/** The last changes of a hash; the newest is the present. */
function Steps({ data, name }: { data: KafkaAnswer; name: string }) {
  const { steps = [], step = '' } = data;
  if (steps.length < 2) return null;
  const shown = steps.slice(-SHOWN_STEPS);
  return (
    <Choice
      label="Time step"
      options={shown.map((at, index): [string, string] => [
        at,
        index === shown.length - 1 ? 'now' : clockTime(at, now.value),
      ])}
      value={step}
      onChange={(at) =>
        replace(`/kafka/${encodePath(name)}${at === shown.at(-1) ? '' : `?step=${encodeURIComponent(at)}`}`)
      }
    />
  );
}

function afterOf({ after }: WhatIfAnswer<KafkaAnswer>): KafkaAnswer | undefined {
  return isUnknown(after) ? undefined : after;
}

function Name({ id }: { id: string }) {
  const place = parseObjectId(id);
  return place === undefined ? (
    <b>{id}</b>
  ) : (
    <a class="name" href={linkToObject(place)} data-row>
      {describe(place)}
    </a>
  );
}

function boxesOf(data: KafkaAnswer, { hashes }: Lit): DrawnNode[] {
  const { nodes, pods } = data;
  return [
    ...nodes.map(({ id, kind, key, world, column, covers, hash, lastGood, problems }): DrawnNode => {
      const change = hashes.get(id);
      return {
        id,
        layer: column,
        over: [kind.split('.')[0] ?? kind, covers].filter((part) => part !== '').join(' · '),
        name: nameOf(key),
        under: change ?? (hash !== '' ? hash : lastGood === undefined ? 'no hash' : `${lastGood}, last good`),
        state:
          column === PROXY
            ? stateOf(data)
            : problems.length === 0
              ? 'ready'
              : hash === '' && column === 0
                ? 'absent'
                : 'broken',
        tone: change !== undefined ? 'lit' : column === PROXY ? 'me' : '',
        link: linkToObject({ kind, key, world }),
      };
    }),
    ...pods.map(
      ({ name, hash, isCurrent, isReady }): DrawnNode => ({
        id: `pod ${name}`,
        layer: PODS,
        over: isCurrent ? 'pod' : 'pod, old',
        name,
        under: hash,
        state: isReady ? 'ready' : 'progress',
      }),
    ),
  ];
}

function edgesOf({ nodes, edges, pods }: KafkaAnswer, { hashes }: Lit): DrawnEdge[] {
  const broken = new Set(nodes.filter(({ problems }) => problems.length > 0).map(({ id }) => id));
  const proxy = nodes.find(({ column }) => column === 3)?.id;
  return [
    ...edges.map(
      ({ from, to }): DrawnEdge => ({
        from,
        to,
        tone: hashes.has(from) && hashes.has(to) ? 'lit' : broken.has(from) && broken.has(to) ? 'bad' : '',
      }),
    ),
    ...(proxy === undefined ? [] : pods.map(({ name }): DrawnEdge => ({ from: proxy, to: `pod ${name}` }))),
  ];
}

function Clusters({ clusters }: Pick<KafkaAnswer, 'clusters'>) {
  return (
    <Panel title="Virtual clusters" count={clusters.length}>
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Bootstrap</th>
            <th scope="col" class="wide">
              Filters
            </th>
            <th scope="col" class="wide">
              Upstream
            </th>
            <th scope="col" class="right">
              State
            </th>
          </tr>
        </thead>
        <tbody>
          {clusters.map(({ name, bootstrap, filters, service, isServed, problems }) => (
            <tr key={name}>
              <td class="strong">{name}</td>
              <td>
                <code>{bootstrap.join(', ')}</code>
              </td>
              <td class="wide soft">{filters.length === 0 ? 'none' : filters.join(', ')}</td>
              <td class="wide soft">{service}</td>
              <td class="right">
                <span
                  class={`tag ${problems.length > 0 ? (isServed ? 'warn' : 'bad') : 'ready'}`}
                  title={problems.join('\n')}
                >
                  {problems.length > 0 ? (isServed ? 'last good' : 'not served') : 'Ready'}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
