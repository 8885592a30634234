// The patches of the configuration on a resource, in a few words.
import type { PatchedType } from '../configuration/envoy-patches.ts';
import { EnvoyPatches, type PatchOutcome } from '../routing/assembly/envoy-patches.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import type { RoutingSettings } from '../routing/settings.ts';

/** Returns one line for each patch of a resource. */
export type ShownPatches = (type: PatchedType, resource: string) => string[];

export const NO_PATCHES: ShownPatches = () => [];

/** `piece`: the host whose resources are shown. Patches of other resources are shown by their names alone. */
export function shownPatches({ envoyPatches = [] }: RoutingSettings, piece?: Piece): ShownPatches {
  if (envoyPatches.length === 0) return NO_PATCHES;
  const patches = new EnvoyPatches(envoyPatches);
  const outcomes: PatchOutcome[] = [];
  if (piece) patches.piece(piece, outcomes);
  return (type, resource) =>
    patches.named(type, resource).map((patch) => {
      const { name, operations } = envoyPatches[patch] ?? { name: '', operations: [] };
      const changes = operations.map(({ op, path }) => `${op} ${path}`).join(', ');
      const place = `SesameConfiguration, envoyPatches[${patch}]`;
      const refused = outcomes.find((each) => each.patch === patch && each.resource === resource)?.refusal;
      if (refused) return `is not patched by ${name} (${refused.message}): ${place}`;
      return `is patched by ${name} (${changes}): ${place}`;
    });
}
