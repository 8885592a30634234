import { useRef } from 'preact/hooks';
import type { FoldedScale } from '../logic/folded-time.ts';
import { clockTime } from '../logic/relative-time.ts';
import { now } from '../state/world.ts';
import { TITLE_WIDTH } from './timeline-lanes.tsx';

const HEIGHT = 38;
const STEPS = 40;
const BUCKET = 6;

interface BrushProps {
  readonly scale: FoldedScale;
  readonly width: number;
  readonly marks: readonly { readonly at: number; readonly isBad: boolean }[];
  readonly from: number;
  readonly to: number;
  readonly begin: number;
  readonly end: number;
  readonly onChange: (from: number, to: number) => void;
}

/** All changes as bars, and two handles that select a part of the time; each moves by pointer and by arrow keys. */
export function Brush({ scale, width, marks, from, to, begin, end, onChange }: BrushProps) {
  const svg = useRef<SVGSVGElement>(null);
  const [left, right] = [scale.x(from), scale.x(to)];
  const buckets = new Map<number, { count: number; isBad: boolean }>();
  for (const { at, isBad } of marks) {
    const bucket = Math.floor(scale.x(at) / BUCKET);
    const known = buckets.get(bucket);
    buckets.set(bucket, { count: (known?.count ?? 0) + 1, isBad: isBad || known?.isBad === true });
  }
  const most = Math.max(1, ...[...buckets.values()].map(({ count }) => count));
  const moveTo = (isStart: boolean, x: number) => {
    const at = scale.at(Math.max(0, Math.min(width, x)));
    if (isStart) onChange(Math.min(at, to - 1000), to);
    else onChange(from, Math.max(at, from + 1000));
  };
  const drag = (isStart: boolean) => (event: PointerEvent) => {
    const handle = event.currentTarget as SVGElement;
    handle.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent) => {
      const box = svg.current?.getBoundingClientRect();
      if (box !== undefined) moveTo(isStart, moved.clientX - box.left - TITLE_WIDTH);
    };
    handle.addEventListener('pointermove', move);
    handle.addEventListener('pointerup', () => handle.removeEventListener('pointermove', move), { once: true });
  };
  const press = (isStart: boolean) => (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    moveTo(isStart, (isStart ? left : right) + (step * width) / STEPS);
  };
  const handle = (isStart: boolean) => (
    <rect
      class="handle"
      x={TITLE_WIDTH + (isStart ? left : right) - 3}
      y="4"
      width="6"
      height={HEIGHT - 8}
      rx="3"
      role="slider"
      tabIndex={0}
      aria-label={isStart ? 'Start of the selection' : 'End of the selection'}
      aria-valuemin={begin}
      aria-valuemax={end}
      aria-valuenow={Math.round(isStart ? from : to)}
      aria-valuetext={clockTime(new Date(isStart ? from : to).toISOString(), now.value)}
      onPointerDown={drag(isStart)}
      onKeyDown={press(isStart)}
    />
  );
  return (
    <svg
      ref={svg}
      class="brush"
      height={HEIGHT}
      viewBox={`0 0 ${TITLE_WIDTH + width + 12} ${HEIGHT}`}
      role="group"
      aria-label="All changes"
    >
      <text class="faint" x="12" y="23">
        Changes
      </text>
      <rect class="window" x={TITLE_WIDTH + left} y="2" width={Math.max(2, right - left)} height={HEIGHT - 4} rx="3" />
      {[...buckets].map(([bucket, { count, isBad }]) => {
        const height = 4 + (count / most) * (HEIGHT - 14);
        return (
          <rect
            key={bucket}
            class={`tick ${isBad ? 'bad' : ''}`}
            x={TITLE_WIDTH + bucket * BUCKET}
            y={HEIGHT - 4 - height}
            width={BUCKET - 2}
            height={height}
          />
        );
      })}
      {handle(true)}
      {handle(false)}
    </svg>
  );
}
