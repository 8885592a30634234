import type { TimelineLane } from '../../api-types.ts';
import type { FoldedScale } from '../logic/folded-time.ts';
import { clockTime } from '../logic/relative-time.ts';
import { describe, kindName, linkToObject, nameOf } from '../logic/routes.ts';
import { stateWord } from '../parts/glyph.tsx';
import { withQuery } from '../state/location.ts';
import { now } from '../state/world.ts';

export const TITLE_WIDTH = 172;
const ROW = 28;
const TOP = 22;
/** Marks closer than this are drawn as one. */
const MARK_SPACE = 7;

interface LanesProps {
  readonly lanes: readonly TimelineLane[];
  readonly scale: FoldedScale;
  readonly width: number;
  readonly from: number;
  readonly to: number;
  /** The waves of changes by their sequence. */
  readonly waves: ReadonlyMap<number, number>;
  /** The moment of the chosen wave. */
  readonly at: number | undefined;
}

/** A lane for each object: bars are its states, marks are writes, and curves lead from the objects that caused a write. */
export function Lanes({ lanes, scale, width, from, to, waves, at }: LanesProps) {
  const height = TOP + lanes.length * ROW + 6;
  const rowOf = new Map(lanes.map(({ id }, row) => [id, row]));
  const isIn = (time: string) => Date.parse(time) >= from && Date.parse(time) <= to;
  const xOf = (time: string) => TITLE_WIDTH + scale.x(Date.parse(time));
  const yOf = (row: number) => TOP + row * ROW + ROW / 2;
  return (
    <svg
      height={height}
      viewBox={`0 0 ${TITLE_WIDTH + width + 12} ${height}`}
      role="group"
      aria-label="Objects and their changes"
    >
      <defs>
        <pattern id="gap" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="2" height="6" fill="var(--line)" />
        </pattern>
      </defs>
      {scale.ticks(84).map((tick) => {
        const x = TITLE_WIDTH + scale.x(tick);
        return (
          <g key={tick}>
            <path class="grid" d={`M${x} ${TOP}V${height}`} />
            <text class="faint" x={x + 4} y="14">
              {clockTime(new Date(tick).toISOString(), now.value)}
            </text>
          </g>
        );
      })}
      {lanes.map((lane, row) => (
        <g key={lane.id}>
          <path class="grid" d={`M0 ${TOP + (row + 1) * ROW}H${TITLE_WIDTH + width + 12}`} />
          <a href={linkToObject(lane)}>
            <title>{describe(lane)}</title>
            <text class="faint" x="12" y={yOf(row) - 3}>
              {cut(kindName(lane.kind), 26)}
            </text>
            <text x="12" y={yOf(row) + 9}>
              {cut(nameOf(lane.key), 25)}
            </text>
          </a>
          {lane.spans.map((span) => (
            <Span key={`${span.from} ${span.text}`} span={span} scale={scale} from={from} to={to} y={yOf(row)} />
          ))}
        </g>
      ))}
      {scale.gaps.map((gap) => (
        <rect key={gap.x} class="gap" x={TITLE_WIDTH + gap.x} y={TOP} width={gap.width} height={height - TOP}>
          <title>{`Idle for ${Math.round((gap.to - gap.from) / 60_000)} min`}</title>
        </rect>
      ))}
      {at !== undefined && at >= from && at <= to && (
        <path class="at" d={`M${TITLE_WIDTH + scale.x(at)} ${TOP - 6}V${height}`} />
      )}
      {lanes.flatMap(({ marks }, row) =>
        marks
          .filter((mark) => isIn(mark.at))
          .flatMap((mark) =>
            mark.causes.flatMap((cause) => {
              const source = rowOf.get(cause);
              if (source === undefined || source === row) return [];
              const x = xOf(mark.at);
              return [
                <path
                  key={`${mark.sequence} ${cause}`}
                  class="cause"
                  d={`M${x} ${yOf(source)}C${x - 14} ${yOf(source)} ${x - 14} ${yOf(row)} ${x} ${yOf(row)}`}
                />,
              ];
            }),
          ),
      )}
      {lanes.map((lane, row) => (
        <Marks
          key={lane.id}
          lane={lane}
          marks={lane.marks.filter((mark) => isIn(mark.at))}
          xOf={xOf}
          y={yOf(row)}
          waves={waves}
        />
      ))}
    </svg>
  );
}

interface SpanProps {
  readonly span: TimelineLane['spans'][number];
  readonly scale: FoldedScale;
  readonly from: number;
  readonly to: number;
  readonly y: number;
}

function Span({ span, scale, from, to, y }: SpanProps) {
  const end = span.to === undefined ? to : Date.parse(span.to);
  if (end < from || Date.parse(span.from) > to) return null;
  const x = scale.x(Date.parse(span.from));
  const width = Math.max(1.5, scale.x(end) - x);
  const text = span.text === '' || span.text === span.state ? stateWord(span.state) : span.text;
  // An object without conditions only exists: a line shows for how long.
  const isBar = span.state !== 'unknown';
  const room = Math.floor((width - 14) / 6);
  return (
    <>
      <rect
        class={`span ${span.state}`}
        x={TITLE_WIDTH + x}
        y={isBar ? y - 8 : y - 1}
        width={width}
        height={isBar ? 16 : 2}
        rx={isBar ? 2 : 0}
      >
        <title>{`${stateWord(span.state)}: ${text}`}</title>
      </rect>
      {room > 4 && isBar && (
        <text class={`span-text ${span.state}`} x={TITLE_WIDTH + x + 8} y={y + 4} aria-hidden="true">
          {cut(text, room)}
        </text>
      )}
    </>
  );
}

interface MarksProps {
  readonly lane: TimelineLane;
  readonly marks: TimelineLane['marks'];
  readonly xOf: (at: string) => number;
  readonly y: number;
  readonly waves: ReadonlyMap<number, number>;
}

function Marks({ lane, marks, xOf, y, waves }: MarksProps) {
  let free = Number.NEGATIVE_INFINITY;
  return (
    <>
      {marks.map((mark) => {
        const x = xOf(mark.at);
        const wave = waves.get(mark.sequence);
        // A mark with a cause, a creation and a deletion are drawn in any case.
        if (x < free && mark.verb === 'changed' && mark.causes.length === 0) return null;
        free = x + MARK_SPACE;
        const label = `${describe(lane)} ${mark.verb} at ${clockTime(mark.at, now.value)}`;
        const shape = (
          <>
            <title>{label}</title>
            <Shape verb={mark.verb} isCaused={mark.causes.length > 0} x={x} y={y} />
          </>
        );
        return wave === undefined ? (
          <g key={mark.sequence}>{shape}</g>
        ) : (
          <a key={mark.sequence} href={withQuery({ at: String(wave) })}>
            {shape}
          </a>
        );
      })}
    </>
  );
}

/** Verbs differ by shape: a ring, a square for a creation, a cross for a deletion. */
function Shape({ verb, isCaused, x, y }: { verb: string; isCaused: boolean; x: number; y: number }) {
  const name = `mark ${isCaused ? 'caused' : ''} ${verb}`;
  if (verb === 'deleted') return <path class={name} d={`M${x - 4} ${y - 4}l8 8m0 -8l-8 8`} />;
  if (verb === 'created') return <rect class={name} x={x - 4} y={y - 4} width="8" height="8" />;
  return <circle class={name} cx={x} cy={y} r="3.5" />;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}
