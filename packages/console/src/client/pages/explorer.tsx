import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ObjectsAnswer, Row } from '../../api-types.ts';
import { age, count, groupDigits } from '../logic/relative-time.ts';
import { kindName, linkToExplorer, linkToObject, nameOf, namespaceOf } from '../logic/routes.ts';
import { hasTerm, toggleTerm } from '../logic/row-filter.ts';
import { visibleRows } from '../logic/visible-rows.ts';
import { Glyph, Icon, stateWord } from '../parts/glyph.tsx';
import { Loading, Nothing, PageHead, Panel, ProblemNote } from '../parts/panel.tsx';
import { replace, route, withQuery } from '../state/location.ts';
import { useEvent, useResource } from '../state/resource.ts';
import { now, overview, session } from '../state/world.ts';

const ROW_HEIGHT = 33;
/** A page of rows; a list that is scrolled to its end gets longer, up to the most. */
const LIMIT = 200;
const MOST = 2000;
/** The cluster of the console in filters. */
const LOCAL_WORLD = '-';
const SHOWN_KINDS = 8;
const SHOWN_NAMESPACES = 5;
const COLUMNS = [
  ['name', 'Name', '24%'],
  ['kind', 'Kind', '17%'],
  ['', 'Namespace', '15%'],
  ['state', 'State', ''],
  ['since', 'Since', '66px'],
] as const;

export function Explorer() {
  const { q = '', sort = '' } = route.value.query;
  const asked = useSignal({ q, limit: LIMIT });
  const limit = asked.value.q === q ? asked.value.limit : LIMIT;
  const { loaded, reloadSoon } = useResource<ObjectsAnswer>(
    `/api/objects?limit=${limit}&q=${encodeURIComponent(q)}${sort === '' ? '' : `&sort=${encodeURIComponent(sort)}`}`,
  );
  // The first answer without a filter has all facets; a narrower answer leaves them in place.
  const facets = useSignal<ObjectsAnswer['facets'] | undefined>(undefined);
  useEvent('objects', ({ rows, removed }) => {
    // Rows that are shown change at once; their order and the counts follow with the next answer.
    const { data: shown } = loaded.value;
    if (shown !== undefined) loaded.value = { ...loaded.value, data: withChanges(shown, rows, removed) };
    reloadSoon();
  });
  const { data, problem } = loaded.value;
  const loading = overview.value?.filling.length ?? 0;
  useEffect(() => {
    if (data !== undefined && (q === '' || facets.value === undefined)) facets.value = data.facets;
  }, [data]);
  const unready =
    data === undefined
      ? 0
      : ['broken', 'paused', 'progress'].reduce((sum, one) => sum + (data.facets.state[one] ?? 0), 0);
  return (
    <>
      <PageHead
        title="Explorer"
        sub={
          data &&
          `${groupDigits(data.total)} ${data.total === 1 ? 'object' : 'objects'} · ${groupDigits(unready)} not ready${loading === 0 ? '' : ` · ${count(loading, 'kind')} still ${loading === 1 ? 'loads' : 'load'}`}`
        }
      />
      <div class="stack">
        <label class="field">
          <Icon name="find" />
          <span class="hidden-text">Filter</span>
          <input
            id="filter"
            type="search"
            value={q}
            spellcheck={false}
            autocomplete="off"
            placeholder="name, or is:unready kind:HTTPProxy ns:default reads:Secret/default/token"
            onInput={(event) => replace(withQuery({ q: event.currentTarget.value }))}
            onKeyDown={(event) => {
              if (event.key === 'Escape') event.currentTarget.blur();
            }}
          />
          <span class="faint nowrap wide">{data && `${groupDigits(data.total)} found`}</span>
        </label>
        {problem !== undefined && <ProblemNote problem={problem} />}
        <div class="columns side-left">
          <Facets q={q} facets={facets.value} found={data?.facets} />
          <Panel
            title="Objects"
            count={data && groupDigits(data.total)}
            note={
              <>
                {data !== undefined && data.total > data.rows.length
                  ? `The first ${groupDigits(data.rows.length)} of ${groupDigits(data.total)} are shown; scroll or filter to see others. `
                  : ''}
                <kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> opens · <kbd>/</kbd> filters · <kbd>b</kbd> only
                broken
              </>
            }
          >
            {data === undefined ? (
              problem === undefined && <Loading />
            ) : data.rows.length === 0 ? (
              <NoRows q={q} />
            ) : (
              <Rows
                rows={data.rows}
                sort={sort}
                onEnd={() => {
                  if (data.total > data.rows.length && limit < MOST)
                    asked.value = { q, limit: Math.min(MOST, limit * 3) };
                }}
              />
            )}
          </Panel>
        </div>
      </div>
    </>
  );
}

function withChanges(shown: ObjectsAnswer, changed: readonly Row[], removed: readonly string[]): ObjectsAnswer {
  const byId = new Map(changed.map((row) => [row.id, row]));
  const gone = new Set(removed);
  if (!shown.rows.some(({ id }) => byId.has(id) || gone.has(id))) return shown;
  return { ...shown, rows: shown.rows.flatMap((row) => (gone.has(row.id) ? [] : [byId.get(row.id) ?? row])) };
}

function NoRows({ q }: { q: string }) {
  const [, kind] = /(?:^|\s)kind:(\S+)/.exec(q) ?? [];
  const access = session.value?.kinds.find((one) => kind !== undefined && one.kind.startsWith(kind));
  if (access?.access === 'forbidden')
    return (
      <Nothing
        glyph="unknown"
        title={`You may not list ${kindName(access.kind)}`}
        text="These objects are not known. To see them, request get, list and watch."
      >
        {access.role !== undefined && <pre class="code">{access.role}</pre>}
      </Nothing>
    );
  return (
    <Nothing
      glyph="none"
      title={q === '' ? 'There are no objects yet' : `No object matches ${q}`}
      text="Objects appear here as the caches fill."
    >
      {q !== '' && (
        <a class="button small" href="/explore">
          Show all objects
        </a>
      )}
    </Nothing>
  );
}

function Rows({ rows, sort, onEnd }: { rows: readonly Row[]; sort: string; onEnd: () => void }) {
  const view = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(700);
  useEffect(() => {
    if (view.current === null) return undefined;
    const sizes = new ResizeObserver(([entry]) => (height.value = entry?.contentRect.height ?? 700));
    sizes.observe(view.current);
    return () => sizes.disconnect();
  }, []);
  const { first, end, above, below } = visibleRows(rows.length, ROW_HEIGHT, top.value, height.value);
  return (
    <div
      class="rows"
      ref={view}
      tabIndex={0}
      role="region"
      aria-label="Objects"
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
        if (top.value + 2 * height.value > rows.length * ROW_HEIGHT) onEnd();
      }}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {COLUMNS.map(([name, title, width]) => (
              <Heading key={title} name={name} title={title} width={width} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Spacer height={above} />}
          {rows.slice(first, end).map((row, at) => (
            <ObjectRow key={row.id} row={row} index={first + at + 2} />
          ))}
          {below > 0 && <Spacer height={below} />}
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ height }: { height: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={COLUMNS.length} style={{ height: `${height}px`, maxHeight: 'none', padding: 0, border: 0 }} />
    </tr>
  );
}

function Heading({ name, title, width, sort }: { name: string; title: string; width: string; sort: string }) {
  const isNarrowAway = title === 'Namespace' || title === 'Kind' || title === 'Since' ? 'wide' : '';
  if (name === '')
    return (
      <th scope="col" class={isNarrowAway} style={{ width }}>
        {title}
      </th>
    );
  const isAscending = sort === name || (sort === '' && name === 'state');
  const isDescending = sort === `-${name}`;
  const order = isAscending ? 'ascending' : isDescending ? 'descending' : 'none';
  return (
    <th scope="col" class={isNarrowAway} style={{ width }} aria-sort={order}>
      <button type="button" onClick={() => replace(withQuery({ sort: isAscending ? `-${name}` : name }))}>
        {title} {isAscending ? '↑' : isDescending ? '↓' : ''}
      </button>
    </th>
  );
}

function ObjectRow({ row, index }: { row: Row; index: number }) {
  const { state, message, reason } = row;
  const text = message === '' ? (state === 'none' ? '' : stateWord(state)) : message;
  return (
    <tr aria-rowindex={index}>
      <td title={row.id}>
        <Glyph state={state} />
        <a class="name" href={linkToObject(row)} data-row>
          {nameOf(row.key)}
        </a>
      </td>
      <td class="soft wide">{kindName(row.kind)}</td>
      <td class="soft wide">{[row.world, namespaceOf(row.key)].filter((part) => part !== '').join(' · ')}</td>
      <td class={state === 'broken' || state === 'paused' ? '' : 'soft'} title={`${reason} ${message}`.trim()}>
        {text}
      </td>
      <td class="soft wide">{age(row.since, now.value)}</td>
    </tr>
  );
}

interface FacetsProps {
  readonly q: string;
  readonly facets: ObjectsAnswer['facets'] | undefined;
  readonly found: ObjectsAnswer['facets'] | undefined;
}

/** The facet that counts the values of a field. */
const COUNTED = {
  is: 'state',
  operator: 'operator',
  ns: 'namespace',
  cluster: 'cluster',
  kind: 'kind',
} as const;

function Folded({ lines, most, noun }: { lines: readonly ComponentChildren[]; most: number; noun: string }) {
  return (
    <>
      <ul>{lines.slice(0, most)}</ul>
      {lines.length > most && (
        <details>
          <summary class="soft">{count(lines.length - most, noun)}</summary>
          <ul>{lines.slice(most)}</ul>
        </details>
      )}
    </>
  );
}

function Facets({ q, facets, found }: FacetsProps) {
  if (facets === undefined) return <div />;
  const kinds = Object.entries(facets.kind).toSorted(([, a], [, b]) => b - a);
  const clusters = Object.keys(facets.cluster).toSorted();
  const namespaces = Object.entries(facets.namespace).toSorted(([, a], [, b]) => b - a);
  const line = (field: keyof typeof COUNTED, value: string, text: string, state?: string) => {
    const number = found?.[COUNTED[field]]?.[value] ?? 0;
    return (
      <li key={value}>
        <a
          href={linkToExplorer(toggleTerm(q, field, value))}
          {...(hasTerm(q, field, value) && { 'aria-current': true })}
        >
          {state !== undefined && <Glyph state={state} isNamed />}
          {text}
          <span class="end">{groupDigits(number)}</span>
        </a>
      </li>
    );
  };
  return (
    <nav class="facets stack" aria-label="Filters">
      <div>
        <h3>State</h3>
        <ul>{Object.keys(facets.state).map((state) => line('is', state, stateWord(state), state))}</ul>
      </div>
      <div class="wide">
        <h3>Operator</h3>
        <ul>{session.value?.operators.map((name) => line('operator', name, name))}</ul>
      </div>
      {clusters.length > 1 && (
        <div class="wide">
          <h3>Cluster</h3>
          <ul>
            {clusters.map((name) =>
              line('cluster', name, name === LOCAL_WORLD ? (session.value?.context ?? 'this one') : name),
            )}
          </ul>
        </div>
      )}
      {namespaces.length > 1 && (
        <div class="wide">
          <h3>Namespace</h3>
          <Folded
            lines={namespaces.map(([name]) => line('ns', name, name))}
            most={SHOWN_NAMESPACES}
            noun="more namespace"
          />
        </div>
      )}
      <div class="wide">
        <h3>Kind</h3>
        <Folded lines={kinds.map(([kind]) => line('kind', kind, kindName(kind)))} most={SHOWN_KINDS} noun="more kind" />
      </div>
    </nav>
  );
}
