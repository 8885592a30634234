import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ChangeAnswer, ChangesAnswer, TimelineAnswer, TimelineLane, WaveDetailAnswer } from '../../api-types.ts';
import { isDerived } from '../logic/change-groups.ts';
import { foldedScale } from '../logic/folded-time.ts';
import { clockTime, count } from '../logic/relative-time.ts';
import { ChangeList, withoutHeartbeats } from '../parts/change-list.tsx';
import { Choice, CopyButton, Loading, Nothing, PageHead, Panel, ProblemNote } from '../parts/panel.tsx';
import { replace, route, withQuery } from '../state/location.ts';
import { isNarrow } from '../state/media.ts';
import { useEvent, useResource } from '../state/resource.ts';
import { now, session } from '../state/world.ts';
import { Brush } from './timeline-brush.tsx';
import { Lanes, TITLE_WIDTH } from './timeline-lanes.tsx';
import { WavePanel } from './timeline-wave.tsx';

const RECENT_MS = 5 * 60_000;
const LIMIT = 500;

export function Timeline() {
  const { query } = route.value;
  const { loaded, reloadSoon } = useResource<TimelineAnswer>('/api/timeline');
  const changes = useResource<ChangesAnswer>(`/api/changes?limit=${LIMIT}`);
  useEvent('changes', () => {
    reloadSoon();
    changes.reloadSoon();
  });
  const { data, problem } = loaded.value;
  const list = withoutHeartbeats(changes.loaded.value.data?.changes ?? []);
  const wave = Number(query['at'] ?? Number.NaN);
  const detail = useResource<WaveDetailAnswer>(Number.isNaN(wave) ? undefined : `/api/wave/${wave}`);
  const isOnlyBroken = query['only'] === 'broken';
  const isAll = query['lanes'] === 'all';
  const lanes = (data?.lanes ?? []).filter(
    (lane) => (isAll || !isDerived(lane.kind)) && (!isOnlyBroken || lane.spans.some(({ state }) => state === 'broken')),
  );
  return (
    <>
      <PageHead
        title="Time line"
        sub={
          data &&
          `${clockTime(data.from, now.value)} to ${session.value?.isRecording ? clockTime(data.to, now.value) : 'now'}, ${count(list.length, 'change')} of ${count(data.laneCount, 'object')}. Idle time over two minutes is folded.`
        }
      >
        <Choice
          label="Range"
          options={[
            ['recent', '5 min'],
            ['all', 'All'],
          ]}
          value={query['range'] === 'recent' ? 'recent' : 'all'}
          onChange={(value) => replace(withQuery({ range: value === 'recent' ? value : '', from: '', to: '' }))}
        />
        <Choice
          label="Lanes"
          options={[
            ['', 'Declared'],
            ['all', 'All objects'],
          ]}
          value={isAll ? 'all' : ''}
          onChange={(value) => replace(withQuery({ lanes: value }))}
        />
        <button
          type="button"
          class="button"
          aria-pressed={isOnlyBroken}
          onClick={() => replace(withQuery({ only: isOnlyBroken ? '' : 'broken' }))}
        >
          {isOnlyBroken ? 'Show all' : 'Only broken'}
          <kbd>b</kbd>
        </button>
        <CopyButton text={textOf(list)} title="Copy as text" />
      </PageHead>
      {problem !== undefined && <ProblemNote problem={problem} />}
      {data === undefined && problem === undefined && <Loading />}
      {data !== undefined && (
        <div class="stack">
          {lanes.length === 0 ? (
            <Panel title="Changes">
              <Nothing
                glyph="none"
                title={isOnlyBroken ? 'No object was broken' : 'No change yet'}
                text={
                  session.value?.isRecording
                    ? 'No object changed in this recording so far.'
                    : 'The time line begins when the console does. Change an object, and it appears here.'
                }
              />
            </Panel>
          ) : (
            !isNarrow.value && (
              <Chart data={data} lanes={lanes} list={list} wave={wave} detail={detail.loaded.value.data} />
            )
          )}
          {detail.loaded.value.problem !== undefined && <ProblemNote problem={detail.loaded.value.problem} />}
          {detail.loaded.value.data !== undefined && <WavePanel detail={detail.loaded.value.data} list={list} />}
          <Panel title="Changes by cause" count={list.length}>
            <ChangeList changes={list} view="causes" most={30} />
          </Panel>
        </div>
      )}
    </>
  );
}

interface ChartProps {
  readonly data: TimelineAnswer;
  readonly lanes: readonly TimelineLane[];
  readonly list: readonly ChangeAnswer[];
  readonly wave: number;
  readonly detail: WaveDetailAnswer | undefined;
}

/** The brush over the whole time, and the lanes of the part that it selects. */
function Chart({ data, lanes, list, wave, detail }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const width = useSignal(900);
  useEffect(() => {
    if (host.current === null) return undefined;
    const sizes = new ResizeObserver(([entry]) => (width.value = Math.max(360, entry?.contentRect.width ?? 900)));
    sizes.observe(host.current);
    return () => sizes.disconnect();
  }, []);
  const { query } = route.value;
  const begin = Date.parse(data.from);
  const end = Math.max(Date.parse(data.to), begin + 1000);
  const recent = query['range'] === 'recent' ? Math.max(begin, end - RECENT_MS) : begin;
  const from = clamp(Number(query['from'] ?? recent), begin, end - 1000, recent);
  const to = clamp(Number(query['to'] ?? end), from + 1000, end, end);
  const marks = lanes.flatMap((lane) => lane.marks.map(({ at }) => Date.parse(at)));
  const inner = width.value - TITLE_WIDTH - 12;
  const whole = foldedScale(marks, begin, end, inner);
  const part = foldedScale(marks, from, to, inner);
  const waves = new Map(list.map(({ sequence, wave: own }) => [sequence, own]));
  const at = detail?.wave === wave ? Date.parse(detail.at) : undefined;
  return (
    <section class="panel timeline" ref={host} aria-label="Time line">
      <Brush
        scale={whole}
        width={inner}
        marks={list.map((change) => ({ at: Date.parse(change.at), isBad: breaks(change) }))}
        from={from}
        to={to}
        begin={begin}
        end={end}
        onChange={(start, stop) =>
          replace(
            withQuery({
              from: start <= begin ? '' : String(Math.round(start)),
              to: stop >= end ? '' : String(Math.round(stop)),
              range: '',
            }),
          )
        }
      />
      <Lanes lanes={lanes} scale={part} width={inner} from={from} to={to} waves={waves} at={at} />
      {data.laneCount > data.lanes.length && (
        <p class="note">
          {data.lanes.length} of {data.laneCount} objects have a lane.
        </p>
      )}
    </section>
  );
}

function clamp(value: number, least: number, most: number, fallback: number): number {
  return Number.isNaN(value) ? fallback : Math.min(most, Math.max(least, value));
}

function breaks({ conditions = [], verb }: ChangeAnswer): boolean {
  return (
    verb === 'deleted' ||
    conditions.some(({ type, after }) => after === 'False' && /Ready|Valid|Resolved|Accepted|Healthy|Synced/.test(type))
  );
}

function textOf(list: readonly ChangeAnswer[]): string {
  return list
    .map(({ at, verb, kind, key, paths }) => `${at} ${verb} ${kind} ${key} ${paths.slice(0, 3).join(', ')}`.trim())
    .join('\n');
}
