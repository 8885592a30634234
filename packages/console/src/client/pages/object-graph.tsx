import { useSignal } from '@preact/signals';
import type { CauseAnswer, GraphAnswer } from '../../api-types.ts';
import { columnsAround, isOutward } from '../graphs/graph-shape.ts';
import { count } from '../logic/relative-time.ts';
import {
  describe,
  kindName,
  linkToExplorer,
  linkToObject,
  nameOf,
  namespaceOf,
  type ObjectPlace,
  parseObjectId,
} from '../logic/routes.ts';
import { type DrawnEdge, type DrawnNode, GraphView } from '../parts/graph-view.tsx';
import { Choice, Panel } from '../parts/panel.tsx';
import { replace, route, withQuery } from '../state/location.ts';

interface ObjectGraphProps {
  readonly place: ObjectPlace;
  readonly graph: GraphAnswer;
  readonly cause: CauseAnswer | null;
  readonly depth: number;
  readonly direction: Direction;
}
export type Direction = 'both' | 'reads' | 'readers';

const BAD = new Set(['broken', 'absent']);

/** The objects that this one is computed from on the left, its writes and its readers on the right, and the path of the last change. */
export function ObjectGraph({ place, graph, cause, depth, direction }: ObjectGraphProps) {
  const isList = useSignal(false);
  const { nodes, edges, left, writes } = graph;
  const columns = columnsAround(nodes, edges);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const me = nodes.find(({ distance }) => distance === 0)?.id ?? '';
  const drawn = edges.filter(({ from, to }) => {
    const [reader, read] = [byId.get(from), byId.get(to)];
    return reader !== undefined && read !== undefined && isOutward(reader, read);
  });
  const lit = litNodes(graph.last?.cause ?? cause, me, drawn);
  if (lit.size > 0 && graph.last !== undefined) lit.add(graph.last.id);
  const boxes: DrawnNode[] = [
    ...nodes.map(({ id, kind, key, world, state }): DrawnNode => {
      const tone = id === me ? 'me' : lit.has(id) ? 'lit' : '';
      const namespace = namespaceOf(key) === namespaceOf(place.key) ? '' : namespaceOf(key);
      return {
        id,
        layer: columns.get(id) ?? 0,
        over: [kindName(kind), namespace, world].filter((part) => part !== '').join(' · '),
        name: nameOf(key),
        state,
        tone,
        ...(state !== 'sink' && { link: linkToObject({ kind, key, world }) }),
      };
    }),
    ...left.map(({ of, direction: side, count: number, worst }): DrawnNode => {
      const parent = parseObjectId(of);
      const isReaders = side !== 'reads';
      return {
        id: `left ${of} ${side}`,
        layer: (columns.get(of) ?? 0) + (isReaders ? 1 : -1),
        over: `more ${side}`,
        name: `${count(number, 'object')}${BAD.has(worst) ? ', some broken' : ''}`,
        state: BAD.has(worst) ? worst : 'more',
        tone: 'more',
        ...(side === 'readers' &&
          parent !== undefined && { link: linkToExplorer(`reads:${parent.kind}/${parent.key}`) }),
      };
    }),
  ];
  const lines: DrawnEdge[] = [
    ...drawn.map(({ from, to }): DrawnEdge => {
      const isBad = BAD.has(byId.get(to)?.state ?? '') && (BAD.has(byId.get(from)?.state ?? '') || from === me);
      return { from: to, to: from, tone: lit.has(from) && lit.has(to) ? 'lit' : isBad ? 'bad' : '' };
    }),
    ...left.map(({ of, direction: side }) =>
      side === 'reads' ? { from: `left ${of} ${side}`, to: of } : { from: of, to: `left ${of} ${side}` },
    ),
  ];
  const layers = [...new Set(boxes.map(({ layer = 0 }) => layer))].sort((a, b) => a - b);
  const least = layers[0] ?? 0;
  const most = layers.at(-1) ?? 0;
  const titles = Array.from({ length: most - least + 1 }, (_, at) => {
    const layer = at + least;
    if (layer === 0) return 'this object';
    if (layer === least && layer < 0) return 'it is computed from';
    return layer === most ? (writes.length > 0 ? 'it writes, and is read by' : 'it is read by') : ' '.repeat(at + 1);
  });
  const omitted = left.reduce((sum, one) => sum + one.count, 0);
  return (
    <Panel
      title="Dependencies"
      count={nodes.length - 1}
      more={
        <>
          <span class="legend wide">
            {lit.size > 1 && (
              <span class="lit">
                <i />
                path of the last change
              </span>
            )}
            <span class="bad">
              <i />
              broken
            </span>
            <span class="absent">
              <i />
              absent
            </span>
          </span>
          <Choice
            label="Direction"
            options={[
              ['both', 'Both'],
              ['reads', 'Reads'],
              ['readers', 'Readers'],
            ]}
            value={direction}
            onChange={(value) => replace(withQuery({ dir: value === 'both' ? '' : value }))}
          />
          <Choice
            label="View"
            options={[
              ['graph', 'Graph'],
              ['list', 'List'],
            ]}
            value={isList.value ? 'list' : 'graph'}
            onChange={(value) => (isList.value = value === 'list')}
          />
        </>
      }
      note={
        <>
          {count(nodes.length, 'node')}
          {omitted > 0 && `, ${omitted} more are not drawn`}. Depth {depth}
          {route.value.query['depth'] === undefined && ' by default'}: <kbd>[</kbd> <kbd>]</kbd> change it. Arrow keys
          walk the graph, <kbd>Enter</kbd> opens.
        </>
      }
    >
      {nodes.length <= 1 ? (
        <p class="empty">No derivation reads this object, and it is computed from nothing else.</p>
      ) : (
        <GraphView
          nodes={boxes}
          edges={lines}
          columns={titles}
          isList={isList.value}
          label={`${describe(place)} reads ${count(nodes.filter(({ distance }) => distance < 0).length, 'object')} and is read by ${nodes.filter(({ distance }) => distance > 0).length}. ${count(nodes.filter(({ state }) => BAD.has(state)).length, 'object')} of them broken or absent.`}
        />
      )}
    </Panel>
  );
}

/** The nodes from the objects that caused the last change to this object. */
function litNodes(
  cause: CauseAnswer | null,
  me: string,
  edges: readonly { readonly from: string; readonly to: string }[],
): Set<string> {
  const sources = new Set(cause?.changes.map(({ object }) => object));
  const found = new Set<string>();
  const visit = (id: string, path: readonly string[]) => {
    if (path.includes(id)) return;
    const way = [...path, id];
    if (sources.has(id)) for (const one of way) found.add(one);
    for (const { from, to } of edges) if (from === id) visit(to, way);
  };
  if (sources.size > 0 && edges.length < MOST_EDGES) visit(me, []);
  return found;
}

/** The ways of larger graphs are not followed. */
const MOST_EDGES = 60;
