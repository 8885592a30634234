import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { nearestNode } from '../graphs/graph-keys.ts';
import { layeredLayout } from '../graphs/layered-layout.ts';
import { isNarrow } from '../state/media.ts';
import { Glyph, stateWord } from './glyph.tsx';

/** A box of a graph: three short lines and a state. */
export interface DrawnNode {
  readonly id: string;
  readonly layer?: number;
  readonly over: string;
  readonly name: string;
  readonly under?: string;
  readonly state: string;
  readonly tone?: 'me' | 'lit' | 'more' | '';
  /** Absent for a box that leads nowhere. */
  readonly link?: string;
}

export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  readonly tone?: 'lit' | 'bad' | 'warn' | '';
}

interface GraphViewProps {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  /** One sentence for readers of the screen. */
  readonly label: string;
  readonly columns?: readonly string[];
  readonly isList?: boolean;
  readonly nodeWidth?: number;
  readonly empty?: ComponentChildren;
}

const HEIGHT = 44;
const HEIGHT_OF_THREE = 58;
const TITLES_HEIGHT = 24;

/** Draws a layered graph; where there is no room for columns, or by choice, the same data as a list. */
export function GraphView(props: GraphViewProps) {
  const { nodes, edges, label, columns = [], isList = false, nodeWidth = 172 } = props;
  const region = useRef<HTMLElement>(null);
  if (isList || isNarrow.value) return <Outline {...props} />;
  const layout = layeredLayout(
    nodes.map(({ id, layer, under }) => ({
      id,
      height: under === undefined ? HEIGHT : HEIGHT_OF_THREE,
      ...(layer !== undefined && { layer }),
    })),
    edges,
    { nodeWidth, columnGap: 38, rowGap: 12, top: columns.length > 0 ? TITLES_HEIGHT : 0 },
  );
  const tones = new Map(edges.map(({ from, to, tone = '' }) => [`${from} ${to}`, tone]));
  const order = [...layout.edges].sort((a, b) => rank(tones.get(keyOf(a))) - rank(tones.get(keyOf(b))));
  const most = Math.floor((nodeWidth - 18) / 6.6);
  const press = (event: KeyboardEvent) => {
    const current = document.activeElement?.getAttribute('data-node');
    const next = current == null ? undefined : nearestNode(layout, current, event.key);
    if (next === undefined) return;
    event.preventDefault();
    region.current?.querySelector<SVGElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <section class="graph-view" ref={region} tabIndex={0} aria-label={label} onKeyDown={press}>
      <svg
        class="graph"
        width={layout.width + 4}
        height={layout.height + 4}
        viewBox={`-2 -2 ${layout.width + 4} ${layout.height + 4}`}
      >
        {columns.map((title, at) => (
          <text key={title} class="column" x={at * (nodeWidth + 38)} y="9">
            {title}
          </text>
        ))}
        {order.map((edge) => (
          <path key={keyOf(edge)} class={`edge ${tones.get(keyOf(edge)) ?? ''}`} d={edge.path} />
        ))}
        {nodes.map((node) => {
          const at = layout.nodes.get(node.id);
          return (
            at && <Box key={node.id} node={node} x={at.x} y={at.y} width={at.width} height={at.height} most={most} />
          );
        })}
      </svg>
    </section>
  );
}

interface BoxProps {
  readonly node: DrawnNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly most: number;
}

function Box({ node, x, y, width, height, most }: BoxProps) {
  const { id, over, name, under, state, tone = '', link } = node;
  const content = [
    <rect key="box" class={`box ${state} ${tone}`} x={x} y={y} width={width} height={height} rx="7" />,
    <text key="over" class="kind" x={x + 10} y={y + 16}>
      {cut(over, most - 1)}
    </text>,
    <text key="name" x={x + 10} y={y + 32}>
      {cut(name, most)}
    </text>,
    under !== undefined && (
      <text key="under" class="small mono" x={x + 10} y={y + 48}>
        {cut(under, most)}
      </text>
    ),
    state !== '' && state !== 'none' && <Glyph key="state" state={state} x={x + width - 21} y={y + 7} isNamed />,
  ];
  if (link === undefined) return <g>{content}</g>;
  const title = [over, name, under].filter((word) => word !== undefined).join(' ');
  // Long texts are cut in the drawing; the title, which is the name of the link, has them whole.
  return (
    <a href={link} data-node={id}>
      <title>{state === 'none' || state === '' ? title : `${title}, ${stateWord(state)}`}</title>
      {content}
    </a>
  );
}

function Outline({ nodes, columns = [], label }: GraphViewProps) {
  const layers = new Map<number, DrawnNode[]>();
  for (const node of nodes) layers.set(node.layer ?? 0, [...(layers.get(node.layer ?? 0) ?? []), node]);
  const ordered = [...layers].sort(([a], [b]) => a - b);
  return (
    <ul class="outline" aria-label={label}>
      {ordered.flatMap(([layer, members], at) => [
        columns[at] !== undefined && (
          <li key={`title ${layer}`} class="title" aria-level={1}>
            {columns[at]}
          </li>
        ),
        ...members.map(({ id, over, name, under, state, link }) => (
          <li key={id} aria-level={2}>
            <Glyph state={state === '' ? 'none' : state} isNamed />
            <span>
              <span class="soft">{over}</span>{' '}
              {link === undefined ? (
                <b>{name}</b>
              ) : (
                <a class="name" href={link} data-row>
                  {name}
                </a>
              )}
            </span>
            <span class="end faint">
              {[under, state === '' || state === 'none' ? undefined : stateWord(state)]
                .filter((word) => word !== undefined)
                .join(' · ')}
            </span>
          </li>
        )),
      ])}
    </ul>
  );
}

function keyOf({ from, to }: { readonly from: string; readonly to: string }): string {
  return `${from} ${to}`;
}

/** Marked edges are drawn above the others. */
function rank(tone: string | undefined): number {
  return tone === 'lit' ? 3 : tone === 'bad' ? 2 : tone === 'warn' ? 1 : 0;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
