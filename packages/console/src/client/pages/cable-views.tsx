import type { CablePair, CablesAnswer } from '../../api-types.ts';
import { cableMap, cablePath, NODE_HEIGHT, NODE_WIDTH, pairKey } from '../graphs/cable-map.ts';
import { count } from '../logic/relative-time.ts';
import { Glyph, stateWord } from '../parts/glyph.tsx';
import { Panel } from '../parts/panel.tsx';

type Changed = ReadonlyMap<string, readonly [CablePair | undefined, CablePair]>;

interface ViewProps {
  readonly data: CablesAnswer;
  readonly changed: Changed;
}

/** The clusters in columns by label, and a line for each cable. */
export function CablesMap({ data: { clusters, pairs, groupBy }, changed }: ViewProps) {
  const { groups, places, width, height } = cableMap(clusters, groupBy);
  const cables = pairs.filter(({ driver }) => driver !== 'none' && driver !== 'unknown');
  const rank = (pair: CablePair) => (pair.state === 'down' ? 2 : changed.has(pairKey(pair)) ? 1 : 0);
  return (
    <Panel
      title="Map"
      more={
        <span class="legend">
          <span>ipsec: line</span>
          <span>vxlan: dashes</span>
          <span>wireguard: dots</span>
        </span>
      }
    >
      <div class="graph-view" tabIndex={0} role="region" aria-label="Map of cables">
        <svg
          class="graph map"
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`${count(clusters.length, 'cluster')} and ${count(cables.length, 'cable')}. The table of pairs has the same data.`}
        >
          {groups.map(({ title, x, y, width: w, height: h }) => (
            <g key={`${title} ${x}`}>
              {title !== '' && <rect class="group" x={x} y={y} width={w} height={h} rx="12" />}
              <text class="column" x={x + 10} y={y - 8}>
                {title}
              </text>
            </g>
          ))}
          {cables
            .toSorted((a, b) => rank(a) - rank(b))
            .map((pair) => {
              const [from, to] = [places.get(pair.left), places.get(pair.right)];
              if (from === undefined || to === undefined) return null;
              const mark = pair.state === 'down' ? 'down' : changed.has(pairKey(pair)) ? 'changed' : '';
              return (
                <path key={pairKey(pair)} class={`cable ${pair.driver} ${mark}`} d={cablePath(from, to)}>
                  <title>{`${pair.left} – ${pair.right}: ${pair.driver}, ${stateWord(pair.state)}`}</title>
                </path>
              );
            })}
          {[...places.values()].map(({ id, x, y }) => {
            const own = pairs.filter(({ left, right }) => left === id || right === id);
            const state = own.some((pair) => pair.state === 'down')
              ? 'warning'
              : own.some((pair) => pair.state === 'up')
                ? 'ready'
                : 'unknown';
            return (
              <g key={id}>
                <rect class="box" x={x} y={y} width={NODE_WIDTH} height={NODE_HEIGHT} rx="14" />
                <Glyph state={state} x={x + 8} y={y + 7} isNamed />
                <text x={x + 28} y={y + 18}>
                  {id.length > 12 ? `${id.slice(0, 11)}…` : id}
                </text>
              </g>
            );
          })}
        </svg>
      </div>
    </Panel>
  );
}

/** Every pair as a cell; row and column are the two ends. */
export function CableMatrix({
  data: { clusters, pairs },
  changed,
  chosen,
  onChoose,
}: ViewProps & { readonly chosen: string; readonly onChoose: (pair: string) => void }) {
  const byKey = new Map(
    pairs.flatMap((pair) => [[pairKey(pair), pair] as const, [`${pair.right} ${pair.left}`, pair] as const]),
  );
  return (
    <Panel
      title="Pairs"
      more="row and column are the two ends"
      note="A violet frame changes with the draft below, a vermilion frame is down, a dashed frame is not known. None: a policy forbids the cable."
    >
      <div class="graph-view" tabIndex={0} role="region" aria-label="Matrix of pairs">
        <table class="matrix">
          <thead>
            <tr>
              <td />
              {clusters.map(({ id }) => (
                <th key={id} scope="col">
                  {id}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {clusters.map(({ id: row }) => (
              <tr key={row}>
                <th scope="row">{row}</th>
                {clusters.map(({ id: column }) => (
                  <td key={column}>
                    {row === column ? (
                      <span class="faint" aria-hidden="true">
                        ·
                      </span>
                    ) : (
                      <Cell
                        pair={byKey.get(`${row} ${column}`)}
                        changed={changed}
                        chosen={chosen}
                        onChoose={onChoose}
                      />
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

interface CellProps {
  readonly pair: CablePair | undefined;
  readonly changed: Changed;
  readonly chosen: string;
  readonly onChoose: (pair: string) => void;
}

function Cell({ pair, changed, chosen, onChoose }: CellProps) {
  if (pair === undefined) return <span class="faint">–</span>;
  const key = pairKey(pair);
  const next = changed.get(key)?.[1];
  return (
    <button
      type="button"
      class={`cell ${pair.driver} ${pair.state} ${next === undefined ? '' : 'changed'}`}
      aria-pressed={key === chosen}
      aria-label={`${pair.left} and ${pair.right}: ${pair.driver}, ${stateWord(pair.state)}${next === undefined ? '' : `, would become ${next.driver}`}`}
      onClick={() => onChoose(key)}
    >
      {next === undefined ? pair.driver : `→ ${next.driver}`}
    </button>
  );
}
