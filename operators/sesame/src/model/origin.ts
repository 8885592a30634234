/** The place in an object that a value of the model was computed from. */
export interface Origin {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The field: `spec.routes[1]`. */
  readonly path: string;
  /** The includes on the way here, the root first: `HTTPProxy default/root, spec.includes[0]`. */
  readonly through?: readonly string[];
}
