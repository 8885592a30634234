import type { OverviewRoot } from '../../api-types.ts';
import { age, count } from '../logic/relative-time.ts';
import {
  describe,
  kindName,
  linkToExplorer,
  linkToObject,
  nameOf,
  parseObjectId,
  pathOfPlace,
} from '../logic/routes.ts';
import { Glyph } from '../parts/glyph.tsx';
import { now } from '../state/world.ts';

const CHAIN = 5;

/** One root cause: the object, the consequence in a sentence, the chain to the farthest object, and a plan. It writes nothing. */
export function RootCause({ root }: { root: OverviewRoot }) {
  const { state, reason, message, since, affectsCount } = root;
  const isAbsent = state === 'absent';
  const isPaused = state === 'paused';
  return (
    <article class="root">
      <Glyph state={state} />
      <div>
        <div class="root-title">
          <h3>
            <a href={linkToObject(root)} data-row>
              {describe(root)} {isAbsent ? 'does not exist' : isPaused ? 'is paused' : 'is not ready'}
            </a>
          </h3>
          <span class="faint nowrap">{age(since, now.value)}</span>
        </div>
        <p class="soft">
          {!isAbsent && reason !== '' && <b>{reason}. </b>}
          {isAbsent
            ? `${count(affectsCount, 'object')} ${affectsCount === 1 ? 'needs' : 'need'} it.`
            : `${withStop(message)} ${affectsCount === 0 ? 'Nothing else is affected.' : `It affects ${count(affectsCount, 'more object')}.`}`}
        </p>
        <Chain root={root} />
        <div class="actions">
          {root.world === '' && (
            <a
              class="button small primary"
              href={
                isAbsent
                  ? `/plan?create=${encodeURIComponent(pathOfPlace(root))}`
                  : `/plan?object=${encodeURIComponent(pathOfPlace(root))}`
              }
            >
              Plan a fix
            </a>
          )}
          <a class="button small" href={linkToObject(root)}>
            Open graph
          </a>
          {root.world === '' && affectsCount > 0 && (
            <a class="button small quiet" href={linkToExplorer(`reads:${root.kind}/${root.key}`)}>
              What reads it
            </a>
          )}
        </div>
      </div>
    </article>
  );
}

function Chain({ root }: { root: OverviewRoot }) {
  const { chain, chainLeft, affectsCount } = root;
  const shown = chain.slice(0, CHAIN);
  if (shown.length < 2) return null;
  const left = chainLeft > 0 ? chainLeft : affectsCount + 1 - shown.length;
  return (
    <ol class="chain" aria-label="From the root cause to the objects that it affects">
      {shown.map((id, at) => {
        const place = id === root.id ? root : parseObjectId(id);
        if (place === undefined) return null;
        const state = at === 0 ? root.state : 'broken';
        return (
          <li key={id}>
            <div class={`chip ${state}`}>
              <span class="kind">
                <Glyph state={state} />
                {kindName(place.kind)}
              </span>
              <a href={linkToObject(place)}>{nameOf(place.key)}</a>
            </div>
          </li>
        );
      })}
      {left > 0 && (
        <li>
          <span class="soft">{left} more</span>
        </li>
      )}
    </ol>
  );
}

function withStop(text: string): string {
  return text === '' || /[.!?]$/.test(text) ? text : `${text}.`;
}
