// The pieces as they are served with the patches of the configuration. Few pieces are patched, and all others stay as they are.
import { hash } from 'node:crypto';
import { equal } from '@capstan/kube';
import type { Problem } from '../../configuration/index.ts';
import type { Envoy } from '../../envoy/index.ts';
import type { Rejection, Resource, ResourceKey } from '../../xds/index.ts';
import type { RoutingSettings } from '../settings.ts';
import { EnvoyPatches, messageOf, type PatchOutcome, patchId } from './envoy-patches.ts';
import type { Piece } from './piece.ts';

/** The patches of a listener that is composed of the chains of all hosts. */
interface PatchedFrame {
  /** Part of the version of the listener. */
  readonly digest: string;
  readonly patch?: (message: Envoy.Listener) => Envoy.Listener;
}

const UNPATCHED: PatchedFrame = { digest: '' };

export class PatchedPieces {
  readonly #withdrawn = new Map<string, string>();
  /** By the key of a piece or a listener: those with a patch alone. */
  readonly #outcomes = new Map<string, readonly PatchOutcome[]>();
  /** The patched pieces, by their keys. */
  readonly #shown = new Map<string, Piece>();
  #specs: RoutingSettings['envoyPatches'];
  #patches: EnvoyPatches;
  /** The pieces were not all patched with these patches. */
  #isStale = true;

  constructor({ envoyPatches }: Pick<RoutingSettings, 'envoyPatches'>) {
    this.#specs = envoyPatches;
    this.#patches = new EnvoyPatches(envoyPatches);
  }

  /** The piece as it is served, of a piece as it was computed. */
  shown(key: string, piece: Piece | undefined): Piece | undefined {
    return this.#shown.get(key) ?? piece;
  }

  take(key: string, piece: Piece | undefined): Piece | undefined {
    const outcomes: PatchOutcome[] = [];
    const patched = piece && this.#patches.piece(piece, outcomes);
    this.#note(key, outcomes);
    if (patched === piece || !patched) this.#shown.delete(key);
    else this.#shown.set(key, patched);
    return patched;
  }

  configure({ envoyPatches }: Pick<RoutingSettings, 'envoyPatches'>): void {
    if (equal(envoyPatches, this.#specs)) return;
    this.#specs = envoyPatches;
    this.#patches = new EnvoyPatches(envoyPatches, this.#withdrawn);
    this.#isStale = true;
  }

  /** Returns the pieces that changed because the patches did. */
  again(
    pieces: ReadonlyMap<string, Piece>,
  ): Map<string, { readonly before: Piece | undefined; readonly after: Piece | undefined }> {
    const changed = new Map<string, { before: Piece | undefined; after: Piece | undefined }>();
    if (!this.#isStale) return changed;
    this.#isStale = false;
    for (const [key, piece] of pieces) {
      const before = this.shown(key, piece);
      const after = this.take(key, piece);
      if (before?.id !== after?.id) changed.set(key, { before, after });
    }
    return changed;
  }

  listener<Listener extends Resource | undefined>(key: ResourceKey, listener: Listener): Listener | Resource {
    const outcomes: PatchOutcome[] = [];
    const patched = listener && this.#patches.resource(listener, outcomes);
    this.#note(key, outcomes);
    return patched ?? listener;
  }

  /** `frame`: the listener without its chains; undefined while there is none. */
  frame(name: string, frame: Resource | undefined): PatchedFrame {
    const outcomes: PatchOutcome[] = [];
    const patches = this.#patches;
    if (frame && !patches.isEmpty) patches.frame({ name, ...messageOf(frame) }, outcomes);
    this.#note(`lds/${name}`, outcomes);
    const applied = outcomes.filter(({ refusal }) => !refusal).map((outcome) => patches.spec(outcome));
    if (applied.length === 0) return UNPATCHED;
    return {
      digest: hash('sha256', JSON.stringify(applied), 'hex').slice(0, 16),
      patch: (message) => patches.frame(message, []),
    };
  }

  /** Leaves out the patches of refused resources. Returns false where none of these resources has a patch. */
  withdraw(rejections: readonly Rejection[]): boolean {
    const messages = new Map(rejections.map(({ key, message }) => [targetOf(key), message]));
    const refused = [...this.#outcomes.values()]
      .flat()
      .filter(({ target, refusal }) => !refusal && messages.has(targetOf(target)));
    for (const outcome of refused) {
      const spec = this.#patches.spec(outcome);
      if (spec) this.#withdrawn.set(patchId(spec, outcome.target), messages.get(targetOf(outcome.target)) ?? '');
    }
    if (refused.length === 0) return false;
    this.#patches = new EnvoyPatches(this.#specs, this.#withdrawn);
    this.#isStale = true;
    return true;
  }

  problems(): readonly Problem[] {
    return this.#patches.isEmpty ? [] : this.#patches.problems([...this.#outcomes.values()].flat());
  }

  #note(key: string, outcomes: readonly PatchOutcome[]): void {
    if (outcomes.length > 0) this.#outcomes.set(key, outcomes);
    else this.#outcomes.delete(key);
  }
}

/** Clients refuse a host by its own resource, or as a part of the configuration that has all hosts. */
function targetOf(key: string): string {
  return /^rds\/.*#/.test(key) ? key.replace(/^rds\//, 'vhds/').replace('#', '/') : key;
}
