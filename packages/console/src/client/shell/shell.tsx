import { useEffect } from 'preact/hooks';
import { clockTime } from '../logic/relative-time.ts';
import type { PageName } from '../logic/routes.ts';
import { Explorer } from '../pages/explorer.tsx';
import { ObjectPage } from '../pages/object.tsx';
import { Overview } from '../pages/overview.tsx';
import { Glyph } from '../parts/glyph.tsx';
import { PageHead } from '../parts/panel.tsx';
import { access } from '../state/api.ts';
import { route } from '../state/location.ts';
import { connection, reconnectNow } from '../state/stream.ts';
import { now, startProblem } from '../state/world.ts';
import { Help } from './help.tsx';
import { listenToKeys } from './keys.ts';
import { lazy } from './lazy.tsx';
import { Palette } from './palette.tsx';
import { Side } from './side.tsx';
import { Top, timeOf, titleOf } from './top.tsx';

// Pages that are not the first of most visits load when they open.
const Timeline = lazy(async () => (await import('../pages/timeline.tsx')).Timeline);
const Plan = lazy(async () => (await import('../pages/plan.tsx')).Plan);
const Ingress = lazy(async () => (await import('../pages/ingress.tsx')).Ingress);
const Cables = lazy(async () => (await import('../pages/cables.tsx')).Cables);
const Kafka = lazy(async () => (await import('../pages/kafka.tsx')).Kafka);
const Discovery = lazy(async () => (await import('../pages/discovery.tsx')).Discovery);
const Packages = lazy(async () => (await import('../pages/packages.tsx')).Packages);

const PAGES: Readonly<Record<PageName, () => preact.JSX.Element | null>> = {
  overview: Overview,
  time: Timeline,
  explore: Explorer,
  plan: Plan,
  ingress: Ingress,
  cables: Cables,
  kafka: Kafka,
  discovery: Discovery,
  packages: Packages,
  object: ObjectPage,
  missing: Missing,
};
/** Data of a lost connection is dimmed after this time. */
const STALE_MS = 30_000;

export function Shell() {
  useEffect(listenToKeys, []);
  const { page, parts } = route.value;
  useEffect(() => {
    document.title = titleOf(route.value);
  }, [route.value]);
  if (access.value !== 'granted') return <Gate />;
  const Page = PAGES[page];
  const { value } = connection;
  const isStale = value.state === 'waiting' && now.value - value.since > STALE_MS;
  return (
    <div class="frame">
      <Side />
      <div>
        <Top />
        <main class={`page ${isStale ? 'stale' : ''}`}>
          <Connection />
          {startProblem.value !== undefined && value.state !== 'waiting' && (
            <p class="banner bad" role="alert">
              <Glyph state="broken" />
              {startProblem.value}
            </p>
          )}
          <Page key={[page, ...parts].join('/')} />
        </main>
      </div>
      <Palette />
      <Help />
    </div>
  );
}

function Gate() {
  const isNew = access.value === 'none';
  return (
    <main class="gate">
      <h1>{isNew ? 'Open the printed address' : 'This address is not valid any more'}</h1>
      <p>
        {isNew
          ? 'The console needs the code in the address that the program printed when it started.'
          : 'A code is valid once, for five minutes, and the session ends with the program.'}{' '}
        This command prints a new address:
      </p>
      <pre class="code">capstan console --code</pre>
    </main>
  );
}

function Connection() {
  const { value } = connection;
  if (value.state !== 'waiting') return null;
  return (
    <div class="banner paused" role="status">
      <Glyph state="warning" isNamed />
      <div>
        <b>The connection to the console is lost since {clockTime(timeOf(value.since), now.value)}.</b> The page shows
        the data from then, and tries again by itself.
      </div>
      <button type="button" class="button small" onClick={reconnectNow}>
        Now
      </button>
    </div>
  );
}

function Missing() {
  return <PageHead title="There is no such page" sub={<a href="/">Open the overview</a>} />;
}
