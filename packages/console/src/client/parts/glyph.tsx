// The signs of states: each differs by shape, word and colour.
const WORDS: Readonly<Record<string, string>> = {
  ready: 'Ready',
  broken: 'Broken',
  paused: 'Paused',
  warning: 'Warning',
  progress: 'In progress',
  absent: 'Does not exist',
  unknown: 'Not known',
  none: 'No state',
  sink: 'Delivered outside',
  more: 'More objects',
  acknowledged: 'Acknowledged',
  rejected: 'Rejected',
  waiting: 'Waiting',
  'not-known': 'Not known',
  up: 'Up',
  down: 'Down',
  connecting: 'Connecting',
  drained: 'Drained',
  draining: 'Draining',
  blocked: 'Blocked',
  held: 'Held',
  untouched: 'Not touched',
};

/** States of one meaning share a shape. */
const SHAPES: Readonly<Record<string, string>> = {
  acknowledged: 'ready',
  up: 'ready',
  drained: 'ready',
  rejected: 'broken',
  down: 'broken',
  warning: 'paused',
  blocked: 'paused',
  held: 'paused',
  waiting: 'progress',
  connecting: 'progress',
  draining: 'progress',
  'not-known': 'unknown',
};

export function stateWord(state: string): string {
  return WORDS[state] ?? state;
}

interface GlyphProps {
  readonly state: string;
  readonly x?: number;
  readonly y?: number;
  /** True where a word beside the sign names the state: readers of the screen then hear it once. */
  readonly isNamed?: boolean;
}

export function Glyph({ state, x, y, isNamed = false }: GlyphProps) {
  const place = x === undefined ? {} : { x, y };
  const label = isNamed ? { 'aria-hidden': true } : { role: 'img' as const, 'aria-label': stateWord(state) };
  return (
    <svg class={`glyph ${state}`} viewBox="0 0 14 14" width="14" height="14" {...label} {...place}>
      {shapeOf(SHAPES[state] ?? state)}
    </svg>
  );
}

function shapeOf(shape: string) {
  switch (shape) {
    case 'ready':
      return [<circle class="fill" cx="7" cy="7" r="6" />, <path class="mark" d="m4.4 7.2 1.8 1.8 3.4-3.8" />];
    case 'broken':
      return [
        <path class="fill" d="M4.6 1h4.8L13 4.6v4.8L9.4 13H4.6L1 9.4V4.6z" />,
        <path class="mark" d="m5 5 4 4m0-4L5 9" />,
      ];
    case 'paused':
      return [<path class="fill" d="M7 1.2 13.4 12.6H.6z" />, <path class="mark" d="M7 5v3.6M7 10.6v.2" />];
    case 'progress':
      return [<circle class="ring" cx="7" cy="7" r="5.2" />, <path class="arc" d="M7 1.8a5.2 5.2 0 0 1 0 10.4" />];
    case 'absent':
      return [
        <rect class="line dashed" x="1.5" y="1.5" width="11" height="11" rx="2.5" />,
        <path class="line" d="m5 5 4 4m0-4L5 9" />,
      ];
    case 'unknown':
      return <circle class="line dashed" cx="7" cy="7" r="5.4" />;
    case 'sink':
      return <path class="line" d="M2 7h9.5M8 3.5 11.5 7 8 10.5" />;
    case 'more':
      return <path class="line" d="M3 7h.1M7 7h.1M11 7h.1" />;
    default:
      return <circle class="line" cx="7" cy="7" r="2.2" />;
  }
}

const ICONS: Readonly<Record<string, string>> = {
  overview: 'M2.5 7.5 8 3l5.5 4.5V13H9.8V9.5H6.2V13H2.5z',
  time: 'M2 4h6M5 8h8M3.5 12h5',
  explore: 'M3 4h10M3 8h10M3 12h10',
  plan: 'M3 13v-2.3L10.7 3l2.3 2.3L5.3 13zM9 4.7 11.3 7',
  ingress: 'M2 8h4l3-4h5M6 8l3 4h5',
  cables:
    'M5 7.2 11 4.5M5 8.8l6 2.7M3.5 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M12.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M12.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3',
  kafka: 'M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM6 9.5h4v4H6zM4.5 6.5 7 9.5M11.5 6.5 9 9.5',
  discovery: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M2.5 8h11M8 2.5c-3.2 3-3.2 8 0 11 3.2-3 3.2-8 0-11',
  packages: 'M8 2.2 13.5 5v6L8 13.8 2.5 11V5zM2.7 5.1 8 8l5.3-2.9M8 8v5.6',
  lock: 'M3.5 7h9v6h-9zM5.5 7V5.2a2.5 2.5 0 0 1 5 0V7',
  keys: 'M2 4h12v8H2zM4.5 9.5h7M4.5 7h.1M7 7h.1M9.5 7h.1M12 7h.1',
  theme: 'M13 9.4A5.4 5.4 0 0 1 6.6 3 5.4 5.4 0 1 0 13 9.4z',
  find: 'M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8M10.2 10.2l3 3',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  deleted: 'M3.5 4.5h9M6.5 4.5v-2h3v2M4.5 4.5 5 13.5h6l.5-9',
  user: 'M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M3.5 13.5c0-5 9-5 9 0',
  created: 'M8 3v10M3 8h10',
  question: 'M6 6a2 2 0 1 1 2.7 1.9c-.5.2-.7.6-.7 1.1v.5M8 12h.1',
};

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={ICONS[name] ?? ''} />
    </svg>
  );
}

/** The sign of the program: a capstan with eight bars. */
export function Mark() {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <circle cx="10" cy="10" r="3.2" />
      <path d="M10 6.8V2M10 18v-4.8M13.2 10H18M2 10h4.8M12.3 7.7l3.3-3.3M4.4 15.6l3.3-3.3M12.3 12.3l3.3 3.3M4.4 4.4l3.3 3.3" />
    </svg>
  );
}
