import { useSignal } from '@preact/signals';
import type { CablePair, CablesAnswer } from '../../api-types.ts';
import { changedPairs } from '../graphs/cable-map.ts';
import { count } from '../logic/relative-time.ts';
import { linkToObject } from '../logic/routes.ts';
import { Glyph, stateWord } from '../parts/glyph.tsx';
import { CopyButton, Nothing, PageHead, Panel } from '../parts/panel.tsx';
import { WithoutData } from '../parts/report-state.tsx';
import { WhatIf } from '../parts/what-if.tsx';
import { replace, route, withQuery } from '../state/location.ts';
import { isUnknown, useReport } from '../state/report.ts';
import { CableMatrix, CablesMap } from './cable-views.tsx';

/** Above this number of clusters, the pairs are a list: a map and a matrix of them cannot be read. */
const MOST_MAPPED = 40;
const MOST_LISTED = 500;

export function Cables() {
  const report = useReport<CablesAnswer>('/api/cables');
  const after = useSignal<CablesAnswer | undefined>(undefined);
  const { data } = report;
  return (
    <>
      <PageHead title="Cables" sub={data && summary(data)}>
        <CopyButton text="subctl show cables" title="Copy as subctl" />
        <a class="button" href="/plan">
          Plan a change
        </a>
      </PageHead>
      <WithoutData report={report} />
      {data !== undefined &&
        (data.clusters.length === 0 ? (
          <Panel title="Clusters">
            <Nothing
              glyph="none"
              title="No cluster has joined yet"
              text="subctl deploy-broker and subctl join connect clusters. Their cables appear here."
            />
          </Panel>
        ) : (
          <Loaded data={data} after={after.value} onAfter={(answer) => (after.value = answer)} />
        ))}
    </>
  );
}

function summary({ clusters, pairs, namespace, clusterID }: CablesAnswer): string {
  const down = pairs.filter(({ state }) => state === 'down').length;
  const cables = pairs.filter(({ driver }) => driver !== 'none' && driver !== 'unknown').length;
  return [
    `${count(clusters.length, 'cluster')}, ${count(cables, 'cable')}`,
    down === 0 ? '' : `${down} ${down === 1 ? 'is' : 'are'} down`,
    clusterID === undefined ? '' : `this is ${clusterID}`,
    namespace,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

interface LoadedProps {
  readonly data: CablesAnswer;
  readonly after: CablesAnswer | undefined;
  readonly onAfter: (after: CablesAnswer | undefined) => void;
}

function Loaded({ data, after, onAfter }: LoadedProps) {
  const { pairs, clusters, policies, problems, namespace } = data;
  const changed =
    after === undefined
      ? new Map<string, readonly [CablePair | undefined, CablePair]>()
      : changedPairs(pairs, after.pairs);
  const chosen = route.value.query['pair'] ?? '';
  const choose = (pair: string) => replace(withQuery({ pair: pair === chosen ? '' : pair }));
  const down = pairs.filter(({ state }) => state === 'down');
  return (
    <div class="stack">
      {[
        ...down.slice(0, 3).map(({ left, right, message = '' }) => `${left} to ${right} is down. ${message}`),
        ...problems,
      ].map((text) => (
        <div key={text} class="banner bad">
          <Glyph state="down" isNamed />
          <div>{text}</div>
        </div>
      ))}
      {clusters.length > MOST_MAPPED ? (
        <PairList pairs={pairs} />
      ) : (
        <div class="columns even">
          <CablesMap data={data} changed={changed} />
          <CableMatrix data={data} changed={changed} chosen={chosen} onChoose={choose} />
        </div>
      )}
      <Pair pair={pairs.find(({ left, right }) => `${left} ${right}` === chosen)} />
      <Policies policies={policies} after={after} namespace={namespace} />
      <WhatIf<CablesAnswer>
        title="What if"
        path="/api/cables/what-if"
        start={START.replace('NAMESPACE', namespace)}
        onAnswer={(answer) => onAfter(isUnknown(answer.after) ? undefined : answer.after)}
      >
        <h3>{count(changed.size, 'pair')} would change the driver</h3>
        {changed.size === 0 ? (
          <p class="soft">Every pair keeps its cable.</p>
        ) : (
          <table>
            <tbody>
              {[...changed].map(([key, [before, next]]) => (
                <tr key={key}>
                  <td class="strong">{key.replace(' ', ' – ')}</td>
                  <td class="diff">
                    <del>{before?.driver ?? 'none'}</del> → <ins>{next.driver}</ins>
                  </td>
                  <td class="soft">{next.note ?? `by ${next.policy}`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </WhatIf>
    </div>
  );
}

const START = `apiVersion: submariner.io/v1
kind: CablePolicies
metadata:
  name: try
  namespace: NAMESPACE
spec:
  - leftClusterSelector: {}
    rightClusterSelector: {}
    priority: 10
    cableDriver:
      name: wireguard
`;

function Pair({ pair }: { pair: CablePair | undefined }) {
  if (pair === undefined) return null;
  const { left, right, driver, policy, note, state, message, usedDriver } = pair;
  return (
    <Panel
      title={`${left} – ${right}`}
      more={<CopyButton text={`subctl cable-policy explain ${left} ${right}`} title="Copy as subctl" />}
    >
      <dl class="pairs body">
        <dt>State</dt>
        <dd>
          <Glyph state={state} isNamed /> {stateWord(state)} <span class="soft">{message}</span>
        </dd>
        <dt>Driver</dt>
        <dd>
          {driver}
          {usedDriver !== undefined && usedDriver !== driver && <span class="warn"> in use: {usedDriver}</span>}
        </dd>
        <dt>Decided by</dt>
        <dd>
          {policy === '' ? 'no policy' : `policy ${policy}`} <span class="soft">{note}</span>
        </dd>
      </dl>
    </Panel>
  );
}

function PairList({ pairs }: { pairs: readonly CablePair[] }) {
  const order = ['down', 'connecting', 'unknown', 'none', 'up'];
  const sorted = [...pairs].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return (
    <Panel
      title="Pairs"
      count={pairs.length}
      {...(pairs.length > MOST_LISTED && {
        note: `The first ${MOST_LISTED} of ${pairs.length} are shown, those that are down first.`,
      })}
    >
      <div class="rows" tabIndex={0} role="region" aria-label="Pairs">
        <table>
          <tbody>
            {sorted.slice(0, MOST_LISTED).map(({ left, right, driver, policy, state, message }) => (
              <tr key={`${left} ${right}`}>
                <td>
                  <Glyph state={state} />
                  {left} – {right}
                </td>
                <td>{driver}</td>
                <td class="soft">{policy}</td>
                <td class="soft wide">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Policies({
  policies,
  after,
  namespace,
}: {
  policies: CablesAnswer['policies'];
  after: CablesAnswer | undefined;
  namespace: string;
}) {
  return (
    <Panel title="Policies" count={policies.length}>
      <table>
        <thead>
          <tr>
            <th scope="col">Policy</th>
            <th scope="col">Left</th>
            <th scope="col">Right</th>
            <th scope="col">Driver</th>
            <th scope="col" class="wide">
              Priority
            </th>
            <th scope="col" class="right">
              Pairs
            </th>
          </tr>
        </thead>
        <tbody>
          {policies.flatMap(({ name, isAccepted, message, rules, pairs }) => {
            const next = after?.policies.find((one) => one.name === name)?.pairs;
            return rules.map((rule, at) => (
              <tr key={`${name} ${at}`}>
                <td>
                  {!isAccepted && <Glyph state="broken" />}{' '}
                  <a
                    class="name"
                    href={linkToObject({ world: '', kind: 'CablePolicies.submariner.io', key: `${namespace}/${name}` })}
                    data-row
                  >
                    {name}
                  </a>
                  {!isAccepted && <div class="bad">{message}</div>}
                </td>
                <td>
                  <code>{rule.left === '' ? 'all' : rule.left}</code>
                </td>
                <td>
                  <code>{rule.right === '' ? 'all' : rule.right}</code>
                </td>
                <td>{rule.driver}</td>
                <td class="wide">{rule.priority}</td>
                <td class="right">
                  {at === 0 ? (next === undefined || next === pairs ? pairs : `${pairs} → ${next}`) : ''}
                </td>
              </tr>
            ));
          })}
        </tbody>
      </table>
    </Panel>
  );
}
