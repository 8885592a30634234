import { useSignal } from '@preact/signals';
import type { ChangesAnswer, KindAccess, OverviewAnswer } from '../../api-types.ts';
import { age, count } from '../logic/relative-time.ts';
import { describe, linkToExplorer, linkToObject } from '../logic/routes.ts';
import { ChangeList, withoutHeartbeats } from '../parts/change-list.tsx';
import { Glyph } from '../parts/glyph.tsx';
import { Choice, CopyButton, Loading, Nothing, PageHead, Panel } from '../parts/panel.tsx';
import { follow, route, withQuery } from '../state/location.ts';
import { useEvent, useResource } from '../state/resource.ts';
import { now, overview, session } from '../state/world.ts';
import { Filling } from './filling.tsx';
import { RootCause } from './root-cause.tsx';

const SHOWN_CHANGES = 12;
const LIMIT = 200;

export function Overview() {
  const { loaded, reloadSoon } = useResource<ChangesAnswer>(`/api/changes?limit=${LIMIT}`);
  useEvent('changes', ({ changes, more }) => {
    const { data } = loaded.value;
    if (data === undefined || more > 0) return reloadSoon();
    const known = data.changes[0]?.sequence ?? 0;
    const added = changes.filter(({ sequence }) => sequence > known).toReversed();
    loaded.value = { ...loaded.value, data: { ...data, changes: [...added, ...data.changes].slice(0, LIMIT) } };
  });
  const { ns = '' } = route.value.query;
  // The stream has the overview of all namespaces; that of one is asked for.
  const one = useResource<OverviewAnswer>(ns === '' ? undefined : `/api/overview?ns=${encodeURIComponent(ns)}`);
  useEvent('roots', one.reloadSoon);
  const value = ns === '' ? overview.value : one.loaded.value.data;
  if (value === undefined) return <Loading />;
  const { roots, rootCount, progressCount, operators, sinks } = value;
  const objects = operators.reduce((sum, one) => sum + one.objects, 0);
  const ready = operators.reduce((sum, one) => sum + one.ready, 0);
  const affected = roots.reduce((sum, { affectsCount }) => sum + affectsCount, 0);
  const isFilling = value.filling.length > 0;
  const title =
    rootCount > 0
      ? `${count(rootCount, 'thing')} ${rootCount === 1 ? 'needs' : 'need'} you`
      : isFilling
        ? 'Still reading the cluster'
        : objects === 0
          ? ns === ''
            ? 'There is nothing here yet'
            : `No object of your operators in ${ns}`
          : 'Nothing needs you';
  const changes = inNamespace(loaded.value.data, ns);
  const last = changes && withoutHeartbeats(changes.changes)[0];
  return (
    <>
      <PageHead
        title={title}
        sub={`${affected > 0 ? `${rootCount === 1 ? 'It affects' : 'They affect'} ${count(affected, 'more object')}. ` : ''}${ready} of ${count(objects, 'object')} of your operators ${ready === 1 ? 'is' : 'are'} ready.`}
      >
        <Namespaces namespaces={overview.value?.namespaces ?? []} chosen={ns} />
        <CopyButton text={ns === '' ? 'capstan status' : `capstan status -n ${ns}`} title="Copy as capstan status" />
      </PageHead>
      <div class="panel stats">
        <Stat
          title="Root causes"
          value={rootCount}
          tone={rootCount > 0 ? 'bad' : ''}
          more={`of ${objects - ready} unready`}
        />
        <Stat title="In progress" value={progressCount} more={progressCount === 1 ? 'object' : 'objects'} />
        <Stat title="Operators" value={operators.length} more="in this process" />
        <Stat
          title="Delivered outside"
          value={sinks.reduce((sum, { keys }) => sum + keys, 0)}
          more={`by ${count(sinks.filter(({ keys }) => keys > 0).length, 'sink')}`}
        />
        <Stat
          title="Last change"
          value={last === undefined ? '–' : age(last.at, now.value)}
          more={last ? 'ago' : 'none seen'}
        />
      </div>
      <div class="columns wide-left">
        <div class="stack">
          <Roots overview={value} isFilling={isFilling} objects={objects} />
          <Operators operators={operators} />
          <Hidden />
        </div>
        <LatestChanges changes={changes} />
      </div>
    </>
  );
}

function inNamespace(answer: ChangesAnswer | undefined, namespace: string): ChangesAnswer | undefined {
  if (answer === undefined || namespace === '') return answer;
  return { ...answer, changes: answer.changes.filter(({ key }) => key.startsWith(`${namespace}/`)) };
}

/** So many namespaces are buttons; more are a list. */
const MOST_BUTTONS = 3;

function Namespaces({ namespaces, chosen }: { namespaces: OverviewAnswer['namespaces']; chosen: string }) {
  const names = namespaces.map(({ name }) => name);
  if (chosen !== '' && !names.includes(chosen)) names.unshift(chosen);
  if (names.length < 2) return null;
  const choose = (name: string) => follow(withQuery({ ns: name }));
  if (names.length <= MOST_BUTTONS)
    return (
      <Choice
        label="Namespace"
        options={[['', 'All namespaces'], ...names.map((name): [string, string] => [name, name])]}
        value={chosen}
        onChange={choose}
      />
    );
  return (
    <select aria-label="Namespace" value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">All namespaces</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface StatProps {
  readonly title: string;
  readonly value: number | string;
  readonly more: string;
  readonly tone?: string;
}

function Stat({ title, value, more, tone = '' }: StatProps) {
  return (
    <div>
      <div class="faint">{title}</div>
      <div class={`stat ${tone}`}>
        {value} <small>{more}</small>
      </div>
    </div>
  );
}

function Roots(props: { overview: OverviewAnswer; isFilling: boolean; objects: number }) {
  const { roots, rootCount, heldCount, progress, progressCount, filling } = props.overview;
  const more =
    rootCount > roots.length ? (
      <>
        the first {roots.length} are shown · <a href={linkToExplorer('is:unready')}>all</a>
      </>
    ) : (
      <a href={linkToExplorer('is:unready')}>All unready objects</a>
    );
  return (
    <Panel title="Root causes" count={rootCount} more={more}>
      {props.isFilling && <Filling kinds={filling} held={heldCount} />}
      <div aria-live="polite">
        {roots.map((root) => (
          <RootCause key={root.id} root={root} />
        ))}
        {roots.length === 0 && !props.isFilling && props.objects === 0 && (
          <Nothing
            glyph="sink"
            title="No object of your operators yet"
            text="Start with a manifest. You see its effects before anything is written."
          >
            <a class="button primary" href="/plan">
              Plan a first object
            </a>
          </Nothing>
        )}
        {roots.length === 0 && !props.isFilling && props.objects > 0 && (
          <Nothing
            glyph="ready"
            title="Nothing needs you"
            text={
              progressCount === 0
                ? 'Every object of your operators is ready.'
                : `${count(progressCount, 'object')} ${progressCount === 1 ? 'is' : 'are'} in progress, and none is broken.`
            }
          >
            <a class="button small" href="/time">
              Time line
            </a>
          </Nothing>
        )}
      </div>
      {progress.length > 0 && (
        <ul class="outline">
          {progress.map((row) => (
            <li key={row.id}>
              <Glyph state="progress" />
              <span>
                <a class="name" href={linkToObject(row)} data-row>
                  {describe(row)}
                </a>{' '}
                <span class="soft">{row.message}</span>
              </span>
              <span class="end faint nowrap">{age(row.since, now.value)}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Operators({ operators }: { operators: OverviewAnswer['operators'] }) {
  return (
    <Panel title="Operators" more={`${operators.length} on one runtime`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Operator</th>
            <th scope="col">Objects ready</th>
            <th scope="col" class="wide">
              Delivered outside
            </th>
            <th scope="col" class="wide">
              Leader
            </th>
            <th scope="col" class="right">
              State
            </th>
          </tr>
        </thead>
        <tbody>
          {operators.map(({ name, objects, ready, delivered, leader }) => (
            <tr key={name}>
              <td>
                <a class="name" href={linkToExplorer(`operator:${name}`)} data-row>
                  {name}
                </a>
              </td>
              <td>
                <div class="ready-cell">
                  <span class="bar" aria-hidden="true">
                    <i style={{ width: `${objects === 0 ? 0 : (ready / objects) * 100}%` }} />
                    <i class="bad" style={{ width: `${objects === 0 ? 0 : ((objects - ready) / objects) * 100}%` }} />
                  </span>
                  <span>
                    {ready} <span class="faint">of {objects}</span>
                  </span>
                </div>
              </td>
              <td class="wide soft">{delivered === 0 ? 'none' : count(delivered, 'key')}</td>
              <td class="wide soft">{leader ?? 'not known'}</td>
              <td class="right">
                <span class={`tag ${objects === 0 ? '' : ready === objects ? 'ready' : 'broken'}`}>
                  {objects === 0 ? 'No objects' : ready === objects ? 'Ready' : `${objects - ready} unready`}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** Kinds that the cluster does not serve, or that the user may not read. */
function Hidden() {
  const hidden = (session.value?.kinds ?? []).filter(({ access }) => access === 'forbidden' || access === 'not-served');
  const forbidden = hidden.filter(({ access }) => access === 'forbidden');
  // Other clusters need not serve any kind.
  const absent = hidden.filter(({ access, world }) => access === 'not-served' && world === '');
  if (hidden.length === 0) return null;
  const nameOf = ({ world, kind }: KindAccess) => (world === '' ? kind : `${world}: ${kind}`);
  return (
    <>
      {forbidden.length > 0 && (
        <details class="panel fold">
          <summary>
            <Glyph state="unknown" isNamed /> You may not read {count(forbidden.length, 'kind')}: what depends on{' '}
            {forbidden.length === 1 ? 'it' : 'them'} is not known
          </summary>
          <ul class="plain body soft">
            {forbidden.map((one) => (
              <li key={nameOf(one)}>
                {nameOf(one)}{' '}
                {one.role !== undefined && <CopyButton text={one.role} title={`Copy the Role for ${nameOf(one)}`} />}
              </li>
            ))}
          </ul>
        </details>
      )}
      {absent.length > 0 && (
        <details class="panel fold">
          <summary>{count(absent.length, 'optional kind')} not installed in this cluster</summary>
          <ul class="plain body soft">
            {absent.map((one) => (
              <li key={nameOf(one)}>{nameOf(one)}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function LatestChanges({ changes }: { changes: ChangesAnswer | undefined }) {
  const view = useSignal<'causes' | 'writes'>('causes');
  return (
    <Panel
      title="Changes"
      more={
        <Choice
          label="Group changes"
          options={[
            ['causes', 'Causes'],
            ['writes', 'Writes'],
          ]}
          value={view.value}
          onChange={(value) => (view.value = value)}
        />
      }
      note={
        <>
          Kept in this process since it started. <a href="/time">Time line</a>
        </>
      }
    >
      {changes === undefined ? (
        <Loading />
      ) : (
        <ChangeList changes={withoutHeartbeats(changes.changes)} view={view.value} most={SHOWN_CHANGES} />
      )}
    </Panel>
  );
}
