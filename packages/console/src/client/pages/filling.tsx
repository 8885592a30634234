import { Fragment } from 'preact';
import type { FillingKind } from '../../api-types.ts';
import { count } from '../logic/relative-time.ts';
import { kindName } from '../logic/routes.ts';

const SHOWN = 8;

/** The kinds whose lists are still to come, those with most objects first. */
export function Filling({ kinds, held }: { kinds: readonly FillingKind[]; held: number }) {
  const sorted = kinds.toSorted((a, b) => totalOf(b) - totalOf(a));
  return (
    <div class="body">
      <p class="soft">
        Objects appear as they come. Root causes are shown when all kinds they depend on are known
        {held > 0 ? `; ${count(held, 'problem')} ${held === 1 ? 'waits' : 'wait'} for that` : ''}.
      </p>
      <table class="filling">
        <caption class="hidden-text">Kinds that are still filling</caption>
        <tbody>
          {sorted.slice(0, SHOWN).map((one) => (
            <Fragment key={`${one.world}/${one.kind}`}>
              <tr>
                <th scope="row">
                  {one.world === '' ? '' : `${one.world}: `}
                  {kindName(one.kind)}
                </th>
                <td>
                  <span class="bar" aria-hidden="true">
                    <i class="progress" style={{ width: `${shareOf(one)}%` }} />
                  </span>
                </td>
                <td class="right nowrap">{textOf(one)}</td>
              </tr>
              {one.problem !== undefined && (
                <tr>
                  <td colSpan={3} class="bad">
                    {one.problem}
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
      {sorted.length > SHOWN && <p class="faint">and {count(sorted.length - SHOWN, 'more kind')}</p>}
    </div>
  );
}

function totalOf({ received, remaining = 0 }: FillingKind): number {
  return received + remaining;
}

function shareOf(kind: FillingKind): number {
  return kind.remaining === undefined || totalOf(kind) === 0 ? 0 : (kind.received / totalOf(kind)) * 100;
}

function textOf(kind: FillingKind): string {
  const { received, remaining, problem } = kind;
  if (problem !== undefined) return 'tries again';
  if (remaining !== undefined && remaining > 0)
    return `${received.toLocaleString('en')} of ~${totalOf(kind).toLocaleString('en')}`;
  return received === 0 ? 'not listed yet' : received.toLocaleString('en');
}
